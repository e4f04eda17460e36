"""Lists from files, through the command line: values, reports, and one clear line for bad input."""

import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.id_lists import Entry
from clqa.tables import read_table
from score_lists import main, score_lists

LINES = [
    {"query": "q1", "expected": ["a", "b"], "returned": ["a", "x", "b"]},
    {"query": "q2", "expected": ["c"], "returned": ["x", "y", "c"]},
    {"query": "q3", "expected": [], "returned": ["x"]},
]
# d2 and d3 tie; d9 is relevant and not returned; d1 is judged, and not relevant.
RUN = """\
7 Q0 d1 1 3.5 mine
7 Q0 d2 2 2.0 mine
7 Q0 d3 3 2.0 mine
7 Q0 d4 4 -1e3 mine
8 Q0 d5 1 0.1 mine
"""
QRELS = "7 0 d2 3\n7 0 d9 1\n7 0 d4 1\n7 0 d1 0\n7 0 d3 -2\n8 0 d5 1\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write files, run the command line in their folder, and tell what it says."""
    monkeypatch.chdir(tmp_path)

    def runner(*arguments, **files):
        for name, content in files.items():
            path = tmp_path / name.replace("_", ".")
            if isinstance(content, list):
                content = "".join(json.dumps(line) + "\n" for line in content)
            path.write_text(content, encoding="utf-8")
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return runner


def trec(*options):
    return "--run", "run.txt", "--qrels", "qrels.txt", *options


def report_of(run, *arguments, **files):
    code, _, error = run(*arguments, "--json", "report.json", **files)
    assert (code, error) == (0, "")
    with open("report.json", encoding="utf-8") as stream:
        return json.load(stream)


def at(report, place=0):
    return {name: metric["value"] for name, metric in report["at"][place].items() if name != "k"}


# Values.


def test_a_report_has_the_means_at_every_cut_off(run):
    report = report_of(run, "lists.jsonl", "--k", "1,5", lists_jsonl=LINES)
    assert [row["k"] for row in report["at"]] == [1, 5]
    ndcg = (0.9197207891481877 + 0.5) / 2
    wanted = {"hit_rate": 2 / 3, "mrr": (1 + 1 / 3) / 3, "precision": 0.6 / 3, "recall": 1}
    wanted |= {"capped_recall": 1, "ndcg": ndcg, "precision_ceiling": 0.6 / 3}
    assert at(report, 1) == pytest.approx(wanted)
    assert at(report, 0)["recall"] == 0.25
    assert report["at"][1]["precision"]["n"] == 3
    # Of 27 equally likely draws of .4, .2 and 0 one has the mean 0 and one .4: more than 2.5 %.
    assert report["at"][1]["precision"]["interval"] == pytest.approx([0, 0.4])
    assert "interval" in report["at"][0]["ndcg"]
    assert report["at"][1]["ndcg"]["n"] == report["queries_expecting"] == 2
    assert report["whole_lists"]["retrieval_accuracy"]["value"] == 0.25


def test_the_ceiling_of_precision_follows_from_what_is_expected(run):
    lines = [{"query": 1, "expected": [1, 2, 3], "returned": [1, 2, 3]}]
    assert at(report_of(run, "lists.jsonl", "--k", "10", lists_jsonl=lines)) == pytest.approx(
        {"hit_rate": 1, "mrr": 1, "precision": 0.3, "precision_ceiling": 0.3, "recall": 1}
        | {"capped_recall": 1, "ndcg": 1}
    )


def test_means_over_nothing_are_null_with_a_reason(run):
    nothing = [{"query": 1, "expected": [], "returned": [4]}]
    report = report_of(run, "lists.jsonl", "--k", "3", lists_jsonl=nothing)
    assert report["at"][0]["ndcg"] == {"value": None, "n": 0, "reason": "no query counts"}
    assert report["at"][0]["precision"] == {"value": 0.0, "n": 1}
    report = report_of(run, "lists.jsonl", lists_jsonl=[])
    assert set(at(report).values()) == {None}


