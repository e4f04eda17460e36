"""Figures as SVG: the same bytes for the same numbers, and the colours of the page around them.

Text is drawn as outlines of the font that comes with matplotlib, so that no font of the machine is
used. Colours are CSS variables with a default, which a page can set for light and dark.
"""

import contextlib
import hashlib
import html
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, QUIET, GRID, SHADE = "#22262b", "#6a7179", "#d9dee3", "#f3f5f7"
SERIES = ("#0b63b6", "#c4490b", "#16806a", "#a3368a", "#8a6d01", "#5b53c7", "#b3243f", "#44702c")
VARIABLES = {
    INK: "--ink",
    QUIET: "--quiet",
    GRID: "--line",
    SHADE: "--shade",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES, 1)},
}
MARKERS, QUIET_MARKERS = "osD^vPX*", "|x+_1234"
STYLE = {
    "svg.hashsalt": "clqa",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": INK,
}
# Inches: the figure, a row of up to five series, a line and a letter of the legend, the rest.
WIDTH, ROW, LINE, LETTER, MARGIN = 4.6, 0.23, 0.17, 0.075, 0.6


class Series(NamedTuple):
    """Dots with bars of one colour, one per row of a figure; None where there is no number.

    `intervals` are pairs of numbers that are marked by ticks.
    """

    label: str
    dots: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    is_quiet: bool = False
    intervals: Sequence[tuple[float, float] | None] = ()


def dot_figure(
    rows: Sequence[str],
    bands: Sequence[str],
    series: Sequence[Series],
    axis: str,
    about: str,
    is_share: bool = True,
) -> str:
    """Draw a row of dots and bars for each name, as an `<svg>` element.

    Parameters
    ----------
    rows, bands : names from the top, and the heading under which each belongs
    series : at least one
    axis : what the horizontal axis shows
    about : what a reader who does not see the figure is told
    is_share : numbers from 0 to 100 if true, else counts on a logarithmic scale that has a 0
    """
    with styled():
        places, headings = _places(bands)
        n_rows = max(places, default=0) + 1
        n_columns = _legend_columns([one.label for one in series])
        height = MARGIN + LINE * -(-len(series) // n_columns)
        height += n_rows * ROW * max(1.0, len(series) / 5)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        _draw_rows(axes, rows, places, headings)
        for number, one in enumerate(series):
            _draw_series(axes, places, one, _shift(number, len(series)), _look(series, number))
        _draw_axis(axes, axis, is_share)
        _draw_legend(figure, n_columns)
        return svg(figure, about)


def _places(bands: Sequence[str]) -> tuple[list[float], dict[float, str]]:
    """Heights of the rows, counted downwards, and of the headings between them."""
    places, headings, place = [], {}, 0.0
    for number, band in enumerate(bands):
        if number == 0 or band != bands[number - 1]:
            headings[place] = band
            place += 0.8
        places.append(place)
        place += 1.0
    return places, headings


def _shift(number: int, n_series: int) -> float:
    """Offset of a series from the middle of its row; all together fill 60 % of it."""
    return 0.6 * ((number + 0.5) / n_series - 0.5)


def _look(series: Sequence[Series], number: int) -> dict:
    """Colour and marker of a series by its place among those of its kind."""
    quiet = series[number].is_quiet
    place = sum(one.is_quiet == quiet for one in series[:number])
    markers = QUIET_MARKERS if quiet else MARKERS
    colour = QUIET if quiet else SERIES[place % len(SERIES)]
    return {"color": colour, "marker": markers[(place + place // 8) % len(markers)]}


def _draw_rows(
    axes: Axes, rows: Sequence[str], places: Sequence[float], headings: dict[float, str]
) -> None:
    for place in places[::2]:
        axes.axhspan(place - 0.5, place + 0.5, color=SHADE, linewidth=0, zorder=0)
    for place, text in headings.items():
        axes.text(
            *(0.004, place), text, transform=axes.get_yaxis_transform(), va="center",
            color=QUIET, fontsize=7.5, fontweight="bold",
        )  # fmt: skip
    axes.set_yticks(places, rows)
    axes.set_ylim(max(places, default=0) + 0.6, -0.45)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _draw_series(
    axes: Axes, places: Sequence[float], series: Series, shift: float, look: dict
) -> None:
    for place, low, high in zip(places, series.lows, series.highs, strict=True):
        if low is not None and high is not None:
            heights = [place + shift] * 2
            axes.plot([low, high], heights, color=look["color"], linewidth=1.4, alpha=0.55)
    for place, ends in zip(places, series.intervals, strict=False):
        if ends is not None:
            heights = [place + shift] * 2
            axes.plot(ends, heights, color=look["color"], linewidth=0.7, marker="|", markersize=5)
    pairs = zip(series.dots, places, strict=True)
    known = [(dot, place + shift) for dot, place in pairs if dot is not None]
    values, heights = zip(*known, strict=True) if known else ((), ())
    axes.plot(
        values, heights, linestyle="none", markersize=4, markeredgewidth=1.2,
        label=series.label, zorder=3, clip_on=False, **look,
    )  # fmt: skip


def _draw_axis(axes: Axes, label: str, is_share: bool) -> None:
    axes.set_xlabel(label)
    axes.grid(axis="x", color=GRID, linewidth=0.6, zorder=1)
    axes.set_axisbelow(True)
    if is_share:
        axes.set_xlim(-1, 101)
        axes.set_xticks(range(0, 101, 20))
        return
    axes.set_xscale("symlog", linthresh=1, linscale=0.35)
    axes.set_xlim(left=-0.05)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()


def _legend_columns(labels: Sequence[str]) -> int:
    """As many columns as the figure has room for, all on one line if they fit."""
    widths = [0.3 + LETTER * len(label) for label in labels]
    return len(labels) if sum(widths) <= WIDTH else max(1, int(WIDTH / max(widths)))


def _draw_legend(figure: Figure, n_columns: int) -> None:
    figure.legend(
        loc="outside upper left", ncols=n_columns, frameon=False, handletextpad=0.2,
        columnspacing=1.0, borderpad=0, labelspacing=0.3,
    )  # fmt: skip


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Settings of matplotlib that are those of no machine."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def svg(figure: Figure, about: str) -> str:
    """The figure as one element without ids that others may use, styles or outside names."""
    stream = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(stream, metadata={"Date": None, "Creator": None})
    text = stream.getvalue().decode()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.S)
    box = re.search(r'viewBox="([^"]*)"', text)[1]
    body = text[text.index(">", text.index("<svg")) + 1 :].replace("xlink:href", "href")
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    salt = hashlib.sha256(body.encode()).hexdigest()[:8]
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{salt}-", body)
    for colour, variable in VARIABLES.items():
        body = body.replace(colour, f"var({variable}, {colour})")
    start = f'<svg viewBox="{box}" role="img" aria-label="{html.escape(about)}"'
    return f'{start} stroke-linejoin="round" stroke-linecap="butt">{body}'.strip()
