"""Averages in their one order: answers, query, shape, group.

Each level is an unweighted mean of the level below, or, in pooled averages, of the queries of all
shapes of a group. Sums are correctly rounded, so that no order of answers, queries or shapes
can change a digit. What is undefined is None, never 0 or NaN.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clqa.kernels import kernel

_NOTHING = np.empty(0)
# Parts of a sum do not overlap, and a number in double precision has its bits in 2,098 places.
_MOST_PARTS = 2100


class Average(NamedTuple):
    """A mean and what it was taken over.

    Attributes
    ----------
    value : float or None
        None where there is nothing to average, or where a shape of a group has no value.
    n_queries, n_answers : int
        Queries that count, and their hard answers.
    n_skipped : int
        Queries without hard answers: they have no value and are left out.
    missing : tuple of str
        Shapes of a group that have no value.
    """

    value: float | None
    n_queries: int
    n_answers: int
    n_skipped: int
    missing: tuple[str, ...] = ()


def mean(values: Sequence[float]) -> float | None:
    """Exactly summed mean of finite numbers with finite sums; None for no values."""
    return _total(values) / len(values) if len(values) else None


def _total(values: Sequence[float]) -> float:
    values = np.asarray(values, np.float64)
    return float(_exact_sum(values, 0, len(values), np.empty(_MOST_PARTS)))


def query_means(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Exactly summed mean over the answers of each query.

    Parameters
    ----------
    values : (n_answers,) float64
    offsets : (n_queries + 1,) int
        The answers of query i are `values[offsets[i]:offsets[i + 1]]`.

    Returns
    -------
    means : (n_queries,) float64
        NaN for a query without answers.
    """
    values = np.ascontiguousarray(values, np.float64)
    return _means(values, np.asarray(offsets, np.int64))


@kernel
def _means(values, offsets):
    means = np.full(len(offsets) - 1, np.nan)
    parts = np.empty(_MOST_PARTS)
    for query in range(len(means)):
        first, last = offsets[query], offsets[query + 1]
        if last > first:
            total, is_exact = _sum(values, first, last)
            if not is_exact:
                total = _exact_sum(values, first, last, parts)
            means[query] = total / (last - first)
    return means


@kernel
def _sum(values, first, last):
    """Sum of finite numbers, and whether it is known to be correctly rounded.

    What each addition loses is summed up, too (Neumaier, 1974). The sum is correctly rounded where
    that cannot be off by so much that another number would be nearest.
    """
    total, lost, size = 0.0, 0.0, 0.0
    for place in range(first, last):
        before, value = total, values[place]
        total = before + value
        high, low = (before, value) if abs(before) >= abs(value) else (value, before)
        lost += low - (total - high)
        size += abs(low - (total - high))
    # Twice the bound on the error of `lost`.
    doubt = 2.3e-16 * (last - first) * size
    rounded = total + lost
    rest = lost - (rounded - total)
    is_exact = abs(lost) <= abs(total) and rounded + (rest - doubt) == rounded
    return rounded, is_exact and rounded + (rest + doubt) == rounded


@kernel
def _exact_sum(values, first, last, parts):
    """Correctly rounded sum of finite numbers (Shewchuk, 1997): the parts hold what was lost."""
    n_parts = 0
    for place in range(first, last):
        high, kept = values[place], 0
        for k in range(n_parts):
            one, other = parts[k], high
            if abs(one) < abs(other):
                one, other = other, one
            high = one + other
            low = other - (high - one)
            if low != 0.0:
                parts[kept] = low
                kept += 1
        parts[kept] = high
        n_parts = kept + 1
    return _rounded(parts, n_parts)


@kernel
def _rounded(parts, n_parts):
    """Sum of parts that do not overlap, from the largest on, with halves rounded to even."""
    n_parts -= 1
    high, low = parts[n_parts], 0.0
    while n_parts > 0:
        n_parts -= 1
        before = high
        high = before + parts[n_parts]
        low = parts[n_parts] - (high - before)
        if low != 0.0:
            break
    if n_parts > 0 and low != 0.0 and (low > 0.0) == (parts[n_parts - 1] > 0.0):
        # The rest lies on the same side as the half that was cut off: it is more than a half.
        twice = low * 2.0
        raised = high + twice
        if twice == raised - high:
            high = raised
    return high


def shape_average(values: np.ndarray, n_answers: np.ndarray) -> Average:
    """Mean over the queries of one shape.

    Parameters
    ----------
    values : (n_queries,) float64
        NaN for a query without hard answers.
    n_answers : (n_queries,) int
        Hard answers of each query.
    """
    values, n_answers = np.asarray(values, np.float64), np.asarray(n_answers, np.int64)
    defined = ~np.isnan(values)
    return Average(
        value=mean(values[defined]),
        n_queries=int(defined.sum()),
        n_answers=int(n_answers[defined].sum()),
        n_skipped=int(len(values) - defined.sum()),
    )


def answer_average(values: np.ndarray, n_answers: np.ndarray) -> Average:
    """Mean over all hard answers of the queries of one shape, from the means over each query's."""
    values, n_answers = np.asarray(values, np.float64), np.asarray(n_answers, np.int64)
    average = shape_average(values, n_answers)
    if average.value is None:
        return average
    defined = ~np.isnan(values)
    total = _total(values[defined] * n_answers[defined])
    return average._replace(value=total / average.n_answers)


def group_average(shapes: Mapping[str, Average], members: Iterable[str]) -> Average:
    """Mean over the shapes of a group; it has no value unless every member has one.

    Parameters
    ----------
    shapes : average of each shape, by name
    members : names of the shapes of the group
    """
    members = list(members)
    missing = tuple(name for name in members if name not in shapes or shapes[name].value is None)
    present = [shapes[name] for name in members if name in shapes]
    values = [] if missing else [average.value for average in present]
    return Average(
        value=mean(values),
        n_queries=sum(average.n_queries for average in present),
        n_answers=sum(average.n_answers for average in present),
        n_skipped=sum(average.n_skipped for average in present),
        missing=missing,
    )


def pooled_average(
    values: Mapping[str, np.ndarray],
    n_answers: Mapping[str, np.ndarray],
    members: Iterable[str],
) -> Average:
    """Mean over all queries of the shapes of a group, as EFOk-CQA (Yin et al., 2023) takes it.

    Parameters
    ----------
    values, n_answers : as for `shape_average`, by shape
    members : names of the shapes of the group; one without queries takes no part
    """
    members = [name for name in members if name in values]
    return shape_average(
        *(np.concatenate([_NOTHING, *(of[name] for name in members)]) for of in (values, n_answers))
    )
