"""What the scripts of the page are given: views of the metrics, curves of ranks, and queries."""

import json
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pyarrow as pa
import pytest

from assemble_report import assemble_report
from clqa.errors import InputError
from clqa.example_queries import examples, number_per_shape
from clqa.explorer import SWITCHES, explorer
from clqa.formulas import parse
from clqa.page_scripts import inline_json
from clqa.query_browsers import browser, example_ranks
from clqa.query_sets import Answers, AnswerTable, Queries, QueryTable
from clqa.ragged import Ragged
from clqa.rank_curves import Ranked, curve_ranks, curves, read_primary, shape_curves
from clqa.scopes import Scope
from clqa.setting_changes import setting_changes
from clqa.tables import read_table, write_table
from report_pages import data_of, rows_of
from synthetic_runs import HOSTILE, configuration, write_run

SEVERAL = {"filters": ["observed-and-full", "none"], "averaging": ["query", "answer"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    run = configuration(("toy-test", "toy-more")) | SEVERAL
    given = write_run(tmp_path_factory.mktemp("results"), run)
    assemble_report(**given)
    return given


@pytest.fixture(scope="module")
def data(made):
    return data_of(made["path_to_report"])


def shown(row, name="value"):
    """A number of a row of metrics.tsv as the page has it, or None."""
    if row[name] == "":
        return None
    scale = 1 if row["metric"] == "mr" else 100
    return float((Decimal(row[name]) * scale).quantize(Decimal("0.1"), ROUND_HALF_EVEN))


def test_every_row_of_the_metrics_is_in_one_view(made, data):
    averaging = {"answers>query>shape>group": "query", "answers>shape>group": "answer"}
    rows = rows_of(made["path_to_metrics"])
    values = [[value for value, *_ in data["switches"][name]] for name in SWITCHES]
    n_found = 0
    for row in rows:
        part = next(one for one in data["sets"] if one["name"] == row["queries"])
        key = [row["metric"], row["ties"], row["filter"], "all", averaging[row["averaging"]]]
        at = [own.index(v) for own, v in zip(values, [*key, row["stratum"]], strict=True)]
        (view,) = (one for one in part["views"] if one["at"] == at)
        columns = [name for name, *_ in part["heads"][view["head"]]]
        model = [name for name, _ in part["models"]].index(row["model"])
        place = model * len(columns) + columns.index(row["group"] or row["shape"])
        assert view["v"][place] == shown(row)
        assert view.get("l", [None] * (place + 1))[place] == shown(row, "lower")
        assert view.get("u", [None] * (place + 1))[place] == shown(row, "upper")
        if row["value"] == "":
            assert place in view["why"][row["note"]]
        n_found += 1
    metrics = [view for part in data["sets"] for view in part["views"] if view["at"][0] < 4]
    cells = sum(len(view["v"]) for view in metrics)
    n_missing = sum(len(view["why"].get("not computed", ())) for view in metrics)
    assert n_found == len(rows) == cells - n_missing
    assert n_found > 1000


def test_f_beta_of_each_rule_is_a_metric_by_shape(data, made):
    names = [name for name, *_ in data["switches"]["metric"]]
    assert names == ["mrr", "hits@3", "mr", "tie_rate"] + [
        f"f0.5:{rule}" for rule in ("top@10", "conformal@0.8", "threshold@0.5")
    ]
    part = data["sets"][0]
    views = {view["at"][0]: view for view in part["views"] if view["at"][0] > 3}
    columns = [name for name, *_ in part["heads"][views[4]["head"]]]
    assert columns == ["1p", "2p", "2i", "2u", "2in", "pni", "all"]
    # Made-up rows are about 1p and all queries, the same for every model.
    assert views[4]["v"] == [65.0, *[None] * 5, 65.0] * 4
    assert views[4]["b"] == [0, 6, 7, 13]
    cut = "1 lists are cut above the threshold: bounds"
    assert views[6]["why"][cut] == [0, 6, 7, 13, 14, 20, 21, 27]


def test_the_best_of_a_view_is_found_among_values_as_stored(made, data):
    rows = [
        row
        for row in rows_of(made["path_to_metrics"])
        if (row["queries"], row["metric"], row["ties"], row["filter"], row["stratum"])
        == ("toy-test", "mr", "optimistic", "observed-and-full", "")
        and row["shape"] == "2p"
        and row["averaging"] == "answers>query>shape>group"
        and row["model"] in ("popular", "walker")
    ]
    best = min(rows, key=lambda row: float(row["value"]))["model"]
    part = data["sets"][0]
    at = [2, 1, 0, 0, 0, 0]
    (view,) = (one for one in part["views"] if one["at"] == at)
    columns = [name for name, *_ in part["heads"][view["head"]]]
    models = [name for name, _ in part["models"]]
    own = [
        models[place // len(columns)]
        for place in view["b"]
        if columns[place % len(columns)] == "2p"
    ]
    assert own == [best]


def test_primary_views_stay_when_there_is_no_room():
    shapes = {"1p": parse("r1(s1,f)")}
    scope = Scope("toy", shapes, {"mlp": False}, "mrr", "pessimistic", "observed-and-full", {})
    run = {"metrics": ["mrr", "mr"], "ties": ["pessimistic"], "filters": ["observed-and-full"]}
    run |= {"candidates": ["all"], "averaging": ["query"]}
    rows = [_row(metric, shape="1p") for metric in ("mrr", "mr")]
    found = explorer([scope], run, [_Scores()], rows, {}, {}, room=0)
    assert ([view["at"][0] for view in found["sets"][0]["views"]], found["left_out"]) == ([0], 1)


class _Scores:
    queries = "toy"
    metadata = {"n_entities": 9}  # noqa: RUF012


def _row(metric, **where):
    from clqa.reports import Row

    empty = dict.fromkeys(Row._fields, "") | {"lower": None, "upper": None}
    empty |= {"queries": "toy", "model": "mlp", "ties": "pessimistic"}
    empty |= {"filter": "observed-and-full", "candidates": "all:9"}
    empty |= {"averaging": "answers>query>shape>group", "n_queries": 1, "n_answers": 1}
    return Row(**empty | {"metric": metric, "value": 0.5} | where)


def test_what_was_tested_against_the_best_has_its_p_value():
    shapes = {"1p": parse("r1(s1,f)")}
    models = {"mlp": False, "rnn": False, "oracle": True}
    scope = Scope("toy", shapes, models, "mrr", "pessimistic", "observed-and-full", {})
    run = {"metrics": ["mrr"], "ties": ["pessimistic"], "filters": ["observed-and-full"]}
    run |= {"candidates": ["all"], "averaging": ["query"]}
    values = {"mlp": 0.4, "rnn": 0.6, "oracle": 1.0}
    rows = [_row("mrr", shape="1p", model=name, value=value) for name, value in values.items()]
    tested = {"shape": "1p", "group": "", "model": "mlp", "other": "rnn", "p": 0.01, "p_holm": 0.02}
    found = explorer([scope], run, [_Scores()], rows, {"toy": [tested]}, {})
    (view,) = found["sets"][0]["views"]
    columns = [name for name, *_ in found["sets"][0]["heads"][0]]
    assert columns[0] == "1p"
    # The cell of mlp, that rnn is the best, and the adjusted p-value.
    assert view["p"] == [(0, 1, 0.02)]


# Ranks


def ranked(counts, formula="r1(s1,f)"):
    """Counts by query: of each hard answer how many are better, and how many tie."""
    rows = [
        {"query_id": query, "shape": "s", "variable": None, "answer": answer,
         "greater": greater, "tied": tied}
        for query, own in counts.items()
        for answer, (greater, tied) in enumerate(own)
    ]  # fmt: skip
    return Ranked(pa.Table.from_pylist(rows), {"s": formula})


@pytest.mark.parametrize(
    ("ties", "expected"),
    # Ranks 1 and 3 of one query, 2 to 4 of the other.
    [("pessimistic", [0.25, 0.25, 0.5, 1.0]), ("optimistic", [0.25, 0.75, 1.0, 1.0])],
)
def test_a_curve_is_the_mean_over_queries_of_the_share_of_their_answers(ties, expected):
    counts = {"a": [(0, 0), (2, 0)], "b": [(1, 2)]}
    found = shape_curves(ranked(counts), [1, 2, 3, 4], ties)
    assert found["s"].tolist() == expected


def test_shapes_of_several_variables_have_no_curve():
    assert shape_curves(ranked({"a": [(0, 0)]}, "r1(s1,f1)&r2(f1,f2)"), [1], "pessimistic") == {}


def test_without_ranks_there_is_no_curve():
    nothing = ranked({"a": [(0, 0)]})
    assert shape_curves(nothing._replace(table=nothing.table.slice(1)), [1], "pessimistic") == {}


def test_queries_that_a_dump_lacks_are_left_out_where_they_are_skipped(tmp_path):
    given = write_run(tmp_path)
    path = given["paths_to_ranks"]["toy-test", "walker", "one"]
    table, metadata = read_table(path)
    run = given["run"]
    first = table["query_id"][0].as_py()
    whole = read_primary(path, run, "walker", metadata["queries"]).table
    write_table(path, table, metadata | {"missing": "skip", "lacking": [first]})
    part = read_primary(path, run, "walker", metadata["queries"]).table
    assert {*whole["query_id"].to_pylist()} - {*part["query_id"].to_pylist()} == {first}
    # Half of the rows are under the second filter.
    assert 2 * whole.num_rows == table.num_rows


def test_a_curve_has_points_up_to_the_number_of_candidates():
    assert curve_ranks(25) == [*range(1, 11), 20]
    assert curve_ranks(1) == [1]


def test_a_group_without_one_of_its_shapes_has_no_curve_and_seeds_are_averaged():
    shapes = {"1p": parse("r1(s1,f)"), "2p": parse("r1(s1,e1)&r2(e1,f)")}
    models = {
        "mlp-1": {"1p": np.array([0.5])},
        "mlp-2": {"1p": np.array([0.7])},
        "rnn": {"1p": np.array([0.1]), "2p": np.array([0.3])},
    }
    found = curves(shapes, models, {"mlp-1": "mlp", "mlp-2": "mlp"})
    assert found["models"] == ["mlp", "rnn"]
    assert dict(zip(found["subjects"], found["shares"], strict=True)) == {
        "EPFO": [None, [20.0]],
        "1p": [[60.0], [10.0]],
        "2p": [None, [30.0]],
    }


def test_curves_of_a_run_pass_through_its_hits(made, data):
    asked = {"queries": "toy-more", "ties": "pessimistic", "filter": "observed-and-full"}
    asked |= {"stratum": "", "metric": "hits@3", "averaging": "answers>query>shape>group"}
    part = data["queries"][1]
    place, n_found = part["ranks"].index(3), 0
    for row in rows_of(made["path_to_metrics"]):
        subject = row["group"] or row["shape"]
        if asked.items() <= row.items() and subject in part["curves"]["subjects"]:
            shares = part["curves"]["shares"][part["curves"]["subjects"].index(subject)]
            share = shares[part["curves"]["models"].index(row["model"])][place]
            assert share == pytest.approx(shown(row), abs=0.1001)
            n_found += 1
    assert n_found == 4 * 8


def test_ranks_of_another_model_are_refused(tmp_path):
    given = write_run(tmp_path)
    paths = given["paths_to_ranks"]
    paths["toy-test", "walker", "one"].write_bytes(paths["toy-test", "flat", "one"].read_bytes())
    with pytest.raises(InputError, match="not the ranks of walker"):
        assemble_report(**given)


# Queries


def ragged(rows, width=1):
    values = np.array([v for row in rows for v in row], np.int32)
    values = values if width == 1 else values.reshape(-1, width)
    return Ragged(np.cumsum([0, *map(len, rows)]), values)


def tables(formula, anchors, relations, easy, hard, width=1):
    ids = np.array(["c", "a", "b"], dtype=object)[: len(hard)]
    links = np.ones(sum(map(len, hard)), np.uint8)
    empty = ragged([[]] * len(hard), width)
    own = Answers(ids, ragged(easy, width), ragged(hard, width), empty, links)
    about = {"formulas": {"s": formula}}
    asked = Queries(ids, np.array(anchors, np.int32), np.array(relations, np.int32))
    return QueryTable({"s": asked}, about), AnswerTable({"s": own}, about)


LABELS = ["Anna", "Bert", "</script>", "Dora"], ["likes", "knows"]


def test_examples_are_the_first_queries_by_id_that_have_hard_answers():
    given = tables("r1(s1,f)", [[0], [1], [2]], [[0], [1], [0]], [[], [0], [3]], [[1], [], [0, 3]])
    found = examples(*given, ["s"])
    assert [(one.query_id, one.values, one.easy, one.hard) for one in found] == [
        ("b", {"s1": 2, "r1": 0}, [(3,)], [(0,), (3,)]),
        ("c", {"s1": 0, "r1": 0}, [], [(1,)]),
    ]
    (one,) = examples(*given, ["s", *map(str, range(150))])
    assert one.query_id == "b"
    assert examples(*given, ["other"]) == []


def test_a_long_list_of_answers_is_cut_and_counted():
    given = tables("r1(s1,f)", [[0]], [[0]], [list(range(12))], [list(range(20, 45))])
    (one,) = examples(*given, ["s"])
    assert (len(one.easy), one.n_easy, len(one.hard), one.n_hard) == (10, 12, 20, 25)
    assert len(one.links) == 20


def test_an_example_has_the_best_and_the_worst_rank_of_each_answer():
    given = tables("r1(s1,f)", [[0]], [[0]], [[]], [[1, 3]])
    chosen = examples(*given, ["s"])
    rows = ranked({"c": [(5, 0), (0, 0), (9, 9), (2, 4)]})
    assert example_ranks(chosen, rows) == {"c": [[[1, 1]], [[3, 7]]]}
    found = browser(chosen, {"mlp": example_ranks(chosen, rows)}, *LABELS)
    assert found["queries"][0]["text"] == '"likes"("Anna",f)'
    assert found["queries"][0]["words"] == 'Which f? ("Anna") -"likes"-> (f)'
    assert "why" not in found["queries"][0]
    assert found["labels"] == ["Bert", "Dora"]
    assert found["queries"][0]["hard"] == [[0], [1]]
    assert found["queries"][0]["ranks"] == [[1, [3, 7]]]


def test_answers_of_several_variables_have_a_rank_of_each_value():
    given = tables("r1(s1,f1)&r2(f1,f2)", [[0]], [[0, 1]], [[]], [[1, 3]], width=2)
    chosen = examples(*given, ["s"])
    rows = [
        {"query_id": "c", "shape": "s", "variable": variable, "answer": answer,
         "greater": greater, "tied": 0}
        for variable, answer, greater in ((1, 1, 4), (2, 3, 0), (2, 1, 7))
    ]  # fmt: skip
    table = Ranked(pa.Table.from_pylist(rows), {"s": "r1(s1,f1)&r2(f1,f2)"})
    found = browser(chosen, {"mlp": example_ranks(chosen, table)}, *LABELS)
    assert found["queries"][0]["hard"] == [[0, 1]]
    assert found["queries"][0]["ranks"] == [[[5, 1]]]


def test_many_shapes_have_one_query_each():
    assert [number_per_shape(n) for n in (1, 14, 741)] == [20, 20, 1]


# Text


@pytest.mark.parametrize("label", [*HOSTILE, "]]>", "\u2029", "\x00"])
def test_no_label_ends_the_element_that_holds_it(label):
    text = str(inline_json({"label": [label]}))
    assert json.loads(text) == {"label": [label]}
    assert not set("<>&\u2028\u2029") & set(text)


def test_settings_are_compared_with_those_of_the_default_run():
    run = {"name": "own", "metrics": ["mrr"], "seed": 0, "beta": 0.5, "seeds": {}}
    table = setting_changes(run, {"name": "default", "metrics": ["mrr", "mr"], "seed": 0})
    assert table.rows == [("metrics", "mrr", "mrr, mr"), ("beta", "0.5", "null")]
