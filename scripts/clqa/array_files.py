"""Files of named arrays and texts that say when they are damaged: `.npz` with a digest."""

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Mapping

import numpy as np

from clqa.files import replacing
from clqa.unpacking import open_arrays

_DIGEST = "sha256"
_MOST_ELEMENTS = 1 << 56
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def write_arrays(path: str | os.PathLike, arrays: Mapping[str, np.ndarray], texts: Mapping) -> None:
    """Write an uncompressed `.npz` whose bytes depend on its content alone."""
    texts = {**texts, _DIGEST: _digest(arrays, texts)}
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **{name: np.array(text) for name, text in texts.items()}, **arrays)


def read_arrays(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the texts of a file, in the order in which they were written.

    Raises
    ------
    Exception
        Of any kind, if the file is missing, cut short or changed.
    """
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        read = {name: read_member(archive, name) for name in names}
    texts = {name: array.item() for name, array in read.items() if array.dtype.kind == "U"}
    arrays = {name: array for name, array in read.items() if name not in texts}
    if texts.pop(_DIGEST) != _digest(arrays, texts):
        raise ValueError("its content does not have its sha256")
    return arrays, texts


def read_all(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """All arrays of a `.npz` from elsewhere.

    Raises
    ------
    Exception
        Of any kind, if the file is missing, cut short or unpacks to far more than it is.
    """
    with open(path, "rb") as stream, open_arrays(stream) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        return {name: read_member(archive, name) for name in names}


def open_array(path: str | os.PathLike) -> np.memmap:
    """The array of a `.npy` from elsewhere, mapped from the file.

    Raises
    ------
    Exception
        Of any kind, if the file is missing, cut short or no array.
    """
    with open(path, "rb") as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"version {version} of .npy; numbers need none above 2.0")
        shape, _, dtype = _HEADERS[version](stream)
    _check_shape(shape, dtype)
    return np.lib.format.open_memmap(path, mode="r")


def _check_shape(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Refuse sizes that numpy ends the process for, or cannot tell the number of elements of."""
    is_shape = all(type(n) is int and n >= 0 for n in shape)
    if not dtype.itemsize or not is_shape or math.prod(n or 1 for n in shape) >= _MOST_ELEMENTS:
        raise ValueError(f"an array of {dtype} with {len(shape)} axes that no file can hold")


def read_member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of a `.npz`, read to its end so that its checksum is compared.

    Elements without a size, of which a file could claim any number, are refused.
    """
    with archive.open(f"{name}.npy") as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):
            raise ValueError(f"{name} is longer than it says")
    _check_shape(array.shape, array.dtype)
    return array


def _digest(arrays: Mapping[str, np.ndarray], texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
    for name, array in arrays.items():
        digest.update(f" {name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()
