"""Wide tables as TSV, Markdown and LaTeX."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from clqa.answer_sizes import COLUMNS as SIZE_COLUMNS
from clqa.files import replacing
from clqa.inventories import Inventory
from clqa.keyed_tables import write_tsv
from clqa.roundings import STATEMENT
from clqa.wide_tables import WideTable

_LATEX = {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "–": "--"}


def write_tables(
    folder: str | os.PathLike,
    averages: WideTable,
    sections: Iterable,
    inventory: Mapping[str, Inventory],
) -> None:
    """Write every table of a report; `sections` as `clqa.pages.section` makes them."""
    sections = list(sections)
    write_wide_table(folder, averages)
    for section in sections:
        for table in (*section.tables.values(), *section.others):
            write_wide_table(folder, table)
    for name, table in inventory.items():
        write_tsv(Path(folder) / f"{name}.tsv", table.columns, table.rows)
    sizes = [row for section in sections for row in section.sizes]
    write_tsv(Path(folder) / "answers.tsv", SIZE_COLUMNS, sizes)


def write_wide_table(folder: str | os.PathLike, table: WideTable) -> None:
    """Write a table as `<name>.tsv` (values as stored), `.md` and `.tex` (as shown)."""
    folder = Path(folder)
    columns = ["metric", "ties", "filter", "stratum", "model"]
    columns += [column.name for column in table.columns]
    lines = (
        [*table.measured, line.stratum, line.model, *(cell.value for cell in line.cells)]
        for line in table.lines
    )
    write_tsv(folder / f"{table.name}.tsv", columns, lines)
    for suffix, typeset in ((".md", markdown), (".tex", latex)):
        with replacing(folder / f"{table.name}{suffix}") as temporary:
            temporary.write_text(typeset(table), encoding="utf-8")


def markdown(table: WideTable) -> str:
    """A pipe table with the caption over it and what the marks mean under it."""
    labels = ["model", *_labels(table)]
    lines = [
        f"**{table.caption}**",
        "",
        _row_of(labels),
        _row_of(["---", *["---:"] * (len(labels) - 1)]),
    ]
    for name, cells in _printed(table):
        lines.append(_row_of([name, *(f"**{text}**" if best else text for text, best in cells)]))
    return "\n".join([*lines, "", *_remarks(table), ""])


def _row_of(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex(table: WideTable) -> str:
    """A `tabular` with rules of the booktabs package."""
    labels = ["model", *map(_escaped, _labels(table))]
    lines = [
        rf"% {table.caption}",
        *(f"% {remark}" for remark in _remarks(table)),
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(labels) + r" \\",
        r"\midrule",
    ]
    for name, cells in _printed(table):
        texts = [rf"\textbf{{{_escaped(t)}}}" if best else _escaped(t) for t, best in cells]
        lines.append(" & ".join([_escaped(name), *texts]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _labels(table: WideTable) -> list[str]:
    """Heads of the columns; with the band over them where they are not told apart otherwise."""
    labels = [column.label for column in table.columns]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{column.band} {column.label}" for column in table.columns]


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _printed(table: WideTable) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Name and cells (text, is it the best) of each line."""
    for line in table.lines:
        parts = [line.model, "(control)" if line.is_control else "", line.stratum]
        cells = [(cell.text, cell.is_best) for cell in line.cells]
        yield " ".join(part for part in parts if part), cells


def _remarks(table: WideTable) -> list[str]:
    """How to read the numbers, and why some are missing."""
    remarks = [f"Shares times 100, {STATEMENT}. Bold: best of the models that are no controls."]
    notes = {
        f"{column.label}{f' ({line.stratum})' if line.stratum else ''}: {cell.note}": None
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell.note
    }
    return remarks + [f"Undefined: {'; '.join(notes)}."] * bool(notes)
