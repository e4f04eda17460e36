"""Published results beside those of a run, where both are of the same queries."""

import pytest

from assemble_report import assemble_report
from clqa.configs import read_yaml
from clqa.keyed_tables import read_keyed_table
from clqa.reference_tables import comparisons
from clqa.references import REFERENCES, read_references
from clqa.reports import metric_rows as rows_of
from clqa.scopes import scope_of
from clqa.score_tables import Origin, read_scores
from clqa.tables import read_table
from conftest import ROOT
from synthetic_runs import configuration, write_run

SHAPES = ("1p", "2p", "2i", "2u", "2in", "pni")
KEYS = ("queries", "set", "metric", "ties", "filter", "group", "shape", "model", "source")


def entry(**changes):
    published = {"layout": "beta-e", "files": {}, "counts": {}, "benchmark": "BetaE"}
    about = {"graph": "FB15k-237", "split": "test", "published": published, "seed": 0}
    return {**about, **changes}


@pytest.fixture(scope="module")
def scope(tmp_path_factory):
    run = configuration()
    given = write_run(tmp_path_factory.mktemp("results"), run)
    scores = []
    for (queries, model), path in given["paths_to_scores"].items():
        about = read_table(path)[1]
        origin = Origin(
            queries, model, "FB15k-237", about["split"], about["graph"], about["queries"]
        )
        scores.append(read_scores(path, origin, run["shapes"], ()))
    rows = [row for one in scores for row in rows_of(one, "small")]
    return scope_of("toy-test", run, scores, rows)


def cell(found, line, column):
    names = [one.name for one in found.columns]
    return next(one for one in found.lines if one.model == line).cells[names.index(column)]


def of_mrr(scope, entry):
    """The one comparison with published MRR."""
    (found,) = (one for one in comparisons(scope, entry, REFERENCES) if "hits" not in one.name)
    return found


def test_only_the_same_benchmark_graph_and_split_are_set_beside(scope):
    names = [c.name for c in comparisons(scope, entry(), REFERENCES)]
    assert names == ["betae-fb15k-237", "betae-fb15k-237-hits@10"]
    for change in ({"graph": "FB15k"}, {"split": "valid"}, {"published": {}}):
        names = [c.name for c in comparisons(scope, entry(**change), REFERENCES)]
        assert "betae-fb15k-237" not in names
    sampled = {"graph": "FB15k-237", "split": "test", "sampling": {}}
    assert comparisons(scope, sampled, REFERENCES) == []


def test_tables_of_several_metrics_of_one_benchmark_all_count(scope):
    published = entry()["published"] | {"benchmark": "Query2Box"}
    names = [c.name for c in comparisons(scope, entry(published=published), REFERENCES)]
    assert names == ["query2box-fb15k-237-hits@3", "query2box-fb15k-237-mrr"]


def test_a_published_value_stands_beside_that_of_the_run(scope):
    found = of_mrr(scope, entry())
    assert cell(found, "QTO", "2p").text == "21.4"
    assert "primary source" in cell(found, "QTO", "2p").title
    assert cell(found, "oracle", "2p").text == "100.0"
    assert cell(found, "FIT", "pni").title == "not published"


def test_an_average_that_is_not_the_mean_is_marked(scope):
    found = of_mrr(scope, entry())
    printed, mean = (cell(found, "BetaE", f"negation {kind}") for kind in ("printed", "mean"))
    assert (printed.text, mean.text) == ("5.4", "5.48")
    assert printed.is_suspect
    assert "truncated" in printed.title
    assert not cell(found, "ConE", "negation printed").is_suspect


def test_a_run_without_all_shapes_has_no_mean_and_is_told(scope):
    found = of_mrr(scope, entry())
    assert cell(found, "oracle", "EPFO mean").value is None
    assert any("no 3p, 3i, pi, ip, up" in text for text in found.differences)
    assert any("pessimistic ties" in text for text in found.differences)


