"""Metrics of counts and of plain rank lists: values from the definitions, then their properties."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_ranks as reference
from clqa import rank_lists
from clqa.errors import InputError
from clqa.metrics import METRICS, cut_off, metric, score_id, score_parts
from clqa.ragged import Ragged, ragged
from clqa.ranks import count_competitors
from clqa.ties import POLICIES, expected_reciprocals, ranks

IDS = [
    name.replace("@K", f"@{k}")
    for name, found in METRICS.items()
    if found.values is not None
    for k in ((1, 3, 10) if "@" in name else "-")
]


def value(metric_id, greater, tied, ties):
    """Metric of one answer."""
    return float(metric(metric_id).values(np.array([greater]), np.array([tied]), ties)[0])


def harmonic(n):
    return math.fsum(1 / i for i in range(1, n + 1))


@pytest.mark.parametrize("ties", POLICIES)
@pytest.mark.parametrize(
    ("metric_id", "wanted"), [("mrr", 0.5), ("hits@1", 0), ("hits@3", 1), ("hits@10", 1)]
)
def test_without_ties_all_policies_agree(metric_id, wanted, ties):
    assert value(metric_id, 1, 0, ties) == wanted


@pytest.mark.parametrize(
    ("ties", "wanted"), [("optimistic", 1), ("pessimistic", 3), ("realistic", 2), ("expected", 2)]
)
def test_two_ties_for_the_first_place_give_each_policy_its_rank(ties, wanted):
    assert value("mr", 0, 2, ties) == wanted


@pytest.mark.parametrize(
    ("metric_id", "ties", "wanted"),
    [
        ("mrr", "pessimistic", 1 / 3),
        ("hits@1", "pessimistic", 0),
        ("hits@3", "pessimistic", 1),
        ("mrr", "expected", 0.611111),
        ("hits@1", "expected", 1 / 3),
        ("hits@3", "expected", 1),
    ],
)
def test_two_ties_for_the_first_place(metric_id, ties, wanted):
    assert value(metric_id, 0, 2, ties) == pytest.approx(wanted, abs=5e-7)


@pytest.mark.parametrize(
    ("metric_id", "ties", "wanted"),
    [
        ("mrr", "pessimistic", 0.5),
        ("mrr", "optimistic", 1),
        ("mrr", "realistic", 2 / 3),
        ("mrr", "expected", 0.75),
        ("hits@1", "expected", 0.5),
    ],
)
def test_one_tie_for_the_first_place(metric_id, ties, wanted):
    assert value(metric_id, 0, 1, ties) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("metric_id", "ties", "wanted"),
    [
        ("mr", "pessimistic", 4),
        ("mrr", "pessimistic", 0.25),
        ("hits@3", "pessimistic", 0),
        ("mr", "optimistic", 2),
        ("mrr", "expected", 0.361111),
        ("hits@3", "expected", 0.666667),
    ],
)
def test_two_ties_behind_a_better_candidate(metric_id, ties, wanted):
    assert value(metric_id, 1, 2, ties) == pytest.approx(wanted, abs=5e-7)


def test_padded_scores_cost_a_missing_answer_more():
    assert value("mrr", 1, 4, "pessimistic") == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("metric_id", "ties", "wanted"),
    [
        ("mrr", "optimistic", 1.0),
        ("mrr", "pessimistic", 0.01),
        ("mrr", "realistic", 0.0198020),
        ("mrr", "expected", 0.0518738),
        ("hits@1", "expected", 0.01),
        ("hits@3", "expected", 0.03),
        ("hits@10", "expected", 0.10),
    ],
)
def test_constant_scores_of_a_hundred_entities(metric_id, ties, wanted):
    assert value(metric_id, 0, 99, ties) == pytest.approx(wanted, abs=5e-8)


@pytest.mark.parametrize(
    ("ties", "wanted"),
    [
        ("optimistic", 1),
        ("pessimistic", 0.2),
        ("realistic", 0.333333),
        ("expected", 0.456667),
    ],
)
def test_constant_scores_of_five_entities(ties, wanted):
    assert value("mrr", 0, 4, ties) == pytest.approx(wanted, abs=5e-7)


@pytest.mark.parametrize(
    ("ties", "wanted"),
    [("optimistic", 1), ("pessimistic", 0.1), ("realistic", 0.181818), ("expected", 0.292897)],
)
def test_constant_scores_of_ten_entities(ties, wanted):
    assert value("mrr", 0, 9, ties) == pytest.approx(wanted, abs=5e-7)


def test_one_of_three_places_of_ten_is_among_the_first_three():
    assert value("hits@3", 0, 9, "expected") == pytest.approx(0.3)


def test_constant_scores_of_ten_entities_have_a_realistic_rank_in_the_middle():
    assert value("mr", 0, 9, "realistic") == 5.5


@pytest.mark.parametrize(
    ("metric_id", "ties", "wanted"),
    [
        ("mr", "optimistic", 2),
        ("mr", "pessimistic", 5),
        ("mr", "realistic", 3.5),
        ("mrr", "optimistic", 0.5),
        ("mrr", "pessimistic", 0.2),
        ("mrr", "realistic", 0.285714),
        ("mrr", "expected", 0.320833),
        ("hits@3", "expected", 0.5),
        ("hits@3", "realistic", 0),
    ],
)
def test_three_ties_behind_a_better_candidate(metric_id, ties, wanted):
    assert value(metric_id, 1, 3, ties) == pytest.approx(wanted, abs=5e-7)


def test_hits_can_be_cut_anywhere():
    assert [value("hits@7", g, 0, "pessimistic") for g in (6, 7)] == [1.0, 0.0]


def test_a_hundred_better_candidates_leave_a_hundred_and_first_place():
    scores = np.zeros((1, 10_000))
    scores[0, 0], scores[0, 1:101] = 0.5, 1
    found = count_competitors(scores, ragged([[0]]), [ragged([[0]])])
    assert (found.greater.item(), found.candidates.item()) == (100, 10_000)
    full = metric("mrr").values(found.greater, found.tied, "pessimistic").item()
    assert full == pytest.approx(0.009901, abs=5e-7)


def test_few_candidates_flatter():
    """Of 50 drawn from 9,998 others, of which 100 are better, 50 · 100 / 9,998 are expected to be.

    Windows of 50 on a circle of the others stand for the draws; each of these is in 25 of them.
    """
    scores = np.full((1, 9999), 0.5)
    scores[0, 1:101] = 1
    greater = []
    for first in range(0, 9998, 2):
        window = (first + np.arange(50)) % 9998 + 1
        out = np.delete(np.arange(9999), window)
        excluded = Ragged(np.array([0, len(out)]), out)
        found = count_competitors(scores, ragged([[0]]), [excluded])
        assert found.candidates.item() == 51
        greater.append(found.greater.item())
    assert np.mean(greater) == pytest.approx(0.5001, abs=5e-5)


@pytest.mark.parametrize(
    "identifier", ["hits@0", "hits@-1", "hits@2.5", "hits@10 ", "hits@", "hits@True", "hits@010"]
)
def test_a_cut_off_must_be_a_whole_number_from_one(identifier):
    with pytest.raises(InputError, match=f"'{identifier}': K must be a whole number from 1"):
        metric(identifier)


@pytest.mark.parametrize("k", [0, -1, 2.5, "10 ", True, None])
def test_a_cut_off_that_is_given_as_a_value_is_checked_likewise(k):
    with pytest.raises(InputError, match=r"^hits must be a whole number"):
        cut_off(k, key="hits")


@pytest.mark.parametrize("identifier", ["MRR", "hits", "precision", "ndcg", "", True, None, 3])
def test_an_unknown_metric_is_refused_with_those_that_are_known(identifier):
    with pytest.raises(InputError, match="known are mrr, mr, hits@K"):
        metric(identifier)


def test_an_unknown_tie_policy_is_refused_with_those_that_are_known():
    with pytest.raises(InputError, match="known are pessimistic, optimistic"):
        ranks(np.array([0]), np.array([0]), "rounded")


def test_a_score_id_holds_metric_ties_and_filter():
    identifier = score_id("hits@10", "pessimistic", "full-only")
    assert identifier == "hits@10[pessimistic,full-only]"
    assert score_parts(identifier) == ("hits@10", "pessimistic", "full-only")


@pytest.mark.parametrize("identifier", ["mrr", "mrr[a]", "mrr[a,b", "[a,b]", "mrr[a,b]c"])
def test_what_is_no_score_id_is_refused(identifier):
    with pytest.raises(InputError, match="expected metric"):
        score_parts(identifier)


@pytest.mark.parametrize(
    ("greater", "tied"),
    [(0, 63), (0, 64), (0, 65), (3, 64), (3, 70), (200, 66), (0, 5000), (7, 3000), (14000, 500)],
)
def test_expected_reciprocals_are_exact_for_any_number_of_ties(greater, tied):
    exact = reference.value(reference.of_rank("mrr"), greater, tied, "expected")
    found = Fraction(float(expected_reciprocals([greater], [tied])[0]))
    assert abs(found - exact) <= exact * Fraction(2, 10**15)


def test_expected_reciprocals_of_a_huge_tie():
    n = 86_000_000
    wanted = (math.log(n) + np.euler_gamma + 1 / (2 * n)) / n
    assert value("mrr", 0, n - 1, "expected") == pytest.approx(wanted, rel=1e-14)


# What follows holds for every metric of the table; a new one is tested by being in it.

some_counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 150)), min_size=1, max_size=20)


@pytest.mark.parametrize("metric_id", IDS)
@pytest.mark.parametrize("ties", POLICIES)
@settings(max_examples=30, deadline=None)
@given(pairs=some_counts)
def test_every_metric_equals_its_definition(metric_id, ties, pairs):
    found = metric(metric_id).values(*np.array(pairs).T, ties)
    of_rank = reference.of_rank(metric_id)
    wanted = [float(reference.value(of_rank, *pair, ties)) for pair in pairs]
    assert found.tolist() == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("metric_id", IDS)
@settings(max_examples=30, deadline=None)
@given(pairs=some_counts)
def test_every_metric_keeps_the_order_of_the_policies(metric_id, pairs):
    best, mean, worst = (
        metric(metric_id).values(*np.array(pairs).T, ties)
        for ties in ("optimistic", "expected", "pessimistic")
    )
    sign = 1 if metric(metric_id).higher_is_better else -1
    assert (sign * best >= sign * mean).all()
    assert (sign * mean >= sign * worst).all()


@pytest.mark.parametrize("metric_id", IDS)
@pytest.mark.parametrize("ties", POLICIES)
@settings(max_examples=30, deadline=None)
@given(pairs=some_counts)
def test_every_metric_stays_in_its_range(metric_id, ties, pairs):
    found = metric(metric_id).values(*np.array(pairs).T, ties)
    if metric(metric_id).higher_is_better:
        assert ((found >= 0) & (found <= 1)).all()
    else:
        assert (found >= 1).all()


@pytest.mark.parametrize("metric_id", IDS)
@pytest.mark.parametrize("ties", POLICIES)
@settings(max_examples=30, deadline=None)
@given(pairs=some_counts, seed=st.integers(0, 1000))
def test_every_metric_of_an_answer_depends_on_that_answer_alone(metric_id, ties, pairs, seed):
    values = metric(metric_id).values
    together = values(*np.array(pairs).T, ties)
    alone = [float(values(np.array([g]), np.array([t]), ties)[0]) for g, t in pairs]
    order = np.random.default_rng(seed).permutation(len(pairs))
    shuffled = values(*np.array(pairs)[order].T, ties)
    assert together.tolist() == alone
    assert shuffled.tolist() == together[order].tolist()


@pytest.mark.parametrize("metric_id", IDS)
@pytest.mark.parametrize("ties", POLICIES)
def test_every_metric_is_perfect_for_a_first_place_without_ties(metric_id, ties):
    assert value(metric_id, 0, 0, ties) == 1.0


@pytest.mark.parametrize("metric_id", IDS)
@pytest.mark.parametrize("ties", POLICIES)
def test_every_metric_takes_counts_as_they_are_stored(metric_id, ties):
    counts = np.array([2**31 - 2, 0], np.int32), np.array([1, 0], np.int32)
    assert np.isfinite(metric(metric_id).values(*counts, ties)).all()


# Rank lists from outside.


@pytest.mark.parametrize(
    ("ranks", "wanted"),
    [
        ([1, 3, 2, 5], 0.5083333),
        ([0, 1, 2, 0, 3], 0.3666667),
        ([1, 2, 5], 0.5666667),
        ([1, 2, 10], 0.5333333),
        ([0, 0, 0, 0], 0),
        ([], 0),
    ],
)
def test_mean_reciprocal_rank_of_a_list(ranks, wanted):
    found = rank_lists.mean_reciprocal_rank(ranks, zero="not_found")
    assert found == pytest.approx(wanted, abs=5e-8)


@pytest.mark.parametrize(
    ("ranks", "wanted"),
    [([1, 3, 2, 5], 2.75), ([0, 2, 4, 0], 1.5), ([1, 2, 10], 13 / 3), ([0, 0, 0, 0], 0), ([], 0)],
)
def test_mean_rank_of_a_list_keeps_misses_in_the_denominator(ranks, wanted):
    assert rank_lists.mean_rank(ranks, zero="not_found") == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("ranks", "k", "wanted"),
    [
        ([1, 3, 2, 5, 10], 3, 0.6),
        ([0, 1, 0, 2], 10, 0.5),
        ([1, 2, 1, 3], 1, 0.5),
        ([4, 5, 6], 3, 0),
        ([0, 0, 0, 0], 3, 0),
        ([], 3, 0),
    ],
)
def test_hits_of_a_list(ranks, k, wanted):
    assert rank_lists.hits_at_k(ranks, k, zero="not_found") == wanted


def test_mean_rank_of_found_leaves_misses_out():
    assert rank_lists.mean_rank_of_found([0, 2, 4, 0], zero="not_found") == 3


def test_mean_rank_of_found_is_undefined_where_nothing_was_found():
    assert rank_lists.mean_rank_of_found([0, 0], zero="not_found") is None


def test_miss_rate_is_the_share_of_zeros():
    assert rank_lists.miss_rate([0, 2, 4, 0], zero="not_found") == 0.5


def test_miss_rate_of_an_empty_list_is_undefined():
    assert rank_lists.miss_rate([]) is None


def test_the_mean_reciprocal_rank_is_not_the_reciprocal_of_the_mean_rank():
    found = rank_lists.mean_reciprocal_rank([1, 2, 10]), rank_lists.mean_rank([1, 2, 10])
    assert found == pytest.approx((8 / 15, 13 / 3))  # 3 / 13 would be half of it


OF_LISTS = [
    rank_lists.mean_reciprocal_rank,
    rank_lists.mean_rank,
    rank_lists.mean_rank_of_found,
    rank_lists.miss_rate,
    lambda ranks, **checks: rank_lists.hits_at_k(ranks, 3, **checks),
]


@pytest.mark.parametrize("function", OF_LISTS)
def test_a_rank_of_zero_is_refused_unless_it_is_declared(function):
    with pytest.raises(InputError, match="zero-based"):
        function([0, 1, 4])


@pytest.mark.parametrize(
    "ranks", [[-1], [0.5], [float("nan")], [float("inf")], ["1"], [True], [[1]]]
)
def test_what_is_no_rank_is_refused(ranks):
    with pytest.raises(InputError, match=r"^ranks"):
        rank_lists.mean_rank(ranks, zero="not_found")


@pytest.mark.parametrize("function", OF_LISTS)
def test_a_rank_beyond_the_candidates_is_refused(function):
    assert function([1, 4, 2], n_candidates=4) == function([1, 4, 2])
    with pytest.raises(InputError, match=r"^ranks: 5 is no rank; .* 1 to 4 \(entry 2 of 3\)$"):
        function([1, 5, 2], n_candidates=4)


@pytest.mark.parametrize("ranks", [[1, "2"], [1, None], [2.0**31], [[1], [2, 3]]])
def test_ranks_of_mixed_kinds_or_beyond_any_graph_are_refused(ranks):
    with pytest.raises(InputError, match=r"^ranks"):
        rank_lists.mean_rank(ranks)


def test_only_one_meaning_of_zero_can_be_declared():
    with pytest.raises(InputError, match="not_found"):
        rank_lists.mean_rank([1], zero="worst")


@pytest.mark.parametrize("k", [0, -1, 2.5, "10 ", True])
def test_hits_of_a_list_need_a_whole_number_from_one(k):
    with pytest.raises(InputError, match=r"^k must be a whole number"):
        rank_lists.hits_at_k([1, 2], k)


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda r: np.array(r, np.float32)])
def test_the_container_of_ranks_does_not_matter(kind):
    assert rank_lists.mean_reciprocal_rank(kind([1, 2, 4])) == 1.75 / 3
