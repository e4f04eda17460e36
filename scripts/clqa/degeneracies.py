"""Queries that ask less than their shape says: repeated branches, round trips, idle negations."""

from collections.abc import Iterator

import numpy as np

from clqa.adjacencies import View
from clqa.answers import answer_sets
from clqa.canonical_forms import canonical
from clqa.formulas import Formula
from clqa.plans import Plan, plan
from clqa.trees import Intersect, Node, Project, Unite, walk


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
    for node in walk(plan(formula).root):
        if isinstance(node, Project):
            for before in _steps_before(node.inner, in_chain):
                first, second = relations[:, before.relation], relations[:, node.relation]
                undone = first if before.reverse != node.reverse else inverse[first]
                found |= second == undone
    return found


def _steps_before(node: Node, in_chain: bool) -> Iterator[Project]:
    if isinstance(node, Project):
        yield node
    elif isinstance(node, (Intersect, Unite)) and not in_chain:
        for child in node.children:
            yield from _steps_before(child, in_chain)


def has_idle_negation(
    steps: Plan, view: View, anchors: np.ndarray, relations: np.ndarray, n_answers: np.ndarray
) -> np.ndarray:
    """Whether all answers on the full graph remain without the negated branches, (n,) bool.

    Parameters
    ----------
    n_answers : (n,) int
        Answers on the full graph.
    """
    if np.array_equal(steps.positive_program, steps.normal_program):
        return np.zeros(len(anchors), bool)
    without = steps._replace(program=steps.positive_program)
    return answer_sets(without, view, anchors, relations).lengths() == n_answers
