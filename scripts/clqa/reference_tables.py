"""Published results beside those of a run, where both are of the same queries."""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clqa.inventories import Inventory
from clqa.published_entries import filter_of
from clqa.references import (
    Average,
    Reference,
    Slot,
    check_averages,
    empty_slots,
    group_shapes,
    read_references,
)
from clqa.roundings import points
from clqa.scopes import Column, Scope, found_row, metric_name
from clqa.wide_tables import UNDEFINED, Cell, Line

TAGS = {"V": "the primary source", "S": "a secondary source", "M": "memory of the paper"}
COLUMNS = (
    *("queries", "set", "metric", "ties", "filter", "group", "shape", "model", "source"),
    *("value", "printed", "recomputed", "verdict", "tag", "note"),
)


class Comparison(NamedTuple):
    """One table of published results beside the same numbers of a run.

    Attributes
    ----------
    name : str
        Of the table in `references.yaml`.
    differences : list of str
        In what the protocols differ, or may.
    columns, lines
        As of `clqa.wide_tables.WideTable`: published methods first, then the models of the run.
        Empty where the published values are not known yet.
    rows : list of tuple
        The same numbers, and all that is known of them, by `COLUMNS`.
    """

    name: str
    caption: str
    differences: list[str]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    rows: list[tuple]


class _Table(NamedTuple):
    """Published numbers of one table.

    Attributes
    ----------
    groups, others : dict of tuple of str
        For each group the shapes of its average, and further ones that some method has.
    """

    name: str
    references: list[Reference]
    groups: dict[str, tuple[str, ...]]
    others: dict[str, tuple[str, ...]]
    averages: dict[tuple[str, str], Average]


def comparisons(scope: Scope, entry: dict, path: str | os.PathLike) -> list[Comparison]:
    """The tables of the benchmark that a query set is, on the same graph and split.

    Parameters
    ----------
    entry : dict
        Of the catalogue of query sets; `published.benchmark` says which benchmark it is.
    path : path to `references.yaml`
    """
    benchmark = entry.get("published", {}).get("benchmark")
    asked = (benchmark, entry["graph"], entry["split"])
    found: dict[str, list[Reference]] = {}
    for one in read_references(path) if benchmark is not None else ():
        if (one.queries, one.graph, one.split) == asked:
            found.setdefault(one.table, []).append(one)
    slots = [one for one in empty_slots(path) if (one.queries, one.graph, one.split) == asked]
    groups = group_shapes(path) if found else {}
    averages = {(a.table, a.method, a.group): a for a in check_averages(path)} if found else {}
    tables = (
        _Table(
            name,
            references,
            groups[name],
            _others(references, groups[name]),
            {key[1:]: average for key, average in averages.items() if key[0] == name},
        )
        for name, references in found.items()
    )
    known = [_comparison(scope, table, filtered_as(entry)) for table in tables]
    return [*known, *(_unknown(scope, slot) for slot in slots)]


def filtered_as(entry: dict) -> str | None:
    """The filter of a published selection of answers, whose other answers are its easy ones."""
    reading = filter_of(entry.get("published", {"layout": None}))
    return reading and f"plus-h-{reading}"


