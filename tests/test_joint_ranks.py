"""Joint ranks: the published examples, then real orders of all entities on small cases."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_tuples as reference
from clqa import joint_ranks
from clqa.errors import InputError
from clqa.joint_ranks import POLICIES, Standing, joint_places, places_of_ranks

# domain E8.9: entities by rank, for each of two variables.
ORDERS = ([3, 0, 1, 5, 2, 4], [0, 4, 2, 1, 3, 5])
SCORES = np.array([[-order.index(e) for e in range(6)] for order in ORDERS], np.float32)


def ranked(scores, hard, known, ties="by-id", exact=False):
    """Joint ranks of the hard tuples of one query."""
    scores = np.asarray(scores)
    k, n = scores.shape
    better = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    same = scores[:, None, :] == scores[:, :, None]
    lower = np.array([[same[j, e, :e].sum() for e in range(n)] for j in range(k)])
    columns = (np.tile(np.arange(n), k), better, same.sum(axis=2) - 1, lower, np.full((k, n), n))
    standing = Standing(*(np.asarray(column).ravel() for column in columns))
    hard, known = (
        (np.array([0, len(rows)]), np.array(rows, np.int64).reshape(-1, k) + n * np.arange(k))
        for rows in (hard, known)
    )
    return joint_places(standing, hard, known, ties).joint_ranks(exact).tolist()


def test_the_published_example_of_a_pairing():
    hard, easy = [(1, 2), (0, 2)], [(0, 4)]
    found = ranked(SCORES, hard, easy + hard)
    assert found == [11, 7]
    assert np.mean(1 / np.array(found)) == pytest.approx(0.116883, abs=5e-7)


def test_the_published_example_of_a_far_tuple():
    hard, easy = [(1, 2), (2, 1)], [(0, 4)]
    found = ranked(SCORES, hard, easy + hard)
    assert found == [12, 31]
    assert np.mean(1 / np.array(found)) == pytest.approx(0.0577957, abs=5e-8)


def test_places_are_exact_where_float32_rounds_them():
    assert places_of_ranks(np.array([[10_000, 10_001]])).tolist() == [20_001 * 20_002 // 2 + 10_000]


def test_places_of_three_ranks_are_exact_beyond_float64():
    ranks, total = [[200_001, 300_000, 400_000]], 900_001
    place = total * (total + 1) * (total + 2) // 6
    place += sum(total - first + 1 for first in range(200_001)) + 300_000
    assert place > 2**53
    assert places_of_ranks(np.array(ranks)).tolist() == [place]


def test_places_of_three_ranks_of_a_huge_graph_do_not_overflow():
    total = 3 * 86_000_000
    found = places_of_ranks(np.full((1, 3), 86_000_000))
    assert found[0] == pytest.approx(total**3 / 6, rel=1e-7)


@given(st.integers(1, 3).flatmap(lambda k: st.lists(st.integers(0, 6), min_size=k, max_size=k)))
def test_places_are_those_of_a_list(ranks):
    assert places_of_ranks(np.array([ranks])).tolist() == [reference.pairing_place(ranks)]


@pytest.mark.parametrize(("k", "n"), [(1, 5), (2, 1), (2, 4), (3, 1), (3, 4)])
def test_exact_places_number_all_rows_of_the_grid(k, n):
    rows = sorted(itertools.product(range(n), repeat=k), key=lambda row: (sum(row), row))
    found = places_of_ranks(np.array(rows), np.full(len(rows), n))
    assert found.tolist() == list(range(n**k))


@st.composite
def cases(draw, n=4):
    """Scores of one query that tie often, hard and easy tuples."""
    k = draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    scores = np.array(draw(st.lists(row, min_size=k, max_size=k)), np.float32)
    one = st.tuples(*[st.integers(0, n - 1)] * k)
    every = draw(st.lists(one, min_size=1, max_size=9, unique=True))
    return scores, sorted(every[: len(every) // 2 + 1]), sorted(every[len(every) // 2 + 1 :])


@given(cases(), st.sampled_from(POLICIES), st.booleans(), st.booleans(), st.booleans())
def test_joint_ranks_are_those_in_a_real_order(case, ties, exact, filtered, is_huge):
    """Those of a huge graph, whose places no whole number holds, are found in another way."""
    scores, hard, easy = case
    known = sorted({*hard, *easy}) if filtered else []
    wanted = [reference.joint_rank(scores, one, known, ties, exact) for one in hard]
    with mock.patch.object(joint_ranks, "_SAFE", 0 if is_huge else joint_ranks._SAFE):
        assert ranked(scores, hard, known, ties, exact) == wanted


@given(cases(), st.booleans())
def test_orders_of_ties_lie_between_the_ends(case, exact):
    scores, hard, _ = case
    low, high, middle = (
        ranked(scores, hard, [], ties, exact) for ties in ("optimistic", "pessimistic", "by-id")
    )
    assert all(a <= m <= b for a, m, b in zip(low, middle, high, strict=True))


@given(cases(), st.sampled_from(POLICIES))
def test_exact_ranks_start_at_1_and_are_no_worse_than_estimated_ones(case, ties):
    scores, hard, easy = case
    known = sorted({*hard, *easy})
    exact, estimate = (ranked(scores, hard, known, ties, exact) for exact in (True, False))
    assert all(1 <= a <= b for a, b in zip(exact, estimate, strict=True))
    assert max(exact) <= scores.shape[1] ** len(scores)


@pytest.mark.parametrize(
    ("answers", "best"),
    [
        ([(2, 1)], [1]),
        ([(0, 1), (2, 3)], [1, 4]),
        ([(0, 1), (0, 3)], [1, 1]),
        ([(0, 1), (2, 1)], [1, 2]),
    ],
)
def test_the_best_ranks_that_any_order_gives(answers, best):
    orders = list(itertools.permutations(range(4)))
    found = []
    for pair in itertools.product(orders, repeat=2):
        scores = np.array([[-order.index(e) for e in range(4)] for order in pair], np.float32)
        found.append(sorted(ranked(scores, answers, answers)))
    assert min(found, key=lambda ranks: -sum(1 / r for r in ranks)) == best


def test_the_mean_rank_of_ties_is_no_place_in_a_list():
    with pytest.raises(InputError, match="no realistic order"):
        ranked(SCORES, [(0, 1)], [], "realistic")
