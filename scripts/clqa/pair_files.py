"""Pairs of a query and an answer, with or without a score, from files of any origin.

The ending says the form: `.parquet`; `.jsonl`, one object a line; `.tsv`, tab-separated with a line
of column names first and no quoting. Columns are found by name. Ids are texts or whole numbers,
each column of one kind, and are compared by how they are written: 12 is the same id as "12".
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.decimals import decimal_number
from clqa.errors import InputError, abridged
from clqa.outside_tables import read_parquet

# What is done with a pair that comes twice: refuse it, or keep it once, with its best score.
DUPLICATES = ("error", "best")
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


class Pairs(NamedTuple):
    """Pairs in the order of their file.

    Attributes
    ----------
    path : str
    queries, answers : pa.StringArray
    scores : (n,) float64, or None where there are none
    """

    path: str
    queries: pa.Array
    answers: pa.Array
    scores: np.ndarray | None


def read_pairs(path: str | Path) -> Pairs:
    """Read the columns `query`, `answer` and, where there is one, `score`.

    Raises
    ------
    InputError
        If the file cannot be read, lacks a column, mixes texts and numbers in one, or has a value
        that is missing or no finite number where a score belongs.
    """
    columns = read_columns(path, ("query", "answer"), ("score",))
    scores = _scores(path, columns["score"]) if "score" in columns else None
    return Pairs(str(path), *(_ids(path, n, columns[n]) for n in ("query", "answer")), scores)


def read_ids(path: str | Path) -> pa.Array:
    """Read the column `query` of a file, each id once."""
    ids = _ids(path, "query", read_columns(path, ("query",))["query"])
    _refuse_repeated(path, ids)
    return ids


def read_keys(path: str | Path, names: Iterable[str] | None = None) -> tuple[pa.Array, dict]:
    """Read the column `query`, each id once, and columns of keys.

    Parameters
    ----------
    names : columns to read, by default all

    Returns
    -------
    ids : pa.StringArray
    keys : dict of name to list of values, None where one is missing
    """
    wanted = None if names is None else ("query", *names)
    columns = read_columns(path, wanted or ("query",), every=wanted is None)
    ids = _ids(path, "query", columns.pop("query"))
    _refuse_repeated(path, ids)
    if not columns:
        raise InputError(f"{path}: no column of keys beside 'query'")
    return ids, {name: _keys(path, name, column) for name, column in columns.items()}


def read_columns(
    path: str | Path, required: Iterable[str], optional: Iterable[str] = (), every: bool = False
) -> dict[str, pa.Array]:
    """Columns of a file by name, in any of the forms."""
    reader = _READERS.get(_form(path))
    if reader is None:
        raise InputError(f"{path}: the form is unknown; names end in {', '.join(_READERS)}")
    try:
        columns = reader(Path(path))
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or ["unreadable"])[0]
        raise InputError(f"{path}: cannot be read ({reason})") from error
    if columns is None:
        columns = {name: pa.array([], pa.string()) for name in required}
    missing = [name for name in required if name not in columns]
    if missing:
        found = ", ".join(columns) or "none"
        found = found if len(found) <= 200 else f"{found[:200]}…"
        raise InputError(f"{path}: no column '{missing[0]}'; its columns are {found}")
    names = {*required, *optional}
    return {name: column for name, column in columns.items() if every or name in names}


def without_repeated(pairs: Pairs, duplicates: str) -> Pairs:
    """Each pair once.

    Raises
    ------
    InputError
        If a pair comes twice and `duplicates` is `error`.
    """
    if duplicates not in DUPLICATES:
        raise InputError(f"duplicates: no policy {duplicates!r}; known are {', '.join(DUPLICATES)}")
    codes = [column.dictionary_encode().indices.to_numpy() for column in pairs[1:3]]
    scores = np.zeros(len(codes[0])) if pairs.scores is None else pairs.scores
    order = np.lexsort((-scores, *codes))
    repeated = np.zeros(len(order), bool)
    repeated[1:] = np.logical_and(*(np.diff(code[order]) == 0 for code in codes))
    if repeated.any() and duplicates == "error":
        row = int(order[repeated].min())
        pair = f"query {pairs.queries[row]}, answer {pairs.answers[row]}"
        where = _where(pairs.path, row)
        raise InputError(f"{where}: {pair} twice; make it one, or allow --duplicates best")
    kept = np.sort(order[~repeated])
    queries, answers = (column.take(pa.array(kept)) for column in pairs[1:3])
    return Pairs(pairs.path, queries, answers, None if pairs.scores is None else pairs.scores[kept])


def _form(path: str | Path) -> str:
    return Path(path).suffix.lower()


def _where(path: str | Path, row: int) -> str:
    """File and line of a row; of a Parquet table, which has no lines, the row."""
    form = _form(path)
    if form == ".parquet":
        return f"{path}: row {row + 1}"
    return f"{path}:{row + (2 if form == '.tsv' else 1)}"


def _read_table(path: Path) -> dict[str, pa.Array]:
    table = read_parquet(path).combine_chunks()
    return {
        name: pa.concat_arrays(table[name].chunks)
        if table[name].num_chunks
        else pa.array([], table[name].type)
        for name in table.column_names
    }


def _read_lines(path: Path) -> dict[str, pa.Array] | None:
    """Columns of JSON lines; None without a line, where nothing says which columns there are."""
    rows = []
    with path.open(encoding="utf-8-sig") as stream:
        for row, line in enumerate(stream):
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{_where(path, row)}: not JSON ({error})") from error
            if not isinstance(rows[-1], dict):
                raise InputError(f"{_where(path, row)}: expected an object with keys")
    if not rows:
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _plain(path, name, [row.get(name) for row in rows]) for name in names}


def _plain(path: Path, name: str, values: list) -> pa.Array:
    """Values of one kind as an array: all texts, or all numbers."""
    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) > 1 and kinds != {int, float}:
        known = [type(value) for value in values if value is not None]
        row = next(i for i, v in enumerate(values) if v is not None and type(v) is not known[0])
        raise InputError(
            f"{_where(path, row)}: {name} {abridged(values[row])} is not of the kind above it"
        )
    try:
        if kinds == {int, float}:
            values = [None if value is None else float(value) for value in values]
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise InputError(
            f"{path}: column '{name}' holds what is no text and no number of 64 bits"
        ) from error


def _read_tabs(path: Path) -> dict[str, pa.Array]:
    lines = path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    header = lines[0].removesuffix("\r").split("\t")
    if len(set(header)) < len(header):
        raise InputError(f"{path}:1: a column name comes twice")
    rows = [line.removesuffix("\r").split("\t") for line in lines[1:]]
    for row, cells in enumerate(rows):
        if len(cells) != len(header):
            what = f"{len(cells)} fields where the header has {len(header)}"
            raise InputError(f"{_where(path, row)}: {what}")
    columns = zip(*rows, strict=True) if rows else [[] for _ in header]
    return {name: pa.array(cells, pa.string()) for name, cells in zip(header, columns, strict=True)}


_READERS: dict[str, Callable[[Path], dict[str, pa.Array] | None]] = {
    ".parquet": _read_table,
    ".jsonl": _read_lines,
    ".tsv": _read_tabs,
}


def _ids(path: str | Path, name: str, column: pa.Array) -> pa.Array:
    """Ids as texts."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if not (pa.types.is_integer(kind) or any(is_text(kind) for is_text in _TEXTS)):
        if len(column) and not pa.types.is_null(kind):
            raise InputError(
                f"{path}: column '{name}' holds {kind}; ids are texts or whole numbers"
            )
        column = column.cast(pa.string()) if pa.types.is_null(kind) else pa.array([], pa.string())
    column = column.cast(pa.string())
    empty = pc.fill_null(pc.equal(column, ""), True).to_numpy(zero_copy_only=False)
    if empty.any():
        raise InputError(f"{_where(path, int(np.argmax(empty)))}: no {name}")
    return column


