"""Where to stop predicting: break-even odds, bands of scores below a threshold, its choice.

With totals of right and predicted pairs and of true answers, pooled F-beta is
(1 + beta^2) right / D with D = beta^2 true + predicted. One more prediction adds 1 to D. If it is
true it gains (1 + beta^2) (D - right) / (D (D + 1)), if false it loses
(1 + beta^2) right / (D (D + 1)). So it pays if its odds true:false are above right / (D - right),
that is if its probability is above right / D = F-beta / (1 + beta^2). The same holds for any number
of predictions at once: `a` true and `b` false ones raise F-beta exactly if a (D - right) > b right.
At a perfect prediction the odds are 1 / beta^2, which is 4 for beta = 0.5.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel
from clqa.ragged_sets import row_numbers
from clqa.set_metrics import Counts, beta_of, f_beta

# macro: the largest mean F-beta over queries. break-even: no band of scores below the threshold
# would pay, and every band from it upwards does, which is the largest pooled F-beta.
CHOICES = ("break-even", "macro")
_SAME = 1e-12


class ScoredPairs(NamedTuple):
    """Candidates of each query with their scores.

    Attributes
    ----------
    offsets : (n_queries + 1,) int64
    scores : (offsets[-1],) float
    is_true : (offsets[-1],) bool
    true : (n_queries,) int64
        True answers of each query, also those that are no candidates.
    """

    offsets: np.ndarray
    scores: np.ndarray
    is_true: np.ndarray
    true: np.ndarray


class BreakEven(NamedTuple):
    """What one more prediction must bring; None where no query has a true answer.

    Attributes
    ----------
    odds : float or None
        The odds true:false that must be exceeded; None also where nothing can be won any more.
    precision : float or None
        The same as a probability.
    """

    odds: float | None
    precision: float | None


class Band(NamedTuple):
    """Candidates with low <= score < high, and what including them would do.

    Attributes
    ----------
    low, high : float
    true, false : int
        Candidates that are true answers, and others.
    ratio : float or None
        true / false; None where none is false.
    pays : bool
        Whether including this band alone, beside what reaches the threshold, raises pooled F-beta.
    f_beta : float
        Pooled F-beta if the threshold is lowered to `low`.
    """

    low: float
    high: float
    true: int
    false: int
    ratio: float | None
    pays: bool
    f_beta: float


class Curve(NamedTuple):
    """What each threshold gives, from the highest on; the first one, inf, predicts nothing.

    Attributes
    ----------
    thresholds, macro, pooled : (n,) float64
        `macro` is the mean F-beta over queries, `pooled` that of all pairs together.
    right, predicted : (n,) int64
        Totals.
    """

    thresholds: np.ndarray
    macro: np.ndarray
    pooled: np.ndarray
    right: np.ndarray
    predicted: np.ndarray


class OperatingPoint(NamedTuple):
    """A threshold (inf predicts nothing) and the F-beta that it was chosen for."""

    threshold: float
    f_beta: float


def break_even(right: float, predicted: float, true: float, beta: float = 0.5) -> BreakEven:
    """The odds and the probability above which one more prediction pays.

    Parameters
    ----------
    right, predicted, true : totals, or means per query, which give the same
    """
    whole = beta_of(beta) * beta * true + predicted
    if true <= 0:
        return BreakEven(None, None)
    if right <= 0:
        return BreakEven(0.0, 0.0)
    return BreakEven(right / (whole - right) if whole > right else None, right / whole)


def pooled_f_beta(right, predicted, true, beta: float = 0.5) -> np.ndarray:
    """F-beta of all pairs together, for totals or arrays of them."""
    return f_beta(Counts(*np.broadcast_arrays(*map(np.atleast_1d, (right, predicted, true)))), beta)


def totals_at(pairs: ScoredPairs, threshold: float) -> tuple[int, int, int]:
    """Right and predicted pairs at a threshold, and true answers."""
    reached = pairs.scores >= threshold
    return int(pairs.is_true[reached].sum()), int(reached.sum()), int(pairs.true.sum())


def marginal_bands(
    pairs: ScoredPairs, threshold: float, edges: Sequence[float], beta: float = 0.5
) -> list[Band]:
    """Bands of scores below a threshold, the highest first.

    Parameters
    ----------
    edges : lower ends of the bands, each below the threshold

    Raises
    ------
    InputError
        If an edge is not below the threshold, or a score is NaN.
    """
    _check(pairs)
    edges = sorted({float(edge) for edge in edges}, reverse=True)
    if not all(edge < threshold for edge in edges):
        raise InputError(f"bands: every edge must be below the threshold {threshold:g}")
    totals = [totals_at(pairs, end)[:2] for end in (threshold, *edges)]
    return bands_between(float(threshold), edges, totals, int(pairs.true.sum()), beta)


def bands_between(
    high: float,
    edges: Sequence[float],
    totals: Sequence[tuple[int, int]],
    true: int,
    beta: float = 0.5,
) -> list[Band]:
    """Bands of scores below the threshold `high`, from what is predicted at each end.

    Parameters
    ----------
    edges : lower ends of the bands, descending
    totals : right and all predictions at `high`, then at each edge
    true : true answers
    """
    (right, predicted), bands = totals[0], []
    whole = beta_of(beta) * beta * true + predicted
    for low, before, after in zip(edges, totals, totals[1:], strict=False):
        n_true = after[0] - before[0]
        n_false = after[1] - before[1] - n_true
        ratio = n_true / n_false if n_false else None
        pays = n_true * (whole - right) > n_false * right
        f = float(pooled_f_beta(*after, true, beta)[0])
        bands.append(Band(low, high, n_true, n_false, ratio, pays, f))
        high = low
    return bands


def threshold_curve(pairs: ScoredPairs, beta: float = 0.5) -> Curve:
    """F-beta at every threshold that makes a difference: each distinct score, and none reached."""
    _check(pairs)
    order = np.argsort(-pairs.scores, kind="stable")
    scores, rows, is_true = (
        part[order] for part in (pairs.scores, row_numbers(pairs), pairs.is_true)
    )
    right, predicted = _counts_so_far(rows, is_true, len(pairs.true))
    before = Counts(right - is_true, predicted - 1, pairs.true[rows])
    gains = f_beta(Counts(right, predicted, before.true), beta) - f_beta(before, beta)
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], len(scores) > 0))
    total_right, total_predicted, total_gain = (
        np.concatenate([[0], sums[last]])
        for sums in (np.cumsum(is_true), np.arange(1, len(scores) + 1), np.cumsum(gains))
    )
    nothing = np.count_nonzero(pairs.true == 0)
    return Curve(
        np.concatenate([[np.inf], scores[last].astype(np.float64)]),
        (nothing + total_gain) / max(len(pairs.true), 1),
        pooled_f_beta(total_right, total_predicted, int(pairs.true.sum()), beta),
        total_right,
        total_predicted,
    )


@kernel
def _counts_so_far(rows, is_true, n_queries):
    """Right and all predictions of a query, up to each of its pairs and with it."""
    n_right, n_predicted = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.int64)
    right, predicted = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    for place in range(rows.size):
        n_right[rows[place]] += is_true[place]
        n_predicted[rows[place]] += 1
        right[place], predicted[place] = n_right[rows[place]], n_predicted[rows[place]]
    return right, predicted


def chosen_threshold(
    pairs: ScoredPairs,
    choice: str = "break-even",
    beta: float = 0.5,
    above: float = -math.inf,
    grid: Sequence[float] | None = None,
) -> OperatingPoint:
    """The best threshold on pairs of a validation split; of equal ones the highest.

    Parameters
    ----------
    choice : one of `CHOICES`
    above : float
        Thresholds up to this are not considered: where lists are cut, the largest of their floors.
    grid : sequence of float, optional
        Thresholds to choose from; by default inf and every score that occurs.
    """
    if choice not in CHOICES:
        raise InputError(f"threshold: no choice {choice!r}; known are {', '.join(CHOICES)}")
    if not len(pairs.true):
        raise InputError("threshold: no queries to choose it on")
    curve = threshold_curve(pairs, beta)
    thresholds, values = curve.thresholds, curve.macro if choice == "macro" else curve.pooled
    if grid is not None:
        thresholds = np.unique(np.asarray(grid, np.float64))[::-1]
        values = values[np.searchsorted(-curve.thresholds, -thresholds, "right") - 1]
    allowed = thresholds > above
    if not allowed.any():
        raise InputError(f"threshold: none of the grid is above {above:g}, where lists are cut")
    thresholds, values = thresholds[allowed], values[allowed]
    place = int(np.flatnonzero(values >= values.max() - _SAME)[0])
    return OperatingPoint(float(thresholds[place]), float(values[place]))


def _check(pairs: ScoredPairs) -> None:
    if np.isnan(pairs.scores).any():
        row = int(row_numbers(pairs)[np.isnan(pairs.scores)][0])
        raise InputError(f"scores of query {row} (counted from 0) hold a NaN")
