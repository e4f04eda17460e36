"""Paired comparison of two models on the same queries.

Under the null hypothesis that the models are exchangeable on every query, each difference is as
likely as its opposite. The p-value is the share of all ways to flip signs, or of many drawn ones,
whose mean difference is at least as far from 0 as the observed one (Fisher's randomisation test).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel
from clqa.randomness import mixed, seek, stream_key

# With at most so many differences that are not 0 all sign flips are tried.
EXACT_UP_TO = 16
FLIPS = 9999
# Sums that should be equal may differ by rounding; they count as equal.
_ROUNDING = 1e-9


class Comparison(NamedTuple):
    """How much better the first of two models is than the second.

    Attributes
    ----------
    difference : float
        Mean of the paired differences; over several shapes the mean of their means.
    effect : float or None
        Mean difference in standard deviations of the differences (Cohen's d for pairs); None where
        they do not vary, or over several shapes.
    p : float
        Two-sided.
    n_queries, n_better, n_worse : int
        Queries that both models have a value for, and those on which the first is better or worse.
    """

    difference: float
    effect: float | None
    p: float
    n_queries: int
    n_better: int
    n_worse: int


def compare(differences: np.ndarray, stream: tuple, n_flips: int = FLIPS) -> Comparison:
    """Compare two models by their differences on the queries of one shape.

    Parameters
    ----------
    differences : (n_queries,) float64
        Score of the first model minus that of the second.
    stream : tuple
        Names the random numbers.

    Raises
    ------
    InputError
        If there are no differences, or one is not finite.
    """
    return compare_shapes([differences], stream, n_flips)


def compare_shapes(shapes: Sequence[np.ndarray], stream: tuple, n_flips: int = FLIPS) -> Comparison:
    """Compare two models by the mean over shapes of their mean differences.

    Signs are flipped query by query; every query weighs as it does in the average.
    """
    parts = [_checked(part) for part in shapes]
    if not parts:
        raise InputError("nothing to compare: no shapes")
    every = np.concatenate(parts)
    weighted = np.concatenate([part / len(part) / len(parts) for part in parts])
    alone = len(parts) == 1 and len(every) > 1
    spread = float(np.std(every, ddof=1)) if alone else 0.0
    difference = math.fsum(weighted)
    return Comparison(
        difference=difference,
        effect=difference / spread if spread > 0 else None,
        p=_p_value(weighted, stream, n_flips),
        n_queries=len(every),
        n_better=int(np.count_nonzero(every > 0)),
        n_worse=int(np.count_nonzero(every < 0)),
    )


def paired_differences(
    first: Mapping[str, float | None], second: Mapping[str, float | None]
) -> np.ndarray:
    """Differences of the scores of two models, by query id, where both have a value.

    Raises
    ------
    InputError
        If the models were not scored on the same queries.
    """
    if first.keys() != second.keys():
        n_other = len(first.keys() ^ second.keys())
        raise InputError(f"models to compare: {n_other} queries are scored for one of them only")
    pairs = [(first[query], second[query]) for query in first]
    return np.array([a - b for a, b in pairs if a is not None and b is not None], np.float64)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number by Holm's step-down method (1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted, highest = [0.0] * len(order), 0.0
    for step, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - step) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def _checked(differences: np.ndarray) -> np.ndarray:
    values = np.asarray(differences, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise InputError("differences to compare: expected at least one number per shape")
    if not np.isfinite(values).all():
        raise InputError("differences to compare: leave queries without a value out first")
    return values


def _p_value(weighted: np.ndarray, stream: tuple, n_flips: int) -> float:
    """Two-sided p-value of a sum of numbers whose signs are flipped."""
    moving = np.ascontiguousarray(weighted[weighted != 0])
    bound = abs(math.fsum(moving)) - _ROUNDING * float(np.abs(moving).sum())
    if len(moving) <= EXACT_UP_TO:
        return _exact_share(moving, bound)
    if n_flips < 1:
        raise InputError(f"sign flips must be at least 1, not {n_flips}")
    # The observed signs are one of the drawn ones, so that p is never 0.
    return (1 + _drawn(moving, stream_key("flips", *stream), n_flips, bound)) / (1 + n_flips)


def _exact_share(moving: np.ndarray, bound: float) -> float:
    """Share of all choices of signs whose sum reaches `bound` on either side."""
    sums = np.zeros(1)
    for value in moving:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(np.abs(sums) >= bound))


@kernel
def _drawn(moving, key, n_flips, bound):
    """Number of drawn choices of signs whose sum reaches `bound` on either side."""
    random, reaching = np.zeros(1, np.uint64), 0
    step = np.uint64(0x9E3779B97F4A7C15)
    for flip in range(n_flips):
        seek(random, key, flip)
        total = 0.0
        for start in range(0, len(moving), 64):
            random[0] += step
            signs = mixed(random[0])
            for place in range(start, min(start + 64, len(moving))):
                total += moving[place] * (1.0 - 2.0 * np.float64(signs & np.uint64(1)))
                signs >>= np.uint64(1)
        reaching += abs(total) >= bound
    return reaching
