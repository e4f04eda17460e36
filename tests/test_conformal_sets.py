"""Conformal answer sets: quantile, sets, coverage."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clqa.conformal_sets import (
    answer_degrees,
    calibrated,
    calibrated_by_shape,
    check_degrees,
    coverages,
    pooled_candidates,
    thresholds_of,
)
from clqa.errors import InputError
from clqa.predicted_sets import sets_reaching
from clqa.ragged import ragged
from clqa.tops import listed_sets_reaching, tops_of

DEGREES = [0.9, 0.8, 0.7, 0.6]


def rows(sets):
    return [set(sets.row(i).tolist()) for i in range(len(sets.offsets) - 1)]


@pytest.mark.parametrize(("alpha", "quantile"), [(0.25, 0.4), (0.5, 0.3), (0.01, math.inf)])
def test_the_quantile_of_four_scores(alpha, quantile):
    assert calibrated(DEGREES, alpha).quantile == pytest.approx(quantile)


def test_too_small_a_calibration_takes_the_whole_vocabulary():
    found = calibrated(DEGREES, 0.01)
    assert (found.threshold, found.n, found.place) == (-math.inf, 4, 5)
    sets = sets_reaching(np.array([[0.0, 0.3, 1.0]]), found.threshold)
    assert rows(sets) == [{0, 1, 2}]


@pytest.mark.parametrize(("n", "alpha", "place"), [(9, 0.7, 3), (9, 0.1, 9), (19, 0.05, 19)])
def test_a_level_counts_by_its_decimal_digits(n, alpha, place):
    assert calibrated(np.linspace(0, 1, n), alpha).place == place


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 99))
def test_the_quantile_follows_its_convention(degrees, percent):
    found = calibrated(degrees, percent / 100)
    scores = sorted(1 - Fraction(degree) for degree in degrees)
    place = math.ceil((len(scores) + 1) * (1 - Fraction(percent, 100)))
    if place > len(scores):
        assert found.quantile == math.inf
    else:
        assert 1 - Fraction(found.threshold) == scores[place - 1]


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(1, 99), st.integers(1, 99))
def test_a_larger_promise_gives_no_smaller_set(degrees, one, other):
    low, high = sorted((one, other))
    assert calibrated(degrees, low / 100).threshold <= calibrated(degrees, high / 100).threshold


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(1, 99))
def test_the_sets_keep_the_promise_on_the_calibration_itself(degrees, percent):
    found = calibrated(degrees, percent / 100)
    kept = sum(degree >= found.threshold for degree in degrees)
    assert Fraction(kept, len(degrees)) >= 1 - Fraction(percent, 100)


def test_an_entity_at_the_threshold_is_in_whatever_rounding_does():
    degrees = np.nextafter(np.linspace(0.1, 0.9, 9), 1).astype(np.float32)
    for alpha in (0.1, 0.2, 0.5, 0.9):
        found = calibrated(degrees, alpha)
        assert found.threshold in degrees.astype(float)
        assert sets_reaching(degrees[None], found.threshold).lengths()[0] == found.place


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, float("nan"), True, "0.1", None])
def test_a_level_lies_between_zero_and_one(alpha):
    with pytest.raises(InputError, match="alpha must be a number between 0 and 1"):
        calibrated(DEGREES, alpha)


def test_an_empty_calibration_is_refused_by_shape():
    with pytest.raises(InputError, match="no true answers"):
        calibrated([], 0.1)
    with pytest.raises(InputError, match=r"^shape 2p: calibration: no true answers"):
        calibrated_by_shape(np.array([0.5]), np.array([0, 1, 1]), ["1p", "2p"], 0.1)


def test_every_shape_has_its_calibration():
    offsets, shapes = np.array([0, 2, 3, 5]), ["1p", "2p", "1p"]
    degrees = np.array([0.9, 0.8, 0.1, 0.7, 0.6])
    found = calibrated_by_shape(degrees, offsets, shapes, 0.5)
    assert found == {"1p": calibrated(DEGREES, 0.5), "2p": calibrated([0.1], 0.5)}
    assert thresholds_of(found, ["2p", "1p"]).tolist() == [0.1, 0.7]


def test_a_query_can_be_calibrated_by_its_worst_answer():
    offsets, shapes = np.array([0, 2, 2, 3, 5]), ["1p"] * 4
    degrees = np.array([0.9, 0.8, 0.1, 0.6, 0.7])
    found = calibrated_by_shape(degrees, offsets, shapes, 0.5, unit="query")
    assert found == {"1p": calibrated([0.8, 0.1, 0.6], 0.5)}


def test_an_unknown_unit_is_refused_with_those_that_are_known():
    with pytest.raises(InputError, match="known are answer, query"):
        calibrated_by_shape(np.array([0.5]), np.array([0, 1]), ["1p"], 0.1, unit="entity")


def test_a_shape_that_was_not_calibrated_is_refused():
    with pytest.raises(InputError, match="shape 3p: not calibrated"):
        thresholds_of({"1p": calibrated(DEGREES, 0.5)}, ["1p", "3p"])


def test_the_degrees_of_the_true_answers():
    scores = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    found = answer_degrees(scores, ragged([{0, 2}, {1}]), "m")
    assert found.tolist() == [0.1, 0.3, 0.5]


@pytest.mark.parametrize("scores", [[[0.5, 1.5]], [[-0.1, 0.5]], [[0.5, math.inf]]])
def test_scores_that_are_no_degrees_are_refused_unless_asked_for(scores):
    scores = np.array(scores)
    with pytest.raises(InputError, match=r"^model transe: .* are no degrees in \[0, 1\]"):
        answer_degrees(scores, ragged([{0}]), "transe")
    assert answer_degrees(scores, ragged([{0}]), "transe", any_scale=True) == scores[0, 0]


def test_a_degree_that_is_nan_is_refused_on_any_scale():
    with pytest.raises(InputError, match=r"^model m: a score is NaN"):
        check_degrees(np.array([[0.5, np.nan]]), "m", any_scale=True)


def test_an_answer_outside_of_the_entities_is_refused():
    with pytest.raises(InputError, match="outside of the 2 entities"):
        answer_degrees(np.zeros((1, 2)), ragged([{2}]), "m")


def test_only_the_order_of_scores_matters_on_any_scale():
    scores = np.random.default_rng(0).normal(size=200)
    for monotone in (lambda s: 1e9 * s, np.exp, lambda s: s / 1e9):
        one, other = calibrated(scores, 0.2), calibrated(monotone(scores), 0.2)
        assert ((scores >= one.threshold) == (monotone(scores) >= other.threshold)).all()


def test_candidates_of_several_sources_keep_their_largest_degree():
    found = pooled_candidates([3, 1, 3, 2], [0.2, 0.5, 0.5, 0.1])
    assert found == [(1, 0.5), (3, 0.5), (2, 0.1)]


def test_coverage_stands_beside_the_level_for_each_shape():
    truth = ragged([{0, 1}, {2}, set(), {0}])
    sets = ragged([{0, 3}, {2}, {1, 2}, {0, 1, 2, 3}])
    shapes = ["1p", "1p", "1p", "2p"]
    calibrations = {"1p": calibrated([0.5], 0.5), "2p": calibrated([0.5], 0.2)}
    found = coverages(sets, truth, shapes, calibrations, 0.2)
    assert found["1p"] == (0.8, 2 / 3, 0.5, 5 / 3, 3, 3, False)
    assert found["2p"] == (0.8, 1, 1, 4, 1, 1, True)


def test_coverage_of_no_answers_is_undefined():
    found = coverages(ragged([{1}]), ragged([set()]), ["1p"], {"1p": calibrated([0.5], 0.5)}, 0.5)
    assert found["1p"] == (0.5, None, None, 1, 1, 0, False)


def test_lists_that_are_cut_do_not_pass_for_the_whole_vocabulary():
    tops = tops_of(np.array([[0.9, 0.5, 0.1]]), 2)
    with pytest.raises(InputError, match=r"ends at the score 0\.5, not below the threshold -inf"):
        listed_sets_reaching(tops, calibrated([0.5], 0.1).threshold)


@pytest.mark.parametrize("alpha", [0.2, 0.5])
@pytest.mark.parametrize("levels", [None, 5])
def test_coverage_is_at_least_the_promise(alpha, levels):
    """On exchangeable degrees it is (in the mean) place / (m + 1), and more where degrees tie."""
    random, m, trials = np.random.default_rng(7), 80, 5000
    degrees = random.random((trials, m + 1))
    if levels:
        degrees = np.round(degrees * levels) / levels
    thresholds = np.array([calibrated(row[:m], alpha).threshold for row in degrees])
    covered = (degrees[:, m] >= thresholds).mean()
    assert covered >= 1 - alpha - 0.02
    if not levels:
        place = math.ceil((m + 1) * (1 - alpha))
        assert covered == pytest.approx(place / (m + 1), abs=0.02)


def test_sets_of_a_model_cover_queries_as_promised():
    """From dense scores to coverage, with shapes of different difficulty."""
    random, n, n_entities, alpha = np.random.default_rng(3), 2000, 30, 0.1
    shapes = np.array(["easy", "hard"] * n, dtype=object)
    truth = ragged([random.choice(n_entities, random.integers(1, 5), False) for _ in shapes])
    noise = np.where(shapes == "easy", 0.2, 0.6)[:, None]
    scores = random.random((2 * n, n_entities)) * noise
    lengths = truth.lengths()
    owners = np.repeat(np.arange(2 * n), lengths)
    scores[owners, truth.values] += 0.4 * random.random(2 * n)[owners]
    valid, test = slice(0, n), slice(n, 2 * n)
    halves = [ragged([truth.row(i) for i in range(2 * n)[half]]) for half in (valid, test)]
    for unit in ("answer", "query"):
        calibrations = calibrated_by_shape(
            answer_degrees(scores[valid], halves[0], "m"),
            halves[0].offsets,
            shapes[valid],
            alpha,
            unit,
        )
        sets = sets_reaching(scores[test], thresholds_of(calibrations, shapes[test]))
        found = coverages(sets, halves[1], shapes[test], calibrations, alpha)
        for line in found.values():
            share = line.answers if unit == "answer" else line.queries
            assert 1 - alpha - 0.03 <= share <= 1 - alpha + 0.03
            assert line.mean_size < n_entities
        assert calibrations["easy"].threshold != calibrations["hard"].threshold
