"""Graphs laid out for walking: neighbours by (relation, entity), and edges by entity.

An edge is kept as id << 1 | observed, so that one pass over the full graph of a split tells what
its observed graph gives.
"""

from typing import NamedTuple

import numpy as np

from clqa.given_sets import crisp
from clqa.graphs import Graph, first_of_equal, row_order
from clqa.kernels import inlined

# A row is packed as key << 34 | place of its first edge.
ROW_SHIFT = 34
PLACE_MASK = (1 << ROW_SHIFT) - 1


class Adjacency(NamedTuple):
    """Neighbours by (relation, entity) in compressed rows.

    A projection asks for the rows of one relation for many entities. The rows of a relation lie
    together, ascending by entity, and so do their edges; buckets of entities, about as many as the
    relation has rows, tell where an entity's row is, so that a look-up touches few cache lines.

    Attributes
    ----------
    relations : (n_relations + 1, 4) int64
        Per relation: its first bucket, how many bits of an entity id a bucket ignores, its lowest
        entity, its number of buckets.
    buckets : (n_buckets,) uint32
        First row of each bucket; a relation has one more, that ends its last bucket.
    rows : (n_rows + 1,) uint64
        entity << 34 | place of the first edge.
    edges : (n_edges,) uint32
        id of the neighbour << 1 | whether the observed graph has the edge; ascending in a row.
    """

    relations: np.ndarray
    buckets: np.ndarray
    rows: np.ndarray
    edges: np.ndarray


class Incidence(NamedTuple):
    """Edges by (entity, relation) in compressed rows, for drawing them at random.

    Attributes
    ----------
    entity_rows : (n_entities + 1,) int64
        First row of each entity; it has one row for each relation.
    rows : (n_rows + 1,) uint64
        relation << 34 | place of the first edge.
    edges : (n_edges,) uint32
        id of the neighbour << 1 | a flag.
    """

    entity_rows: np.ndarray
    rows: np.ndarray
    edges: np.ndarray


class View(NamedTuple):
    """The two graphs of a split, ready to be walked in both directions.

    Attributes
    ----------
    n_entities : int
    tails : Adjacency
        Tails by (relation, head).
    heads : Adjacency
        Heads by (relation, tail).
    given : (n_vectors, n_entities) uint8
        The degrees that the graph gives, which both graphs know; `given_sets.UNFIT` for those that
        are not 0 or 1.
    """

    n_entities: int
    tails: Adjacency
    heads: Adjacency
    given: np.ndarray


class Edges(NamedTuple):
    """Distinct edges of a full graph: (n, 3) int32 head, relation, tail; and which are observed."""

    triples: np.ndarray
    observed: np.ndarray


def split_view(graph: Graph, split: str) -> View:
    """The observed and the full graph of a split (`train`, `valid` or `test`) as one view."""
    return view_of(graph, split_edges(graph, split))


def graph_view(graph: Graph, splits: tuple[str, ...]) -> View:
    """The union of some splits as a view in which every edge is in both graphs."""
    return view_of(graph, _edges(graph, splits, splits))


def view_of(graph: Graph, edges: Edges) -> View:
    """A view of some edges of a graph."""
    heads, relations, tails = edges.triples.T
    return View(
        n_entities=graph.n_entities,
        tails=_adjacency(relations, heads, tails, edges.observed, graph.n_relations),
        heads=_adjacency(relations, tails, heads, edges.observed, graph.n_relations),
        given=crisp(graph.degrees),
    )


def split_edges(graph: Graph, split: str) -> Edges:
    """Edges of the full graph of a split."""
    return _edges(graph, graph.observed[split], graph.full(split))


def missing_edges(edges: Edges) -> Edges:
    """Those edges of the full graph that the observed graph lacks."""
    lost = ~edges.observed
    return Edges(edges.triples[lost], edges.observed[lost])


def _edges(graph: Graph, observed: tuple[str, ...], full: tuple[str, ...]) -> Edges:
    ordered = [*observed, *(split for split in full if split not in observed)]
    rows = np.concatenate([np.empty((0, 3), np.int32), *(graph.triples[s] for s in ordered)])
    n_observed = sum(len(graph.triples[split]) for split in observed)
    order = row_order(rows)
    first = order[first_of_equal(rows[order])]
    return Edges(rows[first], first < n_observed)


def incidence(keys, relations, ids, flags: np.ndarray, n: int) -> Incidence:
    """Edges by their entity `keys`, each with its relation, its other end and a flag."""
    rows, places, edges = _compressed(keys, relations, ids, flags)
    entity_rows = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows[:, 0], minlength=n), out=entity_rows[1:])
    return Incidence(entity_rows, _packed(rows[:, 1], places), edges)


