"""Predicted pairs of any origin: files, alignment, report, command line."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_sets as reference
from clqa.errors import InputError
from clqa.files import sha256_of
from clqa.pair_files import read_ids, read_keys, read_pairs, without_repeated
from clqa.pair_reports import markdown, metric_name
from clqa.tables import read_table
from score_pairs import main, score_pairs

TRUE = [("q1", "1"), ("q1", "2"), ("q1", "3"), ("q3", "4")]
PREDICTED = [("q1", "1", 0.9), ("q3", "4", 0.8), ("q3", "9", 0.3)]
IDS = [("q1",), ("q2",), ("q3",)]
CANDIDATES = [("q1", "1"), ("q1", "2"), ("q1", "8"), ("q2", "5"), ("q3", "9")]
NAMES = ("query", "answer", "score")


def write(path: Path, rows, names=NAMES) -> Path:
    """Write rows in the form that the ending of the name says."""
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    names = names[: len(rows[0])] if rows else names
    if path.suffix == ".tsv":
        lines = [names, *rows]
        path.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, r, strict=True))) + "\n" for r in rows))
    else:
        columns = zip(*rows, strict=True) if rows else [[] for _ in names]
        pq.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), path)
    return path


@pytest.fixture(params=[".tsv", ".jsonl", ".parquet"])
def form(request):
    return request.param


@pytest.fixture
def files(tmp_path):
    """Paths to the worked example."""
    contents = {"p": PREDICTED, "t": TRUE, "i": IDS, "c": CANDIDATES}
    return {name: write(tmp_path / f"{name}.tsv", rows) for name, rows in contents.items()}


def test_every_form_gives_the_same_report(tmp_path, form):
    contents = {"p": PREDICTED, "t": TRUE, "i": IDS, "c": CANDIDATES}
    p, t, i, c = (write(tmp_path / f"{name}{form}", rows) for name, rows in contents.items())
    report = score_pairs(p, t, i, c)
    overall = report["overall"]
    assert overall["f0.5"] == pytest.approx(0.7566138, abs=5e-8)
    assert (overall["n"], overall["precision"], overall["recall"]) == (3, 2 / 3, 0.5)
    assert (overall["predictions_per_query"], overall["without_true_answers"]) == (1, 1)
    assert report["ceiling"]["oracle"] == pytest.approx(0.6363636, abs=5e-8)
    assert (report["ceiling"]["pair_recall"], report["ceiling"]["all_match_rate"]) == (0.5, 0)
    # q3 predicts 4, where 9 is its candidate.
    assert report["notes"] == ["predictions that are no candidates: 1; they may pass the ceilings"]


def test_forms_can_be_mixed_and_numbers_are_ids_by_how_they_are_written(tmp_path):
    p = write(tmp_path / "p.parquet", [(1, 10, 0.5), (2, 20, 0.5)])
    t = write(tmp_path / "t.tsv", [("1", "10"), ("2", "21")])
    assert score_pairs(p, t)["overall"]["right"] == 1


def test_a_threshold_takes_the_pairs_that_reach_it(files):
    report = score_pairs(files["p"], files["t"], files["i"], threshold=0.8)
    assert report["rule"] == "pairs with score >= 0.8"
    assert (report["overall"]["predicted"], report["overall"]["f0.5"]) == (
        2,
        pytest.approx((5 / 7 + 2) / 3),
    )


def test_a_threshold_of_zero_is_obeyed(tmp_path, files):
    p = write(tmp_path / "zero.tsv", [("q1", "1", 0.0), ("q1", "2", -0.5)])
    report = score_pairs(p, files["t"], files["i"], threshold=0.0)
    assert (report["threshold"], report["overall"]["predicted"]) == (0, 1)


def test_the_threshold_is_chosen_on_the_validation_pairs_alone(tmp_path, files):
    valid = [("a", "1", 0.7), ("a", "2", 0.4), ("b", "3", 0.6), ("b", "4", 0.2)]
    v = write(tmp_path / "v.tsv", valid), write(tmp_path / "w.tsv", [("a", "1"), ("b", "3")])
    for choose in ("macro", "break-even"):
        report = score_pairs(files["p"], files["t"], valid=v, choose=choose, bands=[0.4, 0.1])
        assert (report["threshold"], report["threshold_choice"]) == (0.6, choose)
        assert report["overall"]["predicted"] == 2
        assert report["bands_of"] == "validation pairs"
        assert [row["false"] for row in report["bands"]["rows"]] == [1, 1]


def test_a_threshold_can_be_chosen_that_predicts_nothing(tmp_path, files):
    v = write(tmp_path / "v.tsv", [("a", "1", 0.7)]), write(tmp_path / "w.tsv", [("a", "2")])
    report = score_pairs(files["p"], files["t"], valid=v, choose="macro", bands=[0.8, 0.1])
    assert (report["rule"], report["threshold"]) == ("nothing", None)
    assert report["overall"]["predicted"] == 0
    ends = [(row["low"], row["high"], row["false"]) for row in report["bands"]["rows"]]
    assert ends == [(0.8, None, 0), (0.1, 0.8, 1)]
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_bands_say_whether_lowering_the_threshold_would_pay(files):
    report = score_pairs(files["p"], files["t"], files["i"], threshold=0.9, bands=[0.8, 0.2])
    assert report["bands_of"] == "evaluated pairs"
    # Of 4 true answers 1 is found by 1 prediction: D = 2, and the odds are 1 / (2 - 1).
    assert report["bands"]["odds"] == report["break_even"]["odds"] == 1
    found = [(row["true"], row["false"], row["pays"]) for row in report["bands"]["rows"]]
    assert found == [(1, 0, True), (0, 1, False)]


def test_intervals_say_how_sure_the_overall_numbers_are(files):
    """Three queries, 5/7, 1 and 5/9: of 27 draws one has nothing but the best, one the worst."""
    report = score_pairs(files["p"], files["t"], files["i"])
    found = report["intervals"]
    assert (found["draws"], found["level"], found["seed"]) == (2000, 0.95, 0)
    assert found["of"]["f0.5"] == pytest.approx([5 / 9, 1])
    assert found["of"]["recall"] == pytest.approx([0, 1])
    assert "95 % intervals of all: f0.5 0.5556 to 1.0000, precision 0.0000 to" in markdown(report)
    none = score_pairs(files["p"], files["t"], files["i"], draws=0)
    assert none["intervals"]["of"] == {}
    assert "intervals" not in markdown(none)


def test_slices_of_a_table_of_keys(tmp_path, files):
    s = tmp_path / "s.tsv"
    s.write_text("query\tshape\tlinks\nq1\t2p\t1\nq3\t2p\t\nq9\t3p\t1\n")
    report = score_pairs(files["p"], files["t"], files["i"], path_to_slices=s)
    shapes = {row["slice"]: row["n"] for row in report["slices"]["shape"]}
    assert (shapes, [*shapes]) == ({"2p": 2, "?": 1}, ["2p", "?"])
    assert {row["slice"]: row["n"] for row in report["slices"]["links"]} == {"1": 1, "?": 2}
    assert "1 without a line" in report["notes"][0]
    one = score_pairs(files["p"], files["t"], path_to_slices=s, by=["links"])
    assert [*one["slices"]] == ["links"]


def test_a_list_of_ids_that_lacks_a_query_with_pairs_is_refused(tmp_path, files):
    i = write(tmp_path / "short.tsv", IDS[:2])
    with pytest.raises(InputError, match=r"short\.tsv: lacks the query q3, which .*p\.tsv has"):
        score_pairs(files["p"], files["t"], i)


def test_without_a_list_of_ids_the_report_says_what_it_cannot_count(files):
    report = score_pairs(files["p"], files["t"])
    assert report["overall"]["n"] == 2
    assert "no list of queries" in report["notes"][0]


def test_no_queries_give_zeros_by_definition(tmp_path, form):
    p, t = (write(tmp_path / f"{name}{form}", []) for name in "pt")
    i = write(tmp_path / "i.tsv", [], names=("query",))
    report = score_pairs(p, t, i)
    assert set(report["overall"].values()) == {0}
    assert report["break_even"] == {"odds": None, "precision": None}
    assert "0 by definition" in report["notes"][-1]
    assert "undefined" in markdown(report)


def test_ids_that_are_written_in_other_ways_are_noticed(tmp_path, files):
    t = write(tmp_path / "t.tsv", [("q1", "e1"), ("q3", "e4")])
    assert any("written alike" in note for note in score_pairs(files["p"], t)["notes"])


def test_a_pair_that_comes_twice_is_refused_or_keeps_its_best_score(tmp_path, form, files):
    rows = [("q1", "1", 0.2), ("q1", "2", 0.1), ("q1", "1", 0.7)]
    p = write(tmp_path / f"p{form}", rows)
    with pytest.raises(InputError, match=r"query q1, answer 1 twice; .*--duplicates best"):
        score_pairs(p, files["t"])
    assert without_repeated(read_pairs(p), "best").scores.tolist() == [0.1, 0.7]
    found = score_pairs(p, files["t"], threshold=0.5, duplicates="best")["overall"]
    assert (found["predicted"], found["right"]) == (1, 1)
    with pytest.raises(InputError, match="known are error, best"):
        without_repeated(read_pairs(p), "first")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.tsv", "query\tanswer\nq1\t1\t2\n", ":2: 3 fields where the header has 2"),
        ("p.tsv", "query\nq1\n", "no column 'answer'; its columns are query"),
        ("p.tsv", "query\tquery\nq1\tq1\n", ":1: a column name comes twice"),
        ("p.tsv", "query\tanswer\nq1\t1\n\n", ":3: 1 fields where the header has 2"),
        ("p.tsv", "query\tanswer\nq1\t\n", ":2: no answer"),
        ("p.tsv", "query\tanswer\tscore\nq1\t1\thigh\n", ":2: the score high is no finite number"),
        ("p.tsv", "query\tanswer\tscore\nq1\t1\t.5\nq1\t2\tnan\n", ":3: the score nan is"),
        ("p.jsonl", '{"query": 1, "answer": 2}\n{"query": 1,\n', ":2: not JSON"),
        ("p.jsonl", "[1, 2]\n", ":1: expected an object"),
        ("p.jsonl", '{"query": 1, "answer": 2}\n{"query": "a", "answer": 3}\n', ":2: query 'a'"),
        ("p.jsonl", '{"query": 1, "answer": 2.5}\n', "'answer' holds double"),
        ("p.jsonl", '{"query": true, "answer": 2}\n', "'query' holds bool"),
        ("p.jsonl", '{"query": 1}\n{"answer": 2}\n', ":2: no query"),
        ("p.jsonl", '{"query": 1, "answer": 2, "score": NaN}\n', ":1: the score nan is"),
        ("p.jsonl", '{"query": 1, "answer": 2, "score": null}\n', ":1: the score None is"),
        ("p.jsonl", '{"query": 1, "answer": 2, "score": "1"}\n', "'score' holds string"),
        ("p.jsonl", '{"query": [1], "answer": 2}\n', "'query' holds list"),
        ("p.jsonl", '{"query": "\\ud800", "answer": 2}\n', "holds what is no text and no number"),
        ("p.jsonl", '{"query": 1' + 30 * "0" + ', "answer": 2}\n', "holds what is no text"),
        ("p.jsonl", "[" * 100_000, ":1: not JSON"),
        ("p.tsv", "", "no column 'query'; its columns are none"),
        ("p.parquet", "query\tanswer\n", "not a readable Parquet table"),
        ("p.tsv", "query\tanswer\tscore\nq1\t1\t-inf\n", ":2: the score -inf is no finite"),
        ("p.tsv", "query\tanswer\tscore\nq1\t1\t1_0\n", ":2: the score 1_0 is no finite"),
        ("p.tsv", "query\tanswer\tscore\nq1\t1\t\uff11\n", ":2: the score \uff11 is no finite"),
        (
            "p.tsv",
            "".join(f"c{n}\t" for n in range(10**5)) + "\n",
            "no column 'query'; its columns",
        ),
        ("p.tsv", "query\tanswer\n" + 2 * f"{'q' * 5000}\t1\n", "qqq, answer 1 twice"),
        ("p.jsonl", "{}\n{}\n", "no column 'query'; its columns are none"),
        ("p.jsonl", '{"a\\nb": 1}\n', r"no column 'query'; its columns are a\nb"),
        ("p.jsonl", 2 * '{"query": "a\\nb", "answer": 2}\n', r":2: query a\nb, answer 2 twice"),
        (
            "p.jsonl",
            '{"query": 1, "answer": 2}\n{"query": [' + "1," * 999 + "1]}\n",
            ":2: query [1,",
        ),
        (
            "p.jsonl",
            '{"query": 1, "answer": 2, "score": 1' + 400 * "0" + "}\n"
            '{"query": 1, "answer": 3, "score": 0.5}\n',
            "'score' holds what is no text and no number of 64 bits",
        ),
        ("p.csv", "query,answer\n", "the form is unknown; names end in .parquet, .jsonl, .tsv"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        without_repeated(read_pairs(tmp_path / name), "error")
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < len(str(tmp_path)) + 400


def test_marks_and_line_ends_of_other_systems_are_read(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_bytes(b"\xef\xbb\xbfquery\tanswer\r\nq1\t1\r\n")
    pairs = read_pairs(path)
    assert (pairs.queries.to_pylist(), pairs.answers.to_pylist()) == (["q1"], ["1"])


def test_what_is_no_regular_file_is_not_replaced(tmp_path, files, capsys):
    os.mkfifo(tmp_path / "pipe.json")
    assert run(files["p"], files["t"], "--json", tmp_path / "pipe.json") == 1
    assert "pipe.json: no regular file" in capsys.readouterr().err
    assert (tmp_path / "pipe.json").is_fifo()


def test_a_parquet_column_of_numbers_and_one_of_words_are_ids(tmp_path):
    table = pa.table(
        {"query": pa.array(["a", "b"]).dictionary_encode(), "answer": pa.array([1, 2], pa.uint8())}
    )
    pq.write_table(table, tmp_path / "p.parquet")
    pairs = read_pairs(tmp_path / "p.parquet")
    assert (pairs.queries.to_pylist(), pairs.answers.to_pylist()) == (["a", "b"], ["1", "2"])


def test_a_parquet_column_of_views_is_of_ids_and_one_that_is_no_text_is_refused(tmp_path):
    table = pa.table({"query": pa.array(["a"], pa.string_view()), "answer": ["x"]})
    pq.write_table(table, tmp_path / "p.parquet")
    assert read_pairs(tmp_path / "p.parquet").queries.to_pylist() == ["a"]
    wrong = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(table.set_column(0, "query", wrong), tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"not a readable Parquet table .*UTF8"):
        read_pairs(tmp_path / "p.parquet")


@pytest.mark.parametrize("score", [2**53 + 1, 2**63 - 1, -(2**63)])
def test_a_whole_score_is_the_nearest_float(tmp_path, score):
    rows = [("q1", "1", score)]
    for form in (".jsonl", ".parquet", ".tsv"):
        assert read_pairs(write(tmp_path / f"p{form}", rows)).scores.tolist() == [float(score)]


def test_an_id_or_a_line_of_keys_comes_once(tmp_path):
    path = write(tmp_path / "i.tsv", [("a",), ("b",), ("a",)])
    with pytest.raises(InputError, match=r"i\.tsv:4: query a twice"):
        read_ids(path)
    with pytest.raises(InputError, match="no column of keys"):
        read_keys(write(tmp_path / "k.tsv", [("a",)]))


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_command_prints_a_table_and_writes_json_and_queries(tmp_path, files, capsys):
    out = tmp_path / "report.json", tmp_path / "queries.parquet"
    arguments = [files["p"], files["t"], "--queries", files["i"], "--candidates", files["c"]]
    assert run(*arguments, "--json", out[0], "--table", out[1]) == 0
    shown = capsys.readouterr().out
    assert "| all | 3 | 0.7566 | 0.6667 | 0.5000 | 1.0000 |" in shown
    report = json.loads(out[0].read_text())
    assert report["overall"]["f0.5"] == pytest.approx(0.7566138, abs=5e-8)
    assert report["inputs"] == {str(path): sha256_of(path) for path in files.values()}
    assert markdown(report) + "\n" == shown
    table, protocol = read_table(out[1])
    assert protocol == {key: report[key] for key in ("beta", "rule", "inputs")}
    table = table.to_pydict()
    assert table["query"] == ["q1", "q2", "q3"]
    assert table["f0.5"] == pytest.approx([5 / 7, 1, 5 / 9])
    assert (table["right"], table["predicted"], table["true"], table["retrieved"]) == (
        [1, 0, 1],
        [1, 0, 2],
        [3, 0, 1],
        [2, 0, 0],
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beta", "0"], "error: beta must be a finite number above 0, not 0.0"),
        (["--beta", "-1"], "error: beta must be"),
        (["--threshold", "7"], "error: threshold 7 lies outside of the scores of"),
        (["--threshold", "-7"], "which go from 0.3 to 0.9"),
        (["--threshold", ".8", "--bands", ".8"], "error: bands: every edge must be below"),
        (["--candidates", "{t}", "--queries", "{t}"], "t.tsv:3: query q1 twice"),
        (["--slices", "{t}x"], "the form is unknown"),
        (["--draws", "-1"], "error: draws must be a whole number from 0 to 100000, not -1"),
        (["--draws", "9" * 12], "error: draws must be a whole number from 0 to 100000, not 999"),
        (["--queries", "none.tsv"], "error: none.tsv: cannot be read (No such file or directory)"),
    ],
)
def test_bad_input_is_one_line_on_standard_error(files, capsys, options, message):
    options = [option.format(**files) for option in options]
    assert run(files["p"], files["t"], *options) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("json_name", "table_name", "message"),
    [
        ("r.json", "folder.parquet", "no regular file; name one to write to"),
        ("p.tsv", "t.parquet", "is an input, too; name another file to write to"),
        ("./folder.parquet/../t.tsv", "t.parquet", "is an input, too; name another"),
        ("r.parquet", "r.parquet", "is another output, too; name another file to write to"),
        ("r.json", "o.csv", "o.csv: tables are written as .parquet"),
        ("r.json", "p.tsv/o.parquet", "File exists"),
    ],
)
def test_nothing_is_written_where_something_cannot_be(
    tmp_path, files, capsys, json_name, table_name, message
):
    (tmp_path / "folder.parquet").mkdir()
    before = listing(tmp_path)
    options = ("--json", f"{tmp_path}/{json_name}", "--table", f"{tmp_path}/{table_name}")
    assert run(files["p"], files["t"], *options) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert listing(tmp_path) == before


@pytest.mark.parametrize("beta", ["1e155", "1e-200"])
def test_an_extreme_beta_makes_the_metric_recall_or_precision(files, capsys, beta):
    assert run(files["p"], files["t"], "--beta", beta, "--threshold", "0.8", "--bands", "0.1") == 0
    # At the threshold q1 has 1 of 3 true answers and q3 its only one, and nothing is wrong.
    shown = (1 / 3 + 1) / 2 if beta == "1e155" else 1
    assert f"| all | 2 | {shown:.4f} | 1.0000 | 0.5000 |" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("name", ["score_pairs", "score_lists"])
def test_a_full_standard_output_is_told_in_one_line(tmp_path, files, name):
    script = Path(__file__).resolve().parents[1] / "scripts" / f"{name}.py"
    (tmp_path / "l.jsonl").write_text('{"query": 1, "expected": [1], "returned": [1]}\n')
    given = [files["p"], files["t"]] if name == "score_pairs" else [tmp_path / "l.jsonl"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, script, *given], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the standard output cannot be written (")
    assert done.stderr.count("\n") == 1


def test_a_slice_that_the_table_lacks_is_refused(tmp_path, files, capsys):
    s = tmp_path / "s.tsv"
    s.write_text("query\tshape\nq1\t2p\n")
    assert run(files["p"], files["t"], "--slices", s, "--by", "links") == 1
    assert "no column 'links'; its columns are query, shape" in capsys.readouterr().err


def test_a_threshold_needs_scores(files, capsys):
    assert run(files["t"], files["t"], "--threshold", "0") == 1
    assert "no column 'score'; a threshold needs one" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--by", "shape"],
        ["--choose", "macro"],
        ["--valid", "{p}", "{t}"],
        ["--valid", "{p}", "--choose", "macro"],
        ["--valid", "{p}", "{t}", "--choose", "macro", "--threshold", "0.5"],
        ["--bands", "0.1"],
        ["--beta", "nan"],
        ["--threshold", "inf"],
    ],
)
def test_options_that_do_not_fit_are_refused_with_the_usage(files, capsys, options):
    with pytest.raises(SystemExit) as end:
        run(files["p"], files["t"], *(option.format(**files) for option in options))
    assert end.value.code == 2
    assert "usage: " in capsys.readouterr().err


def test_the_script_runs_on_its_own(files):
    script = Path(__file__).resolve().parents[1] / "scripts" / "score_pairs.py"
    done = subprocess.run(
        [sys.executable, script, files["p"], files["t"]], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Break-even" in done.stdout


@pytest.mark.parametrize(("beta", "name"), [(0.5, "f0.5"), (1, "f1"), (2.0, "f2"), (10.0, "f10")])
def test_the_metric_is_named_by_its_beta(beta, name):
    assert metric_name(beta) == name


names = st.sampled_from(["a", "b", "c", "Ä"])
some_pairs = st.dictionaries(st.tuples(names, names), st.sampled_from([0.1, 0.2, 0.5]), max_size=9)


@given(predicted=some_pairs, true=some_pairs, threshold=st.sampled_from([None, 0.2]))
def test_the_report_equals_the_definition(tmp_path_factory, predicted, true, threshold):
    folder = tmp_path_factory.mktemp("pairs")
    if threshold and not (predicted and min(predicted.values()) <= 0.2 <= max(predicted.values())):
        threshold = None
    p = write(folder / "p.tsv", [(*pair, score) for pair, score in predicted.items()])
    t = write(folder / "t.tsv", [*true])
    level = -math.inf if threshold is None else threshold
    queries = sorted({query for query, _ in (*predicted, *true)})
    sets = [
        [
            {a for (q, a), score in pairs.items() if q == query and score >= least}
            for query in queries
        ]
        for pairs, least in ((predicted, level), (true, -math.inf))
    ]
    found = score_pairs(p, t, threshold=threshold)["overall"]
    wanted = float(reference.macro(*sets, 0.5)) if queries else 0
    assert found["f0.5"] == pytest.approx(wanted, rel=1e-14)
    assert found["predicted"] == sum(map(len, sets[0]))
