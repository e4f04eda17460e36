"""Query sets whose hard answers are a selection, written in published layouts and read back."""

import json

import pytest

from clqa.errors import InputError
from clqa.query_sets import read_answers, read_queries, write_queries
from clqa.tables import read_table
from export_queries import main
from plus_h_release import FILES, queries_of, small_graph, write_release
from published_files import SHAPES, imported
from sample_queries import sample_queries
from split_answers import split_answers

KINDS = ("sampled", "corrected", "released")
SHAPES_OF = ("1p", "2p", "2i", "2u", "2in")
DICTIONARIES = {"entities": "id2ent.pkl", "relations": "id2rel.pkl"}
BETA_E = {
    "queries": "test-queries.pkl",
    "easy": "test-easy-answers.pkl",
    "hard": "test-hard-answers.pkl",
}
NEUTRAL = {
    "neutral": {"queries": "test-queries.parquet", "answers": "test-answers.parquet"},
    "json-lines": {"queries": "test.jsonl"},
}


@pytest.fixture(params=KINDS)
def results(request, tmp_path):
    return write_results(tmp_path, request.param), request.param


def write_results(folder, kind):
    """Results of a set of queries whose hard answers are a selection; give their folder."""
    graph, own = (folder / "results" / part for part in ("graphs/toy", "queries/toy-test"))
    graph.mkdir(parents=True)
    own.mkdir(parents=True)
    made = small_graph(graph)
    if kind == "sampled":
        sampling = {"count": 1, "tries": 200, "exhaustive": True, "negation": "any"}
        sampling["quotas"] = {"answers": 4, "max_share": 1, "share_from": 1}
        sample_queries(
            graph / "graph.npz", own / "all.parquet", own / "all.json",
            {shape: SHAPES[shape] for shape in SHAPES_OF}, sampling, "test", 0, "toy-test",
        )  # fmt: skip
    else:
        write_release(folder, {shape: queries_of(shape, made) for shape in SHAPES_OF})
        source = folder / "iscqa-compl-benchmarks"
        options = {"layout": "plus-h", "graph": graph, "filter": kind}
        imported(folder, source, FILES, SHAPES_OF, **options)
        (folder / "queries.parquet").rename(own / "all.parquet")
    answers = folder / "results" / "answers" / "toy-test" / "all.parquet"
    split_answers(graph / "graph.npz", own / "all.parquet", answers, "test")
    return folder


def exported(folder, layout, *options):
    arguments = ["toy-test", "--graph", "toy", "--layout", layout, "--to", str(folder / "out")]
    assert main([*arguments, *options, "--results", str(folder / "results")]) == 0
    return folder / "out"


def imported_again(folder, files, layout, **options):
    """Import what was exported and split its answers; give the folder of the two tables."""
    graph, again = folder / "results" / "graphs" / "toy", folder / "again"
    again.mkdir()
    source = folder / "out"
    imported(again, source, files, SHAPES_OF, layout=layout, graph=graph, **options)
    split_answers(graph / "graph.npz", again / "queries.parquet", again / "answers.parquet", "test")
    return again


def tables(folder):
    own = folder / "results"
    return own / "queries/toy-test/all.parquet", own / "answers/toy-test/all.parquet"


def assert_same(path, other, but=()):
    (table, metadata), (found, about) = read_table(path), read_table(other)
    assert table.num_rows > 10
    assert table.drop_columns(list(but)).equals(found.drop_columns(list(but)))
    assert metadata == about


@pytest.mark.parametrize(
    ("layout", "fields"), [("neutral", None), ("json-lines", "ids"), ("json-lines", "labels")]
)
def test_a_selection_comes_back_as_the_same_tables(results, layout, fields):
    folder, kind = results
    exported(folder, layout, *([] if fields is None else ["--fields", fields]))
    options = {"fields": "labels"} if fields == "labels" else {}
    again = imported_again(folder, NEUTRAL[layout], "neutral", **options)
    queries, answers = tables(folder)
    assert_same(queries, again / "queries.parquet", but=["source"])
    assert_same(answers, again / "answers.parquet")
    metadata = read_queries(again / "queries.parquet").metadata
    assert metadata.get("easy") == (None if kind == "sampled" else f"plus-h-{kind}")


def test_a_selection_leaves_out_hard_answers(results):
    # Without this the tests of this file would hold for any query set.
    folder, _ = results
    found = read_answers(tables(folder)[1]).shapes
    plain = folder / "plain.parquet"
    shapes = read_queries(tables(folder)[0])
    table = {
        shape: rows._replace(selected=None, filtered=None) for shape, rows in shapes[0].items()
    }
    about = {key: value for key, value in shapes.metadata.items() if key != "easy"}
    write_queries(plain, table, about, "sampled")
    graph = folder / "results/graphs/toy/graph.npz"
    split_answers(graph, plain, folder / "plain-answers.parquet", "test")
    every = read_answers(folder / "plain-answers.parquet").shapes
    assert sum(len(one.hard.values) for one in every.values()) > sum(
        len(one.hard.values) for one in found.values()
    )


@pytest.mark.parametrize("kind", ["sampled", "corrected"])
def test_beta_e_comes_back_as_plus_h(tmp_path, kind):
    folder = write_results(tmp_path, kind)
    exported(folder, "beta-e")
    again = imported_again(folder, DICTIONARIES | BETA_E, "plus-h", filter="corrected")
    for path, name in zip(tables(folder), ("queries", "answers"), strict=True):
        (table, metadata), (found, about) = read_table(path), read_table(again / f"{name}.parquet")
        rows, others = (
            sorted(one.drop_columns("source" if name == "queries" else []).to_pylist(), key=str)
            for one in (table, found)
        )
        assert len(rows) > 10
        assert rows == others
        assert about == metadata | {"easy": "plus-h-corrected"}


@pytest.mark.parametrize("layout", ["query2box", "efok-json"])
def test_what_cannot_say_a_selection_leaves_it_out(tmp_path, layout, capsys):
    folder = write_results(tmp_path, "corrected")
    out = exported(folder, layout)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == len(SHAPES_OF)
    assert told[1] == (
        "left out 2p: its hard answers are a selection, which the layout cannot say; use the "
        "layout neutral, json-lines or beta-e"
    )
    assert not [*out.glob("*ans*"), *out.glob("*qaa*")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (({"selection": "mine"},), "test.jsonl:1: unknown selection 'mine'; known: plus-h-c"),
        (({"selection": ["mine"]},), "test.jsonl:1: unknown selection ['mine']; known: plus-h-c"),
        (({"filtered": [0]},), "test.jsonl:1: a selection by plus-h-corrected has of selected and"),
        (({"selected": None},), "test.jsonl:1: expected JSON with formula"),
        (({}, {"selection": None}), "test.jsonl:2: another selection than the lines before it"),
        (({"selected": [6]},), "test.jsonl, 1p, query 'line 1': answer 6: ids are 0 to 5"),
    ],
)
def test_a_bad_selection_of_lines_is_refused(tmp_path, changes, expected):
    folder = write_results(tmp_path, "corrected")
    path = exported(folder, "json-lines") / "test.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line, change in zip(lines, changes, strict=False):
        line |= change
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError) as caught:
        imported_again(folder, NEUTRAL["json-lines"], "neutral")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
