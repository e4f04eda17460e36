"""Walks that ground a graph of variables and constants: a homomorphism into the full graph.

Where the variables of a shape form a cycle or have parallel atoms, a walk along the edges would
close it by luck alone. Here a node is drawn among those that have edges to all nodes which are
drawn before and linked to it, as many as there are parallel atoms, and only then relations, all of
them different, among those of each pair. This is how EFOk-CQA grounds its queries (Yin et al.,
2023), without its retries. Negated atoms are drawn like others, so that they have something to take
away.
"""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import PLACE_MASK, ROW_SHIFT, Edges, Incidence, incidence
from clqa.errors import InputError
from clqa.formulas import Atom, Formula, atoms, symbols, to_text
from clqa.kernels import kernel
from clqa.randomness import below, seek
from clqa.sets import find_place
from clqa.walks import DEAD_END, GROUNDED

# Rows that are tried before all of them are looked at.
_TRIES = 20


class Pairs(NamedTuple):
    """Relations of each pair of linked entities, by head and by tail."""

    tails: Incidence
    heads: Incidence


class GraphWalk(NamedTuple):
    """The order in which the nodes of a shape are drawn, for the kernel.

    Attributes
    ----------
    steps : (n_steps, 3) int32
        Node, its first group of atoms and the one past its last.
    groups : (n_groups, 4) int32
        A node drawn before, whether the new one is the head, the first atom between the two and
        the one past the last.
    columns : (n_atoms,) int32
        Column of the relation of each atom.
    constants : (n_nodes,) int32
        Column of the constant that a node is, or -1.
    starts : (n_starts,) int32
        Entities that an edge leads to.
    """

    pairs: Pairs
    steps: np.ndarray
    groups: np.ndarray
    columns: np.ndarray
    constants: np.ndarray
    starts: np.ndarray


def linked_pairs(edges: Edges, n: int) -> Pairs:
    """Relations of each pair of linked entities."""
    heads, relations, tails = edges.triples.T
    nothing = np.zeros(len(heads), np.bool_)
    return Pairs(
        tails=incidence(heads, tails, relations, nothing, n),
        heads=incidence(tails, heads, relations, nothing, n),
    )


def plan_graph_walk(formula: Formula, pairs: Pairs) -> GraphWalk:
    """The walk of a shape from its first free variable.

    Raises
    ------
    InputError
        If an atom holds one variable twice, or atoms are not connected.
    """
    names = symbols(formula, "f")[:1]
    constants, relations = symbols(formula, "s"), symbols(formula, "r")
    left = list(atoms(formula))
    for atom in left:
        if atom.head == atom.tail:
            raise InputError(f"'{to_text(atom)}' holds one variable twice; it cannot be sampled")
    steps, groups, columns = [], [], []
    while left:
        name = _next_node(left, names)
        if name is None:
            raise InputError(f"formula '{to_text(formula)}' is not connected; it cannot be sampled")
        own = [atom for atom in left if name in _ends(atom) and set(_ends(atom)) <= {name, *names}]
        left = [atom for atom in left if atom not in own]
        names.append(name)
        first = len(groups)
        for key in dict.fromkeys(_link(atom, name) for atom in own):
            known, is_head = key
            begin = len(columns)
            columns += [relations.index(a.relation) for a in own if _link(a, name) == key]
            groups.append((names.index(known), int(is_head), begin, len(columns)))
        steps.append((len(names) - 1, first, len(groups)))
    return GraphWalk(
        pairs=pairs,
        steps=np.array(steps, np.int32),
        groups=np.array(groups, np.int32),
        columns=np.array(columns, np.int32),
        constants=np.array(
            [constants.index(name) if name in constants else -1 for name in names], np.int32
        ),
        starts=np.flatnonzero(np.diff(pairs.heads.entity_rows)).astype(np.int32),
    )


def _ends(atom: Atom) -> tuple:
    return atom.head, atom.tail


def _link(atom: Atom, name: str) -> tuple[str, bool]:
    """The other end of an atom, and whether the named one is its head."""
    return (atom.tail, True) if atom.head == name else (atom.head, False)


def _next_node(left: list[Atom], names: list[str]) -> str | None:
    """Of the nodes beside those drawn: variables first, then the one with most atoms to them."""
    counts: dict[str, int] = {}
    for atom in left:
        for name in _ends(atom):
            if name not in names and _link(atom, name)[0] in names:
                counts[name] = counts.get(name, 0) + 1
    return min(counts, key=lambda name: (name[0] == "s", -counts[name], name), default=None)


