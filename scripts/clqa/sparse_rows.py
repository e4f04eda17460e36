"""Rows of link degrees without their zeros, computed when they are first needed and kept."""

from collections import OrderedDict

import numpy as np

from clqa.link_degrees import LinkDegrees, rows_at_a_time
from clqa.ragged import Ragged


class SparseRows:
    """Rows of links above degree 0, by relation * n_entities + entity.

    Attributes
    ----------
    links : LinkDegrees
        Where the rows come from.
    most_bytes : int
        What the kept rows may take; then those that were made first are dropped.
    """

    def __init__(self, links: LinkDegrees, most_bytes: int = 2**29):
        self.links, self.most_bytes = links, most_bytes
        self._rows: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._n_bytes = 0

    def of(self, keys: np.ndarray) -> tuple[Ragged, np.ndarray]:
        """The tails of rows, ascending, and their degrees."""
        found = {key: self._rows[key] for key in keys.tolist() if key in self._rows}
        missing = np.array([key for key in keys.tolist() if key not in found], np.int64)
        step = rows_at_a_time(self.links.n_entities)
        for first in range(0, len(missing), step):
            found |= self._computed(missing[first : first + step])
        rows = [found[key] for key in keys.tolist()]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(tails) for tails, _ in rows], out=offsets[1:])
        tails = np.concatenate([np.empty(0, np.int32), *(tails for tails, _ in rows)])
        degrees = np.concatenate([np.empty(0, np.float32), *(held for _, held in rows)])
        return Ragged(offsets, tails), degrees

    def _computed(self, keys: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        n_entities = self.links.n_entities
        rows = self.links.rows(keys % n_entities, keys // n_entities)
        made = {}
        for key, row in zip(keys.tolist(), rows, strict=True):
            tails = np.flatnonzero(row > 0).astype(np.int32)
            made[key] = tails, row[tails]
            self._n_bytes += 8 * len(tails)
        self._rows |= made
        while self._n_bytes > self.most_bytes and self._rows:
            _, (tails, _) = self._rows.popitem(last=False)
            self._n_bytes -= 8 * len(tails)
        return made
