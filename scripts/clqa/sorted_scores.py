"""Stable order of a few hundred scores at most, in less time than a general sort takes."""

import numpy as np

from clqa.kernels import kernel

_FEW = 16
_BUCKETS = 128
# Scores closer together than this are left to a general sort: 1 / `_LEAST` is finite in float32.
_LEAST = 1e-30
# As are more scores than this in one bucket.
_CROWDED = 64


@kernel
def descending(scores):
    """Places of the scores, the best first; equal scores keep their order. None is NaN.

    Scores are dealt into buckets of equal width, best first, and put in order within them.
    """
    if scores.size <= _FEW:
        order = np.arange(scores.size)
        _insert(scores.copy(), order)
        return order
    high = low = scores[0]
    for place in range(scores.size):
        high = scores[place] if scores[place] > high else high
        low = scores[place] if scores[place] < low else low
    spread = high - low
    if not _LEAST < spread < np.inf:
        return np.argsort(-scores, kind="mergesort")
    scale = scores.dtype.type(_BUCKETS - 1) / spread
    buckets = np.empty(scores.size, np.uint32)
    for place in range(scores.size):
        buckets[place] = np.int32((high - scores[place]) * scale)
    ends = np.zeros(_BUCKETS + 1, np.uint32)
    for place in range(scores.size):
        ends[buckets[place] + np.uint32(1)] += 1
    most = np.uint32(0)
    for bucket in range(_BUCKETS):
        most = max(most, ends[bucket + 1])
        ends[bucket + 1] += ends[bucket]
    if most > _CROWDED:
        return np.argsort(-scores, kind="mergesort")
    order, dealt = np.empty(scores.size, np.int64), np.empty_like(scores)
    for place in range(scores.size):
        end = ends[buckets[place]]
        order[end], dealt[end] = place, scores[place]
        ends[buckets[place]] = end + 1
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
