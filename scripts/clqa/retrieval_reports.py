"""What is reported of retrieved lists: means with what they are over, values per query, a table.

A mean over nothing is null here and says why.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from clqa.averages import mean
from clqa.bootstraps import DRAWS, LEVEL, mean_intervals
from clqa.keyed_tables import write_tsv
from clqa.list_scores import ListScores
from clqa.retrieval import reciprocal_first_hits, retrieval_accuracy
from clqa.roundings import STATEMENT, rounded
from clqa.tables import write_table
from clqa.tie_blocks import Blocks

# Metrics by the names of `ListScores`: their names in the report and their heads in the table.
AT_K = {
    "hit": ("hit_rate", "Hit rate"),
    "reciprocal_rank": ("mrr", "MRR"),
    "precision": ("precision", "Precision"),
    "recall": ("recall", "Recall"),
    "capped_recall": ("capped_recall", "Capped recall"),
    "ndcg": ("ndcg", "NDCG"),
}
OVER_ALL = ("hit", "reciprocal_rank", "precision")
TABLES = (".parquet", ".tsv")


def list_report(
    blocks: Blocks, scores: ListScores, ties: str, draws: int = DRAWS, seed: int = 0
) -> dict:
    """Means at every cut-off and over whole lists.

    Parameters
    ----------
    draws, seed : int
        How many sets of queries are drawn for intervals, and from which stream; 0 for no intervals.

    Returns
    -------
    dict
        `queries`, `queries_expecting`, `queries_tied` (those in which a tie can move a value), `at`
        (a dict per cut-off: `k` and the metrics), `whole_lists` (`mrr`, `retrieval_accuracy`). A
        metric is a dict of `value` and `n`, with a `reason` where the value is null, and with the
        `interval` of the mean (`clqa.bootstraps`) where it is over two queries or more.
    """
    some = blocks.expected > 0
    at = []
    for place, k in enumerate(scores.cut_offs):
        row = {"k": k}
        for field, (name, _) in AT_K.items():
            values = getattr(scores, field)[place]
            row[name] = values if field in OVER_ALL else values[some]
        # The largest precision that lists could have had: few expected ids bound it.
        row["precision_ceiling"] = np.minimum(blocks.expected, k) / k
        at.append(row)
    whole = {
        "mrr": reciprocal_first_hits(blocks, ties),
        "retrieval_accuracy": retrieval_accuracy(blocks, ties)[some],
    }
    _average([*at, whole], draws, seed)
    mixed = np.flatnonzero(blocks.relevant < blocks.size)
    owners = np.searchsorted(blocks.offsets, mixed, side="right")
    return {
        "queries": len(some),
        "queries_expecting": int(some.sum()),
        "queries_tied": len(np.unique(owners)),
        "at": at,
        "whole_lists": whole,
    }


def _average(rows: Sequence[dict], draws: int, seed: int) -> None:
    """Put metrics in place of their values; those over equally many are drawn together."""
    cells: dict[int, list[tuple[dict, str]]] = {}
    for row in rows:
        for name in row.keys() - {"k"}:
            cells.setdefault(len(row[name]), []).append((row, name))
    for own in cells.values():
        values = np.column_stack([row[name] for row, name in own])
        ends = mean_intervals(values, (seed, "lists"), draws) or [None] * len(own)
        for (row, name), interval in zip(own, ends, strict=True):
            row[name] = _metric(row[name], interval)


def _metric(values: np.ndarray, interval: tuple[float, float] | None) -> dict:
    found = {"value": mean(values.tolist()), "n": len(values)}
    if not found["n"]:
        return found | {"reason": "no query counts"}
    return found if interval is None else found | {"interval": list(interval)}


def query_table(queries: Sequence, n_returned: np.ndarray, scores: ListScores) -> pa.Table:
    """Values per query: `query`, `expected_count`, `returned_count`, and a column per metric and k.

    `first_hit_rank@K` is null where there is no hit within the first K, and under `expected` ties.
    """
    columns = {
        "query": pa.array(queries, None if len(queries) else pa.string()),
        "expected_count": scores.expected_count,
        "returned_count": n_returned,
    }
    for place, k in enumerate(scores.cut_offs):
        ranks = np.zeros(len(queries), np.int64) if scores.first_hit is None else None
        ranks = scores.first_hit[place] if ranks is None else ranks
        columns[f"first_hit_rank@{k}"] = pa.array(ranks, mask=ranks == 0)
        for field in AT_K:
            columns[f"{field}@{k}"] = getattr(scores, field)[place]
    return pa.table(columns)


def write_query_table(path: str | os.PathLike, table: pa.Table, protocol: dict) -> None:
    """Write values per query as Parquet or TSV, as the name says; it ends in one of `TABLES`."""
    if Path(path).suffix == ".parquet":
        write_table(path, table, protocol)
    else:
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        write_tsv(path, table.column_names, rows)


def markdown(report: dict) -> str:
    """Means as a pipe table with what they are over."""
    heads = dict(AT_K.values()) | {"precision_ceiling": "Precision at most"}
    lines = [_row(["k", *heads.values()]), _row(["---:"] * (len(heads) + 1))]
    for row in report["at"]:
        lines.append(_row([str(row["k"]), *(_cell(row[name]) for name in heads)]))
        if any("interval" in row[name] for name in heads):
            lines.append(_row([f"{100 * LEVEL:g} %", *(_ends(row[name]) for name in heads)]))
    whole, n = report["whole_lists"], report["queries"]
    lines += [
        "",
        f"Whole lists: MRR {_cell(whole['mrr'])}, retrieval accuracy (R-precision)"
        f" {_cell(whole['retrieval_accuracy'])}.",
        f"{n} quer{'y' if n == 1 else 'ies'}; recall, capped recall, NDCG and retrieval accuracy"
        f" are over the {report['queries_expecting']} that expect something.",
    ]
    if report["queries_tied"]:
        ties = report["protocol"]["ties"]
        lines.append(f"Queries in which ties matter: {report['queries_tied']} (values: {ties}).")
    for key, what in (
        ("queries_without_expected", "Queries with no entry of expected ids"),
        ("queries_without_returned", "Queries with no entry of returned ids"),
        ("queries_left_out", "Queries left out"),
    ):
        if report[key]:
            lines.append(f"{what}: {report[key]}.")
    return "\n".join([*lines, f"Shares, {STATEMENT}; – is undefined."])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ends(metric: dict) -> str:
    ends = metric.get("interval")
    return "–" if ends is None else " to ".join(str(rounded(end, 4)) for end in ends)


def _cell(metric: dict) -> str:
    return "–" if metric["value"] is None else str(rounded(metric["value"], 4))
