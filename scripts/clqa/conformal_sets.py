"""Conformal answer sets: thresholds that keep a promised share of true answers.

Split conformal prediction with one calibration per shape (Mondrian). The nonconformity of a true
answer is 1 minus its degree. Of m calibration scores in ascending order the quantile at the level
alpha is the one in place ceil((m + 1) (1 - alpha)); where there is no such place it is infinite,
and the answer set is the whole vocabulary. The set holds every entity with degree >= 1 - quantile.
Convention of the heyting library. Here the threshold 1 - quantile is kept as the degree that it is,
so that no rounding of two subtractions moves an entity over the border.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import NamedTuple

import numpy as np

from clqa.averages import mean
from clqa.errors import InputError
from clqa.ragged import Ragged
from clqa.set_metrics import set_counts

# What is promised to be covered: a true answer, or all true answers of a query at once. Answers of
# one query depend on each other; only queries are exchangeable, so that `query` alone is strict.
UNITS = ("answer", "query")


class Calibration(NamedTuple):
    """A threshold on degrees for answer sets of one shape.

    Attributes
    ----------
    threshold : float
        Degrees from this on are in the set; -inf for the whole vocabulary.
    quantile : float
        1 - threshold: the quantile of the nonconformity scores; inf for the whole vocabulary.
    n : int
        Calibration scores.
    place : int
        Which of them in ascending order is the quantile; n + 1 where there is none.
    """

    threshold: float
    quantile: float
    n: int
    place: int


class Coverage(NamedTuple):
    """How answer sets of one shape keep what their level promises.

    Attributes
    ----------
    nominal : float
        1 - alpha.
    answers : float or None
        Share of the true answers that are in their set; None for no answers.
    queries : float or None
        Share of the queries all of whose true answers are; of those that have some.
    mean_size : float or None
        Mean number of entities in a set.
    n_queries, n_answers : int
    is_vocabulary : bool
        Whether the calibration was too small, so that every set holds every entity.
    """

    nominal: float
    answers: float | None
    queries: float | None
    mean_size: float | None
    n_queries: int
    n_answers: int
    is_vocabulary: bool


def alpha_of(value: float) -> float:
    """`value` itself, if it can be a level: a number between 0 and 1, without both."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < 1:
        raise InputError(f"alpha must be a number between 0 and 1, not {value!r}")
    return float(value)


def calibrated(degrees: Sequence[float], alpha: float) -> Calibration:
    """The threshold at level `alpha` from the degrees of true answers.

    `alpha` is taken by the decimal digits it is written with, so that 1 - 0.7 is 0.3.

    Raises
    ------
    InputError
        If `alpha` is no level, or there are no degrees.
    """
    degrees = np.asarray(degrees)
    n = len(degrees)
    if not n:
        raise InputError("calibration: no true answers to calibrate on; take more queries")
    if np.isnan(degrees).any():
        raise InputError("calibration: a degree is NaN")
    place = math.ceil((n + 1) * (1 - Fraction(repr(alpha_of(alpha)))))
    if place > n:
        return Calibration(-math.inf, math.inf, n, n + 1)
    threshold = float(np.partition(degrees, n - place)[n - place])
    return Calibration(threshold, 1 - threshold, n, place)


def answer_degrees(
    scores: np.ndarray, truth: Ragged, model: str, any_scale: bool = False
) -> np.ndarray:
    """The scores of the true answers, in their order, if they can serve as degrees of truth.

    Parameters
    ----------
    scores : (n_queries, n_entities) array of floats
    truth : Ragged
        True answers of each query.
    model : str
        For messages.
    any_scale : bool
        Take scores outside of [0, 1] as well: only their order matters, not the scale.

    Raises
    ------
    InputError
        If an answer's id is outside of the entities, or a score is NaN or outside of [0, 1].
    """
    n_queries, n_entities = scores.shape
    if len(truth.offsets) != n_queries + 1:
        raise InputError(f"calibration: {len(truth.offsets) - 1} true sets for {n_queries} queries")
    if len(truth.values) and not 0 <= truth.values.min() <= truth.values.max() < n_entities:
        raise InputError(f"calibration: an answer lies outside of the {n_entities} entities")
    check_degrees(scores, model, any_scale)
    return np.asarray(scores[np.repeat(np.arange(n_queries), truth.lengths()), truth.values])


