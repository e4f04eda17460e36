"""Metrics against numbers of scikit-learn 1.9.1 and trec_eval (pytrec_eval-terrier 0.5.11).

Neither is needed here: what they gave for the queries below stands in this file. Where a definition
differs, a test says how.
"""

import numpy as np
import pytest

from clqa.averages import mean
from clqa.cardinalities import easy_before_hard, size_error
from clqa.metrics import metric
from clqa.operating_points import pooled_f_beta
from clqa.ragged import Ragged, ragged
from clqa.ranks import count_competitors
from clqa.retrieval import query_metric, query_values
from clqa.set_metrics import f_beta, set_counts, set_summary
from clqa.tie_blocks import blocks_of_counts
from clqa.ties import POLICIES

# Relevant items of five queries among ten; the fourth has none.
RELEVANT = [{0, 7, 9}, {7, 8, 9}, {3, 6, 9}, set(), {1, 2, 4, 7}]
PLAIN = [
    [4, 8, 1, 6, 2, 7, 0, 3, 9, 5],
    [9, 8, 2, 0, 1, 3, 4, 6, 7, 5],
    [6, 5, 8, 2, 0, 9, 4, 7, 1, 3],
    [0, 3, 9, 4, 5, 8, 7, 6, 2, 1],
    [8, 0, 5, 4, 3, 7, 2, 9, 6, 1],
]
TIED = [
    [1, 2, 0, 1, 1, 1, 2, 1, 3, 1],
    [0, 2, 3, 2, 3, 1, 3, 0, 0, 3],
    [3, 2, 3, 1, 2, 1, 1, 0, 0, 3],
    [1, 3, 1, 0, 1, 1, 2, 2, 2, 1],
    [1, 2, 2, 1, 0, 3, 2, 3, 3, 3],
]
THIRD, FOURTH, FIFTH = 1 / 3, 1 / 4, 1 / 5


def blocks(scores):
    relevant = ragged(RELEVANT)
    found = count_competitors(np.array(scores), relevant, [relevant])
    return blocks_of_counts(relevant.offsets, found.greater[0], found.tied[0])


# scikit-learn

# sklearn.metrics.ndcg_score takes the mean gain of items that tie.
NDCG_PLAIN = {
    1: [0, 0, 0, 0, 1],
    3: [0, 0.23463936301137828, 0, 0, 0.46927872602275655],
    5: [0.1815417925373527, 0.6182885020492785, 0, 0, 0.541399668219907],
    10: [0.5051284895111406, 0.6182885020492785, 0.47162765245672067, 0, 0.7843714928995429],
}
NDCG_TIED = {
    1: [0, 0.25, THIRD, 0, 0.25],
    3: [0, 0.25, THIRD, 0, 0.25],
    5: [0.19182456951895013, 0.3005268366251369, THIRD, 0, 0.35067974548520353],
    10: [0.4982718821772249, 0.5838334378086097, 0.6477517683044804, 0, 0.6429801287284562],
}


@pytest.mark.parametrize("k", NDCG_PLAIN)
@pytest.mark.parametrize("ties", ["pessimistic", "optimistic", "expected"])
def test_ndcg_without_ties_is_that_of_scikit_learn(k, ties):
    found = query_metric(f"ndcg@{k}")(blocks(PLAIN), ties)
    assert found.tolist() == pytest.approx(NDCG_PLAIN[k], rel=1e-12)


@pytest.mark.parametrize("k", NDCG_TIED)
def test_expected_ndcg_is_that_of_scikit_learn(k):
    found = query_metric(f"ndcg@{k}")(blocks(TIED), "expected")
    assert found.tolist() == pytest.approx(NDCG_TIED[k], rel=1e-12)


def test_queries_without_relevant_items_count_as_0_in_means_of_scikit_learn_and_not_here():
    values = query_values("ndcg@5", blocks(TIED), "expected")
    by_scikit_learn = 0.23527289699252477
    assert np.nansum(values) / 5 == pytest.approx(by_scikit_learn, rel=1e-12)
    assert np.nanmean(values) == pytest.approx(by_scikit_learn * 5 / 4, rel=1e-12)


