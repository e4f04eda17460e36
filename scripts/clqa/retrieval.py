"""Metrics of ranked lists: precision, recall, NDCG, hit rate and the first hit, ties included.

Each metric takes `Blocks` (`clqa.tie_blocks`) and gives one float64 per query. `k` is a cut-off, or
one for each query; None takes the whole list. Items beyond the end of a list are nowhere, so that a
short list costs precision. A query without expected items has 0 throughout, as klieo-eval (1.0.0)
defines it; callers that average leave it out or say so.

Ties: in a block the irrelevant items come first (`pessimistic`), or last (`optimistic`), or a value
is the exact mean over all orders of the block (`expected`). `realistic` has a meaning for the first
hit alone, whose rank is then the mean of the other two. Elsewhere it has none: if tied items all
take the mean of their places, a block may put more of them within the first k places than there are
places.

Over single answers of a stratum, such as those that need two missing links, the expected items are
these answers alone: the others are no candidates, as ever.
"""

import functools
from collections.abc import Callable

import numpy as np

from clqa.errors import InputError
from clqa.first_hits import chances, first_blocks, mean_reciprocals
from clqa.kernels import kernel
from clqa.metrics import cut_off, metric_parts
from clqa.tie_blocks import Blocks
from clqa.ties import tie_policy

WHOLE = np.iinfo(np.int64).max  # a cut-off that cuts nothing


def precision(blocks: Blocks, ties: str, k: int) -> np.ndarray:
    """Relevant items among the first `k`, divided by `k` even where a list is shorter."""
    return _found(blocks, ties, k) / _cut_offs(blocks, k)


def recall(blocks: Blocks, ties: str, k: int | None = None) -> np.ndarray:
    """Share of the expected items that are among the first `k`."""
    return _found(blocks, ties, k) / np.maximum(blocks.expected, 1)


def capped_recall(blocks: Blocks, ties: str, k: int) -> np.ndarray:
    """Relevant items among the first `k`, divided by as many as could be there."""
    most = np.minimum(blocks.expected, _cut_offs(blocks, k))
    return _found(blocks, ties, k) / np.maximum(most, 1)


def retrieval_accuracy(blocks: Blocks, ties: str) -> np.ndarray:
    """Share of the expected items among as many first places as there are expected items.

    EFO-1-QA (Wang et al., 2021) reports it for hard answers, ranked without the easy ones.
    Elsewhere it is known as R-precision.
    """
    return recall(blocks, ties, np.maximum(blocks.expected, 1))


def ndcg(blocks: Blocks, ties: str, k: int | None = None) -> np.ndarray:
    """Discounted gain of the relevant items among the first `k`, divided by the largest possible.

    A relevant item at place p gains 1 / log2(p + 1). The largest gain has min(expected, k) of them
    in the first places.
    """
    _need(ties, "ndcg")
    k = _cut_offs(blocks, k)
    reach = max((blocks.before + blocks.size).max(initial=0), blocks.expected.max(initial=0))
    ideal = np.minimum(k, blocks.expected)
    places = np.arange(1, min(int(k.max(initial=0)), int(reach)) + 1)
    gains = 1.0 / np.log2(places + 1.0)
    low, high, share = _span(blocks, ties)
    within = _per_block(blocks, k)
    gained = share * _gained(gains, np.minimum(within, low), np.minimum(within, high))
    best = np.concatenate([[0.0], np.cumsum(gains)])
    return _per_query(blocks, gained) / np.where(ideal > 0, best[ideal], 1.0)


def hit_rate(blocks: Blocks, ties: str, k: int | None = None) -> np.ndarray:
    """1 where a relevant item is among the first `k`, else 0; under `expected` the probability."""
    k = _cut_offs(blocks, k)
    if ties == "expected":
        return chances(blocks, k)
    ranks = first_hit_ranks(blocks, ties)
    return ((ranks > 0) & (ranks <= k)).astype(np.float64)


