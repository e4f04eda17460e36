"""Where the first relevant item of a ranking stands when ties are in random order.

Of r relevant items among m that tie behind b others, the first stands at place b + j with the
probability C(m - j, r - 1) / C(m, r), for j from 1 to m - r + 1. Only the first block of a ranking
matters, since every block holds a relevant item.
"""

import numpy as np

from clqa.kernels import kernel
from clqa.tie_blocks import Blocks
from clqa.ties import expected_reciprocals

_NEGLIGIBLE = 1e-18
_FAR = 16


def first_blocks(blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """Queries that have a block, and the first one of each."""
    some = np.flatnonzero(np.diff(blocks.offsets) > 0)
    return some, blocks.offsets[some]


def chances(blocks: Blocks, k: np.ndarray) -> np.ndarray:
    """Probability that a relevant item is among the first `k`, one cut-off for each query."""
    values = np.zeros(len(blocks.expected))
    some, first = first_blocks(blocks)
    before, size, relevant = blocks.before[first], blocks.size[first], blocks.relevant[first]
    values[some] = _chances(size, relevant, np.clip(k[some] - before, 0, size))
    return values


def mean_reciprocals(blocks: Blocks, k: np.ndarray) -> np.ndarray:
    """Mean of 1 / rank of the first relevant item, taken as 0 where that is not in the first `k`.

    Long ties have closed forms, with harmonic numbers, for one relevant item and for no cut-off;
    else the mean is summed place by place.
    """
    values = np.zeros(len(blocks.expected))
    some, first = first_blocks(blocks)
    before, size, relevant = blocks.before[first], blocks.size[first], blocks.relevant[first]
    last = size - relevant + 1
    window = np.clip(k[some] - before, 0, last)
    closed = (relevant == 1) | ((window == last) & (relevant * (before + _FAR) <= size))
    closed &= window > 0
    means = _summed_reciprocals(before, size, relevant, np.where(closed, 0, window))
    window, before, size, relevant = (part[closed] for part in (window, before, size, relevant))
    # One relevant item is at each place alike; where a window cuts, only its places count.
    places = np.where(relevant == 1, window, size)
    single = expected_reciprocals(before, places - 1) * (places / size)
    means[closed] = _raised_reciprocals(single, before, size, relevant)
    values[some] = means
    return values


@kernel
def _chances(size, relevant, window):
    """Probability that a relevant item is among the first `window` of `size`."""
    chances = np.empty(size.size)
    for block in range(size.size):
        none = 1.0
        draws, marked = window[block], relevant[block]
        if draws < marked:
            draws, marked = marked, draws
        # None of `marked` items falls into `draws` of the places; which is which does not matter.
        for item in range(marked):
            none *= max(size[block] - draws - item, 0) / (size[block] - item)
        chances[block] = 1.0 - none
    return chances


@kernel
def _summed_reciprocals(before, size, relevant, window):
    """Sum of P(the first relevant item is item j) / (before + j) over j up to `window`.

    It ends early where what is left is below 1e-18 of it.
    """
    means = np.empty(size.size)
    for block in range(size.size):
        r, b, later, total = relevant[block], before[block], 1.0, 0.0
        for place in range(1, window[block] + 1):
            inverse = 1.0 / (float(size[block] - place + 1) * (b + place))
            total += later * r * inverse
            later *= 1.0 - r * (b + place) * inverse
            if later < _NEGLIGIBLE * total * (b + place):
                break
        means[block] = total
    return means


@kernel
def _raised_reciprocals(single, before, size, relevant):
    """The same sum over all places of a block, from its value for one relevant item.

    E_r = r ((m + b - r + 2) E_{r-1} - 1) / ((r - 1) (m - r + 1)), from C(m - j, r - 1) =
    C(m - j, r - 2) (m - j - r + 2) / (r - 1). Its errors grow where b is large beside m; with
    r (b + 16) at most m they stay within some units of the last place.
    """
    means = single.copy()
    for block in range(size.size):
        reach = size[block] + before[block]
        for r in range(2, relevant[block] + 1):
            rest = (reach - r + 2) * means[block] - 1.0
            means[block] = r * rest / (float(r - 1) * (size[block] - r + 1))
    return means
