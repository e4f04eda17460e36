"""Degrees of all entities as answers by exact optimisation over sparse rows of links: QTO.

Bai et al. (2023), "Answering Complex Logical Queries on Knowledge Graphs via Query Computation Tree
Optimization". Conjunction is the product, disjunction 1 - (1 - a)(1 - b), and the maximum over the
existential variables is exact, as every intermediate is followed. A negation right after a
projection is of links: one of degree m fails to the degree 1 - min(1, scale * m).

Most intermediates are too weak to matter for any answer near the top. With `exact`, those of each
query are followed from the strongest on, until that many answers are known to be the best: none
that has not been followed can lead to a higher degree than theirs. Known edges, which have degree
1, cost no row, and are followed first: the sooner good answers are found, the fewer rows it takes.
"""

import functools
from typing import NamedTuple

import numpy as np

from clqa.algebras import algebra
from clqa.fuzzy_answers import Members
from clqa.kernels import kernel
from clqa.sparse_rows import SparseRows
from clqa.trees import (
    Anchor,
    Complement,
    Everything,
    Imply,
    Intersect,
    Node,
    Project,
    Unite,
    Vector,
)

# Where the search for the best answers begins, how fast it goes down, and below what it stops to go
# by steps.
_HIGHEST, _FALL, _LOWEST = 0.99, 2, 1e-4
# Members of a query that a negated projection tries first.
_FIRST = 8


class Optimization(NamedTuple):
    """Queries of one shape, and how their answers are looked for.

    Attributes
    ----------
    rows : SparseRows
    anchors, relations : (n, n_constants), (n, n_relations) int
    negation_scale : float
    least : float
        Intermediates of no higher degree are not followed, but below unions and negations, where
        all are. Degrees above it are exact, and others too low by that much at most.
    """

    rows: SparseRows
    anchors: np.ndarray
    relations: np.ndarray
    negation_scale: float = 1.0
    least: float = 0.0


class _Descent(NamedTuple):
    """A search that follows weaker and weaker intermediates.

    Attributes
    ----------
    queries : Optimization
    left : (m,) int
        The queries that are searched on.
    least : (m,) float32
        What their intermediates are above now.
    kept : dict
        For each projection, and the scale of its links, its degrees (n, n_entities) so far, and for
        each query the degree (n,) above which all intermediates have been followed.
    """

    queries: Optimization
    left: np.ndarray
    least: np.ndarray
    kept: dict


def optimal_degrees(node: Node, queries: Optimization) -> np.ndarray:
    """Degrees (n, n_entities) float32 of the entities in the set that a node of the plan is."""
    n_queries = len(queries.anchors)
    least = np.full(n_queries, queries.least, np.float32)
    return _degrees(node, _Descent(queries, np.arange(n_queries), least, {}))


def best_degrees(node: Node, queries: Optimization, exact: int) -> np.ndarray:
    """Degrees of which the best of each query are exact, and all others are lower in truth.

    Parameters
    ----------
    exact : int
        How many at least, not counting those of degree 1, which known edges give; 0 for all.
    """
    if not 0 < exact < queries.rows.links.n_entities:
        return optimal_degrees(node, queries)
    n_queries = len(queries.anchors)
    found = np.zeros((n_queries, queries.rows.links.n_entities), np.float32)
    least = np.full(n_queries, _HIGHEST, np.float32)
    left, kept = np.arange(n_queries), {}
    while len(left):
        degrees = _degrees(node, _Descent(queries, left, least[left], kept))
        found[left] = degrees
        last = _last_uncertain(degrees, exact)
        left, last = (x[(last <= least[left]) & (least[left] > 0)] for x in (left, last))
        # Intermediates of the degree of the last one may lead to others like it.
        least[left] = np.maximum(least[left] / _FALL, np.nextafter(last, np.float32(0)))
        least[least < _LOWEST] = 0
    return found


def _degrees(node: Node, descent: _Descent) -> np.ndarray:
    """Degrees (m, n_entities) of the queries that are left; not to be written to."""
    sizes = len(descent.left), descent.queries.rows.links.n_entities
    product = algebra("product")
    if isinstance(node, Complement | Unite):
        descent = descent._replace(least=np.zeros_like(descent.least))
    match node:
        case Everything():
            return np.ones(sizes, np.float32)
        case Anchor(constant):
            degrees = np.zeros(sizes, np.float32)
            degrees[np.arange(sizes[0]), descent.queries.anchors[descent.left, constant]] = 1
            return degrees
        case Vector(number):
            return np.tile(descent.queries.rows.links.vector(number), (sizes[0], 1))
        case Complement(Project(_, _, _, False) as inner):
            return 1 - _projected(inner, descent, np.float32(descent.queries.negation_scale))
        case Complement(inner):
            return 1 - _degrees(inner, descent)
        case Intersect(children):
            return functools.reduce(product.conjoin, (_degrees(x, descent) for x in children))
        case Imply((Complement(condition), conclusion)):
            return product.residuum(_degrees(condition, descent), _degrees(conclusion, descent))
        case Unite(children):
            return functools.reduce(product.disjoin, (_degrees(x, descent) for x in children))
        case Project():
            return _projected(node, descent, np.float32(1))


