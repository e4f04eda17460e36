"""Inductive graphs: a graph of its own observed for each split, and only its entities compete."""

import json
import pickle
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_graph import build_graph
from clqa.audit_tables import audit_view
from clqa.errors import InputError
from clqa.fingerprints import fingerprint
from clqa.graph_entries import complete_entry
from clqa.graphs import candidates, make_graph, read_graph, write_graph
from clqa.models import visible_parts
from clqa.predictions import write_predictions
from clqa.query_sets import read_answers, read_queries
from clqa.ragged import ragged
from clqa.ranks import count_competitors
from clqa.reports import protocol_of
from clqa.tables import read_table
from clqa.vocabularies import read_labels
from download_graph import download_graph
from export_queries import export_queries
from predict_answers import predict_answers
from published_files import imported
from rank_answers import rank_answers
from reference_ranks import competitors
from score_answers import score_answers
from split_answers import split_answers
from test_audit_queries import audited

ONE, TWO = ("e", ("r",)), ("e", ("r", "r"))


def rank(scores, answer, **options):
    """Rank of an answer that ties with nothing and beside which nothing is known."""
    known = ragged([[answer]])
    found = count_competitors(np.array([scores]), known, [known], **options)
    assert found.tied.tolist() == [[0]]
    return int(found.greater[0, 0]) + 1, int(found.candidates[0, 0])


def test_only_entities_of_the_inference_graph_compete():
    scores = [0.9, 0.8, 0.7, 0.6, 0.5]
    assert rank(scores, 3) == (4, 5)
    assert rank(scores, 3, candidates=np.array([2, 3, 4])) == (2, 3)


def test_an_answer_that_is_no_candidate_is_ranked_among_the_candidates():
    assert rank([0.9, 0.8, 0.7, 0.6, 0.5], 1, candidates=np.array([0, 4])) == (2, 3)


def test_an_excluded_candidate_scores_nothing_for_others():
    # Six scores at minus infinity; the candidates are 0, 2 and 4.
    found = count_competitors(
        np.full((1, 6), -np.inf), ragged([[2]]), [ragged([[2]])], candidates=np.array([0, 2, 4])
    )
    assert [part.tolist() for part in found] == [[[0]], [[2]], [[3]]]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_counts_among_candidates_equal_those_of_sets(data):
    n, n_queries = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    ids = st.sets(st.integers(0, n - 1))
    chosen = data.draw(ids)
    scores = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=n_queries,
                           max_size=n_queries))
    ).astype(data.draw(st.sampled_from(["f2", "f4", "f8"])))  # fmt: skip
    hard, easy = ([data.draw(ids) for _ in range(n_queries)] for _ in range(2))
    excluded = [ragged(a | b for a, b in zip(hard, easy, strict=True)), ragged(easy)]
    found = count_competitors(
        scores,
        ragged(hard),
        excluded,
        candidates=np.array(sorted(chosen), np.int64),
        chunk_bytes=data.draw(st.sampled_from([1, 1 << 20])),
    )
    outside = set(range(n)) - chosen
    for kind, rule in enumerate(excluded):
        expected = [
            competitors(row, outside | set(rule.row(place).tolist()), target)
            for place, (row, targets) in enumerate(zip(scores, hard, strict=True))
            for target in sorted(targets)
        ]
        assert list(zip(*(part[kind].tolist() for part in found), strict=True)) == expected


# A graph whose fields are ids. Relations 0 and 1, with the inverses 2 and 3. Train has the entities
# 0 to 2, the graph of valid 3 to 5 as well, that of test 6 to 8.
PARTS = {
    "train": [(0, 0, 1), (1, 1, 2)],
    "valid_inference": [(3, 0, 4), (4, 1, 5), (2, 0, 3)],
    "valid": [(3, 0, 5)],
    "test_inference": [(6, 0, 7), (7, 1, 8)],
    "test": [(6, 0, 8)],
}
NAMES = {
    "train": "train_graph.txt",
    "valid_inference": "val_inference.txt",
    "test_inference": "test_inference.txt",
    "valid": "val_predict.txt",
    "test": "test_predict.txt",
}
ENTRY = {
    "files": NAMES,
    "fields": "ids",
    "ids": "numbers",
    "inverses": "offset",
    "observed": {"valid": ["train", "valid_inference"], "test": ["train", "test_inference"]},
    "candidates": "observed",
}


