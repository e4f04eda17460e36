"""What the answer sets of a rule are like, from the scores that are kept."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from clqa.averages import mean
from clqa.ceilings import oracle_counts
from clqa.conformal_sets import Calibration, calibrated_by_shape
from clqa.errors import InputError
from clqa.kept_scores import Judged, reached
from clqa.operating_points import (
    OperatingPoint,
    ScoredPairs,
    chosen_threshold,
    pooled_f_beta,
)
from clqa.set_metrics import Counts, f_beta, set_counts
from clqa.set_rules import SetRule
from clqa.tops import count_bounds, listed_best_sets

NO_DEGREES = "the model's scores are no degrees in [0, 1]"
NO_PARTNER = "the query set names no `valid` one to set this rule on"
_SAME = 1e-12


class Outcome(NamedTuple):
    """Counts of the answer sets of n queries.

    Attributes
    ----------
    fewest, most : Counts
        With the fewest and the most predictions that there can be; they differ where a list is cut.
    thresholds : (n,) float64 or None
        Of a rule that has some; inf predicts nothing, -inf every entity.
    is_known : (n,) bool
        Where the rule can be applied; counts mean nothing elsewhere.
    reason : str
        Why it cannot elsewhere.
    calibrations : dict
        Of a conformal rule, by shape.
    """

    fewest: Counts
    most: Counts
    is_known: np.ndarray
    thresholds: np.ndarray | None = None
    reason: str = ""
    calibrations: Mapping[str, Calibration] = {}


def outcome(
    rule: SetRule, own: Judged, tuned_on: Judged | None, depth: int, beta: float = 0.5
) -> Outcome:
    """The answer sets of a rule.

    Parameters
    ----------
    own, tuned_on : Judged
        Of the queries to judge, and of those on which the rule is set, if there are such.
    depth : int
        How many candidates are kept of a query.
    """
    if rule.kind in ("top", "ceiling"):
        return _of_best(rule, own, depth)
    if rule.needs_partner and tuned_on is None:
        return _unknown(own, NO_PARTNER)
    if rule.kind == "tuned":
        point = tuned_point(tuned_on, rule.value, beta)
        return at_thresholds(own, np.full(len(own.shapes), point.threshold))
    if not own.are_degrees or (tuned_on and not tuned_on.are_degrees):
        return _unknown(own, NO_DEGREES)
    if rule.kind == "threshold":
        return at_thresholds(own, np.full(len(own.shapes), rule.value))
    unit = "query" if rule.kind == "conformal-query" else "answer"
    found = shape_calibrations(tuned_on, rule.value, unit)
    thresholds = [found[shape].threshold if shape in found else math.nan for shape in own.shapes]
    thresholds = np.array(thresholds, np.float64)
    is_known = ~np.isnan(thresholds)
    return at_thresholds(own, np.where(is_known, thresholds, np.inf))._replace(
        is_known=is_known,
        thresholds=thresholds,
        reason="no true answers of this shape to calibrate on",
        calibrations=found,
    )


def at_thresholds(own: Judged, thresholds: np.ndarray) -> Outcome:
    """The sets of candidates from a threshold of each query on."""
    fewest, most = count_bounds(own.tops, own.true_scores, thresholds)
    return Outcome(fewest, most, np.ones(len(own.shapes), bool), thresholds)


def _of_best(rule: SetRule, own: Judged, depth: int) -> Outcome:
    m = depth if rule.kind == "ceiling" else rule.value
    lengths = own.tops.lengths()
    n_short = np.count_nonzero((lengths < m) & (lengths < own.tops.candidates))
    if n_short:
        what = f"{n_short} lists are cut before their best {m}; raise `depth`"
        return _unknown(own, f"{what}, or hand in longer ones")
    best = listed_best_sets(own.tops, m)
    found = oracle_counts if rule.kind == "ceiling" else set_counts
    counts = found(best, own.truth)
    return Outcome(counts, counts, np.ones(len(own.shapes), bool))


def _unknown(own: Judged, reason: str) -> Outcome:
    n = len(own.shapes)
    counts = Counts(*np.zeros((2, n), np.int64), own.truth.lengths())
    return Outcome(counts, counts, np.zeros(n, bool), reason=reason)


def shape_calibrations(valid: Judged, level: float, unit: str) -> dict[str, Calibration]:
    """A threshold for each shape of which there are true answers; `level` is 1 - alpha."""
    lengths = valid.truth.lengths()
    offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
    alpha = float(1 - Fraction(repr(level)))
    degrees, shapes = valid.true_scores.scores, valid.shapes[lengths > 0]
    return calibrated_by_shape(degrees, offsets, shapes, alpha, unit)


def tuned_point(valid: Judged, choice: str, beta: float) -> OperatingPoint:
    """The best threshold that the kept scores of a query set can tell; of equal ones the highest.

    Scores above the largest score at which a list is cut are told apart one by one. Below, degrees
    are on the grid on which all candidates are counted.

    Raises
    ------
    InputError
        If there are no queries.
    """
    tops = valid.tops
    if not len(tops.candidates):
        raise InputError("no queries to choose a threshold on")
    cut = tops.lengths() < tops.candidates
    above = float(tops.floor[cut].max()) if cut.any() else -math.inf
    pairs = ScoredPairs(tops.offsets, tops.scores, valid.is_true, valid.truth.lengths())
    best = (
        OperatingPoint(math.inf, _values(pairs, choice, beta))
        if above == math.inf
        else chosen_threshold(pairs, choice, beta, above)
    )
    for point in _on_grid(valid, choice, above, beta):
        if point.f_beta > best.f_beta + _SAME:
            best = point
    return best


def _values(pairs: ScoredPairs, choice: str, beta: float) -> float:
    """F-beta of predicting nothing."""
    nothing = np.zeros(len(pairs.true), np.int64)
    return _chosen(Counts(nothing, nothing, pairs.true), choice, beta)


def _on_grid(valid: Judged, choice: str, above: float, beta: float):
    """Points at the degrees of the grid up to `above`, the highest first."""
    tops, true = valid.tops, valid.true_scores
    if not len(tops.grid):
        return
    right = reached(true, true.scores)
    # Degrees are counted at the grid as it is rounded to their type.
    for place in np.flatnonzero(tops.grid.astype(tops.scores.dtype) <= above)[::-1]:
        counts = Counts(right[:, place], tops.reaching[:, place], valid.truth.lengths())
        yield OperatingPoint(float(tops.grid[place]), _chosen(counts, choice, beta))


def _chosen(counts: Counts, choice: str, beta: float) -> float:
    if choice == "macro":
        return mean(f_beta(counts, beta).tolist())
    return float(pooled_f_beta(*(int(column.sum()) for column in counts), beta)[0])