def _projected(node: Project, descent: _Descent, scale: np.float32) -> np.ndarray:
    """The best link from a member to each entity, or failure of one; links are scaled and cut."""
    queries, left = descent.queries, descent.left
    if (node, scale) not in descent.kept:
        sizes = len(queries.anchors), queries.rows.links.n_entities
        descent.kept[node, scale] = np.zeros(sizes, np.float32), np.full(sizes[0], np.inf)
    degrees, followed = descent.kept[node, scale]
    if isinstance(node.inner, Anchor):
        owners = left[followed[left] > 1]
        entities = queries.anchors[owners, node.inner.constant]
        members = Members(owners, entities, np.ones(len(owners), np.float32))
    else:
        inner = _degrees(node.inner, descent)
        members = _newly_followed(inner, descent, followed[left])
        if queries.rows.edges is not None and not node.negated:
            known, heads, tails = queries.rows.edges
            asked = _relations(node, queries)[left]
            places = (np.searchsorted(known, asked, side) for side in ("left", "right"))
            edges = np.minimum(scale, 1), *places, heads, *tails
            _raise_by_edges(degrees, left, inner, *edges)
    followed[left] = descent.least
    if node.negated:
        _follow_negated(node, members, queries, degrees)
    else:
        _follow(node, members, queries, scale, degrees)
    return degrees if len(left) == len(degrees) else degrees[left]


def _newly_followed(degrees: np.ndarray, descent: _Descent, before: np.ndarray) -> Members:
    """Members above the least degree, and not above that `before`.

    Those of each query are ordered by degree, descending.
    """
    are_new = degrees > descent.least[:, None]
    are_new &= degrees <= before[:, None]
    owners, entities = np.nonzero(are_new)
    held = degrees[owners, entities]
    order = np.lexsort((-held, owners))
    return Members(descent.left[owners], entities[order], held[order])


def _relations(node: Project, queries: Optimization) -> np.ndarray:
    """For each query the relation that leads from the members to the set."""
    relations = queries.relations[:, node.relation]
    return queries.rows.links.reciprocal[relations] if node.reverse else relations


def _keys(node: Project, members: Members, queries: Optimization) -> np.ndarray:
    relations = _relations(node, queries)[members.owners]
    return relations.astype(np.int64) * queries.rows.links.n_entities + members.entities


def _follow(node: Project, members: Members, queries: Optimization, scale, degrees) -> None:
    """Raise degrees to those of the links from members."""
    keys = _keys(node, members, queries)
    order = np.argsort(keys, kind="stable")
    needed, starts = np.unique(keys[order], return_index=True)
    chunk = queries.rows.at_a_time
    for first in range(0, len(needed), chunk):
        rows, held = queries.rows.of(needed[first : first + chunk])
        if scale != 1:
            held = np.minimum(held * scale, 1)
        end = starts[first + chunk] if first + chunk < len(needed) else len(keys)
        part = order[starts[first] : end]
        part = part[np.argsort(part, kind="stable")]  # a query's results stay in cache
        places = np.searchsorted(needed, keys[part]) - first
        _raise(degrees, members.owners[part], members.degrees[part], places, *rows, held)


def _follow_negated(node: Project, members: Members, queries: Optimization, degrees) -> None:
    """Raise degrees to those of members that are not linked; few of them decide nearly all."""
    firsts = np.searchsorted(members.owners, np.arange(len(degrees) + 1))
    done, ends, step = firsts[:-1].copy(), firsts[1:], _FIRST
    keys = _keys(node, members, queries)
    while True:
        left = np.flatnonzero(done < ends)
        lowest = degrees[left].min(axis=1)
        left = left[members.degrees[done[left]] > lowest]
        if not len(left):
            return
        lasts = np.minimum(done[left] + step, ends[left])
        chosen = np.concatenate([np.arange(a, b) for a, b in zip(done[left], lasts, strict=True)])
        for first in range(0, len(chosen), queries.rows.at_a_time):
            part = chosen[first : first + queries.rows.at_a_time]
            needed, places = np.unique(keys[part], return_inverse=True)
            rows, held = queries.rows.of(needed)
            held = np.minimum(held * np.float32(queries.negation_scale), 1)
            owners, weights = members.owners[part], members.degrees[part]
            _raise_where_unlinked(degrees, owners, weights, places, *rows, held)
        done[left] = lasts
        step *= 2


@kernel
def _last_uncertain(degrees, count):
    """Of each row the degree below 1 at the place `count` from the highest on."""
    last = np.empty(len(degrees), np.float32)
    for i in range(len(degrees)):
        highest = np.zeros(count, np.float32)  # descending
        for degree in degrees[i]:
            if highest[-1] < degree < 1:
                place = count - 1
                while place and highest[place - 1] < degree:
                    highest[place] = highest[place - 1]
                    place -= 1
                highest[place] = degree
        last[i] = highest[-1]
    return last


@kernel
def _raise_by_edges(degrees, owners, members, held, starts, ends, heads, offsets, tails):
    """Raise degrees to those of known edges, which are held, from members of any degree."""
    for i in range(owners.size):
        best, weights = degrees[owners[i]], members[i]
        for place in range(starts[i], ends[i]):
            joined = weights[heads[place]] * held
            if joined > 0:
                for j in range(offsets[place], offsets[place + 1]):
                    tail = np.uint32(tails[j])
                    if joined > best[tail]:
                        best[tail] = joined


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
