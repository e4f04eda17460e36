"""Metrics of rankings with ties, from lists and from counts per hard answer."""

import decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_ranks
import reference_retrieval as reference
from clqa.errors import InputError
from clqa.metrics import METRICS, metric
from clqa.retrieval import (
    VALUES,
    first_hit_ranks,
    hit_rate,
    ndcg,
    precision,
    query_metric,
    query_values,
    recall,
    reciprocal_first_hits,
    retrieval_accuracy,
)
from clqa.tie_blocks import Blocks, blocks_of_counts, blocks_of_lists
from clqa.ties import POLICIES

DEPTHS = (1, 3)
NAMES = [
    name.replace("@K", f"@{k}")
    for name in METRICS
    for k in (DEPTHS if "@" in name else [0])
    if name.partition("@")[0] in VALUES
]
CASES = [(name, ties) for name in NAMES for ties in metric(name).policies]

# A query: scores of its candidates, and which of them are hard answers.
queries = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


def counts(scored):
    """Greater and tied of each relevant item among the irrelevant ones."""
    scores = [score for score, _ in scored]
    hard = {place for place, (_, flag) in enumerate(scored) if flag}
    found = [reference_ranks.competitors(scores, hard - {t}, t)[:2] for t in sorted(hard)]
    return np.array(found, np.int32).reshape(-1, 2).T


def blocks_of(*rankings):
    """Blocks of queries, each from its counts."""
    found = [counts(scored) for scored in rankings]
    offsets = np.cumsum([0, *(one.shape[1] for one in found)])
    return blocks_of_counts(offsets, *np.concatenate(found, axis=1))


def listed(scored):
    """Blocks of one query, from its list with scores."""
    scored = sorted(scored, key=lambda pair: -pair[0])
    scores, flags = np.array(scored).T
    joined = np.concatenate([[False], scores[1:] == scores[:-1]])
    offsets = np.array([0, len(scored)])
    return blocks_of_lists(offsets, flags.astype(bool), joined, np.array([flags.sum()]))


def value(name, blocks, ties):
    return float(query_metric(name)(blocks, ties)[0])


# Against all orders of the ties.


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(scored=queries)
def test_every_metric_equals_its_worst_best_and_mean_value_over_all_orders(name, scored):
    family, _, depth = name.partition("@")
    n_expected = sum(flag for _, flag in scored)
    wanted = reference.values(family, scored, n_expected, int(depth or len(scored)))
    for ties, exact in wanted.items():
        for blocks in (blocks_of(scored), listed(scored)):
            assert value(name, blocks, ties) == pytest.approx(float(exact), rel=1e-13, abs=1e-15)


@settings(max_examples=100, deadline=None)
@given(scored=queries)
def test_counts_and_lists_make_the_same_blocks(scored):
    of_counts, of_lists = blocks_of(scored), listed(scored)
    for one, other in zip(of_counts, of_lists, strict=True):
        assert one.tolist() == other.tolist()


@settings(max_examples=100, deadline=None)
@given(scored=queries)
def test_counts_tell_which_answers_tie_and_which_is_ahead(scored):
    pairs = counts(scored).T.tolist()
    scores = [score for score, flag in scored if flag]
    for one, pair in zip(scores, pairs, strict=True):
        for other, another in zip(scores, pairs, strict=True):
            if pair == another and pair[1] > 0:
                assert one == other
            if pair < another:
                assert one > other
            if one == other:
                assert pair == another


def test_the_realistic_rank_of_the_first_hit_is_the_mean_of_the_other_two():
    blocks = listed([(3, False), (2, True), (2, True), (2, False), (2, False)])
    ranks = [first_hit_ranks(blocks, t)[0] for t in ("optimistic", "realistic", "pessimistic")]
    assert ranks == [2, 3, 4]
    assert reciprocal_first_hits(blocks, "realistic")[0] == 1 / 3
    assert [hit_rate(blocks, "realistic", k)[0] for k in (2, 3)] == [0, 1]


