"""Rows of different lengths in two arrays."""

from typing import NamedTuple

import numpy as np


class Ragged(NamedTuple):
    """Rows of ids, or of tuples of ids: row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes
    ----------
    offsets : (n + 1,) int64
    values : (offsets[-1],) or (offsets[-1], k) int32, ascending within each row
    """

    offsets: np.ndarray
    values: np.ndarray

    def row(self, index: int) -> np.ndarray:
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


def ragged(rows) -> Ragged:
    """Rows of ids, each sorted, as a `Ragged`."""
    rows = [np.sort(np.asarray(list(row), dtype=np.int32)) for row in rows]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return Ragged(offsets, np.concatenate([np.empty(0, np.int32), *rows]))


def is_ascending(ids: Ragged) -> bool:
    """Whether the ids, or tuples of ids, of each row ascend, each of them once."""
    columns = np.atleast_2d(ids.values.T)
    rises = np.zeros(max(len(ids.values) - 1, 0), bool)
    for column in columns[::-1]:
        rises = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & rises)
    starts = ids.offsets[(ids.offsets > 0) & (ids.offsets < len(ids.values))]
    rises[starts - 1] = True
    return bool(rises.all())
