"""Comparing two runs or result folders."""

import gzip
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clqa.diffs import METRICS_KEYS, compare_results
from clqa.errors import InputError
from clqa.filters import FILTERS
from clqa.fingerprints import fingerprint
from clqa.listings import MOST, listing
from clqa.metrics import metric
from clqa.ragged import ragged
from clqa.ranks import count_competitors
from diff_results import diff_results, main

COLUMNS = (*METRICS_KEYS, "run", "value", "n_queries", "note")
PROTOCOL = {
    "graph": "g1",
    "queries": "q1",
    "filter": "observed-and-full",
    "ties": "pessimistic",
    "candidates": "all:135",
    "averaging": "answers>queries>shapes>groups",
    "missing": "error",
    "pni": "",
    "metric_version": "1",
}


def row(value, n_queries=1, note="", run="r", protocol=(), **subject):
    """A metrics row about MRR of `mlp` on 2p, its protocol changed where `protocol` says so."""
    protocol = PROTOCOL | dict(protocol)
    return {
        **{"graph": "umls", "queries": "umls-test", "split": "test", "shape": "2p", "group": ""},
        **{"model": "mlp", "seed": "", "metric": "mrr", "inference_graph": "", "stratum": ""},
        **subject,
        **{name: protocol[name] for name in ("filter", "ties", "candidates", "averaging", "pni")},
        "fingerprint": fingerprint(protocol),
        **{"run": run, "value": value, "n_queries": n_queries, "note": note},
        "protocol": protocol,
    }


def write_run(folder: Path, rows, tables=(), versions=None, columns=COLUMNS) -> Path:
    (folder / "tables").mkdir(parents=True)
    lines = ["\t".join(columns), *("\t".join(str(r[c]) for c in columns) for r in rows)]
    (folder / "metrics.tsv").write_text("\n".join(lines) + "\n")
    manifest = {"fingerprints": {r["fingerprint"]: r["protocol"] for r in rows}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "versions.json").write_text(json.dumps(versions or {"numpy": "2.4.6"}))
    for name, text in dict(tables).items():
        (folder / "tables" / name).write_text(text)
    return folder


@pytest.fixture
def runs(tmp_path):
    """Writes the rows of an old and a new run and gives their two folders."""

    def write(old, new, **options):
        return write_run(tmp_path / "a", old, **options), write_run(tmp_path / "b", new, **options)

    return write


def test_the_order_of_rows_columns_and_the_name_of_the_run_do_not_matter(tmp_path):
    rows = [row(0.3), row(0.4, shape="3p")]
    old = write_run(tmp_path / "a", rows)
    renamed = [r | {"run": "other"} for r in reversed(rows)]
    new = write_run(tmp_path / "b", renamed, columns=tuple(reversed(COLUMNS)))
    assert compare_results(old, new)["status"] == "equal"


def test_numbers_within_the_tolerance_are_equal_and_exactness_can_be_asked_for(runs):
    old, new = runs([row(0.3)], [row(0.30000000000000004)])
    assert compare_results(old, new)["status"] == "equal"
    assert compare_results(old, new, atol=0)["status"] == "different"


def test_counts_have_no_tolerance(runs):
    old, new = runs([row(0.3, n_queries=10)], [row(0.3, n_queries=11)])
    (change,) = compare_results(old, new, atol=5)["changed"]
    assert (change["column"], change["old"], change["new"], change["delta"]) == (
        *("n_queries", 10, 11),
        1.0,
    )


def test_a_change_is_shown_by_its_raw_delta_not_by_that_of_rounded_cells(runs):
    old, new = runs([row(0.30735)], [row(0.30824)])
    diff = compare_results(old, new)
    (change,) = diff["changed"]
    assert change["delta"] == pytest.approx(0.00089, abs=1e-15)
    assert "0.30735 -> 0.30824, delta +0.00089 (+0.09 points)" in listing(diff)


