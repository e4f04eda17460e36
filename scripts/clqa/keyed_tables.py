"""TSV tables: written exactly, read by key, and when two of their cells count as the same."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from clqa.errors import InputError
from clqa.files import replacing


class KeyedTable(NamedTuple):
    """Rows of text by their key; `columns` are those that are no part of it."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: dict[tuple[str, ...], tuple[str, ...]]


def read_keyed_table(
    path: Path,
    keys: tuple[str, ...],
    ignored: tuple[str, ...] = (),
    required: tuple[str, ...] = (),
) -> KeyedTable:
    """Read a TSV table (one header line, no quoting) by those of its columns named in `keys`.

    Raises
    ------
    InputError
        If the file is missing, cut short or not UTF-8, a line has too few or many fields, a key
        occurs twice, or a column of `required` is missing.
    """
    lines = _lines(path)
    header = lines[0].split("\t")
    missing = [column for column in required if column not in header]
    if missing:
        raise InputError(f"{path}: lacks the columns {', '.join(missing)}; make it again")
    at = [header.index(key) for key in keys if key in header]
    rest = [i for i, column in enumerate(header) if i not in at and column not in ignored]
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(header):
            what = f"{len(cells)} fields where the header has {len(header)}"
            raise InputError(f"{path}:{number}: {what}; make it again")
        key = tuple(cells[i] for i in at)
        if key in rows:
            raise InputError(f"{path}:{number}: the key {' '.join(key)} twice; make it again")
        rows[key] = tuple(cells[i] for i in rest)
    return KeyedTable(tuple(header[i] for i in at), tuple(header[i] for i in rest), rows)


def _lines(path: Path) -> list[str]:
    """Lines of a text file that ends in a line end, which shows that it is whole."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable as UTF-8 text ({error}); make it again") from error
    if not text.endswith("\n"):
        raise InputError(f"{path}: empty or cut short; make it again")
    return text[:-1].split("\n")


def difference(old: str | None, new: str | None) -> float | None:
    """New minus old; None where one of them is no finite number."""
    try:
        delta = float(new) - float(old)
    except (TypeError, ValueError):
        return None
    return delta if math.isfinite(delta) else None


def plain_value(text: str | None) -> int | float | str | None:
    """A cell as JSON has it: a number where it is a finite one, null where it is empty."""
    if not text:
        return None
    if _is_whole(text):
        return int(text)
    return float(text) if difference(text, "0") is not None else text


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def write_tsv(path: str | os.PathLike, columns: Iterable[str], rows: Iterable[Iterable]) -> None:
    """Write a table of names, numbers and None as TSV.

    Raises
    ------
    InputError
        If a text holds a tab or a line end, or a number is not finite.
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for cells in (columns, *rows):
            file.write("\t".join(map(_text, cells)) + "\n")


def _text(cell: str | float | None) -> str:
    if isinstance(cell, str):
        if any(sign in cell for sign in "\t\n\r"):
            raise InputError(f"{cell!r}: a name in a table may hold no tab and no line end")
        return cell
    if isinstance(cell, float) and not math.isfinite(cell):
        raise InputError(f"a table was to hold the number {cell}; leave undefined numbers empty")
    if cell is None:
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(int(cell))
