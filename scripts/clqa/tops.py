"""The best candidates of each query, kept when the rows of scores are gone, and what they prove.

A list is cut where there are more candidates than it holds. What is not listed scores at most the
list's floor; so a threshold above the floor is answered exactly, and one at or below it is not. For
numbers of candidates there are also exact counts on a grid of thresholds, and bounds between them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel
from clqa.metrics import cut_off
from clqa.predicted_sets import (
    best_sets,
    cut_policy,
    in_order,
    rounded_thresholds,
    score_matrix,
    sets_reaching,
)
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, row_numbers
from clqa.set_metrics import Counts


class Tops(NamedTuple):
    """Lists of candidates.

    Attributes
    ----------
    offsets : (n_queries + 1,) int64
    entities : (offsets[-1],) int32
        By descending score, then ascending id.
    scores : (offsets[-1],) float
    candidates : (n_queries,) int64
        Number of candidates, those included that are not listed.
    floor : (n_queries,) float
        What is not listed scores at most this; -inf where everything is listed.
    grid : (n_thresholds,) float, ascending
    reaching : (n_queries, n_thresholds) int64
        Number of candidates with at least that score.
    """

    offsets: np.ndarray
    entities: np.ndarray
    scores: np.ndarray
    candidates: np.ndarray
    floor: np.ndarray
    grid: np.ndarray
    reaching: np.ndarray

    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def is_open_at(self, thresholds: np.ndarray) -> np.ndarray:
        """Whether candidates that are not listed may reach the threshold, (n_queries,) bool."""
        return (self.lengths() < self.candidates) & (self.floor >= thresholds)


class ScoredAnswers(NamedTuple):
    """Scores of some entities of each query, such as its true answers."""

    offsets: np.ndarray
    scores: np.ndarray

    def reaching(self, thresholds: np.ndarray) -> np.ndarray:
        """How many of each query reach its threshold, (n_queries,) int64."""
        counts = np.zeros(len(self.offsets) - 1, np.int64)
        _count_reaching(self.offsets, self.scores, np.asarray(thresholds, np.float64), counts)
        return counts


@kernel
def _count_reaching(offsets, scores, thresholds, counts):
    for row in range(counts.size):
        for place in range(offsets[row], offsets[row + 1]):
            counts[row] += scores[place] >= thresholds[row]


def tops_of(scores: np.ndarray, m: int, grid: Sequence[float] = ()) -> Tops:
    """The best `m` candidates of each row of scores, and counts on a grid of thresholds."""
    scores = score_matrix(scores)
    n_queries, n_entities = scores.shape
    best = best_sets(scores, m)
    entities = in_order(best, scores)
    listed = np.asarray(scores[row_numbers(best), entities])
    grid = np.unique(np.asarray(grid, np.float64))
    counts = [sets_reaching(scores, threshold).lengths() for threshold in grid]
    cut = n_entities > m
    return Tops(
        best.offsets,
        entities,
        listed,
        np.full(n_queries, n_entities, np.int64),
        listed[best.offsets[1:] - 1] if cut else np.full(n_queries, -np.inf),
        grid,
        np.array(counts, np.int64).reshape(len(grid), n_queries).T,
    )


def without(tops: Tops, excluded: Ragged) -> Tops:
    """The lists without entities that are candidates but not to be predicted; without a grid."""
    order = np.lexsort((tops.entities, row_numbers(tops)))
    kept = np.ones(len(tops.entities), bool)
    kept[order] = ~is_shared(Ragged(tops.offsets, tops.entities[order]), excluded)
    return tops._replace(
        offsets=np.concatenate([[0], np.cumsum(kept)])[tops.offsets],
        entities=tops.entities[kept],
        scores=tops.scores[kept],
        candidates=tops.candidates - excluded.lengths(),
        grid=np.empty(0),
        reaching=np.empty((len(tops.candidates), 0), np.int64),
    )


def listed_sets_reaching(
    tops: Tops, thresholds: float | np.ndarray, query_ids: Sequence[str] | None = None
) -> Ragged:
    """Candidates whose score is at least the threshold.

    Raises
    ------
    InputError
        If a list is cut at or above its threshold.
    """
    thresholds = rounded_thresholds(thresholds, len(tops.candidates), tops.scores.dtype)
    _refuse_open(tops, thresholds, query_ids)
    rows = row_numbers(tops)
    return _chosen(tops, rows, tops.scores >= thresholds[rows])


def listed_best_sets(
    tops: Tops, m: int, ties: str = "smallest-ids", query_ids: Sequence[str] | None = None
) -> Ragged:
    """The `m` best candidates of each query; ties at the cut as in `clqa.predicted_sets.CUTS`.

    Raises
    ------
    InputError
        If a list is cut before its best `m`, or within the candidates that tie with the last.
    """
    m, ties, lengths = cut_off(m, key="m"), cut_policy(ties), tops.lengths()
    rows = row_numbers(tops)
    places = np.arange(len(rows)) - tops.offsets[rows]
    short = (lengths < m) & (lengths < tops.candidates)
    if ties == "smallest-ids":
        _refuse_short(short, m, query_ids)
        return _chosen(tops, rows, places < m)
    last = tops.scores[np.maximum(tops.offsets[:-1] + np.minimum(m, lengths) - 1, 0)]
    cuts = np.where(lengths > 0, last, np.inf) if len(tops.scores) else np.zeros(len(lengths))
    _refuse_short(short | (tops.is_open_at(cuts) & (tops.candidates > m)), m, query_ids)
    reaching = tops.scores >= cuts[rows]
    if ties == "all":
        return _chosen(tops, rows, reaching)
    overflows = np.bincount(rows[reaching], minlength=len(lengths)) > m
    return _chosen(tops, rows, np.where(overflows[rows], tops.scores > cuts[rows], reaching))


def count_bounds(
    tops: Tops,
    true: ScoredAnswers,
    threshold: float | np.ndarray,
    excluded: ScoredAnswers | None = None,
) -> tuple[Counts, Counts]:
    """Counts of the sets at a threshold, with the fewest and the most predictions there can be.

    They agree where no list is cut at the threshold, and where the threshold is on the grid. Of a
    list that is cut at least the listed candidates reach it, and the true ones among the others;
    the counts at the neighbouring thresholds of the grid bound the number from both sides.

    Parameters
    ----------
    true : ScoredAnswers
        Scores of all true answers.
    threshold : float or (n_queries,) array
    excluded : ScoredAnswers, optional
        Scores of those candidates that are not to be predicted.
    """
    n_queries = len(tops.candidates)
    thresholds = rounded_thresholds(threshold, n_queries, tops.scores.dtype)
    right, set_aside = true.reaching(thresholds), np.zeros(n_queries, np.int64)
    if excluded is not None:
        set_aside = excluded.reaching(thresholds)
    listed = ScoredAnswers(tops.offsets, tops.scores).reaching(thresholds)
    grid = tops.grid.astype(tops.scores.dtype)
    lower, upper = (np.searchsorted(grid, thresholds, side) for side in ("right", "left"))
    fewest = np.maximum(np.maximum(listed, right + set_aside), _reaching_place(tops, upper))
    most = _reaching_place(tops, lower - 1)
    is_open = tops.is_open_at(thresholds)
    fewest, most = (np.where(is_open, bound, listed) - set_aside for bound in (fewest, most))
    true_sizes = np.diff(true.offsets)
    return Counts(right, fewest, true_sizes), Counts(right, most, true_sizes)


def _reaching_place(tops: Tops, places: np.ndarray) -> np.ndarray:
    """How many candidates reach a threshold of the grid: all one before it, none one behind it."""
    last = len(tops.grid) - 1
    if last < 0:
        return np.where(places < 0, tops.candidates, 0)
    counts = tops.reaching[np.arange(len(places)), np.clip(places, 0, last)]
    return np.where(places < 0, tops.candidates, np.where(places > last, 0, counts))


def _chosen(tops: Tops, rows: np.ndarray, mask: np.ndarray) -> Ragged:
    """The candidates under a mask, ascending within each row."""
    kept, owners = tops.entities[mask], rows[mask]
    before = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    return Ragged(before[tops.offsets], kept[np.lexsort((kept, owners))].astype(np.int32))


def _refuse_open(tops: Tops, thresholds: np.ndarray, query_ids: Sequence[str] | None) -> None:
    bad = np.flatnonzero(tops.is_open_at(thresholds))
    if len(bad):
        row = bad[0]
        name = f"row {row}" if query_ids is None else query_ids[row]
        raise InputError(
            f"query {name}: its list ends at the score {tops.floor[row]:g}, not below the"
            f" threshold {thresholds[row]:g} ({len(bad)} such lists);"
            " keep longer lists or raise the threshold"
        )


def _refuse_short(bad: np.ndarray, m: int, query_ids: Sequence[str] | None) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        name = f"row {row}" if query_ids is None else query_ids[row]
        raise InputError(
            f"query {name}: its list is cut before the best {m} and their ties are told"
            f" ({np.count_nonzero(bad)} such lists); keep longer lists or take a smaller m"
        )