def _adjacency(relations, entities, neighbours, observed, n_relations: int) -> Adjacency:
    rows, places, edges = _compressed(relations, entities, neighbours, observed)
    counts = np.bincount(rows[:, 0], minlength=n_relations)
    firsts = np.append(0, np.cumsum(counts))
    present = counts > 0
    lowest, span = np.zeros((2, n_relations), np.int64)
    lowest[present] = rows[firsts[:-1][present], 1]
    span[present] = rows[firsts[1:][present] - 1, 1] - lowest[present] + 1
    shifts = np.zeros(n_relations, np.int64)
    wide = span > counts
    shifts[wide] = np.ceil(np.log2(span[wide] / counts[wide])).astype(np.int64)
    n_buckets = np.where(present, (span - 1 >> shifts) + 1, 0)
    bases = np.append(0, np.cumsum(n_buckets + 1))
    bucket = bases[rows[:, 0]] + (rows[:, 1] - lowest[rows[:, 0]] >> shifts[rows[:, 0]])
    sizes = np.bincount(bucket, minlength=bases[-1])
    header = np.zeros((n_relations + 1, 4), np.int64)
    header[:-1] = np.column_stack([bases[:-1], shifts, lowest, n_buckets])
    return Adjacency(
        relations=header,
        buckets=(np.cumsum(sizes) - sizes).astype(np.uint32),
        rows=_packed(rows[:, 1], places),
        edges=edges,
    )


def _compressed(first, second, ids, flags):
    """Keys of the rows, places where they start and end, and packed edges."""
    order = row_order(np.column_stack([first, second, ids]))
    keys = np.column_stack([first[order], second[order]])
    new_row = np.ones(len(keys), dtype=bool)
    np.any(keys[1:] != keys[:-1], axis=1, out=new_row[1:])
    starts = np.flatnonzero(new_row)
    edges = ids[order].astype(np.uint32) << np.uint32(1) | flags[order].astype(np.uint32)
    return keys[starts], np.append(starts, len(keys)), edges


def _packed(keys: np.ndarray, places: np.ndarray) -> np.ndarray:
    keys = np.append(keys, 0).astype(np.uint64)
    return keys << np.uint64(ROW_SHIFT) | places.astype(np.uint64)


def row_keys(rows: np.ndarray) -> np.ndarray:
    """Keys, int32, of packed rows."""
    return (rows[:-1] >> np.uint64(ROW_SHIFT)).astype(np.int32)


def row_places(rows: np.ndarray) -> np.ndarray:
    """Places, int64, where packed rows start, and where the last one ends."""
    return (rows & np.uint64(PLACE_MASK)).astype(np.int64)


def row_relations(adjacency: Adjacency) -> np.ndarray:
    """Relation of each row, (n_rows,) int32."""
    firsts = adjacency.buckets[adjacency.relations[:-1, 0]].astype(np.int64)
    counts = np.diff(firsts, append=len(adjacency.rows) - 1)
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


@inlined
def find_row(adjacency, entity, relation):
    """First and past-the-last place of the edges of (entity, relation); equal if it has none."""
    row, found = row_of(adjacency, entity, relation)
    return row_extent(adjacency, row, found)


@inlined
def row_of(adjacency, entity, relation):
    """The row of (entity, relation), and how many such rows there are, 0 or 1."""
    one = np.uint64(1)
    from_lowest = np.uint64(np.int64(entity) - adjacency.relations[relation, 2])
    bucket = from_lowest >> np.uint64(adjacency.relations[relation, 1])
    if bucket >= np.uint64(adjacency.relations[relation, 3]):
        return np.uint64(0), np.uint64(0)
    bucket += np.uint64(adjacency.relations[relation, 0])
    row = np.uint64(adjacency.buckets[bucket])
    size = np.uint64(adjacency.buckets[bucket + one]) - row
    past = (np.uint64(entity) + one) << np.uint64(ROW_SHIFT)
    while size > one:
        half = size >> one
        row += half * np.uint64(adjacency.rows[row + half] < past)
        size -= half
    is_row = size == one and adjacency.rows[row] >> np.uint64(ROW_SHIFT) == np.uint64(entity)
    return row, np.uint64(is_row)


@inlined
def row_extent(adjacency, row, count):
    """First and past-the-last place of the edges of some rows on end."""
    places = np.uint64(PLACE_MASK)
    return adjacency.rows[row] & places, adjacency.rows[row + count] & places


@inlined
def relation_rows(adjacency, relation):
    """First and past-the-last row of a relation."""
    base, n_buckets = adjacency.relations[relation, 0], adjacency.relations[relation, 3]
    return np.uint64(adjacency.buckets[base]), np.uint64(adjacency.buckets[base + n_buckets])
