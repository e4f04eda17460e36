"""The rules that a drawn query must keep, and the kernels that judge it."""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View
from clqa.errors import InputError
from clqa.evaluation import evaluate
from clqa.formulas import Formula, to_text
from clqa.join_plans import JoinPlan
from clqa.kernels import kernel
from clqa.plans import Plan, can_retract, has_negation
from clqa.row_tables import row_slot
from clqa.sets import BOOLEAN, COST, FREE_OF_COST, collect, look_up, tally
from clqa.walks import DRAWS, GROUNDED, INVERSE_UNDO, NO_HARD, NOTHING_RETRACTED

NEGATION = ("must_retract", "must_change", "any")

# Why an attempt is rejected, in the order in which the rules are tried. The first four can be seen
# in a walk, the third and fourth again in the answers.
REASONS = (
    "dead_end",
    "round_trip",
    "no_hard_answers",
    "negation_retracts_nothing",
    "duplicate_branches",
    "duplicate_query",
    "no_answers",
    "too_many_hard",
    "too_many_easy",
    "too_many_retracted",
    "negation_changes_nothing",
    "too_few_links",
    "too_many_bindings",
)
(
    DUPLICATE_BRANCHES,
    DUPLICATE_QUERY,
    NO_ANSWERS,
    MANY_HARD,
    MANY_EASY,
    MANY_RETRACTED,
    NOTHING_CHANGED,
    FEW_LINKS,
    MANY_BINDINGS,
) = range(NOTHING_RETRACTED + 1, len(REASONS))
ACCEPTED = GROUNDED
_NO_CAP = np.iinfo(np.int64).max


class Rules(NamedTuple):
    """What an accepted query must satisfy; see `config/README.md` for the words of each option."""

    draw: str = "answers"
    inverse_undo: str = "chain"
    distinct_branches: bool = True
    unordered: bool = True
    require_hard: bool = True
    negation: str = "must_retract"
    max_hard: int | None = 100
    max_easy: int | None = None
    max_retracted: int | None = 100
    min_links: int = 1
    max_bindings: int | None = 1_000_000


def check_rules(rules: Rules, formula: Formula, shape: Plan) -> None:
    """Refuse unknown options, and more missing links than a shape has.

    Raises
    ------
    InputError
    """
    for name, known in (("draw", DRAWS), ("inverse_undo", INVERSE_UNDO), ("negation", NEGATION)):
        value = getattr(rules, name)
        if value not in known:
            raise InputError(f"sampling option {name}: '{value}' is not one of {', '.join(known)}")
    if rules.min_links > max(1, shape.most_links):
        raise InputError(
            f"sampling option min_links: {rules.min_links}, but answers of "
            f"'{to_text(formula)}' need {shape.most_links} links at most"
        )


def cap(value: int | None) -> int:
    """A cap as a number; none is larger than any count."""
    return _NO_CAP if value is None else value


class Terms(NamedTuple):
    """The rules for a shape's queries, for the kernels.

    Attributes
    ----------
    orders : (n_symmetries, n_constants + n_relations) int64
        See `canonical_forms.canonical`.
    caps : (3,) int64
        On hard, easy and retracted answers, as many times as there are free variables.
    negation : int
        Place in `NEGATION`.
    """

    orders: np.ndarray
    caps: np.ndarray
    distinct: bool
    unordered: bool
    require_hard: bool
    negation: int
    min_links: int


class Judge(NamedTuple):
    """A shape that is answered by set operators, and the terms for its queries.

    Attributes
    ----------
    both : View
        The two graphs of a split.
    """

    both: View
    terms: Terms
    program: np.ndarray
    normal_program: np.ndarray
    positive_program: np.ndarray


class Room(NamedTuple):
    """Working memory of `judge_answers`: for the ids and values of one query, and four counts."""

    ids: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class Accepted(NamedTuple):
    """Queries accepted so far, and a hash table of their canonical groundings.

    Attributes
    ----------
    anchors, relations : (n, n_constants) and (n, n_relations) int32
    keys : (n, n_constants + n_relations) int32
        Canonical groundings.
    table : (a power of 2,) int64
        Places in `keys`, -1 for gaps.
    rejections : (n_reasons,) int64
    latest : (1,) int64
        Attempts up to the latest accepted one.
    """

    anchors: np.ndarray
    relations: np.ndarray
    keys: np.ndarray
    table: np.ndarray
    rejections: np.ndarray
    latest: np.ndarray


