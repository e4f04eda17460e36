"""Published results, and whether the averages printed with them are those of their values."""

import os
from collections.abc import Iterable, Iterator
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import NamedTuple

from clqa.configs import read_yaml, validated
from clqa.errors import InputError

_WORKFLOW = Path(__file__).resolve().parents[2] / "workflow"
REFERENCES = _WORKFLOW / "resources" / "references.yaml"

# From how many units of the last printed digit on an average is not the mean of its values: both
# are rounded.
_OFF = Decimal("0.6")


class Reference(NamedTuple):
    """A published number.

    Attributes
    ----------
    table : str
        Key of its table; `graph`, `queries`, `split`, `metric`, `filter` and `pni` are the table's.
    shape, group : str
        A number is of a shape, or with shape "" the printed average of a group.
    value : float
        On the scale from 0 to 1.
    printed : str
    tag : {"V", "S", "M"}
        Read in the primary source, in a secondary one, or from memory.
    """

    table: str
    graph: str
    queries: str
    split: str
    metric: str
    filter: str
    pni: str
    method: str
    shape: str
    group: str
    value: float
    printed: str
    tag: str
    note: str


class Slot(NamedTuple):
    """A published table whose values are not known yet; its fields are those of `Reference`."""

    table: str
    title: str
    graph: str
    queries: str
    split: str
    metric: str
    filter: str


class Average(NamedTuple):
    """A printed average beside the mean of the printed values of its group.

    `verdict` is "agrees"; "truncated" if it is the mean with further digits cut off; "wrong" if it
    is neither; "unchecked" if no values are printed with it.
    """

    table: str
    method: str
    group: str
    printed: Decimal
    mean: Decimal | None
    verdict: str


def read_references(path: str | os.PathLike = REFERENCES) -> list[Reference]:
    """All published numbers of a file, in its order.

    Raises
    ------
    InputError
        If the file does not fit `workflow/schemas/references.schema.yaml`, or a row has more or
        fewer values than its group has shapes.
    """
    found = []
    for name, table, row, group, numbers in _entries(path):
        about = (table[key] for key in ("graph", "queries", "split", "metric", "filter", "pni"))
        start = (name, *about, row["method"])
        printed = _values(table, group, numbers)
        tags = numbers.get("tags", {})
        cells = [
            (shape, value, tags.get(shape, numbers["tag"])) for shape, value in printed.items()
        ]
        if "average" in numbers:
            cells.append(("", _decimal(numbers["average"]), numbers["tag"]))
        for shape, value, tag in cells:
            share = float(value / table["scale"])
            found.append(
                Reference(*start, shape, group, share, str(value), tag, row.get("note", ""))
            )
    return found


def group_shapes(path: str | os.PathLike = REFERENCES) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of each table the shapes of each group, over which its averages are taken."""
    return {
        name: {group: tuple(shapes) for group, shapes in table["groups"].items()}
        for name, table in _tables(path)
    }


def empty_slots(path: str | os.PathLike = REFERENCES) -> list[Slot]:
    """The tables without rows."""
    return [
        Slot(name, *(table[key] for key in Slot._fields[1:]))
        for name, table in _tables(path)
        if not table["rows"]
    ]


def check_averages(path: str | os.PathLike = REFERENCES) -> list[Average]:
    """Every printed average with the mean of its values and what is to be said of it."""
    found = []
    for name, table, row, group, numbers in _entries(path):
        if "average" in numbers:
            values = list(_values(table, group, numbers).values())
            printed = _decimal(numbers["average"])
            mean = sum(values) / len(values) if values else None
            verdict = _verdict(printed, mean)
            found.append(Average(name, row["method"], group, printed, mean, verdict))
    return found


def suspects(averages: Iterable[Average]) -> list[Average]:
    """Those averages that are not the mean of their values."""
    return [average for average in averages if average.verdict in ("truncated", "wrong")]


def _verdict(printed: Decimal, mean: Decimal | None) -> str:
    if mean is None:
        return "unchecked"
    unit = Decimal(1).scaleb(printed.as_tuple().exponent)
    if abs(mean - printed) < _OFF * unit:
        return "agrees"
    return "truncated" if mean.quantize(unit, ROUND_FLOOR) == printed else "wrong"


def _tables(path: str | os.PathLike) -> Iterator[tuple[str, dict]]:
    schema = read_yaml(_WORKFLOW / "schemas" / "references.schema.yaml")
    yield from validated(read_yaml(path), schema, str(path)).items()


def _entries(path: str | os.PathLike) -> Iterator[tuple[str, dict, dict, str, dict]]:
    """Key and content of a table, row, group and what the row has of the group, in order."""
    for name, table in _tables(path):
        for row in table["rows"]:
            for group in table["groups"]:
                if group not in row:
                    continue
                values, shapes = row[group].get("values", {}), table["groups"][group]
                if isinstance(values, list) and len(values) != len(shapes):
                    raise InputError(
                        f"{path}: {name}: {row['method']}: {len(values)} values for the "
                        f"{len(shapes)} shapes of {group}"
                    )
                yield name, table, row, group, row[group]


def _values(table: dict, group: str, numbers: dict) -> dict[str, Decimal]:
    values = numbers.get("values", {})
    if isinstance(values, list):
        values = dict(zip(table["groups"][group], values, strict=True))
    return {shape: _decimal(value) for shape, value in values.items()}


def _decimal(number: float) -> Decimal:
    return Decimal(str(number))
