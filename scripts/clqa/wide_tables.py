"""Tables to read, models in rows and shapes in columns, made from tidy rows by key."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from clqa.reports import Row
from clqa.roundings import points, rounded
from clqa.scopes import (
    Column,
    Scope,
    averages,
    cell_columns,
    found_row,
    is_share,
    metric_name,
    shape_columns,
    strata,
)
from clqa.stratum_names import TITLES

UNDEFINED = "–"
# Optimistic minus pessimistic above this, 0.5 points, makes a number depend on how ties count.
SUSPECT = 0.005


class Cell(NamedTuple):
    """A number as stored, as shown, and what to say about it.

    `ends` are those of its interval, if one is known, and `interval` shows them; `note` is why
    there is no number. Best and second best are found among stored values.
    """

    value: float | None
    text: str
    title: str
    note: str = ""
    is_best: bool = False
    is_suspect: bool = False
    interval: str = ""
    ends: tuple[float, float] | None = None
    is_second: bool = False


class Line(NamedTuple):
    model: str
    is_control: bool
    stratum: str
    cells: tuple[Cell, ...]


class WideTable(NamedTuple):
    """A table with a file name; `caption` says in one sentence what its numbers are.

    `measured` are the metric, tie policy and filter of the numbers, or of those that others are set
    beside.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    measured: tuple[str, str, str]


def headline(
    scope: Scope, metric_id: str | None = None, columns: tuple[Column, ...] | None = None
) -> WideTable:
    """One metric of every model on every shape, or in the columns that are given."""
    name = metric_id or scope.metric
    caption = f"{metric_name(name)} on {scope.queries} ({scope.ties} ties, {scope.filter})"
    columns = shape_columns(scope.shapes, name) if columns is None else columns
    lines = _lines(
        scope, columns, lambda model, column: found_row(scope, model, column, metric=name)
    )
    measured = (name, scope.ties, scope.filter)
    return WideTable(f"{name}-{scope.queries}", caption, columns, tuple(lines), measured)


def by_stratum(scope: Scope, key: str, columns: tuple[Column, ...] | None = None) -> WideTable:
    """The headline over the hard answers of each stratum of a key alone."""
    columns = shape_columns(scope.shapes, scope.metric) if columns is None else columns
    lines = []
    for stratum in strata(scope).get(key, ()):
        lines += _lines(
            scope,
            columns,
            lambda model, column, stratum=stratum: found_row(scope, model, column, stratum=stratum),
            stratum,
        )
    caption = f"{metric_name(scope.metric)} on {scope.queries} by {TITLES[key]}"
    measured = (scope.metric, scope.ties, scope.filter)
    return WideTable(f"{key}-{scope.queries}", caption, columns, tuple(lines), measured)


def by_structure(scope: Scope, metric_id: str | None = None) -> WideTable:
    """A metric over shapes that are alike in their numbers of symbols and in their graph."""
    name = metric_id or scope.metric
    columns = cell_columns(scope, name)
    lines = _lines(
        scope, columns, lambda model, column: found_row(scope, model, column, metric=name)
    )
    caption = (
        f"{metric_name(name)} on {scope.queries} by free variables, constants, existentials"
        " and graph"
    )
    measured = (name, scope.ties, scope.filter)
    part = "structure" if name == scope.metric else f"structure-{name}"
    return WideTable(f"{part}-{scope.queries}", caption, columns, tuple(lines), measured)


def tie_rates(scope: Scope, columns: tuple[Column, ...] | None = None) -> WideTable:
    """Share of hard answers that tie with a candidate, marked where that moves the headline."""
    columns = shape_columns(scope.shapes, scope.metric) if columns is None else columns

    def find(model: str, column: Column) -> Row | None:
        return found_row(scope, model, column, metric="tie_rate", ties="")

    lines = []
    for line in _lines(scope, columns, find, compete=False):
        cells = zip(line.cells, columns, strict=True)
        marked = (_marked(scope, cell, spread(scope, line.model, column)) for cell, column in cells)
        lines.append(line._replace(cells=tuple(marked)))
    caption = f"Share of hard answers tied with a candidate on {scope.queries}"
    measured = ("tie_rate", "", scope.filter)
    return WideTable(f"ties-{scope.queries}", caption, columns, tuple(lines), measured)


def spread(scope: Scope, model: str, column: Column) -> float | None:
    """Optimistic minus pessimistic value of the headline metric, both as stored."""
    ends = [found_row(scope, model, column, ties=ties) for ties in ("optimistic", "pessimistic")]
    if any(row is None or row.value is None for row in ends):
        return None
    return abs(ends[0].value - ends[1].value)


def _marked(scope: Scope, cell: Cell, width: float | None) -> Cell:
    if width is None or width <= SUSPECT or not is_share(scope.metric):
        return cell
    title = f"{cell.title}; optimistic minus pessimistic: {points(width)} points"
    return cell._replace(is_suspect=True, title=title)


