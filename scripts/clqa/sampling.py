"""Answer-first sampling of queries (Ren and Leskovec, 2020) with every rule as a named option.

An attempt draws an answer entity and walks the shape from it back to the anchors, over edges of
the full graph; then the query is answered on both graphs of the split and the rules decide.
Attempt i of a shape uses its own random stream, keyed by (seed, query set, canonical formula, i),
so that the outcome does not depend on batches, processes or cores.
"""

import hashlib
import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from clqa.errors import InputError
from clqa.evaluation import (
    BOOLEAN,
    COST,
    FREE_OF_COST,
    collect,
    evaluate,
    find_row,
    look_up,
    scratch,
    tally,
)
from clqa.formulas import Formula, canonical, to_text
from clqa.graphs import (
    FULL,
    PLACE_MASK,
    RELATION_SHIFT,
    Graph,
    View,
    missing_view,
    sorted_unique,
    split_view,
)
from clqa.plans import (
    Anchor,
    Complement,
    Everything,
    Intersect,
    Node,
    Plan,
    Project,
    Unite,
    plan,
)

DRAWS = ("answers", "relations", "edges")
INVERSE_UNDO = ("chain", "everywhere", "allowed")
NEGATION = ("must_retract", "must_change", "any")

# Why an attempt is rejected, in the order in which the rules are tried.
REASONS = (
    "dead_end",
    "round_trip",
    "duplicate_branches",
    "duplicate_query",
    "no_answers",
    "no_hard_answers",
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
    _NO_ANSWERS,
    _NO_HARD,
    _MANY_HARD,
    _MANY_EASY,
    _MANY_RETRACTED,
    _NOTHING_RETRACTED,
    _NOTHING_CHANGED,
    _FEW_LINKS,
) = range(len(REASONS))
_ACCEPTED = -1
_REDRAWS = 40
_BATCH = 1 << 14
_NO_CAP = np.iinfo(np.int64).max


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


