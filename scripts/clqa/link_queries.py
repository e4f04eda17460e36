"""Triples as questions for tails: each pair of head and relation once, with all its tails."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from clqa.ascending import places_among
from clqa.graphs import Graph, sorted_unique
from clqa.predictors import reciprocal_relations
from clqa.ragged import Ragged


class LinkQueries(NamedTuple):
    """Questions r(h, ?), one for each pair of head and relation.

    Attributes
    ----------
    keys : (n,) int64
        `head << 32 | relation`, ascending.
    tails : Ragged of n rows
    """

    keys: np.ndarray
    tails: Ragged

    @property
    def heads(self) -> np.ndarray:
        """The head (n,) of each."""
        return self.keys >> 32

    @property
    def relations(self) -> np.ndarray:
        """The relation (n,) of each."""
        return self.keys & 0xFFFFFFFF


def link_queries(graph: Graph, parts: Iterable[str]) -> LinkQueries:
    """The questions that the triples of some parts answer, in both directions.

    A question for heads is one for the tails of the reciprocal relation. The graph has the triples
    of inverse relations; those of relations without one are turned round here.
    """
    rows = np.concatenate([np.empty((0, 3), np.int32), *(graph.triples[part] for part in parts)])
    reciprocal = reciprocal_relations(graph.inverse)
    alone = rows[graph.inverse[rows[:, 1]] < 0]
    turned = np.stack([alone[:, 2], reciprocal[alone[:, 1]], alone[:, 0]], axis=1)
    heads, relations, tails = sorted_unique(np.concatenate([rows, turned])).T
    starts = np.flatnonzero(
        (np.diff(heads, prepend=-1) != 0) | (np.diff(relations, prepend=-1) != 0)
    )
    offsets = np.append(starts, len(heads)).astype(np.int64)
    keys = _keys(heads[starts], relations[starts])
    return LinkQueries(keys, Ragged(offsets, np.ascontiguousarray(tails)))


def _keys(heads: np.ndarray, relations: np.ndarray) -> np.ndarray:
    return np.asarray(heads, np.int64) << 32 | np.asarray(relations, np.int64)


def picked(queries: LinkQueries, places: np.ndarray) -> LinkQueries:
    """Some of the questions, in the order of their places."""
    offsets, values = queries.tails
    lengths = queries.tails.lengths()[places]
    ends = np.cumsum(lengths)
    within = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths)
    taken = values[np.repeat(offsets[places], lengths) + within]
    tails = Ragged(np.concatenate([[0], ends]).astype(np.int64), taken)
    return LinkQueries(queries.keys[places], tails)


def tails_of(queries: LinkQueries, heads: np.ndarray, relations: np.ndarray) -> Ragged:
    """The tails of given heads and relations; none for a pair that is not among the questions."""
    asked = _keys(heads, relations)
    places, known = places_among(asked, queries.keys)
    found = picked(queries, places[known]).tails
    lengths = np.zeros(len(asked), np.int64)
    lengths[known] = found.lengths()
    return Ragged(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), found.values)


class KnownEdges(NamedTuple):
    """Edges in the order of their relations.

    Attributes
    ----------
    relations, heads : (n,) int64
        Ascending by relation, then head.
    tails : Ragged of n rows
    """

    relations: np.ndarray
    heads: np.ndarray
    tails: Ragged


def by_relation(queries: LinkQueries) -> KnownEdges:
    """The questions and their tails in the order of relations."""
    ordered = picked(queries, np.argsort(queries.relations, kind="stable"))
    return KnownEdges(ordered.relations, ordered.heads, ordered.tails)