def test_the_table_on_the_standard_output_is_markdown(run):
    code, output, _ = run("lists.jsonl", "--k", "1,5", lists_jsonl=LINES)
    lines = output.splitlines()
    assert code == 0
    assert lines[0] == (
        "| k | Hit rate | MRR | Precision | Recall | Capped recall | NDCG | Precision at most |"
    )
    assert lines[3].startswith("| 95 % | 0.0000 to 1.0000 |")
    assert lines[4] == "| 5 | 0.6667 | 0.4444 | 0.2000 | 1.0000 | 1.0000 | 0.7099 | 0.2000 |"
    assert "over the 2 that expect something" in output
    assert "Whole lists: MRR 0.4444, retrieval accuracy (R-precision) 0.2500." in output


@pytest.mark.parametrize("name", ["queries.parquet", "queries.tsv"])
def test_values_per_query_are_written(run, name):
    assert run("lists.jsonl", "--k", "1,5", "--table", name, lists_jsonl=LINES)[0] == 0
    if name.endswith(".tsv"):
        with open(name, encoding="utf-8") as stream:
            header, *rows = (line.rstrip("\n").split("\t") for line in stream)
        found = [dict(zip(header, row, strict=True)) for row in rows]
        wanted = [("q1", "1", "1", "0.4", "3"), ("q2", "", "3", "0.2", "3")]
        wanted.append(("q3", "", "", "0.0", "1"))
    else:
        table, protocol = read_table(name)
        found = table.to_pylist()
        wanted = [("q1", 1, 1, 0.4, 3), ("q2", None, 3, 0.2, 3), ("q3", None, None, 0.0, 1)]
        assert protocol["cut_offs"] == [1, 5]
    keys = ("query", "first_hit_rank@1", "first_hit_rank@5", "precision@5", "returned_count")
    assert [tuple(row[key] for key in keys) for row in found] == wanted


def test_parquet_and_json_lines_give_the_same_report(run):
    lines = report_of(run, "lists.jsonl", lists_jsonl=LINES)
    pq.write_table(pa.Table.from_pylist(LINES), "lists.parquet")
    table = report_of(run, "lists.parquet")
    assert {**lines, "inputs": 0} == {**table, "inputs": 0}


def test_ids_may_be_whole_numbers(run):
    numbers = {"a": 2**40, "b": -3, "c": 0, "x": 7, "y": 8}
    lines = [
        {"query": n, **{key: [numbers[v] for v in line[key]] for key in ("expected", "returned")}}
        for n, line in enumerate(LINES)
    ]
    assert at(report_of(run, "l.jsonl", l_jsonl=lines)) == at(
        report_of(run, "l.jsonl", l_jsonl=LINES)
    )


def test_scores_make_ties(run):
    lines = [{"query": 1, "expected": [2], "returned": [1, 2], "scores": [0.5, 0.5]}]
    found = {}
    for ties in ("optimistic", "expected", "pessimistic"):
        report = report_of(run, "l.jsonl", "--k", "1", "--ties", ties, l_jsonl=lines)
        found[ties] = at(report)["mrr"]
        assert (report["queries_tied"], report["protocol"]["ties"]) == (1, ties)
    assert found == {"optimistic": 1, "expected": 0.5, "pessimistic": 0}


def test_without_scores_there_are_no_ties(run):
    report = report_of(run, "lists.jsonl", "--ties", "expected", lists_jsonl=LINES)
    assert (report["queries_tied"], report["protocol"]["ties"]) == (0, None)


def test_scores_can_make_the_order(run):
    lines = [{"query": 1, "expected": [2], "returned": [1, 2], "scores": [0, 0.5]}]
    code, _, error = run("l.jsonl", l_jsonl=lines)
    assert code == 1
    assert "query 1: 2 at place 2 has a higher score than the one before it" in error
    assert at(report_of(run, "l.jsonl", "--ranks", "ignore", l_jsonl=lines))["mrr"] == 1


# Policies.


