"""Metrics, tables and the page of a run."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from assemble_report import assemble_report
from clqa.averages import shape_average
from clqa.diffs import METRICS_KEYS, TABLE_KEYS, compare_results
from clqa.errors import InputError
from clqa.files import sha256_of, write_sealed
from clqa.fingerprints import FIELDS, fingerprint
from clqa.formulas import parse
from clqa.inventories import repeated_triples
from clqa.keyed_tables import KeyedTable, read_keyed_table, write_tsv
from clqa.pages import stratum_label
from clqa.reports import Row, negation_reading
from clqa.roundings import points, rounded
from clqa.scopes import Scope, key_of, partial, totals
from clqa.stratum_names import TITLES
from clqa.typesetting import latex, markdown
from clqa.wide_tables import by_stratum, effects, headline, suspects, tie_rates
from diff_results import diff_results
from report_pages import without_library
from synthetic_runs import FORMULAS, TEMPLATE, configuration, write_run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A result folder with one small run, and what it was made from."""
    folder = tmp_path_factory.mktemp("results")
    given = write_run(folder)
    assemble_report(**given)
    return folder / "runs" / "small", given


@pytest.fixture(scope="module")
def metrics(made) -> KeyedTable:
    return read_keyed_table(made[0] / "metrics.tsv", METRICS_KEYS)


def cells(metrics, column, **asked):
    """A column of all metrics rows that agree with `asked`."""
    found = []
    for key, row in metrics.rows.items():
        named = dict(zip((*metrics.keys, *metrics.columns), (*key, *row), strict=True))
        if all(named[name] == value for name, value in asked.items()):
            found.append(named[column])
    return found


HEADLINE = {"metric": "mrr", "ties": "pessimistic", "filter": "observed-and-full", "stratum": ""}


def test_metrics_have_the_columns_that_others_rely_on(made):
    header = (made[0] / "metrics.tsv").read_text().split("\n", 1)[0]
    assert header == (
        "run graph queries split shape group model seed metric ties filter candidates averaging "
        "inference_graph pni stratum value lower upper n_queries n_answers n_skipped fingerprint "
        "reference note"
    ).replace(" ", "\t")


def test_a_shape_is_the_mean_over_its_queries_and_a_group_over_its_shapes(metrics):
    shapes = [
        float(*cells(metrics, "value", shape=shape, model="walker", **HEADLINE))
        for shape in ("1p", "2p", "2i", "2u")
    ]
    (group,) = cells(metrics, "value", group="EPFO", model="walker", **HEADLINE)
    assert float(group) == pytest.approx(sum(shapes) / 4, abs=1e-15)


@pytest.mark.parametrize(
    ("subject", "name", "reading"),
    [
        ("shape", "pni", "not-exists"),
        ("shape", "2in", ""),
        ("shape", "2p", ""),
        ("group", "negation", "not-exists"),
        ("group", "EPFO", ""),
    ],
)
def test_the_column_pni_tells_the_reading_of_a_negated_chain(metrics, subject, name, reading):
    assert set(cells(metrics, "pni", **{subject: name})) == {reading}


FIT = "r1(s1,e1)&!r2(e1,f)&r3(s2,f)"  # the reading of pni in FIT and EFOk-CQA


@pytest.mark.parametrize(
    ("formulas", "readings"),
    [({"pni": FIT}, {"exists-not"}), ({"pni": FIT, "2in": FORMULAS["pni"]}, None)],
)
def test_another_reading_of_a_negated_chain_is_told(tmp_path, monkeypatch, formulas, readings):
    for shape, formula in formulas.items():
        monkeypatch.setitem(FORMULAS, shape, formula)
    given = write_run(tmp_path / "results", configuration(models=["walker"]))
    assemble_report(**given)
    table = read_keyed_table(given["path_to_metrics"], METRICS_KEYS)
    assert set(cells(table, "pni", shape="pni")) == {"exists-not"}
    both = readings or {"exists-not+not-exists"}
    assert set(cells(table, "pni", group="negation")) == both


def test_a_score_without_a_tie_policy_has_none_in_its_row_and_protocol(made, metrics):
    assert set(cells(metrics, "ties", metric="tie_rate")) == {""}
    assert "" not in cells(metrics, "ties", metric="mrr")
    protocols = json.loads((made[0] / "manifest.json").read_text())["fingerprints"]
    names = cells(metrics, "fingerprint", metric="tie_rate")
    assert {protocols[name]["ties"] for name in names} == {""}


