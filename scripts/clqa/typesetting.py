"""Wide tables as TSV, Markdown and LaTeX."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from clqa.answer_sizes import COLUMNS as SIZE_COLUMNS
from clqa.files import replacing
from clqa.inventories import Inventory
from clqa.keyed_tables import write_tsv
from clqa.roundings import STATEMENT
from clqa.wide_tables import Cell, WideTable

_LATEX = {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "–": "--"}
_LATEX |= {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "|": r"\textbar{}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "\n": " "}
# What Markdown would take for marks; an underscore within a word is none.
_MARKS = re.compile(r"[\\|*`<>\[\]]|(?<!\w)_|_(?!\w)")


def write_tables(
    folder: str | os.PathLike,
    averages: WideTable,
    sections: Iterable,
    inventory: Mapping[str, Inventory],
    intervals: bool = False,
) -> None:
    """Write every table of a report; `sections` as `clqa.pages.section` makes them."""
    sections = list(sections)
    write_wide_table(folder, averages, intervals)
    for section in sections:
        for table in (*section.tables.values(), *section.others):
            write_wide_table(folder, table, intervals)
    for name, table in inventory.items():
        write_tsv(Path(folder) / f"{name}.tsv", table.columns, table.rows)
    sizes = [row for section in sections for row in section.sizes]
    write_tsv(Path(folder) / "answers.tsv", SIZE_COLUMNS, sizes)


def write_wide_table(folder: str | os.PathLike, table: WideTable, intervals: bool = False) -> None:
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
            temporary.write_text(typeset(table, intervals), encoding="utf-8")


def markdown(table: WideTable, intervals: bool = False) -> str:
    """A pipe table with the caption over it and what the marks mean under it."""
    labels = ["model", *map(_unmarked, _labels(table))]
    lines = [
        f"**{_unmarked(table.caption)}**",
        "",
        _row_of(labels),
        _row_of(["---", *["---:"] * (len(labels) - 1)]),
    ]
    for name, cells in _named_lines(table):
        texts = []
        for cell in cells:
            text = f"**{cell.text}**" if cell.is_best else cell.text
            text = f"<u>{cell.text}</u>" if cell.is_second else text
            ends = f" [{cell.interval}]" if intervals and cell.interval else ""
            texts.append(text + ends)
        lines.append(_row_of([_unmarked(name), *texts]))
    return "\n".join([*lines, "", *map(_unmarked, _remarks(table, intervals)), ""])


def _row_of(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _unmarked(text: str) -> str:
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", text.replace("\n", " "))


def latex(table: WideTable, intervals: bool = False) -> str:
    """A `tabular` with rules of the booktabs package."""
    labels = ["model", *map(_escaped, _labels(table))]
    lines = [
        rf"% {table.caption}".replace("\n", " "),
        *(f"% {remark}".replace("\n", " ") for remark in _remarks(table, intervals)),
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(labels) + r" \\",
        r"\midrule",
    ]
    for name, cells in _named_lines(table):
        texts = []
        for cell in cells:
            text = rf"\textbf{{{_escaped(cell.text)}}}" if cell.is_best else _escaped(cell.text)
            text = rf"\underline{{{text}}}" if cell.is_second else text
            ends = rf" {{\scriptsize [{_escaped(cell.interval)}]}}"
            texts.append(text + ends * bool(intervals and cell.interval))
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


def _named_lines(table: WideTable) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Name and cells of each line."""
    for line in table.lines:
        parts = [line.model, "(control)" if line.is_control else "", line.stratum]
        yield " ".join(part for part in parts if part), line.cells


def _remarks(table: WideTable, intervals: bool) -> list[str]:
    """How to read the numbers, and why some are missing."""
    marks = "Bold: best, underlined: second of the models that are no controls"
    remarks = [f"Shares times 100, {STATEMENT}. {marks}, before rounding."]
    if _has_twins(table):
        remarks.append("Some numbers look as good as a marked one and differ before rounding.")
    if intervals:
        remarks.append("In brackets: intervals by drawing queries anew.")
    notes = {
        f"{column.label}{f' ({line.stratum})' if line.stratum else ''}: {cell.note}": None
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell.note
    }
    return remarks + [f"Undefined: {'; '.join(notes)}."] * bool(notes)


def _has_twins(table: WideTable) -> bool:
    """Whether the best number of a column is shown like one that is worse."""
    for cells in zip(*(line.cells for line in table.lines if not line.is_control), strict=True):
        best = {cell.text for cell in cells if cell.is_best}
        if any(cell.text in best and not cell.is_best for cell in cells):
            return True
    return False
