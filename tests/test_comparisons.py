"""Paired comparisons: worked values, scipy's permutation test, the level kept under the null."""

import numpy as np
import pytest
from scipy import stats

from clqa.comparisons import EXACT_UP_TO, compare, compare_shapes, holm, paired_differences
from clqa.errors import InputError


def test_the_worked_differences():
    found = compare(np.array([0.2, 0.1, 0.3, -0.1, 0.2]), ())
    assert found.difference == pytest.approx(0.14)
    assert found.p == 6 / 32
    assert (found.n_queries, found.n_better, found.n_worse) == (5, 4, 1)
    assert found.effect == pytest.approx(0.14 / np.sqrt(0.023))


@pytest.mark.parametrize("n", [2, 4, 10])
def test_few_differences_are_tested_exactly(n):
    values = np.random.default_rng(n).normal(0.1, 0.2, n)
    by_scipy = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=2**n
    )
    assert compare(values, ()).p == pytest.approx(by_scipy.pvalue)


def test_drawn_signs_come_near_all_signs():
    values = np.random.default_rng(5).normal(0.25, 0.5, EXACT_UP_TO + 2)
    every = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=2 ** len(values)
    )
    drawn = compare(values, ("near",), 40_000).p
    assert 0.01 < every.pvalue < 0.2
    assert drawn == pytest.approx(every.pvalue, abs=0.005)


@pytest.mark.parametrize("n", [8, 60])
def test_equal_models_are_told_apart_at_the_level_of_the_test(n):
    rng = np.random.default_rng(n)
    p = [compare(rng.laplace(0, 0.3, n), (n, i), 999).p for i in range(1500)]
    assert 0.035 <= np.mean(np.array(p) <= 0.05) <= 0.065


def test_the_mean_over_shapes_keeps_its_level_too():
    rng = np.random.default_rng(11)
    p = [
        compare_shapes([rng.normal(0, 0.1, 30), rng.normal(0, 0.5, 90)], (i,), 999).p
        for i in range(1500)
    ]
    assert 0.035 <= np.mean(np.array(p) <= 0.05) <= 0.065


def test_shapes_weigh_alike_whatever_their_number_of_queries():
    found = compare_shapes([np.array([1.0]), np.zeros(99)], ())
    assert found.difference == 0.5
    assert found.p == 1.0
    assert found.effect is None


def test_no_difference_at_all_has_p_1():
    found = compare(np.zeros(50), ())
    assert (found.difference, found.effect, found.p) == (0.0, None, 1.0)


def test_the_order_of_the_models_changes_only_the_sign():
    values = np.random.default_rng(2).normal(0.1, 1, 200)
    there, back = compare(values, ("x",)), compare(-values, ("x",))
    assert there.difference == -back.difference
    assert there.p == back.p


def test_drawn_p_values_are_never_0():
    assert compare(np.ones(200), (), 999).p == 1 / 1000


def test_holm_of_the_textbook():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_queries_without_a_value_for_both_models_are_left_out():
    first = {"a": 1.0, "b": None, "c": 0.5}
    second = {"a": 0.5, "b": 0.1, "c": 0.75}
    assert paired_differences(first, second).tolist() == [0.5, -0.25]


def test_models_on_other_queries_are_not_compared():
    with pytest.raises(InputError, match="2 queries are scored for one of them only"):
        paired_differences({"a": 1.0, "b": 0.5}, {"a": 1.0, "c": 0.5})


@pytest.mark.parametrize("values", [[], [np.nan], [np.inf], [[1.0]]])
def test_what_cannot_be_compared_is_refused(values):
    with pytest.raises(InputError, match="differences to compare"):
        compare(np.array(values), ())
