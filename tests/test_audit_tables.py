"""What a report says of audits: of published sets, of sampled ones, and of skipped shapes."""

import json
import re

import pytest

from assemble_report import assemble_report
from clqa.audit_forms import DEGENERATE, NOTABLE
from clqa.audit_tables import audit_table, audit_view, read_audit, reduction_table
from clqa.errors import InputError
from clqa.files import write_sealed
from synthetic_runs import write_run

LINKS = {"links": {"1": 3, "2": 1}, "classes": {"1p": 3, "2p": 0, "none": 1}}
SUBSETS = {"1": 2, "2": 1, "1 or 2": 1}


def one_shape(**changes):
    sizes = {name: {"largest": 4, "as_large": 1, "mean": 2.0} for name in ("easy", "hard")}
    return {
        "queries": 2,
        "degenerate": dict.fromkeys((*DEGENERATE, *NOTABLE), 0) | {"idle_negations": 1},
        "sizes": sizes | {"retracted": {"largest": None, "as_large": 0, "mean": None}},
        "reductions": {**LINKS, "subsets": SUBSETS},
        **changes,
    }


def audit(shapes, **changes):
    about = {"name": "q", "split": "test", "queries": 2, "skipped": {}, "shapes": shapes}
    return about | changes


PUBLISHED = one_shape(
    differing=1,
    how={"queries_with_missing_answers": 1, "retracted_answers_counted_as_easy": 7},
    examples=[
        {
            "query_id": "0",
            "anchors": ["Ann"],
            "relations": ["likes"],
            "differences": {"easy": {"missing": {"answers": 9, "first": ["Bob", "Cid"]}}},
        }
    ],
)


def test_a_sampled_set_has_no_verdict():
    view = audit_view(audit({"2p": one_shape()}), ["2p"])
    assert (view.verdict, view.different, view.examples, view.warnings) == ("", None, [], [])


def test_a_clean_release_is_said_to_be_clean():
    view = audit_view(audit({"2p": one_shape(differing=0)}, differing=0), ["2p"])
    assert view.verdict == "All 2 queries have the answers that the graph gives."
    assert view.different is None


def test_what_differs_is_counted_and_the_first_queries_are_spelt_out():
    view = audit_view(audit({"2p": PUBLISHED}, differing=1), ["2p"])
    assert view.verdict.startswith("1 of 2 queries have other answers")
    row = dict(zip(view.different.columns, view.different.rows[0], strict=True))
    assert (row["differing"], row["queries with missing answers"]) == (1, 1)
    assert view.examples == ["2p (Ann; likes): missing in easy: Bob, Cid … (9)"]
    assert any("7 retracted" in text for text in view.remarks)


def test_skipped_shapes_unverified_sets_and_bounds_are_named():
    found = audit(
        {"2p": one_shape()},
        skipped={"inp": "inp: query 3 has no relation"},
        unverified={"ip": ["full"]},
        caps={"easy": None, "hard": 100, "retracted": None},
    )
    view = audit_view(found, ["2p", "inp"])
    assert view.warnings == ["inp was skipped: inp: query 3 has no relation"]
    assert any("ip the release lacks the full answers" in text for text in view.remarks)
    assert any("more than 100 hard answers" in text for text in view.remarks)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"max_hard": 100, "max_easy": None, "max_retracted": 50},
         "Queries with more than 100 hard or 50 retracted answers were not drawn."),
        ({"max_hard": None, "max_easy": None, "max_retracted": None},
         "Queries were drawn whatever the number of their answers."),
    ],
)  # fmt: skip
def test_of_a_sampled_set_the_bounds_of_the_sampling_are_told(sampling, expected):
    assert audit_view(audit({"2p": one_shape()}), ["2p"], sampling).remarks == [expected]


def test_queries_without_easy_answers_and_answers_that_are_no_candidates_are_remarks():
    shape = one_shape(hard_answers_that_are_no_candidates=1)
    shape["degenerate"]["without_easy_answers"] = 2
    view = audit_view(audit({"2p": shape}), ["2p"])
    assert view.remarks[0].startswith("2 queries have no easy answer")
    assert view.remarks[1].startswith("1 hard answer is no candidate of the split")
    assert view.degenerate.columns == ("shape", "queries", "idle negations")


def test_shares_of_hard_answers_are_in_points():
    view = audit_view(audit({"2p": one_shape()}), ["2p"])
    assert view.reductions.columns[:4] == (
        "shape",
        "hard answers",
        "1 missing link",
        "2 missing links",
    )
    assert view.reductions.rows == [
        ("2p", 4, "75.0", "25.0", "1p: 75.0 · none: 25.0", "1: 50.0 · 1 or 2: 25.0 · 2: 25.0")
    ]


def test_ways_beyond_the_first_are_summed_up():
    subsets = {str(number): 10 - number for number in range(1, 7)}
    shape = one_shape(reductions={"links": {"1": 39}, "classes": None, "subsets": subsets})
    (row,) = audit_view(audit({"6i": shape}), ["6i"]).reductions.rows
    assert row[3] == ""
    assert row[4] == "1: 23.1 · 2: 20.5 · 3: 17.9 · 4: 15.4 · others: 23.1"


def test_a_kind_of_degenerate_queries_that_there_is_none_of_is_left_out():
    view = audit_view(audit({"2p": one_shape()}), ["2p"])
    assert view.degenerate.columns == ("shape", "queries", "idle negations")
    assert view.degenerate.rows == [("2p", 2, 1)]


def test_tables_have_a_row_per_set_and_shape():
    audits = {"q": audit({"2p": PUBLISHED, "1p": one_shape()}, differing=1)}
    table = audit_table(audits, ["1p", "2p"])
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["shape"], row["differing"]) for row in rows] == [("1p", 0), ("2p", 1)]
    assert [row["largest_retracted"] for row in rows] == [None, None]
    shares = {row[1:5]: row[5] for row in reduction_table(audits, ["1p", "2p"]).rows}
    assert shares["2p", "links", "2", 1] == 0.25
    assert shares["2p", "classes", "2p", 0] == 0.0
    assert shares["1p", "subsets", "1 or 2", 1] == 0.25


def test_an_unreadable_audit_is_named(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InputError, match=r"a\.json: not readable as JSON"):
        read_audit(tmp_path / "a.json", {})


def test_the_report_names_skipped_shapes_and_escapes_what_labels_hold(tmp_path):
    given = write_run(tmp_path)
    path = given["paths_to_audits"]["toy-test"]
    found = json.loads(path.read_text())
    example = PUBLISHED["examples"][0] | {"anchors": ["<b>Ann"]}
    found["shapes"]["2p"] |= {key: PUBLISHED[key] for key in ("differing", "how")}
    found["shapes"]["2p"]["examples"] = [example]
    del found["shapes"]["2u"]
    found |= {"differing": 1, "skipped": {"2u": "no relation"}}
    write_sealed(path, found)
    assemble_report(**given)
    text = given["path_to_report"].read_text()
    assert re.search(r'class="warning">2u was skipped: no relation<', text)
    assert "2p (&lt;b&gt;Ann; likes)" in text
    assert "1 of 36 queries have other answers" in text
