"""Sizes of answer sets, predicted and true, and whether easy answers rank before hard ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.averages import mean
from clqa.errors import InputError
from clqa.query_sets import Answers
from clqa.ragged import Ragged
from clqa.ragged_sets import row_numbers

# The true size: of the answers on the full graph; or, as published code counts, easy answers with
# hard ones, which under a negation counts the retracted, too.
SIZES = ("full", "easy-and-hard")


class SizeError(NamedTuple):
    """Mean absolute percentage error of predicted sizes, as a share (0.25 for 25 %).

    Attributes
    ----------
    value : float or None
        None where no query has true answers.
    n_queries, n_skipped : int
        Queries that count, and those without true answers, which do not.
    """

    value: float | None
    n_queries: int
    n_skipped: int


def true_sizes(answers: Answers, reading: str = "full") -> np.ndarray:
    """Size of each query's true answer set, (n_queries,) int64, in one of the readings `SIZES`."""
    if reading not in SIZES:
        raise InputError(f"size: no reading {reading!r}; known are {', '.join(SIZES)}")
    sizes = answers.easy.lengths() + answers.hard.lengths()
    return sizes if reading == "easy-and-hard" else sizes - answers.retracted.lengths()


def size_error(predicted: Sequence[float], true: Sequence[int]) -> SizeError:
    """Mean of |predicted - true| / true over the queries with true answers (MAPE)."""
    predicted, true = _aligned(predicted, true)
    kept = true > 0
    errors = np.abs(predicted[kept] - true[kept]) / true[kept]
    return SizeError(mean(errors.tolist()), int(kept.sum()), int((~kept).sum()))


def rank_correlation(predicted: Sequence[float], true: Sequence[float]) -> float | None:
    """Spearman's correlation with average ranks for ties.

    None for fewer than two queries, or where either side is constant.
    """
    predicted, true = _aligned(predicted, true)
    if len(true) < 2 or not np.ptp(predicted) or not np.ptp(true):
        return None
    one_row = np.zeros(len(true), np.int64)
    ranks = [_doubled_ranks(one_row, sizes) for sizes in (predicted, true)]
    return float(np.clip(np.corrcoef(*ranks)[1, 0], -1.0, 1.0))


def easy_before_hard(
    easy_scores: np.ndarray, easy: Ragged, hard_scores: np.ndarray, hard: Ragged
) -> list[float | None]:
    """Probability that an easy answer of a query scores above a hard one, ties as one half (AUROC).

    Equally the probability that its unfiltered rank is smaller; ranks are handed in negated.

    Parameters
    ----------
    easy_scores, hard_scores : (n_answers,) arrays
        Aligned with `easy.values` and `hard.values`.
    easy, hard : Ragged of n_queries rows

    Returns
    -------
    list of n_queries floats, None for a query without easy or without hard answers
    """
    n_easy, n_hard = easy.lengths(), hard.lengths()
    if len(n_easy) != len(n_hard):
        raise InputError(f"answers: {len(n_easy)} rows of easy ones, {len(n_hard)} of hard ones")
    rows = np.concatenate([row_numbers(easy), row_numbers(hard)])
    scores = np.concatenate([easy_scores, hard_scores])
    if np.isnan(scores).any():
        raise InputError("answers: a score is NaN; every answer needs a number")
    doubled = np.bincount(
        row_numbers(easy), _doubled_ranks(rows, scores)[: len(easy.values)], len(n_easy)
    ).astype(np.int64)
    wins = doubled - n_easy * (n_easy + 1)
    pairs = 2 * n_easy * n_hard
    return [int(w) / int(p) if p else None for w, p in zip(wins, pairs, strict=True)]


def _doubled_ranks(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Twice the average rank of each score within its row, from the lowest on; whole numbers."""
    order = np.lexsort((scores, rows))
    rows, scores = rows[order], scores[order]
    new_row = np.diff(rows, prepend=-1) != 0
    starts = np.flatnonzero(
        new_row | np.concatenate([[True], scores[1:] != scores[:-1]])[: len(rows)]
    )
    ends = np.append(starts[1:], len(rows))
    row_starts = np.flatnonzero(new_row)[np.cumsum(new_row) - 1]
    group = np.repeat(np.arange(len(starts)), ends - starts)
    doubled = np.empty(len(rows), np.int64)
    doubled[order] = (starts + ends + 1)[group] - 2 * row_starts
    return doubled


def _aligned(predicted: Sequence[float], true: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    predicted, true = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    if predicted.shape != true.shape or predicted.ndim != 1:
        raise InputError(f"sizes: {predicted.shape} predicted ones for {true.shape} true ones")
    if not (np.isfinite(predicted).all() and np.isfinite(true).all()):
        raise InputError("sizes: every size must be a finite number")
    return predicted, true
