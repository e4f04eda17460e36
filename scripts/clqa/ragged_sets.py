"""Comparison of sets, of ids or of tuples of ids, that are rows of `Ragged` arrays."""

from collections.abc import Sequence

import numpy as np

from clqa.kernels import kernel
from clqa.ragged import Ragged


def row_numbers(rows: Ragged) -> np.ndarray:
    """For each value the row that it is in."""
    return np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))


def row_keys(rows: Ragged, n_ids: int) -> np.ndarray:
    """One ascending number for each row and value; values are below `n_ids`."""
    return row_numbers(rows) * np.int64(n_ids) + rows.values


def is_shared(rows: Ragged, others: Ragged) -> np.ndarray:
    """For each value whether the same row of `others`, ascending, has it."""
    if rows.values.ndim > 1:
        rows, others = numbered([rows, others])[1]
    found = np.empty(len(rows.values), bool)
    _look_up(rows.offsets, rows.values, others.offsets, others.values, found)
    return found


@kernel
def _look_up(offsets, values, other_offsets, others, found):
    for row in range(offsets.size - 1):
        first, last = other_offsets[row], other_offsets[row + 1]
        cursor = first
        for place in range(offsets[row], offsets[row + 1]):
            if cursor > first and others[cursor - 1] >= values[place]:
                cursor = first
            while cursor < last and others[cursor] < values[place]:
                cursor += 1
            found[place] = cursor < last and others[cursor] == values[place]


def selected(rows: Ragged, mask: np.ndarray) -> Ragged:
    """The values under a mask, in their rows."""
    before = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    return Ragged(before[rows.offsets], rows.values[mask])


def union(rows: Ragged, others: Ragged) -> Ragged:
    """What is in either of two ascending sets, row by row."""
    if rows.values.ndim > 1:
        return numbered([rows, others])[0]
    values = np.empty(len(rows.values) + len(others.values), np.int32)
    offsets = np.zeros_like(rows.offsets)
    _unite(rows.offsets, rows.values, others.offsets, others.values, offsets, values)
    return Ragged(offsets, values[: offsets[-1]])


@kernel
def _unite(offsets, values, other_offsets, others, union_offsets, union):
    size = 0
    for row in range(offsets.size - 1):
        one, other = offsets[row], other_offsets[row]
        end, other_end = offsets[row + 1], other_offsets[row + 1]
        while one < end or other < other_end:
            goes_first = one < end and (other == other_end or values[one] <= others[other])
            union[size] = values[one] if goes_first else others[other]
            other += not goes_first or (other < other_end and values[one] == others[other])
            one += goes_first
            size += 1
        union_offsets[row + 1] = size


def without(rows: Ragged, others: Ragged) -> Ragged:
    """What is in one set and not in another, row by row."""
    return selected(rows, ~is_shared(rows, others))


def reordered(rows: Ragged, order: np.ndarray) -> Ragged:
    """The rows in another order."""
    lengths = rows.lengths()[order]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    starts = np.repeat(rows.offsets[order] - offsets[:-1], lengths)
    return Ragged(offsets, rows.values[starts + np.arange(offsets[-1])])


def numbered(sets: Sequence[Ragged]) -> tuple[Ragged, list[Ragged]]:
    """Every tuple of some sets once, and the sets with numbers in place of the tuples.

    A tuple's number is its place among those of its query, so that what is known of rows of ids
    (`clqa.filters`) holds for rows of numbers.
    """
    n_queries = len(sets[0].offsets) - 1
    rows = np.concatenate([row_numbers(one) for one in sets])
    tuples = np.concatenate([one.values for one in sets])
    order = np.lexsort((*tuples.T[::-1], rows))
    rows, tuples = rows[order], tuples[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (tuples[1:] != tuples[:-1]).any(axis=1)
    offsets = np.searchsorted(rows[is_new], np.arange(n_queries + 1)).astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_new) - 1
    ends = np.cumsum([len(one.values) for one in sets])[:-1]
    numbers = [
        Ragged(one.offsets, (part - offsets[row_numbers(one)]).astype(np.int32))
        for one, part in zip(sets, np.split(places, ends), strict=True)
    ]
    return Ragged(offsets, tuples[is_new]), numbers


def places_of(numbers: Ragged, every: Ragged) -> np.ndarray:
    """Where in `every.values` the tuples of some numbers are."""
    return every.offsets[row_numbers(numbers)] + numbers.values
