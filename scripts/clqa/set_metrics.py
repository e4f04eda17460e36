"""Evaluation of predicted answer sets: F-beta, precision and recall, also by slices.

Three counts per query say all: right predictions, predictions, and true answers. A query without
true answers (a *singleton*, after entity resolution, where it is a record without a match) is won
by predicting nothing. Definitions are those of the berx library: its entity F0.5, macro F0.5,
pooled precision and recall, and slice report, here for any beta.
"""

import math
from collections.abc import Iterable
from numbers import Real
from typing import NamedTuple

import numpy as np

from clqa.averages import mean
from clqa.errors import InputError
from clqa.ragged import Ragged, is_ascending
from clqa.ragged_sets import is_shared, row_numbers

NO_KEY = "?"


class Counts(NamedTuple):
    """How a predicted set stands to the true one, query by query.

    Attributes
    ----------
    right, predicted, true : (n_queries,) int64
        Predictions that are true answers, all predictions, all true answers.
    """

    right: np.ndarray
    predicted: np.ndarray
    true: np.ndarray

    def take(self, places: np.ndarray) -> "Counts":
        return Counts(*(column[places] for column in self))


class SetSummary(NamedTuple):
    """One line of a report about predicted sets.

    Attributes
    ----------
    n : int
        Queries, those without true answers included.
    f_beta : float
        Mean over the queries (macro); 0 for no queries.
    precision, recall : float
        Of all pairs together (pooled); 0 where nothing is predicted, or nothing true.
    predictions_per_query : float
        0 for no queries.
    right, predicted, true : int
        Sums of the counts.
    """

    n: int
    f_beta: float
    precision: float
    recall: float
    predictions_per_query: float
    right: int
    predicted: int
    true: int


def set_counts(predicted: Ragged, truth: Ragged) -> Counts:
    """Compare sets row by row; row i of both is about the same query.

    Raises
    ------
    InputError
        If the numbers of rows differ, or the ids of a row do not ascend.
    """
    _check_aligned(predicted, truth)
    few, many = sorted((predicted, truth), key=lambda rows: len(rows.values))
    owners = row_numbers(few)[is_shared(few, many)]
    n_queries = len(truth.offsets) - 1
    right = np.bincount(owners, minlength=n_queries).astype(np.int64)
    return Counts(right, predicted.lengths(), truth.lengths())


def _check_aligned(predicted: Ragged, truth: Ragged) -> None:
    if len(predicted.offsets) != len(truth.offsets):
        n_rows = len(predicted.offsets) - 1, len(truth.offsets) - 1
        raise InputError("predicted sets: {} rows for {} true sets".format(*n_rows))
    for name, rows in (("predicted", predicted), ("true", truth)):
        if len(rows.values) and rows.values.min() < 0:
            raise InputError(f"{name} sets: ids start at 0")
        if not is_ascending(rows):
            raise InputError(f"{name} sets: the ids of a query must ascend, each of them once")


def beta_of(value: float) -> float:
    """`value` itself, if it can be the beta of an F-beta.

    Raises
    ------
    InputError
        If it is no finite number above 0.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < math.inf:
        raise InputError(f"beta must be a finite number above 0, not {value!r}")
    return float(value)


def f_beta(counts: Counts, beta: float = 0.5, empty_value: float = 1.0) -> np.ndarray:
    """F-beta of each query, (n_queries,) float64.

    `(1 + beta^2) right / (beta^2 true + predicted)`, and 0 where nothing predicted is right. Where
    there is no true answer it is `empty_value` if nothing is predicted, otherwise 0. The quotient
    is taken as right / (right + v (predicted - right) + w (true - right)) with
    v = 1 / (1 + beta^2) and w = 1 - v: it is 1 exactly for equal sets, and never more.
    """
    right, predicted, true = (np.asarray(column, np.float64) for column in counts)
    beta = beta_of(beta)
    false_weight, missed_weight = 1 / (1 + beta * beta), 1 / (1 + (1 / beta) * (1 / beta))
    whole = right + false_weight * (predicted - right) + missed_weight * (true - right)
    values = np.divide(right, whole, out=np.zeros(len(right)), where=right > 0)
    values[(true == 0) & (predicted == 0)] = empty_value
    return values


def set_summary(counts: Counts, beta: float = 0.5, empty_value: float = 1.0) -> SetSummary:
    """Means and sums over queries; every query that is asked belongs in, also empty ones."""
    n = len(counts.true)
    right, predicted, true = (int(column.sum()) for column in counts)
    return SetSummary(
        n=n,
        f_beta=mean(f_beta(counts, beta, empty_value).tolist()) or 0.0,
        precision=right / predicted if predicted else 0.0,
        recall=right / true if true else 0.0,
        predictions_per_query=predicted / n if n else 0.0,
        right=right,
        predicted=predicted,
        true=true,
    )


def slice_report(
    counts: Counts, keys: Iterable[object], beta: float = 0.5, empty_value: float = 1.0
) -> dict[str, SetSummary]:
    """A summary of the queries of each key, sorted by the key's text.

    Parameters
    ----------
    keys : one per query
        None and NaN stand for a missing key; such queries are under "?".
    """
    texts = [NO_KEY if key is None or key != key else str(key) for key in keys]
    if len(texts) != len(counts.true):
        raise InputError(f"slices: {len(texts)} keys for {len(counts.true)} queries")
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, []).append(place)
    return {
        text: set_summary(counts.take(np.array(places[text])), beta, empty_value)
        for text in sorted(places)
    }
