"""The averages of a run in a few lines, for the end of its output in a terminal."""

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from clqa.roundings import points, rounded
from clqa.scopes import is_share, metric_name

MOST_MODELS = 20
MOST_SHAPES = 5
_NAMES = 5  # columns that say what a row is about: metric, ties, filter, stratum and model


def run_summary(path_to_overview: str | os.PathLike, width: int) -> list[str]:
    """A table of models by groups of each query set, no wider than `width` characters.

    Nothing where there is no such table; what finds no room is counted.
    """
    path = Path(path_to_overview)
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
    if not rows:
        return []
    metric_id, ties, filter_name = rows[0][:3]
    cells = [[row[_NAMES - 1], *(_shown(text, metric_id) for text in row[_NAMES:])] for row in rows]
    bands, groups = zip(*(name.split(" ", 1) for name in head[_NAMES:]), strict=True)
    names = max(len(row[0]) for row in cells[:MOST_MODELS])
    widths = _widths(bands, groups, [row[1:] for row in cells])
    n_fit = sum(names + sum(widths[:n]) <= width for n in range(1, len(widths) + 1))
    title = f"{metric_name(metric_id)}{' × 100' * is_share(metric_id)}"
    lines = [f"{title}, {ties} ties, filter {filter_name}"]
    lines.append(" " * names + "".join(_bands(bands[:n_fit], widths)))
    for row in (["", *groups], *cells[:MOST_MODELS]):
        pairs = zip(row[1:], widths[:n_fit], strict=False)
        lines.append(f"{row[0]:<{names}}" + "".join(f"{text:>{size}}" for text, size in pairs))
    left_out = {"model": len(cells) - MOST_MODELS, "average": len(groups) - n_fit}
    told = [f"{n} more {what}{'s' * (n > 1)}" for what, n in left_out.items() if n > 0]
    lines += [f"and {' and '.join(told)}"] if told else []
    return [line.rstrip() for line in lines]


def told_shortfalls(rows: Sequence[dict]) -> list[str]:
    """A line about the shapes with fewer queries than asked for, rows of `inventories.shortfalls`.

    None if there are no such shapes.
    """
    told = [
        f"{row['queries']} {row['shape']} ({row['accepted']:,} of {row['requested']:,})"
        for row in rows[:MOST_SHAPES]
    ]
    more = len(rows) - MOST_SHAPES
    told += [f"and {more} more, see the report"] if more > 0 else []
    return [f"fewer queries than asked for: {', '.join(told)}"] if told else []


def told_repetitions(rows: Sequence[tuple]) -> list[str]:
    """A line for each split of a graph that repeats triples, rows of `repeated_triples`."""
    return [
        f"graph {graph}: {n:,} triples are in {split} and in {earlier}: no link of these is missing"
        for graph, split, earlier, n in rows
    ]


def _shown(text: str, metric_id: str) -> str:
    if text == "":
        return "–"
    value = float(text)
    return str(points(value) if is_share(metric_id) else rounded(value, 1))


def _widths(
    bands: Sequence[str], groups: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[int]:
    """Of each column, with two spaces before it; the last one of a band has room for its name."""
    columns = zip(groups, *rows, strict=True)
    widths = [2 + max(map(len, column)) for column in columns]
    for place, band in enumerate(bands):
        if place + 1 == len(bands) or bands[place + 1] != band:
            own = sum(size for name, size in zip(bands, widths, strict=True) if name == band)
            widths[place] += max(0, 2 + len(band) - own)
    return widths


def _bands(bands: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The name of each band over its columns, as far as it has room there."""
    for band in dict.fromkeys(bands):
        size = sum(size for name, size in zip(bands, widths, strict=False) if name == band)
        yield f"  {band[: size - 2]:<{size - 2}}"
