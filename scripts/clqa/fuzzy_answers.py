"""Degrees of all entities as answers, by fuzzy logic over the degrees of links.

A plan is evaluated as it is written, from its leaves: a projection takes the best intermediates of
each query, its beam, and gives every entity the highest degree that one of them leads to. With a
beam of all entities this is the maximum over all assignments of the existential variables. A whole
batch of queries goes through a node together, so that a row of links which several of them need is
computed once, and many rows in one matrix product.
"""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clqa.algebras import Algebra
from clqa.link_degrees import LinkDegrees, rows_at_a_time
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

# What is joined of rows at a time.
_TILE_BYTES = 2**20


class Search(NamedTuple):
    """Queries of one shape, and how their answers are looked for.

    Attributes
    ----------
    links : LinkDegrees
    algebra : Algebra
    anchors, relations : (n, n_constants), (n, n_relations) int
    beam : int
        Intermediates that a projection follows: by degree, equal ones by id.
    branching : bool
        Whether each intermediate keeps a beam of its own from one projection to the next, as CQD's
        search does, and not all of a query one together.
    """

    links: LinkDegrees
    algebra: Algebra
    anchors: np.ndarray
    relations: np.ndarray
    beam: int
    branching: bool = False


class Members(NamedTuple):
    """Entities above degree 0 of fuzzy sets, one set per query, in order of the queries.

    Attributes
    ----------
    owners, entities, degrees : (n,) int, int, float32
    """

    owners: np.ndarray
    entities: np.ndarray
    degrees: np.ndarray


def answer_degrees(node: Node, search: Search) -> np.ndarray:
    """Degrees (n, n_entities) float32 of the entities in the set that a node of the plan is."""
    sizes = len(search.anchors), search.links.n_entities
    match node:
        case Everything():
            return np.ones(sizes, np.float32)
        case Anchor(constant):
            degrees = np.zeros(sizes, np.float32)
            degrees[np.arange(sizes[0]), search.anchors[:, constant]] = 1
            return degrees
        case Vector(number):
            return np.tile(search.links.vector(number), (sizes[0], 1))
        case Complement(inner):
            return search.algebra.negate(answer_degrees(inner, search))
        case Intersect(children):
            parts = (answer_degrees(child, search) for child in children)
            return functools.reduce(search.algebra.conjoin, parts)
        case Imply((Complement(condition), conclusion)):
            degrees = answer_degrees(condition, search), answer_degrees(conclusion, search)
            return search.algebra.residuum(*degrees)
        case Unite(children):
            parts = (answer_degrees(child, search) for child in children)
            return functools.reduce(search.algebra.disjoin, parts)
        case Project(inner, _, _, _):
            return _projected(node, _intermediates(inner, search), search)


def _intermediates(node: Node, search: Search) -> Members:
    """What is followed of the set of a node."""
    if isinstance(node, Anchor):
        n_queries = len(search.anchors)
        ones = np.ones(n_queries, np.float32)
        return Members(np.arange(n_queries), search.anchors[:, node.constant], ones)
    if search.branching and isinstance(node, Project) and not isinstance(node.inner, Anchor):
        return _branches(node, _intermediates(node.inner, search), search)
    return best_members(answer_degrees(node, search), search.beam)


def best_members(degrees: np.ndarray, beam: int) -> Members:
    """The `beam` members of highest degree of each row, of equal ones those of lowest id."""
    chosen = degrees > 0
    for number in np.flatnonzero(chosen.sum(axis=1) > beam):
        entities = np.flatnonzero(chosen[number])
        held = degrees[number, entities]
        cut = np.partition(held, len(held) - beam)[len(held) - beam]
        tied = entities[held == cut]
        chosen[number] = degrees[number] > cut
        chosen[number, tied[: beam - chosen[number].sum()]] = True
    owners, entities = np.nonzero(chosen)
    return Members(owners, entities, degrees[owners, entities])


def _projected(node: Project, members: Members, search: Search) -> np.ndarray:
    """For each query and entity the highest degree to which a member is linked to it."""
    degrees = np.zeros((len(search.anchors), search.links.n_entities), np.float32)
    conjoin = search.algebra.conjoin
    tile = max(1, _TILE_BYTES // degrees[:1].nbytes) if len(degrees) else 1
    for rows, places, chosen in _rows_of(node, members, search):
        weights, owners = members.degrees[chosen, None], members.owners[chosen]
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(owners)], strict=True):
            best = degrees[owners[first]]
            for start in range(first, last, tile):
                part = slice(start, min(start + tile, last))
                joined = rows[places[part]]
                joined = conjoin(weights[part], joined, out=joined)
                np.maximum(best, joined.max(axis=0), out=best)
    return degrees


def _branches(node: Project, members: Members, search: Search) -> Members:
    """The beam of each member; where several lead to an entity, the best of them."""
    found = []
    for rows, places, chosen in _rows_of(node, members, search):
        tails = best_members(rows, search.beam)
        offsets = np.searchsorted(tails.owners, np.arange(len(rows) + 1))
        lengths = np.diff(offsets)[places]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        taken = np.repeat(offsets[places], lengths) + within
        weights = np.repeat(members.degrees[chosen], lengths)
        joined = search.algebra.conjoin(weights, tails.degrees[taken])
        found.append(
            Members(np.repeat(members.owners[chosen], lengths), tails.entities[taken], joined)
        )
    return _merged(found, search.links.n_entities)


def _merged(parts: list[Members], n_entities: int) -> Members:
    if not parts:
        return Members(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.float32)))
    owners, entities, degrees = map(np.concatenate, zip(*parts, strict=True))
    keys, places = np.unique(owners * n_entities + entities, return_inverse=True)
    best = np.zeros(len(keys), np.float32)
    np.maximum.at(best, places, degrees)
    known = best > 0
    return Members(keys[known] // n_entities, keys[known] % n_entities, best[known])


def _rows_of(
    node: Project, members: Members, search: Search
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The rows of links of all members, some at a time, each once.

    Yields the rows, and for the members that need them which row it is and which member, in order
    of the queries.
    """
    n_entities = search.links.n_entities
    relations = search.relations[:, node.relation]
    if node.reverse:
        relations = search.links.reciprocal[relations]
    keys = relations[members.owners].astype(np.int64) * n_entities + members.entities
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    numbers = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(keys)))
    step = rows_at_a_time(n_entities)
    for first in range(0, len(firsts), step):
        needed = keys[order[firsts[first : first + step]]]
        rows = search.links.rows(needed % n_entities, needed // n_entities)
        if node.negated:
            rows = search.algebra.negate(rows)
        end = firsts[first + step] if first + step < len(firsts) else len(keys)
        part = slice(firsts[first], end)
        by_query = np.argsort(order[part], kind="stable")
        yield rows, numbers[part][by_query] - first, order[part][by_query]
