"""Answer sets in the report of a run: tables with every row, and what the page shows of them."""

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from clqa.inventories import Inventory
from clqa.roundings import points, rounded
from clqa.score_tables import Origin, check_origin
from clqa.set_rules import set_rule
from clqa.set_tables import BAND_COLUMNS, BANDS, COLUMNS, EASY_FIRST, SETS
from clqa.tables import Contents, read_table

_SUBJECT = ("graph", "queries", "split", "model")


class SetRows(NamedTuple):
    """Rows about the answer sets of one model on one query set, as `evaluate_sets` writes them."""

    origin: Origin
    sets: list[dict]
    bands: list[dict]


class SetView(NamedTuple):
    """What the page shows of a query set.

    Attributes
    ----------
    truth, beta : str
        Of the numbers that are shown.
    sets : Inventory
        A row per model and rule.
    coverage : Inventory
        A row per model and conformal rule.
    """

    truth: str
    beta: str
    sets: Inventory
    coverage: Inventory


def read_set_rows(
    path_to_sets: str | os.PathLike, path_to_bands: str | os.PathLike, origin: Origin
) -> SetRows:
    """Read the tables of a model on a query set.

    Raises
    ------
    InputError
        If a file is no such table, or that of something else.
    """
    paths = ((path_to_sets, SETS), (path_to_bands, BANDS))
    return SetRows(origin, *(_rows(path, contents, origin) for path, contents in paths))


def _rows(path: str | os.PathLike, contents: Contents, origin: Origin) -> list[dict]:
    table, metadata = read_table(path, contents)
    check_origin(path, metadata, origin, "answer sets", contents.rule)
    return table.to_pylist()


def set_table(found: Iterable[SetRows]) -> Inventory:
    """Every row about answer sets."""
    rows = [_row(one.origin, row, COLUMNS) for one in found for row in one.sets]
    return Inventory((*_SUBJECT, *COLUMNS), rows)


def band_table(found: Iterable[SetRows]) -> Inventory:
    """Every row about a band below a threshold."""
    rows = [_row(one.origin, row, BAND_COLUMNS) for one in found for row in one.bands]
    return Inventory((*_SUBJECT, *BAND_COLUMNS), rows)


def _row(origin: Origin, row: Mapping, columns: Iterable[str]) -> tuple:
    return (*(getattr(origin, name) for name in _SUBJECT), *(row[name] for name in columns))


def set_view(found: Iterable[SetRows], queries: str, models: Iterable[str], truth: str) -> SetView:
    """What the page shows of a query set: its models in this order, under one truth."""
    by_model = {one.origin.model: one.sets for one in found if one.origin.queries == queries}
    rows = [
        (model, row)
        for model in models
        for row in by_model[model]
        if row["truth"] == truth and not row["stratum"] and row["rule"] != EASY_FIRST
    ]
    beta = f"{rows[0][1]['beta']:g}"
    conformal = [
        (model, row) for model, row in rows if set_rule(row["rule"]).kind.startswith("conformal")
    ]
    head = ("model", "rule", f"F{beta}", "precision", "recall", "per query", "note")
    coverage = ("model", "rule", "promised", "answers", "queries", "mean size", "calibrated on")
    return SetView(
        truth,
        beta,
        Inventory(head, [_shown(*pair) for pair in rows]),
        Inventory(coverage, [_coverage(*pair) for pair in conformal]),
    )


def _shown(model: str, row: Mapping) -> tuple:
    shares = [_points(row[name]) for name in ("f_beta", "precision", "recall")]
    note = row["note"]
    if row["f_beta"] is None and row["f_beta_low"] is not None:
        low, high = (points(row[name]) for name in ("f_beta_low", "f_beta_high"))
        note = f"F from {low} to {high}: {note.removesuffix(': bounds')}"
    return (model, row["rule"], *shares, _size(row["predictions_per_query"]), note)


def _coverage(model: str, row: Mapping) -> tuple:
    shares = [_points(row[name]) for name in ("nominal", "recall", "all_match_rate")]
    size = _size(row["predictions_per_query"])
    return (model, row["rule"], *shares, size, row["n_calibration"])


def _points(value: float | None) -> Decimal | None:
    return None if value is None else points(value)


def _size(value: float | None) -> Decimal | None:
    return None if value is None else rounded(value, 2)
