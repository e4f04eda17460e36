"""Tables of scores as `score_answers` writes them, and what they must have been made from."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.competitions import CANDIDATES, WITH_TEST, competition_parts
from clqa.errors import damaged
from clqa.formulas import Formula, parse, symbols
from clqa.metrics import defined_scores, metric, score_id, score_parts
from clqa.query_sets import ANSWERS, set_hash
from clqa.tables import Contents, read_table

RULE = "score_answers"


def score_columns(metrics: Iterable[str], ties: Iterable[str], rules: Iterable[str]) -> list[str]:
    """Names of the columns that hold scores; `rules` are competitions."""
    rules = list(rules)
    names = [score_id(*parts) for parts in defined_scores(metrics, ties, rules)]
    return names + [f"tie_rate[{name}]" for name in rules]


class Scores(NamedTuple):
    """Scores per query of one model on one query set, with what they depend on.

    Attributes
    ----------
    queries, model, graph : str
        Names of the query set, the model and the graph.
    table : pa.Table
        As `score_answers` writes it.
    metadata : dict
    shapes : dict
        Formula of each shape, in the order of the run.
    holes : dict, optional
        Of a run that has failed, why there are no scores of a shape, for each of which it is so.
    """

    queries: str
    model: str
    graph: str
    table: pa.Table
    metadata: dict
    shapes: dict[str, Formula]
    holes: Mapping[str, str] | None = None


class Origin(NamedTuple):
    """What scores must have been made from.

    Attributes
    ----------
    queries, model, graph, split : str
        Names of the query set, the model, the graph and the split.
    graph_hash, queries_hash : str
        Those of the graph's summary and of the answers of the query set.
    """

    queries: str
    model: str
    graph: str
    split: str
    graph_hash: str
    queries_hash: str


def read_scores(
    path: str | os.PathLike, origin: Origin, shapes: Iterable[str], columns: Iterable[str]
) -> Scores:
    """Read the scores of a model on a query set.

    Parameters
    ----------
    shapes : names, in the order wanted
    columns : score ids that must be there

    Raises
    ------
    InputError
        If the file is no table of scores, is that of something else, or lacks queries.
    """
    table, metadata = read_plain_scores(path, columns)
    check_origin(path, metadata, origin, "scores", RULE)
    parsed = ordered(metadata["formulas"], shapes)
    return Scores(origin.queries, origin.model, origin.graph, table, metadata, parsed)


def ordered(formulas: Mapping[str, str], shapes: Iterable[str]) -> dict[str, Formula]:
    """The formulas of a query set, parsed, those of `shapes` first and in that order."""
    order = [shape for shape in shapes if shape in formulas]
    order += sorted(formulas.keys() - set(order))
    return {shape: parse(formulas[shape]) for shape in order}


def check_origin(
    path: str | os.PathLike, metadata: dict, origin: Origin, kind: str, rule: str
) -> None:
    """Raise `InputError` unless a table, of some kind and made by some rule, is of its origin."""
    about = {
        "model": (metadata["model"].get("model"), origin.model),
        "split": (metadata["split"], origin.split),
        "graph": (metadata["graph"], origin.graph_hash),
        "queries": (metadata["queries"], origin.queries_hash),
    }
    for key, (found, expected) in about.items():
        if found != expected:
            what = f"{kind} of another {key} ({found}) than {origin.queries} asks for ({expected})"
            raise damaged(path, what, rule)


def read_plain_scores(
    path: str | os.PathLike, columns: Iterable[str] = ()
) -> tuple[pa.Table, dict]:
    """A table of scores of any model and query set, and its metadata.

    Raises
    ------
    InputError
        If the file is no such table, or lacks queries or columns.
    """
    table, metadata = read_table(path, _contents(columns))
    _check_rows(path, table, metadata)
    return table, metadata


def _contents(columns: Iterable[str]) -> Contents:
    columns = tuple(columns)
    return Contents(
        rule=RULE,
        columns={
            **dict.fromkeys(("query_id", "shape", "stratum"), "text"),
            **dict.fromkeys(("n_easy", "n_hard"), "whole numbers"),
            **dict.fromkeys(columns, "numbers"),
        },
        metadata={**ANSWERS.metadata, "model": dict},
        may_be_null=columns,
    )


def _check_rows(path: str | os.PathLike, table: pa.Table, metadata: dict) -> None:
    """Every query has one row over all its answers; counts and scores are possible ones."""
    whole = table.filter(pc.equal(table["stratum"].cast(pa.string()), ""))
    if set_hash(whole["query_id"].to_pylist()) != metadata["queries"]:
        raise damaged(path, "rows are missing, repeated or foreign", RULE)
    for name in ("n_easy", "n_hard"):
        if (table[name].to_numpy() < 0).any():
            raise damaged(path, f"the column '{name}' has a negative number", RULE)
    unanswered = whole["n_hard"].to_numpy() == 0
    arities = {shape: len(symbols(parse(f), "f")) for shape, f in metadata["formulas"].items()}
    of_rows, of_all = (
        np.array([arities.get(shape, 1) for shape in part["shape"].to_pylist()], np.int64)
        for part in (whole, table)
    )
    is_part = np.array([name != "" for name in table["stratum"].to_pylist()], bool)
    for name in (name for name in table.column_names if name.endswith("]")):
        values = whole[name].to_numpy(zero_copy_only=False)
        expected, has_gaps = _expectation(name)
        wanted = ~unanswered & expected(of_rows)
        known = np.isfinite(values)
        if (known & ~wanted).any() or (not has_gaps and (wanted & ~known).any()):
            what = f"the column '{name}' must have a number for each query with a hard answer"
            raise damaged(path, f"{what}, and for no other", RULE)
        inside = np.asarray(table[name].is_valid())[is_part & expected(of_all)]
        if not has_gaps and len(inside) and inside.any() != inside.all():
            raise damaged(path, f"the column '{name}' has gaps in its strata", RULE)
        least, most = _range(name)
        if (wanted & ((values < least) | (values > most))).any():
            what = f"the column '{name}' has a number outside of {least} to {most}"
            raise damaged(path, what, RULE)


def _expectation(column: str) -> tuple[Callable[[np.ndarray], np.ndarray], bool]:
    """Whether queries, by their numbers of free variables, have a score, and whether some may not.

    With several free variables no candidates are typed.
    """
    name, ties, rule = "tie_rate", "", column.partition("[")[2].removesuffix("]")
    if not column.startswith(name):
        name, ties, rule = score_parts(column)
    typed = competition_parts(rule)[1] != CANDIDATES[0]
    if name == "tie_rate":
        return lambda arities: (arities == 1) | (not typed), False
    if not metric(name).of_tuples:
        return lambda arities: arities == 1, False
    has_value = ties not in metric(name).void and not typed
    # What is answered on the graph of test alone has no joint ranks.
    has_gaps = metric(name).has_gaps or rule == WITH_TEST
    return lambda arities: (arities > 1) & has_value, has_gaps


def _range(column: str) -> tuple[float, float]:
    """Least and largest value of a score: shares lie in [0, 1], ranks start at 1."""
    name = column.partition("[")[0]
    if name == "tie_rate":
        return (0, 1)
    return (0, metric(name).most) if metric(name).higher_is_better else (1, np.inf)
