"""From queries with several free variables to scores and rows, by the stages on files.

The answers are those of a search over all assignments, so that no engine is needed here.
"""

import itertools
import json
from xml.etree import ElementTree

import numpy as np
import pyarrow.compute as pc
import pytest

from clqa import pages, scopes
from clqa.adjacencies import split_view
from clqa.audits import Ground, audit_shape
from clqa.averages import mean
from clqa.errors import InputError
from clqa.example_queries import examples
from clqa.files import sha256_of, write_sealed
from clqa.filters import FILTERS
from clqa.formulas import free_variables, parse, symbols
from clqa.graphs import write_graph
from clqa.metrics import METRICS, defined_scores, score_id
from clqa.models import QueryBatch
from clqa.pages import score_figure
from clqa.query_browsers import example_ranks
from clqa.query_sets import (
    Answers,
    Queries,
    describe_queries,
    read_answers,
    read_queries,
    write_queries,
)
from clqa.query_sets import write_answers as write
from clqa.rank_curves import read_primary, shape_curves
from clqa.reports import metric_rows
from clqa.scopes import page_columns, scope_of
from clqa.score_tables import Scores, read_plain_scores
from clqa.structure_grids import structure_grid
from clqa.tables import read_table
from clqa.top_tables import TOPS
from clqa.tuples import ragged_tuples
from clqa.wide_tables import by_structure, headline
from evaluate_sets import evaluate_sets
from predict_answers import predict_answers
from rank_answers import rank_answers
from reference_tuples import projection
from score_answers import score_answers
from test_models import MODELS as CATALOGUE
from test_models import some_graph
from test_tuple_metrics import ranked
from test_tuple_metrics import tuple_values as values_in_memory

# Those over the links of a predictor answer trees of sets alone.
MODELS = {name: one for name, one in CATALOGUE.items() if "predictor" not in one["settings"]}
PAIRS = {"chain": "r1(s1,f1)&r2(f1,f2)", "fork": "r1(s1,f2)&r2(f2,f1)"}
TRIPLES = {"three": "r1(s1,f1)&r2(f1,f2)&r3(f2,f3)"}
SINGLE = {"1p": "r1(s1,f)"}
IDS = ["mrr", "hits@3"] + [
    name.replace("@K", "@3") for name, found in METRICS.items() if found.of_tuples
]
TIES = ["pessimistic", "optimistic", "realistic", "expected", "by-id"]
RULES = ["observed-and-full", "full-only", "none"]
N = 6


def solutions(formula, anchors, relations, triples):
    """Answers of one query, tuples by name of variable, by trying all assignments."""
    known = {tuple(map(int, row)) for part in triples for row in part}
    text = dict(zip(symbols(formula, "s"), anchors.tolist(), strict=True))
    text |= dict(zip(symbols(formula, "r"), relations.tolist(), strict=True))
    names = free_variables(formula)
    found = set()
    for values in itertools.product(range(N), repeat=len(names)):
        ids = text | dict(zip(names, values, strict=True))
        edges = ((ids[a.head], ids[a.relation], ids[a.tail]) for a in _atoms(formula))
        if all(edge in known for edge in edges):
            found.add(values)
    return found


def _atoms(formula):
    return getattr(formula, "parts", (formula,))


def all_solutions(formula, anchors, relations, triples):
    rows = [solutions(formula, *row, triples) for row in zip(anchors, relations, strict=True)]
    found = ragged_tuples(rows, len(free_variables(formula)))
    return found if found.values.shape[1] > 1 else found._replace(values=found.values[:, 0])


def make(folder, shapes, n_queries=20):
    folder.mkdir(parents=True, exist_ok=True)
    graph, drawn = some_graph(), np.random.default_rng(5)
    write_graph(folder / "graph.npz", graph)
    (folder / "relations.tsv").write_text("".join(f"{n}\tr{n}\n" for n in range(3)))
    queries, answers = {}, {}
    for shape, text in shapes.items():
        formula = parse(text)
        anchors = drawn.integers(0, N, (n_queries, 1)).astype(np.int32)
        n_relations = len(symbols(formula, "r"))
        relations = drawn.integers(0, 3, (n_queries, n_relations)).astype(np.int32)
        ids = np.array([f"{shape}-{n}" for n in range(n_queries)], object)
        queries[shape] = Queries(ids, anchors, relations)
        sets = [
            all_solutions(formula, anchors, relations, [graph.triples[part] for part in parts])
            for parts in (graph.observed["test"], graph.full("test"))
        ]
        k = len(free_variables(formula))
        easy, full = (
            [{*map(tuple, one.row(i).reshape(-1, k).tolist())} for i in range(n_queries)]
            for one in sets
        )
        hard = ragged_tuples([b - a for a, b in zip(easy, full, strict=True)], k)
        hard = hard if k > 1 else hard._replace(values=hard.values[:, 0])
        gone = sets[0]._replace(offsets=sets[0].offsets * 0, values=sets[0].values[:0])
        answers[shape] = Answers(ids, sets[0], hard, gone, np.ones(len(hard.values), np.uint8))
    names = [name for part in queries.values() for name in part.query_ids]
    metadata = describe_queries(graph, "test", shapes, names)
    write_queries(folder / "queries.parquet", queries, metadata, "sampled")
    write(folder / "answers.parquet", answers, metadata)