def reciprocal_first_hits(blocks: Blocks, ties: str, k: int | None = None) -> np.ndarray:
    """1 / rank of the first relevant item, 0 where there is none among the first `k`."""
    k = _cut_offs(blocks, k)
    if ties == "expected":
        return mean_reciprocals(blocks, k)
    ranks = first_hit_ranks(blocks, ties)
    return np.where((ranks > 0) & (ranks <= k), 1.0 / np.maximum(ranks, 1.0), 0.0)


def first_hit_ranks(blocks: Blocks, ties: str) -> np.ndarray:
    """Rank of the first relevant item, 0 where there is none; `expected` has no such rank."""
    _need(ties, "the rank of the first hit", ("pessimistic", "optimistic", "realistic"))
    share = {"pessimistic": 1.0, "optimistic": 0.0, "realistic": 0.5}[ties]
    ranks = np.zeros(len(blocks.expected))
    some, first = first_blocks(blocks)
    others = blocks.size[first] - blocks.relevant[first]
    ranks[some] = blocks.before[first] + 1 + share * others
    return ranks


def _need(
    ties: str, metric: str, known: tuple[str, ...] = ("pessimistic", "optimistic", "expected")
):
    if tie_policy(ties) not in known:
        raise InputError(f"ties: {metric} has no {ties} value; it has {', '.join(known)}")


def _cut_offs(blocks: Blocks, k) -> np.ndarray:
    """One cut-off for each query."""
    if isinstance(k, np.ndarray) and k.shape == blocks.expected.shape:
        return k.astype(np.int64)
    return np.full(len(blocks.expected), WHOLE if k is None else min(cut_off(k), WHOLE))


def _per_block(blocks: Blocks, values: np.ndarray) -> np.ndarray:
    return np.repeat(values, np.diff(blocks.offsets))


def _per_query(blocks: Blocks, values: np.ndarray) -> np.ndarray:
    """Sum over the blocks of each query, from its first to its last."""
    owner = np.repeat(np.arange(len(blocks.expected)), np.diff(blocks.offsets))
    return np.bincount(owner, weights=values, minlength=len(blocks.expected))


def _span(blocks: Blocks, ties: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
    """Places (low, high] of each block that its relevant items fill, and to what share."""
    end = blocks.before + blocks.size
    if ties == "pessimistic":
        return end - blocks.relevant, end, 1.0
    if ties == "optimistic":
        return blocks.before, blocks.before + blocks.relevant, 1.0
    return blocks.before, end, blocks.relevant / blocks.size


def _found(blocks: Blocks, ties: str, k) -> np.ndarray:
    """Relevant items among the first `k`."""
    _need(ties, "a number of hits")
    low, high, share = _span(blocks, ties)
    within = _per_block(blocks, _cut_offs(blocks, k))
    return _per_query(blocks, share * np.clip(within - low, 0, high - low))


@kernel
def _gained(gains, low, high):
    """Sum of the gains of the places (low, high] of each block, term by term as the ideal one."""
    sums = np.zeros(low.size)
    for block in range(low.size):
        for place in range(low[block], high[block]):
            sums[block] += gains[place]
    return sums


# Functions of the metrics of queries in `clqa.metrics.METRICS`; `values(blocks, ties)` gives one
# float64 per query.
VALUES = {
    "precision": precision,
    "recall": recall,
    "capped_recall": capped_recall,
    "ndcg": ndcg,
    "hit_rate": hit_rate,
    "first_hit_mrr": reciprocal_first_hits,
    "retrieval_accuracy": retrieval_accuracy,
}


def query_metric(identifier: str) -> Callable[[Blocks, str], np.ndarray]:
    """The function of a metric of queries, such as `ndcg@10`, with its K.

    Raises
    ------
    InputError
        If there is no such metric of queries.
    """
    name, k = metric_parts(identifier)
    if name not in VALUES:
        raise InputError(f"metrics: {identifier!r} is a metric of answers, not of queries")
    return VALUES[name] if k is None else functools.partial(VALUES[name], k=k)


def query_values(identifier: str, blocks: Blocks, ties: str) -> np.ndarray:
    """Values of a metric for averages over queries: NaN where nothing is expected."""
    values = query_metric(identifier)(blocks, ties)
    return np.where(blocks.expected > 0, values, np.nan)