def negation_rule(shape: Plan | JoinPlan, rules: Rules) -> str:
    """What negation must do in a shape: anything where it has none, and never what it cannot."""
    if not has_negation(shape):
        return "any"
    is_idle = rules.negation == "must_retract" and not can_retract(shape)
    return "must_change" if is_idle else rules.negation


def terms_for(shape: Plan | JoinPlan, rules: Rules, orders: np.ndarray) -> Terms:
    """The rules for the queries of a shape, for the kernels."""
    arity = shape.arity if isinstance(shape, JoinPlan) else 1
    caps = [rules.max_hard, rules.max_easy, rules.max_retracted]
    return Terms(
        orders=orders,
        caps=np.array([cap(None if n is None else n * arity) for n in caps], np.int64),
        distinct=rules.distinct_branches,
        unordered=rules.unordered,
        require_hard=rules.require_hard,
        negation=NEGATION.index(negation_rule(shape, rules)),
        min_links=rules.min_links,
    )


def plan_judge(both: View, shape: Plan, rules: Rules, orders: np.ndarray) -> Judge:
    """Prepare the judgement of a shape's queries."""
    programs = shape.program, shape.normal_program, shape.positive_program
    return Judge(both, terms_for(shape, rules, orders), *programs)


@kernel
def judge_grounding(terms, accepted, grounding, best):
    """Put the grounding into canonical order and look for repeated branches and queries."""
    orders = terms.orders
    for j in range(orders.shape[1]):
        best[j] = grounding[orders[0, j]]
    for i in range(1, orders.shape[0]):
        difference = 0
        for j in range(orders.shape[1]):
            difference = grounding[orders[i, j]] - best[j]
            if difference != 0:
                break
        if difference == 0 and terms.distinct:
            return DUPLICATE_BRANCHES
        if difference < 0 and terms.unordered:
            for j in range(orders.shape[1]):
                best[j] = grounding[orders[i, j]]
    place = row_slot(accepted.table, accepted.keys, best)
    return ACCEPTED if accepted.table[place] < 0 else DUPLICATE_QUERY


@kernel
def judge_counts(terms, hard, kept, retracted):
    """Apply the rules on the number of answers: hard ones, those on both graphs, retracted ones."""
    if hard == 0 and terms.require_hard:
        return np.int64(NO_HARD)
    if hard + kept == 0:
        return np.int64(NO_ANSWERS)
    if hard > terms.caps[0]:
        return np.int64(MANY_HARD)
    if kept + retracted > terms.caps[1]:
        return np.int64(MANY_EASY)
    if retracted > terms.caps[2]:
        return np.int64(MANY_RETRACTED)
    if terms.negation == 0 and retracted == 0:
        return np.int64(NOTHING_RETRACTED)
    return np.int64(ACCEPTED)


@kernel
def judge_answers(judge, work, room, anchors, relations):
    """Answer the query on both graphs of the split and apply the rules on its answers."""
    graphs, counts, mode = judge.both, room.counts, np.int64(BOOLEAN)
    evaluate(graphs, work, judge.program, anchors, relations, mode)
    tally(graphs, work, counts, mode)
    retracted, hard, kept = counts[1], counts[2], counts[3]
    outcome = judge_counts(judge.terms, hard, kept, retracted)
    if outcome != ACCEPTED:
        return outcome
    is_open = judge.terms.min_links > 1 and hard > 0
    if is_open and _few_links(judge, work, room, anchors, relations, hard):
        return np.int64(FEW_LINKS)
    if judge.terms.negation == 1:
        evaluate(graphs, work, judge.positive_program, anchors, relations, mode)
        tally(graphs, work, counts, mode)
        if counts[2] + counts[3] == hard + kept:
            return np.int64(NOTHING_CHANGED)
    return np.int64(ACCEPTED)


@kernel
def _few_links(judge, work, room, anchors, relations, hard):
    """Whether some hard answer, of those in slot 0, needs fewer missing links than asked for."""
    graphs, ids, values = judge.both, room.ids, room.values[:hard]
    collect(graphs, work, 3, 2, ids, 0, np.int64(BOOLEAN))
    cost = np.int64(COST)
    evaluate(graphs, work, judge.normal_program, anchors, relations, cost)
    look_up(graphs, work, ids[:hard], values, cost)
    return FREE_OF_COST - values.max() < judge.terms.min_links
