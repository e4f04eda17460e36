"""predict_answers, rank_answers and score_answers on files, from a small graph to scores."""

import json
import shutil

import numpy as np
import pytest

from clqa import answers as crisp
from clqa.adjacencies import split_view
from clqa.competitions import WITH_TEST
from clqa.errors import InputError
from clqa.files import sha256_of, write_sealed
from clqa.formulas import parse
from clqa.graphs import OBSERVED, make_graph, read_graph, write_graph
from clqa.plans import plan
from clqa.predictions import write_predictions
from clqa.predictors import make_predictor, n_reciprocal, write_predictor
from clqa.query_sets import (
    Answers,
    Queries,
    describe_queries,
    query_ids,
    read_answers,
    read_queries,
    set_hash,
    write_answers,
    write_queries,
)
from clqa.tables import read_table
from predict_answers import predict_answers
from rank_answers import rank_answers
from reference_ranks import competitors
from score_answers import score_answers
from split_answers import split_answers
from test_models import MODELS, some_graph

SHAPES = {
    "2i": "r1(s1,f)&r2(s2,f)",
    "pni": "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
    "1p": "r1(s1,f)",
    "2u": "r1(s1,f)|r2(s2,f)",
}
METRICS = ["mrr", "mr", "hits@1", "hits@3"]
TIES = ["pessimistic", "optimistic", "realistic", "expected"]
FILTERS = ["observed-and-full", "full-only", "none"]
STRATA = ["links", "size", "degree", "relation"]


def make_queries(folder, graph, shapes, split="test"):
    """Random queries of some shapes and their answers, those without hard ones included."""
    drawn = np.random.default_rng(8)
    queries, answers = {}, {}
    for shape, text in shapes.items():
        formula = parse(text)
        steps = plan(formula)
        anchors = drawn.integers(0, graph.n_entities, (30, steps.n_constants)).astype(np.int32)
        relations = drawn.integers(0, graph.n_relations, (30, steps.n_relations)).astype(np.int32)
        ids, kept = np.unique(
            query_ids(graph.hash, formula, anchors, relations).astype(str), return_index=True
        )
        queries[shape] = Queries(ids.astype(object), anchors[kept], relations[kept])
        view = split_view(graph, split)
        found = crisp.split_answers(steps, view, *queries[shape][1:3])
        links = crisp.missing_links(steps, view, *queries[shape][1:3], found.hard)
        answers[shape] = Answers(queries[shape].query_ids, *found, links)
    all_ids = [name for part in queries.values() for name in part.query_ids]
    metadata = describe_queries(graph, split, shapes, all_ids)
    write_queries(folder / "queries.parquet", queries, metadata, source="sampled")
    write_answers(folder / "answers.parquet", answers, metadata)
    labels = "".join(f"{n}\tr{n}\n" for n in range(graph.n_relations))
    (folder / "relations.tsv").write_text(labels)
    drawn = np.random.default_rng(3)
    sizes = graph.n_entities, n_reciprocal(graph.inverse)
    vectors = (drawn.standard_normal((size, 4), np.float32) for size in sizes)
    write_predictor(folder / "predictor.npz", make_predictor("distmult", *vectors, {}, graph))


def predict(folder, model="random", split="test", **changes):
    entry = MODELS[model]
    predict_answers(
        **{
            "path_to_graph": folder / "graph.npz",
            "path_to_queries": folder / "queries.parquet",
            "path_to_predictions": folder / f"{model}.npy",
            "path_to_sidecar": folder / f"{model}.json",
            "model": model,
            "method": entry["method"],
            "settings": entry["settings"],
            "split": split,
            "path_to_answers": folder / "answers.parquet",
            "path_to_predictor": folder / "predictor.npz",
            **changes,
        }
    )
    return json.loads((folder / f"{model}.json").read_text())


def rank(folder, model="random"):
    rank_answers(
        folder / f"{model}.npy",
        folder / f"{model}.json",
        folder / "answers.parquet",
        folder / f"{model}.ranks.parquet",
        folder / f"{model}.tops.parquet",
        depth=5,
    )
    return read_table(folder / f"{model}.ranks.parquet")


def score(folders, model="random", path_to_scores=None):
    path_to_scores = path_to_scores or folders[0] / f"{model}.scores.parquet"
    score_answers(
        [folder / f"{model}.ranks.parquet" for folder in folders],
        [folder / "answers.parquet" for folder in folders],
        [folder / "queries.parquet" for folder in folders],
        folders[0] / "graph.npz",
        folders[0] / "relations.tsv",
        path_to_scores,
        METRICS,
        TIES,
        FILTERS,
        STRATA,
    )
    return read_table(path_to_scores)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a graph, a query set of one shard, and all that is made of it."""
    folder = tmp_path_factory.mktemp("made")
    write_graph(folder / "graph.npz", some_graph())
    make_queries(folder, some_graph(), SHAPES)
    for model in MODELS:
        predict(folder, model)
        rank(folder, model)
        score([folder], model)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A folder of the test's own with the same graph and queries."""
    copied = ["graph.npz", "queries.parquet", "answers.parquet", "relations.tsv", "predictor.npz"]
    for name in copied:
        (tmp_path / name).write_bytes((made / name).read_bytes())
    return tmp_path


