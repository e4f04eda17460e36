"""Averages in their order: answers, query, shape, group."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clqa.averages import (
    Average,
    group_average,
    mean,
    pooled_average,
    query_means,
    shape_average,
)


def average_of(*queries):
    """Average over one shape, from the values of each query's answers."""
    values = np.array([value for query in queries for value in query])
    lengths = [len(query) for query in queries]
    means = query_means(values, np.cumsum([0, *lengths])).tolist()
    return shape_average([None if np.isnan(mean) else mean for mean in means], lengths)


def test_queries_weigh_the_same_whatever_the_number_of_their_answers():
    assert average_of([1.0], [1 / 2, 1 / 4]).value == 0.6875


def test_shapes_weigh_the_same_whatever_the_number_of_their_queries():
    shapes = {"1p": average_of([0.5], [0.3]), "2p": average_of([0.1])}
    assert group_average(shapes, ["1p", "2p"]).value == pytest.approx(0.25, abs=1e-15)


def test_a_query_without_hard_answers_is_skipped():
    assert average_of([1.0], [0.5], []).value == 0.75


def test_a_skipped_query_is_counted():
    average = average_of([1.0], [0.5], [])
    assert (average.n_queries, average.n_answers, average.n_skipped) == (2, 2, 1)


@pytest.mark.parametrize("empty", range(4))
def test_an_empty_query_leaves_its_neighbours_alone(empty):
    queries = [[1.0], [1.0], [0.0], [1.0]]
    queries.insert(empty, [])
    values = [value for query in queries for value in query]
    means = query_means(values, np.cumsum([0, *map(len, queries)]))
    expected = [*[1.0, 1.0, 0.0, 1.0][:empty], np.nan, *[1.0, 1.0, 0.0, 1.0][empty:]]
    assert np.array_equal(means, expected, equal_nan=True)


def test_a_shape_without_values_has_no_average():
    assert average_of([], []) == Average(None, 0, 0, 2)


def test_a_group_with_a_missing_shape_has_no_average():
    shapes = {"1p": average_of([0.5]), "2p": average_of([])}
    assert group_average(shapes, ["1p", "2p"]).value is None


def test_a_group_names_the_shapes_that_are_missing():
    shapes = {"1p": average_of([0.5]), "2p": average_of([])}
    assert group_average(shapes, ["1p", "2p", "3p"]).missing == ("2p", "3p")


def test_a_group_adds_up_the_queries_of_its_shapes():
    shapes = {
        "1p": average_of([0.5, 1.0], []),
        "2p": average_of([1.0], [0.2]),
        "x": average_of([1]),
    }
    average = group_average(shapes, ["1p", "2p"])
    assert (average.n_queries, average.n_answers, average.n_skipped) == (3, 4, 1)


def test_a_group_without_shapes_has_no_average():
    assert group_average({}, []).value is None


def test_the_mean_of_nothing_is_undefined():
    assert mean([]) is None


finite = st.floats(-1e300, 1e300)


@given(st.lists(finite, min_size=1), st.randoms())
def test_the_order_of_values_changes_no_digit(values, order):
    shuffled = list(values)
    order.shuffle(shuffled)
    assert mean(shuffled) == mean(values)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_sums_are_exact(values):
    exact = sum(map(Fraction, values))
    assert mean(values) == float(exact) / len(values)


@example([[0.25, 0.1279385424310018, 5e-324]])
@given(st.lists(st.lists(st.floats(0, 1), max_size=4), max_size=6))
def test_a_query_has_the_same_mean_in_every_batch(queries):
    values = [value for query in queries for value in query]
    means = query_means(values, np.cumsum([0, *map(len, queries)]))
    expected = [math.fsum(query) / len(query) if query else np.nan for query in queries]
    assert np.array_equal(means, expected, equal_nan=True)


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=40))
def test_sums_of_a_query_are_correctly_rounded(values):
    (mean_of,) = query_means(np.array(values), np.array([0, len(values)]))
    assert mean_of == math.fsum(values) / len(values)


def test_halves_that_were_cut_off_are_rounded_to_even_unless_there_is_more():
    tiny = 2.0**-60
    for values in ([1.0, 2.0**-53, tiny], [1.0, 2.0**-53, -tiny], [1.0 + 2.0**-52, 2.0**-53]):
        (mean_of,) = query_means(np.array(values), np.array([0, len(values)]))
        assert mean_of == math.fsum(values) / len(values)


def test_pooled_averages_are_over_the_queries_of_all_shapes():
    values = {"a": [1.0, 0.0, None], "b": [0.5], "c": [0.0]}
    n_answers = {"a": [2, 3, 0], "b": [1], "c": [9]}
    found = pooled_average(values, n_answers, ["a", "b", "absent"])
    assert found == Average(0.5, n_queries=3, n_answers=6, n_skipped=1)
    assert pooled_average({}, {}, ["a"]).value is None


def test_pooled_queries_weigh_the_same_whatever_their_shape():
    values, n_answers = {"1p": [0.5, 0.3], "2p": [0.1]}, {"1p": [1, 1], "2p": [1]}
    assert pooled_average(values, n_answers, ["1p", "2p"]).value == pytest.approx(0.3, abs=1e-15)


def test_a_sum_may_need_more_parts_than_numbers_of_one_size_have():
    # Each pair leaves one bit, two places above the last one, as a part of its own.
    values = [math.ldexp(1, -150)]
    for place in range(-150, -150 + 2 * 66, 2):
        large = math.ldexp(1, place + 55)
        values += [large, -(large - math.ldexp(1, place + 2))]
    exact = float(sum(map(Fraction, values)))
    assert mean(values) == exact / len(values)
    assert query_means(np.array(values), np.array([0, len(values)])).tolist() == [mean(values)]