@pytest.mark.parametrize(
    ("before", "size", "relevant"),
    [
        *((0, 14505, r) for r in (1, 2, 5, 50, 100, 900, 5000, 14505)),
        *((7, 3000, r) for r in (2, 100, 131, 1000)),
        *((400, 5000, r) for r in (2, 10, 12, 13, 700)),
        *((9000, 500, r) for r in (2, 3, 40, 499)),
        (0, 2, 2),
        (3, 17, 1),
    ],
)
@pytest.mark.parametrize("k", [None, 1, 10, 450])
def test_the_expected_reciprocal_of_a_long_tie_is_exact(before, size, relevant, k):
    # The first of r among m is item j with the probability C(m - j, r - 1) / C(m, r).
    fields = ([0, 1], [before], [size], [relevant], [relevant])
    found = reciprocal_first_hits(Blocks(*map(np.array, fields)), "expected", k)[0]
    last = size - relevant + 1
    with decimal.localcontext(prec=50):
        chance, exact = decimal.Decimal(relevant) / size, decimal.Decimal(0)
        for item in range(1, last + 1 if k is None else min(last, k - before) + 1):
            exact += chance / (before + item)
            chance = chance * (last - item) / (size - item) if item < size else 0
    assert found == pytest.approx(float(exact), rel=1e-14)


def test_the_expected_reciprocal_of_a_huge_tie_of_two_answers():
    # With b = 0: E = 2 ((m H_m / m - 1)) / (m - 1), since E_1 = H_m / m.
    n = 86_000_000
    blocks = blocks_of_counts([0, 2], [0, 0], [n - 2, n - 2])
    harmonic = np.log(n) + np.euler_gamma + 1 / (2 * n)
    assert reciprocal_first_hits(blocks, "expected")[0] == pytest.approx(
        2 * (harmonic - 1) / (n - 1), rel=1e-14
    )


# Worked examples.


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic", "expected"])
def test_an_answer_behind_one_better_candidate(ties):
    # Scores .9 (easy), .5 (hard), .1, .2, .7: the hard answer has the rank 2.
    blocks = blocks_of_counts([0, 1], [1], [0])
    assert [value(f"recall@{k}", blocks, ties) for k in (1, 3, 10)] == [0, 1, 1]
    assert value("first_hit_mrr", blocks, ties) == 0.5


@pytest.mark.parametrize(
    ("ties", "mrr", "first", "third"),
    [("optimistic", 1, 1, 1), ("pessimistic", 1 / 3, 0, 1), ("expected", 0.611111, 1 / 3, 1)],
)
def test_one_answer_among_three_of_the_same_score(ties, mrr, first, third):
    blocks = blocks_of_counts([0, 1], [0], [2])
    assert value("first_hit_mrr", blocks, ties) == pytest.approx(mrr, abs=5e-7)
    assert value("hit_rate@1", blocks, ties) == pytest.approx(first)
    assert value("precision@3", blocks, ties) == pytest.approx(third / 3)


def test_two_answers_that_tie_with_each_other_and_a_candidate():
    # Scores .9, .5, .5, .5, .1 with the hard answers 1 and 2: each has one better and one tied.
    blocks = blocks_of_counts([0, 2], [1, 1], [1, 1])
    ties = ("optimistic", "expected", "pessimistic")
    assert [value("precision@2", blocks, t) for t in ties] == pytest.approx([1 / 2, 1 / 3, 0])
    assert [value("precision@3", blocks, t) for t in ties] == pytest.approx([2 / 3, 4 / 9, 1 / 3])
    # The first hit is at place 2 in two of three orders, else at place 3.
    wanted = [1 / 2, (1 / 2 * 2 + 1 / 3) / 3, 1 / 3]
    assert [value("first_hit_mrr", blocks, t) for t in ties] == pytest.approx(wanted)


def test_constant_scores_of_a_hundred_entities():
    blocks = blocks_of_counts([0, 1], [0], [99])
    found = [value(f"hit_rate@{k}", blocks, "expected") for k in (1, 3, 10)]
    assert found == pytest.approx([0.01, 0.03, 0.1])
    assert value("first_hit_mrr", blocks, "expected") == pytest.approx(0.0518738, abs=5e-8)
    assert value("first_hit_mrr", blocks, "pessimistic") == 0.01


