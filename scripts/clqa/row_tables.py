"""Hash tables over the rows of a matrix of ids, with open addressing."""

import numpy as np

from clqa.kernels import inlined
from clqa.randomness import mixed


@inlined
def row_slot(slots, rows, wanted):
    """Place of a row in a hash table, or of the gap where it belongs.

    Parameters
    ----------
    slots : (a power of 2,) int64
        Places in `rows`, -1 for gaps, of which there is one at least.
    rows : (n, width) int32
    wanted : (width,) int32
    """
    mask = np.uint64(len(slots) - 1)
    hashed = np.uint64(0)
    for value in wanted:
        hashed = mixed(hashed + np.uint64(value) + np.uint64(0x9E3779B97F4A7C15))
    place = hashed & mask
    while slots[place] >= 0:
        held = rows[slots[place]]
        same = True
        for j in range(len(wanted)):
            if held[j] != wanted[j]:
                same = False
                break
        if same:
            break
        place = (place + np.uint64(1)) & mask
    return place