def test_the_policy_on_queries_without_answers_is_part_of_every_protocol(made):
    protocols = json.loads((made[0] / "manifest.json").read_text())["fingerprints"]
    assert {protocol["missing"] for protocol in protocols.values()} == {"error"}


def test_the_oracle_is_always_first(metrics):
    assert set(cells(metrics, "value", metric="mrr", model="oracle", stratum="")) == {"1.0"}


def test_a_constant_scores_by_its_closed_form_under_each_policy(tmp_path):
    given = write_run(tmp_path, hard={shape: [1] * 4 for shape in FORMULAS})
    assemble_report(**given)
    table = read_keyed_table(given["path_to_metrics"], METRICS_KEYS)
    asked = {**HEADLINE, "model": "flat", "shape": "1p"}
    assert cells(table, "value", **asked) == [repr(1 / 50)]
    assert cells(table, "value", **asked | {"ties": "optimistic"}) == ["1.0"]
    expected = sum(1 / rank for rank in range(1, 51)) / 50
    (value,) = cells(table, "value", **asked | {"ties": "expected"})
    assert float(value) == pytest.approx(expected, abs=1e-15)


def test_values_are_stored_in_full(metrics):
    values = [text for text in cells(metrics, "value", stratum="") if "." in text]
    assert all(repr(float(text)) == text for text in values)
    assert max(len(text) for text in values) > 15


def test_a_query_without_hard_answers_is_skipped_and_counted(tmp_path):
    given = write_run(tmp_path, hard={"2p": [2, 0, 1]})
    assemble_report(**given)
    table = read_keyed_table(given["path_to_metrics"], METRICS_KEYS)
    asked = {**HEADLINE, "shape": "2p", "model": "oracle"}
    counts = [cells(table, name, **asked) for name in ("value", "n_queries", "n_skipped")]
    assert counts == [["1.0"], ["2"], ["1"]]


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory):
    """A run in which no query of 2u has a hard answer."""
    given = write_run(tmp_path_factory.mktemp("results"), hard={"2u": [0, 0]})
    assemble_report(**given)
    return given


def test_a_shape_of_nothing_but_such_queries_is_undefined_with_its_reason(unanswered):
    table = read_keyed_table(unanswered["path_to_metrics"], METRICS_KEYS)
    asked = {**HEADLINE, "shape": "2u", "model": "walker"}
    found = [cells(table, name, **asked) for name in ("value", "n_queries", "n_skipped", "note")]
    assert found == [[""], ["0"], ["2"], ["no query has a hard answer"]]


def test_a_group_with_a_missing_shape_has_no_average_and_says_which(unanswered):
    table = read_keyed_table(unanswered["path_to_metrics"], METRICS_KEYS)
    asked = {**HEADLINE, "model": "walker"}
    assert cells(table, "value", group="EPFO", **asked) == [""]
    assert cells(table, "note", group="EPFO", **asked) == ["no value for 2u"]
    assert cells(table, "value", group="negation", **asked) != [""]


def test_the_page_shows_a_dash_and_the_reason(unanswered):
    page = unanswered["path_to_report"].read_text()
    assert 'title="undefined: no query has a hard answer">–</td>' in page
    assert "EPFO (4): no value for 2u" in page
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S).lower().split()


def test_strata_hold_only_answers_of_that_many_links(metrics):
    asked = {**HEADLINE, "model": "walker", "shape": "2p"}
    whole, one, two = (
        int(*cells(metrics, "n_answers", **asked | {"stratum": stratum}))
        for stratum in ("", "links=1", "links=2")
    )
    assert whole == one + two
    assert cells(metrics, "note", **asked | {"stratum": "links=2", "shape": "1p"}) == [
        "no hard answer needs 2 missing links"
    ]


def test_fingerprints_are_those_of_the_protocols_in_the_manifest(made, metrics):
    manifest = json.loads((made[0] / "manifest.json").read_text())
    of_metrics = set(cells(metrics, "fingerprint"))
    of_sets = set()
    for name in ("sets", "bands"):
        table = read_keyed_table(made[0] / "tables" / f"{name}.tsv", TABLE_KEYS)
        of_sets |= {dict(zip(table.keys, key, strict=True))["fingerprint"] for key in table.rows}
    # All queries and those of 1p, with the hard or all answers true.
    assert len(of_sets) == 4
    assert not of_sets & of_metrics
    assert of_sets | of_metrics == set(manifest["fingerprints"])
    for name, protocol in manifest["fingerprints"].items():
        assert set(protocol) == set(FIELDS)
        assert fingerprint(protocol) == name


