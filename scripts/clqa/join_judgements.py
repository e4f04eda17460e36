"""The rules of `clqa.judgements` for queries that are answered by joins."""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View
from clqa.bindings import BOOLEAN, MARKINGS, Desk, Table
from clqa.bits import lowest_one
from clqa.join_plans import NEGATED, JoinPlan, without_negated_atoms
from clqa.joins import answer_query, look_up
from clqa.judgements import (
    ACCEPTED,
    FEW_LINKS,
    MANY_BINDINGS,
    NOTHING_CHANGED,
    Rules,
    Terms,
    cap,
    judge_counts,
    terms_for,
)
from clqa.kernels import kernel


class JoinJudge(NamedTuple):
    """A shape that is answered by joins, and the terms for its queries.

    Attributes
    ----------
    both : View
        The two graphs of a split.
    atoms, starts : see `clqa.join_plans.JoinPlan`
    positive_atoms, positive_starts
        The same without negated atoms.
    shifts : (n_atoms,) uint64
        1 for positive atoms.
    limit : int
        Partial bindings that may be tried for a query.
    """

    both: View
    terms: Terms
    atoms: np.ndarray
    starts: np.ndarray
    positive_atoms: np.ndarray
    positive_starts: np.ndarray
    shifts: np.ndarray
    limit: int


def plan_join_judge(both: View, shape: JoinPlan, rules: Rules, orders: np.ndarray) -> JoinJudge:
    """Prepare the judgement of a shape's queries."""
    positive = without_negated_atoms(shape)
    return JoinJudge(
        both=both,
        terms=terms_for(shape, rules, orders),
        atoms=shape.atoms,
        starts=shape.starts,
        positive_atoms=positive.atoms,
        positive_starts=positive.starts,
        shifts=(shape.atoms[:, NEGATED] == 0).astype(np.uint64),
        limit=cap(rules.max_bindings),
    )


@kernel
def judge_joined(judge, desk: Desk, source: Table, target: Table, out, anchors, relations):
    """As `judgements.judge_answers`; also returns the tables, which may have grown."""
    nothing = out.rows[:0]
    source, target, out, end, tried = answer_query(
        judge.both, desk, source, target, out, np.int64(0), judge.atoms, judge.starts,
        judge.shifts, anchors, relations, nothing, judge.limit, np.int64(BOOLEAN),
        judge.terms.min_links > 1,
    )  # fmt: skip
    if tried > judge.limit:
        return np.int64(MANY_BINDINGS), source, target, out
    retracted, hard, kept = np.int64(0), np.int64(0), np.int64(0)
    for i in range(end):
        retracted += out.values[i] == 1
        hard += out.values[i] == 2
        kept += out.values[i] == 3
    terms = judge.terms
    outcome = judge_counts(terms, hard, kept, retracted)
    if outcome == ACCEPTED and terms.min_links > 1 and hard > 0:
        wanted = np.empty((hard, out.rows.shape[1]), np.int32)
        n = 0
        for i in range(end):
            if out.values[i] == 2:
                wanted[n] = out.rows[i]
                n += 1
        source, target, out, end, tried = answer_query(
            judge.both, desk, source, target, out, np.int64(0), judge.atoms, judge.starts,
            judge.shifts, anchors, relations, wanted, judge.limit, np.int64(MARKINGS),
            True,
        )  # fmt: skip
        if tried > judge.limit:
            return np.int64(MANY_BINDINGS), source, target, out
        families = np.zeros(hard, np.uint64)
        look_up(out.rows[:end], out.values[:end], wanted, families)
        for family in families:
            if lowest_one(family) < terms.min_links:
                outcome = np.int64(FEW_LINKS)
    if outcome == ACCEPTED and terms.negation == 1:
        source, target, out, end, tried = answer_query(
            judge.both, desk, source, target, out, np.int64(0), judge.positive_atoms,
            judge.positive_starts, judge.shifts, anchors, relations, nothing, judge.limit,
            np.int64(BOOLEAN), False,
        )  # fmt: skip
        n_full = 0
        for i in range(end):
            n_full += out.values[i] >= 2
        if tried > judge.limit:
            outcome = np.int64(MANY_BINDINGS)
        elif n_full == hard + kept:
            outcome = np.int64(NOTHING_CHANGED)
    return outcome, source, target, out
