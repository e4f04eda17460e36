"""Parquet tables that come out the same, byte for byte, for the same content.

Pages carry checksums, and the metadata digests of the columns and of itself, so that a byte that
has changed on a disk is found on reading: of the values, or of what says how to read them.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clqa.column_digests import column_digest
from clqa.errors import damaged
from clqa.files import replacing

KEY = b"clqa"
CONTENT = b"clqa.content"
DIGEST = b"clqa.sha256"


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_lists(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return is_list and pa.types.is_integer(kind.value_type)


def _is_float_lists(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return is_list and pa.types.is_floating(kind.value_type)


COLUMN_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "text": _is_text,
    "whole numbers": pa.types.is_integer,
    "numbers": pa.types.is_floating,
    "lists of whole numbers": _is_lists,
    "lists of numbers": _is_float_lists,
}


class Contents(NamedTuple):
    """What a kind of table must hold.

    Attributes
    ----------
    rule : str
        Name of the rule that makes such tables.
    columns : dict of str
        The kind of each column, of `COLUMN_KINDS`.
    metadata : dict of type
    may_be_null, may_lack : tuple of str
        Columns that need not have a value in each row, and those that need not be there.
    """

    rule: str
    columns: dict[str, str]
    metadata: dict[str, type]
    may_be_null: tuple[str, ...] = ()
    may_lack: tuple[str, ...] = ()


ANY = Contents("that writes it", {}, {})


def write_table(path: str | os.PathLike, table: pa.Table, metadata: dict | None = None) -> None:
    """Write a table as zstd Parquet; `metadata` is kept in the file as strict JSON."""
    text = json.dumps(metadata or {}, allow_nan=False).encode()
    digests = {name: column_digest(table[name]) for name in table.column_names}
    content = json.dumps({"rows": table.num_rows, "columns": digests}).encode()
    own = {KEY: text, CONTENT: content, DIGEST: _digest(text, content)}
    table = table.replace_schema_metadata(own)
    # Dictionaries pay for words; ids in lists are written twice as fast without.
    words = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    with replacing(path) as temporary:
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            use_dictionary=words,
            write_statistics=False,
            write_page_checksum=True,
        )


def read_table(
    path: str | os.PathLike, contents: Contents = ANY, columns: list[str] | None = None
) -> tuple[pa.Table, dict]:
    """Read a table and its metadata.

    Parameters
    ----------
    columns : list of str, optional
        Those that are wanted; by default all.

    Raises
    ------
    InputError
        If the file is missing, cut short or changed, was not made by `write_table`, or does not
        hold what it has to.
    """
    with _readable(path, contents):
        with pq.ParquetFile(path, page_checksum_verification=True) as opened:
            table = opened.read(columns)
        metadata, content = _metadata(table.schema)
        _check_content(table, content, columns)
        wanted = contents.columns if columns is None else columns
        for name in wanted:
            _check_column(table, name, contents)
        _check_metadata(metadata, contents)
    return table, metadata


def table_metadata(path: str | os.PathLike, contents: Contents = ANY) -> dict:
    """The metadata of a table, without a look at its rows; errors as in `read_table`."""
    with _readable(path, contents):
        metadata, _ = _metadata(pq.read_schema(path))
        _check_metadata(metadata, contents)
    return metadata


@contextlib.contextmanager
def _readable(path, contents: Contents) -> Iterator[None]:
    """Say of which file it is that it cannot be read."""
    try:
        yield
    except Exception as error:  # whatever a damaged file makes its reader say
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise damaged(path, f"not a readable table ({reason})", contents.rule) from error


def dictionary(places: np.ndarray, names) -> pa.DictionaryArray:
    """A column of words, each given by its place among the names."""
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), pa.array(names, pa.string()))


def _digest(*texts: bytes) -> bytes:
    return hashlib.sha256(b"\n".join(texts)).hexdigest().encode()


def _metadata(schema: pa.Schema) -> tuple[dict, dict]:
    """What the writer says of the table, and the number of rows with a digest of each column."""
    found = schema.metadata or {}
    if KEY not in found or CONTENT not in found:
        raise ValueError("not written by this version of clqa, its metadata is missing")
    if _digest(found[KEY], found[CONTENT]) != found.get(DIGEST):
        raise ValueError("its metadata has changed since it was written")
    metadata = json.loads(found[KEY])
    if not isinstance(metadata, dict):
        raise ValueError("its metadata is no mapping")
    return metadata, json.loads(found[CONTENT])


def _check_metadata(metadata: dict, contents: Contents) -> None:
    for key, kind in contents.metadata.items():
        if not isinstance(metadata.get(key), kind):
            raise ValueError(f"metadata without {key}, {kind.__name__}")


def _check_content(table: pa.Table, content: dict, columns: list[str] | None) -> None:
    """Compare what was read, `columns` or all, with what was written."""
    if table.num_rows != content["rows"]:
        raise ValueError(f"{table.num_rows} rows, but {content['rows']} were written")
    table.validate(full=True)
    digests = content["columns"]
    expected = digests.keys() if columns is None else digests.keys() & set(columns)
    if set(table.column_names) != expected:
        raise ValueError("its columns are not those that were written")
    for name in table.column_names:
        if column_digest(table[name]) != digests[name]:
            raise ValueError(f"the column '{name}' has changed since it was written")


def _check_column(table: pa.Table, name: str, contents: Contents) -> None:
    if name not in table.column_names:
        if name in contents.may_lack:
            return
        raise ValueError(f"without the column '{name}'")
    column, kind = table[name], contents.columns[name]
    if not COLUMN_KINDS[kind](column.type):
        raise ValueError(f"the column '{name}' is of {column.type}, expected {kind}")
    lists = column.chunks if kind.startswith("lists") else ()
    n_null = sum(chunk.flatten().null_count for chunk in lists)
    if name not in contents.may_be_null:
        n_null += column.null_count
    if n_null:
        raise ValueError(f"the column '{name}' has gaps, expected {kind} in each row")
