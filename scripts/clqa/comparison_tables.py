"""Tables of paired comparisons of the models of a run on one query set."""

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from clqa.comparisons import compare, compare_shapes, holm, paired_differences
from clqa.formulas import Formula
from clqa.inventories import Inventory
from clqa.roundings import points
from clqa.shape_groups import HEADLINE, members_of_groups
from clqa.tables import Contents, read_table

COLUMNS = (
    *("shape", "group", "model", "other", "score"),
    *("difference", "effect", "p", "p_holm", "n_queries", "n_better", "n_worse"),
)
COMPARISONS = Contents(
    rule="compare_models",
    columns={
        **dict.fromkeys(COLUMNS[:5], "text"),
        **dict.fromkeys(COLUMNS[5:9], "numbers"),
        **dict.fromkeys(COLUMNS[9:], "whole numbers"),
    },
    metadata={"score": str},
    may_be_null=("effect", "p_holm"),
)
LEVEL = 0.05
# Of more models than this, each is compared with the best one alone.
_ALL_PAIRS_UP_TO = 6

# Values of each query, by shape and query id.
Values = Mapping[str, Mapping[str, float | None]]


def values_of(table: pa.Table, score: str) -> Values:
    """The values of a score over all hard answers of each query, by shape and query id."""
    found: dict[str, dict[str, float | None]] = {}
    columns = (table[name].to_pylist() for name in ("stratum", "shape", "query_id", score))
    for stratum, shape, query, value in zip(*columns, strict=True):
        if stratum == "":
            found.setdefault(shape, {})[query] = value
    return found


def mean_values(seeds: Sequence[Values]) -> Values:
    """The mean over several seeds of a model, query by query; None where one has no value."""
    if len(seeds) == 1:
        return seeds[0]
    found: dict[str, dict[str, float | None]] = {}
    for shape, queries in seeds[0].items():
        for query in queries:
            values = [one[shape][query] for one in seeds]
            mean = None if None in values else math.fsum(values) / len(values)
            found.setdefault(shape, {})[query] = mean
    return found


def pairs(models: Mapping[str, Values]) -> list[tuple[str, str]]:
    """Which models are compared: all pairs of a few, or the best one with each other one."""
    names = list(models)
    if len(names) <= _ALL_PAIRS_UP_TO:
        return list(itertools.combinations(names, 2))
    best = max(names, key=lambda name: _mean_of_means(models[name]))
    return [(best, name) for name in names if name != best]


def _mean_of_means(shapes: Values) -> float:
    known = ([v for v in queries.values() if v is not None] for queries in shapes.values())
    means = [float(np.mean(values)) for values in known if values]
    return float(np.mean(means)) if means else -np.inf


def comparison_rows(
    models: Mapping[str, Values], shapes: Mapping[str, Formula], score: str, stream: tuple
) -> Iterator[tuple]:
    """Rows of `COLUMNS`; a shape without queries that both models have a value for has none.

    `p_holm` is adjusted for the number of shapes of a pair; groups have none.
    """
    groups = members_of_groups(dict(shapes), score.partition("[")[0])
    for one, other in pairs(models):
        parts = {
            shape: paired_differences(models[one][shape], models[other][shape])
            for shape in shapes
            if shape in models[one]
        }
        parts = {shape: values for shape, values in parts.items() if len(values)}
        found = {
            shape: compare(values, (*stream, one, other, shape)) for shape, values in parts.items()
        }
        adjusted = holm([comparison.p for comparison in found.values()])
        for (shape, comparison), p in zip(found.items(), adjusted, strict=True):
            yield _row(shape, "", one, other, score, comparison, p)
        for group, members in groups.items():
            if all(shape in parts for shape in members):
                own = compare_shapes(
                    [parts[shape] for shape in members], (*stream, one, other, group)
                )
                yield _row("", group, one, other, score, own, None)


def _row(shape, group, one, other, score, comparison, p_holm) -> tuple:
    difference, effect, p, *counts = comparison
    return (shape, group, one, other, score, difference, effect, p, p_holm, *counts)


def comparison_table(rows: Sequence[tuple]) -> pa.Table:
    kinds = [pa.string()] * 5 + [pa.float64()] * 4 + [pa.int64()] * 3
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip(COLUMNS, arrays, strict=True)))


def read_comparisons(path: str | os.PathLike) -> list[dict]:
    """The rows of a table of comparisons, by the names of `COLUMNS`."""
    return read_table(path, COMPARISONS)[0].to_pylist()


def comparison_inventory(found: Mapping[str, Sequence[dict]]) -> Inventory:
    """All comparisons as they are stored, by query set."""
    rows = [(queries, *(row[c] for c in COLUMNS)) for queries, own in found.items() for row in own]
    return Inventory(("queries", *COLUMNS), rows)


def comparison_view(rows: Sequence[dict], shapes: Sequence[str], in_points: bool) -> Inventory:
    """A line per pair: differences of the headline groups and the shapes, marked where sure."""
    subjects = [*HEADLINE, *shapes]
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        subject = row["group"] or row["shape"]
        if subject in subjects:
            p = row["p"] if row["p_holm"] is None else row["p_holm"]
            shown = points(row["difference"]) if in_points else round(row["difference"], 2)
            mark = " *" if p <= LEVEL else ""
            lines.setdefault((row["model"], row["other"]), {})[subject] = f"{shown:+}{mark}"
    kept = [name for name in subjects if any(name in line for line in lines.values())]
    table = [(f"{a} − {b}", *(line.get(n, "") for n in kept)) for (a, b), line in lines.items()]
    return Inventory(("models", *kept), table)