def test_added_and_removed_rows_are_listed_by_key_with_their_values(runs):
    old, new = runs([row(0.3), row(0.1, shape="3p")], [row(0.3), row(0.2, shape="2i")])
    diff = compare_results(old, new)
    assert [(e["key"]["shape"], e["values"]["value"]) for e in diff["removed"]] == [("3p", 0.1)]
    assert [(e["key"]["shape"], e["values"]["value"]) for e in diff["added"]] == [("2i", 0.2)]
    assert diff["changed"] == []


def test_a_value_that_became_undefined_is_a_change_with_its_note(runs):
    old, new = runs([row(0.3)], [row("", note="no query has a hard answer")])
    diff = compare_results(old, new)
    assert [(c["column"], c["old"], c["new"], c["delta"]) for c in diff["changed"]] == [
        ("value", 0.3, None, None),
        ("note", None, "no query has a hard answer", None),
    ]
    assert "0.3 -> nothing" in listing(diff)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_values_that_are_no_numbers_stay_strict_json(runs, value, tmp_path):
    old, new = runs([row(0.3)], [row(value)])
    diff_results(old, new, path_to_json=tmp_path / "diff.json")
    content = json.loads((tmp_path / "diff.json").read_text(), parse_constant=pytest.fail)
    assert content["changed"][0]["new"] == value
    assert content["changed"][0]["delta"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("filter", "none"), ("ties", "optimistic"), ("candidates", "sampled:51"), ("queries", "q2")],
)
def test_another_protocol_is_refused_by_the_name_of_its_field(runs, capsys, field, value):
    old, new = runs([row(0.5)], [row(1.0, protocol={field: value})])
    assert main([str(old), str(new)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"protocol differs: {field} (")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_values_of_the_raw_and_of_the_filtered_rank_are_not_compared(runs, capsys):
    scores, hard = np.array([[0.9, 0.8, 0.1]]), ragged([[1]])
    easy = ragged([[0]])
    filtered = FILTERS["observed-and-full"](easy, hard, ragged([[]]))
    found = count_competitors(scores, hard, [hard, filtered])
    raw, kept = (
        float(metric("mrr").values(found.greater[rule], found.tied[rule], "pessimistic").mean())
        for rule in (0, 1)
    )
    assert (raw, kept) == (0.5, 1.0)
    old, new = runs([row(raw, protocol={"filter": "none"})], [row(kept)])
    assert main([str(old), str(new)]) == 2
    assert capsys.readouterr().err.startswith("protocol differs: filter (")


def test_raw_against_filtered_is_shown_with_both_values_under_a_banner_when_forced(runs, capsys):
    old, new = runs([row(0.5, protocol={"filter": "none"})], [row(1.0)])
    assert main([str(old), str(new), "--force"]) == 1
    out = capsys.readouterr().out
    assert "PROTOCOL DIFFERS: filter" in out
    assert "0.5 -> 1.0, delta +0.5" in out
    assert "none | observed-and-full" in out


def test_fifty_sampled_candidates_do_not_compare_with_ten_thousand(runs):
    old, new = runs(
        [row(0.009901, protocol={"candidates": "all:10000"})],
        [row(0.8, protocol={"candidates": "sampled:51"})],
    )
    assert compare_results(old, new)["protocol"] == ["candidates"]


def test_a_further_tie_policy_is_added_and_no_clash(runs):
    more = row(0.6, protocol={"ties": "optimistic"})
    old, new = runs([row(0.5)], [row(0.5), more])
    diff = compare_results(old, new)
    assert (diff["status"], len(diff["added"]), diff["clashes"]) == ("different", 1, [])


def test_several_policies_are_matched_with_those_that_differ_least(runs):
    policies = ("pessimistic", "optimistic")
    old, new = runs(
        [row(0.5, protocol={"ties": ties}) for ties in policies],
        [row(0.5, protocol={"ties": ties, "filter": "full-only"}) for ties in policies],
    )
    diff = compare_results(old, new)
    assert diff["protocol"] == ["filter"]
    assert len(diff["clashes"]) == 2


def test_without_manifests_the_columns_tell_what_differs(runs):
    old, new = runs([row(0.5)], [row(1.0, protocol={"filter": "none"})])
    (old / "manifest.json").unlink()
    assert compare_results(old, new)["protocol"] == ["filter"]


def test_versions_are_shown_and_not_compared(tmp_path):
    old = write_run(tmp_path / "a", [row(0.3)], versions={"numpy": "2.4.5", "python": "3.11"})
    new = write_run(tmp_path / "b", [row(0.3)], versions={"numpy": "2.4.6", "python": "3.11"})
    diff = compare_results(old, new)
    assert diff["status"] == "equal"
    assert "versions numpy 2.4.5 -> 2.4.6" in listing(diff)


def test_tables_are_compared_by_key_and_column_name(tmp_path):
    old = {"headline.tsv": "model\t1p\t2p\nmlp\t0.5\t0.25\nrnn\t0.5\t\n", "gone.tsv": "model\n"}
    new = {"headline.tsv": "model\t2p\t1p\nrnn\t\t0.5\nmlp\t0.3\t0.5\n"}
    diff = compare_results(
        write_run(tmp_path / "a", [row(0.3)], tables=old),
        write_run(tmp_path / "b", [row(0.3)], tables=new),
    )
    (change,) = diff["changed"]
    assert (change["table"], change["key"]) == ("tables/headline.tsv", {"model": "mlp"})
    assert (change["column"], change["old"], change["new"]) == ("2p", 0.25, 0.3)
    assert diff["removed"] == [{"run": "b", "table": "tables/gone.tsv"}]


def test_columns_of_one_side_are_added_or_removed_and_do_not_change(tmp_path):
    old = {"overview.tsv": "model\tumls EPFO\tnations EPFO\nmlp\t0.5\t0.25\nrnn\t0.5\t\n"}
    new = {"overview.tsv": "model\tumls EPFO\tkinships EPFO\nmlp\t0.5\t0.75\nrnn\t0.5\t0.1\n"}
    diff = compare_results(
        write_run(tmp_path / "a", [row(0.3)], tables=old),
        write_run(tmp_path / "b", [row(0.3)], tables=new),
    )
    assert diff["changed"] == []
    about = {"run": "b", "table": "tables/overview.tsv"}
    assert diff["removed"] == [{**about, "key": {"model": "mlp"}, "values": {"nations EPFO": 0.25}}]
    assert diff["added"] == [
        {**about, "key": {"model": "mlp"}, "values": {"kinships EPFO": 0.75}},
        {**about, "key": {"model": "rnn"}, "values": {"kinships EPFO": 0.1}},
    ]
    assert "  tables/overview.tsv mlp: nations EPFO 0.25" in listing(diff).replace(
        "b tables", "tables"
    )


def test_result_folders_pair_their_runs_by_name(tmp_path):
    for side, names in (("a", ("one", "two")), ("b", ("two", "three"))):
        for name in names:
            write_run(tmp_path / side / "runs" / name, [row(0.3)])
    diff = compare_results(tmp_path / "a", tmp_path / "b")
    assert diff["removed"] == [{"run": "one"}]
    assert diff["added"] == [{"run": "three"}]
    assert diff["changed"] == []


def test_a_run_folder_is_compared_with_its_namesake_in_a_result_folder(tmp_path):
    run = write_run(tmp_path / "elsewhere" / "two", [row(0.3)])
    for name in ("one", "two"):
        write_run(tmp_path / "b" / "runs" / name, [row(0.3 if name == "two" else 0.9)])
    assert compare_results(run, tmp_path / "b")["status"] == "equal"
    stranger = write_run(tmp_path / "four", [row(0.3)])
    with pytest.raises(InputError, match="several runs"):
        compare_results(stranger, tmp_path / "b")


def test_both_folders_empty_of_rows_are_equal(runs):
    assert compare_results(*runs([], []))["status"] == "equal"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.tsv", ""),
        ("metrics.tsv", "graph\tvalue\numls\t1\n"),
        ("metrics.tsv", "\xff"),
        ("manifest.json", "{"),
        ("versions.json", "[]"),
        ("tables/headline.tsv", "model\t1p\nmlp\t1\t2\n"),
        ("tables/headline.tsv", "model\t1p\nmlp\t1\nmlp\t2\n"),
        ("tables/headline.tsv", "model\t1p\nmlp\t0."),
    ],
)
def test_a_malformed_file_is_an_error_of_one_line(runs, capsys, name, content):
    old, new = runs([row(0.3)], [row(0.3)], tables={"headline.tsv": "model\t1p\nmlp\t1\n"})
    (new / name).write_text(content, encoding="latin-1")
    assert main([str(old), str(new)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert name in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("missing", ["no-such-folder", "empty"])
def test_a_missing_or_empty_side_lacks_everything(runs, tmp_path, capsys, missing):
    old, _ = runs([row(0.3)], [row(0.3)])
    (tmp_path / "empty").mkdir()
    assert main([str(old), str(tmp_path / missing)]) == 1
    assert "removed (1)\n  run a" in capsys.readouterr().out
    assert main([str(tmp_path / missing), str(old)]) == 1
    assert "added (1)\n  run a" in capsys.readouterr().out


def test_two_empty_folders_are_equal_and_two_missing_ones_an_error(tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert main([str(tmp_path / "c"), str(tmp_path / "d")]) == 2
    assert "no such file or folder on either side" in capsys.readouterr().err


def test_a_run_without_metrics_on_one_side_is_told(runs):
    old, new = runs([row(0.3)], [row(0.3)])
    (new / "metrics.tsv").unlink()
    diff = compare_results(old, new)
    assert diff["removed"] == [{"run": "b", "table": "metrics.tsv"}]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "x"])
def test_a_tolerance_that_is_no_tolerance_is_refused(text, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["a", "b", f"--atol={text}"])
    assert stop.value.code == 2
    assert "give 0 or a positive number" in capsys.readouterr().err


def test_long_lists_are_cut_with_the_largest_changes_first(runs):
    n_rows = MOST + 5
    old, new = runs(
        [row(0.0, shape=f"s{i}") for i in range(n_rows)],
        [row((i + 1) / 100, shape=f"s{i}") for i in range(n_rows)],
    )
    text = listing(compare_results(old, new))
    assert "... and 5 more" in text
    assert text.index(f"s{n_rows - 1} ") < text.index(f"s{n_rows - 2} ")


def test_the_script_runs_by_itself_without_heavy_imports(runs):
    old, new = runs([row(0.3)], [row(0.4)])
    script = Path(__file__).parent.parent / "scripts" / "diff_results.py"
    done = subprocess.run([sys.executable, script, old, new], capture_output=True, text=True)
    assert done.returncode == 1
    assert "1 changed" in done.stdout
    heavy = ("numba", "scipy", "matplotlib", "pandas", "jinja2")
    code = f"import sys, diff_results; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=script.parent
    )
    assert done.stdout.strip() == "[]"