def both_ways(rows, half=2):
    return [row for h, r, t in rows for row in ((h, r, t), (t, r + half, h))]


def write_parts(folder, parts=PARTS, half=2):
    folder.mkdir(exist_ok=True)
    for part, rows in parts.items():
        lines = ("\t".join(map(str, row)) + "\n" for row in both_ways(rows, half))
        (folder / NAMES[part]).write_text("".join(lines))


def built(folder, entry=ENTRY, parts=PARTS, half=2):
    write_parts(folder / "files", parts, half)
    entry = {**entry, "source": {"kind": "path", "folder": str(folder / "files")}}
    download_graph(folder / "graph-source", entry, "toy")
    names = ("graph.npz", "entities.tsv", "relations.tsv", "summary.json")
    build_graph(folder / "graph-source", entry, "toy", *(folder / name for name in names))
    return read_graph(folder / "graph.npz")


def test_a_graph_says_what_is_observed_and_who_competes(tmp_path):
    graph = built(tmp_path)
    assert (graph.n_entities, graph.n_relations) == (9, 4)
    assert graph.inverse.tolist() == [2, 3, 0, 1]
    assert {part: len(rows) for part, rows in graph.triples.items()} == {
        part: 2 * len(rows) for part, rows in PARTS.items()
    }
    assert graph.full("test") == ("train", "test_inference", "test")
    assert candidates(graph, "train").tolist() == [0, 1, 2]
    assert candidates(graph, "valid").tolist() == [0, 1, 2, 3, 4, 5]
    assert candidates(graph, "test").tolist() == [0, 1, 2, 6, 7, 8]
    assert visible_parts("observed", graph, "test") == ("train", "test_inference")
    assert visible_parts("train", graph, "test") == ("train",)


def test_a_graph_comes_back_from_its_file_and_the_protocol_counts(tmp_path):
    graph = built(tmp_path)
    again = make_graph(
        graph.triples, graph.inverse, 9, graph.vocabulary, graph.observed, graph.restricted
    )
    assert again.hash == graph.hash
    for change in ({"restricted": False}, {"observed": {**graph.observed, "test": ("train",)}}):
        about = {"observed": graph.observed, "restricted": True} | change
        other = make_graph(graph.triples, graph.inverse, 9, graph.vocabulary, **about)
        assert other.hash != graph.hash
    write_graph(tmp_path / "again.npz", again)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "graph.npz").read_bytes()
    assert candidates(make_graph(graph.triples, graph.inverse, 9, "v"), "test") is None


def nested(rows):
    """Answers by structure and query, as the release has them."""
    found = defaultdict(dict)
    for structure, query, answers in rows:
        found[structure][query] = answers
    return dict(found)


def write_queries_of(folder, rows, **others):
    """Rows of structure, query, easy and hard answers."""
    folder.mkdir(exist_ok=True)
    contents = {
        "test_queries": {s: [q for one, q, *_ in rows if one == s] for s, *_ in rows},
        "test_answers_easy": nested((s, q, easy) for s, q, easy, _ in rows),
        "test_answers_hard": nested((s, q, hard) for s, q, _, hard in rows),
    }
    for name, content in (contents | others).items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(content, protocol=4))
    return {
        "queries": "test_queries.pkl",
        "easy": "test_answers_easy.pkl",
        "hard": "test_answers_hard.pkl",
    }


ROWS = [(ONE, (6, (0,)), {7}, {8}), (TWO, (7, (2, 0)), {7}, {8})]