def test_shapes_that_only_some_method_has_do_not_count_for_the_mean(scope):
    found = of_mrr(scope, entry())
    names = [column.name for column in found.columns]
    assert names.index("2u-DM") > names.index("EPFO mean")
    assert cell(found, "BetaE (De Morgan)", "2u-DM").text == "11.1"
    assert not any("2u-DM" in text for text in found.differences)
    own = {row[7]: row[9] for row in found.rows if row[5:7] == ("negation", "")}
    assert own["oracle"] is None
    complete = scope._replace(
        shapes=dict.fromkeys([*scope.shapes, "3in", "inp", "pin"]),
        numbers=scope.numbers
        | {
            (*key[:-1], shape): row
            for key, row in scope.numbers.items()
            for shape in ("3in", "inp", "pin")
            if key[-1] == "2in"
        },
    )
    found = of_mrr(complete, entry())
    own = {row[7]: row[9] for row in found.rows if row[5:7] == ("negation", "")}
    assert own["oracle"] == 1.0


@pytest.mark.parametrize(
    ("layout", "own"),
    [
        ({"layout": "beta-e"}, "observed-and-full"),
        ({"layout": "plus-h", "filter": "released"}, "plus-h-released"),
        ({"layout": "plus-h", "filter": "corrected"}, None),
    ],
)
def test_another_filter_than_the_published_one_is_told(scope, layout, own):
    published = entry()["published"] | {"benchmark": "+H"} | layout
    asked = entry(published=published) | {"graph": "FB15k-237+H"}
    (found,) = comparisons(scope, asked, REFERENCES)
    told = [text for text in found.differences if "published filter" in text]
    expected = f"The published filter is plus-h-corrected; this run has {own}."
    assert told == ([] if own is None else [expected])


def efok():
    return entry(published=entry()["published"] | {"benchmark": "EFOk-CQA"})


def test_a_table_whose_values_are_not_known_yet_is_told(scope):
    found = comparisons(scope, efok(), REFERENCES)
    assert [one.name for one in found] == ["efok-1-fb15k-237", "efok-2-fb15k-237"]
    for one in found:
        assert not one.columns
        assert not one.lines
        assert one.differences[0].endswith("not known yet.")
        (row,) = one.rows
        assert row[9:] == (None, "", None, None, "", "not known yet")
    assert "EFOk-CQA" in found[0].caption


def test_the_report_names_a_table_whose_values_are_not_known_yet(tmp_path):
    given = write_run(tmp_path)
    given["query_sets"]["toy-test"] = efok()
    for kind in ("summaries", "entities", "relations"):
        given[f"paths_to_{kind}"]["FB15k-237"] = given[f"paths_to_{kind}"].pop("toy")
    assemble_report(**given)
    assert page_of(given).count("not known yet") == 2
    assert "None are known of these queries." not in page_of(given)
    table = read_keyed_table(given["path_to_tables"] / "references.tsv", KEYS)
    assert [key[1] for key in table.rows] == ["efok-1-fb15k-237", "efok-2-fb15k-237"]


def test_the_report_and_its_tables_hold_the_comparison(tmp_path):
    given = write_run(tmp_path)
    given["query_sets"]["toy-test"] = entry()
    for kind in ("summaries", "entities", "relations"):
        given[f"paths_to_{kind}"]["FB15k-237"] = given[f"paths_to_{kind}"].pop("toy")
    assemble_report(**given)
    table = read_keyed_table(given["path_to_tables"] / "references.tsv", KEYS)
    row = table.rows["toy-test", "betae-fb15k-237", "mrr", "", "observed-and-full", "negation", "",
                     "BetaE", "published"]  # fmt: skip
    value, printed, recomputed, verdict, tag, note = row
    assert (value, printed, verdict, tag, note) == ("0.054", "5.4", "truncated", "M", "")
    assert float(recomputed) == pytest.approx(0.0548)
    sources = {key[-1] for key in table.rows}
    assert sources == {"published", "run"}
    assert "MRR published for the test queries of BetaE on FB15k-237" in page_of(given)


def test_a_run_on_other_queries_has_one_line_and_no_table(tmp_path):
    given = write_run(tmp_path)
    assemble_report(**given)
    table = (given["path_to_tables"] / "references.tsv").read_text()
    assert len(table.splitlines()) == 1
    assert page_of(given).count("None are known of these queries.") == 1


def page_of(given):
    return given["path_to_report"].read_text()


def test_every_benchmark_of_the_catalogue_has_published_results():
    known = {one.queries for one in read_references()}
    catalogue = read_yaml(ROOT / "config" / "query_sets.yaml").values()
    named = {
        one["published"]["benchmark"]
        for one in catalogue
        if "benchmark" in one.get("published", {})
    }
    assert named
    assert named <= known
