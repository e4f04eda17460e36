"""Rows of link degrees without their zeros, computed when they are first needed and kept."""

import numpy as np

from clqa.kernels import kernel
from clqa.link_degrees import LinkDegrees, rows_at_a_time
from clqa.link_queries import by_relation
from clqa.predictors import BLOCK
from clqa.ragged import Ragged

# Bytes of rows that are computed at a time, unless they are fewer than whole products make: they
# are still in cache when their zeros are left out.
_CHUNK_BYTES = 2**22
_AT_A_TIME = 4096
# Entries of a row that are looked at together.
_LANES = 16


class SparseRows:
    """Rows of links above degree 0, by relation * n_entities + entity.

    Attributes
    ----------
    links : LinkDegrees
        Where the rows come from.
    most_bytes : int
        What the kept rows may take; then those that were made first are dropped.
    at_a_time : int
        How many to ask for at a time; they fit even if they have no zeros.
    edges : KnownEdges or None
        Links of degree 1 that are known without a row.
    """

    def __init__(self, links: LinkDegrees, most_bytes: int = 2**29):
        self.links, self.most_bytes = links, most_bytes
        self.at_a_time = max(1, min(_AT_A_TIME, most_bytes // (8 * links.n_entities)))
        n_relations = int(links.reciprocal.max(initial=len(links.reciprocal) - 1)) + 1
        self.edges = links.edges and by_relation(links.edges, n_relations)
        # Memory that has not been written to takes none.
        self._tails = np.empty(most_bytes // 8, np.int32)
        self._held = np.empty(most_bytes // 8, np.float32)
        self._n_used = 0
        # Of each kept row, ascending by key, where it is.
        self._keys, self._starts, self._lengths = np.empty((3, 0), np.int64)

    def of(self, keys: np.ndarray) -> tuple[Ragged, np.ndarray]:
        """The tails of rows, ascending, and their degrees."""
        places, are_kept = _found(self._keys, keys)
        missing = np.unique(keys[~are_kept])
        (made_offsets, made_tails), made_held = self._computed(missing)
        made = np.searchsorted(missing, keys[~are_kept])
        lengths = np.empty(len(keys), np.int64)
        lengths[are_kept] = self._lengths[places[are_kept]]
        lengths[~are_kept] = np.diff(made_offsets)[made]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tails, held = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
        starts = self._starts[places[are_kept]]
        _copy(self._tails, self._held, starts, are_kept, offsets, tails, held)
        _copy(made_tails, made_held, made_offsets[made], ~are_kept, offsets, tails, held)
        self._keep(missing, made_offsets, made_tails, made_held)
        return Ragged(offsets, tails), held

    def _computed(self, keys: np.ndarray) -> tuple[Ragged, np.ndarray]:
        n_entities = self.links.n_entities
        blocks = max(1, _CHUNK_BYTES // (4 * n_entities * BLOCK))
        step = min(BLOCK * blocks, rows_at_a_time(n_entities))
        tails, held = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
        lengths = np.zeros(len(keys), np.int64)
        for first in range(0, len(keys), step):
            part = keys[first : first + step]
            rows = self.links.rows(part % n_entities, part // n_entities)
            listed = np.empty(rows.size, np.int32), np.empty(rows.size, np.float32)
            own = lengths[first : first + step]
            n = _list_above_zero(rows, rows.view(np.int32), own, *listed)
            tails.append(listed[0][:n].copy())
            held.append(listed[1][:n].copy())
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Ragged(offsets, np.concatenate(tails)), np.concatenate(held)

    def _keep(self, keys, offsets, tails, held) -> None:
        if len(tails) > len(self._tails):
            return
        if self._n_used + len(tails) > len(self._tails):
            self._drop(max(0, len(self._tails) // 2 - len(tails)))
        end = self._n_used + len(tails)
        self._tails[self._n_used : end], self._held[self._n_used : end] = tails, held
        places = np.searchsorted(self._keys, keys)
        starts, lengths = self._n_used + offsets[:-1], np.diff(offsets)
        self._keys = np.insert(self._keys, places, keys)
        self._starts = np.insert(self._starts, places, starts)
        self._lengths = np.insert(self._lengths, places, lengths)
        self._n_used = end

    def _drop(self, n_left: int) -> None:
        """Keep the rows that were made last, of so many entries at most."""
        stay = self._starts >= self._n_used - n_left
        self._keys, self._lengths = self._keys[stay], self._lengths[stay]
        starts = self._starts[stay]
        first = starts.min(initial=self._n_used)
        left = self._n_used - first
        for array in (self._tails, self._held):
            array[:left] = array[first : self._n_used]
        self._starts, self._n_used = starts - first, left


def _found(keys: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in ascending keys, and which of those asked for are there."""
    places = np.searchsorted(keys, asked)
    are_there = places < len(keys)
    are_there[are_there] = keys[places[are_there]] == asked[are_there]
    return places, are_there


@kernel
def _list_above_zero(rows, bits, lengths, tails, held):
    """List the entries of rows; `bits` are those of the same numbers, which are 0 or above."""
    n, n_listed = rows.shape[1], 0
    whole = n // _LANES * _LANES
    for i in range(len(rows)):
        row, own = rows[i], bits[i]
        before = n_listed
        for first in range(0, n, _LANES):
            last, together = n, np.int32(1)
            if first < whole:
                last, together = first + _LANES, np.int32(0)
                for lane in range(_LANES):
                    together |= own[first + lane]
            if together:
                for j in range(first, last):
                    tails[n_listed], held[n_listed] = j, row[j]
                    n_listed += own[j] != 0
        lengths[i] = n_listed - before
    return n_listed


@kernel
def _copy(tails, held, starts, chosen, offsets, own_tails, own_held):
    """Copy rows to those that are chosen, in their order."""
    n_copied = 0
    for i in range(chosen.size):
        if chosen[i]:
            shift = starts[n_copied] - offsets[i]
            n_copied += 1
            for j in range(offsets[i], offsets[i + 1]):
                own_tails[j], own_held[j] = tails[j + shift], held[j + shift]