def with_queries(folder, rows=ROWS, **others):
    files = write_queries_of(folder / "release", rows, **others)
    imported(folder, folder / "release", files, ["1p", "2p"], layout="ultra-query")
    split_answers(folder / "graph.npz", folder / "queries.parquet", folder / "answers", "test")
    return read_answers(folder / "answers")


def test_queries_are_answered_on_the_graphs_of_their_split(tmp_path):
    built(tmp_path)
    found = with_queries(tmp_path)
    assert found.metadata["observed"] == ["train", "test_inference"]
    assert found.metadata["candidates"] == "observed:6"
    assert found.candidates.tolist() == [0, 1, 2, 6, 7, 8]
    for shape in ("1p", "2p"):
        part = found.shapes[shape]
        assert (part.easy.values.tolist(), part.hard.values.tolist()) == ([7], [8])
    (tmp_path / "answers.parquet").write_bytes((tmp_path / "answers").read_bytes())
    audit = audited(tmp_path)
    assert audit["clean"]
    assert audit["queries"] == 2


def test_ranks_leave_out_other_entities_from_end_to_end(tmp_path):
    graph = built(tmp_path)
    found = with_queries(tmp_path)
    queries = read_queries(tmp_path / "queries.parquet")
    # Entities 3 to 5 are best and do not count; 0 is better than the answer, 1 ties with it.
    scores = np.array([0.7, 0.5, 0.1, 0.9, 0.9, 0.9, 0.2, 0.8, 0.5], np.float32)
    ids = [str(name) for part in queries.shapes.values() for name in part.query_ids]
    sidecar = {"query_ids": ids, "n_entities": 9, "vocabulary": graph.vocabulary}
    sidecar |= {"model": "m", "method": "m", "inference_graph": [], "settings": {}}
    paths = [tmp_path / name for name in ("p.npy", "p.json", "answers", "ranks")]
    write_predictions(*paths[:2], [np.tile(scores, (2, 1))], sidecar)
    rank_answers(*paths, tmp_path / "tops", depth=3)
    table, metadata = read_table(paths[3])
    filtered = table.filter(pc.not_equal(table["filter"].cast(pa.string()), "none"))
    for name, expected in (("greater", 1), ("tied", 1), ("candidates", 5)):
        assert set(filtered[name].to_pylist()) == {expected}
    assert "candidate_bits" not in metadata
    score_answers(
        [paths[3]],
        [paths[2]],
        [tmp_path / "queries.parquet"],
        tmp_path / "graph.npz",
        tmp_path / "relations.tsv",
        tmp_path / "scores",
        ["mrr"],
        ["pessimistic"],
        ["observed-and-full"],
        [],
    )
    scored, metadata = read_table(tmp_path / "scores")
    assert scored["mrr[pessimistic,observed-and-full]"].to_pylist()[:2] == [1 / 3, 1 / 3]
    assert metadata["candidates"] == found.metadata["candidates"]


def test_models_score_all_entities_and_see_what_is_observed(tmp_path):
    graph = built(tmp_path)
    with_queries(tmp_path)
    for method, settings_ in (("traversal", {}), ("popularity", {}), ("constant", {})):
        predict_answers(
            tmp_path / "graph.npz",
            tmp_path / "queries.parquet",
            tmp_path / "p.npy",
            tmp_path / "p.json",
            method,
            method,
            settings_,
            "test",
        )
        scores = np.load(tmp_path / "p.npy")
        assert scores.shape == (2, graph.n_entities)
        if method == "traversal":
            assert [np.flatnonzero(row).tolist() for row in scores] == [[7], [7]]


def test_layouts_of_three_graphs_refuse_an_inductive_one(tmp_path):
    built(tmp_path)
    with_queries(tmp_path)
    paths = [[(tmp_path / "queries.parquet", tmp_path / "answers")]]
    about = [tmp_path / name for name in ("graph.npz", "entities.tsv", "relations.tsv", "to")]
    with pytest.raises(InputError, match="an inductive graph"):
        export_queries(paths, *about, "beta-e")
    export_queries(paths, *about, "neutral")
    again = read_answers(tmp_path / "to" / "test-answers.parquet")
    assert again.candidates.tolist() == [0, 1, 2, 6, 7, 8]


