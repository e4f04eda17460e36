"""Metrics of retrieved lists at one or more cut-offs, and their means.

The definitions are those of klieo-eval (1.0.0). A mean over nothing is 0 there and here; a report
that shows it has to say that there was nothing (`clqa.retrieval_reports`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.metrics import cut_off
from clqa.retrieval import (
    capped_recall,
    first_hit_ranks,
    hit_rate,
    ndcg,
    precision,
    recall,
    reciprocal_first_hits,
)
from clqa.tie_blocks import Blocks


class ListScores(NamedTuple):
    """Values per query for each cut-off.

    Attributes
    ----------
    cut_offs : tuple of n_cut_offs int
    expected_count : (n_queries,) int64
    first_hit : (n_cut_offs, n_queries) int64 or None
        Rank of the first hit in the window, 0 where there is none; None under `expected` ties,
        where it is not one number.
    hit, reciprocal_rank, precision, recall, capped_recall, ndcg : (n_cut_offs, n_queries) float64
        Where nothing is expected they are 0. Capped recall divides by min(expected, k).
    """

    cut_offs: tuple[int, ...]
    expected_count: np.ndarray
    first_hit: np.ndarray | None
    hit: np.ndarray
    reciprocal_rank: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    capped_recall: np.ndarray
    ndcg: np.ndarray


class Means(NamedTuple):
    """Means at one cut-off, 0 over nothing, as klieo-eval defines them.

    Recall, capped recall and NDCG are means over the `n_expected` queries that expect something,
    the others over all `n_queries`.
    """

    k: int
    n_queries: int
    n_expected: int
    hit_rate: float
    mrr: float
    precision: float
    recall: float
    capped_recall: float
    ndcg: float


def list_scores(blocks: Blocks, cut_offs: Sequence[int], ties: str = "pessimistic") -> ListScores:
    """Metrics of lists at one or more cut-offs; see `clqa.retrieval` for ties."""
    cut_offs = tuple(cut_off(k) for k in cut_offs)
    if len(set(cut_offs)) < len(cut_offs) or not cut_offs:
        raise InputError(f"k must be one or more different whole numbers, not {list(cut_offs)}")
    metrics = (hit_rate, reciprocal_first_hits, precision, recall, capped_recall, ndcg)
    values = [np.array([metric(blocks, ties, k) for k in cut_offs]) for metric in metrics]
    first = None
    if ties != "expected":
        ranks = first_hit_ranks(blocks, ties).astype(np.int64)
        first = np.array([np.where(ranks <= k, ranks, 0) for k in cut_offs])
    return ListScores(cut_offs, blocks.expected, first, *values)


def means(scores: ListScores) -> list[Means]:
    """Exactly summed means at each cut-off."""
    some = scores.expected_count > 0
    found = []
    for place, k in enumerate(scores.cut_offs):
        over_all = (scores.hit, scores.reciprocal_rank, scores.precision)
        over_some = (scores.recall, scores.capped_recall, scores.ndcg)
        values = [_mean(metric[place]) for metric in over_all]
        values += [_mean(metric[place][some]) for metric in over_some]
        found.append(Means(k, len(some), int(some.sum()), *values))
    return found


def _mean(values: np.ndarray) -> float:
    return math.fsum(values) / max(len(values), 1)
