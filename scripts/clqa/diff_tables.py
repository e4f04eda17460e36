"""The differences between two results as tables: a row for each number, the models first."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from clqa.content_tables import METRICS_KEYS
from clqa.stratum_names import stratum_order

MOST_ROWS = 2000  # of one kind, the largest changes of each column
CELLS = 4  # of a row of a table that is not of the metrics
WIDTH = 120  # of a value, in characters
SIDES = ("old", "new")
_METRICS = "metrics.tsv"
# In the order in which they are read; what a table has beside them comes after.
_FIRST = ("model", "queries", "shape", "group", "set", "metric", "ties", "filter", "stratum")
_NAMES = {"queries": "query set", "shape": "shape or group", "stratum": "hard answers"}
# Of the key, what says of a number nothing that a reader could use.
_SILENT = ("fingerprint", "split", "graph", "inference_graph", "pni")
_EMPTY = {"stratum": "all"}
_COLUMNS = {"clashes": ("old", "new", "delta", "differs in"), "changed": ("old", "new", "delta")}


class DiffTable(NamedTuple):
    """Rows of one kind about one table.

    Attributes
    ----------
    kind : str
        `clashes`, `changed`, `added` or `removed`.
    where : str
        The run, and the table within it unless it is that of the metrics.
    shared : dict
        What all rows are about.
    columns : tuple of str
        What rows differ in, then what is told of each.
    n_numbers : int
        How many of the columns, the last before `notes` if that is there, are numbers.
    rows : list of tuples of str
    """

    kind: str
    where: str
    shared: dict[str, str]
    columns: tuple[str, ...]
    n_numbers: int
    rows: list[tuple[str, ...]]


def diff_tables(diff: Mapping) -> Iterator[DiffTable]:
    """The tables of a result of `clqa.diffs.compare_results`; none of what does not compare."""
    if diff["status"] == "not comparable":
        return
    for kind in ("clashes", "changed", "added", "removed"):
        parts: dict[tuple[str, str], list[dict]] = {}
        for entry in diff[kind]:
            parts.setdefault((entry.get("run", ""), entry.get("table", "")), []).append(entry)
        for (run, table), entries in parts.items():
            where = " ".join(part for part in (run, "" if table == _METRICS else table) if part)
            yield _table(kind, where, entries, diff["controls"])


class _Number(NamedTuple):
    """A row before it is text: what it is about, its place among the others, and its entries."""

    key: dict[str, str]
    place: tuple
    entries: list[dict]


def _table(kind: str, where: str, entries: list[dict], controls: Sequence[str]) -> DiffTable:
    is_metrics = kind == "clashes" or {*METRICS_KEYS} <= entries[0].get("key", {}).keys()
    numbers = sorted(_numbers(kind, entries, is_metrics, controls), key=lambda one: one.place)
    numbers = numbers[:MOST_ROWS]
    names = _ordered({name for one in numbers for name in one.key})
    values = {name: {one.key.get(name, "") for one in numbers} for name in names}
    varying = [name for name in names if len(values[name]) > 1 or name == "model"]
    told = _COLUMNS.get(kind, ("value",))
    rows = [
        (
            *(one.key.get(n, _EMPTY.get(n, "")) for n in varying),
            *_told(kind, one.entries, is_metrics),
        )
        for one in numbers
    ]
    if kind == "changed" and any(row[-1] for row in rows):
        told = (*told, "also")
    width = len(varying) + len(told)
    return DiffTable(
        kind,
        where,
        {_NAMES.get(n, n): next(iter(values[n])) for n in names if n not in varying},
        (*(_NAMES.get(name, name) for name in varying), *told),
        int(is_metrics) if kind not in _COLUMNS else 3,
        [row[:width] for row in rows],
    )


def _numbers(
    kind: str, entries: list[dict], is_metrics: bool, controls: Sequence[str]
) -> Iterator[_Number]:
    """Of the metrics each number, whose interval and counts are of it; of others each cell."""
    groups: dict[tuple, list[dict]] = {}
    for entry in entries:
        column = "" if is_metrics else entry.get("column", "")
        groups.setdefault((column, *entry.get("key", {}).items()), []).append(entry)
    for (column, *items), group in groups.items():
        key = {name: _short(text) for name, text in items if text}
        if is_metrics:
            key = {name: text for name, text in key.items() if name not in _SILENT}
        is_shape = "shape" in key
        if "group" in key and not is_shape:
            key["shape"] = key.pop("group")
        place = _place(key, is_shape, controls)
        yield _Number(key | ({"column": column} if column else {}), (*place, column), group)


def _ordered(names: Iterable[str]) -> list[str]:
    known = (*_FIRST, *(name for name in METRICS_KEYS if name not in _FIRST))
    return sorted(names, key=lambda name: (known.index(name) if name in known else 99, name))


def _place(key: Mapping[str, str], is_shape: bool, controls: Sequence[str]) -> tuple:
    """Controls come last, parts of the hard answers after all of them, shapes after groups."""
    model, stratum = key.get("model", ""), key.get("stratum", "")
    parts = [name for name in _ordered(key) if name not in ("model", "stratum")]
    rest = [tuple(map(_natural, re.split("([0-9]+)", key[name]))) for name in parts]
    return model in controls, model, stratum != "", stratum_order(stratum), is_shape, rest


def _natural(text: str) -> tuple[int, str]:
    """Order of texts in which digits count as numbers."""
    return (int(text), "") if text.isdecimal() else (-1, text)


def _told(kind: str, entries: list[dict], is_metrics: bool) -> tuple[str, ...]:
    """Cells about a row: both sides, their difference and what else; or the values of one side."""
    first = entries[0]
    if kind == "clashes":
        return *_ends(first, *(first[side]["value"] for side in SIDES)), ", ".join(first["fields"])
    if kind == "changed":
        main = [one for one in entries if one["column"] == "value" or not is_metrics]
        ends = _ends(main[0], main[0]["old"], main[0]["new"]) if main else ("", "", "")
        return *ends, "; ".join(_note(one) for one in entries if one not in main)
    values = first.get("values", {})
    if is_metrics:
        return (_number(values.get("value")),)
    cells = [
        f"{name} {_number(value)}" for name, value in values.items() if value not in ("", None)
    ]
    return (", ".join(cells[:CELLS]) + " …" * (len(cells) > CELLS) or "all of it",)


def _note(entry: Mapping) -> str:
    """What of a number changes beside its value: an end of its interval, say."""
    old, new, _ = _ends(entry, entry["old"], entry["new"])
    return f"{entry['column'].replace('_', ' ')} {old} → {new}"


def _ends(entry: Mapping, old: object, new: object) -> tuple[str, str, str]:
    delta = "" if entry["delta"] is None else f"{entry['delta']:+.4g}".replace("-", "−")
    return _number(old), _number(new), delta


def _number(value: object) -> str:
    if value is None or value == "":
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else _short(value)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
