"""The numbers of a run as tidy rows, one per shape or group, model, metric and protocol."""

import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa import metrics
from clqa.averages import (
    Average,
    answer_average,
    group_average,
    pooled_average,
    shape_average,
)
from clqa.competitions import competition_parts
from clqa.fingerprints import fingerprint
from clqa.formulas import And, Atom, Formula, Given, Not, Or, negation_normal
from clqa.keyed_tables import write_tsv
from clqa.predictions import MISSING
from clqa.score_tables import Scores
from clqa.shape_groups import arity, members_of_groups
from clqa.stratum_names import TITLES, stratum_order

# What is averaged over what, by the level over which the mean of a shape is taken.
AVERAGING = {
    "query": "answers>query>shape>group",
    "answer": "answers>shape>group",
    "pooled": "answers>query>group",
}
_OF_SHAPES = {"query": shape_average, "answer": answer_average, "pooled": shape_average}
_NO_ROWS = np.empty(0, np.int64)


class Row(NamedTuple):
    """One line of `metrics.tsv`; `value` is None, with a note, where it is undefined."""

    run: str
    graph: str
    queries: str
    split: str
    shape: str
    group: str
    model: str
    seed: str
    metric: str
    ties: str
    filter: str
    candidates: str
    averaging: str
    inference_graph: str
    pni: str
    stratum: str
    value: float | None
    lower: float | None
    upper: float | None
    n_queries: int
    n_answers: int
    n_skipped: int
    fingerprint: str
    reference: str
    note: str


@functools.lru_cache(maxsize=4096)
def negation_reading(formula: Formula) -> str:
    """How a negated chain of hops is read: `not-exists` (no chain at all), `exists-not`, or "".

    The shape pni has the first reading in BetaE (Ren and Leskovec, 2020) and the second in FIT and
    EFOk-CQA (Yin et al., 2023). Where both readings agree, as in 2in, there is none to tell.
    """
    return next(_readings(negation_normal(formula)), "")


def _readings(formula: Formula) -> Iterator[str]:
    match formula:
        case Not(Given()):
            return
        case Not(Atom(_, head, tail)):
            if all(isinstance(term, str) and term[0] in "ef" for term in (head, tail)):
                yield "exists-not"
        case Not():
            yield "not-exists"
        case And(parts) | Or(parts):
            for part in parts:
                yield from _readings(part)


def metric_rows(
    scores: Scores,
    run: str,
    averaging: Sequence[str] = ("query",),
    intervals: Mapping[tuple, tuple[float, float]] | None = None,
) -> Iterator[Row]:
    """All rows of one model on one query set.

    Strata come last, with the scores that they have, and only under the first averaging. What is
    averaged over a shape that has a hole has no value.

    Parameters
    ----------
    intervals : dict, optional
        As `clqa.interval_tables.read_intervals` gives it: of averages over queries.
    """
    columns = {
        name: scores.table[name].to_numpy()
        for name in scores.table.column_names
        if name.endswith("]")
    }
    places = _places(scores.table)
    shapes = {s: _About(arity(one), negation_reading(one)) for s, one in scores.shapes.items()}
    # Metrics are for one free variable or for several, so few groups differ in their members.
    members_by_kind: dict[tuple, dict[str, tuple[str, ...]]] = {}
    n_answers = scores.table["n_hard"].to_numpy()
    for stratum in sorted({stratum for stratum, _ in places} | {""}, key=stratum_order):
        asked = itertools.product(columns, averaging[:1] if stratum else averaging)
        inside = [rows for (name, _), rows in places.items() if name == stratum]
        for column, level in asked:
            values = columns[column]
            if level == "answer" and not metrics.is_of_answers(score_parts(column)[0]):
                continue
            if stratum and all(np.isnan(values[rows]).all() for rows in inside):
                continue
            averages, of_shapes = {}, {}
            for shape in scores.shapes:
                rows = places.get((stratum, shape), _NO_ROWS)
                of_shapes[shape] = values[rows], n_answers[rows]
                average = _OF_SHAPES[level](*of_shapes[shape])
                n_skipped = len(places.get(("", shape), ())) - average.n_queries
                averages[shape] = average._replace(n_skipped=n_skipped)
            metric = score_parts(column)[0]
            kind = tuple(metrics.fits(metric, n_variables) for n_variables in (1, 2))
            if kind not in members_by_kind:
                members_by_kind[kind] = members_of_groups(scores.shapes, metric)
            members = members_by_kind[kind]
            groups = {
                group: _group_average(level, averages, of_shapes, names, scores.holes or {})
                for group, names in members.items()
            }
            subjects = _Subjects(shapes, members, averages, groups)
            for row in _rows_of_score(scores, run, column, level, stratum, subjects):
                known = (intervals or {}) if level == "query" else {}
                ends = known.get((stratum, row.shape, row.group, column))
                yield row if ends is None else row._replace(lower=ends[0], upper=ends[1])