def test_two_answers_under_constant_scores_of_four_entities():
    # The first of two among four is at places 1, 2, 3 in 3, 2, 1 of 6 choices.
    blocks = blocks_of_counts([0, 2], [0, 0], [2, 2])
    assert value("first_hit_mrr", blocks, "expected") == pytest.approx((3 + 2 / 2 + 1 / 3) / 6)
    assert value("hit_rate@1", blocks, "expected") == pytest.approx(1 / 2)
    assert value("hit_rate@2", blocks, "expected") == pytest.approx(5 / 6)


def test_retrieval_accuracy_looks_at_as_many_places_as_there_are_answers():
    # Places 1, 2 and 4 are hard answers; of the first three places two are.
    blocks = blocks_of_counts([0, 3], [0, 0, 1], [0, 0, 0])
    assert retrieval_accuracy(blocks, "pessimistic").tolist() == pytest.approx([2 / 3])


def test_retrieval_accuracy_under_ties():
    # One answer ahead; the other ties with two candidates for places 2, 3 and 4.
    blocks = blocks_of_counts([0, 2], [0, 0], [0, 2])
    ties = ("optimistic", "expected", "pessimistic")
    found = [float(retrieval_accuracy(blocks, t)[0]) for t in ties]
    assert found == pytest.approx([1, (1 + 1 / 3) / 2, 1 / 2])


def test_answers_left_out_are_in_no_ranking():
    # With answers at places 1 and 3, the second alone would stand at place 2.
    whole = blocks_of_counts([0, 2], [0, 1], [0, 0])
    part = blocks_of_counts([0, 1], [1], [0])
    assert reciprocal_first_hits(whole, "pessimistic").tolist() == [1]
    assert recall(whole, "pessimistic", 2).tolist() == [0.5]
    assert reciprocal_first_hits(part, "pessimistic").tolist() == [0.5]
    assert recall(part, "pessimistic", 2).tolist() == [1]


def test_a_query_without_answers_has_no_value_to_average():
    blocks = blocks_of_counts([0, 1, 1], [1], [0])
    found = query_values("first_hit_mrr", blocks, "pessimistic")
    assert np.array_equal(found, [0.5, np.nan], equal_nan=True)


def test_a_single_candidate_that_is_the_answer():
    blocks = blocks_of_counts([0, 1], [0], [0])
    assert {value(name, blocks, ties) for name, ties in CASES if "precision" not in name} == {1.0}


# Properties of everything that is registered.


@pytest.mark.parametrize(("name", "ties"), CASES)
@settings(max_examples=20, deadline=None)
@given(scored=queries)
def test_every_metric_stays_between_0_and_1(name, ties, scored):
    assert 0 <= value(name, blocks_of(scored), ties) <= 1


@pytest.mark.parametrize(("name", "ties"), CASES)
@pytest.mark.parametrize("n_hard", [1, 2, 3, 7, 30])
def test_every_metric_is_best_where_all_answers_are_ahead(name, ties, n_hard):
    blocks = blocks_of_counts([0, n_hard], [0] * n_hard, [0] * n_hard)
    k = int(name.partition("@")[2] or n_hard)
    best = {"precision": min(n_hard, k) / k, "recall": min(n_hard, k) / n_hard}
    assert value(name, blocks, ties) == best.get(name.partition("@")[0], 1.0)


@pytest.mark.parametrize(("name", "ties"), CASES)
@settings(max_examples=20, deadline=None)
@given(scored=queries, place=st.integers(0, 5))
def test_no_metric_falls_when_an_answer_scores_higher(name, ties, scored, place):
    place %= len(scored)
    raised = list(scored)
    raised[place] = (scored[place][0] + scored[place][1], scored[place][1])
    before, after = value(name, blocks_of(scored), ties), value(name, blocks_of(raised), ties)
    assert after >= before - 1e-12


@pytest.mark.parametrize(("name", "ties"), CASES)
@settings(max_examples=15, deadline=None)
@given(batch=st.lists(queries, max_size=5), seed=st.integers(0, 99))
def test_every_metric_of_a_query_depends_on_that_query_alone(name, ties, batch, seed):
    metric_of = query_metric(name)
    alone = [float(metric_of(blocks_of(scored), ties)[0]) for scored in batch]
    random = np.random.default_rng(seed)
    shuffled = [[scored[i] for i in random.permutation(len(scored))] for scored in batch]
    together = metric_of(blocks_of(*shuffled), ties) if batch else np.empty(0)
    assert together.tolist() == alone


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(scored=queries)
def test_every_metric_keeps_the_order_of_the_policies(name, scored):
    blocks = blocks_of(scored)
    worst, mean, best = (value(name, blocks, t) for t in ("pessimistic", "expected", "optimistic"))
    assert worst - 1e-12 <= mean <= best + 1e-12


