"""Walks from an answer back to the anchors of a shape, which ground it (Ren and Leskovec, 2020)."""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import (
    PLACE_MASK,
    ROW_SHIFT,
    Edges,
    Incidence,
    incidence,
)
from clqa.kernels import kernel
from clqa.randomness import below, uniform
from clqa.trees import (
    Anchor,
    Complement,
    Everything,
    Intersect,
    Node,
    Project,
    Unite,
    Vector,
    branches,
)

DRAWS = ("answers", "relations", "edges")
INVERSE_UNDO = ("chain", "everywhere", "allowed")

# How a walk ends: the places of these reasons in `judgements.REASONS`, or with a grounding.
GROUNDED, DEAD_END, ROUND_TRIP, NO_HARD, NOTHING_RETRACTED = range(-1, 4)
_REDRAWS = 40

# Steps of a walk, one row each: either fix a constant (column) to a register, or draw a neighbour
# of a register into another one through a relation (column), in the direction of `heads` or
# `tails`, with the step before it on the same path, or -1, for the rule against round trips.
_FIX, _DRAW = 0, 1


def walk_steps(root: Node, across_branches: bool, must_change: tuple[int, ...]) -> np.ndarray:
    """The walk from an answer to the anchors, (n_steps, 8) int32.

    Columns: kind, register, column of the constant or relation, register of the neighbour, whether
    the atom is walked from its head, and the step drawn before on the same path; then how the walk
    ends if no atom of this kind has a missing edge, or -1, and whether this is the last such atom.
    A path ends at an intersection of several branches or a union, unless `across_branches`.

    Parameters
    ----------
    must_change : tuple of int
        `NO_HARD` if an answer must be hard: without a missing edge in an atom that is not negated
        none is. `NOTHING_RETRACTED` if one must be retracted, which takes a missing edge in a
        negated atom. Where all such atoms start at an anchor, the walk sees it.
    """
    steps: list[list[int]] = []
    registers = iter(range(1, 1 << 20))
    anchored = dict.fromkeys(must_change, True)

    def visit(node: Node, register: int, before: int, odd: bool) -> None:
        match node:
            case Anchor(constant):
                steps.append([_FIX, register, constant, 0, 0, -1, -1, 0])
            case Project(inner, relation, reverse, flipped):
                neighbour, end = next(registers), NOTHING_RETRACTED if odd ^ flipped else NO_HARD
                steps.append([_DRAW, register, relation, neighbour, int(reverse), before, end, 0])
                if end in anchored:
                    anchored[end] &= isinstance(inner, Anchor)
                visit(inner, neighbour, len(steps) - 1, odd)
            case Complement(inner):
                visit(inner, register, before, not odd)
            case Intersect(children) | Unite(children):
                is_chain = isinstance(node, Intersect) and len(branches(node)) == 1
                for child in children:
                    visit(child, register, before if is_chain or across_branches else -1, odd)
            case Everything() | Vector():
                pass

    visit(root, 0, -1, False)
    last = {step[6]: k for k, step in enumerate(steps)}
    for k, step in enumerate(steps):
        step[7] = int(last[step[6]] == k)
        if not anchored.get(step[6], False):
            step[6] = -1
    return np.array(steps, np.int32).reshape(-1, 8)


class Ways(NamedTuple):
    """Edges by the entity that a step starts from: to its heads, or to its tails.

    The bit of an edge tells whether its other end lacks an edge of its relation in the observed
    graph: whether an atom can change that starts there.
    """

    heads: Incidence
    tails: Incidence


class Walk(NamedTuple):
    """A shape's walk over a graph, for the kernel.

    Attributes
    ----------
    full, missing : Ways
        Edges that steps are drawn from: all, or those that the observed graph lacks.
    inverse : (n_relations,) int32
    starts : (n_starts,) int32
        Entities that an edge leads to.
    edges, edge_starts : (n_edges, 3) int64, (n_relations_present + 1,) int64
        Edges as head, relation, tail by relation, where an edge is drawn first; entities are as in
        the edges of `Ways`.
    steps : (n_steps, 8) int32
    draw : int
        Place in `DRAWS`.
    ban_round_trips : bool
    missing_share : float
        Probability that a step is drawn from the missing edges.
    """

    full: Ways
    missing: Ways
    inverse: np.ndarray
    starts: np.ndarray
    edges: np.ndarray
    edge_starts: np.ndarray
    steps: np.ndarray
    draw: int
    ban_round_trips: bool
    missing_share: float


def changing(edges: Edges, n: int) -> np.ndarray:
    """Whether the head, and the tail, of each edge lacks an edge of its relation, (n_edges, 2)."""
    relations = edges.triples[:, 1].astype(np.int64) * n
    keys = [relations + edges.triples[:, column] for column in (0, 2)]
    return np.column_stack([np.isin(rows, rows[~edges.observed]) for rows in keys])