def sample_queries(
    graph: Graph,
    split: str,
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
    graph : Graph
    split : str
        Names the observed and the full graph.
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
    if split == "train":
        negation = "must_change" if rules.negation == "must_retract" else rules.negation
        rules = rules._replace(max_hard=None, max_retracted=None, negation=negation)
    inputs = _inputs(graph, split, shape, rules, orders)
    state = _State(
        anchors=np.empty((count, shape.n_constants), np.int32),
        relations=np.empty((count, shape.n_relations), np.int32),
        keys=np.empty((count, orders.shape[1]), np.int32),
        table=np.full(1 << max(4, (2 * count - 1).bit_length()), -1, np.int64),
        rejections=np.zeros(len(REASONS), np.int64),
    )
    programs = shape.program, shape.normal_program, shape.positive_program
    work = scratch(graph.n_entities, *programs)
    room = _Room(np.empty(graph.n_entities, np.int32), np.empty(graph.n_entities, np.uint8))
    key = _stream_key(*stream, text)
    accepted = done = 0
    while accepted < count and done < tries:
        batch = min(_BATCH, tries - done)
        accepted, done = _attempt_batch(inputs, work, room, state, key, done, batch, accepted)
        progress(accepted)
    rejections = dict(zip(REASONS, state.rejections.tolist(), strict=True))
    return Sampled(state.anchors[:accepted], state.relations[:accepted], done, rejections)


def all_one_atom_queries(graph: Graph, split: str, formula: Formula, rules: Rules) -> Sampled:
    """Every query of a shape of one atom that keeps the rules, in order of anchor and relation.

    Raises
    ------
    InputError
        If the formula has more than one atom.
    """
    root = plan(formula).root
    if not (isinstance(root, Project) and isinstance(root.inner, Anchor) and not root.negated):
        raise InputError(f"formula '{to_text(formula)}': only a shape of one atom is exhaustive")
    view = split_view(graph, split)
    near = view.heads if root.reverse else view.tails
    starts = (near.rows & np.uint64(PLACE_MASK)).astype(np.int64)
    observed = np.append(0, np.cumsum(near.edges & 1))
    easy = np.diff(observed[starts])
    hard = np.diff(starts) - easy
    rejected = {
        "no_hard_answers": (hard == 0) & rules.require_hard,
        "too_many_hard": hard > _cap(rules.max_hard if split != "train" else None),
        "too_many_easy": easy > _cap(rules.max_easy),
    }
    kept = np.ones(len(hard), bool)
    rejections = dict.fromkeys(REASONS, 0)
    for reason, mask in rejected.items():
        rejections[reason] = int((kept & mask).sum())
        kept &= ~mask
    rows_of_entity = np.diff(near.entities[:, 0].astype(np.int64))
    entities = np.repeat(np.arange(graph.n_entities, dtype=np.int32), rows_of_entity)
    relations = (near.rows[:-1] >> np.uint64(RELATION_SHIFT)).astype(np.int32)
    return Sampled(
        entities[kept].reshape(-1, 1),
        relations[kept].reshape(-1, 1),
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


def _stream_key(*parts) -> np.uint64:
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


# Steps of a walk, one row each: either fix a constant (column) to a register, or draw a neighbour
# of a register into another one through a relation (column), in the direction of `heads` or
# `tails`, with the step before it on the same path, or -1, for the rule against round trips.
_FIX, _DRAW = 0, 1


def walk_steps(root: Node, across_branches: bool) -> np.ndarray:
    """The walk from an answer to the anchors, (n_steps, 6) int32.

    Columns: kind, register, column of the constant or relation, register of the neighbour, whether
    the atom is walked from its head, and the step drawn before on the same path. The path ends at
    an intersection or union, unless `across_branches`.
    """
    steps: list[tuple[int, ...]] = []
    registers = iter(range(1, 1 << 20))

    def visit(node: Node, register: int, before: int) -> None:
        match node:
            case Anchor(constant):
                steps.append((_FIX, register, constant, 0, 0, -1))
            case Project(inner, relation, reverse, _):
                neighbour = next(registers)
                steps.append((_DRAW, register, relation, neighbour, int(reverse), before))
                visit(inner, neighbour, len(steps) - 1)
            case Complement(inner):
                visit(inner, register, before)
            case Intersect(children) | Unite(children):
                for child in children:
                    visit(child, register, before if across_branches else -1)
            case Everything():
                pass

    visit(root, 0, -1)
    return np.array(steps, np.int32).reshape(-1, 6)


def changing_rows(shape: Plan, negated: bool) -> np.ndarray:
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
    both: View
    missing: View
    inverse: np.ndarray
    starts: np.ndarray
    edges: np.ndarray
    edge_starts: np.ndarray
    walk: np.ndarray
    orders: np.ndarray
    positive_rows: np.ndarray
    negated_rows: np.ndarray
    program: np.ndarray
    normal_program: np.ndarray
    positive_program: np.ndarray
    caps: np.ndarray
    draw: int
    ban_round_trips: bool
    distinct: bool
    require_hard: bool
    negation: int
    min_links: int
    missing_share: float


class _Room(NamedTuple):
    ids: np.ndarray
    values: np.ndarray


class _State(NamedTuple):
    anchors: np.ndarray
    relations: np.ndarray
    keys: np.ndarray
    table: np.ndarray
    rejections: np.ndarray


def _inputs(graph: Graph, split: str, shape: Plan, rules: Rules, orders: np.ndarray) -> _Inputs:
    view = split_view(graph, split)
    searching = rules.min_links > 1
    edges = np.empty((0, 3), np.int32)
    if rules.draw != "answers":
        edges = np.concatenate([edges, *(graph.triples[s] for s in FULL[split])])
        edges = sorted_unique(edges[:, [1, 0, 2]])
    relation_starts = np.flatnonzero(np.diff(edges[:, 0], prepend=-1))
    has_negation = not np.array_equal(shape.positive_program, shape.normal_program)
    caps = [_cap(cap) for cap in (rules.max_hard, rules.max_easy, rules.max_retracted)]
    return _Inputs(
        both=view,
        missing=missing_view(graph, split),
        inverse=graph.inverse,
        starts=np.flatnonzero(np.diff(view.heads.entities[:, 0])).astype(np.int32),
        edges=edges,
        edge_starts=np.append(relation_starts, len(edges)).astype(np.int64),
        walk=walk_steps(shape.root, rules.inverse_undo == "everywhere"),
        orders=orders,
        positive_rows=changing_rows(shape, negated=False),
        negated_rows=changing_rows(shape, negated=True),
        program=shape.program,
        normal_program=shape.normal_program,
        positive_program=shape.positive_program,
        caps=np.array(caps, np.int64),
        draw=DRAWS.index(rules.draw),
        ban_round_trips=rules.inverse_undo != "allowed",
        distinct=rules.distinct_branches,
        require_hard=rules.require_hard,
        negation=NEGATION.index(rules.negation) if has_negation else NEGATION.index("any"),
        min_links=rules.min_links,
        missing_share=rules.min_links / max(shape.most_links, 1) if searching else 0.0,
    )


@njit(cache=True)
def _mixed(z):
    """Finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def _uniform(random):
    """Next number of a stream in [0, 1), with 53 random bits."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(_mixed(random[0]) >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def _below(random, bound):
    return np.int64(_uniform(random) * bound)


@njit(cache=True, nogil=True)
def _attempt_batch(inputs, work, room, state, key, first, batch, accepted):
    """Make attempts until the batch or the room for queries ends; return (accepted, attempts)."""
    n_constants, n_relations = state.anchors.shape[1], state.relations.shape[1]
    grounding = np.empty(n_constants + n_relations, np.int32)
    registers = np.empty(len(inputs.walk) + 1, np.int32)
    best = np.empty(inputs.orders.shape[1], np.int32)
    random = np.empty(1, np.uint64)
    counts = np.zeros(4, np.int64)
    for attempt in range(first, first + batch):
        random[0] = _mixed(key + _mixed(np.uint64(attempt)))
        outcome = _walk(inputs, random, registers, grounding, n_constants)
        if outcome == _ACCEPTED:
            outcome = _judge_grounding(inputs, state, grounding, best)
        if outcome == _ACCEPTED:
            anchors, relations = grounding[:n_constants], grounding[n_constants:]
            outcome = _judge_answers(inputs, work, room, anchors, relations, counts)
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


@njit(cache=True)
def _walk(inputs, random, registers, grounding, n_constants):
    """Ground the shape from an answer backwards."""
    grounding[:] = -1
    forced = np.int64(-1)
    if inputs.draw == 0:
        if len(inputs.starts) == 0:
            return _DEAD_END
        registers[0] = inputs.starts[_below(random, len(inputs.starts))]
    else:
        first, last = np.int64(0), np.int64(len(inputs.edges))
        if last == 0:
            return _DEAD_END
        if inputs.draw == 1:
            kind = _below(random, len(inputs.edge_starts) - 1)
            first, last = inputs.edge_starts[kind], inputs.edge_starts[kind + 1]
        forced = first + _below(random, last - first)
        registers[0] = inputs.edges[forced, 2]
    for k in range(len(inputs.walk)):
        step = inputs.walk[k]
        if step[0] == _FIX:
            held = grounding[step[2]]
            if held >= 0 and held != registers[step[1]]:
                return _DEAD_END
            grounding[step[2]] = registers[step[1]]
            continue
        column = n_constants + step[2]
        if forced >= 0 and step[4] == 0:
            grounding[column] = inputs.edges[forced, 0]
            registers[step[3]] = inputs.edges[forced, 1]
            forced = np.int64(-1)
            continue
        outcome = _draw_neighbour(inputs, random, registers, grounding, step, column, n_constants)
        if outcome != _ACCEPTED:
            return outcome
    return _ACCEPTED


@njit(cache=True)
def _draw_neighbour(inputs, random, registers, grounding, step, column, n_constants):
    """Draw a relation that ends in a register's entity, evenly by type, then a neighbour."""
    use_missing = inputs.missing_share > 0 and _uniform(random) < inputs.missing_share
    view = inputs.missing if use_missing else inputs.both
    near = view.tails if step[4] else view.heads
    entity = registers[step[1]]
    first = np.int64(near.entities[entity, 0])
    last = np.int64(near.entities[entity + 1, 0])
    if first == last:
        return _DEAD_END
    banned = np.int32(-1)
    if inputs.ban_round_trips and step[5] >= 0:
        before = inputs.walk[step[5]]
        relation = grounding[n_constants + before[2]]
        banned = relation if before[4] != step[4] else inputs.inverse[relation]
    for _ in range(_REDRAWS):
        row = first + _below(random, last - first)
        relation = np.int32(near.rows[row] >> np.uint64(RELATION_SHIFT))
        held = grounding[column]
        if relation != banned and (held < 0 or held == relation):
            mask = np.uint64(PLACE_MASK)
            begin = np.int64(near.rows[row] & mask)
            end = np.int64(near.rows[row + 1] & mask)
            registers[step[3]] = near.edges[begin + _below(random, end - begin)] >> 1
            grounding[column] = relation
            return _ACCEPTED
    return _ROUND_TRIP


@njit(cache=True)
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


@njit(cache=True)
def _find(state, wanted):
    """Place of a canonical grounding in the hash table, or of the gap where it belongs."""
    mask = np.uint64(len(state.table) - 1)
    hashed = np.uint64(0)
    for value in wanted:
        hashed = _mixed(hashed + np.uint64(value) + np.uint64(0x9E3779B97F4A7C15))
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


@njit(cache=True)
def _none_changes(inputs, rows, anchors, relations):
    """Whether the listed atoms have no missing edge, so that what depends on them cannot change."""
    for k in range(len(rows)):
        near = inputs.missing.heads if rows[k, 2] else inputs.missing.tails
        first, last = find_row(near, anchors[rows[k, 1]], relations[rows[k, 0]])
        if last > first:
            return False
    return len(rows) > 0


@njit(cache=True)
def _judge_answers(inputs, work, room, anchors, relations, counts):
    """Answer the query on both graphs of the split and apply the rules on its answers."""
    if inputs.require_hard and _none_changes(inputs, inputs.positive_rows, anchors, relations):
        return _NO_HARD
    if inputs.negation == 0 and _none_changes(inputs, inputs.negated_rows, anchors, relations):
        return _NOTHING_RETRACTED
    boolean = np.int64(BOOLEAN)
    evaluate(inputs.both, work, inputs.program, anchors, relations, boolean)
    tally(inputs.both, work, counts, boolean)
    retracted, hard, kept = counts[1], counts[2], counts[3]
    if hard + kept == 0:
        return _NO_ANSWERS
    if hard == 0 and inputs.require_hard:
        return _NO_HARD
    if hard > inputs.caps[0]:
        return _MANY_HARD
    if kept + retracted > inputs.caps[1]:
        return _MANY_EASY
    if retracted > inputs.caps[2]:
        return _MANY_RETRACTED
    if inputs.negation == 0 and retracted == 0:
        return _NOTHING_RETRACTED
    if inputs.min_links > 1:
        hard_ids, values = room.ids[:hard], room.values[:hard]
        collect(inputs.both, work, 3, 2, hard_ids, 0, boolean)
        cost = np.int64(COST)
        evaluate(inputs.both, work, inputs.normal_program, anchors, relations, cost)
        look_up(inputs.both, work, hard_ids, values, cost)
        for value in values:
            if FREE_OF_COST - value < inputs.min_links:
                return _FEW_LINKS
    if inputs.negation == 1:
        evaluate(inputs.both, work, inputs.positive_program, anchors, relations, boolean)
        tally(inputs.both, work, counts, boolean)
        if counts[2] + counts[3] == hard + kept:
            return _NOTHING_CHANGED
    return _ACCEPTED
