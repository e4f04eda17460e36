"""Best candidates and counts above thresholds against sorting in Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.ragged import Ragged
from clqa.ranks import rank
from clqa.top_candidates import THRESHOLDS


def tops_of(scores, answers, depth):
    offsets = np.cumsum([0, *map(len, answers)])
    ids = np.array([e for row in answers for e in sorted(row)], np.int32)
    rows = Ragged(offsets, ids)
    nothing = Ragged(np.zeros(len(offsets), np.int64), ids[:0])
    return rank(scores, nothing, [rows], depth=depth).tops


def best(row, answers, depth):
    others = [e for e in range(len(row)) if e not in answers]
    return sorted(others, key=lambda e: (-row[e], e))[:depth]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_tops_equal_a_sort_of_the_candidates(data):
    n = data.draw(st.sampled_from([1, 5, 40, 700]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    levels = data.draw(st.sampled_from([1, 3, 1000]))
    scores = (rng.integers(0, levels + 1, (3, n)) / levels).astype(np.float32)
    answers = [set(rng.choice(n, rng.integers(0, n + 1), replace=False).tolist()) for _ in scores]
    depth = data.draw(st.sampled_from([1, 4, 100]))
    tops = tops_of(scores, answers, depth)
    for q, row in enumerate(scores):
        expected = best(row.tolist(), answers[q], depth)
        assert tops.ids.row(q).tolist() == expected
        held = slice(*tops.ids.offsets[q : q + 2])
        assert tops.scores[held].tolist() == row[expected].tolist()
        others = [row[e] for e in range(n) if e not in answers[q]]
        counts = [sum(s >= t for s in others) for t in THRESHOLDS.astype(np.float32)]
        assert tops.reaching[q].tolist() == counts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_on_a_threshold_reaches_it_and_the_next_lower_one_does_not(dtype):
    grid = THRESHOLDS.astype(dtype)[None]
    assert tops_of(grid, [set()], 1).reaching[0].tolist() == list(range(101, 0, -1))
    lower = np.nextafter(grid, dtype(-1))[:, 1:]
    assert tops_of(lower, [set()], 1).reaching[0].tolist() == list(range(100, -1, -1))


@pytest.mark.parametrize("odd", [-0.1, 1.5, np.inf, -np.inf])
def test_scores_that_are_no_degrees_are_not_counted(odd):
    tops = tops_of(np.array([[0.5, odd, 0.2], [0.5, 0.1, 0.2]], np.float32), [set(), {1}], 2)
    assert (tops.reaching[0] == -1).all()
    assert tops.reaching[1, [0, 20, 50, 51]].tolist() == [2, 2, 1, 0]
    assert len(tops.ids.row(0)) == 2


def test_minus_infinity_is_a_candidate_like_any_other():
    tops = tops_of(np.full((1, 300), -np.inf, np.float32), [{0, 2}], 3)
    assert tops.ids.row(0).tolist() == [1, 3, 4]


def test_a_query_all_of_whose_entities_are_answers_has_no_candidates():
    assert tops_of(np.ones((1, 3), np.float32), [{0, 1, 2}], 5).ids.row(0).tolist() == []


@pytest.mark.parametrize("top", [0.004, 0.03, 1.0, 30.0])
def test_many_scores_are_cut_alike_wherever_they_lie(top):
    """Close to 0 no threshold tells the best apart; beyond 1 there are no thresholds."""
    drawn = np.random.default_rng(0)
    scores = (top * drawn.random((3, 5000))).astype(np.float32)
    answers = [set(drawn.choice(5000, 40, replace=False).tolist()) for _ in scores]
    tops = tops_of(scores, answers, 30)
    for query, row in enumerate(scores):
        assert tops.ids.row(query).tolist() == best(row, answers[query], 30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_of_more_entities_than_a_table_of_pairs_holds(dtype):
    n = 140_003
    drawn = np.random.default_rng(0).random(n)
    rows = 2 * [drawn, np.full(n, 0.37), np.where(drawn < 0.5, 0, 1)]
    rows, answers = np.array(rows, dtype), 2 * [{0, 5, n - 1}, set(), {7}]
    tops = tops_of(rows, answers, 10)
    for row, excluded, reaching in zip(rows, answers, tops.reaching, strict=True):
        ordered = np.sort(np.delete(row, list(excluded)))
        below = np.searchsorted(ordered, THRESHOLDS.astype(dtype), "left")
        assert reaching.tolist() == (len(ordered) - below).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minus_zero_is_a_degree(dtype):
    tops = tops_of(np.array([[-0.0, 1, 0.5, 0]], dtype), [set()], 4)
    assert tops.reaching[0, [0, 1, 50, 51, 100]].tolist() == [4, 2, 2, 1, 1]
