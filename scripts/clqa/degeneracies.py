"""Queries that ask less than their shape says: repeated branches, round trips, idle negations."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from clqa.adjacencies import View
from clqa.answers import answer_sets
from clqa.canonical_forms import canonical
from clqa.formulas import Formula
from clqa.join_plans import HEAD, RELATION, TAIL, VECTOR, JoinPlan
from clqa.plans import Plan, has_negation, plan, without_negations
from clqa.query_sets import Queries
from clqa.trees import Intersect, Node, Project, Unite, branches, walk


def degenerate_counts(
    formula: Formula,
    queries: Queries,
    view: View,
    inverse: np.ndarray,
    n_answers: Mapping[str, np.ndarray],
) -> dict[str, int]:
    """Number of degenerate queries of each kind; `n_answers` by set: easy, hard, full."""
    anchors, relations = queries.anchors, queries.relations
    masks = {
        "duplicate_branches": repeats_branches(formula, anchors, relations),
        "round_trips_in_a_chain": makes_round_trip(formula, relations, inverse, in_chain=True),
        "round_trips": makes_round_trip(formula, relations, inverse, in_chain=False),
        "idle_negations": has_idle_negation(
            plan(formula), view, anchors, relations, n_answers["full"]
        ),
        "without_hard_answers": n_answers["hard"] == 0,
        "without_easy_answers": n_answers["easy"] == 0,
    }
    counts = {name: int(mask.sum()) for name, mask in masks.items()}
    repeated = len(queries.query_ids) - len(set(queries.query_ids))
    return counts | {"same_query_again": repeated}


def repeats_branches(formula: Formula, anchors: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """Whether like branches of a query are grounded alike, (n,) bool."""
    _, orders = canonical(formula)
    rows = np.concatenate([anchors, relations], axis=1)
    found = np.zeros(len(rows), bool)
    for order in orders[1:]:
        found |= (rows[:, order] == rows[:, orders[0]]).all(axis=1)
    return found


def makes_round_trip(
    formula: Formula, relations: np.ndarray, inverse: np.ndarray, in_chain: bool
) -> np.ndarray:
    """Whether a step undoes the one before it, (n,) bool.

    Parameters
    ----------
    in_chain : bool
        Whether only steps of one chain count; else also those on the two sides of a branching.
    """
    found = np.zeros(len(relations), bool)
    for before, after, turned in set(_steps_on_end(plan(formula), in_chain)):
        first, second = relations[:, before], relations[:, after]
        found |= second == (first if turned else inverse[first])
    return found


def _steps_on_end(shape: Plan | JoinPlan, in_chain: bool) -> Iterator[tuple[int, int, bool]]:
    """Columns of two relations that are walked one after the other, and whether both are walked
    towards, or both away from, where they meet."""
    if isinstance(shape, Plan):
        for node in walk(shape.root):
            if isinstance(node, Project):
                for before in _steps_before(node.inner, in_chain):
                    yield before.relation, node.relation, before.reverse != node.reverse
        return
    for first, last in itertools.pairwise(shape.starts):
        links = shape.atoms[first:last]
        for variable in range(shape.arity, shape.n_variables):
            meeting = [row for row in links if variable in row[: TAIL + 1] and row[VECTOR] < 0]
            if in_chain and len(meeting) > 2:
                continue
            for one, other in itertools.combinations(meeting, 2):
                yield (
                    int(one[RELATION]),
                    int(other[RELATION]),
                    (one[HEAD] == variable) == (other[HEAD] == variable),
                )


def _steps_before(node: Node, in_chain: bool) -> Iterator[Project]:
    if isinstance(node, Project):
        yield node
    elif isinstance(node, (Intersect, Unite)):
        found = branches(node)
        if not in_chain or (isinstance(node, Intersect) and len(found) == 1):
            for child in found:
                yield from _steps_before(child, in_chain)


def has_idle_negation(
    steps: Plan | JoinPlan,
    view: View,
    anchors: np.ndarray,
    relations: np.ndarray,
    n_answers: np.ndarray,
) -> np.ndarray:
    """Whether all answers on the full graph remain without the negated branches, (n,) bool.

    Parameters
    ----------
    n_answers : (n,) int
        Answers on the full graph.
    """
    if not has_negation(steps):
        return np.zeros(len(anchors), bool)
    found = answer_sets(without_negations(steps), view, anchors, relations)
    return found.lengths() == n_answers
