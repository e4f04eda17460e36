"""Metrics of plain lists of ranks that come from outside, of which no counts are known.

Ranks start at 1. A list in which 0 stands for "not found" has to say so with `zero="not_found"`;
otherwise a 0 is taken for a sign of zero-based ranks and refused. Where it is known how many
candidates there were, `n_candidates` refuses ranks beyond them. Every function takes both. The
definitions, with misses kept in the denominator and 0 for an empty list, are those of the subsume
library (0.8.0).
"""

import math
from collections.abc import Sequence

import numpy as np

from clqa.errors import InputError
from clqa.metrics import MOST, cut_off


def mean_reciprocal_rank(ranks: Sequence[float], **checks) -> float:
    """Sum of 1 / rank over the found, divided by the number of all; 0 for an empty list."""
    ranks = _checked(ranks, **checks)
    return math.fsum(1.0 / _found(ranks)) / max(len(ranks), 1)


def hits_at_k(ranks: Sequence[float], k: int, **checks) -> float:
    """Share of ranks from 1 to `k`; 0 for an empty list."""
    ranks = _checked(ranks, **checks)
    return int(np.count_nonzero(_found(ranks) <= cut_off(k))) / max(len(ranks), 1)


def mean_rank(ranks: Sequence[float], **checks) -> float:
    """Sum of the ranks divided by the number of all; 0 for an empty list.

    Misses count as 0, so they make it look better: read it with `mean_rank_of_found` and
    `miss_rate`.
    """
    ranks = _checked(ranks, **checks)
    return math.fsum(ranks) / max(len(ranks), 1)


def mean_rank_of_found(ranks: Sequence[float], **checks) -> float | None:
    """Mean of the ranks that are not 0; None where nothing was found."""
    found = _found(_checked(ranks, **checks))
    return math.fsum(found) / len(found) if len(found) else None


def miss_rate(ranks: Sequence[float], **checks) -> float | None:
    """Share of ranks that are 0; None for an empty list."""
    ranks = _checked(ranks, **checks)
    return 1 - len(_found(ranks)) / len(ranks) if len(ranks) else None


def _found(ranks: np.ndarray) -> np.ndarray:
    return ranks[ranks > 0]


def _checked(
    ranks: Sequence[float], zero: str | None = None, n_candidates: int | None = None
) -> np.ndarray:
    if zero not in (None, "not_found"):
        raise InputError(f"zero must be 'not_found' or left out, not {zero!r}")
    try:
        values = np.asarray(ranks)
    except ValueError:  # lists of several lengths in one list
        values = np.empty((0, 0))
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iuf"):
        raise InputError("ranks must be one list of numbers")
    values = values.astype(np.float64)
    most = MOST if n_candidates is None else cut_off(n_candidates, key="n_candidates")
    wrong = ~((values >= 1) & (values <= most))
    if zero == "not_found":
        wrong &= values != 0
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"ranks: {_reason(values[place], most)} (entry {place + 1} of {len(values)})"
        )
    return values


def _reason(rank: float, most: int) -> str:
    if rank == 0:
        return "a rank of 0; zero-based? Ranks start at 1, or declare zero='not_found'"
    return f"{rank:.15g} is no rank; ranks are numbers from 1 to {most}"
