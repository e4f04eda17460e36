"""Knowledge graphs as arrays: triples per split, inverse relations, adjacency for the kernels.

Observed and full graphs of a split follow the three-graph protocol of Ren and Leskovec (BetaE,
2020): answers on the observed graph are easy, those that only the full graph gives are hard.
"""

import hashlib
import os
import zipfile
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.files import replacing

SPLITS = ("train", "valid", "test")
OBSERVED = {"train": (), "valid": ("train",), "test": ("train", "valid")}
FULL = {"train": ("train",), "valid": ("train", "valid"), "test": SPLITS}

# An edge is kept as id << 1 | observed, a row as code of its relation << 40 | place of its first
# edge. The code of a relation, of 24 bits, has its lowest 6 bits first: see `Adjacency.entities`.
RELATION_SHIFT = 40
PLACE_MASK = (1 << RELATION_SHIFT) - 1
MARK_BITS = 64


def relation_codes(relations: np.ndarray) -> np.ndarray:
    """Codes, uint64, by which the rows of an entity ascend."""
    relations = relations.astype(np.uint64)
    return relations % np.uint64(MARK_BITS) << np.uint64(18) | relations // np.uint64(MARK_BITS)


def relations_of(rows: np.ndarray) -> np.ndarray:
    """Relations, int32, of rows of an `Adjacency`."""
    codes = rows >> np.uint64(RELATION_SHIFT)
    low, high = codes >> np.uint64(18), codes & np.uint64((1 << 18) - 1)
    return (high * np.uint64(MARK_BITS) + low).astype(np.int32)


class Graph(NamedTuple):
    """A knowledge graph with one vocabulary for all splits.

    Attributes
    ----------
    n_entities, n_relations : int
        Relations include the inverse ones.
    triples : dict of (n, 3) int32
        Per split the head, relation and tail ids; rows are unique and sorted.
    inverse : (n_relations,) int32
        Id of the inverse of each relation, -1 where there is none.
    hash, vocabulary : str
        sha256 of the whole graph, and of its labels in order of their ids.
    """

    n_entities: int
    n_relations: int
    triples: dict[str, np.ndarray]
    inverse: np.ndarray
    hash: str
    vocabulary: str


class Adjacency(NamedTuple):
    """Neighbours by (entity, relation) in compressed rows, packed to touch little memory.

    The rows of entity v are those from `entities[v, 0]` to `entities[v + 1, 0]`, one for each
    relation that v has, by (relation modulo 64, relation). The edges of a row go up to the first of
    the next row, by ascending id.

    Attributes
    ----------
    entities : (n_entities + 1, 2) uint64
        First row of each entity, and a mark: bit r modulo 64 is set if the entity has relation r.
        Most look-ups that fail end here; for the others the bits below tell where the row is.
    rows : (n_rows + 1,) uint64
        Code of the relation << 40 | place of the first edge.
    edges : (n_edges,) uint32
        id of the neighbour << 1 | whether the observed graph has the edge; the full one has all.
    """

    entities: np.ndarray
    rows: np.ndarray
    edges: np.ndarray


class View(NamedTuple):
    """The two graphs of a split, ready to be walked in both directions.

    Attributes
    ----------
    n_entities : int
    tails : Adjacency
        Tails by (head, relation).
    heads : Adjacency
        Heads by (tail, relation).
    """

    n_entities: int
    tails: Adjacency
    heads: Adjacency


def make_graph(
    triples: dict[str, np.ndarray], inverse: np.ndarray, n_entities: int, vocabulary: str
) -> Graph:
    """Sort the triples of each split, drop duplicates within a split, and hash the whole."""
    inverse = np.asarray(inverse, dtype=np.int32)
    kept = {split: sorted_unique(rows) for split, rows in triples.items()}
    for split, rows in kept.items():
        _check_ids(split, rows, n_entities, len(inverse))
    digest = hashlib.sha256(f"{vocabulary} {n_entities}".encode())
    digest.update(inverse.astype("<i4").tobytes())
    for split in SPLITS:
        digest.update(split.encode())
        digest.update(kept[split].astype("<i4").tobytes())
    return Graph(int(n_entities), len(inverse), kept, inverse, digest.hexdigest(), vocabulary)


def _check_ids(split: str, rows: np.ndarray, n_entities: int, n_relations: int) -> None:
    limits = np.array([n_entities, n_relations, n_entities])
    if len(rows) and (rows.min() < 0 or (rows.max(axis=0) >= limits).any()):
        raise InputError(
            f"{split} triples: ids must be below {n_entities} (entities) and {n_relations} "
            "(relations); the id dictionary does not belong to these triples"
        )


def sorted_unique(rows: np.ndarray) -> np.ndarray:
    """Rows of three ids in lexicographic order, each once, as int32."""
    rows = np.ascontiguousarray(rows, dtype=np.int32).reshape(-1, 3)
    rows = rows[_order(rows)]
    return np.ascontiguousarray(rows[_first_of_equal(rows)])


