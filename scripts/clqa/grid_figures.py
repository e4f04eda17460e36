"""Grids of numbers as SVG, with a facet for each kind: the same bytes for the same numbers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from clqa.figures import GRID, INK, QUIET, SERIES, WIDTH, styled, svg

# Inches: a row of cells, the title of a facet, the labels under a row of facets.
ROW, TITLE, LABELS = 0.36, 0.42, 0.3
_DARKEST = 0.6


class GridCell(NamedTuple):
    """A number and how many it is of, as texts; `shade` is its place from 0 to 1, if it has one."""

    text: str
    size: str
    shade: float | None = None


class Facet(NamedTuple):
    """A grid: labels of its rows from the top and of its columns, and the cells that it has.

    `heading` is that of the whole row of facets.
    """

    heading: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], GridCell]


def grid_figure(facets: Sequence[Sequence[Facet]], about: str, empty: str) -> str:
    """Draw rows of facets as an `<svg>` element.

    Parameters
    ----------
    about : what a reader who does not see the figure is told
    empty : what stands where a facet has no cell
    """
    with styled():
        heights = [TITLE + LABELS + ROW * max(len(one.rows) for one in row) for row in facets]
        n_columns = max(len(row) for row in facets)
        figure = Figure(figsize=(WIDTH * 1.5, sum(heights)), layout="constrained")
        grid = figure.subplots(
            len(facets), n_columns, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes_row, row in zip(grid, facets, strict=True):
            for place, axes in enumerate(axes_row):
                if place < len(row):
                    heading = row[place].heading if place == 0 else ""
                    _draw(axes, row[place], heading, empty)
                else:
                    axes.set_axis_off()
        return svg(figure, about)


def _draw(axes: Axes, facet: Facet, heading: str, empty: str) -> None:
    title = axes.set_title(f"{heading}\n{facet.title}", fontsize=8, color=QUIET, loc="left")
    title.set_in_layout(False)
    axes.set_xlim(-0.5, len(facet.columns) - 0.5)
    axes.set_ylim(len(facet.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(facet.columns)), facet.columns)
    axes.set_yticks(range(len(facet.rows)), facet.rows)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    for y, row in enumerate(facet.rows):
        for x, column in enumerate(facet.columns):
            _draw_cell(axes, x, y, facet.cells.get((row, column)), empty)


def _draw_cell(axes: Axes, x: int, y: int, cell: GridCell | None, empty: str) -> None:
    corner, size, small = (x - 0.48, y - 0.46), (0.96, 0.92), {"color": QUIET, "fontsize": 5.5}
    if cell is None:
        axes.text(x, y, empty, ha="center", va="center", **small)
        return
    if cell.shade is not None:
        shade = {"facecolor": SERIES[0], "alpha": _DARKEST * min(max(cell.shade, 0.0), 1.0)}
        axes.add_patch(Rectangle(corner, *size, linewidth=0, **shade))
    axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=GRID, linewidth=0.6))
    axes.text(x, y - 0.14, cell.text, ha="center", va="center", color=INK, fontsize=8)
    axes.text(x, y + 0.27, cell.size, ha="center", va="center", **small)
