"""The few lines with which a run ends."""

import pytest

from clqa.run_summaries import run_summary, told_repetitions, told_shortfalls

HEAD = "metric\tties\tfilter\tstratum\tmodel\ta EPFO\ta negation\ta-long-name EPFO"


def written(tmp_path, *rows, measured="mrr\tpessimistic\tobserved-and-full"):
    path = tmp_path / "overview.tsv"
    lines = [HEAD, *(f"{measured}\t\t{row}" for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_averages_stand_below_their_query_sets(tmp_path):
    path = written(tmp_path, "mlp\t0.12345\t0.5\t1.0", "a-model\t0.1225\t\t0.0")
    assert run_summary(path, 80) == [
        "MRR × 100, pessimistic ties, filter observed-and-full",
        "         a               a-long-name",
        "         EPFO  negation         EPFO",
        "mlp      12.3      50.0        100.0",
        "a-model  12.2         –          0.0",
    ]


def test_what_finds_no_room_is_counted(tmp_path):
    rows = [f"m{number}\t0.1\t0.2\t0.3" for number in range(22)]
    lines = run_summary(written(tmp_path, *rows), 30)
    assert max(map(len, lines[1:-1])) <= 30
    assert lines[1:3] == ["     a", "     EPFO  negation"]
    assert len(lines) == 3 + 20 + 1
    assert lines[-1] == "and 2 more models and 1 more average"


def test_a_mean_rank_is_no_share(tmp_path):
    path = written(tmp_path, "mlp\t12.25\t2.0\t3.0", measured="mr\texpected\tnone")
    assert run_summary(path, 80)[0] == "Mean rank, expected ties, filter none"
    assert run_summary(path, 80)[-1].split() == ["mlp", "12.2", "2.0", "3.0"]


@pytest.mark.parametrize("text", ["", HEAD + "\n"])
def test_without_models_or_a_table_nothing_is_told(tmp_path, text):
    path = tmp_path / "overview.tsv"
    if text:
        path.write_text(text)
    assert run_summary(path, 80) == []


def test_shapes_with_too_few_queries_are_told_in_one_line():
    rows = [
        {"queries": "a-test", "shape": f"{n}p", "accepted": n, "requested": 1000}
        for n in range(1, 8)
    ]
    assert told_shortfalls([]) == []
    assert told_shortfalls(rows[:1]) == [
        "fewer queries than asked for: a-test 1p (1 of 1,000)",
    ]
    line = told_shortfalls(rows)[0]
    assert line.endswith("a-test 5p (5 of 1,000), and 2 more, see the report")


def test_triples_that_are_not_missing_are_told():
    assert told_repetitions([]) == []
    assert told_repetitions([("g", "test", "train", 1030)]) == [
        "graph g: 1,030 triples are in test and in train: no link of these is missing"
    ]
