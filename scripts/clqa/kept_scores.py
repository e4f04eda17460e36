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
from clqa.ragged_sets import is_shared, merged, row_numbers, selected
from clqa.top_candidates import THRESHOLDS, locate
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
    n_ids : int
        Entities of the graph.
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
    n_ids: int

    @property
    def are_degrees(self) -> bool:
        """Whether all scores are degrees of truth in [0, 1]."""
        inside = (self.answer_scores >= 0) & (self.answer_scores <= 1)
        return bool(inside.all() and (self.reaching >= 0).all())


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
        reaching=np.concatenate(
            [np.empty((0, len(THRESHOLDS)), np.int32)] + [part.reaching for part in kept]
        ),
        n_ids=answers.metadata["n_entities"],
    )


def _joined(parts: Sequence[np.ndarray], dtype) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts])


def _joined_rows(parts: Sequence[Ragged]) -> Ragged:
    lengths = _joined([rows.lengths() for rows in parts], np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(offsets, _joined([rows.values for rows in parts], np.int32))


def judged(kept: KeptScores, truth: str) -> Judged:
    """The rankings to judge where `truth`, one of `clqa.truths.TRUTHS`, tells what is true."""
    answers = merged(kept.easy, kept.hard, kept.n_ids)
    true = true_answers(kept.easy, kept.hard, kept.retracted, truth_choice(truth), kept.n_ids)
    is_true = is_shared(answers, true, kept.n_ids)
    inside = is_true if truth == "hard" else np.ones(len(is_true), bool)
    rivals, rival_scores = selected(answers, inside), kept.answer_scores[inside]
    tops, order = _ranking(kept, rivals, rival_scores)
    return Judged(
        shapes=kept.shapes,
        tops=tops,
        is_true=np.concatenate([np.zeros(len(kept.scores), bool), is_true[inside]])[order],
        truth=true,
        true_scores=ScoredAnswers(true.offsets, kept.answer_scores[is_true]),
        are_degrees=kept.are_degrees,
    )


def _ranking(kept: KeptScores, rivals: Ragged, scores: np.ndarray) -> tuple[Tops, np.ndarray]:
    """The kept candidates with some answers among them, and the order that merges the two."""
    n_queries, n_listed = len(kept.query_ids), len(kept.scores)
    descending = _descending(rivals.offsets, scores)
    counted = kept.are_degrees
    own = reached(rivals, scores) if counted else None
    entities = np.concatenate([kept.best.values, rivals.values[descending]])
    scores = np.concatenate([kept.scores, scores[descending]])
    is_cut = kept.best.lengths() < kept.candidates
    offsets, order = _merged(kept.best.offsets, rivals.offsets, entities, scores, is_cut)
    floor = np.full(n_queries, -np.inf, scores.dtype)
    floor[is_cut] = kept.scores[kept.best.offsets[1:][is_cut] - 1]
    tops = Tops(
        offsets=offsets,
        entities=entities[order].astype(np.int32),
        scores=scores[order],
        candidates=kept.candidates + rivals.lengths(),
        floor=floor,
        grid=THRESHOLDS if counted else np.empty(0),
        reaching=kept.reaching + own if counted else np.empty((n_queries, 0), np.int64),
    )
    places = np.concatenate([np.arange(n_listed), n_listed + descending])
    return tops, places[order]


@kernel
def _merged(starts, rival_starts, entities, scores, is_cut):
    """Offsets and places of the merged lists: first those of all lists, then those of rivals.

    Behind the last listed candidate of a list that is cut anything may stand, so it ends there.
    """
    offsets = np.zeros(len(starts), np.int64)
    order = np.empty(len(scores), np.int64)
    size = 0
    for row in range(len(is_cut)):
        one, end = starts[row], starts[row + 1]
        other, other_end = starts[-1] + rival_starts[row], starts[-1] + rival_starts[row + 1]
        while one < end or (other < other_end and not is_cut[row]):
            goes_first = one < end
            if goes_first and other < other_end:
                a, b = scores[one], scores[other]
                goes_first = a > b or (a == b and entities[one] < entities[other])
            order[size] = one if goes_first else other
            one, other = one + goes_first, other + (not goes_first)
            size += 1
        offsets[row + 1] = size
    return offsets, order[:size]


@kernel
def _descending(offsets, scores):
    """Places of the scores of each row, the best first; equal scores keep their order."""
    order = np.empty(len(scores), np.int64)
    for row in range(len(offsets) - 1):
        own = slice(offsets[row], offsets[row + 1])
        order[own] = offsets[row] + np.argsort(-scores[own], kind="mergesort")
    return order


def reached(rows: Ragged | ScoredAnswers, degrees: np.ndarray) -> np.ndarray:
    """How many degrees of each row are at least each of `THRESHOLDS`, (n_rows, 101) int64."""
    n, n_rows = len(THRESHOLDS), len(rows.offsets) - 1
    places = np.empty(len(degrees), np.int32)
    locate(degrees, places)
    exactly = np.bincount(row_numbers(rows) * n + places, minlength=n_rows * n)
    return np.cumsum(exactly.reshape(n_rows, n)[:, ::-1], axis=1)[:, ::-1]