# One relevant item for each query: label_ranking_average_precision_score is then the mean of the
# reciprocal ranks and coverage_error that of the ranks, with ties ahead; top_k_accuracy_score is
# the share of hits, for scores without ties.
ONE = [[0], [4], [4], [9], [2]]


@pytest.mark.parametrize(
    ("scores", "name", "by_scikit_learn"),
    [
        (PLAIN, "mrr", 0.13777777777777778),
        (TIED, "mrr", 0.163015873015873),
        (PLAIN, "mr", 7.8),
        (TIED, "mr", 6.8),
        (PLAIN, "hits@1", 0),
        (PLAIN, "hits@3", 0),
        (PLAIN, "hits@5", 0.2),
    ],
)
def test_ranks_of_single_answers_are_those_of_scikit_learn(scores, name, by_scikit_learn):
    found = count_competitors(np.array(scores), ragged(ONE), [ragged(ONE)])
    values = metric(name).values(found.greater[0], found.tied[0], "pessimistic")
    assert mean(values.tolist()) == pytest.approx(by_scikit_learn, rel=1e-12)


@pytest.mark.parametrize(
    ("scores", "by_scikit_learn"),
    [
        (PLAIN, [0.4285714285714286, 0.7142857142857143, 0.2857142857142857, None, 0.4583333333]),
        (TIED, [0.3571428571428572, 0.30952380952380953, 0.5238095238095238, None, 0.3958333333]),
    ],
)
def test_the_order_of_easy_and_hard_answers_is_the_roc_auc_score(scores, by_scikit_learn):
    sides = []
    for is_easy in (True, False):
        rows = [[i for i in range(10) if (i in one) == is_easy] for one in RELEVANT]
        offsets = np.cumsum([0, *map(len, rows)])
        chosen = [scores[query][i] for query, row in enumerate(rows) for i in row]
        ids = np.array([i for row in rows for i in row], np.int32)
        sides += [np.array(chosen, np.float64), Ragged(offsets, ids)]
    assert easy_before_hard(*sides) == [
        None if value is None else pytest.approx(value, rel=1e-9) for value in by_scikit_learn
    ]


# Predicted are the items with a score of at least 2, but for the query without relevant ones.
PREDICTED = [{i for i in range(10) if row[i] >= 2} for row in TIED]
PREDICTED[3] = set()
F_BETA = {
    0.5: [0, 0.18518518518518517, 0.21739130434782608, 0, 0.46875],
    1: [0, 0.2222222222222222, 0.25, 0, 0.5454545454545454],
    2: [0, 0.2777777777777778, 0.29411764705882354, 0, 0.6521739130434783],
}


@pytest.mark.parametrize(
    ("beta", "macro", "pooled"),
    [
        (0.5, 0.37426529790660223, 0.25773195876288657),
        (1, 0.4035353535353535, 0.29411764705882354),
        (2, 0.44481386757601593, 0.3424657534246575),
    ],
)
def test_f_beta_is_that_of_scikit_learn_but_for_two_empty_sets(beta, macro, pooled):
    """There these have 0, or with zero_division=1, as in `macro`, the 1 that they have here."""
    counts = set_counts(ragged(PREDICTED), ragged(RELEVANT))
    assert f_beta(counts, beta, empty_value=0.0).tolist() == pytest.approx(F_BETA[beta], rel=1e-12)
    assert set_summary(counts, beta).f_beta == pytest.approx(macro, rel=1e-12)
    totals = (int(part.sum()) for part in (counts.right, counts.predicted, counts.true))
    assert pooled_f_beta(*totals, beta)[0] == pytest.approx(pooled, rel=1e-12)


def test_pooled_precision_and_recall_are_the_micro_averages_of_scikit_learn():
    found = set_summary(set_counts(ragged(PREDICTED), ragged(RELEVANT)))
    assert found.precision == pytest.approx(0.23809523809523808, rel=1e-15)
    assert found.recall == pytest.approx(0.38461538461538464, rel=1e-15)