def check_degrees(scores: np.ndarray, model: str, any_scale: bool = False) -> None:
    """Refuse scores that are no degrees of truth in [0, 1]."""
    low, high = (float(end(scores)) for end in (np.min, np.max)) if scores.size else (0.0, 1.0)
    if math.isnan(low):
        raise InputError(f"model {model}: a score is NaN; every entity needs a number")
    if not any_scale and not 0 <= low <= high <= 1:
        raise InputError(
            f"model {model}: scores from {low:g} to {high:g} are no degrees in [0, 1]; calibrate"
            " the model, or ask for any scale"
        )


def calibrated_by_shape(
    degrees: np.ndarray,
    offsets: np.ndarray,
    shapes: Sequence[str],
    alpha: float,
    unit: str = "answer",
) -> dict[str, Calibration]:
    """One calibration per shape.

    Parameters
    ----------
    degrees : (n_answers,) float
        Of the true answers of each query in turn.
    offsets : (n_queries + 1,) int
    shapes : one name per query
    unit : one of `UNITS`
        Under `query` the calibration score of a query is its worst answer's.
    """
    if unit not in UNITS:
        raise InputError(f"calibration: no unit {unit!r}; known are {', '.join(UNITS)}")
    lengths, shapes = np.diff(offsets), np.asarray(shapes, dtype=object)
    owners = np.repeat(shapes, lengths)
    if unit == "query":
        answered = lengths > 0
        owners = shapes[answered]
        if len(degrees):
            degrees = np.minimum.reduceat(degrees, np.asarray(offsets)[:-1][answered])
    found = {}
    for shape in dict.fromkeys(shapes.tolist()):
        try:
            found[shape] = calibrated(degrees[owners == shape], alpha)
        except InputError as error:
            raise InputError(f"shape {shape}: {error}") from error
    return found


def thresholds_of(calibrations: Mapping[str, Calibration], shapes: Sequence[str]) -> np.ndarray:
    """The threshold of each query, (n_queries,) float64, for `predicted_sets.sets_reaching`."""
    missing = sorted(set(shapes) - calibrations.keys())
    if missing:
        raise InputError(f"shape {missing[0]}: not calibrated; its validation queries are needed")
    return np.array([calibrations[shape].threshold for shape in shapes], np.float64)


def coverages(
    sets: Ragged,
    truth: Ragged,
    shapes: Sequence[str],
    calibrations: Mapping[str, Calibration],
    alpha: float,
) -> dict[str, Coverage]:
    """Coverage and size of the answer sets of each shape, beside the nominal level."""
    counts = set_counts(sets, truth)
    shapes = np.asarray(shapes, dtype=object)
    found = {}
    for shape in dict.fromkeys(shapes.tolist()):
        right, size, true = counts.take(np.flatnonzero(shapes == shape))
        asked, n_answers = true > 0, int(true.sum())
        found[shape] = Coverage(
            nominal=float(1 - Fraction(repr(alpha_of(alpha)))),
            answers=int(right.sum()) / n_answers if n_answers else None,
            queries=mean((right == true)[asked].tolist()),
            mean_size=mean(size.tolist()),
            n_queries=len(true),
            n_answers=n_answers,
            is_vocabulary=calibrations[shape].threshold == -math.inf,
        )
    return found


def pooled_candidates(entities: Iterable[int], degrees: Iterable[float]) -> list[tuple[int, float]]:
    """Candidates from several sources as one list by descending degree, then ascending id.

    An entity that comes more than once keeps its largest degree.
    """
    best: dict[int, float] = {}
    for entity, degree in zip(entities, degrees, strict=True):
        best[entity] = max(degree, best.get(entity, -math.inf))
    return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
