"""The order of a few hundred scores against Python's own stable sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.sorted_scores import descending


@settings(max_examples=200, deadline=None)
@given(st.data())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_come_first_and_equal_scores_keep_their_order(dtype, data):
    n = data.draw(st.sampled_from([0, 1, 2, 16, 17, 100, 400]))
    drawn = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scores = drawn.integers(0, data.draw(st.sampled_from([1, 7, 10**6])), n).astype(dtype)
    scores *= dtype(data.draw(st.sampled_from([1, 1e-38, 1e30, -0.0])))
    if n:
        odd = data.draw(st.lists(st.sampled_from([np.inf, -np.inf, 0.0, -0.0, 1e38]), max_size=3))
        scores[drawn.integers(0, n, len(odd))] = odd
    expected = sorted(range(n), key=lambda place: -scores[place])
    assert descending(scores).tolist() == expected


def test_nearly_all_in_one_place_are_in_order_too():
    scores = np.append(np.linspace(0.1, 0.1001, 300, dtype=np.float32), np.float32(1))
    assert descending(scores).tolist() == list(range(300, -1, -1))
