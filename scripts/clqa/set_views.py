"""F-beta of answer sets as views of the explorer: a metric for each rule."""

import math
from collections.abc import Iterable, Mapping, Sequence

from clqa.competitions import RAW
from clqa.explorer import SWITCHES
from clqa.filters import FILTERS
from clqa.roundings import points
from clqa.scopes import Scope, shape_columns
from clqa.set_reports import SetRows
from clqa.set_tables import EASY_FIRST

_ALL = ["all", "all queries", "groups of queries", "all queries together", 1]


def with_set_views(data: dict, scopes: Sequence[Scope], found: Iterable[SetRows], run: Mapping):
    """The data of `clqa.explorer.explorer` with views of the mean F-beta of each rule, by shape.

    They have no ties; the truth is the first of the run, and with the hard answers true the easy
    ones are filtered. Of several seeds of a model the mean is taken.
    """
    truth, bases = run["truths"][0], run.get("seeds", {})
    rows: dict[tuple, dict] = {}
    for one in found:
        for row in one.sets:
            if row["truth"] == truth and row["rule"] != EASY_FIRST:
                own = rows.setdefault((one.origin.queries, row["rule"], row["beta"]), {})
                model = bases.get(one.origin.model, one.origin.model)
                own.setdefault((model, row["stratum"].removeprefix("shape=")), []).append(row)
    switches = {name: [*data["switches"][name]] for name in SWITCHES}
    names = {(rule, beta): f"F{beta:g}, {rule}" for _, rule, beta in rows}
    switches["metric"] += [
        [f"f{beta:g}:{rule}", name, True] for (rule, beta), name in names.items()
    ]
    filter_name = next(iter(FILTERS)) if truth == "hard" else RAW
    sets = []
    for scope, part in zip(scopes, data["sets"], strict=True):
        columns = [one for one in shape_columns(scope.shapes, "tie_rate") if not one.group]
        head = [*([*one[:4], 0] for one in columns), _ALL]
        views = []
        for rule, beta in names:
            own = rows.get((scope.queries, rule, beta))
            if own is not None:
                wanted = {"metric": f"f{beta:g}:{rule}", "ties": "", "filter": filter_name}
                at = [_place(switches[name], wanted.get(name)) for name in SWITCHES]
                about = {"at": at, "head": len(part["heads"])}
                views.append(about | _cells(own, scope, [*(one.name for one in columns), ""]))
        sets.append(part | {"heads": [*part["heads"], head], "views": [*part["views"], *views]})
    return data | {"switches": switches, "sets": sets}


def _place(values: list, wanted: str | None) -> int:
    """Place of a value among those of a switch, which gets it if it lacks it."""
    if wanted is None:
        return 0
    known = [value for value, *_ in values]
    if wanted not in known:
        values.append([wanted, wanted])
        return len(known)
    return known.index(wanted)


def _cells(rows: Mapping[tuple, list[dict]], scope: Scope, subjects: Sequence[str]) -> dict:
    first = next(iter(scope.models))
    found = [[rows.get((model, subject), []) for subject in subjects] for model in scope.models]
    values = [[_mean(cell) for cell in line] for line in found]
    rivals = [
        line for line, control in zip(values, scope.models.values(), strict=True) if not control
    ]
    best = [
        max((v for v in own if v is not None), default=None) for own in zip(*rivals, strict=True)
    ]
    best = best or [None] * len(subjects)
    width, notes = len(subjects), {}
    for place, cell in enumerate(cell for line in found for cell in line):
        if _mean(cell) is None:
            note = next((row["note"] for row in cell if row["note"]), "not computed")
            notes.setdefault(note, []).append(place)
    sizes = [rows.get((first, subject), [{"n_queries": 0, "true": 0}])[0] for subject in subjects]
    return {
        "n": [number for row in sizes for number in (row["n_queries"], row["true"] or 0)],
        "v": [None if v is None else float(points(v)) for line in values for v in line],
        "b": [
            number * width + place
            for number, control in enumerate(scope.models.values())
            for place in range(width)
            if not control and best[place] is not None and values[number][place] == best[place]
        ],
        "why": notes,
    }


def _mean(seeds: Sequence[Mapping]) -> float | None:
    values = [row["f_beta"] for row in seeds]
    return None if not values or None in values else math.fsum(values) / len(values)
