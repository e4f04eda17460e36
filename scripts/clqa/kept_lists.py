"""Metrics of ranked lists from kept scores, against whatever answers are chosen as true.

With `hard` true a ranking is that of the candidates and the hard answers, easy ones taken out, and
the hard answers are expected; with `full` true all answers on the full graph are expected, and
those that hold on the observed graph alone compete. What is not kept of a ranking stands behind at
least as many candidates as are kept, so that nothing within the first of these depends on it, but
for the number of ties with the last one that is kept: `expected` values need it.
"""

from typing import NamedTuple

import numpy as np

from clqa.averages import mean
from clqa.kept_scores import Judged
from clqa.kernels import kernel
from clqa.retrieval import hit_rate, ndcg, precision, recall, reciprocal_first_hits
from clqa.tie_blocks import blocks_of_counts

# By column; over queries without true answers there are means of the first three alone.
METRICS = {
    "hit_rate": hit_rate,
    "first_hit_mrr": reciprocal_first_hits,
    "list_precision": precision,
    "list_recall": recall,
    "ndcg": ndcg,
}
_OF_ASKED = ("list_recall", "ndcg")
# How a column ends, by tie policy.
TIES = {"pessimistic": "", "expected": "_expected"}
COLUMNS = tuple(f"{name}{ending}" for ending in TIES.values() for name in METRICS)


class ListValues(NamedTuple):
    """Values of n queries.

    Attributes
    ----------
    columns : dict
        (n,) float64 by column, NaN where a value is not known.
    is_asked : (n,) bool
        Whether there are true answers.
    """

    columns: dict[str, np.ndarray]
    is_asked: np.ndarray


def list_values(own: Judged, k: int) -> ListValues:
    """Metrics of the first `k` of each ranking; lists that are cut hold at least `k`."""
    tops, true = own.tops, own.true_scores
    counts = _rivals(tops.offsets, tops.scores, own.is_true, *true)
    blocks = blocks_of_counts(true.offsets, *counts)
    is_open = tops.is_open_at(np.full(len(tops.floor), -np.inf))
    at_floor = true.scores == np.repeat(tops.floor, np.diff(true.offsets))
    owners = np.repeat(np.arange(len(tops.floor)), np.diff(true.offsets))
    is_open[np.bincount(owners[at_floor], minlength=len(is_open)) == 0] = False
    columns = {}
    for ties, ending in TIES.items():
        for name, values_of in METRICS.items():
            values = values_of(blocks, ties, k)
            columns[name + ending] = np.where(is_open & (ties == "expected"), np.nan, values)
    return ListValues(columns, np.diff(true.offsets) > 0)


def list_means(values: ListValues, chosen: np.ndarray) -> dict[str, float]:
    """Means over the queries that are chosen; without those that are not known."""
    means = {}
    for column, of_queries in values.columns.items():
        kept = chosen & values.is_asked if column.startswith(_OF_ASKED) else chosen
        if kept.any() and not np.isnan(of_queries[kept]).any():
            means[column] = mean(of_queries[kept].tolist())
    return means


@kernel
def _rivals(offsets, scores, is_true, true_offsets, true_scores):
    """For each true answer the numbers of listed others that score better, and the same."""
    greater = np.empty(len(true_scores), np.int64)
    tied = np.empty(len(true_scores), np.int64)
    for row in range(len(offsets) - 1):
        own = slice(offsets[row], offsets[row + 1])
        rivals = -scores[own][~is_true[own]]
        for place in range(true_offsets[row], true_offsets[row + 1]):
            greater[place] = np.searchsorted(rivals, -true_scores[place], "left")
            tied[place] = np.searchsorted(rivals, -true_scores[place], "right") - greater[place]
    return greater, tied
