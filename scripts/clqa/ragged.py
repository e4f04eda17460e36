"""Rows of different lengths in two arrays."""

from typing import NamedTuple

import numpy as np


class Ragged(NamedTuple):
    """Rows of ids, or of k-tuples of ids: row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes
    ----------
    offsets : (n + 1,) int64
    values : (offsets[-1],) or (offsets[-1], k) int32
        Ascending within each row; tuples by their first id, then by the next ones.
    """

    offsets: np.ndarray
    values: np.ndarray

    def row(self, index: int) -> np.ndarray:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


def ragged(rows, arity: int = 1) -> Ragged:
    """Rows of ids, or of tuples of so many ids, each sorted, as a `Ragged`."""
    if arity == 1:
        rows = [np.sort(np.asarray(list(row), dtype=np.int32)) for row in rows]
    else:
        tuples = [sorted(tuple(map(int, ids)) for ids in row) for row in rows]
        rows = [np.array(row, np.int32).reshape(-1, arity) for row in tuples]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    nothing = np.empty(0 if arity == 1 else (0, arity), np.int32)
    return Ragged(offsets, np.concatenate([nothing, *rows]))


def part_of(rows: Ragged, first: int, last: int) -> Ragged:
    """The rows from `first` to before `last`."""
    offsets = rows.offsets[first : last + 1]
    return Ragged(offsets - offsets[0], rows.values[offsets[0] : offsets[-1]])


def is_ascending(ids: Ragged) -> bool:
    """Whether the ids, or tuples, of each row ascend, each of them once."""
    rises = np.zeros(max(len(ids.values) - 1, 0), bool)
    for column in np.atleast_2d(ids.values.T)[::-1]:
        steps = np.diff(column.astype(np.int64) if column.dtype.kind == "u" else column)
        rises = (steps > 0) | (steps == 0) & rises
    starts = ids.offsets[(ids.offsets > 0) & (ids.offsets < len(ids.values))]
    rises[starts - 1] = True
    return bool(rises.all())