def suspects(scope: Scope) -> list[tuple[str, Column, float]]:
    """Models whose headline number hangs on how ties count: the shape where most, and how much."""
    found = []
    for model in scope.models if is_share(scope.metric) else ():
        widths = [
            (width, column)
            for column in shape_columns(scope.shapes, scope.metric)
            if not column.group and (width := spread(scope, model, column)) is not None
        ]
        width, column = max(widths, key=lambda pair: pair[0], default=(0.0, None))
        if width > SUSPECT:
            found.append((model, column, width))
    return found


def effects(scope: Scope) -> WideTable:
    """The averages of the headline under each tie policy and each filter."""
    wanted = {}
    for average in averages(scope):
        for ties, filter_name in _protocols(scope):
            label = ties if filter_name == scope.filter else f"{ties}, {filter_name}"
            name = f"{average.name} {ties},{filter_name}"
            column = average._replace(name=name, label=label, band=average.label)
            wanted[column] = (average, ties, filter_name)

    def find(model: str, column: Column) -> Row | None:
        average, ties, filter_name = wanted[column]
        return found_row(scope, model, average, ties=ties, filter=filter_name)

    lines = _lines(scope, tuple(wanted), find, compete=False)
    caption = f"{metric_name(scope.metric)} on {scope.queries} under other protocols"
    measured = (scope.metric, scope.ties, scope.filter)
    name = f"protocols-{scope.queries}"
    return WideTable(name, caption, tuple(wanted), tuple(lines), measured)


def overview(scopes: Sequence[Scope]) -> WideTable:
    """The averages of the headline on all query sets, which have the same models."""
    wanted = {}
    for scope in scopes:
        for average in averages(scope):
            name = f"{scope.queries} {average.name}"
            wanted[average._replace(name=name, band=scope.queries)] = (scope, average)

    def find(model: str, column: Column) -> Row | None:
        scope, average = wanted[column]
        return found_row(scope, model, average)

    lines = _lines(scopes[0], tuple(wanted), find)
    first = scopes[0]
    caption = f"Average {metric_name(first.metric)} on all query sets"
    measured = (first.metric, first.ties, first.filter)
    return WideTable("overview", caption, tuple(wanted), tuple(lines), measured)


def _protocols(scope: Scope) -> list[tuple[str, str]]:
    """Tie policies under the primary filter, then other filters under the primary policy."""
    found = {
        (row.ties, row.filter): None for row in scope.numbers.values() if row.metric == scope.metric
    }
    under_primary = [pair for pair in found if pair[1] == scope.filter]
    return under_primary + [p for p in found if p[0] == scope.ties and p[1] != scope.filter]


def _lines(
    scope: Scope,
    columns: tuple[Column, ...],
    find: Callable[[str, Column], Row | None],
    stratum: str = "",
    compete: bool = True,
) -> Iterator[Line]:
    """A line per model; the two best values of those that are no controls are marked."""
    found = {model: [find(model, column) for column in columns] for model in scope.models}
    rivals = [found[model] for model, is_control in scope.models.items() if not is_control]
    best = [_best(rows) for rows in zip(*rivals, strict=True)] if compete else []
    best = best or [()] * len(columns)
    for model, is_control in scope.models.items():
        pairs = zip(found[model], best, strict=True)
        cells = (_cell(row, () if is_control else top) for row, top in pairs)
        yield Line(model, is_control, stratum, tuple(cells))


def _best(rows: Iterable[Row | None]) -> list[float]:
    """The best and the second best of the stored values in a column, as far as there are any."""
    rows = [row for row in rows if row is not None and row.value is not None]
    metric = rows[0].metric if rows else ""
    return sorted({row.value for row in rows}, reverse=bool(rows) and is_share(metric))[:2]


def _cell(row: Row | None, best: Sequence[float]) -> Cell:
    if row is None:
        return Cell(None, UNDEFINED, "not computed", note="not computed")
    size = f"{row.n_queries:,} queries, {row.n_answers:,} hard answers"
    if row.value is None:
        return Cell(None, UNDEFINED, f"undefined: {row.note}", note=row.note)
    text, title = _shown(row, row.value), f"{row.value!r} ({size})"
    cell = Cell(row.value, text, title, is_best=row.value in best[:1])
    cell = cell._replace(is_second=row.value in best[1:])
    if row.lower is None or row.upper is None:
        return cell
    interval = f"{_shown(row, row.lower)}–{_shown(row, row.upper)}"
    title = f"{title}; interval {interval}"
    return cell._replace(title=title, interval=interval, ends=(row.lower, row.upper))


def _shown(row: Row, value: float) -> str:
    return str(points(value) if is_share(row.metric) else rounded(value, 1))
