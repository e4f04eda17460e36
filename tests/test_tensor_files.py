"""Checkpoints of PyTorch, written here as its formats are, and read without it."""

import collections
import io
import pickle
import struct
import sys
import types
import zipfile

import numpy as np
import pytest

from clqa.embedding_files import read_matrix
from clqa.errors import InputError

MAGIC = 0x1950A86A20F9469CFC6C
MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def torch(monkeypatch):
    """Modules with the names that checkpoints refer to."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in ("FloatStorage", "HalfStorage", "LongStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2(*arguments):
        raise AssertionError("read by PyTorch")

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


class Tensor:
    """Pickled as PyTorch pickles a tensor."""

    def __init__(self, key, values, kind="FloatStorage", offset=0, shape=None, strides=None):
        self.key, self.values, self.kind = key, values, kind
        self.offset, self.shape = offset, shape or values.shape
        self.strides = strides or (self.shape[1], 1)

    def __reduce__(self):
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        block = Block(self.key, self.kind, self.values.size)
        hooks = collections.OrderedDict()
        return rebuild, (block, self.offset, self.shape, self.strides, False, hooks)


class Block(tuple):
    def __new__(cls, *parts):
        return super().__new__(cls, parts)


def pickled(content, *others) -> bytes:
    """Pickles one after the other, with blocks of numbers by reference."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if isinstance(value, Block):
                key, kind, size = value
                return "storage", getattr(sys.modules["torch"], kind), key, "cpu", size, *others
            return None

    stream = io.BytesIO()
    Pickler(stream, protocol=2).dump(content)
    return stream.getvalue()


def new(path, content, tensors):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/data.pkl", pickled(content))
        archive.writestr("weights/version", "3\n")
        for one in tensors:
            archive.writestr(f"weights/data/{one.key}", one.values.tobytes())


def old(path, content, tensors):
    tensors = sorted(tensors, key=lambda one: one.key)
    parts = [pickle.dumps(part, protocol=2) for part in (MAGIC, 1001, {"little_endian": True})]
    parts += [pickled(content, None), pickle.dumps([one.key for one in tensors], protocol=2)]
    for one in tensors:
        parts += [struct.pack("<q", one.values.size), one.values.tobytes()]
    path.write_bytes(b"".join(parts))


@pytest.mark.parametrize("write", [new, old])
def test_the_state_of_cqd(torch, tmp_path, write):
    tensors = [Tensor("7", MATRIX), Tensor("12", MATRIX + 10)]
    state = collections.OrderedDict(
        {"embeddings.0.weight": tensors[0], "embeddings.1.weight": tensors[1]}
    )
    state._metadata = {"": {"version": 1}}
    write(tmp_path / "w.pt", state, tensors)
    assert np.array_equal(read_matrix(tmp_path / "w.pt", "embeddings.0.weight"), MATRIX)
    assert np.array_equal(read_matrix(tmp_path / "w.pt", "embeddings.1.weight"), MATRIX + 10)


class Configuration:
    """Stands for LibKGE's own objects in a checkpoint."""

    def __init__(self):
        self.options = {"a": 1}


@pytest.mark.parametrize("write", [new, old])
def test_the_checkpoint_of_libkge(torch, tmp_path, write):
    tensor = Tensor("0", MATRIX.astype(np.float16), "HalfStorage", offset=2, shape=(2, 2))
    names = (
        "_entity_embedder._embeddings.weight",
        "_base_model._entity_embedder._embeddings.weight",
    )
    state = collections.OrderedDict(dict.fromkeys(names, tensor))
    content = {"config": Configuration(), "epoch": 3, "model": [state, {"meta": None}]}
    write(tmp_path / "c.pt", content, [tensor])
    found = read_matrix(tmp_path / "c.pt", "_entity_embedder._embeddings.weight")
    assert found.dtype == np.float32
    assert np.array_equal(found, MATRIX[1:])


class Harmful:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("write", [new, old])
def test_nothing_in_a_checkpoint_is_run(torch, tmp_path, write):
    tensor = Tensor("0", MATRIX)
    write(tmp_path / "w.pt", [Harmful(tmp_path / "made"), {"x": tensor}], [tensor])
    assert np.array_equal(read_matrix(tmp_path / "w.pt", "x"), MATRIX)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("write", [new, old])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_a_cut_checkpoint_is_refused(torch, tmp_path, write, share):
    tensor = Tensor("0", MATRIX)
    write(tmp_path / "w.pt", {"x": tensor}, [tensor])
    content = (tmp_path / "w.pt").read_bytes()
    (tmp_path / "w.pt").write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"w\.pt: not readable") as caught:
        read_matrix(tmp_path / "w.pt", "x")
    assert "\n" not in str(caught.value)


ODD = [
    ({"a": Tensor("0", MATRIX)}, "no tensor x; the file has a"),
    ({"x": Tensor("0", MATRIX, offset=1)}, "fewer numbers than it says"),
    ({"x": Tensor("0", MATRIX, strides=(1, 3))}, "does not lie row by row"),
    ({"a.x": Tensor("0", MATRIX), "b.x": Tensor("1", -MATRIX)}, r"a\.x and b\.x differ"),
    ({"x": Tensor("0", MATRIX, "LongStorage")}, "no tensor x; the file has none"),
    ([[]], "no tensor x; the file has none"),
]


@pytest.mark.parametrize(("content", "message"), ODD)
def test_tensors_that_are_not_what_is_asked_for_are_refused(torch, tmp_path, content, message):
    tensors = content.values() if isinstance(content, dict) else []
    new(tmp_path / "w.pt", content, tensors)
    with pytest.raises(InputError, match=message):
        read_matrix(tmp_path / "w.pt", "x")


def test_a_checkpoint_needs_the_name_of_a_tensor(tmp_path):
    (tmp_path / "w.pt").write_bytes(b"")
    with pytest.raises(InputError, match="array is missing, the name of the tensor"):
        read_matrix(tmp_path / "w.pt")
