"""Comparison of sets, of ids or of tuples of ids, that are rows of `Ragged` arrays."""

from collections.abc import Sequence

import numpy as np

from clqa.ragged import Ragged


def row_numbers(rows: Ragged) -> np.ndarray:
    """For each value the row that it is in."""
    return np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))


def row_keys(rows: Ragged, n_ids: int) -> np.ndarray:
    """One ascending number for each row and value; values are below `n_ids`."""
    return row_numbers(rows) * np.int64(n_ids) + rows.values


def is_shared(rows: Ragged, others: Ragged, n_ids: int) -> np.ndarray:
    """For each value whether the same row of `others` has it."""
    if rows.values.ndim > 1:
        every, (rows, others) = numbered([rows, others])
        n_ids = int(every.lengths().max(initial=1))
    keys, known = row_keys(rows, n_ids), row_keys(others, n_ids)
    places = np.searchsorted(known, keys)
    shared = np.zeros(len(keys), bool)
    inside = places < len(known)
    shared[inside] = known[places[inside]] == keys[inside]
    return shared


def selected(rows: Ragged, mask: np.ndarray) -> Ragged:
    """The values under a mask, in their rows."""
    before = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    return Ragged(before[rows.offsets], rows.values[mask])


def merged(rows: Ragged, others: Ragged, n_ids: int) -> Ragged:
    """Union of disjoint sets, row by row."""
    if rows.values.ndim > 1:
        return numbered([rows, others])[0]
    keys = np.concatenate([row_keys(rows, n_ids), row_keys(others, n_ids)])
    keys.sort(kind="stable")
    return Ragged(rows.offsets + others.offsets, (keys % n_ids).astype(np.int32))


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
