"""Averages in their one order: answers, query, shape, group.

Each level is an unweighted mean of the level below. Sums are exact (`math.fsum`), so that no order
of answers, queries or shapes can change a digit. What is undefined is None, never 0 or NaN.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


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
    """Exactly summed mean; None for no values."""
    return math.fsum(values) / len(values) if len(values) else None


def query_means(values: np.ndarray, offsets: np.ndarray) -> list[float | None]:
    """Mean over the answers of each query.

    Parameters
    ----------
    values : (n_answers,) float64
    offsets : (n_queries + 1,) int
        The answers of query i are `values[offsets[i]:offsets[i + 1]]`.

    Returns
    -------
    list of n_queries floats, None for a query without answers
    """
    values, offsets = np.asarray(values).tolist(), np.asarray(offsets).tolist()
    return [mean(values[first:last]) for first, last in itertools.pairwise(offsets)]


def shape_average(values: Iterable[float | None], n_answers: Iterable[int]) -> Average:
    """Mean over the queries of one shape.

    Parameters
    ----------
    values : one value per query, None for a query without hard answers
    n_answers : number of hard answers per query
    """
    kept = [(value, n) for value, n in zip(values, n_answers, strict=True)]
    defined = [(value, n) for value, n in kept if value is not None]
    return Average(
        value=mean([value for value, _ in defined]),
        n_queries=len(defined),
        n_answers=sum(int(n) for _, n in defined),
        n_skipped=len(kept) - len(defined),
    )


def answer_average(values: Iterable[float | None], n_answers: Iterable[int]) -> Average:
    """Mean over all hard answers of the queries of one shape.

    Parameters
    ----------
    values : one mean over its answers per query, None for a query without hard answers
    n_answers : number of hard answers per query
    """
    kept = [(value, int(n)) for value, n in zip(values, n_answers, strict=True)]
    average = shape_average(*zip(*kept, strict=True)) if kept else shape_average((), ())
    if average.value is None:
        return average
    total = math.fsum(value * n for value, n in kept if value is not None)
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