@pytest.mark.parametrize("ties", POLICIES)
@settings(max_examples=40, deadline=None)
@given(greater=st.integers(0, 300), tied=st.integers(0, 300), k=st.integers(1, 400))
def test_with_one_answer_the_first_hit_is_that_answer(ties, greater, tied, k):
    blocks = blocks_of_counts([0, 1], [greater], [tied])
    pair = np.array([greater]), np.array([tied])
    wanted = [metric(one).values(*pair, ties)[0] for one in ("mrr", f"hits@{k}")]
    found = [value("first_hit_mrr", blocks, ties), value(f"hit_rate@{k}", blocks, ties)]
    assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(("name", "ties"), CASES)
def test_a_query_without_answers_has_0_and_leaves_its_neighbours_alone(name, ties):
    blocks = blocks_of_counts([0, 1, 1, 2], [0, 0], [0, 0])
    first, empty, last = query_metric(name)(blocks, ties)
    assert empty == 0
    assert first == last > 0


@pytest.mark.parametrize(("name", "ties"), CASES)
def test_no_queries_have_no_values(name, ties):
    assert query_metric(name)(blocks_of_counts([0], [], []), ties).tolist() == []


def test_a_cut_off_beyond_every_list_is_the_whole_list():
    blocks = listed([(3, False), (2, True), (1, True)])
    for name in ("recall", "ndcg", "hit_rate", "first_hit_mrr"):
        whole = {"recall": recall, "ndcg": ndcg, "hit_rate": hit_rate}
        of_lists = whole.get(name, reciprocal_first_hits)(blocks, "pessimistic")
        assert value(f"{name}@{2**31 - 1}", blocks, "pessimistic") == of_lists[0]
    assert precision(blocks, "pessimistic", 10**6)[0] == 2e-6


# What is refused.


@pytest.mark.parametrize("name", ["precision@3", "recall@3", "ndcg@3", "retrieval_accuracy"])
def test_realistic_ties_are_refused_where_they_have_no_meaning(name):
    with pytest.raises(InputError, match="no realistic value; it has pessimistic, optimistic, exp"):
        value(name, blocks_of_counts([0, 1], [0], [0]), "realistic")


def test_the_first_hit_has_no_expected_rank():
    with pytest.raises(InputError, match="no expected value"):
        first_hit_ranks(blocks_of_counts([0, 1], [0], [0]), "expected")


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_tie_policy_is_refused(name):
    with pytest.raises(InputError, match="no policy 'rounded'"):
        value(name, blocks_of_counts([0, 1], [0], [0]), "rounded")


@pytest.mark.parametrize("name", ["mrr", "precision", "ndcg@", "ndcg@0", "ndcg@2.5", "ndcg@True"])
def test_an_unknown_metric_or_cut_off_is_refused(name):
    with pytest.raises(InputError, match=r"^metrics: "):
        query_metric(name)


@pytest.mark.parametrize("k", [0, -1, 2.5, "10 ", True])
def test_a_cut_off_must_be_a_whole_number_from_one(k):
    with pytest.raises(InputError, match=r"^k must be a whole number from 1"):
        precision(blocks_of_counts([0, 1], [0], [0]), "pessimistic", k)


@pytest.mark.parametrize(
    ("greater", "tied", "message"),
    [
        ([0, 1], [2, 0], "contradict"),  # one stands inside the tie of the other
        ([1, 1], [2, 3], "contradict"),  # one score, two numbers of ties
        ([0, -1], [0, 0], "negative"),
        ([0, 2**31], [0, 0], "below"),
        ([0], [0, 0], "offsets end at 2"),
    ],
)
def test_counts_that_cannot_be_are_refused(greater, tied, message):
    with pytest.raises(InputError, match=message):
        blocks_of_counts([0, 2], greater, tied)