def test_the_protocol_of_a_number_tells_whose_easy_answers_and_which_candidates_count():
    row = SimpleNamespace(
        metric="mrr",
        filter="full-only",
        ties="expected",
        candidates="observed:6",
        averaging="a",
        pni="",
    )
    metadata = {"graph": "g", "queries": "q"}
    protocols = [protocol_of(row, metadata | other) for other in ({}, {"easy": "plus-h-released"})]
    assert [one["filter"] for one in protocols] == ["full-only", "full-only of plus-h-released"]
    assert fingerprint(protocols[0]) != fingerprint(protocols[1])


def wiki_topics(folder):
    """A graph whose test part numbers its entities from 0 again, and its dictionaries."""
    parts = {
        "train": [(0, 0, 1), (1, 1, 2)],
        "valid": [(0, 0, 2)],
        "test_inference": [(0, 0, 1), (1, 1, 2)],
        "test": [(0, 0, 2)],
    }
    write_parts(folder / "files", parts)
    mappings = {
        "e2id_train": {"Q1": 0, "Q2": 1, "Q3": 2},
        "e2id_test": {"Q9": 0, "Q2": 1, "Q7": 2},
        "r2id": {"P1": 0, "P2": 1, "P1_inv": 2, "P2_inv": 3},
    }
    (folder / "files" / "og_mappings.pkl").write_bytes(pickle.dumps(mappings))
    return built(folder, wiki_entry(), parts)


def test_entities_that_test_numbers_apart_are_told_by_label(tmp_path):
    graph = wiki_topics(tmp_path)
    labels = read_labels(tmp_path / "entities.tsv").to_pylist()
    assert labels == ["Q1", "Q2", "Q3", "Q9", "Q7"]
    forward = {
        part: [[labels[h], r, labels[t]] for h, r, t in rows.tolist() if r < 2]
        for part, rows in graph.triples.items()
    }
    assert forward["train"] == [["Q1", 0, "Q2"], ["Q2", 1, "Q3"]]
    assert sorted(forward["test_inference"]) == [["Q2", 1, "Q7"], ["Q9", 0, "Q2"]]
    assert forward["test"] == [["Q9", 0, "Q7"]]
    assert candidates(graph, "test").tolist() == [1, 3, 4]
    assert candidates(graph, "valid").tolist() == [0, 1, 2]
    assert graph.observed["test"] == ("test_inference",)


def test_queries_of_test_are_mapped_by_the_dictionary_of_test(tmp_path):
    wiki_topics(tmp_path)
    rows = [(ONE, (0, (0,)), {1}, {2})]
    files = write_queries_of(tmp_path / "release", rows)
    (tmp_path / "release" / "og_mappings.pkl").write_bytes(
        (tmp_path / "files" / "og_mappings.pkl").read_bytes()
    )
    given_ = files | {
        "entities": {"path": "og_mappings.pkl", "key": "e2id_test"},
        "relations": {"path": "og_mappings.pkl", "key": "r2id"},
    }
    imported(tmp_path, tmp_path / "release", given_, ["1p"], layout="ultra-query")
    assert read_queries(tmp_path / "queries.parquet").shapes["1p"].anchors.tolist() == [[3]]
    split_answers(tmp_path / "graph.npz", tmp_path / "queries.parquet", tmp_path / "a", "test")
    part = read_answers(tmp_path / "a").shapes["1p"]
    assert (part.easy.values.tolist(), part.hard.values.tolist()) == ([1], [4])
    (tmp_path / "queries.parquet").unlink()
    with pytest.raises(InputError, match=r"1p, query .* another split's entities\? Give files"):
        imported(tmp_path, tmp_path / "release", files, ["1p"], layout="ultra-query")
    given_["entities"]["key"] = "e2id"
    with pytest.raises(InputError, match=r"og_mappings.pkl: has no dictionary 'e2id' \(it has: "):
        imported(tmp_path, tmp_path / "release", given_, ["1p"], layout="ultra-query")
    assert not (tmp_path / "queries.parquet").exists()


