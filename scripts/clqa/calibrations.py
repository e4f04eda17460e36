"""Scores of links as degrees of truth in [0, 1], row by row, and what in them is fitted.

Fitting looks at the valid triples alone. What competes with the valid tails of a question are the
entities that are not its tails in train, since these were trained to be high.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp, softmax

from clqa.configs import unknown_name
from clqa.errors import InputError
from clqa.graphs import Graph
from clqa.link_queries import LinkQueries, link_queries, picked, tails_of
from clqa.predictors import Predictor, scores

# As many scores of valid questions as parameters are fitted on, about.
_FITTED_ON = 2**24
_TEMPERATURES = 1e-3, 1e3


def sigmoid(found: np.ndarray, counts: np.ndarray, *, temperature: float = 1.0) -> np.ndarray:
    """1 / (1 + exp(-s / T)), with T > 0."""
    return expit(found / np.float32(_positive("temperature", temperature)))


def affine(found: np.ndarray, counts: np.ndarray, *, factor: float = 1.0, bias: float = 0.0):
    """1 / (1 + exp(-(a s + b))), with a > 0 (Platt, 1999)."""
    if not np.isfinite(bias):
        raise InputError(f"calibration: bias must be a finite number, not {bias!r}")
    return expit(found * np.float32(_positive("factor", factor)) + np.float32(bias))


def softmax_times_count(
    found: np.ndarray,
    counts: np.ndarray,
    *,
    temperature: float = 1.0,
    threshold: float = 0.0,
    ceiling: float = 0.9999,
) -> np.ndarray:
    """Softmax of s / T over the row, times the number of tails in train, as QTO has it.

    A question without train tails counts as one with one. Degrees below `threshold` are 0, none is
    above `ceiling` (Bai et al., 2023).
    """
    spread = softmax(found / np.float32(_positive("temperature", temperature)), axis=1)
    spread *= np.maximum(counts, 1).astype(np.float32)[:, None]
    spread[spread < threshold] = 0
    return np.minimum(spread, np.float32(ceiling), out=spread)


def min_max(found: np.ndarray, counts: np.ndarray, *, ceiling: float = 1.0) -> np.ndarray:
    """The least score of a row becomes 0, the largest `ceiling`; rows of one value become 0."""
    low, high = found.min(axis=1, keepdims=True), found.max(axis=1, keepdims=True)
    width = np.where(high > low, high - low, 1)
    return (found - low) * (np.float32(ceiling) / width)


CALIBRATIONS = {
    "sigmoid": sigmoid,
    "affine": affine,
    "softmax": softmax_times_count,
    "min-max": min_max,
}


def calibration(name: str) -> Callable:
    """The function of scores (n, m) and train tails (n,) with this name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in CALIBRATIONS:
        raise InputError(unknown_name("calibration", name, CALIBRATIONS))
    return CALIBRATIONS[name]


def tail_counts(train: LinkQueries, heads: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """Number of train tails of each pair of head and relation."""
    return tails_of(train, heads, relations).lengths()


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise InputError(f"calibration: {name} must be a number above 0, not {value!r}")
    return value


def fitted_parameters(predictor: Predictor, graph: Graph) -> dict[str, dict[str, float]]:
    """For each calibration that has some, the parameters with the least loss on valid triples.

    The loss is the cross-entropy of the tail among all entities for `softmax`, and that of each
    entity being a tail or not for `sigmoid` and `affine`. Empty if there are no valid triples.
    """
    asked = link_queries(graph, ("valid",))
    if not len(asked.heads):
        return {}
    n_rows = max(1, _FITTED_ON // graph.n_entities)
    asked = picked(asked, np.arange(0, len(asked.heads), max(1, len(asked.heads) // n_rows)))
    found = scores(predictor, asked.heads, asked.relations)
    known = tails_of(link_queries(graph, ("train",)), asked.heads, asked.relations)
    found[np.repeat(np.arange(len(found)), known.lengths()), known.values] = -np.inf
    owners = np.repeat(np.arange(len(found)), asked.tails.lengths())
    reached = found[owners, asked.tails.values].astype(np.float64)
    rivals = found[np.isfinite(found)]
    return {
        "softmax": {"temperature": _fitted_temperature(softmax_loss(found, owners, reached))},
        "sigmoid": {"temperature": _fitted_temperature(_sigmoid_loss(rivals, reached))},
        "affine": _fitted_line(rivals, reached),
    }


def softmax_loss(found: np.ndarray, owners: np.ndarray, reached: np.ndarray) -> Callable:
    """Mean of -log softmax(s / T) of the scores reached, as a function of T."""

    def loss(temperature):
        rows = logsumexp(found / np.float32(temperature), axis=1)
        return float(np.mean(rows[owners] - reached / temperature))

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
