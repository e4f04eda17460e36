"""Degrees of all entities as answers by exact optimisation over sparse rows of links: QTO.

Bai et al. (2023), "Answering Complex Logical Queries on Knowledge Graphs via Query Computation Tree
Optimization". Conjunction is the product, disjunction 1 - (1 - a)(1 - b), and the maximum over the
existential variables is exact, as every intermediate is followed. A negation right after a
projection is of links: one of degree m fails to the degree 1 - min(1, scale * m).
"""

import functools
from typing import NamedTuple

import numpy as np

from clqa.algebras import algebra
from clqa.fuzzy_answers import Members
from clqa.kernels import kernel
from clqa.sparse_rows import SparseRows
from clqa.trees import Anchor, Complement, Everything, Imply, Intersect, Node, Project, Unite

# Rows that are laid out at a time, and those of a query that a negated projection tries first.
_CHUNK = 4096
_FIRST = 8


class Optimization(NamedTuple):
    """Queries of one shape, and how their answers are looked for.

    Attributes
    ----------
    rows : SparseRows
    anchors, relations : (n, n_constants), (n, n_relations) int
    negation_scale : float
    least : float
        Intermediates of no higher degree are not followed. With 0 all degrees are exact; otherwise
        those above it are, as long as there is no union or negation, and the others are too low
        by that much at most.
    """

    rows: SparseRows
    anchors: np.ndarray
    relations: np.ndarray
    negation_scale: float = 1.0
    least: float = 0.0


def optimal_degrees(node: Node, queries: Optimization) -> np.ndarray:
    """Degrees (n, n_entities) float32 of the entities in the set that a node of the plan is."""
    sizes = len(queries.anchors), queries.rows.links.n_entities
    product = algebra("product")
    match node:
        case Everything():
            return np.ones(sizes, np.float32)
        case Anchor(constant):
            degrees = np.zeros(sizes, np.float32)
            degrees[np.arange(sizes[0]), queries.anchors[:, constant]] = 1
            return degrees
        case Complement(Project(_, _, _, False) as inner):
            return 1 - _projected(inner, queries, np.float32(queries.negation_scale))
        case Complement(inner):
            return 1 - optimal_degrees(inner, queries)
        case Intersect(children):
            return functools.reduce(
                product.conjoin, (optimal_degrees(child, queries) for child in children)
            )
        case Imply((Complement(condition), conclusion)):
            degrees = optimal_degrees(condition, queries), optimal_degrees(conclusion, queries)
            return product.residuum(*degrees)
        case Unite(children):
            return functools.reduce(
                product.disjoin, (optimal_degrees(child, queries) for child in children)
            )
        case Project(inner, _, _, True):
            return _projected_negated(node, _followed(inner, queries), queries)
        case Project():
            return _projected(node, queries, None)


def _followed(node: Node, queries: Optimization) -> Members:
    """The members of the set of a node, of each query by degree, descending."""
    if isinstance(node, Anchor):
        n_queries = len(queries.anchors)
        ones = np.ones(n_queries, np.float32)
        return Members(np.arange(n_queries), queries.anchors[:, node.constant], ones)
    degrees = optimal_degrees(node, queries)
    owners, entities = np.nonzero(degrees > queries.least)
    held = degrees[owners, entities]
    order = np.lexsort((-held, owners))
    return Members(owners, entities[order], held[order])


def _keys(node: Project, members: Members, queries: Optimization) -> np.ndarray:
    relations = queries.relations[:, node.relation]
    if node.reverse:
        relations = queries.rows.links.reciprocal[relations]
    n_entities = queries.rows.links.n_entities
    return relations[members.owners].astype(np.int64) * n_entities + members.entities


def _projected(node: Project, queries: Optimization, scale: np.float32 | None) -> np.ndarray:
    """The best link from a member to each entity; links are scaled as those of a negation are."""
    members = _followed(node.inner, queries)
    degrees = np.zeros((len(queries.anchors), queries.rows.links.n_entities), np.float32)
    keys = _keys(node, members, queries)
    order = np.argsort(keys, kind="stable")
    needed, starts = np.unique(keys[order], return_index=True)
    for first in range(0, len(needed), _CHUNK):
        rows, held = queries.rows.of(needed[first : first + _CHUNK])
        if scale is not None:
            held = np.minimum(held * scale, 1)
        end = starts[first + _CHUNK] if first + _CHUNK < len(needed) else len(keys)
        part = order[starts[first] : end]
        part = part[np.argsort(part, kind="stable")]  # a query's results stay in cache
        places = np.searchsorted(needed, keys[part]) - first
        _raise(degrees, members.owners[part], members.degrees[part], places, *rows, held)
    return degrees


def _projected_negated(node: Project, members: Members, queries: Optimization) -> np.ndarray:
    """The best member that is not linked to each entity; few members decide nearly all of it."""
    n_entities = queries.rows.links.n_entities
    degrees = np.zeros((len(queries.anchors), n_entities), np.float32)
    firsts = np.searchsorted(members.owners, np.arange(len(degrees) + 1))
    done, ends, step = firsts[:-1].copy(), firsts[1:], _FIRST
    keys = _keys(node, members, queries)
    while True:
        left = np.flatnonzero(done < ends)
        lowest = degrees[left].min(axis=1)
        left = left[members.degrees[done[left]] > lowest]
        if not len(left):
            return degrees
        lasts = np.minimum(done[left] + step, ends[left])
        chosen = np.concatenate([np.arange(a, b) for a, b in zip(done[left], lasts, strict=True)])
        for first in range(0, len(chosen), _CHUNK):
            part = chosen[first : first + _CHUNK]
            needed, places = np.unique(keys[part], return_inverse=True)
            rows, held = queries.rows.of(needed)
            held = np.minimum(held * np.float32(queries.negation_scale), 1)
            owners, weights = members.owners[part], members.degrees[part]
            _raise_where_unlinked(degrees, owners, weights, places, *rows, held)
        done[left] = lasts
        step *= 2


@kernel
def _raise(degrees, owners, weights, places, offsets, tails, held):
    for i in range(owners.size):
        best, weight, place = degrees[owners[i]], weights[i], places[i]
        for j in range(offsets[place], offsets[place + 1]):
            joined = weight * held[j]
            tail = np.uint32(tails[j])
            if joined > best[tail]:
                best[tail] = joined


@kernel
def _raise_where_unlinked(degrees, owners, weights, places, offsets, tails, held):
    failing = np.ones(degrees.shape[1], np.float32)
    for i in range(owners.size):
        best, weight = degrees[owners[i]], weights[i]
        start, end = offsets[places[i]], offsets[places[i] + 1]
        for j in range(start, end):
            failing[np.uint32(tails[j])] = np.float32(1) - held[j]
        for entity in range(best.size):
            best[entity] = max(best[entity], weight * failing[entity])
        for j in range(start, end):
            failing[np.uint32(tails[j])] = np.float32(1)
