"""The numbers of a model by free variables, constants, existentials and graph, as a grid figure."""

from collections.abc import Sequence

from clqa.formulas import symbols
from clqa.grid_figures import Facet, GridCell, grid_figure
from clqa.scopes import Column, Scope, cell_columns, found_row, is_share, metric_name
from clqa.shape_groups import arity, graph_class, members_of_groups
from clqa.wide_tables import UNDEFINED, by_structure

GRAPHS = ("SDAG", "multi", "cyclic")
NO_SHAPE = "no shapes"
_ABOUT = "its cells are numbers of constants (c) by existential variables (e)"


def structure_grid(scope: Scope, model: str, metrics: Sequence[str]) -> str:
    """Draw a row of facets for each number of free variables, and a facet for each kind of graph.

    Parameters
    ----------
    metrics : of each number of free variables the one to show, as `scopes.leading_metrics` has them

    Returns
    -------
    str
        An `<svg>` element that tells all of its numbers to those who do not see it; none if the
        query set has no such shapes.
    """
    rows = []
    for metric_id in metrics:
        cells = _cells(scope, model, metric_id)
        for n_free in sorted({place[0] for place in cells}):
            rows.append(_facets(n_free, metric_name(metric_id), is_share(metric_id), cells))
    if not rows:
        return ""
    about = [f"{model} on {scope.queries}, {_ABOUT}", *(_told(one) for row in rows for one in row)]
    return grid_figure(rows, "; ".join(about), NO_SHAPE)


def _cells(scope: Scope, model: str, metric_id: str) -> dict[tuple, GridCell]:
    """Cells by free variables, graph, constants and existentials."""
    members = members_of_groups(scope.shapes, metric_id)
    table = by_structure(scope, metric_id)
    line = next(line for line in table.lines if line.model == model)
    found = {}
    for column, cell in zip(cell_columns(scope, metric_id), line.cells, strict=True):
        formula = scope.shapes[members[column.group][0]]
        n_constants, n_bound = (len(symbols(formula, kind)) for kind in "se")
        size = _size(scope, model, metric_id, column)
        shade = cell.value if is_share(metric_id) else None
        place = (arity(formula), graph_class(formula), n_constants, n_bound)
        found[place] = GridCell(cell.text, size, shade)
    return found


def _size(scope: Scope, model: str, metric_id: str, column: Column) -> str:
    row = found_row(scope, model, column, metric=metric_id)
    return f"n = {row.n_queries:,}" if row else "n = 0"


def _facets(n_free: int, name: str, in_points: bool, cells: dict) -> list[Facet]:
    own = {place[1:]: cell for place, cell in cells.items() if place[0] == n_free}
    rows, columns = (sorted({place[axis] for place in own}) for axis in (1, 2))
    variables = f"{n_free} free variable{'' if n_free == 1 else 's'}"
    return [
        Facet(
            f"{variables}: {name}{' × 100' if in_points else ''}",
            graph,
            [f"c={number}" for number in rows],
            [f"e={number}" for number in columns],
            {
                (f"c={place[1]}", f"e={place[2]}"): cell
                for place, cell in own.items()
                if place[0] == graph
            },
        )
        for graph in GRAPHS
    ]


def _told(facet: Facet) -> str:
    """The numbers of a facet in words."""
    cells = [
        f"{row} {column} {'undefined' if cell.text == UNDEFINED else cell.text} ({cell.size})"
        for (row, column), cell in sorted(facet.cells.items())
    ]
    return f"{facet.heading}, {facet.title}: {', '.join(cells) or NO_SHAPE}"
