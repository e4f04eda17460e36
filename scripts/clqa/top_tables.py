"""Tables of what is kept of the scores of a query: its best candidates and its answers' scores.

Columns: `query_id`, `shape`, `candidates` (how many entities compete, answers apart), `entities`
and `scores` (the best of them, by score and then id), `answer_scores` (of the easy and the hard
answers together, by id) and `reaching` (how many candidates have at least each score of 0, 0.01,
..., 1; null where a score is no degree).
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.errors import damaged, placed
from clqa.failed_shapes import refuse_failed
from clqa.query_sets import ORIGIN, Answers, AnswerTable
from clqa.ragged import Ragged
from clqa.ranks import Ranking
from clqa.tables import Contents, read_table, write_table
from clqa.top_candidates import THRESHOLDS

TOPS = Contents(
    rule="rank_answers",
    columns={
        **dict.fromkeys(("query_id", "shape"), "text"),
        "candidates": "whole numbers",
        "entities": "lists of whole numbers",
        **dict.fromkeys(("scores", "answer_scores"), "lists of numbers"),
        "reaching": "lists of whole numbers",
    },
    metadata={**ORIGIN, "model": dict, "depth": int},
    may_be_null=("reaching",),
)


_EMPTY = pa.schema(
    [(name, pa.string()) for name in ("query_id", "shape")]
    + [("candidates", pa.int32()), ("entities", pa.list_(pa.int32()))]
    + [(name, pa.list_(pa.float32())) for name in ("scores", "answer_scores")]
    + [("reaching", pa.list_(pa.int32()))]
).empty_table()


class QueryTops(NamedTuple):
    """The best candidates of the queries of one shape, and the scores of their answers.

    Attributes
    ----------
    candidates : (n,) int64
        How many entities compete that are no answers.
    best : Ragged
        Entities, by descending score and then ascending id.
    scores : (len(best.values),) float
    answer_scores : (n_answers,) float
        Of the easy and the hard answers together, ascending by id.
    reaching : (n, 101) int32
        Candidates with at least each score of `THRESHOLDS`; -1 where a score is no degree.
    """

    candidates: np.ndarray
    best: Ragged
    scores: np.ndarray
    answer_scores: np.ndarray
    reaching: np.ndarray


def write_tops(
    path: str | os.PathLike, answers: AnswerTable, rankings: Sequence[Ranking], metadata: dict
) -> None:
    """Write the tops of all shapes, in the order of the answers; there may be none."""
    n_entities = metadata["n_entities"] if answers.candidates is None else len(answers.candidates)
    parts = [
        _shape_table(shape, part, ranking, _n_candidates(answers, part, n_entities))
        for (shape, part), ranking in zip(answers.shapes.items(), rankings, strict=True)
    ]
    table = pa.concat_tables(parts or [_EMPTY]).combine_chunks()
    write_table(path, table, metadata)


def _n_candidates(answers: AnswerTable, part: Answers, n_entities: int) -> np.ndarray:
    """How many entities compete with the answers of each query, answers apart."""
    found = np.full(len(part.query_ids), n_entities, np.int64)
    for rows in (part.easy, part.hard):
        inside = np.ones(len(rows.values), bool)
        if answers.candidates is not None:
            inside = np.isin(rows.values, answers.candidates)
        before = np.concatenate([[0], np.cumsum(inside)])
        found -= np.diff(before[rows.offsets])
    return found


def _shape_table(shape: str, part: Answers, ranking: Ranking, n_candidates) -> pa.Table:
    tops, n = ranking.tops, len(part.query_ids)
    offsets = part.easy.offsets + part.hard.offsets
    known = tops.reaching.min(axis=1, initial=0) >= 0
    counted = Ragged(np.arange(n + 1) * tops.reaching.shape[1], tops.reaching.ravel())
    return pa.table(
        {
            "query_id": pa.array(part.query_ids, pa.string()),
            "shape": pa.array([shape] * n, pa.string()),
            "candidates": n_candidates.astype(np.int32),
            "entities": _lists(tops.ids),
            "scores": _lists(Ragged(tops.ids.offsets, tops.scores)),
            "answer_scores": _lists(Ragged(offsets, ranking.looked_up)),
            "reaching": _lists(counted, known),
        }
    )


def _lists(rows: Ragged, known: np.ndarray | None = None) -> pa.ListArray:
    mask = None if known is None or known.all() else pa.array(~known)
    offsets = pa.array(rows.offsets.astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(rows.values), mask=mask)


def read_tops(path: str | os.PathLike, answers: AnswerTable) -> tuple[dict[str, QueryTops], dict]:
    """The tops of each shape, and the metadata of the table.

    Raises
    ------
    InputError
        If the file is damaged, or not of the answers, or the model failed on some of the shapes.
    """
    table, metadata = read_table(path, TOPS)
    table = table.combine_chunks()
    with placed(path):
        refuse_failed(metadata["model"].get("model"), metadata.get("failed", {}))
    ids = [name for part in answers.shapes.values() for name in part.query_ids]
    if table["query_id"].to_pylist() != ids:
        raise damaged(path, "not of the queries of these answers", TOPS.rule)
    found, first = {}, 0
    for shape, part in answers.shapes.items():
        n = len(part.query_ids)
        found[shape] = _of_shape(table.slice(first, n), part)
        first += n
        if found[shape] is None:
            raise damaged(path, f"{shape}: not of these answers", TOPS.rule)
    return found, metadata


def _of_shape(rows: pa.Table, part: Answers) -> QueryTops | None:
    best, scores, answered, reaching = (
        _ragged(rows, name) for name in ("entities", "scores", "answer_scores", "reaching")
    )
    wanted = part.easy.offsets + part.hard.offsets
    if not (
        np.array_equal(best.offsets, scores.offsets) and np.array_equal(answered.offsets, wanted)
    ):
        return None
    counts = np.full((rows.num_rows, len(THRESHOLDS)), -1, np.int32)
    known = reaching.lengths() > 0
    if (reaching.lengths()[known] != len(THRESHOLDS)).any():
        return None
    counts[known] = reaching.values.reshape(-1, len(THRESHOLDS))
    n_candidates = rows["candidates"].to_numpy().astype(np.int64)
    return QueryTops(n_candidates, best, scores.values, answered.values, counts)


def _ragged(rows: pa.Table, name: str) -> Ragged:
    lists = rows[name].combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    offsets = np.concatenate([[0], np.cumsum(np.asarray(lists.value_lengths().fill_null(0)))])
    return Ragged(offsets.astype(np.int64), np.asarray(lists.flatten()))