def test_an_id_that_the_dictionary_of_test_lacks_is_told(tmp_path):
    wiki_topics(tmp_path)
    path = tmp_path / "files" / NAMES["test"]
    path.write_text(path.read_text() + "0\t0\t7\n")
    entry = wiki_entry() | {"source": {"kind": "path", "folder": str(tmp_path / "files")}}
    source = tmp_path / "graph-source"
    download_graph(source, entry, "toy")
    with pytest.raises(InputError, match=r"test_predict.txt:3: '7' is not in og_mappings.pkl"):
        build_graph(source, entry, "toy", *(tmp_path / name for name in "abcd"))


def wiki_entry():
    files = {part: NAMES[part] for part in ("train", "valid", "test_inference", "test")}
    keys = {"entities": "e2id_train", "test_entities": "e2id_test", "relations": "r2id"}
    files |= {role: {"path": "og_mappings.pkl", "key": key} for role, key in keys.items()}
    observed = {"valid": ["train"], "test": ["test_inference"]}
    about = {"fields": "ids", "ids": "given", "inverses": "stored", "candidates": "observed"}
    return {"files": files, "observed": observed, **about}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observed": {"test": ["other"]}}, "observed.test: there is no files.other"),
        ({"observed": {"test": ["train", "test"]}}, "observed.test: test is to be predicted"),
        ({"observed": {"valid": ["test"]}}, "observed.valid: test is to be predicted"),
        ({"observed": {"valid": ["train"]}}, "files.valid_inference is in none of the graphs"),
        ({"ids": "sorted"}, "fields: ids needs ids: given and the two dictionaries, or ids: numb"),
        ({"fields": "labels"}, "ids: numbers needs fields: ids"),
    ],
)
def test_keys_that_do_not_go_together_are_told(change, message):
    entry = ENTRY | {"source": {"kind": "path", "folder": "."}} | change
    with pytest.raises(InputError, match=message):
        complete_entry("g", entry)


@pytest.mark.parametrize(
    ("parts", "half", "message"),
    [
        ({"train": [(0, 0, 1)]}, 4, "there are 5 relations, which is no even number"),
        ({"train": [("x", 0, 1)]}, 2, "train_graph.txt:1: expected whole numbers as entities"),
        ({"train": [(0, 0, 10**9)]}, 2, "the entities go up to 1000000000 with"),
    ],
)
def test_numbers_that_cannot_be_ids_are_told(tmp_path, parts, half, message):
    others = {part: [] for part in PARTS}
    with pytest.raises(InputError, match=message):
        built(tmp_path, parts=others | parts, half=half)
    assert not (tmp_path / "graph.npz").exists()


