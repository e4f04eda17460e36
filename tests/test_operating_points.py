"""Break-even odds, bands below a threshold, and the choice of the threshold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_sets as reference
from clqa.errors import InputError
from clqa.operating_points import (
    CHOICES,
    ScoredPairs,
    break_even,
    chosen_threshold,
    marginal_bands,
    pooled_f_beta,
    threshold_curve,
)

BETAS = (0.5, 1.0, 2.0)
LEVELS = [0.1, 0.2, 0.3, 0.4]


@pytest.mark.parametrize(
    ("true", "right", "predicted", "odds"),
    [
        (4, 3, 3, 3),
        (10, 9, 9, 3.6),
        (100, 99, 99, 3.96),
        (4, 2, 2, 2),
        (8, 7, 8, 2.3333),
        (68983 / 20000, 66009 / 20000, 66324 / 20000, 3.758894),
        (68983, 66009, 66324, 3.758894),
    ],
)
def test_break_even_odds(true, right, predicted, odds):
    assert break_even(right, predicted, true).odds == pytest.approx(odds, abs=5e-5)


def test_the_break_even_probability_of_the_shipped_point():
    found = break_even(66009, 66324, 68983)
    pooled = float(pooled_f_beta(66009, 66324, 68983)[0])
    assert found.precision == pytest.approx(0.79, abs=5e-4)
    assert found.precision == pytest.approx(pooled / 1.25, rel=1e-14)


@pytest.mark.parametrize("beta", BETAS)
def test_break_even_odds_of_a_perfect_prediction(beta):
    assert break_even(7, 7, 7, beta).odds == pytest.approx(1 / beta**2)


def test_break_even_is_undefined_without_true_answers():
    assert break_even(0, 0, 0) == break_even(0, 5, 0) == (None, None)


@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 30),
    st.sampled_from(BETAS),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_predictions_pay_exactly_above_the_break_even_odds(right, wrong, missed, beta, good, bad):
    good = min(good, missed)
    found = break_even(right, right + wrong, right + missed, beta)
    before, after = (
        reference.pooled(
            [{("right", i) for i in range(r)} | {("wrong", i) for i in range(w)}],
            [{("right", i) for i in range(right + missed)}],
            beta,
        )
        for r, w in ((right, wrong), (right + good, wrong + bad))
    )
    # Exactly in quarters and fourfold, as 1/4, 1 and 4 are the squares of these betas.
    whole = 4 * beta**2 * (right + missed) + 4 * (right + wrong)
    assert found.odds == pytest.approx(4 * right / (whole - 4 * right), rel=1e-14)
    assert (after > before) == (good * (whole - 4 * right) > bad * 4 * right)


def pairs_of(queries):
    """Scored pairs from one (candidates with scores, true answers) per query."""
    lengths = [len(scores) for scores, _ in queries]
    return ScoredPairs(
        np.cumsum([0, *lengths]),
        np.array([s for scores, _ in queries for s in scores.values()], np.float64),
        np.array([e in true for scores, true in queries for e in scores], bool),
        np.array([len(true) for _, true in queries], np.int64),
    )


def at(queries, threshold):
    """Sets predicted at a threshold, and true ones."""
    predicted = [{e for e, s in scores.items() if s >= threshold} for scores, _ in queries]
    return predicted, [true for _, true in queries]


some_queries = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 6), st.sampled_from(LEVELS), max_size=6),
        st.sets(st.integers(0, 6), max_size=4),
    ),
    min_size=1,
    max_size=6,
)


@given(some_queries, st.sampled_from(BETAS))
def test_the_curve_has_the_values_of_every_threshold(queries, beta):
    curve = threshold_curve(pairs_of(queries), beta)
    occurring = sorted({s for scores, _ in queries for s in scores.values()}, reverse=True)
    assert curve.thresholds.tolist() == [math.inf, *occurring]
    for place, threshold in enumerate(curve.thresholds):
        predicted, true = at(queries, threshold)
        values = (
            float(reference.macro(predicted, true, beta)),
            float(reference.pooled(predicted, true, beta)),
        )
        assert (curve.macro[place], curve.pooled[place]) == pytest.approx(values, abs=1e-13)
        assert curve.predicted[place] == sum(map(len, predicted))


@given(some_queries, st.sampled_from(BETAS), st.sampled_from(CHOICES))
def test_no_threshold_is_better_than_the_chosen_one(queries, beta, choice):
    of = reference.macro if choice == "macro" else reference.pooled
    values = {t: of(*at(queries, t), beta) for t in (math.inf, *LEVELS)}
    chosen = chosen_threshold(pairs_of(queries), choice, beta)
    assert values[chosen.threshold] == max(values.values())
    assert chosen.f_beta == pytest.approx(float(max(values.values())), abs=1e-13)
    assert all(values[t] < values[chosen.threshold] for t in values if t > chosen.threshold)


@given(some_queries)
def test_no_range_below_the_break_even_threshold_pays_and_each_from_it_up_does(queries):
    pairs = pairs_of(queries)
    chosen = chosen_threshold(pairs, "break-even").threshold
    for low in LEVELS:
        if low < chosen:
            (band,) = marginal_bands(pairs, chosen, [low])
            assert not band.pays
    for high in (math.inf, *LEVELS):
        if high > chosen:
            (band,) = marginal_bands(pairs, high, [chosen])
            assert band.pays or not any(true for _, true in queries)


@given(some_queries, st.randoms())
def test_the_order_of_queries_and_candidates_does_not_matter(queries, random):
    shuffled = [
        (dict(random.sample([*scores.items()], len(scores))), true)
        for scores, true in random.sample(queries, len(queries))
    ]
    for choice in CHOICES:
        old, new = (chosen_threshold(pairs_of(q), choice) for q in (queries, shuffled))
        assert new.threshold == old.threshold
        assert new.f_beta == pytest.approx(old.f_beta, abs=1e-13)


QUERIES = [({0: 0.9, 1: 0.8, 2: 0.3}, {0, 1, 5}), ({0: 0.8, 3: 0.5, 4: 0.4}, {3, 4})]


def test_the_threshold_can_be_taken_from_a_grid():
    values = {t: float(reference.macro(*at(QUERIES, t), 0.5)) for t in (0, 0.35, 0.6, 0.95)}
    found = chosen_threshold(pairs_of(QUERIES), "macro", grid=[0.35, 0, 0.6, 0.95])
    assert found.threshold == max(values, key=values.get) == 0.35
    assert found.f_beta == pytest.approx(values[0.35])


def test_a_threshold_at_which_lists_are_cut_is_not_chosen():
    assert chosen_threshold(pairs_of(QUERIES), "macro").threshold == 0.4
    assert chosen_threshold(pairs_of(QUERIES), "macro", above=0.4).threshold > 0.4
    with pytest.raises(InputError, match=r"none of the grid is above 0\.4"):
        chosen_threshold(pairs_of(QUERIES), grid=[0.2, 0.4], above=0.4)


def test_predicting_nothing_can_be_the_best_choice():
    for choice in CHOICES:
        assert chosen_threshold(pairs_of([({1: 0.5}, set())]), choice) == (math.inf, 1.0)


def test_bands_below_a_threshold_are_held_against_the_odds():
    scores = [0.9] * 66324 + [0.6] * 589 + [0.5] * 254
    is_true = [True] * 66009 + [False] * 315 + [True] * 386 + [False] * 203
    is_true += [True] * 154 + [False] * 100
    pairs = ScoredPairs(
        *(np.array([0, len(scores)]), np.array(scores), np.array(is_true), np.array([68983]))
    )
    first, second = marginal_bands(pairs, 0.9, [0.5, 0.6])
    assert (first.true, first.false, first.pays) == (386, 203, False)
    assert first.ratio == pytest.approx(1.90, abs=5e-3)
    assert (second.low, second.high, second.ratio, second.pays) == (0.5, 0.6, 1.54, False)
    assert second.f_beta < first.f_beta < float(pooled_f_beta(66009, 66324, 68983)[0])


def test_a_band_holds_its_lower_end_and_not_its_upper_one():
    pairs = pairs_of([({0: 0.8, 1: 0.5, 2: 0.3}, {1, 2})])
    bands = marginal_bands(pairs, 0.8, [0.5, 0.3, 0.1])
    assert [(band.true, band.false, band.ratio) for band in bands] == [
        (1, 0, None),
        (1, 0, None),
        (0, 0, None),
    ]


@given(some_queries)
def test_lowering_to_the_end_of_a_band_gives_its_f_beta(queries):
    for band in marginal_bands(pairs_of(queries), 0.4, [0.15, 0.2, 0.3]):
        wanted = reference.pooled(*at(queries, band.low), 0.5)
        assert band.f_beta == pytest.approx(float(wanted), rel=1e-14)


def test_bands_lie_below_the_threshold():
    with pytest.raises(InputError, match=r"below the threshold 0\.5"):
        marginal_bands(pairs_of(QUERIES), 0.5, [0.5])


def test_a_score_that_is_nan_is_refused():
    with pytest.raises(InputError, match=r"query 1 .* hold a NaN"):
        chosen_threshold(pairs_of([({0: 0.5}, {0}), ({0: math.nan}, {0})]))


def test_an_unknown_choice_is_refused_with_those_that_are_known():
    with pytest.raises(InputError, match="known are break-even, macro"):
        chosen_threshold(pairs_of(QUERIES), "best")


def test_a_threshold_needs_queries():
    with pytest.raises(InputError, match="no queries"):
        chosen_threshold(pairs_of([]))
