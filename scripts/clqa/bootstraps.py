"""Bootstrap intervals of means over queries, of one shape and of several at once.

Queries are drawn anew within each shape; a mean over shapes is taken of the same draws, so that its
interval is that of the very average that is reported. All scores of a query are drawn together.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel
from clqa.randomness import below, seek, stream_key

DRAWS = 2000
MOST_DRAWS = 100_000  # as in the schema of the configuration
LEVEL = 0.95


class Interval(NamedTuple):
    """Ends of a percentile interval, (n_scores,) float64 each."""

    lower: np.ndarray
    upper: np.ndarray


def draws_of(n: int, key: str = "draws") -> int:
    """`n` itself, if intervals can be of so many draws; else an InputError that names `key`."""
    if not 0 <= n <= MOST_DRAWS:
        raise InputError(f"{key} must be a whole number from 0 to {MOST_DRAWS}, not {n}")
    return n


def drawn_means(values: np.ndarray, stream: tuple, n_draws: int = DRAWS) -> np.ndarray:
    """Means of queries that are drawn with replacement.

    Parameters
    ----------
    values : (n_queries, n_scores) float64
    stream : tuple
        Names the random numbers: the same stream and number of queries draw the same queries.

    Returns
    -------
    means : (n_draws, n_scores) float64

    Raises
    ------
    InputError
        If there are no queries, no draws, or a value is not a number.
    """
    values = np.ascontiguousarray(values, np.float64)
    if values.ndim != 2 or len(values) == 0:
        raise InputError(f"values to draw from: expected queries by scores, not {values.shape}")
    if n_draws < 1:
        raise InputError(f"draws must be at least 1, not {n_draws}")
    if np.isnan(values).any():
        raise InputError("values to draw from: leave queries without a value out first")
    means = np.zeros((n_draws, values.shape[1]))
    _draw(values, stream_key("bootstrap", *stream), means)
    return means


def percentile_interval(means: np.ndarray, level: float = LEVEL) -> Interval:
    """The interval that leaves out equal shares of the drawn means at both ends.

    Parameters
    ----------
    means : (n_draws, n_scores)
    level : float
        Between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"level of an interval must lie between 0 and 1, not {level!r}")
    ends = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Interval(*ends)


def mean_intervals(
    values: np.ndarray, stream: tuple, n_draws: int = DRAWS, level: float = LEVEL
) -> list[tuple[float, float]] | None:
    """Interval of the mean of each column of values; None for fewer than two queries, or no draws.

    A single query tells nothing of the spread.
    """
    if len(values) < 2 or not n_draws:
        return None
    ends = percentile_interval(drawn_means(values, stream, n_draws), level)
    return [(float(low), float(high)) for low, high in zip(*ends, strict=True)]


def bootstrap(
    shapes: Mapping[str, np.ndarray],
    groups: Mapping[str, Iterable[str]],
    stream: tuple,
    n_draws: int = DRAWS,
    level: float = LEVEL,
) -> dict[str, Interval]:
    """Intervals of the mean of each shape, and of the mean over the shapes of each group.

    Parameters
    ----------
    shapes : by name, (n_queries, n_scores) float64
        Shapes without queries are left out by the caller.
    groups : by name, names of shapes
        A name that is no shape of its own. A group with a shape that is left out has no interval.
    stream : tuple
        As for `drawn_means`; each shape draws from a stream of its own below it.
    """
    members = {name: tuple(shapes_of) for name, shapes_of in groups.items()}
    found, sums = {}, {}
    for shape, values in shapes.items():
        means = drawn_means(values, (*stream, shape), n_draws)
        found[shape] = percentile_interval(means, level)
        for group, names in members.items():
            if shape in names:
                sums[group] = sums.get(group, 0.0) + means
    for group, names in members.items():
        if names and all(name in shapes for name in names):
            found[group] = percentile_interval(sums[group] / len(names), level)
    return found


@kernel
def _draw(values, key, means):
    random = np.zeros(1, np.uint64)
    n_queries, n_scores = values.shape
    for draw in range(len(means)):
        seek(random, key, draw)
        for _ in range(n_queries):
            query = below(random, n_queries)
            for score in range(n_scores):
                means[draw, score] += values[query, score]
        for score in range(n_scores):
            means[draw, score] /= n_queries
