"""Digests of what the columns of a table hold, however the table is stored."""

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 1 << 18  # at a time


def column_digest(column: pa.ChunkedArray) -> str:
    """Hex sha256 over the type of a column, its gaps, the lengths of its lists and its values.

    It depends on no chunks, slices or order of a dictionary, and not on what lies beneath a gap.

    Raises
    ------
    pyarrow.ArrowException
        If the column is damaged, such as an index that its dictionary does not have.
    """
    kind, n_rows = _type(column.type), len(column)
    parts = {}
    if pa.types.is_dictionary(column.type):
        starts, column = _runs(column)
        parts["starts"] = hashlib.sha256(starts)
    for chunk in column.chunks:
        for start in range(0, len(chunk), ROWS):
            for name, content in _parts(chunk.slice(start, ROWS)):
                parts.setdefault(name, hashlib.sha256()).update(content)
    digest = hashlib.sha256(f"{kind} {n_rows}".encode())
    for name in sorted(parts):
        digest.update(f"\n{name} {parts[name].hexdigest()}".encode())
    return digest.hexdigest()


def _type(kind: pa.DataType) -> str:
    """Name of a type, without what a file may change: names of items, widths of indices."""
    if pa.types.is_dictionary(kind):
        return f"dictionary<{_type(kind.value_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"{'large_' * pa.types.is_large_list(kind)}list<{_type(kind.value_type)}>"
    return str(kind)


def _runs(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.ChunkedArray]:
    """First rows of the runs of equal words, and the words; much fewer than rows in our tables."""
    starts, words, first = [np.empty(0, np.int64)], [], 0
    for chunk in column.chunks:
        codes = chunk.indices.fill_null(-1).to_numpy()
        at = np.flatnonzero(np.diff(codes, prepend=codes[:1] - 1))
        starts.append(at + first)
        words.append(chunk.take(pa.array(at)).dictionary_decode())
        first += len(chunk)
    words = pa.chunked_array(words, column.type.value_type).combine_chunks()
    # Chunks have dictionaries of their own, which may also hold a word twice.
    one, other = words[1:], words[: len(words) - 1 if len(words) else 0]
    same = pc.or_(pc.equal(one, other).fill_null(False), pc.and_(one.is_null(), other.is_null()))
    kept = np.append(np.ones(min(len(words), 1), bool), ~same.to_numpy(zero_copy_only=False))
    return np.concatenate(starts)[kept], pa.chunked_array([words.filter(pa.array(kept))])


def _parts(array: pa.Array) -> Iterator[tuple[str, np.ndarray | pa.Buffer]]:
    """Named stretches of bytes; those of consecutive pieces of a column are to be joined."""
    kind = array.type
    yield "valid", np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)
    present = array.drop_null() if array.null_count else array
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield "lengths", pc.list_value_length(present).cast(pa.int64()).to_numpy()
        for name, content in _parts(present.flatten()):
            yield f"items {name}", content
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield from _text(present)
    elif not pa.types.is_null(kind):
        yield "values", np.ascontiguousarray(present.to_numpy(zero_copy_only=False))


def _text(array: pa.Array) -> Iterator[tuple[str, np.ndarray | pa.Buffer]]:
    array = array.cast(pa.large_string())
    if not len(array):
        return
    _, offsets, content = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    yield "lengths", np.diff(places)
    if content is not None:
        yield "values", content[int(places[0]) : int(places[-1])]
