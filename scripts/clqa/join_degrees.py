"""Degrees of entities as answers of formulas that are no trees of sets, variable by variable: FIT.

Yin et al. (2024), "Rethinking Complex Queries on Knowledge Graphs with Neural Link Predictors". A
conjunction is a graph of variables, each with a degree of every entity as its value. A variable
that stands beside a single other one is eliminated: for each value of the other, the best of its
own values counts. Where there is no such variable but the one that is asked for, another is cut
out: its best values are tried one after another. Alternatives are joined by the algebra.
"""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clqa.algebras import Algebra
from clqa.fuzzy_answers import Members, best_members
from clqa.join_plans import HEAD, NEGATED, RELATION, TAIL, VECTOR, JoinPlan
from clqa.link_degrees import rows_at_a_time
from clqa.sparse_rows import SparseRows


class Elimination(NamedTuple):
    """How variables are eliminated.

    Attributes
    ----------
    rows : SparseRows
    algebra : Algebra
    beam : int
        Values that are followed of a variable that is eliminated.
    enumerated : int
        Values that are tried of a variable that is cut out, beside those of degree 1; in all no
        more than the beam.
    """

    rows: SparseRows
    algebra: Algebra
    beam: int
    enumerated: int


class _Conjunction(NamedTuple):
    """A graph of variables.

    Attributes
    ----------
    degrees : dict of (n_entities,) float32
        For each variable how far each entity can be its value, by what is known of it alone.
    links : dict of dict of list of pairs
        `links[x][y]` has the atoms from x to y: relations, and whether each is negated.
    """

    degrees: dict[int, np.ndarray]
    links: dict[int, dict[int, list[tuple[int, bool]]]]


def join_degrees(
    plan: JoinPlan, anchors: np.ndarray, relations: np.ndarray, how: Elimination
) -> np.ndarray:
    """Degrees (n, arity, n_entities) float32 of the entities as values of each free variable.

    Of a variable these are the best over all values of the others, whether existential or free. If
    beam and `enumerated` are as large as there are entities, the maximum is exact.
    """
    n_entities = how.rows.links.n_entities
    found = np.zeros((len(anchors), plan.arity, n_entities), np.float32)
    for row, constants, symbols in zip(found, anchors, relations, strict=True):
        alternatives = [
            _conjunction(plan.atoms[first:last], constants, symbols, how)
            for first, last in zip(plan.starts[:-1], plan.starts[1:], strict=True)
        ]
        for variable in range(plan.arity):
            parts = (_marginal(one, variable, how) for one in alternatives)
            row[variable] = functools.reduce(how.algebra.disjoin, parts)
    return found


def _conjunction(atoms, anchors, relations, how: Elimination) -> _Conjunction:
    links = how.rows.links
    variables = {int(x) for x in atoms[:, [HEAD, TAIL]].ravel() if x >= 0}
    made = _Conjunction(
        {x: np.ones(links.n_entities, np.float32) for x in variables}, {x: {} for x in variables}
    )
    for atom in atoms:
        head, tail, negated = int(atom[HEAD]), int(atom[TAIL]), bool(atom[NEGATED])
        if atom[VECTOR] >= 0:
            held = links.vector(int(atom[VECTOR]) + 1)
            held = how.algebra.negate(held) if negated else held
            made.degrees[head] = how.algebra.conjoin(made.degrees[head], held)
            continue
        forward = int(relations[atom[RELATION]])
        backward = int(links.reciprocal[forward])
        if head < 0 or tail < 0:
            variable, constant, relation = (
                (tail, head, forward) if head < 0 else (head, tail, backward)
            )
            row = _rows(anchors[[-1 - constant]], [(relation, negated)], how)[0]
            made.degrees[variable] = how.algebra.conjoin(made.degrees[variable], row)
        else:
            made.links[head].setdefault(tail, []).append((forward, negated))
            made.links[tail].setdefault(head, []).append((backward, negated))
    return made


def _rows(entities: np.ndarray, atoms: list[tuple[int, bool]], how: Elimination) -> np.ndarray:
    """For each entity, how far all the atoms hold of it and every other entity."""
    n_entities = how.rows.links.n_entities
    parts = []
    for relation, negated in atoms:
        (offsets, tails), held = how.rows.of(entities.astype(np.int64) + relation * n_entities)
        row = np.zeros((len(entities), n_entities), np.float32)
        row[np.repeat(np.arange(len(entities)), np.diff(offsets)), tails] = held
        parts.append(how.algebra.negate(row) if negated else row)
    return functools.reduce(how.algebra.conjoin, parts)


def _marginal(conjunction: _Conjunction, variable: int, how: Elimination) -> np.ndarray:
    """Degrees of the values of one variable, each the best over all values of the others."""
    while len(conjunction.degrees) > 1:
        others = [x for x in conjunction.degrees if x != variable]
        leaves = [x for x in others if len(conjunction.links[x]) < 2]
        if not leaves:
            return _cut(conjunction, variable, min(others, key=_n_values(conjunction)), how)
        # What is known of a variable makes its beam a good one, and so do its neighbours' messages.
        leaf = min(leaves, key=_n_values(conjunction))
        conjunction = _eliminated(conjunction, leaf, variable, how)
    return conjunction.degrees[variable]


def _n_values(conjunction: _Conjunction):
    return lambda x: (int(np.count_nonzero(conjunction.degrees[x])), x)


def _without(conjunction: _Conjunction, variable: int) -> _Conjunction:
    links = {
        x: {y: atoms for y, atoms in beside.items() if y != variable}
        for x, beside in conjunction.links.items()
        if x != variable
    }
    return _Conjunction(
        {x: held for x, held in conjunction.degrees.items() if x != variable}, links
    )


def _eliminated(
    conjunction: _Conjunction, leaf: int, variable: int, how: Elimination
) -> _Conjunction:
    """Without a variable that one other stands beside; or, after a cut, none."""
    values = best_members(conjunction.degrees[leaf][None], how.beam)
    rest = _without(conjunction, leaf)
    if conjunction.links[leaf]:
        ((target, atoms),) = conjunction.links[leaf].items()
        message = np.zeros(how.rows.links.n_entities, np.float32)
        for entities, weights in _some(values, how):
            joined = how.algebra.conjoin(weights[:, None], _rows(entities, atoms, how))
            np.maximum(message, joined.max(axis=0), out=message)
    else:
        target, message = variable, values.degrees.max(initial=0)
    rest.degrees[target] = how.algebra.conjoin(rest.degrees[target], message)
    return rest


def _some(values: Members, how: Elimination) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    step = rows_at_a_time(how.rows.links.n_entities)
    for first in range(0, len(values.entities), step):
        part = slice(first, first + step)
        yield values.entities[part], values.degrees[part]


def _cut(conjunction: _Conjunction, variable: int, other: int, how: Elimination) -> np.ndarray:
    """The degrees of one variable by the best values of another, which stands beside several."""
    held = conjunction.degrees[other]
    n_tried = min(how.beam, how.enumerated + int(np.count_nonzero(held == 1)))
    values = best_members(held[None], n_tried)
    beside = conjunction.links[other]
    rows = {x: _rows(values.entities, atoms, how) for x, atoms in beside.items()}
    best = np.zeros_like(held)
    for number, degree in enumerate(values.degrees):
        rest = _without(conjunction, other)
        for x in beside:
            rest.degrees[x] = how.algebra.conjoin(rest.degrees[x], rows[x][number])
        joined = how.algebra.conjoin(degree, _marginal(rest, variable, how))
        np.maximum(best, joined, out=best)
    return best
