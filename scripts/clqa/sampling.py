"""Answer-first sampling of queries (Ren and Leskovec, 2020) with every rule as a named option.

An attempt draws an answer entity and walks the shape from it back to the anchors, over edges of
the full graph; then the query is answered on both graphs of the split and the rules decide.
Attempt i of a shape uses its own random stream, keyed by (seed, query set, canonical formula, i),
so that the outcome does not depend on batches, processes or cores.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import (
    Edges,
    View,
    missing_edges,
    row_keys,
    row_places,
    row_relations,
    split_edges,
    view_of,
)
from clqa.assignments import Course, assign, plan_course
from clqa.bindings import desk, table
from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula, to_text
from clqa.given_sets import check_crisp
from clqa.graphs import Graph
from clqa.join_judgements import JoinJudge, judge_joined, plan_join_judge
from clqa.join_plans import JoinPlan
from clqa.judgements import (
    REASONS,
    Accepted,
    Judge,
    Room,
    Rules,
    cap,
    check_rules,
    judge_answers,
    judge_grounding,
    negation_rule,
    plan_judge,
)
from clqa.kernels import kernel
from clqa.markings import positive_atoms
from clqa.plans import Plan, plan
from clqa.randomness import seek, stream_key
from clqa.row_tables import row_slot
from clqa.sets import Scratch, scratch
from clqa.trees import Anchor, Everything, Project
from clqa.walks import (
    GROUNDED,
    NO_HARD,
    NOTHING_RETRACTED,
    Walk,
    Ways,
    changing,
    plan_walk,
    walk,
    walk_steps,
    ways,
)

# Attempts made at a time.
_BATCH = 1 << 14
# Sampling gives up after so many times the tries per query, and so large a share of all tries, in a
# row without a query. A shape that still finds its queries in its tries has one in as many tries as
# there are per query, and meets 20 times as many in vain once in 5e8 times.
_GIVE_UP_TIMES, _GIVE_UP_SHARE = 20, 20
_MOST_MISSING = 0.7


class Ground(NamedTuple):
    """The graphs of a split, laid out for sampling; shared by all shapes.

    Attributes
    ----------
    changes : (n_edges, 2) bool
        See `walks.changing`.
    both : View
        Observed and full graph, to answer queries.
    full_ways, missing_ways : Ways
        Edges of the full graph, and those that only it has, to draw walks from.
    """

    graph: Graph
    split: str
    edges: Edges
    changes: np.ndarray
    both: View
    full_ways: Ways
    missing_ways: Ways


class Sampled(NamedTuple):
    """Accepted queries in order of their attempts, and what became of the others.

    Attributes
    ----------
    anchors : (n, n_constants) int32
    relations : (n, n_relations) int32
    tries : int
        Attempts made.
    rejections : dict
        Attempts rejected, by reason.
    """

    anchors: np.ndarray
    relations: np.ndarray
    tries: int
    rejections: dict[str, int]


def sampling_ground(graph: Graph, split: str) -> Ground:
    """Lay out the observed and the full graph of a split (`train`, `valid` or `test`)."""
    edges = split_edges(graph, split)
    changes, n = changing(edges, graph.n_entities), graph.n_entities
    return Ground(
        graph=graph,
        split=split,
        edges=edges,
        changes=changes,
        both=view_of(graph, edges),
        full_ways=ways(edges, changes, n),
        missing_ways=ways(missing_edges(edges), changes[~edges.observed], n),
    )


def patience_for(tries: int, count: int) -> int:
    """Attempts in a row without a query after which to give up; `tries` are those per query."""
    return max(_GIVE_UP_TIMES * tries, tries * count // _GIVE_UP_SHARE)


def sample_queries(
    ground: Ground,
    formula: Formula,
    count: int,
    rules: Rules,
    tries: int,
    stream: tuple,
    progress: Callable[[int], None] = lambda accepted: None,
    patience: int | None = None,
) -> Sampled:
    """Draw up to `count` queries of a shape.

    Parameters
    ----------
    ground : Ground
    tries : int
        Attempts after which sampling ends, with whatever was found.
    stream : tuple
        Whatever names the random stream, such as (seed, query set).
    progress : callable
        Is told now and then how many queries are accepted.
    patience : int, optional
        Attempts in a row without a query after which sampling ends as well.

    Raises
    ------
    InputError
        If an option has an unknown value or more missing links are asked for than the shape has.
    """
    shape = plan(formula)
    share = 0.0
    if rules.min_links > 1:
        # Below 1, since other hops, negated ones above all, may well lie on observed edges.
        share = min(_MOST_MISSING, rules.min_links / shape.most_links)
    attempts = plan_attempts(ground, formula, rules, stream, share)
    state = empty_state(attempts, count)
    accepted = done = 0
    patience = tries if patience is None else patience
    while accepted < count and done < min(tries, end := int(state.latest[0]) + patience):
        batch = min(_BATCH, tries - done, end - done)
        accepted, done = attempt_batch(attempts, state, done, batch, accepted)
        progress(accepted)
    return Sampled(state.anchors[:accepted], state.relations[:accepted], done, reasons(state))


class Attempts(NamedTuple):
    """All that attempts at queries of one shape need, with the key of their random stream."""

    walks: Walk
    judge: Judge
    work: Scratch
    room: Room
    key: np.uint64
    shape: Plan


class JoinAttempts(NamedTuple):
    """As `Attempts`, for a shape that is answered by joins."""

    walks: Walk
    course: Course
    judge: JoinJudge
    key: np.uint64
    shape: JoinPlan


def plan_attempts(
    ground: Ground, formula: Formula, rules: Rules, stream: tuple, missing_share: float
) -> Attempts | JoinAttempts:
    """Prepare attempts at queries of a shape; `missing_share` is explained in `clqa.walks.Walk`.

    Raises
    ------
    InputError
        If an option has an unknown value or more missing links are asked for than the shape has.
    """
    shape = plan(formula)
    check_rules(rules, formula, shape)
    check_crisp(shape.given, ground.both.given)
    text, orders = canonical(formula)
    if ground.split == "train":
        negation = "must_change" if rules.negation == "must_retract" else rules.negation
        rules = rules._replace(max_hard=None, max_retracted=None, negation=negation)
    must_retract = negation_rule(shape, rules) == "must_retract"
    is_tree = isinstance(shape, Plan)
    changes = (NO_HARD,) * rules.require_hard + (NOTHING_RETRACTED,) * must_retract
    across = rules.inverse_undo == "everywhere"
    walks = plan_walk(
        steps=walk_steps(shape.root if is_tree else Everything(), across, changes),
        edges=ground.edges,
        changes=ground.changes,
        full=ground.full_ways,
        missing=ground.missing_ways,
        inverse=ground.graph.inverse,
        draw=rules.draw,
        ban=rules.inverse_undo != "allowed",
        missing_share=missing_share,
    )
    key = stream_key(*stream, text)
    if not is_tree:
        signs = positive_atoms(formula)
        course = plan_course(
            formula, signs, rules.inverse_undo, must_retract, rules.draw != "answers"
        )
        judge = plan_join_judge(ground.both, shape, rules, orders)
        return JoinAttempts(walks, course, judge, key, shape)
    n = ground.graph.n_entities
    return Attempts(
        walks=walks,
        judge=plan_judge(ground.both, shape, rules, orders),
        work=scratch(n, shape.program, shape.normal_program, shape.positive_program),
        room=Room(np.empty(n, np.int32), np.empty(n, np.uint8), np.zeros(4, np.int64)),
        key=key,
        shape=shape,
    )


def empty_state(attempts: Attempts | JoinAttempts, count: int) -> Accepted:
    """Room for so many queries."""
    n_constants, n_relations = attempts.shape.n_constants, attempts.shape.n_relations
    return Accepted(
        anchors=np.empty((count, n_constants), np.int32),
        relations=np.empty((count, n_relations), np.int32),
        keys=np.empty((count, n_constants + n_relations), np.int32),
        table=np.full(1 << max(4, (2 * count - 1).bit_length()), -1, np.int64),
        rejections=np.zeros(len(REASONS), np.int64),
        latest=np.zeros(1, np.int64),
    )


def attempt_batch(
    attempts: Attempts | JoinAttempts, state: Accepted, first: int, batch: int, accepted: int
) -> tuple[int, int]:
    """Make attempts from number `first` on until the batch, or the room for queries, ends.

    Returns
    -------
    accepted, done : int
        Queries in `state` and attempts made, with those before.
    """
    if isinstance(attempts, JoinAttempts):
        walks, course, judge, key, shape = attempts
        n_entities = judge.both.n_entities
        room = desk(shape.n_variables, len(shape.atoms), n_entities)
        tables = table(shape.n_variables), table(shape.n_variables), table(shape.arity)
        return _attempt_joins(
            walks, course, judge, room, *tables, state, key, first, batch, accepted
        )
    walks, judge, work, room, key, _ = attempts
    return _attempt_batch(walks, judge, work, room, state, key, first, batch, accepted)


def reasons(state: Accepted) -> dict[str, int]:
    """Attempts rejected, by reason."""
    return dict(zip(REASONS, state.rejections.tolist(), strict=True))


def is_one_atom(formula: Formula) -> bool:
    """Whether a shape is one atom that starts at a constant, so that its queries can be listed."""
    root = plan(formula).root
    return isinstance(root, Project) and isinstance(root.inner, Anchor) and not root.negated


def all_one_atom_queries(ground: Ground, formula: Formula, rules: Rules) -> Sampled:
    """Every query of a shape of one atom that keeps the rules, in order of anchor and relation.

    Raises
    ------
    InputError
        If the formula has more than one atom, or more missing links are asked for than one.
    """
    if not is_one_atom(formula):
        raise InputError(f"formula '{to_text(formula)}': only a shape of one atom is exhaustive")
    check_rules(rules, formula, plan(formula))
    root = plan(formula).root
    near = ground.both.heads if root.reverse else ground.both.tails
    starts = row_places(near.rows)
    observed = np.append(0, np.cumsum(near.edges & 1))
    easy = np.diff(observed[starts])
    hard = np.diff(starts) - easy
    rejected = {
        "no_hard_answers": (hard == 0) & rules.require_hard,
        "too_many_hard": hard > cap(rules.max_hard if ground.split != "train" else None),
        "too_many_easy": easy > cap(rules.max_easy),
    }
    kept = np.ones(len(hard), bool)
    rejections = dict.fromkeys(REASONS, 0)
    for reason, mask in rejected.items():
        rejections[reason] = int((kept & mask).sum())
        kept &= ~mask
    entities, relations = row_keys(near.rows), row_relations(near)
    order = np.lexsort((relations[kept], entities[kept]))
    return Sampled(
        entities[kept][order].reshape(-1, 1),
        relations[kept][order].reshape(-1, 1),
        len(kept),
        rejections,
    )


@kernel
def _attempt_batch(walks, judge, work, room, state, key, first, batch, accepted):
    """Make attempts until the batch or the room for queries ends; return (accepted, attempts)."""
    n_constants, n_relations = state.anchors.shape[1], state.relations.shape[1]
    grounding = np.empty(n_constants + n_relations, np.int32)
    anchors, relations = grounding[:n_constants], grounding[n_constants:]
    registers = np.empty(len(walks.steps) + 1, np.int64)
    best = np.empty(judge.terms.orders.shape[1], np.int32)
    random = np.empty(1, np.uint64)
    for attempt in range(first, first + batch):
        seek(random, key, attempt)
        outcome = walk(walks, random, registers, grounding, n_constants)
        if outcome == GROUNDED:
            outcome = judge_grounding(judge.terms, state, grounding, best)
        if outcome == GROUNDED:
            outcome = judge_answers(judge, work, room, anchors, relations)
        if outcome != GROUNDED:
            state.rejections[outcome] += 1
            continue
        note_accepted(state, anchors, relations, best, accepted, attempt)
        accepted += 1
        if accepted == len(state.anchors):
            return accepted, attempt + 1
    return accepted, first + batch


@kernel
def note_accepted(state, anchors, relations, best, accepted, attempt):
    state.anchors[accepted] = anchors
    state.relations[accepted] = relations
    state.keys[accepted] = best
    state.table[row_slot(state.table, state.keys, best)] = accepted
    state.latest[0] = attempt + 1


@kernel
def _attempt_joins(
    walks, course, judge, desk, source, target, out, state, key, first, batch, accepted
):
    """As `_attempt_batch`, for a shape that is answered by joins."""
    n_constants, n_relations = state.anchors.shape[1], state.relations.shape[1]
    grounding = np.empty(n_constants + n_relations, np.int32)
    anchors, relations = grounding[:n_constants], grounding[n_constants:]
    registers = np.empty(len(course.nodes), np.int64)
    best = np.empty(judge.terms.orders.shape[1], np.int32)
    random = np.empty(1, np.uint64)
    for attempt in range(first, first + batch):
        seek(random, key, attempt)
        outcome = assign(walks, course, random, registers, grounding)
        if outcome == GROUNDED:
            outcome = judge_grounding(judge.terms, state, grounding, best)
        if outcome == GROUNDED:
            outcome, source, target, out = judge_joined(
                judge, desk, source, target, out, anchors, relations
            )
        if outcome != GROUNDED:
            state.rejections[outcome] += 1
            continue
        note_accepted(state, anchors, relations, best, accepted, attempt)
        accepted += 1
        if accepted == len(state.anchors):
            return accepted, attempt + 1
    return accepted, first + batch
