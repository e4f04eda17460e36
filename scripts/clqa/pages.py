"""The report page: what its template shows of a run."""

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np
from markupsafe import Markup

from clqa import inventories
from clqa.answer_sizes import COLUMNS as SIZE_COLUMNS
from clqa.answer_sizes import SETS, size_rows
from clqa.audit_tables import AuditView
from clqa.figures import Series, dot_figure
from clqa.files import replacing
from clqa.fingerprints import FIELDS
from clqa.inventories import (
    Inventory,
    by_origin,
    readable,
    shortfalls,
    without_zeros,
)
from clqa.reference_tables import Comparison
from clqa.roundings import STATEMENT, points
from clqa.scopes import (
    Column,
    Scope,
    counts,
    group_columns,
    has_many_shapes,
    is_share,
    leading_metrics,
    metric_name,
    page_columns,
    partial,
    shape_columns,
    strata,
    totals,
)
from clqa.set_reports import SetView
from clqa.shape_groups import members_of_groups
from clqa.stratum_names import TITLES
from clqa.structure_grids import structure_grid
from clqa.switches import switch_view
from clqa.wide_tables import (
    SUSPECT,
    Line,
    WideTable,
    by_stratum,
    by_structure,
    effects,
    headline,
    suspects,
    tie_rates,
)


class Section(NamedTuple):
    """One query set on the page.

    Attributes
    ----------
    entry : dict
        Of the catalogue.
    counts : dict
        For each stratum, and "" for all, the numbers of queries and hard answers per column.
    tables : dict
        Wide tables by what they show: headline, links, ties, protocols.
        Where shapes are many, the page shows `grouped` in place of those by shape.
    grouped : dict
        Of such a query set the tables of its groups, else empty.
    leading : tuple
        Where shapes are many, the headline table of each number of free variables, with counts.
    others : tuple
        The headline table of each further metric.
    shown_others : tuple
        The same as the page shows them.
    suspects : list
        Models whose headline number hangs on how ties count.
    sizes : list
        Rows of `clqa.answer_sizes.COLUMNS`.
    figure, size_figure : str
        `<svg>` elements, ready for the page; none of scores by shape where shapes are many.
    grids : dict
        For each model a figure by numbers of symbols and by graph, where shapes differ in them.
    audit : AuditView
    references : list of Comparison
        Published results, if any are known of these queries.
    answer_sets : SetView
    """

    queries: str
    entry: dict
    scope: Scope
    counts: dict[str, list[tuple[int, int]]]
    tables: dict[str, WideTable]
    grouped: dict[str, WideTable]
    leading: tuple[tuple[WideTable, list[tuple[int, int]]], ...]
    others: tuple[WideTable, ...]
    shown_others: tuple[WideTable, ...]
    suspects: list
    sizes: list[tuple]
    figure: Markup
    size_figure: Markup
    grids: dict[str, Markup]
    audit: AuditView
    references: list[Comparison]
    compared: Inventory
    answer_sets: SetView

    @property
    def totals(self) -> tuple[int, int]:
        """Numbers of queries and of hard answers of all shapes."""
        return totals(self.scope)

    @property
    def partial(self) -> list[tuple[str, int, int]]:
        """Models that are not averaged over all of them."""
        return partial(self.scope)

    @property
    def shown(self) -> dict[str, WideTable]:
        """The tables of the page."""
        return self.tables | self.grouped

    @property
    def has_many_shapes(self) -> bool:
        return has_many_shapes(self.scope)

    @property
    def by_stratum(self) -> list[tuple[str, str, WideTable, list[tuple[str, list, list]]]]:
        """Each key, its title and table, with label, lines and counts of each of its strata."""
        parts = []
        for key, names in strata(self.scope).items():
            table = self.shown[key]
            own = [
                (
                    stratum_label(name),
                    [line for line in table.lines if line.stratum == name],
                    self.counts[name],
                )
                for name in names
            ]
            parts.append((key, TITLES[key], table, own))
        return parts


def stratum_label(name: str) -> str:
    """A stratum in words, such as `2 missing links` or `10-19 true answers`."""
    key, _, value = name.partition("=")
    words = {
        "links": "missing link",
        "size": "true answer",
        "degree": "edge",
        "defined": "defined variable",
    }
    return f"{value} {words[key]}{'' if value == '1' else 's'}" if key in words else value


