"""Files of retrieved lists: JSON lines, Parquet, and plain lists of ids.

A line or row has `query`, `expected`, `returned` and, if there are any, `scores` of the returned
ids. Other columns are left alone. A list that is missing or null is no entry; an empty one is an
empty list.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from clqa.errors import InputError, abridged
from clqa.id_lists import Entry
from clqa.outside_tables import read_parquet

LINES = (".jsonl", ".ndjson")
LISTS = ("expected", "returned", "scores")


def read_lists(path: str | os.PathLike) -> list[Entry]:
    """Read a file of lists, JSON lines or Parquet as its name says.

    Raises
    ------
    InputError
        If it cannot be read, or a line is malformed.
    """
    suffix = Path(path).suffix
    if suffix == ".parquet":
        return list(_rows(path))
    if suffix not in LINES:
        raise InputError(f"{path}: neither Parquet (.parquet) nor JSON lines ({', '.join(LINES)})")
    return [
        _entry(f"{path}:{number}", _parsed(f"{path}:{number}", line))
        for number, line in numbered_lines(path)
    ]


def read_ids(path: str | os.PathLike, like: str | int) -> list:
    """Read ids, one a line, each of them once; as whole numbers if `like` is one."""
    places, found = {}, []
    for number, line in numbered_lines(path):
        text, shown = line.strip(), abridged(line.strip())
        if isinstance(like, int):
            if not re.fullmatch("-?[0-9]{1,19}", text):
                raise InputError(f"{path}:{number}: {shown} is no whole number, as the ids are")
            text = int(text)
        if text in places:
            raise InputError(f"{path}:{number}: {shown} again; it is in line {places[text]}, too")
        places[text] = number
        found.append(text)
    return found


def numbered_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """Lines of a text file with their numbers, those left out that are blank."""
    try:
        with open(path, encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from error


def _parsed(place: str, line: str) -> dict:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: no JSON ({str(error).splitlines()[0]})") from error
    if not isinstance(content, dict):
        raise InputError(f"{place}: expected an object with query, expected and returned")
    return content


def _rows(path: str | os.PathLike) -> Iterator[Entry]:
    table = read_parquet(path, ("query", *LISTS))
    try:
        rows = table.to_pylist()
    except (ValueError, OverflowError) as error:  # of times that Python does not know
        raise InputError(f"{path}: a column holds neither ids nor lists of them") from error
    for number, row in enumerate(rows, 1):
        yield _entry(f"{path}: row {number}", row)


def _entry(place: str, content: dict) -> Entry:
    if content.get("query") is None:
        raise InputError(f"{place}: no query; expected query, expected and returned")
    lists = {key: content.get(key) for key in LISTS}
    for key, value in lists.items():
        if not isinstance(value, list | None):
            raise InputError(f"{place}: {key} is {abridged(value, 40)}; expected a list")
    if lists["expected"] is None and lists["returned"] is None:
        raise InputError(
            f"{place}: neither expected nor returned ids; see the names of the columns"
        )
    return Entry(place, content["query"], **lists)