@pytest.mark.parametrize("column", ["ties", "filter"])
def test_another_tie_policy_or_filter_is_another_fingerprint(metrics, column):
    names = {}
    for value in set(cells(metrics, column, metric="mrr")):
        rest = HEADLINE | {column: value}
        names[value] = cells(metrics, "fingerprint", shape="1p", model="walker", **rest)[0]
    assert len(set(names.values())) == len(names) > 1


@pytest.mark.parametrize(
    ("formula", "reading"),
    [
        ("r3(s2,f)&!(r1(s1,e1)&r2(e1,f))", "not-exists"),
        ("r1(s1,e1)&!r2(e1,f)&r3(s2,f)", "exists-not"),
        ("r1(s1,f)&!r2(s2,f)", ""),
        ("r1(s1,e1)&!r2(s2,e1)&r3(e1,f)", ""),
        ("!(!r1(s1,e1)&!r2(s2,e1))&r3(e1,f)", ""),
    ],
)
def test_the_reading_of_a_negated_chain_comes_from_the_formula(formula, reading):
    assert negation_reading(parse(formula)) == reading


def test_json_results_are_strict(made):
    for name in ("manifest.json", "versions.json"):
        json.loads((made[0] / name).read_text(), parse_constant=pytest.fail)


def test_the_manifest_lists_every_file_that_was_read_or_written(made):
    folder, given = made
    files = json.loads((folder / "manifest.json").read_text())["files"]
    results = folder.parents[1]
    read = [path for kind in given for path in _paths(given[kind]) if kind.startswith("paths_")]
    made = [path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"]
    expected = {path.relative_to(results).as_posix(): sha256_of(path) for path in (*read, *made)}
    # Dumps are not read; their digests are those that ranks have of them.
    for _, queries, model, shard in (name.split("/") for name in [*expected] if "ranks/" in name):
        dump = shard.removesuffix("parquet") + "npy"
        expected |= {f"predictions/{queries}/{model}/{dump}": "7" * 64}
    assert {name: about["sha256"] for name, about in files.items()} == expected


def _paths(value):
    return value.values() if isinstance(value, dict) else ()


def test_a_file_that_is_a_link_into_a_cache_keeps_its_own_name(tmp_path):
    given = write_run(tmp_path / "results")
    cached = (tmp_path / "cache").with_suffix(".json")
    summary = given["paths_to_summaries"]["toy"]
    summary.rename(cached)
    summary.symlink_to(cached)
    assemble_report(**given)
    assert "graphs/toy/summary.json" in json.loads(given["path_to_manifest"].read_text())["files"]


def test_versions_name_what_the_numbers_depend_on(made):
    versions = json.loads((made[0] / "versions.json").read_text())
    assert {"python", "numpy", "snakemake", "clqa", "commit"} <= set(versions)


def test_no_machine_and_no_time_is_in_the_results(made):
    folder, given = made
    for path in (path for path in folder.rglob("*") if path.is_file()):
        text = without_library(path.read_text())
        assert str(given["path_to_metrics"].parents[3]) not in text
        assert str(Path.home()) not in text
        assert not re.search(r"20\d\d-\d\d-\d\d", text)


def test_no_order_of_the_inputs_changes_a_byte(made, tmp_path):
    folder, _ = made
    given = write_run(tmp_path)
    for name, value in given.items():
        if name.startswith("paths_"):
            given[name] = dict(reversed(value.items()))
    assemble_report(**given)
    again = given["path_to_metrics"].parent
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert names == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    for name in names:
        assert (again / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_run_equals_itself(made):
    assert diff_results(made[0], made[0])["status"] == "equal"


def test_a_file_from_outside_the_result_folder_is_refused(tmp_path):
    given = write_run(tmp_path / "results")
    given["path_to_manifest"] = tmp_path / "other" / "runs" / "small" / "manifest.json"
    with pytest.raises(InputError, match="not in the result folder"):
        assemble_report(**given)


# The page


class Page(HTMLParser):
    """Collects what a page refers to, its ids, and whether its elements are closed in order."""

    VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})

    def __init__(self, text):
        super().__init__()
        self.references, self.ids, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                self.references.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}>"


