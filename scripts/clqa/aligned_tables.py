"""Two tables of text, their rows matched by keys, and the cells in which they differ.

Keys are held as numbers of their distinct texts, so that tables of millions of rows fit in memory
and are matched as integers; texts are read as numbers only where they differ.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from clqa.ascending import places_among
from clqa.errors import InputError

_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^-?[0-9]+$"
_MOST = 1 << 62
_BLOCK = 1 << 25  # bytes of text; each block has dictionaries of its own, which are then joined


class Match(NamedTuple):
    """Rows of two tables.

    Attributes
    ----------
    old, new : (n,) int64
        Rows of equal key, in the order of their keys.
    removed, added : 1-d int64
        Rows of the old table alone, and of the new one.
    """

    old: np.ndarray
    new: np.ndarray
    removed: np.ndarray
    added: np.ndarray


class Cells(NamedTuple):
    """Cells of one column that differ, with their texts and their difference.

    Attributes
    ----------
    rows : (n,) int64
        Places in the matched rows.
    deltas : (n,) float64
        New minus old; NaN where one of them is no finite number.
    sizes : (n,) float64
        How large each change is, beside the numbers themselves if they are above 1.
    """

    column: str
    rows: np.ndarray
    deltas: np.ndarray
    sizes: np.ndarray


def read_text_table(path: Path, keys: Collection[str] = ()) -> pa.Table:
    """A TSV table (one header line, no quoting) of texts; columns of `keys` are dictionaries.

    Raises
    ------
    InputError
        If the file is missing, cut short or not UTF-8, a line has too few or many fields, or a
        column has no name or that of another.
    """
    header = _header(path)
    words = pa.dictionary(pa.int32(), pa.string())
    kinds = {name: words if name in keys else pa.string() for name in header}
    try:
        table = pyarrow.csv.read_csv(
            path,
            pyarrow.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter="\t", quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=kinds, strings_can_be_null=False
            ),
        )
        return table.unify_dictionaries().combine_chunks()
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: not readable as a table ({reason}); make it again") from error


def _header(path: Path) -> list[str]:
    try:
        with pa.input_stream(path) as stream:  # which unpacks .gz
            line = _first_line(stream)
        if path.suffix != ".gz" and _last_byte(path) != b"\n":
            raise InputError(f"{path}: empty or cut short; make it again")
        header = line.decode("utf-8").rstrip("\n").split("\t")
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable as UTF-8 text ({error}); make it again") from error
    wrong = [name for n, name in enumerate(header) if not name or name in header[:n]]
    if wrong:
        what = f"two columns named {wrong[0]}" if wrong[0] else "a column without a name"
        raise InputError(f"{path}: {what} in the header; make it again")
    return header


def _first_line(stream) -> bytes:
    found = b""
    while b"\n" not in found:
        piece = stream.read(1 << 16)
        if not piece:
            return found
        found += piece
    return found[: found.index(b"\n") + 1]


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as stream:
        if stream.seek(0, 2) == 0:
            return b""
        stream.seek(-1, 2)
        return stream.read()


def codes_of(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray, pa.Array]:
    """Two columns of texts as numbers of the same distinct texts, and these texts."""
    sides = [encoded(column) for column in (old, new)]
    texts = pa.chunked_array([words for _, words in sides], pa.string()).unique()
    numbers = []
    for codes, words in sides:
        places = pc.index_in(words, texts).to_numpy(zero_copy_only=False)
        numbers.append(places[codes] if len(words) else codes)
    return *numbers, texts


def encoded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """A column of texts as numbers of its distinct texts, and these."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if column.num_chunks > 1:
        column = column.unify_dictionaries()
    if not column.num_chunks:
        return np.empty(0, np.int32), pa.array([], pa.string())
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    return codes, column.chunk(0).dictionary


