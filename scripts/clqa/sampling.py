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
    find_row,
    missing_edges,
    row_keys,
    row_places,
    row_relations,
    split_edges,
    view_of,
)
from clqa.errors import InputError
from clqa.evaluation import evaluate
from clqa.formulas import Formula, canonical, to_text
from clqa.graphs import Graph
from clqa.kernels import kernel
from clqa.plans import Anchor, Complement, Intersect, Node, Plan, Project, Unite, plan
from clqa.randomness import mixed, seek, stream_key
from clqa.sets import (
    BOOLEAN,
    COST,
    FREE_OF_COST,
    collect,
    look_up,
    scratch,
    tally,
)
from clqa.walks import DRAWS, GROUNDED, INVERSE_UNDO, Walk, Ways, plan_walk, walk, ways

NEGATION = ("must_retract", "must_change", "any")

# Why an attempt is rejected, in the order in which the rules are tried.
REASONS = (
    "dead_end",
    "round_trip",
    "duplicate_branches",
    "duplicate_query",
    "no_hard_answers",
    "no_answers",
    "too_many_hard",
    "too_many_easy",
    "too_many_retracted",
    "negation_retracts_nothing",
    "negation_changes_nothing",
    "too_few_links",
)
(
    _DEAD_END,
    _ROUND_TRIP,
    _DUPLICATE_BRANCHES,
    _DUPLICATE_QUERY,
    _NO_HARD,
    _NO_ANSWERS,
    _MANY_HARD,
    _MANY_EASY,
    _MANY_RETRACTED,
    _NOTHING_RETRACTED,
    _NOTHING_CHANGED,
    _FEW_LINKS,
) = range(len(REASONS))
_ACCEPTED = GROUNDED
_BATCH = 1 << 14
_NO_CAP = np.iinfo(np.int64).max


class Ground(NamedTuple):
    """The graphs of a split, laid out for sampling; shared by all shapes.

    Attributes
    ----------
    both, missing : View
        Observed and full graph, and the edges that only the full one has, to answer queries.
    full_ways, missing_ways : Ways
        The same edges, to draw walks from.
    """

    graph: Graph
    split: str
    edges: Edges
    both: View
    missing: View
    full_ways: Ways
    missing_ways: Ways


class Rules(NamedTuple):
    """What an accepted query must satisfy; see `config/README.md` for the words of each option."""

    draw: str = "answers"
    inverse_undo: str = "chain"
    distinct_branches: bool = True
    require_hard: bool = True
    negation: str = "must_retract"
    max_hard: int | None = 100
    max_easy: int | None = None
    max_retracted: int | None = 100
    min_links: int = 1


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
    lost = missing_edges(edges)
    return Ground(
        graph=graph,
        split=split,
        edges=edges,
        both=view_of(graph, edges),
        missing=view_of(graph, lost),
        full_ways=ways(graph, edges),
        missing_ways=ways(graph, lost),
    )


