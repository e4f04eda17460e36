"""How much each switch of the protocol moves the averages of a run, one switch at a time."""

import itertools
from collections.abc import Iterable, Iterator, Mapping

from clqa.canonical_forms import canonical
from clqa.formulas import And, Formula, atoms
from clqa.inventories import Inventory
from clqa.reports import Row, negation_reading
from clqa.roundings import points, rounded
from clqa.scopes import is_share
from clqa.seeds import shown
from clqa.shape_groups import HEADLINE

# Columns of the rows that say how a switch is set.
SWITCHES = ("ties", "filter", "candidates", "averaging")
COLUMNS = (
    "queries",
    "model",
    "metric",
    "switch",
    "from",
    "to",
    "group",
    "value_from",
    "value_to",
    "delta",
    "fingerprint_from",
    "fingerprint_to",
)


def switch_table(
    rows: Iterable[Row], shapes: Mapping[str, Mapping[str, Formula]], metric: str
) -> Inventory:
    """The metric of every group and model beside its value with one switch set otherwise.

    Of a model with several seeds it is the mean.

    Where a query set has a shape under both readings of a negated chain of hops, the switch `pni`
    is between the two shapes; each has queries of its own.

    Parameters
    ----------
    rows : as `clqa.reports.metric_rows` gives them
        The first row of a model and subject has the primary protocol.
    shapes : for each query set the formulas of its shapes
    """
    subjects: dict[tuple[str, str], dict[tuple[str, str], list[Row]]] = {}
    for row in shown(rows):
        if row.metric == metric and not row.stratum:
            of_model = subjects.setdefault((row.queries, row.model), {})
            of_model.setdefault((row.group, row.shape), []).append(row)
    found = []
    for (queries, _), of_model in subjects.items():
        pairs = [(switch, *pair) for switch in SWITCHES for pair in _pairs(of_model, switch)]
        for old, new in readings(shapes[queries]):
            pairs.append(("pni", of_model["", old][0], of_model["", new][0]))
        found += [_line(*pair) for pair in pairs]
    return Inventory(COLUMNS, found)


def switch_view(table: Inventory, queries: str, metric: str) -> Inventory:
    """What the page shows of a query set: how far each switch moves the headline groups."""
    lines: dict[tuple, dict[str, str]] = {}
    for values in table.rows:
        row = dict(zip(table.columns, values, strict=True))
        if row["queries"] == queries and row["delta"] is not None:
            group = row["group"] or "between the shapes"
            shown = points(row["delta"]) if is_share(metric) else rounded(row["delta"], 1)
            line = lines.setdefault((row["model"], row["switch"], row["from"], row["to"]), {})
            line[group] = f"{shown:+}"
    shown_groups = [*HEADLINE, "between the shapes"]
    kept = [name for name in shown_groups if any(name in line for line in lines.values())]
    rows = [(*key, *(line.get(name, "") for name in kept)) for key, line in lines.items()]
    return Inventory(("model", "switch", "from", "to", *kept), rows)


def _pairs(of_model: Mapping[tuple[str, str], list[Row]], switch: str) -> Iterator[tuple[Row, Row]]:
    """Rows of groups that differ from the primary one in a switch and in no other."""
    for (group, _), (first, *others) in of_model.items():
        others = others if group else ()
        for row in others:
            changed = [name for name in SWITCHES if getattr(row, name) != getattr(first, name)]
            if changed == [switch]:
                yield first, row


def readings(shapes: Mapping[str, Formula]) -> list[tuple[str, str]]:
    """Pairs of shapes that have the same atoms and read a negated chain in the two ways."""
    return [
        (old, new)
        for old, new in itertools.permutations(shapes, 2)
        if negation_reading(shapes[old]) == "not-exists"
        and negation_reading(shapes[new]) == "exists-not"
        and _unsigned(shapes[old]) == _unsigned(shapes[new])
    ]


def _unsigned(formula: Formula) -> str:
    return canonical(And(tuple(atoms(formula))))[0]


def _line(switch: str, old: Row, new: Row) -> tuple:
    known = old.value is not None and new.value is not None
    return (
        old.queries,
        old.model,
        old.metric,
        switch,
        *(
            f"{one.shape} {one.pni}" if switch == "pni" else getattr(one, switch)
            for one in (old, new)
        ),
        old.group,
        old.value,
        new.value,
        new.value - old.value if known else None,
        old.fingerprint,
        new.fingerprint,
    )