# Single files, tolerances, other forms of output


def test_case_91_exact_and_tolerant_comparison_of_packed_files(tmp_path, capsys):
    for name, value in (("a", ".30000000000000004"), ("b", ".3")):
        with gzip.open(tmp_path / f"{name}.tsv.gz", "wt", compresslevel=1 + (name == "a")) as file:
            file.write(f"model\t1p\nmlp\t{value}\n")
    files = [str(tmp_path / f"{name}.tsv.gz") for name in "ab"]
    assert main(files) == 0
    assert main([*files, "--exact"]) == 1
    assert main([*files, "--atol", "0"]) == 1
    assert "delta -5.55112e-17" in capsys.readouterr().out


def test_a_metric_has_a_tolerance_of_its_own(runs, capsys):
    rows = [row(0.3), row(0.3, metric="hits@1"), row(0.3, metric="hits@3")]
    old, new = runs(rows, [one | {"value": 0.301} for one in rows])
    sides = [str(old), str(new)]
    assert main([*sides, "--atol", "hits=0.01"]) == 1
    out = capsys.readouterr().out
    assert "mrr" in out
    assert "hits" not in out
    assert main([*sides, "--atol", "hits@1=0.01", "--atol", "mrr=0.01"]) == 1
    assert "1 changed" in capsys.readouterr().out
    assert main([*sides, "--atol", "hits=0.01", "--atol", "mrr=0.01"]) == 0
    assert main([*sides, "--atol", "hits@1=0", "--atol", "0.01"]) == 1
    assert main([*sides, "--atol", "nosuch=1"]) == 2
    assert "no metric 'nosuch'" in capsys.readouterr().err


def parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_tables_are_compared_by_content_whatever_the_order_of_rows(tmp_path):
    rows = [{"query_id": name, "hard": [1, n], "score": n / 3} for n, name in enumerate("pqr")]
    old = parquet(tmp_path / "a.parquet", rows)
    assert compare_results(old, parquet(tmp_path / "b.parquet", rows[::-1]))["status"] == "equal"
    rows = [rows[0], rows[1] | {"hard": [1, 5]}, {"query_id": "s", "hard": None, "score": 1.0}]
    diff = compare_results(old, parquet(tmp_path / "b.parquet", rows))
    (change,) = diff["changed"]
    assert (change["key"], change["column"]) == ({"query_id": "q"}, "hard")
    assert (change["old"], change["new"]) == ("1 1", "1 5")
    assert [entry["key"] for entry in diff["removed"]] == [{"query_id": "r"}]
    assert [entry["key"] for entry in diff["added"]] == [{"query_id": "s"}]


def test_json_is_compared_by_the_paths_of_its_values(tmp_path):
    contents = {"a": 1, "b": {"c": [1, 2], "d": 0.5}}, {"b": {"d": 0.75, "c": [1, 2]}, "e": "x"}
    for name, content in zip("ab", contents, strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps(content, indent=len(name)))
    diff = compare_results(tmp_path / "a.json", tmp_path / "b.json")
    assert [(entry["key"]["path"], entry["delta"]) for entry in diff["changed"]] == [("b.d", 0.25)]
    assert [entry["key"]["path"] for entry in diff["removed"]] == ["a"]
    assert [entry["key"]["path"] for entry in diff["added"]] == ["e"]


