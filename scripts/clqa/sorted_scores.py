"""Stable order of a few hundred scores at most, in less time than a general sort takes."""

import numpy as np

from clqa.kernels import kernel

_FEW = 16
_BUCKETS = 256
# Scores closer together than this are left to a general sort: 1 / `_LEAST` is finite in float32.
_LEAST = 1e-30
# As are more scores than this in one bucket.
_CROWDED = 64


@kernel
def descending(scores):
    """Places of the scores, the best first; equal scores keep their order. None is NaN.

    Scores are dealt into buckets of equal width, best first, and put in order within them.
    """
    order = np.arange(scores.size)
    if scores.size <= _FEW:
        _insert(scores.copy(), order)
        return order
    high = scores.max()
    spread = high - scores.min()
    if not _LEAST < spread < np.inf:
        return np.argsort(-scores, kind="mergesort")
    scale = scores.dtype.type(_BUCKETS - 1) / spread
    ends = np.zeros(_BUCKETS + 1, np.int64)
    for place in range(scores.size):
        ends[np.int64((high - scores[place]) * scale) + 1] += 1
    if ends.max() > _CROWDED:
        return np.argsort(-scores, kind="mergesort")
    for bucket in range(_BUCKETS):
        ends[bucket + 1] += ends[bucket]
    dealt = np.empty_like(scores)
    for place in range(scores.size):
        bucket = np.int64((high - scores[place]) * scale)
        dealt[ends[bucket]] = scores[place]
        order[ends[bucket]] = place
        ends[bucket] += 1
    _insert(dealt, order)
    return order


@kernel
def _insert(scores, order):
    """Sort both by the scores, which are nearly in order."""
    for place in range(1, scores.size):
        score, item, free = scores[place], order[place], place
        while free > 0 and scores[free - 1] < score:
            scores[free] = scores[free - 1]
            order[free] = order[free - 1]
            free -= 1
        scores[free] = score
        order[free] = item
