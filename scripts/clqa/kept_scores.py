"""The scores that are kept of the queries of a query set, and the rankings that they prove.

Of each query the scores of its answers are kept, all of them, and those of its best other
candidates. Together they are the beginning of its ranking: down to the last listed candidate if
there are more, and whole otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clqa.kernels import kernel
from clqa.query_sets import AnswerTable
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, selected, union
from clqa.sorted_scores import descending
from clqa.top_candidates import THRESHOLDS, bits_of, locate
from clqa.top_tables import QueryTops
from clqa.tops import ScoredAnswers, Tops
from clqa.truths import true_answers, truth_choice


class KeptScores(NamedTuple):
    """What is kept of n queries.

    Attributes
    ----------
    query_ids, shapes : (n,) str
    easy, hard, retracted : Ragged of n rows
        See `clqa.answers.SplitAnswers`.
    answer_scores : (n_answers,) float
        Of the easy and the hard answers together, ascending by id.
    best : Ragged of n rows
        Candidates that are no answers, by descending score and then ascending id.
    scores : (len(best.values),) float
    candidates : (n,) int64
        How many candidates are no answers, listed or not.
    reaching : (n, 101) int
        How many of these have at least each score of `THRESHOLDS`; -1 where a score is no degree.
    """

    query_ids: np.ndarray
    shapes: np.ndarray
    easy: Ragged
    hard: Ragged
    retracted: Ragged
    answer_scores: np.ndarray
    best: Ragged
    scores: np.ndarray
    candidates: np.ndarray
    reaching: np.ndarray

    @property
    def are_degrees(self) -> bool:
        """Whether all scores are degrees of truth in [0, 1]."""
        inside = (self.answer_scores >= 0) & (self.answer_scores <= 1)
        return bool(inside.all() and (self.reaching[:, :1] >= 0).all())


class Judged(NamedTuple):
    """Rankings of the candidates that are judged under one choice of what is true.

    Attributes
    ----------
    shapes : (n,) str
    tops : Tops
        Under `hard` without easy answers.
    is_true : (len(tops.entities),) bool
    truth : Ragged of n rows
        True answers.
    true_scores : ScoredAnswers
        Their scores.
    are_degrees : bool
    """

    shapes: np.ndarray
    tops: Tops
    is_true: np.ndarray
    truth: Ragged
    true_scores: ScoredAnswers
    are_degrees: bool


def kept_scores(answers: AnswerTable, tops: Mapping[str, QueryTops]) -> KeptScores:
    """The scores of all shapes, in the order of the answers."""
    parts = list(answers.shapes.values())
    kept = [tops[shape] for shape in answers.shapes]
    n_queries = [len(part.query_ids) for part in parts]
    return KeptScores(
        query_ids=_joined([part.query_ids for part in parts], object),
        shapes=np.repeat(np.array(list(answers.shapes), object), n_queries),
        easy=_joined_rows([part.easy for part in parts]),
        hard=_joined_rows([part.hard for part in parts]),
        retracted=_joined_rows([part.retracted for part in parts]),
        answer_scores=_joined([part.answer_scores for part in kept], np.float32),
        best=_joined_rows([part.best for part in kept]),
        scores=_joined([part.scores for part in kept], np.float32),
        candidates=_joined([part.candidates for part in kept], np.int64),
        reaching=_joined([part.reaching.ravel() for part in kept], np.int32).reshape(
            -1, len(THRESHOLDS)
        ),
    )


def _joined(parts: Sequence[np.ndarray], dtype) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


def _joined_rows(parts: Sequence[Ragged]) -> Ragged:
    lengths = _joined([rows.lengths() for rows in parts], np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(offsets, _joined([rows.values for rows in parts], np.int32))


def judged(kept: KeptScores, truth: str) -> Judged:
    """The rankings to judge where `truth`, one of `clqa.truths.TRUTHS`, tells what is true."""
    answers = union(kept.easy, kept.hard)
    true = true_answers(kept.easy, kept.hard, kept.retracted, truth_choice(truth))
    is_true = is_shared(answers, true)
    true_scores = ScoredAnswers(true.offsets, kept.answer_scores[is_true])
    rivals, scores = answers, kept.answer_scores
    if truth == "hard":
        rivals, scores, is_true = selected(answers, is_true), scores[is_true], is_true[is_true]
    are_degrees = kept.are_degrees
    tops, is_true = _ranking(kept, rivals, scores, is_true, are_degrees)
    return Judged(kept.shapes, tops, is_true, true, true_scores, are_degrees)


def _ranking(
    kept: KeptScores, rivals: Ragged, scores: np.ndarray, is_true: np.ndarray, are_degrees: bool
) -> tuple[Tops, np.ndarray]:
    """The kept candidates with some answers among them, and which of them are true."""
    n_queries, size = len(kept.query_ids), len(kept.scores) + len(scores)
    is_cut = kept.best.lengths() < kept.candidates
    offsets = np.zeros(n_queries + 1, np.int64)
    lists = np.empty(size, np.int32), np.empty(size, scores.dtype), np.empty(size, bool)
    _merge(*kept.best, kept.scores, *rivals, scores, is_true, is_cut, offsets, *lists)
    entities, listed, is_true = (values[: offsets[-1]] for values in lists)
    # A list without any candidate says nothing of what is not listed.
    floor = np.where(is_cut, np.inf, -np.inf).astype(scores.dtype)
    has_last = is_cut & (kept.best.lengths() > 0)
    floor[has_last] = kept.scores[kept.best.offsets[1:][has_last] - 1]
    tops = Tops(
        offsets=offsets,
        entities=entities,
        scores=listed,
        candidates=kept.candidates + rivals.lengths(),
        floor=floor,
        grid=THRESHOLDS if are_degrees else np.empty(0),
        reaching=reached(rivals, scores, kept.reaching)
        if are_degrees
        else np.empty((n_queries, 0), np.int64),
    )
    return tops, is_true


@kernel
def _merge(
    starts,
    best,
    best_scores,
    rival_starts,
    rivals,
    rival_scores,
    rivals_are_true,
    is_cut,
    offsets,
    entities,
    scores,
    is_true,
):
    """Fill the lists of candidates with the rivals, which ascend by id, among them.

    Behind the last listed candidate of a list that is cut anything may stand, so it ends there.
    """
    size = 0
    for row in range(is_cut.size):
        one, end = starts[row], starts[row + 1]
        own = np.arange(rival_starts[row], rival_starts[row + 1])
        if is_cut[row]:
            n_ahead = 0
            for rival in range(rival_starts[row], rival_starts[row + 1]):
                own[n_ahead] = rival
                entity, score = rivals[rival], rival_scores[rival]
                n_ahead += one < end and not _is_ahead(best, best_scores, end - 1, entity, score)
            own = own[:n_ahead]
        if own.size > 1:
            own = own[descending(rival_scores[own])]
        for rival in own:
            last = _place(best, best_scores, one, end, rivals[rival], rival_scores[rival])
            size = _take(best, best_scores, one, last, size, entities, scores, is_true)
            entities[size], scores[size] = rivals[rival], rival_scores[rival]
            is_true[size] = rivals_are_true[rival]
            one, size = last, size + 1
        size = _take(best, best_scores, one, end, size, entities, scores, is_true)
        offsets[row + 1] = size


@kernel
def _is_ahead(best, best_scores, place, entity, score):
    """Whether the candidate at a place is ahead of an entity."""
    other = best_scores[place]
    return other > score or (other == score and best[place] < entity)


@kernel
def _place(best, best_scores, first, last, entity, score):
    """Place among the candidates from `first` to `last` behind all that are ahead of an entity."""
    while first < last:
        middle = (first + last) // 2
        if _is_ahead(best, best_scores, middle, entity, score):
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def _take(best, best_scores, first, last, size, entities, scores, is_true):
    """Append candidates that are not true to the lists, which have this size; return the new."""
    for place in range(last - first):
        entities[size + place] = best[first + place]
        scores[size + place] = best_scores[first + place]
        is_true[size + place] = False
    return size + last - first


def reached(
    rows: Ragged | ScoredAnswers, degrees: np.ndarray, others: np.ndarray | None = None
) -> np.ndarray:
    """How many degrees of each row are at least each of `THRESHOLDS`, (n_rows, 101) int.

    Those counts are added to the ones of `others`, if there are any.
    """
    n_rows = len(rows.offsets) - 1
    counts = np.zeros((n_rows, len(THRESHOLDS)), np.int64) if others is None else others.copy()
    places = np.empty(len(degrees), np.uint8)
    locate(degrees, bits_of(degrees), places)
    _add_reached(rows.offsets, places, counts)
    return counts


@kernel
def _add_reached(offsets, places, counts):
    bins = np.empty(counts.shape[1], np.int32)
    for row in range(len(counts)):
        bins[:] = 0
        for k in range(offsets[row], offsets[row + 1]):
            bins[places[k]] += 1
        total = np.int32(0)
        for place in range(bins.size - 1, -1, -1):
            total += bins[place]
            counts[row, place] += total
