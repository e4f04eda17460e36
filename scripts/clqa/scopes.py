"""What the tables and figures of a query set look at: its numbers by model and shape."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clqa.formulas import Formula, to_text
from clqa.methods import CONTROLS
from clqa.metrics import fits, metric
from clqa.reports import AVERAGING, Row, candidates_name
from clqa.score_tables import Scores
from clqa.seeds import shown
from clqa.shape_groups import HEADLINE, arity, is_cell, members_of_groups
from clqa.stratum_names import KEYS, stratum_order

# Of a query set with more shapes a page shows groups; shape by shape it is in tables/ alone.
MANY_SHAPES = 60
_BANDS = {
    "f": "free variables",
    "c": "constants",
    "e": "existentials",
    "graph": "graph",
}


class Column(NamedTuple):
    """A column: its name is unique, its band is the heading over it and its neighbours."""

    name: str
    label: str
    band: str = ""
    title: str = ""
    group: str = ""


class Scope(NamedTuple):
    """What the tables of one query set are about; the metric and protocol are the primary ones.

    Attributes
    ----------
    queries : str
    shapes : dict of formulas, in order
    models : dict
        For each model, in order, whether it is a control: controls bound the scale and do not
        compete for the best number.
    numbers : dict
        Rows by `key_of`, of the first candidates and averaging of the run.
    """

    queries: str
    shapes: dict[str, Formula]
    models: dict[str, bool]
    metric: str
    ties: str
    filter: str
    numbers: dict[tuple, Row]


def key_of(row: Row) -> tuple:
    """What a table looks a row up by."""
    subject = row.group or row.shape
    return (row.model, row.metric, row.ties, row.filter, row.stratum, subject)


def scope_of(queries: str, run: dict, scores: Iterable[Scores], rows: Iterable[Row]) -> Scope:
    """The scope of a query set in a run; its controls come after the other models."""
    own = [one for one in scores if one.queries == queries]
    bases = run.get("seeds", {})
    primary = (
        candidates_name(run["candidates"][0], own[0].metadata),
        AVERAGING[run["averaging"][0]],
    )
    controls = {
        bases.get(one.model, one.model): one.metadata["model"]["method"] in CONTROLS for one in own
    }
    return Scope(
        queries=queries,
        shapes=own[0].shapes,
        models=dict(sorted(controls.items(), key=lambda pair: pair[1])),
        metric=run["metrics"][0],
        ties=run["ties"][0],
        filter=run["filters"][0],
        numbers={
            key_of(row): row
            for row in shown(rows)
            if row.queries == queries and (row.candidates, row.averaging) == primary
        },
    )


def shape_columns(shapes: dict[str, Formula], metric_id: str) -> tuple[Column, ...]:
    """Shapes of each headline group, of which every shape has one, followed by its average.

    Of a metric those whose number of free variables it is for.
    """
    columns = []
    for group, members in members_of_groups(shapes, metric_id).items():
        if group in HEADLINE:
            columns += [Column(shape, shape, group, to_text(shapes[shape])) for shape in members]
            label, title = f"{group} ({len(members)})", f"mean over {', '.join(members)}"
            columns.append(Column(group, label, group, title, group))
    return tuple(columns)


def group_columns(shapes: dict[str, Formula], metric_id: str) -> tuple[Column, ...]:
    """The averages of all groups but the cells."""
    columns = []
    for group, members in members_of_groups(shapes, metric_id).items():
        if not is_cell(group):
            kind, _, value = group.rpartition("=")
            label = value if kind == "graph" else group
            title = f"mean over {len(members)} shapes"
            band = _BANDS.get(kind, "operators")
            columns.append(Column(group, f"{label} ({len(members)})", band, title, group))
    order = ["operators", *_BANDS.values()]
    return tuple(sorted(columns, key=lambda column: order.index(column.band)))


def page_columns(scope: Scope, metric_id: str | None = None) -> tuple[Column, ...]:
    """What a page shows of a metric: shapes with their averages, or where they are many, groups."""
    columns = group_columns if has_many_shapes(scope) else shape_columns
    return columns(scope.shapes, metric_id or scope.metric)


def has_many_shapes(scope: Scope) -> bool:
    return len(scope.shapes) > MANY_SHAPES


def leading_metrics(scope: Scope, metrics: Iterable[str]) -> list[str]:
    """The first metric for queries of each number of free variables that there is."""
    metrics = list(metrics)
    numbers = sorted({arity(formula) for formula in scope.shapes.values()})
    found = [next((name for name in metrics if fits(name, n)), None) for n in numbers]
    return [name for name in dict.fromkeys(found) if name is not None]


def averages(scope: Scope) -> list[Column]:
    return [column for column in shape_columns(scope.shapes, scope.metric) if column.group]


def cell_columns(scope: Scope, metric_id: str | None = None) -> tuple[Column, ...]:
    """The cells by numbers of symbols and by graph, banded by the graph; none for plain trees."""
    columns = []
    for group, members in members_of_groups(scope.shapes, metric_id or scope.metric).items():
        if is_cell(group):
            label, band = group.split(" graph=")
            title = f"mean over {len(members)} shapes: {', '.join(members)}"
            columns.append(Column(group, label, band, title, group))
    return tuple(sorted(columns, key=lambda column: (column.band, column.label)))


def found_row(scope: Scope, model: str, column: Column, **other) -> Row | None:
    """The row of a model in a column; keywords replace the primary metric, ties or filter."""
    asked = {"metric": scope.metric, "ties": scope.ties, "filter": scope.filter, "stratum": ""}
    asked |= other
    return scope.numbers.get((model, *asked.values(), column.group or column.name))


def strata(scope: Scope) -> dict[str, list[str]]:
    """The strata that occur, by their key and in their order; relations are too many to show."""
    found: dict[str, list[str]] = {}
    for stratum in dict.fromkeys(row.stratum for row in scope.numbers.values()):
        key = stratum.partition("=")[0]
        if key not in ("", "relation"):
            found.setdefault(key, []).append(stratum)
    return {key: sorted(found[key], key=stratum_order) for key in KEYS if key in found}


def counts(
    scope: Scope, columns: Sequence[Column], metric_id: str | None = None, stratum: str = ""
) -> list[tuple[int, int]]:
    """Number of queries and of hard answers behind each column, of the model with the most."""
    name = metric_id or scope.metric
    found = []
    for column in columns:
        asked = (found_row(scope, m, column, metric=name, stratum=stratum) for m in scope.models)
        sizes = [(row.n_queries, row.n_answers) for row in asked if row]
        found.append(max(sizes, default=(0, 0)))
    return found


def totals(scope: Scope) -> tuple[int, int]:
    """Numbers of queries and of hard answers of all shapes, of the model with the most."""
    found = [_sizes(scope, model) for model in scope.models]
    return tuple(
        max(sum(size[place] for size in one.values()) for one in found) for place in (0, 1)
    )


def partial(scope: Scope) -> list[tuple[str, int, int]]:
    """Models whose numbers are over fewer queries than those of others, how many, of how many."""
    counts = {model: sum(n for n, _ in _sizes(scope, model).values()) for model in scope.models}
    most = max(counts.values())
    return [(model, n, most) for model, n in counts.items() if n < most]


def _sizes(scope: Scope, model: str) -> dict[str, tuple[int, int]]:
    """Numbers of queries and of hard answers behind the numbers of a model, shape by shape."""
    sizes: dict[str, tuple[int, int]] = {}
    for row in scope.numbers.values():
        if row.model == model and row.shape and not row.stratum:
            # Metrics for other numbers of free variables have no queries of the shape.
            size = (row.n_queries, row.n_answers)
            sizes[row.shape] = max(size, sizes.get(row.shape, size))
    return sizes


def is_share(metric_id: str) -> bool:
    """Whether a metric lies in [0, 1] and is shown in points; the others count places."""
    return metric_id == "tie_rate" or metric(metric_id).higher_is_better


def metric_name(metric_id: str) -> str:
    """A metric as it is written in print."""
    if metric_id == "tie_rate":
        return "Tie rate"
    at, depth = metric_id.partition("@")[1:]
    return f"{metric(metric_id).title}{at}{depth}"
