"""Bootstrap intervals: coverage, agreement with the definition, determinism."""

import numpy as np
import pytest

from clqa.bootstraps import bootstrap, drawn_means, percentile_interval
from clqa.errors import InputError


def test_intervals_cover_the_true_mean_at_their_level():
    """Reciprocal ranks of 200 queries, 2000 data sets: 95 % intervals cover in 93 to 97 %."""
    truth = sum(0.15 * 0.85 ** (k - 1) / (k + 1) for k in range(1, 500))
    covered = []
    for seed in range(20):
        ranks = 1 + np.random.default_rng(seed).geometric(0.15, size=(200, 100))
        found = percentile_interval(drawn_means(1 / ranks, ("coverage", seed), 1000))
        covered.append((found.lower <= truth) & (truth <= found.upper))
    assert 0.93 <= np.mean(covered) <= 0.97


def test_a_macro_average_has_the_interval_of_its_own_draws():
    """Coverage of the mean over two shapes of unequal size; pooling queries would miss it."""
    rng = np.random.default_rng(3)
    covered, widths = [], []
    for seed in range(10):
        small, large = rng.normal(0.2, 0.1, (60, 100)), rng.normal(0.6, 0.2, (300, 100))
        shapes, groups = {"2p": small, "2i": large}, {"EPFO": ["2p", "2i"]}
        macro = bootstrap(shapes, groups, ("macro", seed), 1000)["EPFO"]
        covered.append((macro.lower <= 0.4) & (macro.upper >= 0.4))
        widths.append(macro.upper - macro.lower)
    assert 0.93 <= np.mean(covered) <= 0.97
    expected = 2 * 1.96 * np.sqrt((0.1**2 / 60 + 0.2**2 / 300) / 4)
    assert np.mean(widths) == pytest.approx(expected, rel=0.05)


def test_drawn_means_have_the_mean_and_spread_of_the_definition():
    values = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    means = drawn_means(values, ("moments",), 20_000)
    assert means.mean() == pytest.approx(0.6, abs=0.01)
    assert means.var() == pytest.approx(0.6 * 0.4 / 5, rel=0.05)
    assert set(np.unique(np.round(means * 5, 9))) == {0, 1, 2, 3, 4, 5}


def test_scores_of_a_query_are_drawn_together():
    values = np.random.default_rng(0).random((30, 1))
    means = drawn_means(np.hstack([values, 2 * values, 1 - values]), ("together",), 50)
    assert means[:, 1] == pytest.approx(2 * means[:, 0])
    assert means[:, 2] == pytest.approx(1 - means[:, 0])


def test_one_seed_gives_one_interval_and_another_seed_another():
    values = np.random.default_rng(1).random((40, 2))
    first, again, other = (drawn_means(values, (seed, "q"), 100) for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_values_that_do_not_vary_have_no_width():
    found = bootstrap({"1p": np.full((9, 1), 0.25)}, {}, ("flat",), 10)
    assert found["1p"].lower == found["1p"].upper == [0.25]


def test_a_group_with_a_missing_shape_has_no_interval():
    found = bootstrap({"1p": np.ones((2, 1))}, {"EPFO": ["1p", "2p"], "none": []}, (), 10)
    assert found.keys() == {"1p"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: drawn_means(np.zeros((0, 1)), ()), "queries by scores"),
        (lambda: drawn_means(np.array([[np.nan]]), ()), "without a value"),
        (lambda: drawn_means(np.zeros((1, 1)), (), 0), "draws must be"),
        (lambda: percentile_interval(np.zeros((5, 1)), 95), "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