def test_duplicates_are_refused_counted_or_dropped(run):
    lines = [{"query": 1, "expected": [2, 2], "returned": [2, 2]}]
    both = ("--duplicates", "--expected-duplicates")
    assert "2 at place 2 is returned twice" in run("l.jsonl", l_jsonl=lines)[2]
    counted = report_of(run, "l.jsonl", "--k", "2", both[0], "count", both[1], "count")
    dropped = report_of(run, "l.jsonl", "--k", "2", both[0], "drop", both[1], "drop")
    assert (at(counted)["precision"], at(dropped)["precision"]) == (1, 0.5)
    assert counted["returned"] == {"ids": 2, "duplicates": 1, "unknown": None}


def test_unknown_ids_are_refused_or_counted(run):
    files = {"lists_jsonl": LINES, "ids_txt": "a\nb\nc\nx\n"}
    code, _, error = run("lists.jsonl", "--universe", "ids.txt", **files)
    assert code == 1
    assert "query q2: y at place 2 is returned and not in the universe" in error
    report = report_of(run, "lists.jsonl", "--universe", "ids.txt", "--unknown", "count")
    assert report["returned"]["unknown"] == 1
    assert at(report) == at(report_of(run, "lists.jsonl"))


def test_a_query_without_expected_ids_is_refused_counted_or_left_out(run):
    lines = [LINES[0], {"query": "q9", "returned": ["a"]}]
    code, _, error = run("l.jsonl", l_jsonl=lines)
    assert code == 1
    assert error.startswith("error: l.jsonl:2: query 'q9' has no entry of expected ids")
    counted = report_of(run, "l.jsonl", "--k", "2", "--without-expected", "count")
    dropped = report_of(run, "l.jsonl", "--k", "2", "--without-expected", "drop")
    assert (at(counted)["precision"], at(dropped)["precision"]) == (0.25, 0.5)
    assert (counted["queries_left_out"], dropped["queries_left_out"]) == (0, 1)
    assert counted["queries_without_expected"] == dropped["queries_without_expected"] == 1


def test_a_query_without_returned_ids_is_refused_or_costs(run):
    lines = [LINES[0], {"query": "q9", "expected": ["a"], "returned": None}]
    code, _, error = run("l.jsonl", l_jsonl=lines)
    assert code == 1
    assert "l.jsonl:2: query 'q9' has no entry of returned ids; see --without-returned" in error
    report = report_of(run, "l.jsonl", "--k", "2", "--without-returned", "count")
    assert at(report)["recall"] == 0.25
    assert report["queries_without_returned"] == 1


def test_a_list_of_queries_has_them_all(run):
    files = {"lists_jsonl": LINES, "queries_txt": "q3\nq4\nq1\nq2\n"}
    arguments = ("lists.jsonl", "--queries", "queries.txt", "--without-expected", "count")
    report = report_of(run, *arguments, "--without-returned", "count", **files)
    assert report["queries"] == 4
    code, _, error = run("lists.jsonl", "--queries", "queries.txt", queries_txt="q1\nq3\n")
    assert code == 1
    assert error == "error: lists.jsonl:2: query 'q2' is not listed in queries.txt\n"


# Runs of TREC.


def test_a_run_has_the_values_of_the_definitions(run):
    # Query 7: d2 at place 2 or 3, d4 at 4, three are relevant. Query 8: d5 at 1, one is relevant.
    options = ("--k", "2,4", "--ties", "optimistic")
    report = report_of(run, *trec(*options), run_txt=RUN, qrels_txt=QRELS)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    at_2, at_4 = at(report, 0), at(report, 1)
    assert at_2["precision"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert at_4["precision"] == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert at_4["recall"] == pytest.approx((2 / 3 + 1) / 2)
    assert report["whole_lists"]["mrr"]["value"] == pytest.approx((1 / 2 + 1) / 2)
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    assert at_4["ndcg"] == pytest.approx((gain / ideal + 1) / 2)
    report = report_of(run, *trec("--k", "2"))
    assert at(report)["precision"] == pytest.approx((0 + 1 / 2) / 2)
    assert report["whole_lists"]["mrr"]["value"] == pytest.approx((1 / 3 + 1) / 2)


def trec_eval(lines, relevant, k):
    """P_k, recall_k, recip_rank and binary ndcg_cut_k, ties by document id from the last one."""
    documents = [name for _, name in sorted(((s, d) for d, s in lines), reverse=True)]
    gains = [float(name in relevant) for name in documents]
    first = next((place for place, gain in enumerate(gains, 1) if gain), None)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(relevant))))
    gained = sum(gain / math.log2(place + 2) for place, gain in enumerate(gains[:k]))
    return (
        sum(gains[:k]) / k,
        sum(gains[:k]) / len(relevant),
        1 / first if first else 0,
        gained / ideal,
    )