def _group_average(
    level: str, averages: dict, of_shapes: dict, members: tuple[str, ...], holes: Mapping[str, str]
) -> Average:
    if level != "pooled":
        return group_average(averages, members)
    values, n_answers = ({shape: two[i] for shape, two in of_shapes.items()} for i in (0, 1))
    pooled = pooled_average(values, n_answers, members)
    missing = tuple(shape for shape in members if shape in holes)
    if missing:
        pooled = pooled._replace(value=None, missing=missing)
    return pooled._replace(n_skipped=sum(averages[shape].n_skipped for shape in members))


def _places(table: pa.Table) -> dict[tuple[str, str], np.ndarray]:
    """Row numbers by stratum and shape."""
    places: dict[tuple[str, str], list[int]] = {}
    keys = zip(table["stratum"].to_pylist(), table["shape"].to_pylist(), strict=True)
    for number, key in enumerate(keys):
        places.setdefault(key, []).append(number)
    return {key: np.array(rows) for key, rows in places.items()}


class _About(NamedTuple):
    """What rows say of a shape beside its numbers."""

    n_variables: int
    reading: str


class _Subjects(NamedTuple):
    """Shapes and groups with their averages under one score."""

    shapes: dict[str, _About]
    members: dict[str, tuple[str, ...]]
    averages: dict[str, Average]
    groups: dict[str, Average]


def _rows_of_score(
    scores: Scores, run: str, column: str, level: str, stratum: str, subjects: _Subjects
) -> Iterator[Row]:
    metric, ties, _ = score_parts(column)
    common = _common(scores, run, column, level) | {"stratum": stratum}
    for shape, average in subjects.averages.items():
        n_variables, reading = subjects.shapes[shape]
        note = ""
        if average.value is None:
            if stratum and not metrics.fits(metric, n_variables):
                continue
            hole = (scores.holes or {}).get(shape, "")
            note = hole if metrics.fits(metric, n_variables) else ""
            note = note or _reason(metric, ties, n_variables) or _lack(average, stratum)
        yield _row(scores, common, reading, average, note, shape=shape)
    for group, average in subjects.groups.items():
        note = f"no value for {', '.join(average.missing)}" if average.missing else ""
        reading = joined_readings(subjects.shapes[s].reading for s in subjects.members[group])
        if average.value is None and not note:
            note = _reason(metric, ties) or _lack(average, stratum)
        yield _row(scores, common, reading, average, note, group=group)


def joined_readings(readings: Iterable[str]) -> str:
    """The readings of several shapes, those that have one, joined by +."""
    return "+".join(sorted({*readings} - {""}))


def _reason(metric: str, ties: str, n_variables: int | None = None) -> str:
    """Why a metric is not for shapes with so many free variables, or has no value under ties."""
    if n_variables is not None and not metrics.fits(metric, n_variables):
        several = "one free variable" if n_variables == 1 else f"{n_variables} free variables"
        others = "several" if metrics.is_of_tuples(metric) else "one"
        return f"the shape has {several}; {metric} is for {others}"
    if metric != "tie_rate" and ties in metrics.metric(metric).void:
        return f"{ties} ties give {metric} no value, which needs an order of tied entities"
    if metric != "tie_rate" and metrics.metric(metric).has_gaps:
        return "no query has hard values of a variable"
    return ""