def test_a_file_that_lacks_an_inverse_triple_is_told(tmp_path):
    write_parts(tmp_path / "files")
    path = tmp_path / "files" / NAMES["test"]
    path.write_text("6\t0\t8\n")
    entry = {**ENTRY, "source": {"kind": "path", "folder": str(tmp_path / "files")}}
    download_graph(tmp_path / "s", entry, "toy")
    with pytest.raises(InputError, match=r"test holds \(6, 0, 8\) and not \(8, 2, 6\)"):
        build_graph(tmp_path / "s", entry, "toy", *(tmp_path / n for n in "abcd"))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"test_answers_hard": {ONE: {(6, (0,)): {8}}}}, "hard.pkl, 2p: no answers for ('e', "),
        ({"test_answers_hard": {ONE: {(6, (0,)): {8}}, TWO: [{8}]}}, "a list for ('e', "),
        ({"test_answers_hard": {ONE: {}, TWO: {}}}, "query (6, (0,)): has no answers"),
        ({"test_queries": {ONE: [(6, (0,))], TWO: [(7, (2,))]}}, "2p, query (7, (2,)): it does no"),
        ({"test_queries": {ONE: [(6, (0,))], TWO: [[7, (2, 0)]]}}, "2p, query [7, (2, 0)]: expect"),
        ({"test_queries": {ONE: [(6, (0,))], TWO: [(7, [2, 0])]}}, "2p: a query is no tuple of"),
        ({"test_queries": {ONE: [(6, (0,))], TWO: 7}}, "2p: expected a set of queries, found"),
    ],
)
def test_bad_files_are_told_with_file_shape_and_query(tmp_path, others, expected):
    built(tmp_path)
    with pytest.raises(InputError) as caught:
        with_queries(tmp_path, **others)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "queries.parquet").exists()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((ONE, (9, (0,)), {7}, {8}), "test_queries.pkl, 1p, query (9, (0,)): entity ids must be 0"),
        ((ONE, (6, (4,)), {7}, {8}), "query (6, (4,)): relation ids must be 0 to 3"),
        ((ONE, (6, (0,)), {7}, {9}), "test_answers_hard.pkl, 1p, query (6, (0,)): answer 9: ids"),
        ((ONE, (6, (0,)), {8}, {7}), "1p, query (6, (0,)) and those after it: the easy answers"),
        ((ONE, (3, (0,)), {4}, {5}), "is in no triple of the graph of the split"),
        ((ONE, (6, (0,)), {7}, {5}), "is in no triple of the graph of the split"),
    ],
)
def test_bad_queries_are_told_and_leave_other_shapes_alone(tmp_path, row, expected):
    built(tmp_path)
    files = write_queries_of(tmp_path / "release", [row, ROWS[1]])
    source = tmp_path / "release"
    with pytest.raises(InputError) as caught:
        imported(tmp_path, source, files, ["1p", "2p"], layout="ultra-query")
    assert expected in str(caught.value)
    assert not (tmp_path / "queries.parquet").exists()
    imported(tmp_path, source, files, ["1p", "2p"], layout="ultra-query", on_bad_shape="skip")
    report = json.loads((tmp_path / "report.json").read_text())
    assert expected in report["1p"]["skipped"]
    assert report["2p"]["accepted"] == 1


def test_a_split_without_candidates_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^graph toy: candidates: observed, but test_inference"):
        built(
            tmp_path,
            ENTRY | {"observed": ENTRY["observed"] | {"test": ["test_inference"]}},
            PARTS | {"test_inference": []},
        )
    empty = np.empty((0, 3), np.int32)
    parts = {"train": np.array([[0, 0, 1]]), "valid": empty, "test": empty, "own": empty}
    observed = {"train": (), "valid": ("train",), "test": ("own",)}
    graph = make_graph(parts, np.array([-1]), 2, "0" * 64, observed, restricted=True)
    assert candidates(graph, "valid").tolist() == [0, 1]
    with pytest.raises(InputError, match="own hold no triples: no entity would compete"):
        candidates(graph, "test")


def test_hard_answers_that_are_no_candidates_are_counted(tmp_path):
    # Of valid alone is the entity 3, to which a triple of test leads.
    built(tmp_path, parts=PARTS | {"test": [(6, 0, 8), (6, 0, 3)]})
    with_queries(tmp_path, [(ONE, (6, (0,)), {7}, {8, 3}), (TWO, (7, (2, 0)), {7}, {8, 3})])
    (tmp_path / "answers.parquet").write_bytes((tmp_path / "answers").read_bytes())
    found = audited(tmp_path)
    counts = [one["hard_answers_that_are_no_candidates"] for one in found["shapes"].values()]
    assert counts == [1, 1]
    remarks = audit_view(found, ["1p", "2p"]).remarks
    assert [text for text in remarks if text.startswith("2 hard answers are no candidates")]