def sample_queries(
    ground: Ground,
    formula: Formula,
    count: int,
    rules: Rules,
    tries: int,
    stream: tuple,
    progress: Callable[[int], None] = lambda accepted: None,
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

    Raises
    ------
    InputError
        If an option has an unknown value or more missing links are asked for than the shape has.
    """
    shape = plan(formula)
    _check(rules, formula, shape)
    text, orders = canonical(formula)
    if ground.split == "train":
        negation = "must_change" if rules.negation == "must_retract" else rules.negation
        rules = rules._replace(max_hard=None, max_retracted=None, negation=negation)
    inputs = _inputs(ground, shape, rules, orders)
    state = _State(
        anchors=np.empty((count, shape.n_constants), np.int32),
        relations=np.empty((count, shape.n_relations), np.int32),
        keys=np.empty((count, orders.shape[1]), np.int32),
        table=np.full(1 << max(4, (2 * count - 1).bit_length()), -1, np.int64),
        rejections=np.zeros(len(REASONS), np.int64),
    )
    programs = shape.program, shape.normal_program, shape.positive_program
    n = ground.graph.n_entities
    work = scratch(n, *programs)
    room = _Room(np.empty(n, np.int32), np.empty(n, np.uint8), np.zeros(4, np.int64))
    key = stream_key(*stream, text)
    accepted = done = 0
    while accepted < count and done < tries:
        batch = min(_BATCH, tries - done)
        accepted, done = _attempt_batch(inputs, work, room, state, key, done, batch, accepted)
        progress(accepted)
    rejections = dict(zip(REASONS, state.rejections.tolist(), strict=True))
    return Sampled(state.anchors[:accepted], state.relations[:accepted], done, rejections)


def all_one_atom_queries(ground: Ground, formula: Formula, rules: Rules) -> Sampled:
    """Every query of a shape of one atom that keeps the rules, in order of anchor and relation.

    Raises
    ------
    InputError
        If the formula has more than one atom.
    """
    root = plan(formula).root
    if not (isinstance(root, Project) and isinstance(root.inner, Anchor) and not root.negated):
        raise InputError(f"formula '{to_text(formula)}': only a shape of one atom is exhaustive")
    near = ground.both.heads if root.reverse else ground.both.tails
    starts = row_places(near.rows)
    observed = np.append(0, np.cumsum(near.edges & 1))
    easy = np.diff(observed[starts])
    hard = np.diff(starts) - easy
    rejected = {
        "no_hard_answers": (hard == 0) & rules.require_hard,
        "too_many_hard": hard > _cap(rules.max_hard if ground.split != "train" else None),
        "too_many_easy": easy > _cap(rules.max_easy),
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


def _check(rules: Rules, formula: Formula, shape: Plan) -> None:
    for name, known in (("draw", DRAWS), ("inverse_undo", INVERSE_UNDO), ("negation", NEGATION)):
        value = getattr(rules, name)
        if value not in known:
            raise InputError(f"sampling option {name}: '{value}' is not one of {', '.join(known)}")
    if rules.min_links > shape.most_links:
        raise InputError(
            f"sampling option min_links: {rules.min_links}, but answers of "
            f"'{to_text(formula)}' need {shape.most_links} links at most"
        )


def _cap(value: int | None) -> int:
    return _NO_CAP if value is None else value


def _changing_rows(shape: Plan, negated: bool) -> np.ndarray:
    """Anchored atoms of which one must have a missing edge if the answers are to change.

    Without a missing edge in an atom that is not negated no answer is hard, without one in a
    negated atom none is retracted. Where all such atoms start at an anchor, this can be seen before
    the query is answered.

    Returns
    -------
    rows : (n_atoms, 3) int32
        Columns of the relation and of the constant, and whether the atom is walked from its tail;
        empty if some atom starts elsewhere.
    """
    rows: list[tuple[int, int, int]] = []
    anchored = True

    def visit(node: Node, odd: bool) -> None:
        nonlocal anchored
        match node:
            case Project(inner, relation, reverse, flipped):
                if (odd ^ flipped) == negated:
                    anchored &= isinstance(inner, Anchor)
                    constant = inner.constant if isinstance(inner, Anchor) else 0
                    rows.append((relation, constant, int(reverse)))
                visit(inner, odd)
            case Complement(inner):
                visit(inner, not odd)
            case Intersect(children) | Unite(children):
                for child in children:
                    visit(child, odd)

    visit(shape.root, False)
    return np.array(rows if anchored else [], np.int32).reshape(-1, 3)


class _Inputs(NamedTuple):
    walk: Walk
    both: View
    missing: View
    positive_rows: np.ndarray
    negated_rows: np.ndarray
    program: np.ndarray
    orders: np.ndarray
    normal_program: np.ndarray
    positive_program: np.ndarray
    caps: np.ndarray
    distinct: bool
    require_hard: bool
    negation: int
    min_links: int


class _Room(NamedTuple):
    ids: np.ndarray
    values: np.ndarray
    counts: np.ndarray


class _State(NamedTuple):
    anchors: np.ndarray
    relations: np.ndarray
    keys: np.ndarray
    table: np.ndarray
    rejections: np.ndarray


def _inputs(ground: Ground, shape: Plan, rules: Rules, orders: np.ndarray) -> _Inputs:
    has_negation = not np.array_equal(shape.positive_program, shape.normal_program)
    negation = rules.negation if has_negation else "any"
    share = rules.min_links / shape.most_links if rules.min_links > 1 else 0.0
    caps = [_cap(cap) for cap in (rules.max_hard, rules.max_easy, rules.max_retracted)]
    return _Inputs(
        walk=plan_walk(
            shape.root,
            ground.edges,
            ground.full_ways,
            ground.missing_ways,
            ground.graph.inverse,
            rules.draw,
            rules.inverse_undo,
            share,
        ),
        both=ground.both,
        missing=ground.missing,
        positive_rows=_changing_rows(shape, negated=False),
        negated_rows=_changing_rows(shape, negated=True),
        program=shape.program,
        orders=orders,
        normal_program=shape.normal_program,
        positive_program=shape.positive_program,
        caps=np.array(caps, np.int64),
        distinct=rules.distinct_branches,
        require_hard=rules.require_hard,
        negation=NEGATION.index(negation),
        min_links=rules.min_links,
    )


@kernel
def _attempt_batch(inputs, work, room, state, key, first, batch, accepted):
    """Make attempts until the batch or the room for queries ends; return (accepted, attempts)."""
    n_constants, n_relations = state.anchors.shape[1], state.relations.shape[1]
    grounding = np.empty(n_constants + n_relations, np.int32)
    registers = np.empty(len(inputs.walk.steps) + 1, np.int32)
    best = np.empty(inputs.orders.shape[1], np.int32)
    random = np.empty(1, np.uint64)
    for attempt in range(first, first + batch):
        seek(random, key, attempt)
        outcome = walk(inputs.walk, random, registers, grounding, n_constants)
        anchors, relations = grounding[:n_constants], grounding[n_constants:]
        if outcome == _ACCEPTED:
            outcome = _judge_atoms(inputs, anchors, relations)
        if outcome == _ACCEPTED:
            outcome = _judge_grounding(inputs, state, grounding, best)
        if outcome == _ACCEPTED:
            outcome = _judge_answers(inputs, work, room, anchors, relations)
        if outcome != _ACCEPTED:
            state.rejections[outcome] += 1
            continue
        state.anchors[accepted] = grounding[:n_constants]
        state.relations[accepted] = grounding[n_constants:]
        state.keys[accepted] = best
        state.table[_find(state, best)] = accepted
        accepted += 1
        if accepted == len(state.anchors):
            return accepted, attempt + 1
    return accepted, first + batch


@kernel
def _none_changes(missing, rows, anchors, relations):
    """Whether the listed atoms have no missing edge, so that what depends on them cannot change."""
    for k in range(len(rows)):
        near = missing.heads if rows[k, 2] else missing.tails
        first, last = find_row(near, anchors[rows[k, 1]], relations[rows[k, 0]])
        if last > first:
            return False
    return len(rows) > 0


@kernel
def _judge_atoms(inputs, anchors, relations):
    """Reject at once what no missing edge of an anchored atom can change as it must."""
    missing = inputs.missing
    if inputs.require_hard and _none_changes(missing, inputs.positive_rows, anchors, relations):
        return _NO_HARD
    must_retract = inputs.negation == 0
    if must_retract and _none_changes(missing, inputs.negated_rows, anchors, relations):
        return _NOTHING_RETRACTED
    return _ACCEPTED


@kernel
def _judge_grounding(inputs, state, grounding, best):
    """Put the grounding into canonical order and look for repeated branches and queries."""
    orders = inputs.orders
    for j in range(orders.shape[1]):
        best[j] = grounding[orders[0, j]]
    for i in range(1, orders.shape[0]):
        difference = 0
        for j in range(orders.shape[1]):
            difference = grounding[orders[i, j]] - best[j]
            if difference != 0:
                break
        if difference == 0 and inputs.distinct:
            return _DUPLICATE_BRANCHES
        if difference < 0:
            for j in range(orders.shape[1]):
                best[j] = grounding[orders[i, j]]
    return _ACCEPTED if state.table[_find(state, best)] < 0 else _DUPLICATE_QUERY


@kernel
def _find(state, wanted):
    """Place of a canonical grounding in the hash table, or of the gap where it belongs."""
    mask = np.uint64(len(state.table) - 1)
    hashed = np.uint64(0)
    for value in wanted:
        hashed = mixed(hashed + np.uint64(value) + np.uint64(0x9E3779B97F4A7C15))
    place = hashed & mask
    while state.table[place] >= 0:
        held = state.keys[state.table[place]]
        same = True
        for j in range(len(wanted)):
            if held[j] != wanted[j]:
                same = False
                break
        if same:
            break
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def _judge_answers(inputs, work, room, anchors, relations):
    """Answer the query on both graphs of the split and apply the rules on its answers."""
    graphs, counts, mode = inputs.both, room.counts, np.int64(BOOLEAN)
    evaluate(graphs, work, inputs.program, anchors, relations, mode)
    tally(graphs, work, counts, mode)
    retracted, hard, kept = counts[1], counts[2], counts[3]
    if hard == 0 and inputs.require_hard:
        return _NO_HARD
    if hard + kept == 0:
        return _NO_ANSWERS
    if hard > inputs.caps[0]:
        return _MANY_HARD
    if kept + retracted > inputs.caps[1]:
        return _MANY_EASY
    if retracted > inputs.caps[2]:
        return _MANY_RETRACTED
    if inputs.negation == 0 and retracted == 0:
        return _NOTHING_RETRACTED
    if inputs.min_links > 1 and _few_links(inputs, work, room, anchors, relations, hard):
        return _FEW_LINKS
    if inputs.negation == 1:
        evaluate(graphs, work, inputs.positive_program, anchors, relations, mode)
        tally(graphs, work, counts, mode)
        if counts[2] + counts[3] == hard + kept:
            return _NOTHING_CHANGED
    return _ACCEPTED


@kernel
def _few_links(inputs, work, room, anchors, relations, hard):
    """Whether some hard answer, of those in slot 0, needs fewer missing links than asked for."""
    graphs, ids, values = inputs.both, room.ids[:hard], room.values[:hard]
    collect(graphs, work, 3, 2, ids, 0, np.int64(BOOLEAN))
    cost = np.int64(COST)
    evaluate(graphs, work, inputs.normal_program, anchors, relations, cost)
    look_up(graphs, work, ids, values, cost)
    return FREE_OF_COST - values.max() < inputs.min_links
