"""The report about predicted sets: as JSON, as Markdown, and query by query."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from clqa.bootstraps import LEVEL
from clqa.ceilings import Ceiling, ceiling, losses
from clqa.operating_points import ScoredPairs, break_even, marginal_bands, totals_at
from clqa.ragged import Ragged
from clqa.roundings import rounded
from clqa.set_intervals import Drawing, set_intervals
from clqa.set_metrics import Counts, SetSummary, f_beta, set_summary, slice_report
from clqa.strata import Stratum

DECIMALS = 4


def metric_name(beta: float) -> str:
    """Such as `f0.5` or `f1`."""
    return f"f{float(beta)!r}".removesuffix(".0")


def summary_entry(summary: SetSummary, beta: float) -> dict:
    """A summary by name, the F-beta under the name of its beta."""
    entry = summary._asdict()
    return {"n": entry.pop("n"), metric_name(beta): entry.pop("f_beta"), **entry}


def report_of(counts: Counts, keys: Mapping[str, Sequence], beta: float) -> dict:
    """Overall numbers, those of each slice, and the break-even point of the totals."""
    summary = set_summary(counts, beta)
    return {
        "beta": beta,
        "overall": summary_entry(summary, beta)
        | {"without_true_answers": int(np.count_nonzero(counts.true == 0))},
        "break_even": break_even(summary.right, summary.predicted, summary.true, beta)._asdict(),
        "slices": {
            name: [
                {"slice": text, **summary_entry(line, beta)}
                for text, line in slice_report(counts, values, beta).items()
            ]
            for name, values in keys.items()
        },
    }


def intervals_entry(counts: Counts, beta: float, draws: int, seed: int) -> dict:
    """How sure the overall numbers are; `of` has their intervals, where there are any."""
    whole = Stratum("", np.ones(len(counts.true), bool), whole=True)
    one_shape = np.full(len(counts.true), "")
    drawing = Drawing((seed, "pairs"), draws, LEVEL)
    (found,) = set_intervals([(counts, f_beta(counts, beta))], one_shape, [whole], drawing)
    ends = [*found.get("", {}).values()]
    names = (metric_name(beta), "precision", "recall") if ends else ()
    of = {name: ends[2 * place : 2 * place + 2] for place, name in enumerate(names)}
    return {"draws": draws, "level": LEVEL, "seed": seed, "of": of}


def ceiling_entry(counts: Counts, candidates: Ragged, truth: Ragged, beta: float) -> dict:
    """Ceilings of the candidates, and what is lost to them and to the scorer."""
    lost = losses(counts, candidates, truth, beta)
    return ceiling(candidates, truth, beta)._asdict() | {"lost": lost}


def bands_entry(pairs: ScoredPairs, threshold: float, edges: Sequence[float], beta: float) -> dict:
    """Bands of scores below the threshold, and the odds which they must exceed to pay.

    The `high` of the first is None where the threshold is inf, which predicts nothing.
    """
    rows = []
    for band in marginal_bands(pairs, threshold, edges, beta):
        entry = band._asdict()
        entry["high"] = None if band.high == math.inf else band.high
        f = entry.pop("f_beta")
        rows.append({**entry, metric_name(beta): f})
    return {"odds": break_even(*totals_at(pairs, threshold), beta).odds, "rows": rows}


def per_query_table(
    ids: pa.Array,
    counts: Counts,
    keys: Mapping[str, Sequence],
    beta: float,
    retrieved: np.ndarray | None = None,
) -> pa.Table:
    """One row per query: its F-beta, its counts, the true answers among candidates, its keys."""
    columns = {"query": ids, metric_name(beta): pa.array(f_beta(counts, beta))}
    columns |= {name: pa.array(values) for name, values in counts._asdict().items()}
    if retrieved is not None:
        columns["retrieved"] = pa.array(retrieved)
    texts = {
        f"key:{name}": [None if value is None else str(value) for value in values]
        for name, values in keys.items()
    }
    return pa.table(columns | {name: pa.array(v, pa.string()) for name, v in texts.items()})


def markdown(report: dict) -> str:
    """The report as pipe tables to read in a terminal or on a page."""
    metric = metric_name(report["beta"])
    heads = ["n", metric, "precision", "recall", "predictions_per_query"]
    lines = [f"Predicted: {report['rule']}.", ""]
    lines += _table(["slice", *heads], [["all", *(report["overall"][head] for head in heads)]])
    if report["intervals"]["of"]:
        lines += ["", _intervals_line(report["intervals"])]
    for name, rows in report["slices"].items():
        lines += [
            "",
            *_table([name, *heads], [[row["slice"], *map(row.get, heads)] for row in rows]),
        ]
    lines += ["", _break_even_line(report["break_even"])]
    if report.get("bands"):
        heads = ["low", "high", "true", "false", "ratio", "pays", metric]
        title = f"Bands of scores below the threshold, of the {report['bands_of']}; one pays with"
        title += f" true:false above {_cell(report['bands']['odds'])}:"
        rows = [[*map(row.get, heads)] for row in report["bands"]["rows"]]
        lines += ["", title, "", *_table(heads, rows)]
    if report.get("ceiling"):
        entry = report["ceiling"]
        cells = {key: entry[key] for key in Ceiling._fields}
        cells |= {f"lost to {key}": value for key, value in entry["lost"].items()}
        lines += ["", "Ceilings of the candidates:", "", *_table([*cells], [[*cells.values()]])]
    return "\n".join([*lines, *(f"\nNote: {note}." for note in report["notes"])])


def _intervals_line(entry: dict) -> str:
    of = (f"{name} {' to '.join(map(_cell, ends))}" for name, ends in entry["of"].items())
    return f"{100 * entry['level']:g} % intervals of all: {', '.join(of)}."


def _break_even_line(point: dict) -> str:
    if point["precision"] is None:
        return "Break-even: undefined, there is no true answer."
    needed = f"a probability above {_cell(point['precision'])}"
    if point["odds"] is not None:
        needed = f"odds true:false above {_cell(point['odds'])}, {needed}"
    return f"Break-even: one more prediction pays with {needed}."


def _table(heads: list[str], rows: list[list]) -> list[str]:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    lines += [[_cell(value) for value in row] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return str(rounded(value, DECIMALS))
    return str(value).replace("|", "\\|").replace("\n", " ")