def matched(old: pa.Table, new: pa.Table, keys: Sequence[str], paths: Sequence[Path]) -> Match:
    """Match rows by their keys; a key that a table lacks is an empty text.

    Raises
    ------
    InputError
        If a table has a key twice.
    """
    sides = joint_codes(old, new, keys)
    orders = [np.argsort(side, kind="stable") for side in sides]
    for table, side, order, path in zip((old, new), sides, orders, paths, strict=True):
        double = np.flatnonzero(np.diff(side[order]) == 0)
        if len(double):
            row = int(order[double[0] + 1])
            words = " ".join(filter(None, key_of(table, keys, row).values()))
            raise InputError(f"{path}:{row + 2}: the key {words} twice; make it again")
    return _pairs(*(side[order] for side, order in zip(sides, orders, strict=True)), *orders)


def joint_codes(old: pa.Table, new: pa.Table, keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The keys of all rows as int64, equal where the keys are."""
    whole, size = np.zeros(old.num_rows + new.num_rows, np.int64), 1
    for key in keys:
        one, other, texts = codes_of(*(_column(table, key) for table in (old, new)))
        n_texts = max(len(texts), 1)
        if size > _MOST // n_texts:
            whole, size = _packed(whole)
        whole = whole * n_texts + np.concatenate([one, other])
        size *= n_texts
    return whole[: old.num_rows], whole[old.num_rows :]


def _packed(whole: np.ndarray) -> tuple[np.ndarray, int]:
    values, places = np.unique(whole, return_inverse=True)
    return places.astype(np.int64), max(len(values), 1)


def _pairs(old: np.ndarray, new: np.ndarray, olds: np.ndarray, news: np.ndarray) -> Match:
    """Match two ascending sides without repetitions; the rows that they come from are given."""
    places, shared = places_among(old, new)
    is_met = np.zeros(len(new), bool)
    is_met[places[shared]] = True
    return Match(olds[shared], news[places[shared]], olds[~shared], news[~is_met])


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name in table.column_names:
        return table[name]
    empty = pa.DictionaryArray.from_arrays(np.zeros(table.num_rows, np.int32), pa.array([""]))
    return pa.chunked_array([empty])


def key_of(table: pa.Table, keys: Sequence[str], row: int) -> dict[str, str]:
    """The key of a row by column."""
    return {key: table[key][row].as_py() for key in keys if key in table.column_names}


def differing_cells(
    old: pa.Table, new: pa.Table, match: Match, columns: Sequence[str], atol: np.ndarray | float
) -> Iterator[Cells]:
    """The cells of matched rows that differ, column by column.

    Decimal numbers differ if they are further apart than `atol`; counts and text if they are not
    the same.

    Parameters
    ----------
    atol : float, or one per matched row
    """
    for column in columns:
        sides = [_plain(one[column]) for one in (old, new)]
        pairs = [side.take(pa.array(rows)) for side, rows in zip(sides, match[:2], strict=True)]
        rows = np.flatnonzero(pc.not_equal(*pairs).to_numpy(zero_copy_only=False))
        if not len(rows):
            continue
        texts = [side.take(pa.array(rows)) for side in pairs]
        (before, old_whole), (after, new_whole) = (numbers_of(side) for side in texts)
        with np.errstate(invalid="ignore"):
            deltas = after - before
            within = np.abs(deltas) <= (atol if np.isscalar(atol) else atol[rows])
        are_counts = old_whole & new_whole & (deltas != 0)
        differs = ~within | are_counts
        largest = np.fmax(1.0, np.fmax(np.abs(before), np.abs(after)))
        sizes = np.nan_to_num(np.abs(deltas) / largest, nan=0.0, posinf=0.0)
        deltas = np.where(np.isfinite(deltas), deltas, np.nan)
        yield Cells(column, rows[differs], deltas[differs], sizes[differs])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def numbers_of(texts: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """The texts as float64, NaN for what is no finite number, and which are whole numbers."""
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    is_number = pc.match_substring_regex(texts, _NUMBER).to_numpy(zero_copy_only=False)
    found = np.full(len(texts), np.nan)
    plain = texts.filter(pa.array(is_number.astype(bool)))
    plain = pc.utf8_ltrim(plain, "+")
    found[is_number.astype(bool)] = pc.cast(plain, pa.float64()).to_numpy()
    wholes = pc.match_substring_regex(texts, _WHOLE).to_numpy(zero_copy_only=False)
    found[~np.isfinite(found)] = np.nan
    return found, wholes.astype(bool)