def test_the_page_asks_the_network_for_nothing(made):
    text = without_library((made[0] / "report.html").read_text())
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", text))
    own = {"metrics.tsv", "manifest.json", "versions.json", "tables/"}
    own |= {"tables/sets.tsv", "tables/bands.tsv", "tables/switches.tsv"}
    assert {ref for ref in Page(text).references if not ref.startswith("#")} <= own


def test_the_page_is_well_formed_and_its_inner_links_lead_somewhere(made):
    page = Page((made[0] / "report.html").read_text())
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {ref[1:] for ref in page.references if ref.startswith("#")} <= set(page.ids)


def test_the_page_shows_the_protocol(made, metrics):
    text = (made[0] / "report.html").read_text()
    for shown in ("9" * 12, "pessimistic", "observed-and-full", "all:50", "numpy", "seed: 3"):
        assert shown in text
    assert cells(metrics, "fingerprint", shape="1p", **HEADLINE)[0] in text


def test_the_page_names_shapes_of_which_queries_are_missing(made):
    text = (made[0] / "report.html").read_text()
    assert "pni on toy-test (6 of 7)" in text


def test_published_queries_are_imported_and_not_sampled(tmp_path):
    given = write_run(tmp_path)
    sampled = [name for name in given["query_sets"] if name != "toy-test"]
    entry = given["query_sets"]["toy-test"]
    del entry["sampling"]
    entry["published"] = {"layout": "beta-e", "files": {}, "counts": {}, "on_bad_shape": "skip"}
    assemble_report(**given)
    text = given["path_to_report"].read_text()
    n_shapes = len(given["run"]["shapes"])
    assert f"toy-test: imported {6 * n_shapes} of {6 * n_shapes + 1} expected." in text
    assert "pni on toy-test (6 of 7)" not in text
    assert ("<h3>Sampling</h3>" in text) == bool(sampled)
    assert "were not drawn" not in text.split("Published results")[0] or sampled


def test_numbers_of_one_are_in_the_singular(tmp_path):
    run = configuration() | {"query_sets": ["toy-test"], "models": ["oracle"]}
    given = write_run(tmp_path, run)
    assemble_report(**given)
    text = given["path_to_report"].read_text()
    assert "1 query set · 1 model ·" in text
    assert "How well does 1 model answer" in text


def test_a_name_that_looks_like_markup_is_shown_as_text(tmp_path):
    given = write_run(tmp_path)
    given["query_sets"]["toy-test"]["sampling"]["draw"] = "<b>&"
    assemble_report(**given)
    assert "draw: &lt;b&gt;&amp;" in given["path_to_report"].read_text()


# Tables to read

CONTROLS = {"mlp": False, "rnn": False, "oracle": True}


def scope(values, metric="mrr", **options):
    """A scope of made-up numbers: values by (model, shape or group), or by these and more."""
    rows = {}
    for (model, subject, *rest), value in values.items():
        where = dict(zip(("ties", "stratum", "filter", "metric"), rest, strict=False))
        row = _row(model, subject, value, where | {"metric": where.get("metric", metric)})
        rows[key_of(row)] = row
    shapes = {shape: parse(FORMULAS[shape]) for shape in options.get("shapes", ("1p", "2p"))}
    models = {model: CONTROLS[model] for model in dict.fromkeys(key[0] for key in values)}
    return Scope("toy", shapes, models, metric, "pessimistic", "observed-and-full", rows)


def _row(model, subject, value, where):
    is_group = subject in ("EPFO", "negation")
    empty = dict.fromkeys(Row._fields, "") | {"lower": None, "upper": None}
    return Row(
        **empty
        | {"ties": "pessimistic", "filter": "observed-and-full", **where}
        | {"model": model, "value": value, "n_queries": 1, "n_answers": 1}
        | {"group": subject if is_group else "", "shape": "" if is_group else subject}
        | {"note": "" if value is not None else "no value for 2p"}
    )


def test_the_best_value_is_found_among_raw_values_not_among_rounded_ones():
    table = headline(scope({("mlp", "1p"): 0.30735, ("rnn", "1p"): 0.30741}))
    assert [(c.cells[0].text, c.cells[0].is_best) for c in table.lines] == [
        ("30.7", False),
        ("30.7", True),
    ]


def test_controls_do_not_compete_for_the_best_value():
    table = headline(scope({("mlp", "1p"): 0.3, ("oracle", "1p"): 1.0}))
    assert [line.cells[0].is_best for line in table.lines] == [True, False]


