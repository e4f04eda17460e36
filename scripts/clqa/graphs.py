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

# Bits of an edge in an `Adjacency`: which of the two graphs of a split hold it.
IN_OBSERVED = np.uint8(1)
IN_FULL = np.uint8(2)


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
    """Neighbours by (entity, relation), in compressed rows.

    The rows of entity v are `entity_rows[v]` to `entity_rows[v + 1]`, one per relation that v has,
    by ascending relation; row i holds `ids[row_starts[i]:row_starts[i + 1]]`, ascending.

    Attributes
    ----------
    entity_rows : (n_entities + 1,) int64
    relation_marks : (n_entities,) uint64
        Bit r modulo 64 is set if the entity has relation r: most lookups that fail stop here.
    row_relations : (n_rows,) int32
    row_starts : (n_rows + 1,) int64
    ids : (n_edges,) int32
    bits : (n_edges,) uint8
        `IN_OBSERVED`, `IN_FULL` or both.
    """

    entity_rows: np.ndarray
    relation_marks: np.ndarray
    row_relations: np.ndarray
    row_starts: np.ndarray
    ids: np.ndarray
    bits: np.ndarray


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
    observed, full = (
        np.concatenate([np.empty((0, 3), np.int32), *(graph.triples[s] for s in splits[split])])
        for splits in (OBSERVED, FULL)
    )
    rows = np.concatenate([observed, full])
    bits = np.repeat(np.array([IN_OBSERVED, IN_FULL], np.uint8), [len(observed), len(full)])
    order = _order(rows)
    first = order[_first_of_equal(rows[order])]
    first = first[bits[first] == IN_FULL]
    return _view_of(rows[first], bits[first], graph.n_entities)


def _view(graph: Graph, observed: tuple[str, ...], full: tuple[str, ...]) -> View:
    ordered = [*observed, *(split for split in full if split not in observed)]
    empty = np.empty((0, 3), np.int32)
    rows = np.concatenate([empty, *(graph.triples[split] for split in ordered)])
    n_observed = sum(len(graph.triples[split]) for split in observed)
    bits = np.full(len(rows), IN_FULL, np.uint8)
    bits[:n_observed] |= IN_OBSERVED
    return _view_of(rows, bits, graph.n_entities)


def _view_of(rows: np.ndarray, bits: np.ndarray, n_entities: int) -> View:
    return View(
        n_entities=n_entities,
        tails=_adjacency(rows, bits, n_entities),
        heads=_adjacency(rows[:, ::-1], bits, n_entities),
    )


def _adjacency(rows: np.ndarray, bits: np.ndarray, n_entities: int) -> Adjacency:
    """Compress rows (entity, relation, neighbour); of equal rows the first one's bits count."""
    order = _order(rows)
    rows = rows[order]
    first = _first_of_equal(rows)
    rows, bits = rows[first], bits[order[first]]
    new_row = np.ones(len(rows), dtype=bool)
    np.any(rows[1:, :2] != rows[:-1, :2], axis=1, out=new_row[1:])
    starts = np.flatnonzero(new_row)
    entity_rows = np.zeros(n_entities + 1, np.int64)
    np.cumsum(np.bincount(rows[starts, 0], minlength=n_entities), out=entity_rows[1:])
    marks = np.zeros(n_entities, np.uint64)
    np.bitwise_or.at(marks, rows[starts, 0], np.uint64(1) << (rows[starts, 1] % 64).astype("u8"))
    return Adjacency(
        entity_rows=entity_rows,
        relation_marks=marks,
        row_relations=np.ascontiguousarray(rows[starts, 1]),
        row_starts=np.append(starts, len(rows)).astype(np.int64),
        ids=np.ascontiguousarray(rows[:, 2]),
        bits=bits,
    )