@settings(max_examples=100, deadline=None)
@given(
    scores=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    relevant=st.sets(st.sampled_from("abcdefxy"), min_size=1),
    k=st.integers(1, 7),
)
def test_values_of_trec_eval_lie_between_the_optimistic_and_the_pessimistic(scores, relevant, k):
    lines = list(zip("abcdef", scores, strict=False))
    entry = Entry("run:1", "q", sorted(relevant), [d for d, _ in lines], list(map(float, scores)))
    found = {}
    for ties in ("pessimistic", "optimistic"):
        report, _ = score_lists([entry], [k], ties=ties, ranks="ignore")
        values = at(report)
        whole = report["whole_lists"]["mrr"]["value"]
        found[ties] = (values["precision"], values["recall"], whole, values["ndcg"])
    wanted = trec_eval(lines, relevant, k)
    for low, value, high in zip(found["pessimistic"], wanted, found["optimistic"], strict=True):
        assert low - 1e-12 <= value <= high + 1e-12
    if len(set(scores)) == len(scores):
        assert found["pessimistic"] == pytest.approx(wanted, rel=1e-12)


def test_scores_order_a_run_if_ranks_are_ignored(run):
    lines = RUN.splitlines(keepends=True)
    shuffled = "".join(line.replace(" 1 ", " 0 ") for line in (lines[3], *lines[:3], lines[4]))
    options = trec("--ranks", "ignore")
    found = at(report_of(run, *options, run_txt=shuffled, qrels_txt=QRELS), 2)
    assert found == at(report_of(run, *trec(), run_txt=RUN), 2)


def test_judged_queries_that_a_run_lacks_are_refused_or_count(run):
    code, _, error = run(*trec(), run_txt=RUN, qrels_txt=QRELS + "9 0 d1 1\n")
    assert code == 1
    assert error.startswith("error: qrels.txt: query '9' has no entry of returned ids")
    report = report_of(run, *trec("--without-returned", "count", "--draws", "0"))
    assert report["whole_lists"]["mrr"] == {"value": (1 / 3 + 1) / 3, "n": 3}


def test_queries_without_judgements_are_refused_or_left_out(run):
    code, _, error = run(*trec(), run_txt=RUN, qrels_txt="8 0 d5 1\n")
    assert code == 1
    assert error.startswith("error: run.txt:1: query '7' has no entry of expected ids")
    assert report_of(run, *trec("--without-expected", "drop"))["queries"] == 1