@kernel
def draw_groundings(walk, key, first, ends, anchors, relations):
    """Make the attempts from number `first` on, one for each row of the arrays.

    Parameters
    ----------
    key : uint64
        Of the random stream; attempt i uses its part number i.
    ends : (n,) int64
        Overwritten: `GROUNDED` or `DEAD_END`.
    anchors, relations : (n, n_constants) and (n, n_relations) int32
        Overwritten.
    """
    random = np.empty(1, np.uint64)
    nodes = np.empty(len(walk.steps) + 1, np.int32)
    for row in range(len(ends)):
        seek(random, key, first + row)
        ends[row] = _walk(walk, random, nodes, anchors[row], relations[row])


@kernel
def _walk(walk, random, nodes, anchors, relations):
    if len(walk.starts) == 0:
        return np.int64(DEAD_END)
    nodes[0] = walk.starts[below(random, len(walk.starts))]
    for s in range(len(walk.steps)):
        node, first, last = walk.steps[s]
        new = _draw_node(walk, random, nodes, first, last)
        if new < 0:
            return np.int64(DEAD_END)
        nodes[node] = new
        if walk.constants[node] >= 0:
            anchors[walk.constants[node]] = new
        for g in range(first, last):
            _draw_relations(walk, random, nodes, g, new, relations)
    return np.int64(GROUNDED)


@kernel
def _draw_node(walk, random, nodes, first, last):
    """An entity with enough edges to the nodes of all groups; -1 if there is none."""
    best, fewest = first, np.int64(0)
    for g in range(first, last):
        near = walk.pairs.heads if walk.groups[g, 1] else walk.pairs.tails
        known = nodes[walk.groups[g, 0]]
        size = near.entity_rows[known + 1] - near.entity_rows[known]
        if g == first or size < fewest:
            best, fewest = g, size
    if fewest == 0:
        return np.int64(-1)
    near = walk.pairs.heads if walk.groups[best, 1] else walk.pairs.tails
    begin = near.entity_rows[nodes[walk.groups[best, 0]]]
    for _ in range(_TRIES):
        row = begin + below(random, fewest)
        if _fits(walk, nodes, first, last, best, near, row):
            return np.int64(near.rows[row] >> np.uint64(ROW_SHIFT))
    found, n_found = np.int64(-1), np.int64(0)
    for row in range(begin, begin + fewest):
        if _fits(walk, nodes, first, last, best, near, row):
            n_found += 1
            if below(random, n_found) == 0:
                found = np.int64(near.rows[row] >> np.uint64(ROW_SHIFT))
    return found


@kernel
def _fits(walk, nodes, first, last, best, near, row):
    """Whether the entity of a row of a group has enough edges to the nodes of all groups."""
    mask = np.uint64(PLACE_MASK)
    count = np.int64((near.rows[row + 1] & mask) - (near.rows[row] & mask))
    if count < walk.groups[best, 3] - walk.groups[best, 2]:
        return False
    new = np.int64(near.rows[row] >> np.uint64(ROW_SHIFT))
    for g in range(first, last):
        if g != best:
            count = _pair(walk, nodes, g, new)[1]
            if count < walk.groups[g, 3] - walk.groups[g, 2]:
                return False
    return True


@kernel
def _pair(walk, nodes, g, new):
    """First of the relations between the nodes of a group, and how many there are."""
    near = walk.pairs.heads if walk.groups[g, 1] else walk.pairs.tails
    known, mask = nodes[walk.groups[g, 0]], np.uint64(PLACE_MASK)
    begin, end = near.entity_rows[known], near.entity_rows[known + 1]
    row = find_place(near.rows, ROW_SHIFT, begin, end - begin, new)
    if row < 0:
        return np.int64(0), np.int64(0)
    place = np.int64(near.rows[row] & mask)
    return place, np.int64(near.rows[row + 1] & mask) - place


@kernel
def _draw_relations(walk, random, nodes, g, new, relations):
    """Different relations for the atoms of a group, evenly among those of the pair."""
    near = walk.pairs.heads if walk.groups[g, 1] else walk.pairs.tails
    place, count = _pair(walk, nodes, g, new)
    begin, end = walk.groups[g, 2], walk.groups[g, 3]
    for k in range(begin, end):
        # Draw among the relations left, counted in ascending order past those that are taken.
        drawn = below(random, count - (k - begin))
        for i in range(count):
            relation = np.int32(near.edges[place + i] >> 1)
            is_taken = False
            for j in range(begin, k):
                is_taken |= relations[walk.columns[j]] == relation
            if not is_taken:
                if drawn == 0:
                    relations[walk.columns[k]] = relation
                    break
                drawn -= 1
