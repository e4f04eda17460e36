"""Walks that give an entity to every variable and constant of a formula with cycles.

From the first free variable on, one node after another is drawn over an edge that links it to a
node that has its entity; those with the most such links come first, so that a cycle closes as soon
as it can. All other atoms between the two take one of the relations that really link the pair; a
node is drawn again until each of them finds one. Negated atoms are walked like others, which makes
the assignment one that the negation strikes.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import PLACE_MASK, ROW_SHIFT
from clqa.formulas import Formula, atoms, symbols, variables
from clqa.kernels import inlined, kernel
from clqa.randomness import below, uniform
from clqa.sets import find_place
from clqa.walks import DEAD_END, GROUNDED, ROUND_TRIP, draw_edge

_REDRAWS = 40
# Columns of an atom: its two nodes, the column of its relation in a grounding, whether to prefer
# missing edges. What a relation must not be beside that of another atom.
_HEAD, _TAIL, _COLUMN, _MISSING = range(4)
_FREE, _NOT_SAME, _NOT_INVERSE = range(3)


class Course(NamedTuple):
    """The order in which the nodes of a formula are drawn.

    Attributes
    ----------
    nodes : (n_nodes,) int64
        Variables, then constants.
    columns : (n_nodes,) int64
        Of node i, its column in a grounding, -1 for variables.
    atoms : (n_atoms, 4) int64
    starts : (n_nodes + 1,) int64
        Atoms that link each node to those before it; the first of them is drawn.
    conflicts : (n_atoms, n_atoms) int64
    """

    nodes: np.ndarray
    columns: np.ndarray
    atoms: np.ndarray
    starts: np.ndarray
    conflicts: np.ndarray


def plan_course(
    formula: Formula, signs: list[bool], undo: str, must_retract: bool, draws_edge: bool
) -> Course:
    """Order the nodes of a formula for walks.

    Parameters
    ----------
    signs : list of bool
        For each atom from left to right whether it is positive.
    undo : str
        In `walks.INVERSE_UNDO`.
    must_retract : bool
        Whether negated atoms should stand on missing edges.
    draws_edge : bool
        Whether the walk starts from an edge, which is then one of a positive atom.
    """
    names = sorted(variables(formula), key=lambda name: (name[0] != "f", int(name[1:] or 0)))
    names += symbols(formula, "s")
    columns = {name: n for n, name in enumerate(symbols(formula, "s") + symbols(formula, "r"))}
    found = list(zip(atoms(formula), signs, strict=True))
    order, rows, starts = [names[0]], [], [0, 0]
    while len(order) < len(names):

        def rank(name):
            links = [sign for atom, sign in found if _joins(atom, name, order)]
            first = len(order) == 1 and draws_edge and not any(links)
            return (not links, first, -len(links), name[0] == "s", not all(links) or must_retract)

        node = min((name for name in names if name not in order), key=rank)
        links = [(atom, sign) for atom, sign in found if _joins(atom, node, order)]
        prefer_negated = must_retract and not (len(order) == 1 and draws_edge)
        rows += sorted(links, key=lambda link: link[1] == prefer_negated)
        order.append(node)
        starts.append(len(rows))
    place = {name: n for n, name in enumerate(names)}
    table = [
        (place[a.head], place[a.tail], columns[a.relation], int(must_retract and not sign))
        for a, sign in rows
    ]
    return Course(
        nodes=np.array([place[name] for name in order]),
        columns=np.array([columns.get(name, -1) for name in names]),
        atoms=np.array(table, np.int64).reshape(-1, 4),
        starts=np.array(starts, np.int64),
        conflicts=_conflicts([atom for atom, _ in rows], _degrees(formula), undo),
    )


def _degrees(formula: Formula) -> Counter:
    """How many atoms of relations each node has."""
    return Counter(end for atom in atoms(formula) for end in {atom.head, atom.tail})


def _joins(atom, name: str, others: list[str]) -> bool:
    """Whether the atom is between a node and one of some others."""
    ends = (atom.head, atom.tail)
    return name in ends and (ends[0] in others or ends[1] in others)


def _conflicts(rows, degrees, undo: str) -> np.ndarray:
    """Which pairs of atoms must not say the same, nor undo one another."""
    found = np.zeros((len(rows), len(rows)), np.int64)
    for i, one in enumerate(rows):
        for j, other in enumerate(rows[:i]):
            shared = {one.head, one.tail} & {other.head, other.tail}
            meets = [
                name
                for name in shared
                if name[0] == "e" and (undo == "everywhere" or degrees[name] == 2)
            ]
            if len(shared) == 2 or (meets and undo != "allowed"):
                alike = one.head == other.head or one.tail == other.tail
                found[i, j] = found[j, i] = _NOT_SAME if alike else _NOT_INVERSE
    return found


@kernel
def assign(walk, course, random, registers, grounding):
    """Ground a formula by giving entities to its nodes.

    Parameters
    ----------
    walk : Walk
        Its steps are not used.
    registers : (n_nodes,) int64
        Overwritten: the entity of each node.

    Returns
    -------
    end : int64
        As of `walks.walk`.
    """
    grounding[:] = -1
    forced = np.int64(-1)
    root = course.nodes[0]
    if walk.draw == 0:
        if len(walk.starts) == 0:
            return np.int64(DEAD_END)
        registers[root] = walk.starts[below(random, len(walk.starts))]
    else:
        forced = draw_edge(walk, random)
        if forced < 0:
            return np.int64(DEAD_END)
        is_tail = course.atoms[0, _TAIL] == root
        registers[root] = walk.edges[forced, 2 if is_tail else 0] >> 1
    for k in range(1, len(course.nodes)):
        end = np.int64(DEAD_END)
        for _ in range(_REDRAWS):
            end = _draw_node(walk, course, random, registers, grounding, k, forced)
            forced = np.int64(-1)
            if end == GROUNDED:
                break
            for a in range(course.starts[k], course.starts[k + 1]):
                grounding[course.atoms[a, _COLUMN]] = -1
        if end != GROUNDED:
            return end
        column = course.columns[course.nodes[k]]
        if column >= 0:
            grounding[column] = registers[course.nodes[k]]
    return np.int64(GROUNDED)


@kernel
def _draw_node(walk, course, random, registers, grounding, k, forced):
    """Draw the entity of a node, and relations for its atoms with the nodes before it."""
    node, first, last = course.nodes[k], course.starts[k], course.starts[k + 1]
    row = course.atoms[first]
    is_tail = row[_TAIL] == node
    column, relation, entity = row[_COLUMN], np.int64(-1), np.int64(-1)
    if forced >= 0:
        relation = walk.edges[forced, 1]
        entity = walk.edges[forced, 2 if is_tail else 0] >> 1
    else:
        known = registers[row[_HEAD] if is_tail else row[_TAIL]]
        near = _side(walk, random, row, is_tail, known)
        begin, end = near.entity_rows[known], near.entity_rows[known + 1]
        if begin == end:
            return np.int64(DEAD_END)
        place = begin + below(random, end - begin)
        relation = np.int64(near.rows[place] >> np.uint64(ROW_SHIFT))
        mask = np.uint64(PLACE_MASK)
        begin, end = np.int64(near.rows[place] & mask), np.int64(near.rows[place + 1] & mask)
        entity = np.int64(near.edges[begin + below(random, end - begin)] >> np.uint32(1))
    if not _is_allowed(walk, course, grounding, first, relation):
        return np.int64(ROUND_TRIP)
    registers[node] = entity
    grounding[column] = relation
    for a in range(first + 1, last):
        relation = np.int64(-1)
        if course.atoms[a, _MISSING]:
            relation = _draw_relation(walk, course, walk.missing, random, registers, grounding, a)
        if relation < 0:
            relation = _draw_relation(walk, course, walk.full, random, registers, grounding, a)
        if relation < 0:
            return np.int64(DEAD_END)
        grounding[course.atoms[a, _COLUMN]] = relation
    return np.int64(GROUNDED)


@inlined
def _side(walk, random, row, is_tail, known):
    """Edges that the next entity is drawn from."""
    use_missing = walk.missing_share > 0 and uniform(random) < walk.missing_share
    if row[_MISSING]:
        near = walk.missing.tails if is_tail else walk.missing.heads
        if near.entity_rows[known] < near.entity_rows[known + 1]:
            return near
    edges = walk.missing if use_missing else walk.full
    return edges.tails if is_tail else edges.heads


@inlined
def _is_allowed(walk, course, grounding, a, relation):
    """Whether an atom may have a relation beside the atoms that have theirs."""
    held = grounding[course.atoms[a, _COLUMN]]
    if held >= 0 and held != relation:
        return False
    for b in range(len(course.atoms)):
        other, conflict = grounding[course.atoms[b, _COLUMN]], course.conflicts[a, b]
        if other >= 0 and conflict != _FREE:
            other = other if conflict == _NOT_SAME else walk.inverse[other]
            if relation == other:
                return False
    return True


@kernel
def _draw_relation(walk, course, edges, random, registers, grounding, a):
    """One of the relations that link the two nodes of an atom and that it may have, or -1."""
    head, tail = registers[course.atoms[a, _HEAD]], registers[course.atoms[a, _TAIL]]
    near, start, other = edges.tails, head, tail
    n_tails = edges.tails.entity_rows[head + 1] - edges.tails.entity_rows[head]
    if edges.heads.entity_rows[tail + 1] - edges.heads.entity_rows[tail] < n_tails:
        near, start, other = edges.heads, tail, head
    mask, chosen, n_found = np.uint64(PLACE_MASK), np.int64(-1), 0
    for row in range(near.entity_rows[start], near.entity_rows[start + 1]):
        begin, end = near.rows[row] & mask, near.rows[row + 1] & mask
        if find_place(near.edges, 1, begin, end - begin, other) >= 0:
            relation = np.int64(near.rows[row] >> np.uint64(ROW_SHIFT))
            if _is_allowed(walk, course, grounding, a, relation):
                n_found += 1
                if below(random, n_found) == 0:
                    chosen = relation
    return chosen
