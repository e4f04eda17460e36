"""Triples as questions for tails: each pair of head and relation once, with all its tails."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from clqa.graphs import Graph, sorted_unique
from clqa.predictors import reciprocal_relations
from clqa.ragged import Ragged


class LinkQueries(NamedTuple):
    """Questions r(h, ?), one for each pair of head and relation.

    Attributes
    ----------
    heads, relations : (n,) int32
        Ascending by head, then relation.
    tails : Ragged of n rows
    """

    heads: np.ndarray
    relations: np.ndarray
    tails: Ragged


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
    return LinkQueries(
        heads[starts], relations[starts], Ragged(offsets, np.ascontiguousarray(tails))
    )


def picked(queries: LinkQueries, places: np.ndarray) -> LinkQueries:
    """Some of the questions, in the order of their places."""
    offsets, values = queries.tails
    lengths = queries.tails.lengths()[places]
    ends = np.cumsum(lengths)
    within = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths)
    taken = values[np.repeat(offsets[places], lengths) + within]
    tails = Ragged(np.concatenate([[0], ends]).astype(np.int64), taken)
    return LinkQueries(queries.heads[places], queries.relations[places], tails)


def tails_of(queries: LinkQueries, heads: np.ndarray, relations: np.ndarray) -> Ragged:
    """The tails of given heads and relations; none for a pair that is not among the questions."""
    keys, asked = (
        np.asarray(pair[0], np.int64) << 32 | np.asarray(pair[1], np.int64)
        for pair in ((queries.heads, queries.relations), (heads, relations))
    )
    places = np.searchsorted(keys, asked)
    known = places < len(keys)
    known[known] = keys[places[known]] == asked[known]
    found = picked(queries, places[known]).tails
    lengths = np.zeros(len(asked), np.int64)
    lengths[known] = found.lengths()
    return Ragged(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), found.values)