def _keys(path: str | Path, name: str, column: pa.Array) -> list:
    """Keys as values of Python, None where one is missing, and of text where one is empty."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_a_key = (*_TEXTS, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if not (pa.types.is_null(kind) or any(is_one(kind) for is_one in is_a_key)):
        raise InputError(
            f"{path}: column '{name}' holds {kind}; keys are texts, numbers, or true and false"
        )
    empty_is_missing = _form(path) == ".tsv"
    return [None if empty_is_missing and key == "" else key for key in column.to_pylist()]


def _scores(path: str | Path, column: pa.Array) -> np.ndarray:
    """Scores as finite numbers, whole ones as the nearest 64-bit float."""
    kind = column.type
    if pa.types.is_string(kind) and _form(path) == ".tsv":
        values = np.array([decimal_number(text) for text in column.to_pylist()], np.float64)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    else:
        raise InputError(f"{path}: column 'score' holds {kind}; scores are numbers")
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{_where(path, row)}: the score {column[row]} is no finite number")
    return values


def _refuse_repeated(path: str | Path, ids: pa.Array) -> None:
    codes = ids.dictionary_encode().indices.to_numpy()
    first = np.unique(codes, return_index=True)[1]
    if len(first) < len(codes):
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        raise InputError(f"{_where(path, row)}: query {ids[row]} twice")