def scores_of(folder, model):
    return read_table(folder / f"{model}.scores.parquet")[0]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_a_row_of_scores_for_every_query(made, model):
    queries = read_queries(made / "queries.parquet")
    ids = [name for part in queries.shapes.values() for name in part.query_ids]
    sidecar = json.loads((made / f"{model}.json").read_text())
    # In any order, that of their relations where rows of links are shared.
    assert sorted(sidecar["query_ids"]) == sorted(ids)
    assert np.load(made / f"{model}.npy").shape == (len(ids), 6)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_ranked_as_sets_are(made, model):
    answers = read_answers(made / "answers.parquet")
    sidecar = json.loads((made / f"{model}.json").read_text())
    scores = np.load(made / f"{model}.npy").tolist()
    rows = dict(zip(sidecar["query_ids"], scores, strict=True))
    wanted = {rule: [] for rule in FILTERS}
    for part in answers.shapes.values():
        for i, query_id in enumerate(part.query_ids):
            row = rows[query_id]
            easy, hard, gone = (set(s.row(i).tolist()) for s in part[1:4])
            excluded = easy | hard, (easy - gone) | hard, set()
            for rule, filtered in zip(FILTERS, excluded, strict=True):
                for target in sorted(hard):
                    found = competitors(row, filtered, target)
                    wanted[rule].append((part.query_ids[i], target, *found))
    table = read_table(made / f"{model}.ranks.parquet")[0]
    names = ("query_id", "answer", "greater", "tied", "candidates")
    found = [tuple(row[name] for name in names) for row in table.to_pylist()]
    assert found == [row for rule in FILTERS for row in wanted[rule]]


def test_the_queries_of_these_tests_have_all_kinds_of_answers(made):
    answers = read_answers(made / "answers.parquet").shapes
    assert all(len(part.hard.values) for part in answers.values())
    assert len(answers["pni"].retracted.values)
    assert any((part.hard.lengths() == 0).any() for part in answers.values())


def test_the_oracle_has_only_perfect_scores(made):
    table = scores_of(made, "oracle")
    for name in table.column_names:
        if name.endswith("]") and not name.startswith("tie_rate") and "none" not in name:
            assert set(table[name].to_pylist()) - {None} == {1.0}


def test_the_oracle_never_ties(made):
    table = scores_of(made, "oracle")
    assert set(table["tie_rate[full-only]"].to_pylist()) - {None} == {0.0}


def ranks_of(made, model, rule):
    rows = read_table(made / f"{model}.ranks.parquet")[0].to_pylist()
    return [row for row in rows if row["filter"] == rule]


def test_traversal_beats_no_hard_answer_but_ties_them_all(made):
    rows = ranks_of(made, "traversal", "observed-and-full")
    assert rows
    assert all(row["greater"] == 0 for row in rows)
    assert all(row["tied"] == row["candidates"] - 1 for row in rows)


def test_traversal_puts_every_easy_answer_first(made):
    rows = iter(np.load(made / "traversal.npy"))
    for part in read_answers(made / "answers.parquet").shapes.values():
        for i in range(len(part.query_ids)):
            assert np.flatnonzero(next(rows)).tolist() == part.easy.row(i).tolist()


@pytest.mark.parametrize("ties", TIES)
def test_constant_scores_follow_from_the_number_of_candidates(made, ties):
    ranks = ranks_of(made, "constant", "full-only")
    value = {
        "pessimistic": lambda n: 1 / n,
        "optimistic": lambda n: 1.0,
        "realistic": lambda n: 2 / (n + 1),
        "expected": lambda n: sum(1 / i for i in range(1, n + 1)) / n,
    }[ties]
    wanted = {}
    for row in ranks:
        wanted.setdefault(row["query_id"], []).append(value(row["candidates"]))
    found = {
        row["query_id"]: row[f"mrr[{ties},full-only]"]
        for row in scores_of(made, "constant").to_pylist()
        if row["stratum"] == "" and row["n_hard"] > 0
    }
    assert found == pytest.approx({name: np.mean(values) for name, values in wanted.items()})


