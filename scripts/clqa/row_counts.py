"""How many scores of a row lie above, and how many on, each of some cuts.

With few cuts each is compared with the whole row, which compiles to SIMD compares; with many, each
score is located among the sorted cuts by a branch-free binary search that advances for a block of
scores at a time, and a histogram is summed up.
"""

import numpy as np

from clqa.kernels import kernel, reordering

# Cuts of more bytes than this are counted by histogram; 14,505 scores cost the same either way at
# about 115 cuts of float32 and 57 of float64.
_FEW = 448
_TILE = 5120
_BLOCK = 512


@kernel
def cuts_of_targets(row, targets, margin):
    """Distinct ends of the intervals of scores that tie with a target, ascending."""
    ends = np.empty(targets.size if margin[0] == 0 else 2 * targets.size, margin.dtype)
    for place in range(targets.size):
        ends[place] = row[targets[place]] - margin[0]
    for place in range(targets.size, ends.size):
        ends[place] = row[targets[place - targets.size]] + margin[0]
    ends.sort()
    size = 0
    for place in range(ends.size):
        if size == 0 or ends[place] != ends[size - 1]:
            ends[size] = ends[place]
            size += 1
    return ends[:size]


@kernel
def places_of_targets(cuts, row, targets, margin):
    """Places among the cuts of the upper and the lower end of each target."""
    high = np.empty(targets.size, np.int64)
    low = np.empty(targets.size, np.int64)
    for place in range(targets.size):
        high[place] = _place(cuts, row[targets[place]] + margin[0])
        low[place] = _place(cuts, row[targets[place]] - margin[0])
    return high, low


@kernel
def _place(cuts, value):
    """Place of `value`, which is one of the ascending cuts; without branches on data."""
    start, size = 0, cuts.size
    while size > 1:
        half = size // 2
        start += half * (cuts[start + half - 1] < value)
        size -= half
    return start


@kernel
def counts_of_cuts(row, cuts):
    """Per cut the number of scores above it, and of scores that reach it."""
    if cuts.nbytes <= _FEW:
        return _counts_by_comparing(row, cuts)
    return _counts_by_locating(row, cuts)


@kernel
def _counts_by_comparing(row, cuts):
    above = np.zeros(cuts.size, np.int64)
    reaching = np.zeros(cuts.size, np.int64)
    for start in range(0, row.size, _TILE):
        tile = row[start : start + _TILE]
        for place in range(cuts.size):
            n_above, n_reaching = _numbers_above(tile, cuts[place])
            above[place] += np.int64(n_above)
            reaching[place] += np.int64(n_reaching)
    return above, reaching


@reordering
def _numbers_above(tile, cut):
    """How many scores of a tile lie above a cut, and how many reach it.

    Both are counted in the type of the scores, exactly for a tile, since that takes fewer
    instructions than counting in whole numbers.
    """
    none, one = tile.dtype.type(0), tile.dtype.type(1)
    n_above, n_reaching = none, none
    for entity in range(tile.size):
        n_above += one if tile[entity] > cut else none
        n_reaching += one if tile[entity] >= cut else none
    return n_above, n_reaching


@kernel
def _counts_by_locating(row, cuts):
    """Histogram of 2 c + e over the scores, with c cuts below the score and e = 1 if on a cut."""
    n_steps = 1
    while 1 << n_steps <= cuts.size:
        n_steps += 1
    table = np.full(1 << n_steps, np.inf, cuts.dtype)
    for place in range(cuts.size):
        table[place] = cuts[place]
    # Four histograms in turn, since adding twice in a row to one place would wait for memory.
    histogram = np.zeros(8 * cuts.size + 8, np.int32)
    below = np.empty(_BLOCK, np.int32)
    for start in range(0, row.size, _BLOCK):
        block = row[start : start + _BLOCK]
        _locate(block, table, n_steps, below)
        for place in range(block.size):
            c = below[place]
            e = table[np.uint32(c)] == block[place]
            histogram[np.uint32(4 * (2 * c + e) + place % 4)] += 1
    return _sums_from_above(histogram, cuts.size)


@kernel
def _sums_from_above(histogram, n_cuts):
    """Scores above and on or above each cut, from 8 histogram entries per cut: 4 below, 4 on it."""
    above = np.empty(n_cuts, np.int64)
    reaching = np.empty(n_cuts, np.int64)
    total = np.int64(0)
    for place in range(8 * n_cuts, histogram.size):
        total += histogram[place]
    for cut in range(n_cuts - 1, -1, -1):
        above[cut] = total
        for place in range(8 * cut + 4, 8 * cut + 8):
            total += histogram[place]
        reaching[cut] = total
        for place in range(8 * cut, 8 * cut + 4):
            total += histogram[place]
    return above, reaching


@kernel
def _locate(block, table, n_steps, below):
    """Number of entries of the sorted `table` below each score, one step for all at a time."""
    for place in range(block.size):
        below[place] = 0
    for step in range(n_steps - 1, -1, -1):
        half = np.int32(1 << step)
        for place in range(block.size):
            start = below[place]
            smaller = table[np.uint32(start + half - 1)] < block[place]
            below[place] = np.int32(start + half) if smaller else start
