"""Markings: which atoms of a query stand on missing edges, over all ways to find an answer.

A witness of an answer gives values to all variables so that the formula holds on the full graph;
its marking is the set of positive atoms whose edges the observed graph lacks. An entity's family is
the set of the markings of all its witnesses. With k positive atoms, numbered as they stand in the
formula, a marking is a number below 2^k and a family a word of 2^k bits. Over families, as over any
algebra, a plan is evaluated once: alternatives unite, a conjunction joins every marking of one
family with every marking of the other. The atoms of two conjuncts are distinct, so that to join
the markings of a family with one marking is to shift the word by it.
"""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View, find_row
from clqa.answers import as_rows
from clqa.bits import lowest_one
from clqa.errors import InputError
from clqa.formulas import And, Atom, Formula, Given, Not, Or, atoms, negation_normal, to_text
from clqa.given_sets import check_crisp
from clqa.join_plans import JoinPlan
from clqa.joins import join_markings
from clqa.kernels import kernel
from clqa.plans import plan
from clqa.programs import (
    ANCHOR,
    COMPLEMENT,
    EVERYTHING,
    GIVEN,
    HOP,
    INTERSECT,
    PROJECT,
    PROJECT_NEGATED,
    UNITE,
    stack_depth,
)
from clqa.ragged import Ragged

MOST_ATOMS = 6
# The family of a fact that takes no missing edge: the empty marking alone.
_FREE = np.uint64(1)
_NONE = np.uint64(0)


class MarkingPlan(NamedTuple):
    """A formula compiled for the evaluation of families.

    Attributes
    ----------
    program : (n_steps, 3) int32, or JoinPlan
        See `clqa.programs`; its relation columns are the places of the atoms in the formula.
    columns : (n_atoms,) int64
        Column of a query's relations that each atom asks for.
    shifts : (n_atoms,) uint64
        By what a missing edge shifts a family: 2^i for the positive atom i, 0 for a negated one.
    positive : tuple of int
        Places of the positive atoms in the formula, in the order of their numbers.
    given : tuple of int
        Vectors whose degrees the formula asks for; they take no place, as none is to be predicted.
    """

    program: np.ndarray | JoinPlan
    columns: np.ndarray
    shifts: np.ndarray
    positive: tuple[int, ...]
    given: tuple[int, ...]


class _Work(NamedTuple):
    """A stack of sets, each a list of (id, family) and one family for all other entities."""

    ids: np.ndarray
    families: np.ndarray
    sizes: np.ndarray
    defaults: np.ndarray
    dense: np.ndarray
    mark: np.ndarray


def marking_plan(formula: Formula) -> MarkingPlan:
    """Compile a formula.

    Raises
    ------
    InputError
        If the formula cannot be planned, or has more than six positive atoms.
    """
    relations = [atom.relation for atom in atoms(formula)]
    known = list(dict.fromkeys(relations))
    numbered = _numbered(formula, iter(range(1, len(relations) + 1)))
    signs = positive_atoms(numbered)
    if sum(signs) > MOST_ATOMS:
        raise InputError(
            f"formula '{to_text(formula)}' has {sum(signs)} positive atoms; markings are known "
            f"for up to {MOST_ATOMS}"
        )
    places = np.cumsum(signs) - 1
    shifts = [1 << int(place) if sign else 0 for place, sign in zip(places, signs, strict=True)]
    shape = plan(numbered)
    return MarkingPlan(
        program=shape if isinstance(shape, JoinPlan) else shape.normal_program,
        columns=np.array([known.index(relation) for relation in relations], np.int64),
        shifts=np.array(shifts, np.uint64),
        positive=tuple(np.flatnonzero(signs).tolist()),
        given=shape.given,
    )


def _numbered(formula: Formula, numbers) -> Formula:
    """The formula with a relation of its own for each atom."""
    match formula:
        case Given():
            return formula
        case Atom(_, head, tail):
            return Atom(f"r{next(numbers)}", head, tail)
        case Not(inner):
            return Not(_numbered(inner, numbers))
        case And(parts) | Or(parts):
            return type(formula)(tuple(_numbered(part, numbers) for part in parts))