def test_ranks_carry_what_they_were_made_from(made):
    metadata = read_table(made / "random.ranks.parquet")[1]
    answers = read_answers(made / "answers.parquet").metadata
    model = {"model": "random", "method": "random", "settings": {"seed": 0}, "inference_graph": []}
    dump = sha256_of(made / "random.npy")
    assert metadata == {**answers, "model": model, "predictions": dump}


def test_ranks_have_the_agreed_columns(made):
    table = read_table(made / "random.ranks.parquet")[0]
    assert table.column_names == [
        "query_id",
        "shape",
        "variable",
        "answer",
        "filter",
        "greater",
        "tied",
        "candidates",
        "links",
    ]


@pytest.mark.parametrize(
    ("model", "split", "wanted"),
    [
        ("traversal", "test", ["train", "valid"]),
        ("traversal", "valid", ["train"]),
        ("popularity", "test", ["train"]),
        ("constant", "test", []),
        ("oracle", "test", "answers"),
    ],
)
def test_a_dump_tells_what_its_model_has_seen(folder, model, split, wanted):
    make_queries(folder, some_graph(), SHAPES, split)
    assert predict(folder, model, split)["inference_graph"] == wanted


@pytest.mark.parametrize("split", OBSERVED)
def test_queries_of_every_split_can_be_scored(folder, split):
    make_queries(folder, some_graph(), SHAPES, split)
    predict(folder, "traversal", split)
    rank(folder, "traversal")
    assert score([folder], "traversal")[0].num_rows


@pytest.mark.parametrize("model", MODELS)
def test_predictions_do_not_depend_on_the_chunk(made, folder, model):
    predict(folder, model, chunk_bytes=100)
    for name in (f"{model}.npy", f"{model}.json"):
        assert (folder / name).read_bytes() == (made / name).read_bytes()


def test_only_the_oracle_opens_the_answers(made, folder):
    (folder / "answers.parquet").unlink()
    for model in MODELS:
        if model != "oracle":
            predict(folder, model)
            assert sha256_of(folder / f"{model}.npy") == sha256_of(made / f"{model}.npy")


def test_case_96_a_dump_in_another_order_gives_the_same_ranks(made, folder):
    sidecar = predict(folder)
    order = np.random.default_rng(2).permutation(len(sidecar["query_ids"]))
    np.save(folder / "random.npy", np.load(folder / "random.npy")[order])
    sidecar["query_ids"] = [sidecar["query_ids"][i] for i in order]
    sidecar["sha256"] = sha256_of(folder / "random.npy")
    write_sealed(folder / "random.json", sidecar)
    (table, metadata), (expected, about) = (
        rank(folder),
        read_table(made / "random.ranks.parquet"),
    )
    assert table.equals(expected)
    assert metadata == {**about, "predictions": sidecar["sha256"]}


def test_shards_are_scored_like_one(made, tmp_path):
    shards = []
    for i, names in enumerate((["2i", "pni"], ["1p"], ["2u"])):
        folder = tmp_path / str(i)
        folder.mkdir()
        for name in ("graph.npz", "relations.tsv"):
            shutil.copy(made / name, folder)
        queries = read_queries(made / "queries.parquet")
        answers = read_answers(made / "answers.parquet")
        formulas = {shape: SHAPES[shape] for shape in names}
        ids = [name for shape in names for name in queries.shapes[shape].query_ids]
        metadata = describe_queries(some_graph(), "test", formulas, ids)
        for write, table, file, more in (
            (write_queries, queries, "queries.parquet", ["sampled"]),
            (write_answers, answers, "answers.parquet", []),
        ):
            write(folder / file, {shape: table.shapes[shape] for shape in names}, metadata, *more)
        predict(folder)
        rank(folder)
        shards.append(folder)
    table, metadata = score(shards, path_to_scores=tmp_path / "scores.parquet")
    whole, of_whole = read_table(made / "random.scores.parquet")
    assert metadata == of_whole
    by = [("query_id", "ascending"), ("stratum", "ascending")]
    columns = whole.column_names
    assert table.select(columns).sort_by(by).to_pylist() == whole.sort_by(by).to_pylist()


def test_scores_carry_the_hash_of_the_whole_query_set(made):
    table, metadata = read_table(made / "random.scores.parquet")
    assert metadata["queries"] == set_hash(set(table["query_id"].to_pylist()))


def test_a_graph_that_the_queries_are_not_about_is_refused(folder):
    other = read_graph(folder / "graph.npz")._replace(hash="0" * 64)
    write_graph(folder / "graph.npz", other)
    with pytest.raises(InputError, match=r"queries\.parquet: not asked of"):
        predict(folder)


def test_queries_of_another_split_are_refused(folder):
    with pytest.raises(InputError, match="split valid"):
        predict(folder, "traversal", "valid")


