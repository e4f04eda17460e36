"""What the switches of the report page choose from: the rows of `metrics.tsv`, in a compact form.

A view is one table of models by shapes or groups, under one metric, tie policy, filter, set of
candidates, way of averaging and stratum. Numbers are rounded as all tables of the page are; which
of them are best was found before.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence

from clqa.reports import AVERAGING, Row, candidates_name
from clqa.roundings import points, rounded
from clqa.scopes import Column, Scope, counts, is_share, key_of, metric_name, shape_columns
from clqa.score_tables import Scores
from clqa.seeds import shown
from clqa.shape_groups import HEADLINE, is_cell, members_of_groups
from clqa.stratum_names import stratum_order
from clqa.wide_tables import Line, headline

SWITCHES = ("metric", "ties", "filter", "candidates", "averaging", "stratum")
# Characters of views that a page holds at most; those nearest to the primary protocol come first.
ROOM = 6_000_000


def explorer(
    scopes: Sequence[Scope],
    run: Mapping,
    scores: Iterable[Scores],
    rows: Iterable[Row],
    compared: Mapping[str, Sequence[dict]],
    labels: Mapping[str, str],
    room: int = ROOM,
) -> dict:
    """The views of all query sets, as JSON.

    Parameters
    ----------
    scopes : of the query sets, in the order of the page
    run : the run configuration
    rows : all rows of `metrics.tsv`
    compared : the rows of `clqa.comparison_tables` of each query set
    labels : how strata are written
    room : characters that the views may take; `left_out` counts those that found none

    Returns
    -------
    dict
        `switches` has the values of each of `SWITCHES`, in order, as pairs of id and label; `sets`
        the query sets, each with its models, its lists of columns and its views. A view has places
        in these lists (`at`, `head`) and its cells model by model.
    """
    parts = {scope.queries: _parts(scope, run, scores, rows) for scope in scopes}
    values = _values(run, parts.values(), labels)
    orders = [{value: place for place, (value, *_) in enumerate(values[name])} for name in SWITCHES]
    wanted = [
        (tuple(order[value] for order, value in zip(orders, key, strict=True)), number, key)
        for number, scope in enumerate(scopes)
        for key in parts[scope.queries]
    ]
    sets = [_described(scope) for scope in scopes]
    columns = {
        (scope.queries, name): explored_columns(scope, name)
        for scope in scopes
        for name in {key[0] for key in parts[scope.queries]}
    }
    left_out = 0
    for at, number, key in sorted(wanted, key=lambda one: (sum(map(bool, one[0])), *one)):
        scope, part = scopes[number], parts[scopes[number].queries][key]
        primary = not any(at)
        own = columns[scope.queries, key[0]]
        view = {"at": at} | _view(scope, key, part, own, sets[number]["heads"])
        if primary:
            view["p"] = _significance(view, sets[number], compared.get(scope.queries, ()))
        room -= len(json.dumps(view, separators=(",", ":")))
        if room < 0 and not primary:
            left_out += 1
        else:
            sets[number]["views"].append(view)
    return {"switches": values, "sets": sets, "left_out": left_out}


def _parts(scope: Scope, run: Mapping, scores: Iterable[Scores], rows: Iterable[Row]) -> dict:
    """Rows of a query set by what the switches say of them; relations are too many to show."""
    metadata = next(one.metadata for one in scores if one.queries == scope.queries)
    candidates = {candidates_name(name, metadata): name for name in run["candidates"]}
    averaging = {AVERAGING[level]: level for level in run["averaging"]}
    parts: dict[tuple, list[Row]] = {}
    for row in shown(row for row in rows if row.queries == scope.queries):
        if not row.stratum.startswith("relation="):
            competition = row.filter, candidates[row.candidates], averaging[row.averaging]
            parts.setdefault((row.metric, row.ties, *competition, row.stratum), []).append(row)
    return parts


def _values(
    run: Mapping, parts: Iterable[Iterable[tuple]], labels: Mapping[str, str]
) -> dict[str, list]:
    """The values of each switch, those of the primary protocol first, with their labels."""
    found = sorted({key for part in parts for key in part})
    metrics = [*run["metrics"], *sorted({key[0] for key in found} - {*run["metrics"]})]
    strata = sorted({key[-1] for key in found}, key=stratum_order)
    ties = [*run["ties"], *[""] * any(not key[1] for key in found)]
    plain = {key: [[name, name] for name in run[key]] for key in ("candidates", "averaging")}
    return {
        "metric": [[name, metric_name(name), is_share(name)] for name in metrics],
        "ties": [[name, name or "no policy"] for name in ties],
        "filter": [[name, name] for name in run["filters"]],
        **plain,
        "stratum": [[name, labels.get(name, name) or "all hard answers"] for name in strata],
    }


def _described(scope: Scope) -> dict:
    models = [[name, int(is_control)] for name, is_control in scope.models.items()]
    return {"name": scope.queries, "models": models, "heads": [], "views": []}


def explored_columns(scope: Scope, metric_id: str) -> tuple[Column, ...]:
    """Shapes with the averages of the headline, then the averages of the other groups."""
    others = [
        Column(name, f"{name} ({len(members)})", "groups", f"mean over {len(members)} shapes", name)
        for name, members in members_of_groups(scope.shapes, metric_id).items()
        if name not in HEADLINE and not is_cell(name)
    ]
    return (*shape_columns(scope.shapes, metric_id), *others)


def _view(
    scope: Scope, key: tuple, rows: Iterable[Row], columns: tuple[Column, ...], heads: list
) -> dict:
    metric_id, ties, filter_name = key[:3]
    numbers = {key_of(row._replace(stratum="")): row for row in rows}
    own = scope._replace(metric=metric_id, ties=ties, filter=filter_name, numbers=numbers)
    table = headline(own, metric_id, columns)
    head = [[*one[:4], int(bool(one.group))] for one in columns]
    if head not in heads:
        heads.append(head)
    sizes = [*itertools.chain.from_iterable(counts(own, columns))]
    return {"head": heads.index(head), "n": sizes, **_cells(table.lines, metric_id)}


def _cells(lines: Iterable[Line], metric_id: str) -> dict:
    """Values and ends as shown, places of the best, and why there are no values, by place."""
    cells = [cell for line in lines for cell in line.cells]
    found = {"v": [_shown(cell.value, metric_id) for cell in cells]}
    if any(cell.ends for cell in cells):
        for place, name in enumerate("lu"):
            ends = (cell.ends and cell.ends[place] for cell in cells)
            found[name] = [_shown(end, metric_id) for end in ends]
    found["b"] = [place for place, cell in enumerate(cells) if cell.is_best]
    notes: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        if cell.note:
            notes.setdefault(cell.note, []).append(place)
    return found | {"why": notes}


def _shown(value: float | None, metric_id: str) -> float | None:
    if value is None:
        return None
    return float(points(value) if is_share(metric_id) else rounded(value, 1))


def _significance(view: dict, about: dict, rows: Iterable[dict]) -> list[tuple]:
    """Place, best model of the column, and the p-value of the difference, where it was tested."""
    columns = [name for name, *_ in about["heads"][view["head"]]]
    models, width = [name for name, _ in about["models"]], len(columns)
    tested: dict[tuple, float] = {}
    for row in rows:
        p = row["p"] if row["p_holm"] is None else row["p_holm"]
        for pair in ((row["model"], row["other"]), (row["other"], row["model"])):
            tested[row["group"] or row["shape"], *pair] = p
    return [
        (number * width + place % width, place // width, float(rounded(p, 4)))
        for place in view["b"]
        for number, model in enumerate(models)
        if (p := tested.get((columns[place % width], models[place // width], model))) is not None
    ]