# One clear line for bad input.


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "l.jsonl:2: no JSON (Expecting property name"),
        ("[1]", "l.jsonl:2: expected an object"),
        ('{"expected": [], "returned": []}', "l.jsonl:2: no query"),
        ('{"query": "q", "ranked": []}', "l.jsonl:2: neither expected nor returned ids"),
        ('{"query": "q", "expected": "a"}', "l.jsonl:2: expected is 'a'; expected a list"),
        ('{"query": "q1", "expected": []}', "l.jsonl:2: query 'q1' again; it is in l.jsonl:1, too"),
        (
            '{"query": 1, "expected": []}',
            "l.jsonl:2: query: whole numbers among text; write all al",
        ),
        ('{"query": 1.5, "expected": []}', "l.jsonl:2: query: 1.5 is no id"),
        ('{"query": "q", "expected": [1]}', "l.jsonl:2: expected: whole numbers among text"),
        ('{"query": "q", "returned": [true]}', "l.jsonl:2: returned: True is no id"),
        ('{"query": "q", "returned": [null]}', "l.jsonl:2: returned: None is no id"),
        (
            '{"query": "q", "expected": ["\\ud800"], "returned": []}',
            "l.jsonl:2: expected: ids must be UTF-8",
        ),
        ('{"query": "\\ud800", "expected": []}', "l.jsonl:2: query: ids must be UTF-8 text"),
        ('{"query": "q", "expected": [[' + "1," * 999 + "1]]}", "l.jsonl:2: expected: [1, 1, "),
    ],
)
def test_a_bad_line_is_named(run, line, message):
    text = f"{json.dumps(LINES[0])}\n{line}\n"
    options = ("--without-expected", "count", "--without-returned", "count")
    code, _, error = run("l.jsonl", *options, l_jsonl=text)
    assert code == 1
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ('[2, "1"]', "l.jsonl:1: '1' is no score; scores are numbers"),
        ("[2, true]", "l.jsonl:1: True is no score"),
        ("[2, NaN]", "l.jsonl:1: a score is NaN"),
        (f"[{10**400}, 1]", "scores must be within the range of 64-bit floats"),
        ("[2]", "l.jsonl:1: 1 scores for 2 returned ids"),
        ("null", "l.jsonl:1: no scores, where l.jsonl:2 has some"),
        ("0.5", "l.jsonl:1: scores is 0.5; expected a list"),
    ],
)
def test_bad_scores_are_named(run, scores, message):
    lines = '{"query": "a", "expected": ["x"], "returned": ["x", "y"], "scores": '
    lines += scores + "}\n"
    lines += '{"query": "b", "expected": ["x"], "returned": ["x"], "scores": [1]}\n'
    code, _, error = run("l.jsonl", l_jsonl=lines)
    assert code == 1
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("run", "d1 1 3.5", "d1 0 3.5", "run.txt:1: rank 0; zero-based?"),
        ("run", "d4 4 -1e3", "d4 5 -1e3", "run.txt:4: rank 5 of query 7, which has 4 lines"),
        ("run", "d4 4 -1e3", "d4 -4 -1e3", "run.txt:4: rank -4 of query 7"),
        ("run", "d2 2 2.0", "d2 1 2.0", "run.txt:2: rank 1 of query 7 again; it is in line 1, too"),
        ("run", "d2 2 2.0", "d2 2.5 2.0", "run.txt:2: the rank '2.5' is no whole number"),
        (
            "run",
            "d2 2 2.0",
            "d2 2 4.0",
            "run.txt:2: rank 2 has a higher score than rank 1 of query",
        ),
        ("run", "d2 2 2.0", "d2 2 nan", "run.txt:2: the score 'nan' is no number"),
        ("run", "d2 2 2.0", "d2 2 2_0", "run.txt:2: the score '2_0' is no number"),
        ("run", "d2 2 2.0", "d2 2", "run.txt:2: 5 fields; expected query, Q0, document, rank"),
        ("run", "Q0 d3 3", "Q0 d2 3", "query 7: d2 at place 3 is returned twice"),
        ("qrels", "d2 3", "d2", "qrels.txt:1: 3 fields; expected query, iteration, document"),
        ("qrels", "d2 3", "d2 high", "qrels.txt:1: the judgement 'high' is no whole number"),
        ("qrels", "d3 -2", "d2 -2", "qrels.txt:5: d2 of query 7 is judged relevant and not"),
        ("qrels", "d4 1", "d2 1", "query 7: d2 at place 3 is expected twice"),
    ],
)
def test_a_bad_line_of_trec_is_named(run, file, old, new, message):
    files = {"run_txt": RUN, "qrels_txt": QRELS}
    files[f"{file}_txt"] = files[f"{file}_txt"].replace(old, new)
    code, _, error = run(*trec(), **files)
    assert code == 1
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("draws", ["-1", "999999999999", "9" * 30])
def test_a_number_of_draws_out_of_range_is_refused(run, draws):
    code, _, error = run("lists.jsonl", "--draws", draws, lists_jsonl=LINES)
    assert (code, error) == (
        1,
        f"error: --draws must be a whole number from 0 to 100000, not {draws}\n",
    )


