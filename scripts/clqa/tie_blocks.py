"""Rankings as blocks of places whose items are interchangeable.

What a metric of a ranked list needs to know is where the relevant items can stand. A *block* is a
run of places that share their items in any order: the items of one score, or relevant items with
none but relevant ones between them. Blocks without a relevant item are not kept.

A ranking comes as a list with or without scores, or as the counts of `clqa.ranks`. There the
ranking of a query is that of all candidates with its other answers (easy ones) removed, the
relevant items are its hard answers, and each of them has `greater` and `tied` among the candidates
that are none. These counts are enough:

* Answers of one score have the same counts. Of two answers with different scores, the better one
  has `greater` + `tied` at most equal to the other's `greater`. So equal counts with `tied` > 0
  mean equal scores; equal counts with `tied` = 0 mean that no candidate stands between them, and
  then their own order does not matter.
* With equal `greater`, an answer without ties stands before those with ties. So the answers in the
  order of (greater, tied) are in the order of their scores, and ahead of a block stand `greater`
  candidates and the answers of the blocks before it.

Counts in which other hard answers compete (the filter `none`) have no such reading.
"""

from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel

_HALF = 32  # bits of a sort key that hold `tied`


class Blocks(NamedTuple):
    """The blocks of n_queries rankings, the first places first.

    Attributes
    ----------
    offsets : (n_queries + 1,) int64
        Query i has the blocks `offsets[i]:offsets[i + 1]`.
    before : (n_blocks,) int64
        Number of items ahead of the block.
    size, relevant : (n_blocks,) int64
        Its items, and how many of them are relevant: at least one.
    expected : (n_queries,) int64
        Relevant items that there are, ranked or not.
    """

    offsets: np.ndarray
    before: np.ndarray
    size: np.ndarray
    relevant: np.ndarray
    expected: np.ndarray


def blocks_of_counts(offsets: np.ndarray, greater: np.ndarray, tied: np.ndarray) -> Blocks:
    """Blocks of rankings of which the counts per hard answer are known.

    Parameters
    ----------
    offsets : (n_queries + 1,) int
        The hard answers of query i are `offsets[i]:offsets[i + 1]`, in any order. Some answers may
        be left out: then they are in no ranking.
    greater, tied : (n_answers,) int
        Candidates that are no hard answers and score strictly better, and the same.

    Raises
    ------
    InputError
        If there are no scores from which these counts could come.
    """
    offsets = np.asarray(offsets, np.int64)
    greater, tied = (np.asarray(counts, np.int64) for counts in (greater, tied))
    if not len(greater) == len(tied) == offsets[-1]:
        raise InputError(f"counts of {len(greater)} answers; the offsets end at {offsets[-1]}")
    if len(greater) and min(greater.min(), tied.min()) < 0:
        raise InputError("counts of candidates must not be negative")
    if len(greater) and max(greater.max(), tied.max()) >= 1 << (_HALF - 1):
        raise InputError(f"counts of candidates must be below {1 << (_HALF - 1)}")
    starts, fields = _empty(len(offsets) - 1, len(greater))
    bad = _join_counts(offsets, (greater << _HALF) | tied, starts, *fields)
    if bad >= 0:
        raise InputError(
            f"query {bad}: counts that contradict each other; they must leave out all its hard"
            " answers, and be counted with tie_atol 0"
        )
    return _trimmed(starts, fields, np.diff(offsets))


def blocks_of_lists(
    offsets: np.ndarray, relevant: np.ndarray, joined: np.ndarray, expected: np.ndarray
) -> Blocks:
    """Blocks of lists.

    Parameters
    ----------
    offsets : (n_queries + 1,) int64
        The list of query i is `offsets[i]:offsets[i + 1]`, the first place first.
    relevant : (n_items,) bool
    joined : (n_items,) bool
        Whether an item ties with the one before it; of the first of a list it means nothing.
    expected : (n_queries,) int64
        Relevant items that there are, listed or not.
    """
    starts, fields = _empty(len(offsets) - 1, len(relevant))
    _join_items(offsets, relevant, joined, starts, *fields)
    return _trimmed(starts, fields, expected)


def _empty(n_queries: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n_queries + 1, np.int64), np.empty((3, n_items), np.int64)


def _trimmed(starts: np.ndarray, fields: np.ndarray, expected: np.ndarray) -> Blocks:
    return Blocks(starts, *fields[:, : starts[-1]], np.asarray(expected, np.int64))


@kernel
def _join_counts(offsets, keys, starts, before, size, relevant):
    """Fill blocks from sort keys, which are overwritten; return a query that cannot be, or -1."""
    n_blocks = 0
    for query in range(offsets.size - 1):
        own = keys[offsets[query] : offsets[query + 1]]
        own.sort()
        place, reached = 0, 0
        while place < own.size:
            end = place + 1
            while end < own.size and own[end] == own[place]:
                end += 1
            greater = own[place] >> _HALF
            tied = own[place] & ((1 << _HALF) - 1)
            if greater < reached:
                return query
            reached = greater + tied
            before[n_blocks] = greater + place
            size[n_blocks] = tied + end - place
            relevant[n_blocks] = end - place
            n_blocks += 1
            place = end
        starts[query + 1] = n_blocks
    return -1


@kernel
def _join_items(offsets, is_relevant, joined, starts, before, size, relevant):
    n_blocks = 0
    for query in range(offsets.size - 1):
        first, last = offsets[query], offsets[query + 1]
        place = first
        while place < last:
            end, found = place + 1, np.int64(is_relevant[place])
            while end < last and joined[end]:
                found += is_relevant[end]
                end += 1
            previous = n_blocks - 1
            if (
                found == end - place
                and previous >= starts[query]
                and relevant[previous] == size[previous]
                and before[previous] + size[previous] == place - first
            ):
                size[previous] += found
                relevant[previous] += found
            elif found:
                before[n_blocks] = place - first
                size[n_blocks] = end - place
                relevant[n_blocks] = found
                n_blocks += 1
            place = end
        starts[query + 1] = n_blocks
