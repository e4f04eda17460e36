"""Comparison of sets that are rows of `Ragged` arrays."""

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
    keys = np.concatenate([row_keys(rows, n_ids), row_keys(others, n_ids)])
    keys.sort(kind="stable")
    return Ragged(rows.offsets + others.offsets, (keys % n_ids).astype(np.int32))


def reordered(rows: Ragged, order: np.ndarray) -> Ragged:
    """The rows in another order."""
    lengths = rows.lengths()[order]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    starts = np.repeat(rows.offsets[order] - offsets[:-1], lengths)
    return Ragged(offsets, rows.values[starts + np.arange(offsets[-1])])