def section(
    scope: Scope,
    entry: dict,
    metrics: Iterable[str],
    sizes: Mapping[str, Mapping[str, np.ndarray]],
    audit: AuditView,
    references: list[Comparison],
    compared: Inventory,
    answer_sets: SetView,
) -> Section:
    """Tables and figures of a query set; `entry` is from the catalogue, the metrics the run's."""
    statistics = list(size_rows(scope.queries, sizes))
    metrics = list(metrics)
    leading = leading_metrics(scope, metrics)
    further = [name for name in metrics if name != scope.metric]
    structures = [by_structure(scope, name) for name in leading or [scope.metric]]
    others = [*(headline(scope, name) for name in further), *structures]
    shown = others
    if has_many_shapes(scope):
        tables = (headline(scope, name, page_columns(scope, name)) for name in further)
        shown = [*tables, *structures]
    return Section(
        queries=scope.queries,
        entry=entry,
        scope=scope,
        counts={
            name: counts(scope, page_columns(scope), stratum=name)
            for name in ("", *itertools.chain(*strata(scope).values()))
        },
        tables={
            "headline": headline(scope),
            "ties": tie_rates(scope),
            "protocols": effects(scope),
            **{key: by_stratum(scope, key) for key in strata(scope)},
        },
        grouped=_grouped(scope) if has_many_shapes(scope) else {},
        leading=tuple(
            (headline(scope, name, columns), counts(scope, columns, name))
            for name in (leading if has_many_shapes(scope) else ())
            for columns in (page_columns(scope, name),)
        ),
        others=tuple(table for table in others if table.columns),
        shown_others=tuple(table for table in shown if table.columns),
        suspects=suspects(scope),
        sizes=statistics,
        figure=Markup("" if has_many_shapes(scope) else score_figure(scope)),
        size_figure=Markup(size_figure(scope, sizes)),
        grids={
            model: Markup(grid)
            for model in scope.models
            if (grid := structure_grid(scope, model, leading))
        },
        audit=audit,
        references=references,
        compared=compared,
        answer_sets=answer_sets,
    )


def _grouped(scope: Scope) -> dict[str, WideTable]:
    columns = page_columns(scope)
    return {
        "headline": headline(scope, columns=columns),
        "ties": tie_rates(scope, columns),
        **{key: by_stratum(scope, key, columns) for key in strata(scope)},
    }


def score_figure(scope: Scope) -> str:
    """The headline metric by shape and model, with intervals and bars up to optimistic ties."""
    shapes, bands = _rows(scope)
    lines = [headline(scope._replace(ties=ties)).lines for ties in (scope.ties, "optimistic")]
    series = []
    for line, best in zip(*lines, strict=True):
        dots, others = _shown(scope, line), _shown(scope, best)
        ends = _intervals(scope, line)
        series.append(Series(line.model, dots, dots, others, line.is_control, ends))
    name = metric_name(scope.metric)
    is_points = is_share(scope.metric)
    axis = f"{name}{' × 100' if is_points else ''} (bar: up to optimistic ties; ticks: interval)"
    about = f"{name} of {len(series)} models on each shape of {scope.queries}, as in the table"
    return dot_figure(shapes, bands, series, axis, about, is_points)


def _rows(scope: Scope) -> tuple[list[str], list[str]]:
    columns = [column for column in shape_columns(scope.shapes, scope.metric) if not column.group]
    return [column.name for column in columns], [column.band for column in columns]


def _shown(scope: Scope, line: Line) -> list[float | None]:
    """Values of the shapes, without the averages, as the axis has them."""
    scale = 100 if is_share(scope.metric) else 1
    pairs = zip(line.cells, shape_columns(scope.shapes, scope.metric), strict=True)
    return [
        None if cell.value is None else scale * cell.value
        for cell, column in pairs
        if not column.group
    ]


def _intervals(scope: Scope, line: Line) -> list[tuple[float, float] | None]:
    """Ends of the intervals of the shapes, as the axis has them."""
    scale = 100 if is_share(scope.metric) else 1
    pairs = zip(line.cells, shape_columns(scope.shapes, scope.metric), strict=True)
    ends = [cell.ends for cell, column in pairs if not column.group]
    return [None if pair is None else (scale * pair[0], scale * pair[1]) for pair in ends]