def predict(folder, model):
    entry = MODELS[model]
    out = folder / f"{model}.npy", folder / f"{model}.json"
    inputs = folder / "graph.npz", folder / "queries.parquet"
    how = entry["method"], entry["settings"], "test", folder / "answers.parquet"
    predict_answers(*inputs, *out, model, *how, chunk_bytes=1000)


def rank(folder, model, **options):
    dump = folder / f"{model}.npy", folder / f"{model}.json"
    out = folder / f"{model}.ranks.parquet", folder / f"{model}.tops.parquet"
    rank_answers(*dump, folder / "answers.parquet", *out, depth=3, **options)


def score(folders, model):
    path = folders[0] / f"{model}.scores.parquet"
    kinds = (f"{model}.ranks.parquet", "answers.parquet", "queries.parquet")
    inputs = [[folder / kind for folder in folders] for kind in kinds]
    fixed = folders[0] / "graph.npz", folders[0] / "relations.tsv"
    score_answers(*inputs, *fixed, path, IDS, TIES, RULES, ["links", "size", "defined"])
    return read_plain_scores(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folders of shards of one, two and three free variables, ranked and scored."""
    root = tmp_path_factory.mktemp("tuples")
    folders = {name: root / name for name in ("pairs", "triples", "single")}
    for (name, folder), shapes in zip(folders.items(), (PAIRS, TRIPLES, SINGLE), strict=True):
        make(folder, shapes)
        for model in MODELS:
            predict(folder, model)
            rank(folder, model)
            if name == "pairs":
                score([folder], model)
    return folders


def whole_of(table):
    return table.filter(pc.equal(table["stratum"], ""))


def scores_of(folder, model):
    return whole_of(read_plain_scores(folder / f"{model}.scores.parquet")[0])


@pytest.mark.parametrize(("name", "shape"), [("pairs", (40, 2, N)), ("triples", (20, 3, N))])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_scores_every_variable(made, model, name, shape):
    assert np.load(made[name] / f"{model}.npy").shape == shape
    variables = [f"f{n}" for n in range(1, shape[1] + 1)]
    assert json.loads((made[name] / f"{model}.json").read_text())["variables"] == variables


def test_there_are_hard_answers_of_all_numbers_of_variables(made):
    for folder in made.values():
        answers = read_answers(folder / "answers.parquet").shapes
        assert all(len(part.hard.values) for part in answers.values())


def test_traversal_scores_what_a_variable_is_in_some_observed_answer(made):
    answers = read_answers(made["pairs"] / "answers.parquet")
    rows = np.load(made["pairs"] / "traversal.npy")
    easy = [row for part in answers.shapes.values() for row in map(part.easy.row, range(20))]
    for scores, tuples in zip(rows, easy, strict=True):
        for j in range(2):
            known = projection(tuples.tolist(), j)
            assert scores[j].tolist() == [float(e in known) for e in range(N)]


def test_popularity_scores_a_variable_by_its_own_relations(made):
    formula, train = parse(PAIRS["chain"]), some_graph().triples["train"]
    batch = QueryBatch(None, np.array(["a"]), np.array([[0]]), np.array([[1, 2]]), formula=formula)
    from models.popularity import scores

    found = scores(some_graph(), batch)[0]
    ends = [train[train[:, 1] == r] for r in (1, 2)]
    shares = [
        [np.mean(part[:, column] == e) for e in range(N)]
        for part, column in ((ends[0], 2), (ends[1], 0), (ends[1], 2))
    ]
    assert found[0] == pytest.approx(np.multiply(shares[0], shares[1]))
    assert found[1] == pytest.approx(np.array(shares[2]))


@pytest.mark.parametrize("model", MODELS)
def test_score_columns_are_the_metrics_of_the_counts(made, model):
    """Queries are scored alike one by one in memory and in tables."""
    answers = read_answers(made["pairs"] / "answers.parquet")
    dump = np.load(made["pairs"] / f"{model}.npy")
    easy, hard = (
        [
            [tuple(t) for t in one.row(i).tolist()]
            for part in answers.shapes.values()
            for one in [getattr(part, kind)]
            for i in range(20)
        ]
        for kind in ("easy", "hard")
    )
    table = scores_of(made["pairs"], model)
    for name, ties, rule in defined_scores(IDS, TIES, RULES):
        if not METRICS.get(name.replace("@3", "@K")).of_tuples:
            assert table[score_id(name, ties, rule)].null_count == 40
            continue
        wanted = values_in_memory(name, ranked(dump, easy, hard, rule=rule), ties)
        found = table[score_id(name, ties, rule)].to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(found, wanted)


def test_a_row_of_ranks_stands_for_a_value_of_a_variable(made):
    table, metadata = read_table(made["pairs"] / "random.ranks.parquet")
    answers = read_answers(made["pairs"] / "answers.parquet").shapes
    wanted = [
        (name, j + 1, x)
        for part in answers.values()
        for i, name in enumerate(part.query_ids)
        for j in range(2)
        for x in sorted(projection([*part.easy.row(i).tolist(), *part.hard.row(i).tolist()], j))
    ]
    columns = (table[name].to_pylist() for name in ("query_id", "variable", "answer"))
    assert list(zip(*columns, strict=True)) == wanted * len(FILTERS)
    assert metadata["arity"] == 2


def test_tables_of_one_variable_are_as_ever(made):
    table, metadata = read_table(made["single"] / "random.ranks.parquet")
    assert "lower" not in table.column_names
    assert table["variable"].null_count == len(table)
    assert "arity" not in metadata


def test_the_oracle_is_perfect_under_optimistic_ties(made):
    table = scores_of(made["pairs"], "oracle")
    for name in (n for n in table.column_names if "[optimistic,observed" in n):
        found = {*table[name].to_pylist()} - {None}
        assert name.startswith("efok_released") or found <= {1.0}


def write_dump(made, folder, scores, **changes):
    """The shard of pairs with other scores as its dump."""
    for name in ("graph.npz", "queries.parquet", "answers.parquet", "relations.tsv"):
        (folder / name).write_bytes((made["pairs"] / name).read_bytes())
    path = folder / "random.npy"
    np.save(path, np.ascontiguousarray(scores))
    made_of = {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    sidecar = json.loads((made["pairs"] / "random.json").read_text()) | made_of | changes
    write_sealed(folder / "random.json", sidecar)


def test_the_order_of_the_variables_in_a_dump_is_of_no_account(made, tmp_path):
    swapped = np.load(made["pairs"] / "random.npy")[:, ::-1]
    write_dump(made, tmp_path, swapped, variables=["f2", "f1"])
    rank(tmp_path, "random")
    tables = [read_table(one / "random.ranks.parquet")[0] for one in (tmp_path, made["pairs"])]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("k", [1, 3])
def test_a_dump_of_another_number_of_variables_names_the_query_and_both_shapes(made, tmp_path, k):
    scores = np.load(made["pairs"] / "random.npy")[:, [0] * k]
    write_dump(made, tmp_path, scores[:, 0] if k == 1 else scores)
    found = f"({N},)" if k == 1 else f"({k}, {N})"
    with pytest.raises(InputError) as caught:
        rank(tmp_path, "random")
    assert str(caught.value).endswith(f"{found} instead of (2, {N}) for query chain-0")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "random.ranks.parquet").exists()


def test_there_are_no_tops_of_several_variables(made):
    table, _ = read_table(made["pairs"] / "random.tops.parquet", TOPS)
    assert len(table) == 0


def test_answer_sets_leave_out_shapes_with_several_variables(made, tmp_path):
    folders = [made["single"], made["pairs"]]
    files = [
        [folder / name for folder in folders] for name in ("answers.parquet", "queries.parquet")
    ]
    tops = [folder / "random.tops.parquet" for folder in folders]
    outputs = [tmp_path / f"{name}.parquet" for name in ("sets", "bands", "counts")]
    fixed = folders[0] / "graph.npz", folders[0] / "relations.tsv"
    evaluate_sets(tops, *files, [], [], *fixed, *outputs, ["top@2"], ["full"], 0.5, ["size"])
    rows = read_table(outputs[0])[0].to_pylist()
    assert {
        row["n_queries"] for row in rows if row["stratum"] == "" and row["rule"] == "top@2"
    } == {20}


@pytest.fixture(scope="module")
def rows(made):
    """Rows of metrics over the shards of one and of two variables together."""
    table, metadata = score([made["single"], made["pairs"]], "random")
    shapes = {shape: parse(text) for shape, text in metadata["formulas"].items()}
    scores = Scores("q", "random", "g", table, metadata, shapes)
    return table, [*metric_rows(scores, "run", ["query", "pooled"])]


def test_shapes_whose_variables_a_metric_is_not_for_say_so(rows):
    _, found = rows
    notes = {(row.shape, row.metric): (row.value, row.note) for row in found if row.shape}
    assert notes["chain", "mrr"] == (None, "the shape has 2 free variables; mrr is for one")
    why = "the shape has one free variable; multiply_mrr is for several"
    assert notes["1p", "multiply_mrr"] == (None, why)
    assert notes["1p", "mrr"][1] == notes["chain", "multiply_mrr"][1] == ""


def test_groups_are_of_shapes_that_a_metric_is_for(rows):
    table, found = rows
    whole = whole_of(table)
    for metric, shapes in (("mrr", ["1p"]), ("multiply_mrr", [*PAIRS])):
        column = score_id(metric, "pessimistic", RULES[0])
        values = [
            [
                v
                for v, s in zip(whole[column].to_pylist(), whole["shape"].to_pylist(), strict=True)
                if s == shape and v is not None
            ]
            for shape in shapes
        ]
        wanted = {
            "answers>query>shape>group": mean([mean(one) for one in values]),
            "answers>query>group": mean(list(itertools.chain(*values))),
        }
        own = {
            row.averaging: row.value
            for row in found
            if (row.group, row.metric, row.ties, row.filter)
            == ("EPFO", metric, *TIES[:1], RULES[0])
            and row.stratum == ""
        }
        assert own == wanted
    assert len({row.fingerprint for row in found if row.group == "EPFO"}) > 1


def scope_of_rows(table, found):
    formulas = {shape: parse(text) for shape, text in (SINGLE | PAIRS).items()}
    metadata = {"model": {"method": "random"}, "n_entities": N}
    scores = Scores("q", "random", "g", table, metadata, formulas)
    run = {
        **{"candidates": ["all"], "averaging": ["query"], "metrics": ["multiply_mrr", "mrr"]},
        **{"ties": TIES[:2], "filters": RULES[:1]},
    }
    return scope_of("q", run, [scores], found)


def test_tables_show_the_shapes_that_a_metric_is_for(rows):
    scope = scope_of_rows(*rows)
    assert [c.name for c in headline(scope).columns] == [*PAIRS, "EPFO"]
    assert [c.name for c in headline(scope, "mrr").columns] == ["1p", "EPFO"]
    cells = by_structure(scope)
    assert [(c.band, c.label) for c in cells.columns] == [("SDAG", "f=2 c=1 e=0")]
    assert cells.lines[0].cells[0].value == headline(scope).lines[0].cells[-1].value


def test_figures_draw_the_shapes_that_a_metric_is_for(rows, monkeypatch):
    monkeypatch.setattr(pages, "dot_figure", lambda shapes, bands, series, *_: (shapes, series))
    scope = scope_of_rows(*rows)
    for metric, wanted in (("multiply_mrr", [*PAIRS]), ("mrr", [*SINGLE])):
        shapes, (drawn,) = score_figure(scope._replace(metric=metric))
        assert shapes == wanted
        assert len(drawn.dots) == len(drawn.intervals) == len(wanted)


def test_the_page_has_groups_in_place_of_many_shapes(rows, monkeypatch):
    scope = scope_of_rows(*rows)
    assert [c.name for c in page_columns(scope)] == [c.name for c in headline(scope).columns]
    monkeypatch.setattr(scopes, "MANY_SHAPES", 2)
    names = {column.name: column.band for column in page_columns(scope)}
    assert names == {
        **dict.fromkeys(("EPFO", "chain", "conjunctive"), "operators"),
        **{"f=2": "free variables", "c=1": "constants", "e=0": "existentials"},
        "graph=SDAG": "graph",
    }
    table = headline(scope, columns=page_columns(scope))
    means = {cell.value for cell in table.lines[0].cells}
    assert means == {headline(scope).lines[0].cells[-1].value}
    assert [column.name for column in page_columns(scope, "mrr")][-4:] == [
        *("f=1", "c=1", "e=0", "graph=SDAG")
    ]
    assert scopes.leading_metrics(scope, ["mrr", "hits@3", "joint_mrr", "multiply_mrr"]) == [
        *("mrr", "joint_mrr")
    ]


def test_totals_count_the_queries_of_all_shapes(rows, made):
    tables = [read_answers(made[name] / "answers.parquet") for name in ("single", "pairs")]
    # A group has the name of the shape `chain`, whose rows the tables cannot tell from its own.
    shapes = [one for table in tables for name, one in table.shapes.items() if name != "chain"]
    n_queries = sum(int((answers.hard.lengths() > 0).sum()) for answers in shapes)
    n_answers = sum(len(answers.hard.values) for answers in shapes)
    assert scopes.totals(scope_of_rows(*rows)) == (n_queries, n_answers)


def test_grids_tell_their_numbers_to_those_who_do_not_see_them(rows):
    scope = scope_of_rows(*rows)
    element = ElementTree.fromstring(structure_grid(scope, "random", ["mrr", "multiply_mrr"]))
    about = element.get("aria-label")
    for metric, title in (("mrr", "1 free variable"), ("multiply_mrr", "2 free variables")):
        cell = headline(scope, metric).lines[0].cells[-1]
        columns = scopes.cell_columns(scope, metric)
        ((n_queries, _),) = scopes.counts(scope, columns, metric)
        name = f"{scopes.metric_name(metric)} × 100"
        assert f"{title}: {name}, SDAG: c=1 e=0 {cell.text} (n = {n_queries})" in about
        assert f"{title}: {name}, cyclic: no shapes" in about


def test_plain_trees_have_no_grid(rows):
    scope = scope_of_rows(*rows)._replace(shapes={"1p": parse("r1(s1,f)")}, metric="mrr")
    assert structure_grid(scope, "random", ["mrr"]) == ""


def test_joint_metrics_have_no_value_under_ties_without_an_order(rows):
    about = {
        (row.ties, row.value is None, row.note)
        for row in rows[1]
        if row.metric == "joint_mrr" and row.shape == "chain" and not row.stratum
    }
    why = "ties give joint_mrr no value, which needs an order of tied entities"
    assert {(t, lacks) for t, lacks, _ in about} == {
        (t, t in ("realistic", "expected")) for t in TIES
    }
    assert {note for ties, _, note in about if ties == "expected"} == {f"expected {why}"}


def test_strata_tell_how_many_variables_have_hard_values(rows):
    table, found = rows
    strata = {row.stratum for row in found if row.stratum.startswith("defined")}
    assert "defined=2" in strata <= {"defined=0", "defined=1", "defined=2"}
    whole = whole_of(table)
    several = [
        s in PAIRS and n > 0
        for s, n in zip(whole["shape"].to_pylist(), whole["n_hard"].to_pylist(), strict=True)
    ]
    parts = [s.startswith("defined") for s in table["stratum"].to_pylist()]
    assert sum(parts) == sum(several)


def test_audits_count_tuples_and_their_links(made):
    graph = some_graph()
    ground = Ground(graph, split_view(graph, "test"), "test", None)
    for folder, shapes in zip(made.values(), (PAIRS, TRIPLES, SINGLE), strict=True):
        queries = read_queries(folder / "queries.parquet").shapes
        answers = read_answers(folder / "answers.parquet").shapes
        for shape, text in shapes.items():
            rows, formula = queries[shape], parse(text)
            parts = [graph.triples[part] for part in graph.full("test")]
            full = all_solutions(formula, rows.anchors, rows.relations, parts)
            found = audit_shape(ground, formula, rows, answers[shape], None)
            assert found["sizes"]["full"]["mean"] == pytest.approx(full.lengths().mean())
            n_hard = len(answers[shape].hard.values)
            assert sum(found["reductions"]["links"].values()) == n_hard > 0


def test_a_page_shows_a_rank_of_each_value_of_a_tuple(made):
    folder = made["pairs"]
    answers, queries = (
        read(folder / f"{kind}.parquet")
        for kind, read in (("answers", read_answers), ("queries", read_queries))
    )
    run = {"filters": RULES[:1], "candidates": ["all"]}
    path = folder / "oracle.ranks.parquet"
    own = read_primary(path, run, "oracle", answers.metadata["queries"])
    chosen = examples(queries, answers, list(answers.shapes))
    assert {len(answer) for one in chosen for answer in one.hard} == {2}
    ranks = example_ranks(chosen, own)
    # The oracle puts the values of answers first, and other known values do not compete.
    assert [ends for one in ranks.values() for answer in one for ends in answer] == [
        [1, 1] for one in chosen for answer in one.hard for _ in answer
    ]
    assert shape_curves(own, [1], "pessimistic") == {}