def test_answers_of_other_queries_are_refused(folder):
    queries = (folder / "queries.parquet").read_bytes()
    make_queries(folder, some_graph(), {"1p": SHAPES["1p"]})
    (folder / "queries.parquet").write_bytes(queries)
    with pytest.raises(InputError, match=r"answers\.parquet: 2i: answers of other queries"):
        predict(folder, "oracle")


def test_a_filter_that_the_ranks_do_not_have_is_named_with_their_file(made, tmp_path):
    with pytest.raises(InputError, match=r"random\.ranks\.parquet: ranks under the filter raw"):
        score_answers(
            [made / "random.ranks.parquet"],
            [made / "answers.parquet"],
            [made / "queries.parquet"],
            made / "graph.npz",
            made / "relations.tsv",
            tmp_path / "scores.parquet",
            METRICS,
            TIES,
            ["raw"],
            [],
        )
    assert not list(tmp_path.iterdir())


def test_shards_of_different_splits_are_named(made, folder):
    make_queries(folder, some_graph(), SHAPES, "valid")
    predict(folder, split="valid")
    rank(folder)
    with pytest.raises(InputError, match=r"random\.ranks\.parquet: shards differ in their"):
        score([made, folder], path_to_scores=folder / "scores.parquet")
    assert not (folder / "scores.parquet").exists()


def test_ranks_of_other_answers_are_refused(made, folder):
    (folder / "random.ranks.parquet").write_bytes((made / "random.ranks.parquet").read_bytes())
    make_queries(folder, some_graph(), {"1p": SHAPES["1p"]})
    with pytest.raises(InputError, match=r"random\.ranks\.parquet: not made from"):
        score([folder])


# Which known answers do not compete, from the triples of the splits to the scores: one anchor (6)
# with a link of one relation to each answer.

FALLING = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7]


@pytest.mark.parametrize(
    ("split", "scores", "links", "expected", "with_test"),
    [
        ("test", FALLING, {"train": [0], "valid": [1, 2], "test": [4]}, 2, 2),
        ("test", FALLING, {"train": [0], "valid": [], "test": [4]}, 4, 4),
        ("valid", [0.9, 0.8, 0.7, 0.6, 0, 0], {"train": [0], "valid": [3], "test": [1]}, 3, 2),
        ("test", [0.9, 0.8, 0.7, 0.6, 0, 0], {"train": [0], "valid": [1], "test": [3]}, 2, 2),
    ],
)
def test_known_answers_are_filtered_by_the_split(
    tmp_path, split, scores, links, expected, with_test
):
    triples = {
        name: np.array([[6, 0, tail] for tail in tails], np.int32).reshape(-1, 3)
        for name, tails in links.items()
    }
    graph = make_graph(triples, np.array([-1]), 7, "v" * 64)
    write_graph(tmp_path / "graph.npz", graph)
    text = "r1(s1,f)"
    ids = query_ids(graph.hash, parse(text), np.array([[6]]), np.array([[0]]))
    queries = Queries(ids, np.array([[6]], np.int32), np.array([[0]], np.int32))
    metadata = describe_queries(graph, split, {"1p": text}, ids)
    paths = [tmp_path / name for name in ("queries.parquet", "answers.parquet")]
    write_queries(paths[0], {"1p": queries}, metadata, source="sampled")
    split_answers(tmp_path / "graph.npz", *paths, split)
    sidecar = {"query_ids": list(ids), "n_entities": 7, "vocabulary": graph.vocabulary}
    dump = [tmp_path / "mine.npy", tmp_path / "mine.json"]
    write_predictions(*dump, [np.array([[*scores, -1.0]])], sidecar)
    (tmp_path / "relations.tsv").write_text("0\tlikes\n")
    rank_answers(
        *dump,
        paths[1],
        *(tmp_path / f"mine.{k}.parquet" for k in ("ranks", "tops")),
        depth=3,
        filters=[WITH_TEST],
        path_to_queries=paths[0],
        path_to_graph=tmp_path / "graph.npz",
    )
    ranks = read_table(tmp_path / "mine.ranks.parquet")[0].to_pylist()
    (beyond,) = (row["greater"] for row in ranks if row["filter"] == WITH_TEST)
    assert beyond + 1 == with_test
    table, _ = score([tmp_path], "mine")
    (found,) = (row for row in table.to_pylist() if row["stratum"] == "")
    assert found["n_hard"] == 1
    for ties in TIES:
        for rule in FILTERS[:2]:
            assert found[f"mr[{ties},{rule}]"] == expected
            assert found[f"mrr[{ties},{rule}]"] == 1 / expected


def test_a_failed_prediction_leaves_no_file(folder):
    with pytest.raises(InputError):
        predict(folder, settings={"seed": 0, "sede": 1})
    assert not list(folder.glob("random.*"))
