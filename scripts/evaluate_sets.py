"""Evaluate the answer sets that the rules of a run make from a model's scores.

Shapes with several free variables are left out: a score of each value of a variable makes no set of
tuples.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.bootstraps import LEVEL
from clqa.errors import InputError, damaged
from clqa.graphs import read_graph
from clqa.kept_scores import KeptScores, judged, kept_scores
from clqa.logs import log_to
from clqa.query_sets import (
    Answers,
    AnswerTable,
    QueryTable,
    arity_of,
    check_asked_of,
    read_answers,
    read_queries,
)
from clqa.ragged_sets import union
from clqa.rule_outcomes import outcome
from clqa.scores import merged_metadata
from clqa.set_intervals import Drawing
from clqa.set_metrics import beta_of
from clqa.set_rules import set_rule
from clqa.set_tables import (
    BAND_COLUMNS,
    COLUMNS,
    Case,
    band_rows,
    easy_first_rows,
    query_table,
    set_rows,
    table_of,
)
from clqa.strata import OF_WHOLE_QUERIES, Stratum, query_strata
from clqa.tables import write_table
from clqa.top_tables import QueryTops, read_tops
from clqa.truths import truth_choice
from clqa.vocabularies import read_labels


class _QuerySet(NamedTuple):
    """All shards of a query set: its answers, the scores that are kept, and their metadata."""

    answers: AnswerTable
    kept: KeptScores
    metadata: dict


def evaluate_sets(
    paths_to_tops,
    paths_to_answers,
    paths_to_queries,
    paths_to_tuning_tops,
    paths_to_tuning_answers,
    path_to_graph,
    path_to_relations,
    path_to_sets,
    path_to_bands,
    path_to_counts,
    rules,
    truths,
    beta,
    strata,
    seed=0,
    draws=0,
    level=LEVEL,
):
    """Write the tables of `clqa.set_tables`; files of shards are given in the same order.

    Parameters
    ----------
    paths_to_tuning_tops, paths_to_tuning_answers : list
        Of the query set on which thresholds are chosen and calibrated; empty if there is none.
    rules : list of str
        See `clqa.set_rules`.
    truths : list of str
        Of `clqa.truths.TRUTHS`.
    strata : list of str
        Keys of `clqa.strata`; those of whole queries count, shapes are always told apart.
    seed, draws, level :
        Of the intervals, as in `estimate_intervals`.
    """
    beta, rules = beta_of(beta), [set_rule(name) for name in rules]
    own = _read(paths_to_tops, paths_to_answers)
    tuned_on = None
    if paths_to_tuning_tops:
        tuned_on = _read(paths_to_tuning_tops, paths_to_tuning_answers)
        _check_alike(own.metadata, tuned_on.metadata, paths_to_tuning_tops[0])
    graph, labels = read_graph(path_to_graph), read_labels(path_to_relations).to_pylist()
    queries = _read_queries(paths_to_queries, graph, own.metadata["split"])
    keys = ["shape", *(key for key in strata if key in OF_WHOLE_QUERIES)]
    whole = Stratum("", np.ones(len(own.kept.query_ids), bool), whole=True)
    parts = [whole, *query_strata(keys, own.answers, queries, graph, labels)]
    cases = []
    for truth in map(truth_choice, truths):
        sides = [one and judged(one.kept, truth) for one in (own, tuned_on)]
        for rule in rules:
            found = outcome(rule, *sides, own.metadata["depth"], beta)
            cases.append(Case(rule, truth, sides[0], found))
    drawing = Drawing((seed, own.metadata["queries"], "sets"), draws, level)
    rows = list(set_rows(cases, own.kept, parts, beta, drawing))
    rows += easy_first_rows(own.kept, parts, beta)
    bands = [row for case in cases for row in band_rows(case, beta)]
    metadata = {**own.metadata, "beta": beta}
    write_table(path_to_sets, table_of(rows, COLUMNS), metadata)
    write_table(path_to_bands, table_of(bands, BAND_COLUMNS), metadata)
    write_table(path_to_counts, query_table(cases, own.kept, beta), metadata)


def _read(paths_to_tops: Sequence, paths_to_answers: Sequence) -> _QuerySet:
    shapes, tops, metadata, ids, candidates = {}, {}, [], [], None
    for path_to_tops, path_to_answers in zip(paths_to_tops, paths_to_answers, strict=True):
        answers = read_answers(path_to_answers)
        ids += [name for part in answers.shapes.values() for name in part.query_ids]
        several = arity_of(answers) > 1
        found, origin = read_tops(path_to_tops, answers._replace(shapes={}) if several else answers)
        keys = ("model", "depth", "missing", "lacking")
        about = {key: origin[key] for key in keys if key in origin}
        if {**answers.metadata, **about} != origin:
            raise damaged(path_to_tops, f"not made from {path_to_answers}", "rank_answers")
        shapes |= {} if several else answers.shapes
        lacking = origin.get("lacking", ())
        tops |= {
            shape: _filled(part, answers.shapes[shape], lacking) for shape, part in found.items()
        }
        metadata.append(origin)
        candidates = answers.candidates
    merged = merged_metadata(metadata, ids)
    answers = AnswerTable(shapes, merged, candidates)
    return _QuerySet(answers, kept_scores(answers, tops), merged)


def _filled(tops: QueryTops, answers: Answers, lacking: Sequence[str]) -> QueryTops:
    """With degrees of 0 for queries that a dump lacks, where all others have degrees."""
    is_missing = np.isin(answers.query_ids.astype(str), lacking)
    if not is_missing.any() or (tops.reaching[~is_missing, :1] < 0).any():
        return tops
    n_answers = union(answers.easy, answers.hard).lengths()
    reaching = np.where(is_missing[:, None], 0, tops.reaching)
    reaching[is_missing, 0] = tops.candidates[is_missing]
    return tops._replace(
        scores=np.where(np.repeat(is_missing, tops.best.lengths()), 0, tops.scores),
        answer_scores=np.where(np.repeat(is_missing, n_answers), 0, tops.answer_scores),
        reaching=reaching.astype(tops.reaching.dtype),
    )


def _read_queries(paths: Sequence, graph, split: str) -> QueryTable:
    shapes, formulas = {}, {}
    for path in paths:
        queries = read_queries(path)
        check_asked_of(graph, split, queries, path)
        if arity_of(queries) > 1:
            continue
        shapes |= queries.shapes
        formulas |= queries.metadata["formulas"]
    return QueryTable(shapes, {**queries.metadata, "formulas": formulas})


def _check_alike(own: dict, other: dict, path) -> None:
    """Refuse to tune one model on the scores of another, or on another graph."""
    for key in ("model", "method", "settings"):
        found = other["model"].get(key), own["model"].get(key)
        if found[0] != found[1]:
            raise InputError(f"{path}: of the {key} {found[0]}, expected {found[1]}; rank again")
    if other["graph"] != own["graph"]:
        raise InputError(f"{path}: of another graph than the queries to judge; rank again")


if __name__ == "__main__":
    log_to(snakemake.log[0])
    evaluate_sets(
        paths_to_tops=snakemake.input.tops,
        paths_to_answers=snakemake.input.answers,
        paths_to_queries=snakemake.input.queries,
        paths_to_tuning_tops=snakemake.input.tuning_tops,
        paths_to_tuning_answers=snakemake.input.tuning_answers,
        path_to_graph=snakemake.input.graph,
        path_to_relations=snakemake.input.relations,
        path_to_sets=snakemake.output.sets,
        path_to_bands=snakemake.output.bands,
        path_to_counts=snakemake.output.counts,
        rules=snakemake.params.sets,
        truths=snakemake.params.truths,
        beta=snakemake.params.beta,
        strata=snakemake.params.strata,
        seed=snakemake.params.seed,
        draws=snakemake.params.draws,
        level=snakemake.params.level,
    )
