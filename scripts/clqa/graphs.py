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

from clqa.array_files import read_member
from clqa.errors import InputError, damaged
from clqa.files import replacing

SPLITS = ("train", "valid", "test")
OBSERVED = {"train": (), "valid": ("train",), "test": ("train", "valid")}
FULL = {split: (*parts, split) for split, parts in OBSERVED.items()}
_SCALARS = ("n_entities", "hash", "vocabulary")
_PROTOCOL, _DEGREES = "protocol", "degrees"
NO_DEGREES = np.empty((0, 0), np.float32)


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
    degrees : (n_vectors, n_entities) float32
        What formulas call d1, d2, ...: from 0 to 1, known to whoever knows the graph.
    """

    n_entities: int
    n_relations: int
    triples: dict[str, np.ndarray]
    inverse: np.ndarray
    hash: str
    vocabulary: str
    observed: dict[str, tuple[str, ...]] = OBSERVED
    restricted: bool = False
    degrees: np.ndarray = NO_DEGREES

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
    degrees: np.ndarray = NO_DEGREES,
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
    if len(degrees):
        digest.update(degrees.astype("<f4").tobytes())
    sizes, protocol = (int(n_entities), len(inverse)), (dict(observed), bool(restricted))
    return Graph(*sizes, kept, inverse, digest.hexdigest(), vocabulary, *protocol, degrees)


def candidates(graph: Graph, split: str) -> np.ndarray | None:
    """Entities that compete for the answers of a split, ascending; None where all do.

    Those of its observed graph, or of its full graph where no part is observed.

    Raises
    ------
    InputError
        If no entity would compete, and any answer would be ranked first.
    """
    if not graph.restricted:
        return None
    parts = graph.observed[split] or graph.full(split)
    found = np.unique(np.concatenate([graph.triples[part][:, [0, 2]].ravel() for part in parts]))
    if not len(found):
        raise InputError(
            f"candidates: observed, but {' and '.join(parts)} hold no triples: no entity would "
            f"compete with the answers of the split {split}; give triples or set candidates: all"
        )
    return found


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
        scalars[_PROTOCOL] = np.array(json.dumps([graph.observed, graph.restricted]))
    if len(graph.degrees):
        scalars[_DEGREES] = graph.degrees
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, inverse=graph.inverse, **scalars, **graph.triples)


def read_graph(path: str | os.PathLike, parts: tuple[str, ...] | None = None) -> Graph:
    """Read a graph; only the triples of `parts` are loaded, of all parts by default.

    Raises
    ------
    InputError
        If the file is missing, cut short, changed or not a graph.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            observed, restricted = _protocol(archive)
            parts = parts_of(observed) if parts is None else parts
            arrays = {name: read_member(archive, name) for name in (*_SCALARS, "inverse", *parts)}
            has_degrees = f"{_DEGREES}.npy" in archive.namelist()
            degrees = read_member(archive, _DEGREES) if has_degrees else NO_DEGREES
        n_entities, graph_hash, vocabulary = (arrays[name].item() for name in _SCALARS)
        triples = {part: arrays[part] for part in parts}
        if not (isinstance(n_entities, int) and isinstance(graph_hash + vocabulary, str)):
            raise ValueError(f"expected a number and two texts as {', '.join(_SCALARS)}")
        _check_inverse(arrays["inverse"])
        if has_degrees:
            _check_degrees(degrees, n_entities)
        for part, rows in triples.items():
            if rows.dtype != np.int32 or rows.ndim != 2 or rows.shape[1] != 3:
                raise ValueError(f"{part} is {rows.dtype} {rows.shape}, expected int32 (n, 3)")
            _check_ids(part, rows, n_entities, len(arrays["inverse"]))
    except Exception as error:  # whatever a damaged file makes its reader say
        what = f"not a readable graph ({error or type(error).__name__})"
        raise damaged(path, what, "build_graph") from error
    return Graph(
        n_entities=n_entities,
        n_relations=len(arrays["inverse"]),
        triples=triples,
        inverse=arrays["inverse"],
        hash=graph_hash,
        vocabulary=vocabulary,
        observed=observed,
        restricted=restricted,
        degrees=degrees,
    )


def _protocol(archive: zipfile.ZipFile) -> tuple[dict[str, tuple[str, ...]], bool]:
    """Which parts are observed, and whether candidates are restricted."""
    if f"{_PROTOCOL}.npy" not in archive.namelist():
        return OBSERVED, False
    written, restricted = json.loads(str(read_member(archive, _PROTOCOL)))
    return {split: tuple(names) for split, names in written.items()}, bool(restricted)


def _check_degrees(degrees: np.ndarray, n_entities: int) -> None:
    if degrees.dtype != np.float32 or degrees.ndim != 2 or degrees.shape[1] != n_entities:
        what = f"{degrees.dtype} {degrees.shape}"
        raise ValueError(f"degrees are {what}, expected float32 (n, {n_entities})")
    if not ((degrees >= 0) & (degrees <= 1)).all():
        raise ValueError("degrees must be from 0 to 1")


def _check_inverse(inverse: np.ndarray) -> None:
    if inverse.dtype != np.int32 or inverse.ndim != 1:
        raise ValueError(f"inverse is {inverse.dtype} {inverse.shape}, expected int32 (n,)")
    numbers = np.arange(len(inverse))
    known = inverse >= 0
    if len(inverse) and not -1 <= inverse.min() <= inverse.max() < len(inverse):
        raise ValueError(f"ids in inverse must be -1 to {len(inverse) - 1}")
    if (inverse[inverse[known]] != numbers[known]).any():
        raise ValueError("some inverse relation is that of another one")
