"""Scores of links as degrees of truth in [0, 1], row by row, and what in them is fitted.

Fitting looks at the valid triples alone, and judges the degrees that a calibration gives: as
chances of links to hold they have the least cross-entropy. What is judged are all links of the
valid questions but those of train, whose scores training made high.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from clqa.configs import unknown_name
from clqa.errors import InputError
from clqa.graphs import Graph
from clqa.kernels import kernel
from clqa.link_queries import link_queries, picked, tails_of
from clqa.predictors import Predictor, scores
from clqa.ragged import Ragged
from clqa.ragged_sets import row_numbers

# As many scores of valid questions as parameters are fitted on, about.
_FITTED_ON = 2**24
_TEMPERATURES = 1e-3, 1e3
# No true link is held to be less likely, so that single ones cannot decide.
_LEAST = 1e-12


def sigmoid(found: np.ndarray, tails: Ragged, *, temperature: float = 1.0) -> np.ndarray:
    """1 / (1 + exp(-s / T)), with T > 0."""
    return expit(found / np.float32(_positive("temperature", temperature)))


def affine(found: np.ndarray, tails: Ragged, *, factor: float = 1.0, bias: float = 0.0):
    """1 / (1 + exp(-(a s + b))), with a > 0 (Platt, 1999)."""
    if not np.isfinite(bias):
        raise InputError(f"calibration: bias must be a finite number, not {bias!r}")
    return expit(found * np.float32(_positive("factor", factor)) + np.float32(bias))


def softmax_times_count(
    found: np.ndarray,
    tails: Ragged,
    *,
    temperature: float = 1.0,
    threshold: float = 0.0,
    ceiling: float = 0.9999,
) -> np.ndarray:
    """Softmax of s / T over the row, times the number of tails in train, as QTO has it.

    A question without train tails counts as one with one. Degrees below `threshold` are 0, none is
    above `ceiling` (Bai et al., 2023).
    """
    shares, sums = _exponentials(found, temperature)
    return _cut(shares, np.maximum(tails.lengths(), 1) / sums, threshold, ceiling)


def softmax_by_observed(
    found: np.ndarray,
    tails: Ragged,
    *,
    temperature: float = 1.0,
    threshold: float = 0.0,
    ceiling: float = 0.999,
) -> np.ndarray:
    """Softmax of s / T over the row, scaled so that train tails have 1 on average, as FIT has it.

    A question without train tails is not scaled. Degrees below `threshold` are 0, none is above
    `ceiling` (Yin et al., 2024).
    """
    shares, sums = _exponentials(found, temperature)
    lengths, rows = tails.lengths(), row_numbers(tails)
    observed = np.bincount(rows, shares[rows, tails.values], len(shares))
    observed = np.maximum(observed, np.finfo(np.float32).tiny)
    factors = np.where(lengths > 0, lengths / observed, 1 / sums)
    return _cut(shares, factors, threshold, ceiling)


def _exponentials(found: np.ndarray, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Of each row exp(s / T), divided by the largest, and their sum."""
    shares = np.empty_like(found)
    _fall_from_largest(found, found.dtype.type(1 / _positive("temperature", temperature)), shares)
    np.exp(shares, out=shares)
    return shares, shares.sum(axis=1)


def _cut(shares: np.ndarray, factors: np.ndarray, threshold: float, ceiling: float) -> np.ndarray:
    # A factor of the smallest float32 numbers would be infinite, and its product with 0 no number.
    factors = np.minimum(factors, np.finfo(np.float32).max).astype(shares.dtype)
    _scale_and_cut(shares, factors, *map(shares.dtype.type, (threshold, ceiling)))
    return shares


# Rows are gone through in lanes side by side, which compilers turn into vectors.
_LANES = 64