def ways(edges: Edges, changes: np.ndarray, n: int) -> Ways:
    """Edges by entity, in both directions, with what `changing` tells of each."""
    heads, relations, tails = edges.triples.T
    return Ways(
        incidence(tails, relations, heads, changes[:, 0], n),
        incidence(heads, relations, tails, changes[:, 1], n),
    )


def plan_walk(
    steps, edges: Edges, changes, full: Ways, missing: Ways, inverse, draw, ban, missing_share
) -> Walk:
    """Prepare walks of a shape; the arguments are as in `Walk`, with `draw` by its name."""
    first = edges.triples[: len(edges.triples) if draw != "answers" else 0].astype(np.int64)
    first[:, [0, 2]] = first[:, [0, 2]] << 1 | changes[: len(first)]
    first = np.ascontiguousarray(first[np.argsort(first[:, 1], kind="stable")])
    relation_starts = np.flatnonzero(np.diff(first[:, 1], prepend=-1))
    return Walk(
        full=full,
        missing=missing,
        inverse=inverse,
        starts=np.flatnonzero(np.diff(full.heads.entity_rows)).astype(np.int32),
        edges=first,
        edge_starts=np.append(relation_starts, len(first)).astype(np.int64),
        steps=steps,
        draw=DRAWS.index(draw),
        ban_round_trips=ban,
        missing_share=missing_share,
    )


@kernel
def draw_edge(inputs, random):
    """Place of an edge, drawn evenly or after its relation; -1 if there is none."""
    first, last = np.int64(0), np.int64(len(inputs.edges))
    if last == 0:
        return np.int64(-1)
    if inputs.draw == 1:
        kind = below(random, len(inputs.edge_starts) - 1)
        first, last = inputs.edge_starts[kind], inputs.edge_starts[kind + 1]
    return first + below(random, last - first)


@kernel
def walk(inputs, random, registers, grounding, n_constants):
    """Ground the shape from an answer backwards.

    Parameters
    ----------
    registers : (n_registers,) int64
        Overwritten: entities, as in the edges of `Ways`.

    Returns
    -------
    end : int64
    """
    grounding[:] = -1
    forced, changing = np.int64(-1), np.int64(0)
    if inputs.draw == 0:
        if len(inputs.starts) == 0:
            return np.int64(DEAD_END)
        registers[0] = inputs.starts[below(random, len(inputs.starts))] << 1
    else:
        forced = draw_edge(inputs, random)
        if forced < 0:
            return np.int64(DEAD_END)
        # The first step starts from the answer, which is the edge's tail, or its head in reverse.
        registers[0] = inputs.edges[forced, 0 if inputs.steps[0, 4] else 2]
    for k in range(len(inputs.steps)):
        step = inputs.steps[k]
        if step[0] == _FIX:
            entity, held = np.int32(registers[step[1]] >> 1), grounding[step[2]]
            if held >= 0 and held != entity:
                return np.int64(DEAD_END)
            grounding[step[2]] = entity
            continue
        column = n_constants + step[2]
        if k == 0 and forced >= 0:
            grounding[column] = inputs.edges[forced, 1]
            registers[step[3]] = inputs.edges[forced, 2 if step[4] else 0]
        else:
            end = _draw_neighbour(inputs, random, registers, grounding, step, column, n_constants)
            if end != GROUNDED:
                return end
        if step[6] >= 0:
            changing |= (registers[step[3]] & 1) << np.int64(step[6])
            if step[7] and not changing >> np.int64(step[6]) & 1:
                return np.int64(step[6])
    return np.int64(GROUNDED)


@kernel
def _draw_neighbour(inputs, random, registers, grounding, step, column, n_constants):
    """Draw a relation that ends in a register's entity, evenly by type, then a neighbour."""
    use_missing = inputs.missing_share > 0 and uniform(random) < inputs.missing_share
    edges = inputs.missing if use_missing else inputs.full
    near = edges.tails if step[4] else edges.heads
    entity = registers[step[1]] >> 1
    first, last = near.entity_rows[entity], near.entity_rows[entity + 1]
    if first == last:
        return np.int64(DEAD_END)
    banned = np.int32(-1)
    if inputs.ban_round_trips and step[5] >= 0:
        before = inputs.steps[step[5]]
        relation = grounding[n_constants + before[2]]
        banned = relation if before[4] != step[4] else inputs.inverse[relation]
    for _ in range(_REDRAWS):
        row = first + below(random, last - first)
        relation = np.int32(near.rows[row] >> np.uint64(ROW_SHIFT))
        held = grounding[column]
        if relation != banned and (held < 0 or held == relation):
            mask = np.uint64(PLACE_MASK)
            begin = np.int64(near.rows[row] & mask)
            end = np.int64(near.rows[row + 1] & mask)
            registers[step[3]] = near.edges[begin + below(random, end - begin)]
            grounding[column] = relation
            return np.int64(GROUNDED)
    return np.int64(ROUND_TRIP)
