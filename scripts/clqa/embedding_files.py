"""Embeddings that were made elsewhere, put into the order of a graph."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from clqa.array_files import open_array, read_member
from clqa.embeddings import Model
from clqa.errors import InputError
from clqa.graphs import Graph
from clqa.predictors import n_reciprocal, reciprocal_relations
from clqa.tensor_files import SUFFIXES, read_tensors
from clqa.unpacking import open_arrays
from clqa.vocabularies import read_labels


def read_matrix(path: str | os.PathLike, array: str | None = None) -> np.ndarray:
    """A matrix of real numbers as float32, from a `.npy`, a `.npz` or a checkpoint of PyTorch.

    Parameters
    ----------
    array : str, optional
        Name of the array in a `.npz`; name, or the end of the name, of a tensor in a checkpoint.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another kind or holds something else.
    """
    suffix = Path(path).suffix
    if suffix not in (".npy", ".npz", *SUFFIXES):
        raise InputError(f"{path}: expected .npy, .npz or {', '.join(SUFFIXES)} (PyTorch)")
    try:
        found = _read(path, suffix, array)
    except Exception as error:  # whatever a damaged file makes its reader say
        what = " ".join(str(error or type(error).__name__).split())
        raise InputError(f"{path}: not readable ({what:.300})") from error
    if found.ndim != 2 or found.dtype.kind not in "fiu":
        raise InputError(f"{path}: {found.dtype} {found.shape}; expected a matrix of numbers")
    with np.errstate(over="ignore"):  # which is told of as a number that is not finite
        return found.astype(np.float32)


def _read(path, suffix: str, array: str | None) -> np.ndarray:
    if suffix == ".npy":
        return open_array(path)
    if suffix == ".npz":
        with open(path, "rb") as stream, open_arrays(stream) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            if array not in names:
                raise ValueError(f"array is {array}; the file has {', '.join(names)}")
            return read_member(archive, array)
    if array is None:
        raise ValueError("array is missing, the name of the tensor")
    first, *others = read_tensors(path, array).items()
    for name, other in others:
        if not np.array_equal(first[1], other):
            raise ValueError(f"{first[0]} and {name} differ; name one of them in full")
    return first[1]


def ordered_entities(matrix: np.ndarray, path_to_labels, labels: pa.Array, path) -> np.ndarray:
    """The rows in the order of a graph's labels; as they are without labels of their own."""
    if path_to_labels is None:
        return matrix
    rows = _rows_by_label(matrix, path_to_labels, path, len(matrix))
    return matrix[[_row(rows, label, path_to_labels) for label in labels.to_pylist()]]


def ordered_relations(
    matrix: np.ndarray, path_to_labels, labels: pa.Array, path, graph: Graph, model: Model, how: str
) -> np.ndarray:
    """Vectors of a graph's relations, then of the reciprocal ones that the graph lacks.

    Parameters
    ----------
    how : str
        Where those of inverse relations come from: `stored`, `second-half` or `derived`.
    """
    n_own = len(matrix) // 2 if how == "second-half" else len(matrix)
    names = labels.to_pylist()
    if path_to_labels is not None:
        rows = _rows_by_label(matrix, path_to_labels, path, n_own)
    elif how == "stored":
        rows = {name: row for row, name in enumerate(names)}
    else:  # those that are no inverse of one before, in the order of the graph
        firsts = [r for r, other in enumerate(graph.inverse) if other < 0 or r <= other]
        rows = {names[r]: row for row, r in enumerate(firsts)}
    if path_to_labels is None and len(rows) != n_own:
        raise InputError(f"{path}: vectors of {n_own} relations; expected {len(rows)} ({how})")
    turned = matrix[n_own:] if how == "second-half" else model.turned(matrix)
    found = np.empty((n_reciprocal(graph.inverse), matrix.shape[1]), np.float32)
    for relation, name in enumerate(names):
        other = graph.inverse[relation]
        if how == "stored" or other < 0 or name in rows:
            found[relation] = matrix[_row(rows, name, path_to_labels)]
        else:
            found[relation] = turned[_row(rows, names[other], path_to_labels)]
    for relation in np.flatnonzero(graph.inverse < 0):
        place = reciprocal_relations(graph.inverse)[relation]
        found[place] = turned[_row(rows, names[relation], path_to_labels)]
    return found


def _rows_by_label(matrix, path_to_labels, path, n_rows) -> dict[str, int]:
    labels = read_labels(path_to_labels).to_pylist()
    if len(labels) != n_rows:
        raise InputError(
            f"{path_to_labels}: {len(labels)} labels; expected {n_rows}, one for each row of {path}"
        )
    return {label: row for row, label in enumerate(labels)}


def _row(rows: dict[str, int], label: str, path) -> int:
    if label not in rows:
        raise InputError(f"{path}: has no label {label!r}, which the graph has")
    return rows[label]
