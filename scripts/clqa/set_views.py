"""F-beta of answer sets as views of the explorer: a metric for each rule."""

from collections.abc import Iterable, Mapping, Sequence

from clqa.competitions import RAW
from clqa.explorer import SWITCHES
from clqa.filters import FILTERS
from clqa.roundings import points
from clqa.scopes import Scope, shape_columns
from clqa.set_reports import SetRows
from clqa.set_tables import EASY_FIRST

_ALL = ["all", "all queries", "groups of queries", "all queries together", 1]
_ENDS = ("f_beta_interval_lower", "f_beta_interval_upper")


def with_set_views(
    data: dict, scopes: Sequence[Scope], found: Iterable[SetRows], truth: str
) -> dict:
    """The data of `clqa.explorer.explorer` with views of the mean F-beta of each rule, by shape.

    They have no ties; with the hard answers true the easy ones are filtered.

    Parameters
    ----------
    found : of the models, and the means over seeds of those that have several
    truth : what is true
    """
    rows: dict[tuple, dict] = {}
    for one in found:
        for row in one.sets:
            if row["truth"] == truth and row["rule"] != EASY_FIRST:
                own = rows.setdefault((one.origin.queries, row["rule"], row["beta"]), {})
                own[one.origin.model, row["stratum"].removeprefix("shape=")] = row
    names = {key[1:]: f"F{key[2]:g}, {key[1]}" for key in rows}
    switches = {name: [*data["switches"][name]] for name in SWITCHES}
    switches["metric"] += [[_metric(*key), name, True] for key, name in names.items()]
    where = {"ties": "", "filter": next(iter(FILTERS)) if truth == "hard" else RAW}
    sets = []
    for scope, part in zip(scopes, data["sets"], strict=True):
        columns = [one for one in shape_columns(scope.shapes, "tie_rate") if not one.group]
        subjects, head = [*(one.name for one in columns), ""], len(part["heads"])
        views = [
            {"at": _places(switches, where | {"metric": _metric(*key)}), "head": head}
            | _cells(rows[scope.queries, *key], scope.models, subjects)
            for key in names
            if (scope.queries, *key) in rows
        ]
        heads = [*part["heads"], [*([*one[:4], 0] for one in columns), _ALL]]
        sets.append(part | {"heads": heads, "views": [*part["views"], *views]})
    return data | {"switches": switches, "sets": sets}


def _metric(rule: str, beta: float) -> str:
    return f"f{beta:g}:{rule}"


def _places(switches: Mapping[str, list], wanted: Mapping[str, str]) -> list[int]:
    """Places of values among those of each switch, which gets what it lacks; else the first."""
    places = []
    for name in SWITCHES:
        known = [value for value, *_ in switches[name]]
        value = wanted.get(name, known[0])
        if value not in known:
            switches[name].append([value, value])
        places.append(known.index(value) if value in known else len(known))
    return places


def _cells(rows: Mapping[tuple, dict], models: Mapping[str, bool], subjects: Sequence[str]) -> dict:
    found = [rows.get((model, subject), {}) for model in models for subject in subjects]
    values = [row.get("f_beta") for row in found]
    rivals = [not control for control in models.values() for _ in subjects]
    width, best, notes = len(subjects), [], {}
    for place, value in enumerate(values):
        own = zip(values[place % width :: width], rivals[place % width :: width], strict=True)
        if value is None:
            notes.setdefault(found[place].get("note") or "not computed", []).append(place)
        elif rivals[place] and value == max(v for v, is_rival in own if is_rival and v is not None):
            best.append(place)
    sizes = [(row.get("n_queries", 0), row.get("true") or 0) for row in found[:width]]
    ends = ([row.get(name) for row in found] for name in _ENDS)
    return {
        "n": [number for pair in sizes for number in pair],
        "v": [_points(value) for value in values],
        **{name: [_points(end) for end in own] for name, own in zip("lu", ends, strict=True)},
        "b": best,
        "why": notes,
    }


def _points(value: float | None) -> float | None:
    return None if value is None else float(points(value))
