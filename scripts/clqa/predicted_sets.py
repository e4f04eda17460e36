"""Answer sets made from rows of scores: by a threshold, or the best few of each query.

A score that equals the threshold is in (`>=`). The threshold is first rounded to the type of the
scores, so that 0.7 as float32 reaches the threshold 0.7.
"""

from collections.abc import Sequence

import numpy as np

from clqa.errors import InputError
from clqa.metrics import cut_off
from clqa.ragged import Ragged

# What happens to candidates that tie at the cut of the best m and do not all fit: those with the
# smallest ids stay, all stay (the set is larger than m), or none does (it is smaller).
CUTS = ("smallest-ids", "all", "none")
CHUNK_BYTES = 1 << 20


def cut_policy(name: str) -> str:
    """The name itself, if there is such a policy."""
    if name not in CUTS:
        raise InputError(f"ties at the cut: no policy {name!r}; known are {', '.join(CUTS)}")
    return name


def sets_reaching(
    scores: np.ndarray,
    thresholds: float | np.ndarray,
    query_ids: Sequence[str] | None = None,
) -> Ragged:
    """Entities whose score is at least the threshold.

    Parameters
    ----------
    scores : (n_queries, n_entities) array of real numbers, may be memory-mapped
    thresholds : float or (n_queries,) array
        -inf takes every entity.
    query_ids : sequence of str, optional
        For messages.

    Raises
    ------
    InputError
        If a score or a threshold is NaN.
    """
    scores = score_matrix(scores)
    thresholds = rounded_thresholds(thresholds, len(scores), scores.dtype)

    def kept(block: np.ndarray, first: int) -> np.ndarray:
        return block >= thresholds[first : first + len(block), None]

    return _gathered(scores, kept, query_ids)


def best_sets(
    scores: np.ndarray,
    m: int,
    ties: str = "smallest-ids",
    query_ids: Sequence[str] | None = None,
) -> Ragged:
    """The `m` entities of each query that score highest; all, where there are fewer.

    Parameters
    ----------
    scores : (n_queries, n_entities) array of real numbers, may be memory-mapped
    m : int, from 1
    ties : one of `CUTS`
    """
    scores, m, ties = score_matrix(scores), cut_off(m, key="m"), cut_policy(ties)
    if m >= scores.shape[1]:
        return sets_reaching(scores, -np.inf, query_ids)

    def kept(block: np.ndarray, first: int) -> np.ndarray:
        cut = np.partition(block, -m, axis=1)[:, -m, None]
        above, reaching = block > cut, block >= cut
        if ties == "all":
            return reaching
        overflows = np.count_nonzero(reaching, axis=1) > m
        if ties == "smallest-ids":
            tied = reaching[overflows] & ~above[overflows]
            free = m - np.count_nonzero(above[overflows], axis=1)
            above[overflows] |= tied & (np.cumsum(tied, axis=1) <= free[:, None])
        return np.where(overflows[:, None], above, reaching)

    return _gathered(scores, kept, query_ids)


def in_order(sets: Ragged, scores: np.ndarray) -> np.ndarray:
    """Ids of the sets, each by descending score, then ascending id; offsets stay as they are."""
    rows = np.repeat(np.arange(len(sets.offsets) - 1), sets.lengths())
    return sets.values[np.lexsort((sets.values, -score_matrix(scores)[rows, sets.values], rows))]


def rounded_thresholds(thresholds: float | np.ndarray, n: int, dtype: np.dtype) -> np.ndarray:
    """One threshold per query, in the type of the scores."""
    with np.errstate(over="ignore"):
        values = np.asarray(thresholds, np.float64).astype(dtype)
    if values.ndim > 1 or (values.ndim and len(values) != n):
        raise InputError(f"thresholds: {values.shape} of them for {n} queries")
    if np.isnan(values).any():
        raise InputError("a threshold is NaN; give a number, or -inf to take everything")
    return np.broadcast_to(values, n)


def score_matrix(scores: np.ndarray) -> np.ndarray:
    """Scores as a matrix of floats, checked for its form; whole numbers become float64."""
    scores = np.asanyarray(scores)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf":
        raise InputError(
            f"scores must be a real matrix (queries, entities), not {scores.dtype} {scores.shape}"
        )
    return scores if scores.dtype.kind == "f" else scores.astype(np.float64)


def _gathered(scores: np.ndarray, kept, query_ids: Sequence[str] | None) -> Ragged:
    """Columns that `kept` marks in each block of rows."""
    n_queries, n_entities = scores.shape
    step = max(1, CHUNK_BYTES // max(1, n_entities * scores.itemsize))
    lengths, values = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    for first in range(0, n_queries, step):
        block = np.ascontiguousarray(scores[first : first + step])
        _refuse_nan(block, first, query_ids)
        mask = kept(block, first)
        lengths.append(np.count_nonzero(mask, axis=1).astype(np.int64))
        values.append((np.flatnonzero(mask) % max(n_entities, 1)).astype(np.int32))
    return Ragged(np.cumsum(np.concatenate(lengths)), np.concatenate(values))


def _refuse_nan(block: np.ndarray, first: int, query_ids: Sequence[str] | None) -> None:
    if block.size and np.isnan(block.min()):
        row = first + int(np.flatnonzero(np.isnan(block).any(axis=1))[0])
        name = f"row {row}" if query_ids is None else query_ids[row]
        raise InputError(f"scores of query {name} hold a NaN; every entity needs a number")
