"""Parquet tables from elsewhere, which may stand for far more values than they can rightly hold.

A run of equal values takes a few bytes, however long it is, and a long text is written once.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clqa.errors import InputError
from clqa.parquet_footers import footer_of, stated_sizes
from clqa.unpacking import most_bytes, too_much

_WIDTH = 4  # bytes of a value, about


def read_parquet(path: str | os.PathLike, columns: Collection[str] | None = None) -> pa.Table:
    """Read those of the columns that a file has, by default all.

    Raises
    ------
    InputError
        If it cannot be read, has text that is not UTF-8, or takes out of all proportion to its
        size.
    """
    try:
        check_table(path)
        names = [name for name in pq.read_schema(path).names if columns is None or name in columns]
        table = pq.read_table(path, columns=names, partitioning=None)
    except Exception as error:  # whatever a damaged file makes its reader say
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        reason = reason or type(error).__name__
        raise InputError(f"{path}: not a readable Parquet table ({reason:.300})") from error
    return table


def check_table(path: str | os.PathLike) -> None:
    """Raise `InputError` if a file would take out of all proportion to its size.

    Texts that are not UTF-8 are refused, too.

    Raises
    ------
    Exception
        Of any kind, if the file is missing or damaged.
    """
    most = most_bytes(Path(path).stat().st_size)
    with open(path, "rb") as file:
        stated = stated_sizes(footer_of(file))
    with pq.ParquetFile(path) as opened:
        n_rows, n_columns = opened.metadata.num_rows, len(opened.schema)
        columns = [opened.schema.column(place) for place in range(n_columns)]
    n_values = max(stated.n_values, n_rows * n_columns)
    if stated.n_bytes > most or n_values * _WIDTH > most:
        raise too_much(most)
    texts = [one.path for one in columns if one.physical_type == "BYTE_ARRAY"]
    if texts:
        with pq.ParquetFile(path, read_dictionary=texts) as opened:
            table = opened.read(columns=texts)
        table.validate(full=True)  # of texts, that they are UTF-8
        if sum(map(_length, _dictionaries(table))) > most:
            raise too_much(most)


def _dictionaries(table: pa.Table) -> Iterator[pa.DictionaryArray]:
    """Texts of a table, and those in its lists, as they are numbered."""
    for chunk in (chunk for column in table.columns for chunk in column.chunks):
        while pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
            chunk = chunk.flatten()
        if pa.types.is_dictionary(chunk.type):
            yield chunk


def _length(texts: pa.DictionaryArray) -> int:
    """Bytes of all texts together."""
    lengths = pc.binary_length(texts.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
    places = texts.indices.drop_null().to_numpy()
    return int(np.bincount(places, minlength=len(lengths)).astype(np.int64) @ lengths.astype(int))
