"""Result files of every kind as tables of text with keys, so that all are compared alike."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from clqa.aligned_tables import joint_codes, read_text_table
from clqa.array_files import open_array, read_all
from clqa.errors import InputError
from clqa.files import SEAL, read_json, sha256_of
from clqa.outside_tables import check_table
from clqa.tables import KEY

# What a number of a run is about, and how it was measured as far as the table itself shows it; the
# manifest spells out the rest. The run's name is left out: runs are paired, then compared.
SUBJECT = (
    *("graph", "queries", "split", "shape", "group", "model", "seed", "metric"),
    *("inference_graph", "stratum"),
)
PROTOCOL = ("filter", "ties", "candidates", "averaging", "pni", "fingerprint")
METRICS_KEYS = (*SUBJECT, *PROTOCOL)
TABLE_KEYS = (
    *(*SUBJECT, "filter", "ties", "set", "other", "score", "rule", "truth", "beta", "band"),
    *("switch", "from", "to", "fingerprint_from", "fingerprint"),
)
_ROW_KEYS = ("query_id", "variable", "answer", "entity", *TABLE_KEYS)
_UNKEYED = "occurrence"
_MOST_ROWS = 1_000_000  # of an array whose rows are told apart


class Content(NamedTuple):
    """A file as a table, and the columns that its rows are matched by."""

    keys: tuple[str, ...]
    table: pa.Table


def read_content(path: Path) -> Content:
    """The content of a TSV, JSON, Parquet, npz or npy file, or the digest of any other.

    Raises
    ------
    InputError
        If the file is missing, or cannot be read as what its name says.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    kind = Path(path.name.removesuffix(".gz")).suffix
    reader = {".tsv": _tsv, ".json": _json, ".parquet": _parquet, ".npz": _arrays, ".npy": _arrays}
    try:
        return reader.get(kind, _bytes)(path)
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes its reader say
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: not readable as {kind or 'a file'} ({reason})") from error


def _tsv(path: Path) -> Content:
    if path.name in ("entities.tsv", "relations.tsv"):  # which have no header
        options = pyarrow.csv.ReadOptions(column_names=["id", "label"])
        parse = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
        table = pyarrow.csv.read_csv(path, options, parse)
        return Content(("id",), _as_texts(table))
    table = read_text_table(path, TABLE_KEYS + METRICS_KEYS)
    known = tuple(key for key in TABLE_KEYS if key in table.column_names)
    return Content(known or tuple(table.column_names[:1]), table)


def _json(path: Path) -> Content:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        content = json.load(stream)
    if isinstance(content, dict):
        content.pop(SEAL, None)
    pairs = list(_leaves(content, ""))
    table = {"path": [name for name, _ in pairs], "value": [text for _, text in pairs]}
    return Content(("path",), _as_texts(pa.table(table)))


def _leaves(content: object, path: str) -> Iterator[tuple[str, str]]:
    """Path and text of each value; a list is one value unless it holds mappings."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(content, list) and any(isinstance(one, dict) for one in content):
        for place, value in enumerate(content):
            yield from _leaves(value, f"{path}[{place}]")
    else:
        yield path, _text(content)


def _text(content: object) -> str:
    """A value as JSON has it, without the quotes of text that is nothing else without them."""
    if isinstance(content, str):
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            return content
    return json.dumps(content, ensure_ascii=False)


def _parquet(path: Path) -> Content:
    check_table(path)
    with pq.ParquetFile(path) as opened:
        table = opened.read()
    known = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
    keys = tuple(key for key in _ROW_KEYS if key in known) or tuple(table.column_names[:1])
    return _keyed(_as_texts(table), keys)


def table_facts(path: Path) -> dict:
    """What a Parquet table of ours says of itself."""
    found = (pq.read_schema(path).metadata or {}).get(KEY)
    return json.loads(found) if found else {}


def _as_texts(table: pa.Table) -> pa.Table:
    """Every column as texts; nothing is an empty text, a list its items."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            column = pc.binary_join(column.cast(pa.list_(pa.string())), " ")
        columns[name] = pc.fill_null(column.cast(pa.string()), "")
    return pa.table(columns)


def _keyed(table: pa.Table, keys: tuple[str, ...]) -> Content:
    """Tell rows of one key apart by the order in which they stand, where there are any."""
    codes, _ = joint_codes(table, table.slice(0, 0), keys)
    order = np.argsort(codes, kind="stable")
    if not len(codes) or (np.diff(codes[order]) != 0).all():
        return Content(keys, table)
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order[0]] - 1))
    counts = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = counts
    number = pa.array(numbers).cast(pa.string())
    return Content((*keys, _UNKEYED), table.append_column(_UNKEYED, number))


def _arrays(path: Path) -> Content:
    """The arrays of a file: their shape, type and digest, and the rows of short ones.

    The rows of a dump are those of the queries that its sidecar names, in whatever order.
    """
    arrays = read_all(path) if path.suffix == ".npz" else {"": open_array(path)}
    rows = []
    for name, array in arrays.items():
        about = f"{array.dtype} {'x'.join(map(str, array.shape))}"
        ids = _query_ids(path, array)
        rows.append((name, "", about if ids else f"{about} {_digest(array)}"))
        if ids:
            rows += [(name, one, _digest(row)) for one, row in zip(ids, array, strict=True)]
        elif array.ndim == 2 and array.dtype.kind in "iu" and len(array) <= _MOST_ROWS:
            lines = [" ".join(map(str, row)) for row in array.tolist()]
            counts: dict[str, int] = {}
            for line in lines:
                counts[line] = counts.get(line, 0) + 1
            rows += [(name, line, str(n)) for line, n in counts.items()]
        elif array.ndim < 2 and array.size <= _MOST_ROWS:
            rows += [(name, f"[{n}]", str(one)) for n, one in enumerate(array.reshape(-1).tolist())]
    names = ("array", "row", "content")
    columns = {name: [row[n] for row in rows] for n, name in enumerate(names)}
    return Content(("array", "row"), _as_texts(pa.table(columns)))


def _query_ids(path: Path, array: np.ndarray) -> list[str]:
    sidecar = path.with_suffix(".json")
    if path.suffix != ".npy" or array.ndim < 2 or not sidecar.is_file():
        return []
    found = read_json(sidecar).get("query_ids")
    return found if isinstance(found, list) and len(found) == len(array) else []


def _digest(array: np.ndarray) -> str:
    digest = hashlib.sha256()
    step = max(1, (1 << 24) // max(1, array[:1].nbytes)) if array.ndim else 1
    pieces = range(0, len(array), step) if array.ndim and array.nbytes else ()
    for first in pieces:
        digest.update(np.ascontiguousarray(array[first : first + step]))
    if not array.ndim:
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _bytes(path: Path) -> Content:
    if path.suffix == ".gz":
        with gzip.open(path) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    else:
        digest = sha256_of(path)
    return Content(("path",), _as_texts(pa.table({"path": ["sha256"], "content": [digest]})))