def test_arrays_are_compared_by_name_and_triples_as_rows(tmp_path):
    rows = np.array([[0, 0, 1], [1, 0, 2], [2, 1, 0]], np.int32)
    np.savez(tmp_path / "a.npz", train=rows, n=np.int64(3))
    np.savez_compressed(tmp_path / "b.npz", n=np.int64(3), train=rows)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    assert compare_results(*files)["status"] == "equal"
    np.savez(files[1], n=np.int64(3), train=np.delete(rows, 1, axis=0))
    diff = compare_results(*files)
    assert [entry["key"] for entry in diff["removed"]] == [{"array": "train", "row": "1 0 2"}]


@pytest.mark.parametrize("name", ["a.parquet", "a.json", "a.npz", "a.npy", "a.tsv"])
def test_a_damaged_or_missing_file_is_told(tmp_path, capsys, name):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(b"\x93NUM\xff")
    sides = [str(tmp_path / folder / name) for folder in ("one", "two")]
    assert main(sides) == 2
    assert capsys.readouterr().err.count("\n") == 1
    (tmp_path / "two" / name).unlink()
    assert main(sides) == 1
    assert main([sides[0], str(tmp_path / "two")]) == 2


def test_a_header_that_is_damaged_is_refused(runs, capsys):
    old, new = runs([row(0.3)], [row(0.3)])
    text = (new / "metrics.tsv").read_text()
    for damage in (text.replace("\tn_queries", "\t", 1), text.replace("\tnote", "\tvalue", 1),
                   text.replace("\tn_queries", "\tn_querjes", 1)):  # fmt: skip
        (new / "metrics.tsv").write_text(damage)
        assert main([str(old), str(new)]) == 2
        assert "metrics.tsv" in capsys.readouterr().err


def test_a_page_shows_the_differences_and_lets_no_name_out(runs, tmp_path):
    hostile = "<script>alert(1)</script>"
    old, new = runs([row(0.3, model=hostile)], [row(0.4, model=hostile)])
    page = tmp_path / "diff.html"
    assert main([str(old), str(new), "--html", str(page)]) == 1
    text = page.read_text()
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "+0.1" in text
    assert "http" not in text