def test_equal_best_values_are_both_marked():
    table = headline(scope({("mlp", "1p"): 0.3, ("rnn", "1p"): 0.3}))
    assert [line.cells[0].is_best for line in table.lines] == [True, True]


def test_the_lowest_mean_rank_is_best_and_is_no_share():
    table = headline(scope({("mlp", "1p"): 12.25, ("rnn", "1p"): 3.5}, metric="mr"))
    assert [(c.cells[0].text, c.cells[0].is_best) for c in table.lines] == [
        ("12.2", False),
        ("3.5", True),
    ]


def test_an_interval_is_shown_with_its_number():
    given = scope({("mlp", "1p"): 0.3, ("mlp", "2p"): 0.2})
    rows = {
        key: row._replace(lower=0.25, upper=0.3525) if row.shape == "1p" else row
        for key, row in given.numbers.items()
    }
    first, second = headline(given._replace(numbers=rows)).lines[0].cells[:2]
    assert (first.interval, first.ends) == ("25.0–35.2", (0.25, 0.3525))
    assert first.title.endswith("; interval 25.0–35.2")
    assert (second.interval, second.ends) == ("", None)


def test_the_page_shows_intervals_and_switches(made, metrics):
    text = (made[0] / "report.html").read_text()
    asked = HEADLINE | {"model": "walker", "group": "EPFO"}
    lower, upper = (points(float(*cells(metrics, name, **asked))) for name in ("lower", "upper"))
    assert f"<small>{lower}–{upper}</small>" in text
    table = text.split("How far each switch of the protocol moves")[1].split("</details>")[0]
    assert '<td class="text">pessimistic</td>\n<td class="text">optimistic</td>' in table


def test_an_undefined_value_is_never_best():
    table = headline(scope({("mlp", "1p"): None}))
    assert (table.lines[0].cells[0].text, table.lines[0].cells[0].is_best) == ("–", False)


def test_an_average_says_over_how_many_shapes_it_was_taken():
    values = {("mlp", subject): 0.5 for subject in ("1p", "2p", "2in", "EPFO", "negation")}
    table = headline(scope(values, shapes=("2in", "1p", "2p")))
    assert [column.label for column in table.columns] == [
        *("1p", "2p", "EPFO (2)"),
        *("2in", "negation (1)"),
    ]
    assert table.columns[2].title == "mean over 1p, 2p"


def test_tables_are_made_by_key_whatever_the_order_of_rows():
    values = {("mlp", "1p"): 0.1, ("mlp", "2p"): 0.2, ("rnn", "1p"): 0.3, ("rnn", "2p"): 0.4}
    one = scope(values)
    other = one._replace(numbers=dict(reversed(one.numbers.items())))
    assert headline(one) == headline(other)


def test_strata_have_rows_of_the_scores_that_they_have_and_no_others(metrics):
    """Other tie policies and filters are not measured there: no row may call them undefined."""
    found = {
        (ties, rule)
        for ties, rule, stratum in zip(
            *(cells(metrics, name) for name in ("ties", "filter", "stratum")), strict=True
        )
        if stratum
    }
    assert found == {("pessimistic", "observed-and-full"), ("", "observed-and-full")}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("links=1", "1 missing link"),
        ("links=3", "3 missing links"),
        ("size=10-19", "10-19 true answers"),
        ("degree=0", "0 edges"),
        ("class=pos-exist", "pos-exist"),
    ],
)
def test_strata_are_told_in_words(name, label):
    assert stratum_label(name) == label


def test_strata_come_in_the_order_of_their_numbers():
    values = {("mlp", "1p", "pessimistic", f"links={number}"): 0.1 for number in (10, 2, 1)}
    table = by_stratum(scope(values), "links")
    assert [line.stratum for line in table.lines] == ["links=1", "links=2", "links=10"]


def test_a_tie_rate_is_marked_where_ties_move_the_headline_by_more_than_half_a_point():
    values = {
        ("mlp", "1p", "", "", "observed-and-full", "tie_rate"): 0.9,
        ("mlp", "1p", "pessimistic"): 0.300,
        ("mlp", "1p", "optimistic"): 0.306,
        ("mlp", "2p", "", "", "observed-and-full", "tie_rate"): 0.9,
        ("mlp", "2p", "pessimistic"): 0.300,
        ("mlp", "2p", "optimistic"): 0.304,
    }
    made_up = scope(values)
    cells_of_mlp = tie_rates(made_up).lines[0].cells
    assert [cell.is_suspect for cell in cells_of_mlp[:2]] == [True, False]
    assert [(model, column.name) for model, column, _ in suspects(made_up)] == [("mlp", "1p")]


