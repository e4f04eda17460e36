"""The differences between two results as one page that needs nothing else."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from clqa.diff_tables import MOST_ROWS, DiffTable, diff_tables
from clqa.files import replacing
from clqa.listings import settings_lines, stage_lines

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2126; --quiet: #5d656d; --line: #d9dee3;
  --shade: #f3f5f7; --accent: #0b57a4; --warn: #8a4b00; --warn-back: #fdf3e1; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e4e7ea; --quiet: #a0a8b0;
  --line: #343a41; --shade: #1d2126; --accent: #7db8f5; --warn: #f0b860; --warn-back: #2d2415; } }
* { box-sizing: border-box; }
body { background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system,
  "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; margin: 0 auto; max-width: 75rem;
  padding: 2rem 1.25rem 3rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .6rem; letter-spacing: -.015em; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .3rem; }
p { max-width: 46rem; margin: .4rem 0 .8rem; overflow-wrap: anywhere; }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
.quiet { color: var(--quiet); font-size: .88rem; }
.banner { border-left: .25rem solid var(--warn); background: var(--warn-back);
  padding: .55rem .9rem; border-radius: 0 .3rem .3rem 0; font-weight: 600; }
ol.stages { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; margin: .6rem 0;
  padding: 0; font-size: .9rem; }
ol.stages li { border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .7rem; }
ol.stages small { display: block; color: var(--quiet); }
ol.stages .first { border-color: var(--warn); box-shadow: inset 0 0 0 1px var(--warn);
  font-weight: 600; }
ul { padding-left: 1.2rem; font-size: .92rem; overflow-wrap: anywhere; }
.scroll { overflow: auto; max-height: 85vh; margin: .6rem 0; border-top: 1.5px solid var(--ink);
  border-bottom: 1.5px solid var(--ink); }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; font-size: .875rem; line-height: 1.35;
  font-variant-numeric: tabular-nums lining-nums; min-width: 100%; }
th, td { padding: .3rem .6rem; text-align: left; font-weight: 400; vertical-align: baseline;
  white-space: nowrap; }
thead th { position: sticky; top: 0; z-index: 2; background: var(--paper); color: var(--quiet);
  font-size: .82rem; border-bottom: 1px solid var(--line); }
tbody th { position: sticky; left: 0; z-index: 1; background: var(--paper); font-weight: 500;
  max-width: min(16rem, 40vw); overflow: hidden; text-overflow: ellipsis; }
thead th:first-child { left: 0; z-index: 3; }
td.number, th.number { text-align: right; }
td.text { white-space: normal; min-width: 20rem; overflow-wrap: anywhere; }
td.delta { font-weight: 600; }
tr.new > * { border-top: 1px solid var(--line); }
tbody tr:hover > * { background: var(--shade); }
@media print { .scroll { max-height: none; overflow: visible; } thead th { position: static; } }
"""
_TITLES = {
    "clashes": "Measured by two protocols",
    "changed": "Changed",
    "added": "Added",
    "removed": "Removed",
}
_WORDS = {"clashes": "of two protocols"}


def write_diff_page(
    path: str | os.PathLike, diff: Mapping, sides: Sequence[str | os.PathLike]
) -> None:
    """Write a result of `clqa.diffs.compare_results` as HTML; `sides` are what was compared."""
    names = [escape(str(side)) for side in sides]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(diff['status'])}: {' and '.join(names)}</title>",
        f"<style>{_STYLE}</style></head><body><main>",
        f"<h1>{escape(diff['status'].capitalize())}</h1>",
        f"<p>Old <code>{names[0]}</code>, new <code>{names[1]}</code>: {_counts(diff)}.</p>",
        *_banner(diff),
        *(f"<p>{escape(side)}: there is nothing.</p>" for side in diff["missing"]),
        *_origins(diff["traces"]),
    ]
    for table in diff_tables(diff):
        parts += _section(table)
    parts += _left_out(diff)
    with replacing(path) as temporary:
        temporary.write_text("\n".join([*parts, "</main></body></html>", ""]), encoding="utf-8")


def _counts(diff: Mapping) -> str:
    counts = [f"{n:,} {_WORDS.get(kind, kind)}" for kind, n in diff["counts"].items() if n]
    return f"{', '.join(counts) or 'no differences'} in {diff['rows']:,} rows"


def _left_out(diff: Mapping) -> Iterator[str]:
    if diff["status"] != "not comparable":
        for kind, n in diff["counts"].items():
            if n > min(len(diff[kind]), MOST_ROWS):
                what = f"Of {n:,} {_WORDS.get(kind, kind)} not all are on this page"
                yield f'<p class="quiet">{what}; <code>--json</code> lists them.</p>'


def _banner(diff: Mapping) -> list[str]:
    if not diff["counts"]["clashes"]:
        return []
    fields = escape(", ".join(diff["protocol"]))
    hint = "the numbers of the two sides do not measure the same thing"
    return [f'<p class="banner" role="alert">Protocol differs: {fields}; {hint}</p>']


def _origins(traces: Mapping) -> Iterator[str]:
    """The stages of each run, with the first one that differs, its files, and the settings."""
    for run, trace in traces.items():
        settings, files = settings_lines(trace), stage_lines(trace)
        if not (settings or trace["first"]):
            continue
        yield f"<h2>Where {escape(run)} begins to differ</h2>"
        if trace["stages"]:
            yield f'<ol class="stages">{"".join(_stages(trace))}</ol>'
        lines = [*(f"setting {one}" for one in settings), *files]
        yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _stages(trace: Mapping) -> Iterator[str]:
    for stage, about in trace["stages"].items():
        n = len(about["different"])
        told = f"{n} of {about['files']} files differ" if n else "the same"
        kind = ' class="first"' if stage == trace["first"] else ""
        yield f"<li{kind}>{escape(stage)}<small>{told}</small></li>"


def _section(table: DiffTable) -> Iterator[str]:
    title = f"{_TITLES[table.kind]}{f' in {escape(table.where)}' if table.where else ''}"
    yield f"<h2>{title}</h2>"
    shared = ", ".join(f"{name} {value}" for name, value in table.shared.items())
    n = f"{len(table.rows):,} row{'s' * (len(table.rows) != 1)}"
    yield f'<p class="quiet">{n}{f"; all of {escape(shared)}" if shared else ""}</p>'
    yield f'<div class="scroll" role="region" tabindex="0" aria-label="{title}"><table><thead><tr>'
    kinds = _kinds(table)
    pairs = zip(kinds, table.columns, strict=True)
    yield "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for kind, name in pairs)
    yield "</tr></thead><tbody>"
    yield from _rows(table.rows, kinds)
    yield "</tbody></table></div>"


def _kinds(table: DiffTable) -> list[str]:
    """Attributes of the cells of each column."""
    first = next((n for n, name in enumerate(table.columns) if name in ("old", "value")), 0)
    kinds = [' class="text"' if name in ("also", "value") else "" for name in table.columns]
    for place in range(first, first + table.n_numbers):
        name = table.columns[place]
        kinds[place] = f' class="number{" delta" if name == "delta" else ""}"'
    return kinds


def _rows(rows: Iterable[Sequence[str]], kinds: Sequence[str]) -> Iterator[str]:
    before = None
    for first, *others in rows:
        start = ' class="new"' if before not in (None, first) else ""
        cells = zip(kinds[1:], others, strict=True)
        texts = "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in cells)
        yield f'<tr{start}><th scope="row"{kinds[0]}>{escape(first)}</th>{texts}</tr>'
        before = first