def positive_atoms(formula: Formula) -> list[bool]:
    """For each atom from left to right whether the negation normal form has it unnegated."""

    def signs(part: Formula, sign: bool) -> list[bool]:
        match part:
            case Given():
                return []
            case Atom():
                return [sign]
            case Not(inner):
                return signs(inner, False)
            case And(parts) | Or(parts):
                return [found for inner in parts for found in signs(inner, sign)]

    return signs(negation_normal(formula), True)


def marking_families(
    shape: MarkingPlan, view: View, anchors: np.ndarray, relations: np.ndarray, wanted: Ragged
) -> np.ndarray:
    """Families of some entities, by query.

    Parameters
    ----------
    anchors : (n, n_constants) int
    relations : (n, n_relations) int
    wanted : Ragged
        Entities, or tuples, asked for, such as the hard answers of each query.

    Returns
    -------
    families : (len(wanted.values),) uint64
        Bit m is set if some witness has the marking m; bit i of m stands for the positive atom i.
        0 for an entity that is no answer on the full graph.
    """
    rows = as_rows(anchors), as_rows(relations)
    check_crisp(shape.given, view.given)
    if isinstance(shape.program, JoinPlan):
        asked = as_rows(rows[1][:, shape.columns])
        return join_markings(shape.program, view, rows[0], asked, wanted, are_numbers=False)
    depth, n = stack_depth(shape.program) + 1, view.n_entities
    work = _Work(
        ids=np.empty((depth, n), np.int32),
        families=np.empty((depth, n), np.uint64),
        sizes=np.zeros(depth, np.int64),
        defaults=np.zeros(depth, np.uint64),
        dense=np.zeros(n, np.uint64),
        mark=np.zeros(n, np.int32),
    )
    found = np.empty(len(wanted.values), np.uint64)
    _look_up_batch(view, work, *shape[:3], *rows, wanted.offsets, wanted.values, found)
    return found


@kernel
def _look_up_batch(view, work, program, columns, shifts, anchors, relations, offsets, wanted, out):
    for q in range(len(anchors)):
        first, last = offsets[q], offsets[q + 1]
        if last == first:
            continue
        _evaluate(view, work, program, columns, shifts, anchors[q], relations[q])
        _scatter(work, 0)
        for i in range(first, last):
            t = wanted[i]
            out[i] = work.dense[t] if work.mark[t] else work.defaults[0]
        _clear(work, 0)


@kernel
def _evaluate(view, work, program, columns, shifts, anchors, relations):
    """Run a program for one query; the result is left in slot 0."""
    top = -1
    for k in range(len(program)):
        step, argument = program[k, 0], np.int64(program[k, 1])
        reverse = argument < 0
        if step in (ANCHOR, HOP, EVERYTHING):
            top += 1
            work.sizes[top] = step != EVERYTHING
            work.defaults[top] = _FREE if step == EVERYTHING else _NONE
            if step != EVERYTHING:
                work.ids[top, 0] = anchors[argument if step == ANCHOR else program[k, 2]]
                work.families[top, 0] = _FREE
        if step in (HOP, PROJECT, PROJECT_NEGATED):
            atom = -1 - argument if reverse else argument
            adjacency = view.heads if reverse else view.tails
            relation = relations[columns[atom]]
            if work.defaults[top] != _NONE:
                _list_all(work, top)
            if step == PROJECT_NEGATED:
                _project_negated(adjacency, work, top, relation)
            else:
                _project(adjacency, work, top, relation, shifts[atom])
        elif step == GIVEN:
            top += 1
            _give(view, work, top, argument)
        elif step == COMPLEMENT:
            for i in range(work.sizes[top]):
                work.families[top, i] = _complemented(work.families[top, i])
            work.defaults[top] = _complemented(work.defaults[top])
        elif step in (INTERSECT, UNITE):
            top -= argument - 1
            for other in range(top + 1, top + argument):
                _merge(work, top, other, step == INTERSECT)


@kernel
def _give(view, work, slot, number):
    """The entities of degree 1 in a vector."""
    end = 0
    for t in range(view.n_entities):
        if view.given[number, t]:
            work.ids[slot, end] = t
            work.families[slot, end] = _FREE
            end += 1
    work.sizes[slot] = end
    work.defaults[slot] = _NONE


@kernel
def _complemented(family):
    return _FREE if family == _NONE else _NONE


@kernel
def _met(one, other):
    """Every marking of one family joined with every marking of another, of other atoms."""
    met = _NONE
    if one != _NONE:
        while other != _NONE:
            met |= one << lowest_one(other)
            other &= other - np.uint64(1)
    return met


