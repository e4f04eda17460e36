"""Parquet tables that come out the same, byte for byte, for the same content."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq

from clqa.errors import InputError
from clqa.files import replacing

KEY = b"clqa"


def write_table(path: str | os.PathLike, table: pa.Table, metadata: dict | None = None) -> None:
    """Write a table as zstd Parquet; `metadata` is kept in the file as strict JSON."""
    text = json.dumps(metadata or {}, allow_nan=False)
    table = table.replace_schema_metadata({KEY: text.encode()})
    # Dictionaries pay for words; ids in lists are written twice as fast without.
    words = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    with replacing(path) as temporary:
        pq.write_table(
            table, temporary, compression="zstd", use_dictionary=words, write_statistics=False
        )


def read_table(path: str | os.PathLike, columns: list[str] | None = None) -> tuple[pa.Table, dict]:
    """Read a table and its metadata.

    Raises
    ------
    InputError
        If the file is missing, cut short, or not a Parquet file that `write_table` made.
    """
    try:
        table = pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        message = f"{path}: not a readable Parquet table ({reason}); make it again"
        raise InputError(message) from error
    content = (table.schema.metadata or {}).get(KEY)
    if content is None:
        raise InputError(f"{path}: a Parquet table, but not one written by clqa; make it again")
    return table, json.loads(content)
