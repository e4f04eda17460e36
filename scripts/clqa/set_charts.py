"""Answer sets as points of figures: what rules cost and cover, and who is right in a band."""

from collections.abc import Iterable, Mapping

from clqa.roundings import points, rounded
from clqa.set_reports import SetRows
from clqa.set_rules import set_rule
from clqa.set_tables import EASY_FIRST

_SHARES = ("f_beta", "f_beta_low", "f_beta_high", "precision", "recall", "nominal")


def set_points(found: Iterable[SetRows], queries: str, truth: str) -> dict:
    """The rules and bands of each model on a query set, over all queries, under one truth.

    Returns
    -------
    dict
        `beta`; `rules` with shares in points, `all` that of the queries with all their answers, and
        the `kind` and `value` of the rule; `bands` with the share of right ones among the
        candidates that score from `low` to `high`, and how many these are.
    """
    own = [one for one in found if one.origin.queries == queries]
    rules = [
        _rule(one.origin.model, row)
        for one in own
        for row in one.sets
        if row["truth"] == truth and not row["stratum"] and row["rule"] != EASY_FIRST
    ]
    bands = [
        _band(one.origin.model, row)
        for one in own
        for row in one.bands
        if row["truth"] == truth and row["true"] + row["false"]
    ]
    beta = next((f"{row['beta']:g}" for one in own for row in one.sets), "")
    return {"beta": beta, "rules": rules, "bands": bands}


def _rule(model: str, row: Mapping) -> dict:
    rule = set_rule(row["rule"])
    shares = {name: _points(row[name]) for name in _SHARES}
    size = row["predictions_per_query"]
    return {
        **{"model": model, "rule": rule.name, "kind": rule.kind, "value": rule.value, **shares},
        "all": _points(row["all_match_rate"]),
        "size": None if size is None else float(rounded(size, 2)),
    }


def _band(model: str, row: Mapping) -> dict:
    n = row["true"] + row["false"]
    share = _points(row["true"] / n)
    about = {"model": model, "rule": row["rule"], "low": row["low"], "high": row["high"]}
    return {**about, "share": share, "n": n, "pays": row["pays"]}


def _points(value: float | None) -> float | None:
    return None if value is None else float(points(value))