def test_other_protocols_stand_beside_the_primary_one():
    values = {
        ("mlp", "EPFO", "pessimistic"): 0.3,
        ("mlp", "EPFO", "optimistic"): 0.5,
        ("mlp", "EPFO", "pessimistic", "", "full-only"): 0.2,
        ("mlp", "EPFO", "optimistic", "", "full-only"): 0.4,
    }
    table = effects(scope(values))
    labels = [column.label for column in table.columns]
    assert labels == ["pessimistic", "optimistic", "pessimistic, full-only"]
    assert [cell.text for cell in table.lines[0].cells] == ["30.0", "50.0", "20.0"]


def test_markdown_and_latex_round_half_to_even_and_say_so():
    table = headline(scope({("mlp", "1p"): 0.1225, ("mlp", "2p"): None, ("mlp", "EPFO"): None}))
    text = markdown(table)
    assert "| model | 1p | 2p | EPFO (2) |" in text
    assert "| mlp | **12.2** | – | – |" in text
    assert "half to even" in text
    assert "Undefined: 2p: no value for 2p" in text
    text = latex(table)
    assert r"mlp & \textbf{12.2} & -- & -- \\" in text
    assert r"\begin{tabular}{lrrr}" in text


def test_the_second_best_is_underlined_by_stored_values_and_twins_are_told():
    values = {("mlp", "1p"): 0.30735, ("rnn", "1p"): 0.30741, ("oracle", "1p"): 1.0}
    table = headline(scope(values))
    text = markdown(table)
    assert "| mlp | <u>30.7</u> |" in text
    assert "| rnn | **30.7** |" in text
    assert "Some numbers look as good as a marked one and differ before rounding." in text
    assert r"mlp & \underline{30.7} &" in latex(table)
    assert "look as good" not in markdown(headline(scope({("mlp", "1p"): 0.3, ("rnn", "1p"): 0.2})))


def test_intervals_are_in_tables_if_they_are_asked_for():
    given = scope({("mlp", "1p"): 0.3})
    rows = {key: row._replace(lower=0.25, upper=0.3525) for key, row in given.numbers.items()}
    table = headline(given._replace(numbers=rows))
    assert "| **30.0** [25.0–35.2] |" in markdown(table, intervals=True)
    assert r"\textbf{30.0} {\scriptsize [25.0--35.2]} &" in latex(table, intervals=True)
    assert "25.0" not in markdown(table) + latex(table)


HOSTILE = "a|b*c*_d_<b>e</b>[f](g)`h`\\i{j}%k&l$m#n~o^p שלום"


def test_no_name_breaks_out_of_markdown():
    made_up = scope({("mlp", "1p"): 0.5})._replace(models={HOSTILE: False}, numbers={})
    (line,) = [line for line in markdown(headline(made_up)).split("\n") if "a\\|b" in line]
    plain = re.sub(r"\\.", "", line)
    assert plain.count("|") == 2 + len(headline(made_up).columns)
    assert not set("*`<>[]") & set(plain)


def test_latex_compiles(tmp_path):
    """Every table of a run, with names that hold what LaTeX takes for commands."""
    program = shutil.which("tectonic") or shutil.which("latexmk") or shutil.which("pdflatex")
    if program is None:
        pytest.skip("no tectonic, latexmk or pdflatex to compile LaTeX tables with")
    name = HOSTILE.encode("ascii", "ignore").decode()
    made_up = scope({("mlp", "1p"): 0.5, ("mlp", "2p"): None})._replace(models={name: False})
    body = latex(headline(made_up), intervals=True)
    text = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "table.tex").write_text(f"{text}{body}\\end{{document}}\n")
    options = ["-pdf", "-interaction=nonstopmode"] if "latexmk" in program else []
    subprocess.run([program, *options, "table.tex"], cwd=tmp_path, check=True, timeout=120)