def size_figure(scope: Scope, sizes: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """Median and 10th to 90th percentile of the answer-set sizes of each shape, or each group."""
    names, bands, kind = *_rows(scope), "shape"
    if has_many_shapes(scope):
        columns, kind = group_columns(scope.shapes, "tie_rate"), "group of shapes"
        names, bands = ([getattr(one, of) for one in columns] for of in ("group", "band"))
        members = members_of_groups(scope.shapes)
        sizes = {
            group: {
                of: np.concatenate([sizes[shape][of] for shape in members[group]]) for of in SETS
            }
            for group in names
        }
    found = size_rows(scope.queries, sizes)
    rows = {(row[1], row[2]): dict(zip(SIZE_COLUMNS, row, strict=True)) for row in found}
    series = [
        Series(name, *([rows[one, name][of] for one in names] for of in ("median", "p10", "p90")))
        for name in SETS
    ]
    axis = "answers per query: median, and bar from the 10th to the 90th percentile"
    about = f"Numbers of easy, hard and retracted answers per query of {scope.queries} by {kind}"
    return dot_figure(names, bands, series, axis, about, is_share=False)


def page(
    averages: WideTable,
    sections: Sequence[Section],
    inventory: Mapping[str, Inventory],
    origin: dict,
    software: dict,
) -> dict:
    """All that the template shows."""
    protocols, shared = primary_protocols(sections, origin["fingerprints"])
    published = {part.queries for part in sections if "published" in part.entry}
    sampled, imported = by_origin(inventory["sampling"], published)
    bases = origin["settings"].get("seeds", {})
    return {
        "run": origin["settings"],
        # Seeds of one model are no models of their own.
        "n_models": len({bases.get(name, name) for name in origin["settings"]["models"]}),
        "metric": metric_name(origin["settings"]["metrics"][0]),
        "is_share": is_share(origin["settings"]["metrics"][0]),
        "limit": SUSPECT,
        "totals": [sum(part.totals[place] for part in sections) for place in (0, 1)],
        "overview": averages,
        "sections": sections,
        "switches": {
            part.queries: switch_view(inventory["switches"], part.queries, part.scope.metric)
            for part in sections
        },
        "graphs": readable(inventory["graphs"]),
        "sampling": readable(without_zeros(sampled)),
        "shortfalls": shortfalls(sampled),
        "repeated": inventory["repeated"].rows,
        "imports": readable(imported),
        "n_imported": inventories.totals(imported, ("imported", "expected")),
        "protocols": readable(protocols),
        "shared": shared,
        "models": Inventory(
            ("model", "method", "inference graph", "settings"),
            [
                (
                    name,
                    about["method"],
                    ", ".join(sorted(set(about["inference_graph"].values()))),
                    _on_one_line(about["settings"]),
                )
                for name, about in origin["models"].items()
            ],
        ),
        "query_sets": readable(
            Inventory(
                ("query set", "hash", "seed", "sampling"),
                [
                    (name, about["hash"], str(about["seed"]), _origin(about))
                    for name, about in origin["query_sets"].items()
                ],
            )
        ),
        "n_protocols": len(origin["fingerprints"]),
        "software": {name: version for name, version in software.items() if name != "commit"},
    }


def primary_protocols(
    sections: Iterable[Section], protocols: Mapping[str, dict]
) -> tuple[Inventory, dict[str, str]]:
    """The protocols of the headline numbers: fields in which they may differ, and those shared."""
    found = {}
    for part in sections:
        primary = (part.scope.metric, part.scope.ties, part.scope.filter)
        for row in part.scope.numbers.values():
            if (row.metric, row.ties, row.filter) == primary:
                found.setdefault(row.fingerprint, row.queries)
    own = ("graph", "queries", "candidates", "pni")
    rows = [
        (queries, name, *(protocols[name][field] for field in own))
        for name, queries in found.items()
    ]
    first = protocols[next(iter(found))]
    shared = {field: first[field] for field in FIELDS if field not in own}
    return Inventory(("query set", "fingerprint", *own), rows), shared


def _origin(about: Mapping) -> str:
    """How a query set was sampled, or in which layout it was published."""
    if "published" in about:
        return f"none: published, layout {about['published']['layout']}"
    return _on_one_line(about["sampling"])


def _on_one_line(settings: Mapping) -> str:
    values = {name: settings[name] for name in sorted(settings)}
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }
    return ", ".join(f"{name.replace('_', ' ')}: {text}" for name, text in texts.items())


def write_page(path: str | os.PathLike, path_to_template: str | os.PathLike, content: dict) -> None:
    """Fill in the template at `path_to_template`; all text in `content` is escaped."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "points": points,
        "count": "{:,}".format,
        "notes": notes,
        "bands": bands,
    }
    template = environment.from_string(Path(path_to_template).read_text(encoding="utf-8"))
    with replacing(path) as temporary:
        temporary.write_text(template.render(content, rounding=STATEMENT), encoding="utf-8")


def notes(table: WideTable) -> dict[str, list[str]]:
    """Why cells are empty: for each reason the columns that it holds for."""
    found: dict[str, dict[str, None]] = {}
    for line in table.lines:
        for cell, column in zip(line.cells, table.columns, strict=True):
            if cell.note:
                found.setdefault(cell.note, {})[column.label] = None
    return {note: list(labels) for note, labels in found.items()}


def bands(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Headings over neighbouring columns, with the number of columns that each spans."""
    runs = itertools.groupby(columns, key=lambda column: column.band)
    return [(band, len(list(run))) for band, run in runs]
