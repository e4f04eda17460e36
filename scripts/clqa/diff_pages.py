"""The differences between two results as one page that needs nothing else."""

import os
from collections.abc import Iterable, Sequence
from html import escape

from clqa.files import replacing
from clqa.listings import listed, traced

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #8888; padding: .25rem .5rem; text-align: left;
  overflow-wrap: anywhere; }
td.number { font-variant-numeric: tabular-nums; text-align: right; }
.banner { border: 3px solid #b00; padding: .5rem 1rem; font-weight: bold; }
pre { white-space: pre-wrap; }
"""
_HEADS = ("what", "column", "old", "new", "delta")


def write_diff_page(
    path: str | os.PathLike, diff: dict, sides: Sequence[str | os.PathLike]
) -> None:
    """Write a result of `clqa.diffs.compare_results` as HTML; `sides` are what was compared."""
    names = " and ".join(escape(str(side)) for side in sides)
    counts = ", ".join(f"{number} {kind}" for kind, number in diff["counts"].items())
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(diff['status'])}: {names}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(diff['status'].capitalize())}</h1>",
        f"<p>{names}: {counts} of {diff['rows']} rows.</p>",
        *_banner(diff),
        *(f"<p>{escape(side)}: there is nothing.</p>" for side in diff["missing"]),
    ]
    lines = traced(diff)
    if lines:
        parts += ["<h2>Where it began</h2>", f"<pre>{escape(chr(10).join(lines))}</pre>"]
    for title, total, rows in listed(diff):
        parts += [f"<h2>{escape(title.capitalize())} ({total})</h2>", *_table(rows)]
        if total > len(rows):
            parts.append(f"<p>and {total - len(rows)} more</p>")
    with replacing(path) as temporary:
        temporary.write_text("\n".join([*parts, "</body></html>", ""]), encoding="utf-8")


def _banner(diff: dict) -> list[str]:
    if not diff["counts"]["clashes"]:
        return []
    fields = escape(", ".join(diff["protocol"]))
    hint = "the numbers of the two sides do not measure the same thing"
    return [f'<p class="banner" role="alert">Protocol differs: {fields}; {hint}</p>']


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    return [f"<table><thead><tr>{heads}</tr></thead><tbody>", *map(_row, rows), "</tbody></table>"]


def _row(cells: Sequence[str]) -> str:
    kinds = ["", "", ' class="number"', ' class="number"', ' class="number"']
    pairs = zip(kinds, cells, strict=True)
    return f"<tr>{''.join(f'<td{kind}>{escape(cell)}</td>' for kind, cell in pairs)}</tr>"
