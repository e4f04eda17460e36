"""Tensors of PyTorch checkpoints, read without PyTorch and without running anything in them.

A checkpoint is a pickle that refers to blocks of numbers. Since PyTorch 1.6 it is a zip archive
with the blocks as members; before, the blocks followed the pickle. Of the types that the pickle
asks for, ordered dicts and tensors are made; whatever else it names becomes an object that does
nothing.
"""

import collections
import math
import os
import pickle
import zipfile
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
_STORAGES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2"}
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
    """The tensors whose names, joined by dots from the top, are or end in `ending`.

    Names of all tensors if there is none are in the message.

    Raises
    ------
    Exception
        Of any kind, if the file is missing or damaged, or has no such tensor.
    """
    with open(path, "rb") as stream:
        if zipfile.is_zipfile(stream):
            with zipfile.ZipFile(stream) as archive:
                (pickled,) = [n for n in archive.namelist() if n.endswith("data.pkl")]
                content = _Unpickler(archive.open(pickled)).load()
                folder = pickled.removesuffix("data.pkl") + "data/"
                return _named(content, ending, lambda block: archive.read(folder + block.key))
        stream.seek(0)
        return _read_old(stream, ending)


def _read_old(stream: BinaryIO, ending: str) -> dict[str, np.ndarray]:
    if _Unpickler(stream).load() != _MAGIC:
        raise ValueError("not a checkpoint of PyTorch")
    for _ in ("version", "system"):
        _Unpickler(stream).load()
    content, keys = _Unpickler(stream).load(), _Unpickler(stream).load()
    widths = {tensor.block.key: _width(tensor.block) for _, tensor in _tensors(content)}
    start, places = stream.tell(), {}
    for key in keys:
        stream.seek(start)
        size = int.from_bytes(stream.read(8), "little")
        places[key] = start + 8
        start += 8 + size * widths.get(key, 0)

    def numbers(block):
        stream.seek(places[block.key])
        return stream.read(block.size * _width(block))

    return _named(content, ending, numbers)


def _width(block: _Block) -> int:
    if block.dtype is None:
        raise ValueError("has tensors that are not of floating point; save it by PyTorch 1.6")
    return np.dtype(block.dtype).itemsize


def _named(content: object, ending: str, numbers) -> dict[str, np.ndarray]:
    tensors = {name: one for name, one in _tensors(content) if one.block.dtype}
    found = {n: one for n, one in tensors.items() if f".{n}".endswith(f".{ending}")}
    if not found:
        raise ValueError(f"no tensor {ending}; the file has {', '.join(tensors) or 'none'}")
    return {name: _array(one, numbers(one.block)) for name, one in found.items()}


def _array(tensor: _Tensor, content: bytes) -> np.ndarray:
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
        if isinstance(one, _Tensor):
            yield name, one
        elif isinstance(one, (dict, list, tuple)) and id(one) not in seen:
            seen.add(id(one))
            parts = one.items() if isinstance(one, dict) else enumerate(one)
            named = [(f"{name}.{key}" if name else str(key), part) for key, part in parts]
            pending.extend(reversed(named))