@kernel
def _scatter(work, slot):
    for i in range(work.sizes[slot]):
        work.dense[work.ids[slot, i]] = work.families[slot, i]
        work.mark[work.ids[slot, i]] = 1


@kernel
def _clear(work, slot):
    for i in range(work.sizes[slot]):
        work.dense[work.ids[slot, i]] = _NONE
        work.mark[work.ids[slot, i]] = 0


@kernel
def _list_all(work, slot):
    """Make a set with a default explicit for every entity."""
    _scatter(work, slot)
    n = len(work.dense)
    for t in range(n):
        work.ids[slot, t] = t
        work.families[slot, t] = work.dense[t] if work.mark[t] else work.defaults[slot]
        work.dense[t] = _NONE
        work.mark[t] = 0
    work.sizes[slot] = n
    work.defaults[slot] = _NONE


@kernel
def _project(adjacency, work, slot, relation, shift):
    """Neighbours of the members; a missing edge adds the atom to every marking."""
    spare, one, end = len(work.sizes) - 1, np.uint64(1), 0
    for i in range(work.sizes[slot]):
        family = work.families[slot, i]
        if family == _NONE:
            continue
        first, last = find_row(adjacency, work.ids[slot, i], relation)
        for j in range(first, last):
            edge = np.uint64(adjacency.edges[j])
            t = edge >> one
            if work.dense[t] == _NONE:
                work.ids[spare, end] = t
                end += 1
            work.dense[t] |= family if edge & one else family << shift
    for k in range(end):
        t = work.ids[spare, k]
        work.ids[slot, k] = t
        work.families[slot, k] = work.dense[t]
        work.dense[t] = _NONE
    work.sizes[slot] = end


@kernel
def _project_negated(adjacency, work, slot, relation):
    """Entities that some member is not linked to: a marking fails where all that have it are."""
    spare, one, end, every = len(work.sizes) - 1, np.uint64(1), 0, _NONE
    for i in range(work.sizes[slot]):
        every |= work.families[slot, i]
    markings = every
    while markings != _NONE:
        marking = markings & (~markings + one)
        markings ^= marking
        n_members = 0
        for i in range(work.sizes[slot]):
            if work.families[slot, i] & marking == _NONE:
                continue
            n_members += 1
            first, last = find_row(adjacency, work.ids[slot, i], relation)
            for j in range(first, last):
                t = np.uint64(adjacency.edges[j]) >> one
                work.mark[t] += 1
                if work.mark[t] == 1 and work.dense[t] == _NONE:
                    work.ids[spare, end] = t
                    work.dense[t] = ~_NONE
                    end += 1
        _strike(work, spare, end, marking, n_members)
    for k in range(end):
        t = work.ids[spare, k]
        work.ids[slot, k] = t
        work.families[slot, k] = every & work.dense[t]
        work.dense[t] = _NONE
    work.sizes[slot] = end
    work.defaults[slot] = every


@kernel
def _strike(work, spare, end, marking, n_members):
    """Take a marking from the entities that all its members are linked to."""
    for k in range(end):
        t = work.ids[spare, k]
        if work.mark[t] == n_members:
            work.dense[t] &= ~marking
        work.mark[t] = 0


@kernel
def _merge(work, a, b, conjunction):
    """Meet or join of two sets, stored in slot `a`."""
    default_a, default_b = work.defaults[a], work.defaults[b]
    default = _met(default_a, default_b) if conjunction else default_a | default_b
    _scatter(work, b)
    end = 0
    for i in range(work.sizes[a]):
        t, mine, other = work.ids[a, i], work.families[a, i], default_b
        if work.mark[t]:
            other = work.dense[t]
            work.mark[t] = 2
        family = _met(mine, other) if conjunction else mine | other
        if family != default:
            work.ids[a, end] = t
            work.families[a, end] = family
            end += 1
    for i in range(work.sizes[b]):
        t, other = work.ids[b, i], work.families[b, i]
        if work.mark[t] == 1:
            family = _met(default_a, other) if conjunction else default_a | other
            if family != default:
                work.ids[a, end] = t
                work.families[a, end] = family
                end += 1
    _clear(work, b)
    work.sizes[a] = end
    work.defaults[a] = default