def _lack(average: Average, stratum: str) -> str:
    if average.n_skipped == 0:
        return "no queries"
    if stratum:
        key, _, value = stratum.partition("=")
        if key == "links":
            return f"no hard answer needs {value} missing links"
        return f"no hard answer with {TITLES[key]} {value}"
    return "no query has a hard answer"


def _common(scores: Scores, run: str, column: str, level: str) -> dict:
    """What all rows of one score share."""
    metric, ties, rule = score_parts(column)
    filter_name, candidates = competition_parts(rule)
    model = scores.metadata["model"]
    seed = model["settings"].get("seed")
    return {
        "run": run,
        "graph": scores.graph,
        "queries": scores.queries,
        "split": scores.metadata["split"],
        "model": scores.model,
        "seed": "" if seed is None else str(seed),
        "metric": metric,
        "ties": ties,
        "filter": filter_name,
        "candidates": candidates_name(candidates, scores.metadata),
        "averaging": AVERAGING[level],
        "inference_graph": inference_graph(model),
    }


def candidates_name(candidates: str, metadata: dict) -> str:
    """Who competes, and out of how many, such as `all:14505` or `typed of all:14505`."""
    everyone = metadata.get("candidates") or f"all:{metadata['n_entities']}"
    return everyone if candidates == "all" else f"{candidates} of {everyone}"


def score_parts(column: str) -> tuple[str, str, str]:
    """Metric, tie policy and competition of a score column; a tie rate has no policy."""
    metric, _, rest = column.partition("[")
    if metric == "tie_rate":
        return metric, "", rest.removesuffix("]")
    return metrics.score_parts(column)


def inference_graph(model: dict) -> str:
    """The splits that a model saw when it answered, joined by +; none if it saw no triples."""
    splits = model["inference_graph"]
    return splits if isinstance(splits, str) else "+".join(splits or ("none",))


def _row(
    scores: Scores, common: dict, reading: str, average: Average, note: str, shape="", group=""
) -> Row:
    row = Row(
        **common,
        shape=shape,
        group=group,
        pni=reading,
        value=average.value,
        lower=None,
        upper=None,
        n_queries=average.n_queries,
        n_answers=average.n_answers,
        n_skipped=average.n_skipped,
        fingerprint="",
        reference="",
        note=note,
    )
    return row._replace(fingerprint=_fingerprint(*protocol_of(row, scores.metadata).items()))


@functools.lru_cache(maxsize=4096)
def _fingerprint(*fields: tuple[str, str]) -> str:
    return fingerprint(dict(fields))


def protocol_of(row: Row, metadata: dict) -> dict:
    """What the value of a row depends on beside model and subject, spelled out."""
    names = ("filter", "ties", "candidates", "averaging", "pni")
    switches = {name: getattr(row, name) for name in names}
    return protocol(metadata, metrics.version(row.metric), **switches)


def protocol(metadata: dict, version: int = 1, /, **switches: str) -> dict:
    """The fields of `clqa.fingerprints`, from the metadata of scores and what is not in these.

    Parameters
    ----------
    version : int
        That of the definition of the metric.
    """
    # +H releases have easy answers of their own; what is filtered depends on whose are taken.
    filtered = " of ".join(filter(None, (switches["filter"], metadata.get("easy"))))
    return {
        "graph": metadata["graph"],
        "queries": metadata["queries"],
        **switches,
        "filter": filtered,
        "missing": metadata.get("missing", MISSING[0]),
        "metric_version": str(version),
    }


def write_rows(path: str | os.PathLike, rows: Iterable[Row]) -> None:
    """Write rows as TSV with a header and no quoting; None is an empty cell, floats are exact."""
    write_tsv(path, Row._fields, rows)