def _others(
    references: Iterable[Reference], groups: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {group: {} for group in groups}
    for one in references:
        if one.shape and one.shape not in groups[one.group]:
            found[one.group][one.shape] = None
    return {group: tuple(shapes) for group, shapes in found.items()}


def _comparison(scope: Scope, table: _Table, as_read: str | None) -> Comparison:
    first = table.references[0]
    filters = {row.filter for row in scope.numbers.values()}
    rule = first.filter if first.filter in filters else scope.filter
    methods = list(dict.fromkeys(one.method for one in table.references))
    lines = [_published_line(table, method) for method in methods]
    lines += [_own_line(scope, table, model, rule) for model in scope.models]
    rows = [*_published_rows(scope, table), *_own_rows(scope, table, rule)]
    caption = f"{_caption(first)}, and of this run"
    differences = list(_differences(scope, table, as_read or rule))
    return Comparison(table.name, caption, differences, _columns(table), tuple(lines), rows)


def _unknown(scope: Scope, slot: Slot) -> Comparison:
    """What is said in place of a table whose values are not known."""
    about = (scope.queries, slot.table, slot.metric, "", slot.filter, "", "", "", "published")
    row = (*about, None, "", None, None, "", "not known yet")
    told = [f"{slot.title}: not known yet."]
    return Comparison(slot.table, _caption(slot), told, (), (), [row])


def _caption(one: Reference | Slot) -> str:
    return (
        f"{metric_name(one.metric)} published for the {one.split} queries of {one.queries} "
        f"on {one.graph}"
    )


def _columns(table: _Table) -> tuple[Column, ...]:
    columns = []
    for group, shapes in table.groups.items():
        columns += [Column(shape, shape, group) for shape in shapes]
        columns += [
            Column(f"{group} printed", "printed", group, "average as printed", group),
            Column(f"{group} mean", "mean", group, "mean of the values of the row", group),
        ]
        columns += [Column(shape, shape, group) for shape in table.others[group]]
    return (*columns, Column("tag", "read in", "", "V: primary source, S: secondary, M: memory"))


def _published_line(table: _Table, method: str) -> Line:
    numbers = {(one.group, one.shape): one for one in table.references if one.method == method}
    cells = []
    for group, shapes in table.groups.items():
        cells += [_published_cell(numbers.get((group, shape))) for shape in shapes]
        printed = _published_cell(numbers.get((group, "")))
        average = table.averages.get((method, group))
        if average is not None and average.verdict in ("truncated", "wrong"):
            title = f"{printed.title}; {average.verdict}: the mean of the values is {average.mean}"
            printed = printed._replace(is_suspect=True, title=title)
        known = [shape for shape in shapes if (group, shape) in numbers]
        mean = _mean(numbers[group, shape].value for shape in known)
        cells += [printed, _cell(mean, f"mean over {', '.join(known)}", decimals=2)]
        cells += [_published_cell(numbers.get((group, shape))) for shape in table.others[group]]
    tags = "".join(dict.fromkeys(one.tag for one in numbers.values()))
    note = next((one.note for one in numbers.values() if one.note), "")
    return Line(method, False, "", (*cells, Cell(None, tags, note)))


def _published_cell(number: Reference | None) -> Cell:
    if number is None:
        return Cell(None, "", "not published")
    return _cell(number.value, f"printed {number.printed}; read in {TAGS[number.tag]}")


def _own_line(scope: Scope, table: _Table, model: str, rule: str) -> Line:
    cells = []
    for group, shapes in table.groups.items():
        values, others = (
            [_own(scope, table, model, shape, rule) for shape in names]
            for names in (shapes, table.others[group])
        )
        cells += [_cell(value, repr(value)) for value in values]
        cells += [Cell(None, "", ""), _cell(_mean(values), "mean of the row", decimals=2)]
        cells += [_cell(value, repr(value)) for value in others]
    return Line(model, scope.models[model], "run", (*cells, Cell(None, "run", "this run")))


def _own(scope: Scope, table: _Table, model: str, shape: str, rule: str) -> float | None:
    metric = table.references[0].metric
    row = found_row(scope, model, Column(shape, shape), metric=metric, filter=rule)
    return row.value if row else None


def _cell(value: float | None, title: str, decimals: int = 1) -> Cell:
    if value is None:
        return Cell(None, UNDEFINED, "not known")
    return Cell(value, str(points(value, decimals)), title)


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean, if there are values and none is lacking."""
    values = list(values)
    return None if not values or None in values else math.fsum(values) / len(values)


def _published_rows(scope: Scope, table: _Table) -> Iterator[tuple]:
    by_group: dict[tuple[str, str], list[float]] = {}
    for one in table.references:
        is_member = one.shape in table.groups[one.group]
        by_group.setdefault((one.method, one.group), []).extend([one.value] if is_member else [])
    for one in table.references:
        mean = verdict = None
        if not one.shape:
            mean = _mean(by_group[one.method, one.group])
            verdict = table.averages[one.method, one.group].verdict
        about = (scope.queries, table.name, one.metric, "", one.filter, one.group, one.shape)
        numbers = (one.value, one.printed, mean, verdict, one.tag, one.note)
        yield (*about, one.method, "published", *numbers)


def _own_rows(scope: Scope, table: _Table, rule: str) -> Iterator[tuple]:
    for model in scope.models:
        for group, shapes in table.groups.items():
            metric = table.references[0].metric
            about = (scope.queries, table.name, metric, scope.ties, rule, group)
            values = {
                shape: _own(scope, table, model, shape, rule)
                for shape in (*shapes, *table.others[group])
            }
            for shape, value in values.items():
                yield (*about, shape, model, "run", value, *[None] * 5)
            mean = _mean(values[shape] for shape in shapes)
            yield (*about, "", model, "run", mean, *[None] * 5)


def _differences(scope: Scope, table: _Table, rule: str) -> Iterator[str]:
    first = table.references[0]
    yield (
        "Published evaluations leave the order of tied candidates to a sort; this run has "
        f"{scope.ties} ties."
    )
    if rule != first.filter:
        yield f"The published filter is {first.filter}; this run has {rule}."
    readings = {row.pni for row in scope.numbers.values() if row.shape in _shapes(table)} - {""}
    if first.pni != "none" and readings - {first.pni}:
        yield f"Published answers read pni as {first.pni}; this run as {', '.join(readings)}."
    lacking = [shape for shape in _shapes(table) if shape not in scope.shapes]
    if lacking:
        yield f"This run has no {', '.join(lacking)}, so it has no mean of what they belong to."
    if not any(row.metric == first.metric for row in scope.numbers.values()):
        yield f"This run has no {metric_name(first.metric)}."
    notes = {one.method: one.note for one in table.references if one.note}
    yield from (f"{method}: {note}." for method, note in notes.items())
    yield "Which triples a published method looked at, train or also valid ones, is not told here."


def _shapes(table: _Table) -> list[str]:
    return [shape for shapes in table.groups.values() for shape in shapes]


def reference_table(found: Sequence[Comparison]) -> Inventory:
    """All numbers of all comparisons, to be written as a table."""
    return Inventory(COLUMNS, [row for one in found for row in one.rows])