@kernel
def _fall_from_largest(found, factor, differences):
    n = np.uint32(found.shape[1])
    n_blocks = np.uint32(n // _LANES)
    for i in range(len(found)):
        row, own = found[i], differences[i]
        largest = np.full(_LANES, row[0])
        for block in range(n_blocks):
            first = np.uint32(block * np.uint32(_LANES))
            for lane in range(np.uint32(_LANES)):
                largest[lane] = max(largest[lane], row[np.uint32(first + lane)])
        most = largest.max()
        for j in range(np.uint32(n_blocks * np.uint32(_LANES)), n):
            most = max(most, row[j])
        for j in range(n):
            own[j] = (row[j] - most) * factor


@kernel
def _scale_and_cut(shares, factors, threshold, ceiling):
    for i in range(len(shares)):
        row, factor = shares[i], factors[i]
        for j in range(row.size):
            degree = row[j] * factor
            degree = ceiling if degree > ceiling else degree
            row[j] = 0 if degree < threshold else degree  # so that what is no number stays it


def min_max(found: np.ndarray, tails: Ragged, *, ceiling: float = 1.0) -> np.ndarray:
    """The least score of a row becomes 0, the largest `ceiling`; rows of one value become 0."""
    low, high = found.min(axis=1, keepdims=True), found.max(axis=1, keepdims=True)
    width = np.where(high > low, high - low, 1)
    return (found - low) * (np.float32(ceiling) / width)


CALIBRATIONS = {
    "sigmoid": sigmoid,
    "affine": affine,
    "softmax": softmax_times_count,
    "softmax-observed": softmax_by_observed,
    "min-max": min_max,
}


def calibration(name: str) -> Callable:
    """The function of scores (n, m) and the train tails of the n questions with this name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in CALIBRATIONS:
        raise InputError(unknown_name("calibration", name, CALIBRATIONS))
    return CALIBRATIONS[name]


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise InputError(f"calibration: {name} must be a number above 0, not {value!r}")
    return value


def fitted_parameters(predictor: Predictor, graph: Graph) -> dict[str, dict[str, float]]:
    """For each calibration that has some, the parameters with the least loss on valid triples.

    The loss is the cross-entropy of the degrees of links that are not in train, each of which is a
    link of a valid triple or none. Empty if there are no valid triples.
    """
    asked = link_queries(graph, ("valid",))
    if not len(asked.heads):
        return {}
    n_rows = max(1, _FITTED_ON // graph.n_entities)
    asked = picked(asked, np.arange(0, len(asked.heads), max(1, len(asked.heads) // n_rows)))
    found = scores(predictor, asked.heads, asked.relations)
    known = tails_of(link_queries(graph, ("train",)), asked.heads, asked.relations)
    judged = np.ones(found.shape, bool)
    judged[row_numbers(known), known.values] = False
    places = row_numbers(asked.tails), asked.tails.values
    reached = found[places].astype(np.float64)
    rivals = found[judged]
    fitted = {
        name: {"temperature": _fitted_temperature(softmax_loss(name, found, known, judged, places))}
        for name in ("softmax", "softmax-observed")
    }
    return fitted | {
        "sigmoid": {"temperature": _fitted_temperature(_sigmoid_loss(rivals, reached))},
        "affine": _fitted_line(rivals, reached),
    }


def softmax_loss(
    name: str, found: np.ndarray, known: Ragged, judged: np.ndarray, places: tuple
) -> Callable:
    """Mean cross-entropy of the degrees of a softmax, over its true links, as a function of T.

    Parameters
    ----------
    name : str
        A calibration that has a temperature.
    found : (n, m) float
        Scores of the tails of n questions.
    known : Ragged of n rows
        Train tails.
    judged : (n, m) bool
        The links that count.
    places : pair of (k,) int
        Rows and columns of the true links, which are judged.
    """
    function, least = CALIBRATIONS[name], np.float32(_LEAST)

    def loss(temperature):
        degrees = function(found, known, temperature=temperature)
        held = np.log(np.maximum(degrees[places], least)).sum(dtype=np.float64)
        held -= np.log1p(-degrees[places]).sum(dtype=np.float64)
        np.log1p(-degrees, out=degrees)
        return -(held + degrees.sum(where=judged, dtype=np.float64)) / len(places[0])

    return loss


def _sigmoid_loss(rivals: np.ndarray, reached: np.ndarray) -> Callable:
    """Sum of the logistic losses as a function of T; `rivals` include the scores reached."""

    def loss(temperature):
        scaled = rivals / np.float32(temperature)
        return float(np.logaddexp(0, scaled).sum(dtype=np.float64) - reached.sum() / temperature)

    return loss


def _fitted_temperature(loss: Callable) -> float:
    ends = np.log(_TEMPERATURES)
    found = minimize_scalar(lambda x: loss(np.exp(x)), bounds=ends, options={"xatol": 1e-3})
    return float(np.exp(found.x))


def _fitted_line(rivals: np.ndarray, reached: np.ndarray) -> dict[str, float]:
    """Platt's factor and bias; the factor is searched by its logarithm to stay above 0."""
    scale = float(np.std(rivals)) or 1.0

    def loss(point):
        factor, bias = np.exp(point[0]) / scale, point[1]
        shifted = rivals * np.float32(factor) + np.float32(bias)
        total = np.logaddexp(0, shifted).sum(dtype=np.float64)
        total -= factor * reached.sum() + bias * len(reached)
        pull = expit(shifted)
        by_bias = pull.sum(dtype=np.float64) - len(reached)
        by_factor = np.vdot(pull, rivals) - reached.sum()
        return total / len(reached), np.array([by_factor * factor, by_bias]) / len(reached)

    start = np.array([0.0, np.log(len(reached) / len(rivals))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return {"factor": float(np.exp(found[0]) / scale), "bias": float(found[1])}