def test_the_size_error_is_the_mean_absolute_percentage_error_where_nothing_is_empty():
    """With sizes 3, 10, 1 for 4, 8, 0 scikit-learn has 1.5e15: it divides by a tiny number."""
    assert size_error([3, 10, 3, 1], [4, 8, 3, 5]).value == 0.325
    assert size_error([3, 10, 1], [4, 8, 0]) == (0.25, 2, 1)


# trec_eval

# By its name here.
TREC_PLAIN = {
    "precision@1": [0, 0, 0, 0, 1],
    "precision@3": [0, THIRD, 0, 0, THIRD],
    "precision@5": [0.2, 0.6, 0, 0, 0.4],
    "precision@10": [0.3, 0.3, 0.3, 0, 0.4],
    "recall@1": [0, 0, 0, 0, 0.25],
    "recall@3": [0, THIRD, 0, 0, 0.25],
    "recall@5": [THIRD, 1, 0, 0, 0.5],
    "recall@10": [1, 1, 1, 0, 1],
    "ndcg@1": NDCG_PLAIN[1],
    "ndcg@3": NDCG_PLAIN[3],
    "ndcg@5": NDCG_PLAIN[5],
    "ndcg@10": NDCG_PLAIN[10],
    "hit_rate@1": [0, 0, 0, 0, 1],
    "hit_rate@3": [0, 1, 0, 0, 1],
    "hit_rate@5": [1, 1, 0, 0, 1],
    "hit_rate@10": [1, 1, 1, 0, 1],
    "first_hit_mrr": [FIFTH, THIRD, 1 / 6, 0, 1],
    "retrieval_accuracy": [0, THIRD, 0, 0, FOURTH],
}
# Of items with one score the one whose name sorts last comes first: item 9 of "d0" to "d9".
TREC_TIED = {
    "precision@3": [0, THIRD, THIRD, 0, THIRD],
    "precision@5": [0.4, 0.2, 0.2, 0, 0.2],
    "recall@3": [0, THIRD, THIRD, 0, 0.25],
    "recall@5": [2 / 3, THIRD, THIRD, 0, 0.25],
    "ndcg@3": [0, 0.46927872602275644, 0.46927872602275644, 0, 0.23463936301137822],
    "ndcg@5": [0.38364913903790027, 0.46927872602275644, 0.46927872602275644, 0, 0.195190024996],
    "hit_rate@1": [0, 1, 1, 0, 0],
    "hit_rate@3": [0, 1, 1, 0, 1],
    "first_hit_mrr": [FOURTH, 1, 1, 0, THIRD],
    "retrieval_accuracy": [0, THIRD, THIRD, 0, FOURTH],
}


@pytest.mark.parametrize("name", TREC_PLAIN)
@pytest.mark.parametrize("ties", POLICIES)
def test_without_ties_the_values_are_those_of_trec_eval(name, ties):
    if ties in metric(name).policies:
        found = query_metric(name)(blocks(PLAIN), ties)
        assert found.tolist() == pytest.approx(TREC_PLAIN[name], rel=1e-12)


@pytest.mark.parametrize("name", TREC_TIED)
def test_its_order_of_ties_lies_between_the_worst_and_the_best(name):
    worst, best = (query_metric(name)(blocks(TIED), t) for t in ("pessimistic", "optimistic"))
    assert (worst <= np.array(TREC_TIED[name]) + 1e-12).all()
    assert (np.array(TREC_TIED[name]) <= best + 1e-12).all()
    assert (worst < best).any()


def test_queries_without_relevant_items_count_as_0_in_means_of_trec_eval_too():
    found = query_values("recall@5", blocks(PLAIN), "expected")
    assert np.isnan(found).tolist() == [False, False, False, True, False]
    assert sum(TREC_PLAIN["recall@5"]) / 5 == pytest.approx(np.nansum(found) / 5)