def test_a_page_has_no_numbers_of_different_protocols_unless_forced(runs, tmp_path):
    old, new = runs([row(0.515)], [row(0.95, protocol={"filter": "none"})])
    page = tmp_path / "diff.html"
    assert main([str(old), str(new), "--html", str(page)]) == 2
    assert "Protocol differs: filter" in page.read_text()
    assert "0.515" not in page.read_text()
    assert main([str(old), str(new), "--html", str(page), "--force"]) == 1
    assert "Protocol differs: filter" in page.read_text()
    assert "0.515" in page.read_text()


class Cells(HTMLParser):
    """The tables of a page: the texts of the cells of each row, and the classes of those of one."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.classes, self.is_inside = [], [], False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
            self.classes = []
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
            self.classes.append(dict(attributes).get("class", ""))
            self.is_inside = True

    def handle_data(self, data):
        if self.is_inside:
            self.tables[-1][-1][-1] += data

    def handle_endtag(self, tag):
        self.is_inside = False


def test_rows_of_a_page_have_models_first_then_groups_then_shapes_and_controls_last(runs, tmp_path):
    subjects = [
        {"model": "zeta", "stratum": "links=10"},
        {"model": "zeta", "stratum": "links=2"},
        {"model": "always"},
        {"model": "zeta"},
        {"model": "zeta", "shape": "", "group": "EPFO"},
        {"model": "mlp", "metric": "hits@10"},
        {"model": "mlp", "metric": "hits@3"},
    ]
    old, new = runs([row(0.3, **one) for one in subjects], [row(0.5, **one) for one in subjects])
    manifest = json.loads((new / "manifest.json").read_text())
    manifest["models"] = {"always": {"method": "oracle", "settings": {}}}
    (new / "manifest.json").write_text(json.dumps(manifest))
    page = tmp_path / "diff.html"
    assert main([str(old), str(new), "--html", str(page)]) == 1
    found = Cells(page)
    head, *rows = found.tables[0]
    # What all rows share, such as the query set and the ties, is told above.
    assert head == ["model", "shape or group", "metric", "hard answers", "old", "new", "delta"]
    assert [one[:4] for one in rows] == [
        ["mlp", "2p", "hits@3", "all"],
        ["mlp", "2p", "hits@10", "all"],
        ["zeta", "EPFO", "mrr", "all"],
        ["zeta", "2p", "mrr", "all"],
        ["zeta", "2p", "mrr", "links=2"],
        ["zeta", "2p", "mrr", "links=10"],
        ["always", "2p", "mrr", "all"],
    ]
    assert {tuple(one[4:]) for one in rows} == {("0.3", "0.5", "+0.2")}
    assert found.classes[4:] == ["number", "number", "number delta"]
    assert "query set umls-test, ties pessimistic" in page.read_text()


def test_a_number_has_one_row_with_what_else_of_it_changed(runs, tmp_path):
    old, new = runs([row(0.3, n_queries=4), row(0.3, shape="3p")], [row(0.5, n_queries=5)])
    page = tmp_path / "diff.html"
    assert main([str(old), str(new), "--html", str(page)]) == 1
    changed, removed = Cells(page).tables
    assert changed == [
        ["model", "old", "new", "delta", "also"],
        ["mlp", "0.3", "0.5", "+0.2", "n queries 4 → 5"],
    ]
    assert removed == [["model", "value"], ["mlp", "0.3"]]


def test_all_differences_are_in_the_json_and_few_are_made_without_it(runs, tmp_path):
    n_rows = MOST + 5
    old, new = runs(
        [row(0.0, shape=f"s{i}") for i in range(n_rows)],
        [row((i + 1) / 100, shape=f"s{i}") for i in range(n_rows)],
    )
    assert len(diff_results(old, new)["changed"]) == MOST
    whole = diff_results(old, new, path_to_json=tmp_path / "d.json")
    assert len(json.loads((tmp_path / "d.json").read_text())["changed"]) == n_rows
    assert whole["counts"]["changed"] == n_rows
