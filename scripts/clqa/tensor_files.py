"""Tensors of PyTorch checkpoints, read without PyTorch and without running anything in them.

A checkpoint is a pickle that refers to blocks of numbers. Since PyTorch 1.6 it is a zip archive
with the blocks as members; before, the blocks followed the pickle. Of the types that the pickle
asks for, ordered dicts and tensors are made; whatever else it names becomes an object that does
nothing.
"""

import collections
import io
import math
import mmap
import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clqa.pickle_scans import scan_pickle
from clqa.pickles import mapped
from clqa.unpacking import most_bytes, open_zip, read_at_most, too_much

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
_STORAGES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2"}
_LONGEST = 1 << 28  # bytes of names and references
_LONGEST_NAME, _MOST_AXES = 1000, 8
_MAGIC = 0x1950A86A20F9469CFC6C


class _Block(NamedTuple):
    """Numbers outside of the pickle; the type is None where it is none of floating point."""

    key: str
    dtype: str | None
    size: int


class _Tensor(NamedTuple):
    block: _Block
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Inert:
    """Stands for an object of any other type."""

    def __new__(cls, *args, **options):
        return super().__new__(cls)

    def __init__(self, *args, **options):
        pass

    def __setstate__(self, state):
        pass

    def __setitem__(self, key, value):
        pass

    def append(self, value):
        pass

    def extend(self, values):
        pass


def _tensor(block, offset, shape, strides, *others):
    if not isinstance(block, _Block):
        raise ValueError("a tensor without numbers")
    return _Tensor(block, offset, shape, strides)


def _first(value, *others):
    return value


class _Unpickler(pickle.Unpickler):
    """Makes nothing but plain data, tensors and objects that do nothing."""

    def find_class(self, module, name):
        if module in ("torch", "torch.storage") and name.endswith("Storage"):
            return _STORAGES.get(name, "")
        known = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _first,
        }
        return known.get((module, name), _Inert)

    def persistent_load(self, saved):
        kind, dtype, key, _, size, *_ = saved
        if kind != "storage" or not isinstance(key, str) or not isinstance(size, int):
            raise ValueError("not a checkpoint of tensors")
        return _Block(key, dtype if isinstance(dtype, str) and dtype else None, size)


def read_tensors(path: str | os.PathLike, ending: str) -> dict[str, np.ndarray]:
    """The tensors whose names, joined by dots from the top, are or end in `ending`; all if empty.

    Names of all tensors if there is none are in the message.

    Raises
    ------
    Exception
        Of any kind, if the file is missing or damaged, or has no such tensor.
    """
    with open(path, "rb") as stream:
        if zipfile.is_zipfile(stream):
            with open_zip(stream) as archive:
                (pickled,) = [n for n in archive.namelist() if n.endswith("data.pkl")]
                most = most_bytes(Path(path).stat().st_size)
                with archive.open(pickled) as member:
                    content, _ = _unpickled(read_at_most(member, min(most, _LONGEST)))
                folder = pickled.removesuffix("data.pkl") + "data/"
                return _named(content, ending, lambda block: _member(archive, folder, block), most)
        return _read_old(mapped(stream), ending)


def _unpickled(content, start: int = 0) -> tuple[object, int]:
    """What is pickled at a place, and where that ends."""
    end = scan_pickle(content, start)
    return _Unpickler(io.BytesIO(content[start:end])).load(), end


def _member(archive: zipfile.ZipFile, folder: str, block: _Block) -> bytes:
    with archive.open(folder + block.key) as member:
        return read_at_most(member, block.size * _width(block))


def _read_old(content: mmap.mmap | bytes, ending: str) -> dict[str, np.ndarray]:
    magic, end = _unpickled(content)
    if magic != _MAGIC:
        raise ValueError("not a checkpoint of PyTorch")
    for _ in ("version", "system"):
        _, end = _unpickled(content, end)
    named, end = _unpickled(content, end)
    keys, end = _unpickled(content, end)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ValueError("not a checkpoint of PyTorch")
    widths = {tensor.block.key: _width(tensor.block) for _, tensor in _tensors(named)}
    places = {}
    for key in keys:
        size = int.from_bytes(content[end : end + 8], "little")
        places[key] = end + 8
        end += 8 + size * widths.get(key, 0)

    def numbers(block):
        start = places[block.key]
        return content[start : start + block.size * _width(block)]

    return _named(named, ending, numbers, len(content))


def _width(block: _Block) -> int:
    if block.dtype is None:
        raise ValueError("has tensors that are not of floating point; save it by PyTorch 1.6")
    return np.dtype(block.dtype).itemsize


def _named(content: object, ending: str, numbers, most: int) -> dict[str, np.ndarray]:
    """The tensors by name; `numbers` reads a block, and all of them may have so many bytes."""
    tensors = {name: one for name, one in _tensors(content) if one.block.dtype}
    end = f".{ending}" if ending else ""
    found = {name: one for name, one in tensors.items() if f".{name}".endswith(end)}
    if not found:
        raise ValueError(f"no tensor {ending}; the file has {', '.join(tensors) or 'none'}")
    blocks = {one.block for one in found.values()}
    if sum(block.size * _width(block) for block in blocks) > most:
        raise too_much(most)
    contents = {block: numbers(block) for block in blocks}
    return {name: _array(one, contents[one.block]) for name, one in found.items()}


def _array(tensor: _Tensor, content: bytes) -> np.ndarray:
    if len(tensor.shape) > _MOST_AXES or not all(type(one) is int for one in tensor.shape):
        raise ValueError("the shape of the tensor is none")
    steps = [math.prod(tensor.shape[place + 1 :]) for place in range(len(tensor.shape))]
    if [*tensor.strides] != steps:
        raise ValueError("the tensor does not lie row by row; save it as contiguous")
    values = np.frombuffer(content, tensor.block.dtype)
    end = tensor.offset + math.prod(tensor.shape)
    if tensor.offset < 0 or len(values) != tensor.block.size or end > len(values):
        raise ValueError("holds fewer numbers than it says")
    return values[tensor.offset : end].reshape(tensor.shape)


def _tensors(content: object) -> Iterator[tuple[str, _Tensor]]:
    """Names and tensors, each container once; without recursion, which a file could make deep."""
    pending, seen = [("", content)], set()
    while pending:
        name, one = pending.pop()
        if len(name) > _LONGEST_NAME:
            raise ValueError("a name in it is too long, or it is nested too deeply")
        if isinstance(one, _Tensor):
            yield name, one
        elif isinstance(one, (dict, list, tuple)) and id(one) not in seen:
            seen.add(id(one))
            parts = one.items() if isinstance(one, dict) else enumerate(one)
            named = [(f"{name}.{key}" if name else str(key), part) for key, part in parts]
            pending.extend(reversed(named))
