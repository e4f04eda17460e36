"""Answer sets in the report of a run: tables with every row, and what the page shows of them."""

import functools
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from clqa.competitions import RAW
from clqa.filters import FILTERS
from clqa.fingerprints import fingerprint
from clqa.formulas import parse
from clqa.inventories import Inventory
from clqa.reports import candidates_name, joined_readings, negation_reading, protocol
from clqa.roundings import points, rounded
from clqa.score_tables import Origin, check_origin
from clqa.set_rules import set_rule
from clqa.set_tables import BAND_COLUMNS, BANDS, COLUMNS, EASY_FIRST, SETS
from clqa.tables import Contents, read_table

_SUBJECT = ("graph", "queries", "split", "model")


class SetRows(NamedTuple):
    """Rows about the answer sets of one model on one query set, as `evaluate_sets` writes them."""

    origin: Origin
    metadata: dict
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
    (sets, metadata), (bands, _) = (_rows(path, contents, origin) for path, contents in paths)
    return SetRows(origin, metadata, sets, bands)


def _rows(path: str | os.PathLike, contents: Contents, origin: Origin) -> tuple[list[dict], dict]:
    table, metadata = read_table(path, contents)
    check_origin(path, metadata, origin, "answer sets", contents.rule)
    return table.to_pylist(), metadata


def set_table(found: Iterable[SetRows]) -> Inventory:
    """Every row about answer sets."""
    return _table([(one, row) for one in found for row in one.sets], COLUMNS)


def band_table(found: Iterable[SetRows]) -> Inventory:
    """Every row about a band below a threshold."""
    return _table([(one, row) for one in found for row in one.bands], BAND_COLUMNS)


def _table(pairs: Iterable[tuple[SetRows, dict]], columns: Iterable[str]) -> Inventory:
    rows = [
        (
            *(getattr(one.origin, name) for name in _SUBJECT),
            *(row[name] for name in columns),
            fingerprint(_protocol(one.metadata, row)),
        )
        for one, row in pairs
    ]
    return Inventory((*_SUBJECT, *columns, "fingerprint"), rows)


def set_protocols(found: Iterable[SetRows]) -> dict[str, dict]:
    """The protocol that each fingerprint of the rows stands for."""
    protocols = (_protocol(one.metadata, row) for one in found for row in one.sets + one.bands)
    return {fingerprint(protocol): protocol for protocol in protocols}


def _protocol(metadata: dict, row: Mapping) -> dict:
    """What the values of a row depend on beside its rule, truth and beta.

    With the hard answers true the other answers are no predictions; with all true, none is taken
    out. Sets have no ties; equal scores at the end of the best M go by id.
    """
    key, _, shape = row.get("stratum", "").partition("=")
    formulas = metadata["formulas"].items()
    asked = [text for name, text in formulas if key != "shape" or name == shape]
    return protocol(
        metadata,
        filter=next(iter(FILTERS)) if row["truth"] == "hard" else RAW,
        ties="",
        candidates=candidates_name("all", metadata),
        averaging="query",
        pni=joined_readings(map(_reading, asked)),
    )


@functools.lru_cache(maxsize=4096)
def _reading(formula: str) -> str:
    return negation_reading(parse(formula))


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
