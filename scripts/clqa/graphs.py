"""Knowledge graphs as arrays: triples per split and inverse relations.

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
    rows = rows[row_order(rows)]
    return np.ascontiguousarray(rows[first_of_equal(rows)])


def row_order(rows: np.ndarray) -> np.ndarray:
    """Stable order of the rows by their columns; one integer key where it fits."""
    if not len(rows):
        return np.empty(0, np.int64)
    sizes = [int(column.max()) + 1 for column in rows.T]
    if sizes[0] * sizes[1] * sizes[2] < 2**63:
        head, relation, tail = rows.T.astype(np.int64)
        return np.argsort((head * sizes[1] + relation) * sizes[2] + tail, kind="stable")
    return np.lexsort(rows.T[::-1])


def first_of_equal(rows: np.ndarray) -> np.ndarray:
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
