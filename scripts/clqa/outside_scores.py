"""Matrices of scores from elsewhere, in whatever file they come."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clqa.array_files import open_array, read_all, read_member
from clqa.errors import InputError
from clqa.outside_queries import Key, refuse_repeated
from clqa.predictions import release
from clqa.tensor_files import SUFFIXES, read_tensors
from clqa.unpacking import open_arrays

_SAFE_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
_MOST_HEADER = 1 << 24  # bytes
_MOST_AXES = 8


class Matrices(NamedTuple):
    """Scores in several files, one after another.

    Attributes
    ----------
    paths : list of path
    parts : list of (n, n_entities) or (n, k, n_entities) array
        Of numbers; mapped where the file allows.
    rows : list of str or tuple
        The queries of the rows of all parts.
    """

    paths: Sequence[str | os.PathLike]
    parts: list[np.ndarray]
    rows: list[Key]


def read_matrices(
    paths: Sequence[str | os.PathLike],
    rows: Sequence[list[Key]],
    array: str | None,
    row_shape: tuple[int, ...],
) -> Matrices:
    """Open the files, with the queries of the rows of each.

    Parameters
    ----------
    row_shape : tuple of int
        Shape of the scores of a query.

    Raises
    ------
    InputError
        If a file is not readable or is of another size, or two files have the same query.
    """
    if rows is None or len(paths) != len(rows):
        n_rows = len(rows or ())
        raise InputError(f"{paths[0]}: {len(paths)} files of scores for {n_rows} of queries")
    parts = [read_scores(path, array) for path in paths]
    for path, part, names in zip(paths, parts, rows, strict=True):
        if part.shape != (len(names), *row_shape):
            raise InputError(
                f"{path}: scores of shape {part.shape}; expected {(len(names), *row_shape)}, a row"
                " for each query and a column for each entity"
            )
    every = [name for names in rows for name in names]
    refuse_repeated(paths[0], every)
    return Matrices(paths, parts, every)


def blocks(
    matrices: Matrices, found: np.ndarray, columns: np.ndarray | None, chunk_bytes: int
) -> Iterator[np.ndarray]:
    """Some rows in the order that is asked for, their columns in that of the graph.

    Parameters
    ----------
    found : (n,) int64
        Numbers of rows.
    columns : (n_entities,) int64, optional

    Raises
    ------
    InputError
        If a score is a NaN.
    """
    starts = np.cumsum([0, *(len(part) for part in matrices.parts)])
    kind = np.result_type(*(part.dtype for part in matrices.parts))
    width = max(1, matrices.parts[0][:1].size * kind.itemsize)
    step = max(1, chunk_bytes // width)
    for first in range(0, len(found), step):
        wanted = found[first : first + step]
        block = np.empty((len(wanted), *matrices.parts[0].shape[1:]), kind)
        for start, part in zip(starts[:-1], matrices.parts, strict=True):
            inside = (wanted >= start) & (wanted < start + len(part))
            block[inside] = part[wanted[inside] - start]
            release(part)
        _refuse_nan(matrices, wanted, block)
        yield block if columns is None else block[..., columns]


def _refuse_nan(matrices: Matrices, wanted: np.ndarray, block: np.ndarray) -> None:
    bad = np.flatnonzero(np.isnan(block.reshape(len(block), -1)).any(axis=1))
    if len(bad):
        name = matrices.rows[wanted[bad[0]]]
        raise InputError(f"{matrices.paths[0]}: the scores of query {name} hold a NaN")


def read_scores(path: str | os.PathLike, array: str | None = None) -> np.ndarray:
    """An array of floating point numbers, mapped from the file if that can be.

    Parameters
    ----------
    array : str, optional
        Its name in a `.npz`, `.safetensors` or checkpoint of PyTorch; needed where there are more.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another kind or holds something else.
    """
    suffix = Path(path).suffix
    readers = {".npy": _from_npy, ".npz": _from_npz, ".safetensors": _from_safetensors}
    readers |= dict.fromkeys(SUFFIXES, _from_torch)
    try:
        found = readers[suffix](path, array)
    except Exception as error:  # whatever a damaged file makes its reader say
        what = " ".join(str(error or type(error).__name__).split())
        raise InputError(f"{path}: not readable ({what:.300})") from error
    if found.dtype.kind in "biu":
        found = found.astype(np.float64)
    if found.dtype.kind != "f" or found.dtype.itemsize > 8:
        raise InputError(f"{path}: {found.dtype}; expected numbers of float16, float32 or float64")
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def read_arrays_of(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """All arrays of a `.npz`.

    Raises
    ------
    InputError
        If it is not readable.
    """
    try:
        return read_all(path)
    except Exception as error:  # whatever a damaged file makes its reader say
        what = " ".join(str(error or type(error).__name__).split())
        raise InputError(f"{path}: not readable ({what:.300})") from error


def _from_npy(path, array) -> np.ndarray:
    return open_array(path)


def _from_npz(path, array) -> np.ndarray:
    with open(path, "rb") as stream, open_arrays(stream) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        return read_member(archive, _only(names, array))


def _from_safetensors(path, array) -> np.ndarray:
    with open(path, "rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > _MOST_HEADER:
            raise ValueError("its header is too long")
        header = json.loads(stream.read(size))
    entry = header[_only([name for name in header if name != "__metadata__"], array)]
    (first, last), shape = entry["data_offsets"], entry["shape"]
    if len(shape) > _MOST_AXES or not all(type(n) is int and n >= 0 for n in (*shape, first)):
        raise ValueError("its header has no shape")
    kind = np.dtype(_SAFE_TYPES[entry["dtype"]])
    if last - first != kind.itemsize * math.prod(shape):
        raise ValueError("its header does not fit its content")
    return np.memmap(path, kind, "r", 8 + size + first, tuple(shape))


def _from_torch(path, array) -> np.ndarray:
    found = read_tensors(path, array or "")
    return found[_only(list(found), None)]


def _only(names: list[str], array: str | None) -> str:
    """The name of the array to read."""
    if array is None and len(names) == 1:
        return names[0]
    if array not in names:
        asked = "array is missing" if array is None else f"no array {array}"
        raise ValueError(f"{asked}; the file has {', '.join(names) or 'none'}")
    return array