def test_braces_and_environments_of_latex_are_balanced():
    made_up = scope({("mlp", "1p"): 0.5})._replace(models={HOSTILE: False}, numbers={})
    text = latex(headline(made_up))
    assert text.count(r"\begin{") == text.count(r"\end{") == 1
    plain = re.sub(r"\\[{}%&$#_\\]", "", "\n".join(x for x in text.split("\n") if x[:1] != "%"))
    assert plain.count("{") == plain.count("}")
    columns = len(headline(made_up).columns)
    (row,) = [line for line in plain.split("\n") if "textbackslash" in line]
    assert row.count("&") == columns
    assert not set("%$#~^") & set(row)


def test_latex_escapes_what_names_may_hold():
    made_up = scope({("mlp", "1p"): 0.5})
    made_up = made_up._replace(models={"m_1-2.3": False}, numbers={})
    assert r"m\_1-2.3 &" in latex(headline(made_up))


def test_tables_of_the_run_hold_values_as_stored(made, metrics):
    table = read_keyed_table(made[0] / "tables" / "mrr-toy-test.tsv", ("model",))
    row = dict(zip(table.columns, table.rows[("walker",)], strict=True))
    (value,) = cells(metrics, "value", shape="2in", model="walker", **HEADLINE)
    assert row["2in"] == value
    (value,) = cells(metrics, "value", group="negation", model="walker", **HEADLINE)
    assert row["negation"] == value


def test_every_wide_table_is_there_in_three_forms(made):
    names = {path.stem for path in (made[0] / "tables").glob("*.tex")}
    assert {"overview", "mrr-toy-test", "links-toy-test", "ties-toy-test"} <= names
    assert names == {path.stem for path in (made[0] / "tables").glob("*.md")}
    plain = {"answers", "audits", "comparisons", "graphs", "reductions", "references", "sampling"}
    plain |= {"sets", "bands", "switches", "repeated"}
    assert {path.stem for path in (made[0] / "tables").glob("*.tsv")} == names | plain


def test_every_row_about_answer_sets_is_in_a_table_that_two_runs_share(made):
    folder = made[0] / "tables"
    table = read_keyed_table(folder / "sets.tsv", TABLE_KEYS)
    keys = ("graph", "queries", "split", "model", "stratum", "rule", "truth", "beta", "fingerprint")
    assert table.keys == keys
    assert len(table.rows) == 4 * 2 * 2 * 3
    key = ("toy", "toy-test", "test", "walker", "shape=1p", "threshold@0.5", "full", "0.5")
    (found,) = (own for own in table.rows if own[:-1] == key)
    row = dict(zip(table.columns, table.rows[found], strict=True))
    assert (row["f_beta"], row["f_beta_low"], row["predicted_high"]) == ("", "0.5", "11")
    bands = read_keyed_table(folder / "bands.tsv", TABLE_KEYS)
    assert len(bands.rows) == 3
    assert (*key[:4], "threshold@0.5", "hard", "0.5", "0.4") in {own[:-1] for own in bands.rows}


def test_the_page_shows_the_answer_sets_of_the_first_truth(made, tmp_path):
    text = " ".join((made[0] / "report.html").read_text().split())
    assert "against the hard answers; easy ones are taken out." in text
    assert "<td>65.0</td> <td>75.0</td> <td>50.0</td> <td>1.33</td>" in text
    assert "F from 50.0 to 65.0: 1 lists are cut above the threshold" in text
    assert "<td>80.0</td> <td>50.0</td> <td>25.0</td> <td>1.33</td> <td>40</td>" in text
    given = write_run(tmp_path, configuration() | {"truths": ["full"]})
    assemble_report(**given)
    text = " ".join(Path(given["path_to_report"]).read_text().split())
    assert "against all answers on the full graph." in text


def test_answer_sets_of_another_model_are_refused(tmp_path):
    given = write_run(tmp_path)
    paths = given["paths_to_sets"]
    paths["toy-test", "walker"].write_bytes(paths["toy-test", "flat"].read_bytes())
    with pytest.raises(InputError, match="answer sets of another model"):
        assemble_report(**given)


def test_a_run_of_one_model_that_is_a_control_has_no_best(tmp_path):
    given = write_run(tmp_path, configuration(models=("oracle",), shapes=("2in",)))
    assemble_report(**given)
    assert "**" not in (given["path_to_tables"] / "mrr-toy-test.md").read_text().split("\n", 1)[1]


def test_a_run_with_optimistic_ties_alone_can_be_shown(tmp_path):
    run = configuration() | {"ties": ["optimistic"], "filters": ["full-only"], "metrics": ["mr"]}
    given = write_run(tmp_path, run)
    assemble_report(**given)
    assert "1 is always first, and lower is better" in given["path_to_report"].read_text()


