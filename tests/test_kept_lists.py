"""Metrics of ranked lists from kept scores, with the hard answers or all answers expected."""

import math

import numpy as np
import pytest

from reference_retrieval import METRICS, values
from test_evaluate_sets import Case, N, drawn_sets, evaluate, row_of, write_set

NAMES = {
    "hit_rate": "hit_rate",
    "first_hit_mrr": "first_hit_mrr",
    "list_precision": "precision",
    "list_recall": "recall",
    "ndcg": "ndcg",
}


def scored_lists(own):
    """For each query its (score, is true) pairs, and the number of true answers."""
    for row, inside, true in zip(own.scores, own.judged, own.true, strict=True):
        yield [(row[entity], entity in true) for entity in sorted(inside)], len(true)


def pessimistic(name, scored, n_true, k):
    flags = [flag for _, flag in sorted(scored, key=lambda pair: (-pair[0], pair[1]))]
    return float(METRICS[name](flags, n_true, k))


def mean_of(found, column):
    """Recall and NDCG are means over the queries that expect something."""
    asked = [value for value, n in found if n or column not in ("list_recall", "ndcg")]
    return math.fsum(asked) / len(asked)


@pytest.mark.parametrize("depth", [3, N])
@pytest.mark.parametrize("levels", [2, 7, 1000])
@pytest.mark.parametrize("truth", ["hard", "full"])
def test_lists_have_the_values_of_the_whole_scores(tmp_path, truth, levels, depth):
    answers, scores = drawn_sets(levels, levels)
    write_set(tmp_path, "test", answers["test"], scores["test"], depth)
    rows, _, _ = evaluate(tmp_path, ["top@2"], partner=False)
    own = Case(answers["test"], scores["test"], truth)
    for column, name in NAMES.items():
        found = [(pessimistic(name, *one, 2), one[1]) for one in scored_lists(own)]
        value = row_of(rows, "top@2", truth)[column]
        assert value == pytest.approx(mean_of(found, column), abs=1e-12)


@pytest.mark.parametrize("truth", ["hard", "full"])
def test_expected_values_are_means_over_the_orders_of_ties(tmp_path, truth):
    answers, scores = drawn_sets(1, levels=25)
    write_set(tmp_path, "test", answers["test"], scores["test"], N)
    rows, _, _ = evaluate(tmp_path, ["top@2"], partner=False)
    own = Case(answers["test"], scores["test"], truth)
    row = row_of(rows, "top@2", truth)
    for column, name in NAMES.items():
        lists = list(scored_lists(own))
        found = [(float(values(name, *one, 2)["expected"]), one[1]) for one in lists]
        assert row[f"{column}_expected"] == pytest.approx(mean_of(found, column), abs=1e-12)
        assert row[f"{column}_expected"] >= row[column]


def test_an_easy_answer_ahead_is_a_hit_only_where_all_answers_are_expected(tmp_path):
    """Easy answer 0 is first, candidate 1 second, hard answer 2 third."""
    scores = np.zeros((1, N), np.float32)
    scores[0, :3] = [0.9, 0.8, 0.7]
    write_set(tmp_path, "test", {"1p": [({0}, {2}, set())]}, {"1p": scores}, N)
    rows, _, _ = evaluate(tmp_path, ["top@3", "top@1"], partner=False)
    hard, full = (row_of(rows, "top@3", truth) for truth in ("hard", "full"))
    assert (hard["first_hit_mrr"], full["first_hit_mrr"]) == (1 / 2, 1)
    assert (hard["list_precision"], full["list_precision"]) == (1 / 3, 2 / 3)
    assert hard["ndcg"] == pytest.approx(1 / math.log2(3))
    # The worked value of two expected ids around another one.
    assert full["ndcg"] == pytest.approx(0.9197208, abs=5e-8)
    assert row_of(rows, "top@1", "full")["list_recall"] == 1 / 2
    assert row_of(rows, "top@1", "hard")["hit_rate"] == 0


def test_a_tie_at_the_end_of_a_cut_list_leaves_only_expected_values_open(tmp_path):
    """All scores are equal, and one candidate of eleven is kept."""
    scores = np.zeros((1, N), np.float32)
    write_set(tmp_path, "test", {"1p": [(set(), {0}, set())]}, {"1p": scores}, depth=1)
    row = row_of(evaluate(tmp_path, ["top@1"], partner=False)[0], "top@1", "hard")
    assert (row["list_precision"], row["list_precision_expected"]) == (0, None)


def test_lists_of_queries_without_answers_have_no_recall(tmp_path):
    scores = np.zeros((1, N), np.float32)
    write_set(tmp_path, "test", {"1p": [(set(), set(), set())]}, {"1p": scores}, depth=5)
    row = row_of(evaluate(tmp_path, ["top@2"], partner=False)[0], "top@2", "hard")
    assert (row["hit_rate"], row["list_recall"], row["ndcg"]) == (0, None, None)
