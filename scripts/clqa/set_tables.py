"""Tables of the evaluation of answer sets: one row per rule, truth and part of the queries.

`sets` has, for all queries and for each stratum of them, what `COLUMNS` lists. Where a list of
candidates is cut, so that predictions are not fully known, `f_beta`, `precision` and what follows
from them are null and lie between the bounds `f_beta_low` and `f_beta_high`. Whatever is undefined
is null, with the reason in `note`. `bands` tells of scores below the threshold of a rule whether
lowering it to them would pay, and `queries` has the counts of each query.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.averages import mean
from clqa.cardinalities import easy_before_hard, rank_correlation, size_error
from clqa.kept_lists import COLUMNS as LIST_COLUMNS
from clqa.kept_lists import list_means, list_values
from clqa.kept_scores import Judged, KeptScores
from clqa.operating_points import bands_between, break_even
from clqa.query_sets import ANSWERS
from clqa.ragged_sets import is_shared, union
from clqa.rule_outcomes import Outcome, at_thresholds
from clqa.set_intervals import COLUMNS as INTERVAL_COLUMNS
from clqa.set_intervals import Drawing, set_intervals
from clqa.set_metrics import Counts, f_beta, set_summary
from clqa.set_rules import SetRule
from clqa.strata import Stratum
from clqa.tables import Contents

# Name of the rows about whether easy answers score above hard ones, which no rule decides.
EASY_FIRST = "easy-before-hard"
_ID = {"rule": "text", "truth": "text", "beta": "numbers", "stratum": "text"}
_NUMBERS = (
    *("f_beta", "f_beta_low", "f_beta_high", "precision", "recall", "all_match_rate"),
    *INTERVAL_COLUMNS,
    "predictions_per_query",
    *("break_even_odds", "break_even_precision", "threshold", "nominal"),
    *("size_error", "size_error_easy_and_hard", "size_correlation", "auroc"),
    *LIST_COLUMNS,
)
_COUNTS = ("right", "predicted", "predicted_low", "predicted_high", "true", "n_calibration")
COLUMNS = {
    **_ID,
    "n_queries": "whole numbers",
    **dict.fromkeys(_NUMBERS, "numbers"),
    **dict.fromkeys(_COUNTS, "whole numbers"),
    "note": "text",
}
SETS = Contents(
    rule="evaluate_sets",
    columns=COLUMNS,
    metadata={**ANSWERS.metadata, "model": dict, "beta": float},
    may_be_null=(*_NUMBERS, *_COUNTS),
)
_BAND_NUMBERS = ("high", "low", "ratio", "pooled_f_beta")
BAND_COLUMNS = {
    **{name: kind for name, kind in _ID.items() if name != "stratum"},
    "band": "text",
    **dict.fromkeys(_BAND_NUMBERS, "numbers"),
    **dict.fromkeys(("true", "false"), "whole numbers"),
    **dict.fromkeys(("pays", "note"), "text"),
}
BANDS = Contents("evaluate_sets", BAND_COLUMNS, SETS.metadata, may_be_null=("ratio",))
_EDGES = [tenth / 10 for tenth in range(9, 0, -1)]
_ARROW = {"text": pa.string(), "numbers": pa.float64(), "whole numbers": pa.int64()}


class Case(NamedTuple):
    """A rule under one choice of what is true, and what its answer sets are like."""

    rule: SetRule
    truth: str
    own: Judged
    outcome: Outcome


class _Values(NamedTuple):
    """F-beta of each query, with the most and with the fewest predictions."""

    low: np.ndarray
    high: np.ndarray


def table_of(rows: Sequence[dict], columns: dict[str, str]) -> pa.Table:
    """Rows as a table; what a row lacks is null."""
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in columns.items()])
    return pa.Table.from_pylist(list(rows), schema)


def set_rows(
    cases: Sequence[Case],
    kept: KeptScores,
    strata: Sequence[Stratum],
    beta: float,
    drawing: Drawing,
) -> Iterator[dict]:
    """Rows of each case, over each stratum."""
    sets = [(case.outcome.fewest, f_beta(case.outcome.fewest, beta)) for case in cases]
    intervals = set_intervals(sets, kept.shapes, strata, drawing)
    for case, ends in zip(cases, intervals, strict=True):
        yield from _case_rows(case, kept, strata, beta, ends)


def _case_rows(
    case: Case,
    kept: KeptScores,
    strata: Sequence[Stratum],
    beta: float,
    intervals: Mapping[str, dict[str, float]],
) -> Iterator[dict]:
    fewest, most = case.outcome[:2]
    values = _Values(f_beta(most, beta), f_beta(fewest, beta))
    sizes = _true_sizes(kept)
    is_list = case.rule.kind == "top" and case.outcome.is_known.all()
    lists = list_values(case.own, case.rule.value) if is_list else None
    for one in strata:
        row = {"rule": case.rule.name, "truth": case.truth, "beta": beta, "stratum": one.name}
        row |= {"n_queries": int(one.chosen.sum()), "note": ""}
        if case.rule.kind.startswith("conformal"):
            row["nominal"] = case.rule.value
        if not one.chosen.any():
            yield row | {"note": "no queries"}
        elif not case.outcome.is_known[one.chosen].all():
            yield row | {"note": case.outcome.reason}
        else:
            row |= _summary(case.outcome, values, one.chosen, beta)
            row |= intervals.get(one.name, {}) if "f_beta" in row else {}
            row |= _threshold_columns(case.outcome, case.own.shapes, one.chosen)
            if case.truth == "full" and case.rule.kind != "ceiling":
                row |= _size_columns(case.outcome, sizes, one.chosen)
            if lists is not None:
                row |= list_means(lists, one.chosen)
            yield row | {"note": "; ".join(_notes(case.outcome, case.own, one.chosen))}


def _true_sizes(kept: KeptScores) -> dict[str, np.ndarray]:
    """True sizes of the answer sets, by the column of the error that they give."""
    both = kept.easy.lengths() + kept.hard.lengths()
    return {"size_error": both - kept.retracted.lengths(), "size_error_easy_and_hard": both}


def _summary(outcome: Outcome, values: _Values, chosen: np.ndarray, beta: float) -> dict:
    """Columns about the queries that are chosen."""
    places = np.flatnonzero(chosen)
    counts, other = outcome.fewest.take(places), outcome.most.take(places)
    found = set_summary(counts, beta)
    asked = counts.true > 0
    columns = {
        "f_beta_low": mean(values.low[places].tolist()),
        "f_beta_high": mean(values.high[places].tolist()),
        "recall": found.recall,
        "all_match_rate": mean((counts.right == counts.true)[asked].tolist()),
        "right": found.right,
        "predicted_low": found.predicted,
        "predicted_high": int(other.predicted.sum()),
        "true": found.true,
    }
    if columns["predicted_low"] != columns["predicted_high"]:
        return columns
    even = break_even(found.right, found.predicted, found.true, beta)
    return columns | {
        "f_beta": found.f_beta,
        "precision": found.precision,
        "predictions_per_query": found.predictions_per_query,
        "predicted": found.predicted,
        "break_even_odds": even.odds,
        "break_even_precision": even.precision,
    }


def _threshold_columns(outcome: Outcome, shapes: np.ndarray, chosen: np.ndarray) -> dict:
    """The threshold, if it is one and finite, and on how many scores it was calibrated."""
    if outcome.thresholds is None:
        return {}
    found, columns = np.unique(outcome.thresholds[chosen]), {}
    if len(found) == 1 and math.isfinite(found[0]):
        columns["threshold"] = float(found[0])
    if outcome.calibrations:
        asked = set(shapes[chosen])
        columns["n_calibration"] = sum(outcome.calibrations[shape].n for shape in asked)
    return columns


def _size_columns(outcome: Outcome, sizes: dict[str, np.ndarray], chosen: np.ndarray) -> dict:
    """How far the sizes of the sets are from the true ones, if they are known."""
    predicted, most = outcome.fewest.predicted[chosen], outcome.most.predicted[chosen]
    if not np.array_equal(predicted, most):
        return {}
    columns = {name: size_error(predicted, true[chosen]).value for name, true in sizes.items()}
    correlation = rank_correlation(predicted, sizes["size_error"][chosen])
    return columns | {"size_correlation": correlation}


def _notes(outcome: Outcome, own: Judged, chosen: np.ndarray) -> Iterator[str]:
    """What is to be known of a row that has numbers."""
    counts, other = (Counts(*(c[chosen] for c in side)) for side in outcome[:2])
    n_open = np.count_nonzero(counts.predicted != other.predicted)
    if n_open:
        yield f"{n_open} lists are cut above the threshold: bounds"
    if not counts.true.any():
        yield "no true answers"
    if not other.predicted.any():
        yield "nothing is predicted"
    if outcome.thresholds is not None and (outcome.thresholds[chosen] == -math.inf).any():
        n = len(set(own.shapes[chosen & (outcome.thresholds == -math.inf)]))
        yield f"too few answers to calibrate {n} shapes: their sets hold every entity"


def easy_first_rows(kept: KeptScores, strata: Sequence[Stratum], beta: float) -> Iterator[dict]:
    """Rows of the mean probability that an easy answer of a query scores above a hard one."""
    answers = union(kept.easy, kept.hard)
    is_easy = is_shared(answers, kept.easy)
    scores = kept.answer_scores
    found = easy_before_hard(scores[is_easy], kept.easy, scores[~is_easy], kept.hard)
    values = np.array([math.nan if value is None else value for value in found], np.float64)
    for one in strata:
        own = values[one.chosen & ~np.isnan(values)]
        yield {
            "rule": EASY_FIRST,
            "truth": "full",
            "beta": beta,
            "stratum": one.name,
            "n_queries": len(own),
            "auroc": mean(own.tolist()),
            "note": "" if len(own) else "no query has easy and hard answers",
        }


def band_rows(case: Case, beta: float) -> Iterator[dict]:
    """Rows of the bands of degrees below the one threshold of a rule, down to 0.1."""
    thresholds = case.outcome.thresholds
    if case.rule.kind not in ("threshold", "tuned") or thresholds is None or not len(thresholds):
        return
    about = {"rule": case.rule.name, "truth": case.truth, "beta": beta}
    high = float(thresholds[0])
    edges = [edge for edge in _EDGES if edge < high]
    if not case.own.are_degrees or not math.isfinite(high):
        return
    sides = [case.outcome, *(at_thresholds(case.own, np.full(len(thresholds), e)) for e in edges)]
    totals = [(int(one.fewest.right.sum()), int(one.fewest.predicted.sum())) for one in sides]
    if totals[0][1] != int(case.outcome.most.predicted.sum()):
        return
    for band in bands_between(high, edges, totals, int(sides[0].fewest.true.sum()), beta):
        yield about | {
            "band": f"{band.low:g}",
            "high": band.high,
            "low": band.low,
            "ratio": band.ratio,
            "pooled_f_beta": band.f_beta,
            "true": band.true,
            "false": band.false,
            "pays": "yes" if band.pays else "no",
            "note": "" if band.false else "none is false" if band.true else "no candidates",
        }


def query_table(cases: Sequence[Case], kept: KeptScores, beta: float) -> pa.Table:
    """The counts of each query under each rule and truth; null where they are not known."""
    n = len(kept.query_ids)
    parts = []
    for case in cases:
        fewest, most, is_known = case.outcome[:3]
        numbers = {
            "right": fewest.right,
            "predicted_low": fewest.predicted,
            "predicted_high": most.predicted,
            "f_beta_low": f_beta(most, beta),
            "f_beta_high": f_beta(fewest, beta),
        }
        parts.append(
            pa.table(
                {
                    "query_id": pa.array(kept.query_ids, pa.string()),
                    "shape": pa.array(kept.shapes, pa.string()),
                    "rule": pa.array([case.rule.name] * n, pa.string()),
                    "truth": pa.array([case.truth] * n, pa.string()),
                    "true": fewest.true,
                    **{name: pa.array(of, mask=~is_known) for name, of in numbers.items()},
                }
            )
        )
    return pa.concat_tables(parts)
