"""Rows of link degrees without their zeros, computed when they are first needed and kept."""

import numpy as np

from clqa.ascending import places_among
from clqa.kernels import kernel
from clqa.link_degrees import LinkDegrees
from clqa.link_queries import by_relation
from clqa.ragged import Ragged

_AT_A_TIME = 4096
# Entries of a row that are looked at together.
_LANES = 4


class SparseRows:
    """Rows of links above degree 0, by relation * n_entities + entity.

    Parameters
    ----------
    links : LinkDegrees
        Where the rows come from.
    most_bytes : int
        What the kept rows may take; then those that were made first are dropped.

    Attributes
    ----------
    at_a_time : int
        How many to ask for at a time; they fit even if they have no zeros.
    edges : KnownEdges or None
        Links of degree 1 that are known without a row.
    """

    def __init__(self, links: LinkDegrees, most_bytes: int = 2**29):
        self.links = links
        self.at_a_time = max(1, min(_AT_A_TIME, most_bytes // (8 * links.n_entities)))
        self.edges = links.edges and by_relation(links.edges)
        # Memory that has not been written to takes none.
        self._tails = np.empty(most_bytes // 8, np.int32)
        self._held = np.empty(most_bytes // 8, np.float32)
        self._n_used = 0
        # Of each kept row, ascending by key, where it is.
        self._keys, self._starts, self._lengths = np.empty((3, 0), np.int64)

    def of(self, keys: np.ndarray) -> tuple[Ragged, np.ndarray]:
        """The tails of rows, ascending, and their degrees."""
        places, are_kept = places_among(keys, self._keys)
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
        tails, held = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
        lengths, first = np.zeros(len(keys), np.int64), 0
        for tile in self.links.tiles(keys % n_entities, keys // n_entities):
            listed = np.empty(tile.size, np.int32), np.empty(tile.size, np.float32)
            own = lengths[first : first + len(tile)]
            n = _list_above_zero(tile, tile.view(np.int32), own, *listed)
            tails.append(listed[0][:n].copy())
            held.append(listed[1][:n].copy())
            first += len(tile)
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


@kernel
def _list_above_zero(rows, bits, lengths, tails, held):
    """List the entries of rows; `bits` are those of the same numbers, which are 0 or above."""
    n, n_listed = np.uint32(rows.shape[1]), np.uint64(0)
    n_blocks = np.uint32(n // _LANES)
    for i in range(len(rows)):
        row, own = rows[i], bits[i]
        before = n_listed
        for block in range(n_blocks):
            first, together = np.uint32(block * np.uint32(_LANES)), np.int32(0)
            for lane in range(np.uint32(_LANES)):
                together |= own[np.uint32(first + lane)]
            if together:
                for lane in range(np.uint32(_LANES)):
                    tail = np.uint32(first + lane)
                    tails[n_listed], held[n_listed] = tail, row[tail]
                    n_listed += np.uint64(own[tail] != 0)
        for tail in range(np.uint32(n_blocks * np.uint32(_LANES)), n):
            tails[n_listed], held[n_listed] = tail, row[tail]
            n_listed += np.uint64(own[tail] != 0)
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
