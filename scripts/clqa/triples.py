"""Text files of triples, read as they are: tab-separated fields, opaque labels.

Files are read in blocks of whole lines. The fields of all lines are encoded as numbers into the
list of distinct fields (`terms`), so that nothing is done per line in Python.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.errors import InputError

BLOCK = 1 << 23  # bytes
TAB, NEWLINE, RETURN = b"\t\n\r"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Fields(NamedTuple):
    """The fields of some files, encoded over one list of terms.

    Attributes
    ----------
    codes : dict of (n_lines, n_fields) int32
        Per file, positions in `terms`, in the order of the lines and of the fields in them.
    terms : pyarrow.LargeStringArray
        The distinct fields of all files, in order of first appearance.
    """

    codes: dict[str, np.ndarray]
    terms: pa.Array


def read_fields(
    paths: dict[str, str | os.PathLike], n_fields: int = 3, names: dict[str, str] | None = None
) -> Fields:
    r"""Read files of lines with `n_fields` tab-separated fields each.

    Lines end with ``\n`` or ``\r\n``; nothing else is stripped, quoted, or taken for a missing
    value. A byte order mark at the start and an empty line at the end are passed over.

    Parameters
    ----------
    paths : dict
        File by name of the result (such as the split).
    names : dict, optional
        What messages call the files.

    Raises
    ------
    InputError
        Names the file and the line that has other than `n_fields` fields, an empty field, or bytes
        that are not UTF-8.
    """
    chunks, counts = [], {}
    for key, path in paths.items():
        name = (names or {}).get(key, Path(path).name)
        blocks = [_encoded(block, n_fields, name, line) for block, line in _blocks(path)]
        counts[key] = sum(len(block) for block in blocks)
        chunks += blocks
    if not chunks:
        empty = {key: np.empty((0, n_fields), np.int32) for key in paths}
        return Fields(empty, pa.nulls(0, pa.large_string()))
    chunks = pa.chunked_array(chunks).unify_dictionaries().chunks
    codes = np.concatenate([np.from_dlpack(chunk.indices) for chunk in chunks]).reshape(
        -1, n_fields
    )
    ends = np.cumsum([count // n_fields for count in counts.values()])
    return Fields(dict(zip(counts, np.split(codes, ends[:-1]), strict=True)), chunks[0].dictionary)


def _blocks(path: str | os.PathLike) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole lines, each with the number of its first line."""
    line, rest = 1, b""
    with open(path, "rb") as stream:
        left = _length_without_last_empty_line(stream)
        if stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
            left -= len(BYTE_ORDER_MARK)
        else:
            stream.seek(0)
        while left > 0:
            block = rest + stream.read(min(BLOCK, left))
            left -= len(block) - len(rest)
            cut = block.rfind(b"\n") + 1
            rest = block[cut:]
            if cut:
                yield block[:cut], line
                line += block.count(b"\n")
    if rest:
        yield rest + b"\n", line


def _length_without_last_empty_line(stream) -> int:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 4))
    tail = stream.read()
    stream.seek(0)
    for empty in (b"\r\n", b"\n"):
        if tail.endswith(b"\n" + empty):
            return size - len(empty)
    return 0 if tail in (b"\n", b"\r\n") else size


def _encoded(block: bytes, n_fields: int, name: str, line: int) -> pa.DictionaryArray:
    """The fields of a block of lines, one after the other, as codes into their distinct values."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero((data == TAB) | (data == NEWLINE))
    last = data[ends] == NEWLINE
    if len(ends) % n_fields or (last.reshape(-1, n_fields) != _last_of(n_fields)).any():
        raise InputError(_first_bad_line(block, n_fields, name, line))
    before = ends[last] - 1
    stripped = np.zeros(len(ends), dtype=bool)
    stripped[last] = data[before] == RETURN
    kept = np.ones(len(data), dtype=bool)
    kept[ends] = False
    kept[before[stripped[last]]] = False
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends - np.arange(len(ends)) - np.cumsum(stripped)
    if (np.diff(offsets) == 0).any() or not _is_utf8(block):
        raise InputError(_first_bad_line(block, n_fields, name, line))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[kept])]
    return pa.Array.from_buffers(pa.large_string(), len(ends), buffers).dictionary_encode()


def _last_of(n_fields: int) -> np.ndarray:
    return np.arange(n_fields) == n_fields - 1


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _first_bad_line(block: bytes, n_fields: int, name: str, line: int) -> str:
    """What is wrong in the first line of a block that is known to have a bad one."""
    for number, text in enumerate(block.split(b"\n"), line):
        fields = text.removesuffix(b"\r").split(b"\t")
        place = f"{name}:{number}"
        if fields == [b""]:
            return f"{place}: expected {n_fields} tab-separated fields, found an empty line"
        if len(fields) != n_fields:
            return f"{place}: expected {n_fields} tab-separated fields, found {len(fields)}"
        if b"" in fields:
            return f"{place}: field {fields.index(b'') + 1} of {n_fields} is empty"
        if not _is_utf8(text):
            return f"{place}: not UTF-8 text; convert the file to UTF-8"
    return f"{name}: no bad line was found in a bad block"


def triple_keys(
    triples: dict[str, np.ndarray], n_entities: int, n_relations: int
) -> dict[str, np.ndarray]:
    """One int64 per triple, the same for equal triples of all the given arrays and no others."""
    pairs = {
        name: rows[:, 0].astype(np.int64) * n_relations + rows[:, 1]
        for name, rows in triples.items()
    }
    if n_entities * n_relations * n_entities >= 2**63:
        known = np.unique(np.concatenate(list(pairs.values())))
        pairs = {name: np.searchsorted(known, values) for name, values in pairs.items()}
    return {name: pairs[name] * n_entities + rows[:, 2] for name, rows in triples.items()}
