"""How true it is that links hold: rows of degrees of all tails, from a predictor and known edges.

A row belongs to a head and a relation, or to a tail and the reciprocal relation, so that links are
followed in both directions. Answering methods know of links nothing but their rows.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.algebras import clamped
from clqa.graphs import Graph


class LinkDegrees(NamedTuple):
    """Degrees of all links.

    Attributes
    ----------
    n_entities : int
    reciprocal : (n_relations,) int
        For each relation the one whose tails are its heads; such may follow those of the graph.
    rows : function of entities (n,) and relations (n,)
        The degrees (n, n_entities), float32 from 0 to 1, of every entity as the tail of each; the
        same bits for the same link in every call, in an array that the caller may overwrite.
    """

    n_entities: int
    reciprocal: np.ndarray
    rows: Callable[[np.ndarray, np.ndarray], np.ndarray]


def weighted_links(weights: np.ndarray) -> LinkDegrees:
    """Links of given weights (n_relations, n_entities, n_entities), by head and tail."""
    both = np.concatenate([clamped(weights), clamped(weights).transpose(0, 2, 1)])
    reciprocal = np.arange(len(weights)) + len(weights)
    return LinkDegrees(weights.shape[1], reciprocal, lambda entities, links: both[links, entities])


class KnownEdges(NamedTuple):
    """Edges in both directions: (n,) int64 relation * n_entities + head, ascending, and tails."""

    keys: np.ndarray
    tails: np.ndarray


def with_edges(links: LinkDegrees, edges: KnownEdges) -> LinkDegrees:
    """The links with those of known edges set to 1, as CQD-Hybrid and QTO have it."""

    def rows(entities, relations):
        found = links.rows(entities, relations)
        owners, places = edge_places(edges, entities, relations, links.n_entities)
        found[owners, edges.tails[places]] = 1
        return found

    return links._replace(rows=rows)


def known_edges(graph: Graph, reciprocal: np.ndarray) -> KnownEdges:
    """All triples of a graph that are loaded; the reciprocal of a relation has its heads."""
    triples = np.concatenate([np.empty((0, 3), np.int32), *graph.triples.values()])
    turned = triples[reciprocal[triples[:, 1]] >= graph.n_relations][:, ::-1].copy()
    turned[:, 1] = reciprocal[turned[:, 1]]
    heads, relations, tails = np.concatenate([triples, turned]).astype(np.int64).T
    keys = relations * graph.n_entities + heads
    order = np.lexsort((tails, keys))
    return KnownEdges(keys[order], tails[order])


def edge_places(
    edges: KnownEdges, entities: np.ndarray, relations: np.ndarray, n_entities: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each edge of the given heads and relations which of them it is of, and its place."""
    keys = np.asarray(relations, np.int64) * n_entities + entities
    starts = np.searchsorted(edges.keys, keys)
    lengths = np.searchsorted(edges.keys, keys, side="right") - starts
    owners = np.repeat(np.arange(len(keys)), lengths)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return owners, np.repeat(starts, lengths) + within
