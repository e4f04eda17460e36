"""Knowledge graphs as arrays: triples per part and inverse relations.

Answers on the observed graph of a split are easy, those that only the full graph gives are hard.
The full graph is the observed one and the triples of the split. Without a word about it, a graph
follows the three-graph protocol of Ren and Leskovec (BetaE, 2020): the splits before are observed.
An inductive graph says what is observed instead, and has parts of its own for it.
"""

import hashlib
import itertools
import json
import os
import zipfile
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.files import replacing

SPLITS = ("train", "valid", "test")
OBSERVED = {"train": (), "valid": ("train",), "test": ("train", "valid")}
FULL = {split: (*parts, split) for split, parts in OBSERVED.items()}


class Graph(NamedTuple):
    """A knowledge graph with one vocabulary for all parts.

    Attributes
    ----------
    n_entities, n_relations : int
        Relations include the inverse ones.
    triples : dict of (n, 3) int32
        Per part (a split, or what only `observed` names) the head, relation and tail ids; rows are
        unique and sorted.
    inverse : (n_relations,) int32
        Id of the inverse of each relation, -1 where there is none.
    hash, vocabulary : str
        sha256 of the whole graph, and of its labels in order of their ids.
    observed : dict of tuple of str
        For each split the parts that make up its observed graph.
    restricted : bool
        Whether only the entities of a split's observed graph are candidates for its answers.
    """

    n_entities: int
    n_relations: int
    triples: dict[str, np.ndarray]
    inverse: np.ndarray
    hash: str
    vocabulary: str
    observed: dict[str, tuple[str, ...]] = OBSERVED
    restricted: bool = False

    def full(self, split: str) -> tuple[str, ...]:
        """The parts that make up the full graph of a split."""
        return (*self.observed[split], split)


def parts_of(observed: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The splits, and the parts that only some observed graph has."""
    return tuple(dict.fromkeys((*SPLITS, *itertools.chain(*observed.values()))))


def make_graph(
    triples: dict[str, np.ndarray],
    inverse: np.ndarray,
    n_entities: int,
    vocabulary: str,
    observed: dict[str, tuple[str, ...]] = OBSERVED,
    restricted: bool = False,
) -> Graph:
    """Sort the triples of each part, drop duplicates within a part, and hash the whole."""
    inverse = np.asarray(inverse, dtype=np.int32)
    kept = {split: sorted_unique(rows) for split, rows in triples.items()}
    for split, rows in kept.items():
        _check_ids(split, rows, n_entities, len(inverse))
    digest = hashlib.sha256(f"{vocabulary} {n_entities}".encode())
    digest.update(inverse.astype("<i4").tobytes())
    for part in parts_of(observed):
        digest.update(part.encode())
        digest.update(kept[part].astype("<i4").tobytes())
    if (observed, restricted) != (OBSERVED, False):
        digest.update(json.dumps([observed, restricted], sort_keys=True).encode())
    sizes = int(n_entities), len(inverse)
    return Graph(
        *sizes, kept, inverse, digest.hexdigest(), vocabulary, dict(observed), bool(restricted)
    )


def candidates(graph: Graph, split: str) -> np.ndarray | None:
    """Entities that compete for the answers of a split, ascending; None where all do.

    Those of its observed graph, or of its full graph where nothing is observed.
    """
    if not graph.restricted:
        return None
    parts = graph.observed[split] or graph.full(split)
    return np.unique(np.concatenate([graph.triples[part][:, [0, 2]].ravel() for part in parts]))


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
    if (graph.observed, graph.restricted) != (OBSERVED, False):
        scalars["protocol"] = np.array(json.dumps([graph.observed, graph.restricted]))
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, inverse=graph.inverse, **scalars, **graph.triples)


def read_graph(path: str | os.PathLike, parts: tuple[str, ...] | None = None) -> Graph:
    """Read a graph; only the triples of `parts` are loaded, of all parts by default.

    Raises
    ------
    InputError
        If the file is missing, cut short or not a graph.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            observed, restricted = OBSERVED, False
            if "protocol" in arrays.files:
                written, restricted = json.loads(str(arrays["protocol"]))
                observed = {split: tuple(names) for split, names in written.items()}
            parts = parts_of(observed) if parts is None else parts
            return Graph(
                n_entities=int(arrays["n_entities"]),
                n_relations=len(arrays["inverse"]),
                triples={part: arrays[part] for part in parts},
                inverse=arrays["inverse"],
                hash=str(arrays["hash"]),
                vocabulary=str(arrays["vocabulary"]),
                observed=observed,
                restricted=restricted,
            )
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, AttributeError) as error:
        raise InputError(f"{path}: not a readable graph ({error}); build it again") from error