def test_runs_that_show_another_metric_or_policy_first_have_no_changed_numbers(tmp_path):
    folders = []
    for side, change in (("a", {}), ("b", {"ties": ["optimistic", "pessimistic"]})):
        settings = configuration() | {"ties": ["pessimistic", "optimistic"]} | change
        given = write_run(tmp_path / side, settings)
        assemble_report(**given)
        folders.append(given["path_to_metrics"].parent)
    diff = compare_results(*folders, force=True)
    assert diff["changed"] == []


def test_query_sets_may_have_different_shapes(tmp_path):
    one = write_run(tmp_path, configuration(("toy-test",), shapes=("1p", "2in")))
    other = write_run(tmp_path, configuration(("more-test",), shapes=("2p", "2u")))
    given = {
        name: value | other[name] if name.startswith(("paths", "query_sets")) else value
        for name, value in one.items()
    }
    given["run"] = configuration(("toy-test", "more-test"), shapes=("1p", "2p", "2u", "2in"))
    assemble_report(**given)
    header = (given["path_to_tables"] / "mrr-more-test.tsv").read_text().split("\n", 1)[0]
    assert header.split("\t") == [
        "metric",
        "ties",
        "filter",
        "stratum",
        "model",
        "2p",
        "2u",
        "EPFO",
    ]
    header = (given["path_to_tables"] / "overview.tsv").read_text().split("\n", 1)[0]
    assert header.split("\t")[5:] == ["toy-test EPFO", "toy-test negation", "more-test EPFO"]


# Rounding


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.30735, "30.7"), (0.30824, "30.8"), (0.1225, "12.2"), (0.1235, "12.4"), (-0.00001, "0.0")],
)
def test_points_are_rounded_half_to_even(value, shown):
    assert str(points(value)) == shown


def test_a_delta_is_rounded_from_raw_values():
    assert str(points(0.30824 - 0.30735, 2)) == "0.09"


def test_plain_numbers_are_rounded_on_their_decimal_digits():
    assert str(rounded(2.675, 2)) == "2.68"


@pytest.mark.parametrize("cell", [float("nan"), float("inf"), "a\tb", "a\nb"])
def test_a_table_takes_no_nan_and_no_text_that_breaks_it(tmp_path, cell):
    with pytest.raises(InputError):
        write_tsv(tmp_path / "table.tsv", ["a"], [[cell]])
    assert list(tmp_path.iterdir()) == []


def test_three_queries_of_which_one_has_no_hard_answers():
    average = shape_average([1.0, 0.5, None], [1, 1, 0])
    assert (average.value, average.n_queries, average.n_skipped) == (0.75, 2, 1)


@pytest.mark.parametrize("key", TITLES)
def test_the_page_says_what_each_kind_of_stratum_is(key):
    assert f'\n  "{key}": "The same over ' in TEMPLATE.read_text()


def test_models_over_fewer_queries_are_told_and_do_not_set_the_counts():
    sizes = {
        ("dump", "1p"): (5, 9),
        ("dump", "2p"): (6, 7),
        ("own", "1p"): (6, 11),
        ("own", "2p"): (6, 7),
    }
    rows = {
        (model, shape): SimpleNamespace(
            model=model, shape=shape, stratum="", n_queries=n, n_answers=m
        )
        for (model, shape), (n, m) in sizes.items()
    }
    both = {"dump": False, "own": False}
    scope = Scope("q", {}, both, "mrr", "pessimistic", "observed-and-full", rows)
    assert partial(scope) == [("dump", 11, 12)]
    assert totals(scope) == (12, 18)
    assert partial(scope._replace(models={"own": False})) == []


def test_triples_of_two_splits_are_counted_by_graph(tmp_path):
    splits = {
        "train": {"triples_in_earlier_splits": {}},
        "valid": {"triples_in_earlier_splits": {"train": 0}},
        "test": {"triples_in_earlier_splits": {"train": 30, "valid": 2}},
    }
    paths = {name: tmp_path / f"{name}.json" for name in "ba"}
    write_sealed(paths["a"], {"splits": splits})
    write_sealed(paths["b"], {"splits": {"train": {}}})
    rows = [("a", "test", "train", 30), ("a", "test", "valid", 2)]
    assert repeated_triples(paths).rows == rows