def _order(rows: np.ndarray) -> np.ndarray:
    """Stable order of the rows by their columns; one integer key where it fits."""
    if not len(rows):
        return np.empty(0, np.int64)
    sizes = [int(column.max()) + 1 for column in rows.T]
    if sizes[0] * sizes[1] * sizes[2] < 2**63:
        head, relation, tail = rows.T.astype(np.int64)
        return np.argsort((head * sizes[1] + relation) * sizes[2] + tail, kind="stable")
    return np.lexsort(rows.T[::-1])


def _first_of_equal(rows: np.ndarray) -> np.ndarray:
    """Mask of the rows that differ from the row before them."""
    first = np.ones(len(rows), dtype=bool)
    np.any(rows[1:] != rows[:-1], axis=1, out=first[1:])
    return first


def write_graph(path: str | os.PathLike, graph: Graph) -> None:
    """Write a graph as an uncompressed `.npz` whose bytes depend on its content alone."""
    scalars = {
        "n_entities": np.int64(graph.n_entities),
        "hash": np.array(graph.hash),
        "vocabulary": np.array(graph.vocabulary),
    }
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, inverse=graph.inverse, **scalars, **graph.triples)


def read_graph(path: str | os.PathLike, splits: tuple[str, ...] = SPLITS) -> Graph:
    """Read a graph; only the triples of `splits` are loaded.

    Raises
    ------
    InputError
        If the file is missing, cut short or not a graph.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Graph(
                n_entities=int(arrays["n_entities"]),
                n_relations=len(arrays["inverse"]),
                triples={split: arrays[split] for split in splits},
                inverse=arrays["inverse"],
                hash=str(arrays["hash"]),
                vocabulary=str(arrays["vocabulary"]),
            )
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, AttributeError) as error:
        raise InputError(f"{path}: not a readable graph ({error}); build it again") from error


def split_view(graph: Graph, split: str) -> View:
    """The observed and the full graph of a split (`train`, `valid` or `test`) as one view."""
    return _view(graph, OBSERVED[split], FULL[split])


def graph_view(graph: Graph, splits: tuple[str, ...]) -> View:
    """The union of some splits as a view in which every edge is in both graphs."""
    return _view(graph, splits, splits)


def missing_view(graph: Graph, split: str) -> View:
    """Only the edges of the full graph of a split that the observed graph lacks."""
    rows, observed = _edges(graph, OBSERVED[split], FULL[split])
    return _view_of(rows[~observed], observed[~observed], graph.n_entities)


def _view(graph: Graph, observed: tuple[str, ...], full: tuple[str, ...]) -> View:
    return _view_of(*_edges(graph, observed, full), graph.n_entities)


def _view_of(rows: np.ndarray, observed: np.ndarray, n_entities: int) -> View:
    return View(
        n_entities=n_entities,
        tails=_adjacency(rows, observed, n_entities),
        heads=_adjacency(rows[:, ::-1], observed, n_entities),
    )


def _edges(graph: Graph, observed: tuple[str, ...], full: tuple[str, ...]):
    """Edges of the full graph in order, each once, and whether the observed graph has them."""
    ordered = [*observed, *(split for split in full if split not in observed)]
    rows = np.concatenate([np.empty((0, 3), np.int32), *(graph.triples[s] for s in ordered)])
    n_observed = sum(len(graph.triples[split]) for split in observed)
    order = _order(rows)
    first = order[_first_of_equal(rows[order])]
    return rows[first], first < n_observed


def _adjacency(rows: np.ndarray, observed: np.ndarray, n_entities: int) -> Adjacency:
    """Compress distinct rows (entity, relation, neighbour)."""
    codes = relation_codes(rows[:, 1])
    order = _order(np.column_stack([rows[:, 0], codes.astype(np.int64), rows[:, 2]]))
    rows, observed = rows[order], observed[order]
    new_row = np.ones(len(rows), dtype=bool)
    np.any(rows[1:, :2] != rows[:-1, :2], axis=1, out=new_row[1:])
    starts = np.flatnonzero(new_row)
    row_entities, row_relations = rows[starts, 0], rows[starts, 1]
    entities = np.zeros((n_entities + 1, 2), np.uint64)
    np.cumsum(np.bincount(row_entities, minlength=n_entities), out=entities[1:, 0])
    marks = np.uint64(1) << (row_relations % MARK_BITS).astype(np.uint64)
    np.bitwise_or.at(entities[:, 1], row_entities, marks)
    packed = np.empty(len(starts) + 1, np.uint64)
    places = starts.astype(np.uint64)
    packed[:-1] = relation_codes(row_relations) << np.uint64(RELATION_SHIFT) | places
    packed[-1] = len(rows)
    edges = rows[:, 2].astype(np.uint32) << np.uint32(1) | observed.astype(np.uint32)
    return Adjacency(entities, packed, edges)
