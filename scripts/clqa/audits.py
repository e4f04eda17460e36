"""Queries audited: what their answers are like, and published ones against recomputed ones."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View, graph_view
from clqa.answer_sizes import size_summary
from clqa.answers import SplitAnswers, answer_sets, split_answers
from clqa.degeneracies import degenerate_counts
from clqa.filters import full_only
from clqa.formulas import Formula, symbols
from clqa.graphs import Graph, candidates
from clqa.plans import plan
from clqa.published_sets import SETS
from clqa.query_sets import Answers, Queries
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, reordered, row_numbers, without
from clqa.readings import other_reading
from clqa.reductions import reduction_counts

SHOWN = 5  # queries and answers spelt out


class Labels(NamedTuple):
    """Labels of entities and of relations in the order of their ids; `take`s give lists."""

    entities: Callable[[np.ndarray], list[str]]
    relations: Callable[[np.ndarray], list[str]]


class Ground(NamedTuple):
    """What the queries of a split are audited on."""

    graph: Graph
    view: View
    split: str
    labels: Labels


class Difference(NamedTuple):
    """Where a published set is not the recomputed one.

    Attributes
    ----------
    missing, extra : Ragged
        Answers that the published set lacks, and that it alone has.
    """

    missing: Ragged
    extra: Ragged

    def rows(self) -> np.ndarray:
        return (self.missing.lengths() > 0) | (self.extra.lengths() > 0)


def audit_shape(
    ground: Ground,
    formula: Formula,
    queries: Queries,
    found: Answers,
    published: dict[str, Ragged] | None,
) -> dict:
    """The findings on one shape, ready for JSON.

    Parameters
    ----------
    found : Answers
        Recomputed, of the same queries in the same order.
    published : dict of Ragged
        By the names of `SETS`, as far as there are any; None for queries that were sampled.
    """
    own = recomputed(found)
    findings = {
        "queries": len(queries.query_ids),
        "degenerate": degenerate_counts(
            formula,
            queries,
            ground.view,
            ground.graph.inverse,
            {name: rows.lengths() for name, rows in own.items()},
        ),
        "sizes": {name: size_summary(rows.lengths()) for name, rows in own.items()},
        "reductions": reduction_counts(formula, found),
    }
    if ground.graph.restricted:
        allowed = np.isin(found.hard.values, candidates(ground.graph, ground.split))
        strange = ~(allowed if allowed.ndim == 1 else allowed.all(axis=1))
        findings["hard_answers_that_are_no_candidates"] = int(strange.sum())
    if published is not None:
        findings |= _comparison(ground, formula, queries, own, published)
    return findings


def _comparison(ground, formula, queries, own, published) -> dict:
    """Where the published sets are not the recomputed ones."""
    differences = {
        name: difference(published[name], own[name]) for name in SETS if name in published
    }
    differing = np.zeros(len(queries.query_ids), bool)
    for one in differences.values():
        differing |= one.rows()
    checked = {"full"} & {name if name != "easy" else "full" for name in published}
    return {
        "published": sorted(published),
        "unverified": sorted({"full", "hard"} - checked - {*published}),
        "differing": int(differing.sum()),
        "sets": {
            name: _counts(published[name], own[name], one) for name, one in differences.items()
        },
        "how": _how(ground, formula, queries, own, published, differences, differing),
        "examples": _examples(ground.labels, queries, differences, differing),
    }


def recomputed(found: Answers | SplitAnswers) -> dict[str, Ragged]:
    """All sets that a release may publish, by the names of `SETS`."""
    return {
        "easy": found.easy,
        "hard": found.hard,
        "retracted": found.retracted,
        "full": full_only(found.easy, found.hard, found.retracted),
    }


def difference(published: Ragged, own: Ragged) -> Difference:
    """What a published set lacks and what it has beyond the recomputed one."""
    if np.array_equal(published.offsets, own.offsets) and np.array_equal(*_values(published, own)):
        nothing = Ragged(np.zeros_like(own.offsets), own.values[:0])
        return Difference(nothing, nothing)
    return Difference(without(own, published), without(published, own))


def _values(*rows: Ragged) -> list[np.ndarray]:
    return [one.values for one in rows]


def _counts(published: Ragged, own: Ragged, one: Difference) -> dict:
    return {
        "published": len(published.values),
        "recomputed": len(own.values),
        "missing": len(one.missing.values),
        "extra": len(one.extra.values),
        "queries": int(one.rows().sum()),
    }


def _how(ground, formula, queries, own, published, differences, differing) -> dict:
    """In how many queries, or answers, published sets are other ones, and in which way."""
    lacking = [one.missing.lengths() > 0 for one in differences.values()]
    beyond = [one.extra.lengths() > 0 for one in differences.values()]
    how = {
        "queries_with_missing_answers": _any(lacking),
        "queries_with_extra_answers": _any(beyond),
    }
    if "easy" in published:
        retracted = is_shared(own["retracted"], published["easy"])
        how["retracted_answers_counted_as_easy"] = int(retracted.sum())
        how["queries_with_retracted_counted_as_easy"] = _n_rows(own["retracted"], retracted)
        left_out = is_shared(differences["easy"].missing, own["retracted"])
        how["retracted_answers_left_out_of_easy"] = int(left_out.sum())
    if "hard" in published:
        known = is_shared(differences["hard"].extra, own["easy"])
        how["observed_answers_counted_as_hard"] = int(known.sum())
    if "full" in published:
        retracted = is_shared(differences["full"].extra, own["retracted"])
        how["retracted_answers_counted_as_full"] = int(retracted.sum())
        how |= _origin(ground, formula, queries, own, differences["full"].missing)
    how["queries_of_another_reading"] = _of_other_reading(
        ground, formula, queries, published, np.flatnonzero(differing)
    )
    return how


def _any(masks: list[np.ndarray]) -> int:
    return int(np.logical_or.reduce(masks).sum()) if masks else 0


def _n_rows(rows: Ragged, mask: np.ndarray) -> int:
    return len(np.unique(row_numbers(rows)[mask]))


def _origin(ground, formula, queries, own, missing: Ragged) -> dict:
    """Which edges give the answers that a published full set lacks."""
    rows = np.flatnonzero(missing.lengths())
    hard = is_shared(missing, own["hard"])
    counts = {"missing_hard_answers": int(hard.sum())}
    if ground.split == "test":
        train = graph_view(ground.graph, ("train",))
        known = answer_sets(plan(formula), train, queries.anchors[rows], queries.relations[rows])
        lacking = reordered(missing, rows)
        of_train = is_shared(lacking, known)
        easy = ~is_shared(lacking, reordered(own["hard"], rows))
        counts["missing_answers_that_valid_edges_give"] = int((easy & ~of_train).sum())
    return counts


def _of_other_reading(ground, formula, queries, published, rows: np.ndarray) -> int:
    """How many of these queries have just the answers of the formula's other reading."""
    other = other_reading(formula)
    if other is None or not len(rows):
        return 0
    anchors, relations = (
        ids[rows][:, [symbols(formula, kind).index(name) for name in symbols(other, kind)]]
        for kind, ids in (("s", queries.anchors), ("r", queries.relations))
    )
    own = recomputed(split_answers(plan(other), ground.view, anchors, relations))
    equal = np.ones(len(rows), bool)
    for name, sets in published.items():
        equal &= ~difference(reordered(sets, rows), own[name]).rows()
    return int(equal.sum())


def _examples(labels: Labels, queries: Queries, differences: dict, differing) -> list[dict]:
    """The first queries that differ, with labels."""
    return [
        {
            "query_id": str(queries.query_ids[row]),
            "anchors": labels.entities(queries.anchors[row]),
            "relations": labels.relations(queries.relations[row]),
            "differences": {
                name: {
                    kind: _spelt(labels, getattr(one, kind).row(row))
                    for kind in ("missing", "extra")
                    if len(getattr(one, kind).row(row))
                }
                for name, one in differences.items()
                if one.rows()[row]
            },
        }
        for row in np.flatnonzero(differing)[:SHOWN]
    ]


def _spelt(labels: Labels, ids: np.ndarray) -> dict:
    first = ids[:SHOWN]
    shown = [labels.entities(row) for row in first] if ids.ndim > 1 else labels.entities(first)
    return {"answers": len(ids), "first": shown}