@pytest.mark.parametrize("k", ["9" * 5000, "0", "-1", "2.5", "10 ", "True", "1,,2", "010"])
def test_a_cut_off_must_be_a_whole_number(run, k):
    code, _, error = run("lists.jsonl", "--k", k, lists_jsonl=LINES)
    assert code == 1
    assert error.startswith("error: --k must be a whole number from 1 to ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "none.jsonl: cannot be read"),
        (["none.parquet"], "none.parquet: not a readable Parquet table"),
        (["lists.csv"], "lists.csv: neither Parquet (.parquet) nor JSON lines"),
        (["lists.jsonl", "--table", "out.csv"], "out.csv: tables are written as .parquet or .tsv"),
        (
            ["lists.jsonl", "--universe", "twice.txt"],
            "twice.txt:2: 'a' again; it is in line 1, too",
        ),
        (["lists.jsonl", "--queries", "none.txt"], "none.txt: cannot be read"),
        (["numbers.jsonl", "--universe", "twice.txt"], "twice.txt:1: 'a' is no whole number, as"),
        (["numbers.jsonl", "--queries", "digits.txt"], "digits.txt:1: '9999"),
        (
            ["numbers.jsonl", "--queries", "large.txt", "--without-expected", "count"],
            "large.txt: query: ids must be UTF-8 text or whole numbers of 64 bits",
        ),
        (["large.jsonl"], "large.jsonl:1: query: ids must be UTF-8 text or whole numbers of 64"),
        (["lists.jsonl", "--json", "r.json", "--table", "a.tsv"], "a.tsv: no regular file; name"),
        (["lists.jsonl", "--json", "r.tsv", "--table", "r.tsv"], "r.tsv: is another output, too"),
        (["lists.jsonl", "--json", "lists.jsonl"], "lists.jsonl: is an input, too; name another"),
        (["tab.jsonl", "--json", "r.json", "--table", "r.tsv"], r"'a\tb': a name in a table may"),
        (["text.parquet"], "text.parquet: not a readable Parquet table (Column 0"),
    ],
)
def test_bad_files_are_named(run, arguments, message):
    numbers = [{"query": 1, "expected": [1], "returned": [1]}]
    files = {"lists_jsonl": LINES, "twice_txt": "a\na\n", "numbers_jsonl": numbers}
    files |= {"digits_txt": f"{'9' * 5000}\n", "large_txt": f"1\n{2**63}\n"}
    files |= {
        f"{name}_jsonl": [numbers[0] | {"query": q}]
        for name, q in (("large", 2**63), ("tab", "a\tb"))
    }
    Path("a.tsv").mkdir()
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(pa.table({"query": text, "expected": [["a"]]}), "text.parquet")
    code, _, error = run(*arguments, **files)
    assert code == 1
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1
    assert len(error) < 400
    assert not {"r.json", "r.tsv"} & {path.name for path in Path().iterdir()}
    assert [json.loads(line) for line in Path("lists.jsonl").read_text().splitlines()] == LINES


def test_marks_of_byte_order_are_no_part_of_a_file(run):
    plain = report_of(run, *trec(), run_txt=RUN, qrels_txt=QRELS)
    marked = report_of(run, *trec(), run_txt="\ufeff" + RUN, qrels_txt="\ufeff" + QRELS)
    assert {**plain, "inputs": 0} == {**marked, "inputs": 0}


@pytest.mark.parametrize("arguments", [[], ["l.jsonl", *trec()], ["--run", "run.txt"]])
def test_one_kind_of_input_is_needed(run, arguments, capsys):
    with pytest.raises(SystemExit):
        run(*arguments)
    assert "give either one file of lists, or --run and --qrels" in capsys.readouterr().err
