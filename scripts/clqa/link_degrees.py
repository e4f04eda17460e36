"""How true it is that links hold: rows of degrees of all tails, from a predictor and known edges.

A row belongs to a head and a relation, or to a tail and the reciprocal relation, so that links are
followed in both directions. Answering methods know of links nothing but their rows.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from clqa.algebras import clamped
from clqa.given_sets import check_vectors
from clqa.graphs import NO_DEGREES
from clqa.link_queries import LinkQueries, tails_of
from clqa.predictors import BLOCK
from clqa.ragged import part_of
from clqa.ragged_sets import row_numbers

# Bytes of rows that are worth computing at a time: enough for matrix products to be fast.
_CHUNK_BYTES = 2**25


class LinkDegrees(NamedTuple):
    """Degrees of all links.

    Attributes
    ----------
    n_entities : int
    reciprocal : (n_relations,) int
        For each relation the one whose tails are its heads; such may follow those of the graph.
    tiles : function of entities (n,) and relations (n,)
        Iterates over the degrees (m, n_entities), float32 from 0 to 1, of every entity as the tail
        of some of them after the others; the same bits for the same link in every call, in arrays
        that the caller may overwrite, and that stand until the next is asked for.
    kept : dict
        What methods keep of these links from one batch of queries to the next, by a name.
    given : (n_vectors, n_entities) float32
        The degrees that the graph gives its entities.
    edges : LinkQueries or None
        Links that have degree 1, as they are known.
    """

    n_entities: int
    reciprocal: np.ndarray
    tiles: Callable[[np.ndarray, np.ndarray], Iterator[np.ndarray]]
    kept: dict
    given: np.ndarray = NO_DEGREES
    edges: LinkQueries | None = None

    def rows(self, entities: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """The degrees (n, n_entities) of every entity as the tail of each of n."""
        found, n_done = np.empty((len(entities), self.n_entities), np.float32), 0
        for tile in self.tiles(entities, relations):
            found[n_done : n_done + len(tile)] = tile
            n_done += len(tile)
        return found

    def vector(self, number: int) -> np.ndarray:
        """Degrees (n_entities,) by a vector, counted from 1; not to be written to."""
        check_vectors((number,), len(self.given))
        return self.given[number - 1]


def rows_at_a_time(n_entities: int) -> int:
    """How many rows to ask for at a time: as many as whole products make, if it can be."""
    n_rows = max(1, _CHUNK_BYTES // (4 * n_entities))
    return n_rows if n_rows < BLOCK else n_rows // BLOCK * BLOCK


def weighted_links(weights: np.ndarray, given: np.ndarray = NO_DEGREES) -> LinkDegrees:
    """Links of given weights (n_relations, n_entities, n_entities), by head and tail."""
    both = np.concatenate([clamped(weights), clamped(weights).transpose(0, 2, 1)])
    reciprocal = np.arange(len(weights)) + len(weights)

    def tiles(entities, relations):
        yield both[relations, entities]

    return LinkDegrees(weights.shape[1], reciprocal, tiles, {}, given)


def with_edges(links: LinkDegrees, edges: LinkQueries) -> LinkDegrees:
    """The links with those of known edges set to 1, as CQD-Hybrid and QTO have it."""

    def tiles(entities, relations):
        known, first = tails_of(edges, entities, relations), 0
        for tile in links.tiles(entities, relations):
            tails = part_of(known, first, first + len(tile))
            tile[row_numbers(tails), tails.values] = 1
            first += len(tile)
            yield tile

    return links._replace(tiles=tiles, kept={}, edges=edges)
