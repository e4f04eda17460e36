"""Why a tuple answers a query on the full graph: the assignments that make the formula true.

An assignment gives an entity to every existential variable, such that all atoms of one alternative
are edges and no negated part holds. They are listed by the number of edges that must be predicted.
"""

import itertools
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from clqa.edge_indexes import Edges
from clqa.formulas import (
    And,
    Atom,
    Formula,
    Not,
    Or,
    negation_normal,
    variables,
    without_implications,
)

# So many partial assignments are tried at most for one answer.
MOST_TRIED = 200_000


class Step(NamedTuple):
    """An edge that a witness needs, or with `negated` the lack of what `atom` says."""

    edge: tuple[int, int, int]
    status: str


class CrispWitness(NamedTuple):
    """One assignment.

    Attributes
    ----------
    assignment : dict
        The entity of each existential variable of the alternative that holds.
    steps : tuple of Step
        In the order of the formula; `observed` or `missing` each.
    absent : tuple of Formula
        The negated parts, none of which holds.
    """

    assignment: dict[str, int]
    steps: tuple[Step, ...]
    absent: tuple[Formula, ...]

    @property
    def n_missing(self) -> int:
        """How many atoms stand on edges that have to be predicted."""
        return sum(step.status == "missing" for step in self.steps)


def crisp_witnesses(
    formula: Formula,
    values: Mapping[str, int],
    answer: Mapping[str, int],
    full: Edges,
    observed: Container[tuple[int, int, int]],
    n_entities: int,
) -> tuple[list[CrispWitness], bool]:
    """The witnesses of an answer, those with the fewest missing edges first.

    Parameters
    ----------
    values, answer : dict
        Ids of the constants and relations, and of the free variables.
    observed : container of (head, relation, tail)

    Returns
    -------
    witnesses : list
        Empty for what is no answer.
    is_whole : bool
        Whether all assignments were tried; else there may be others, with fewer missing edges.
    """
    found: dict[tuple, CrispWitness] = {}
    is_whole = True
    about = formula, {**values, **answer}, full, observed, n_entities
    for witness in _witnesses(*about, MOST_TRIED):
        if witness is None:
            is_whole = False
            continue
        edges = tuple(sorted({step.edge for step in witness.steps}))
        found.setdefault((tuple(witness.assignment.items()), edges), witness)
    ordered = sorted(found.items(), key=lambda pair: (pair[1].n_missing, pair[0]))
    return [witness for _, witness in ordered], is_whole


def some_witness(
    formula: Formula,
    values: Mapping[str, int],
    answer: Mapping[str, int],
    full: Edges,
    observed: Container[tuple[int, int, int]],
    n_entities: int,
    enough: int,
    most: int,
) -> CrispWitness | None:
    """A witness of at most `enough` missing edges, or of the fewest among `most` tried; else none.

    The other parameters are those of `crisp_witnesses`.
    """
    about = formula, {**values, **answer}, full, observed, n_entities
    best = None
    for witness in filter(None, _witnesses(*about, most)):
        if best is None or witness.n_missing < best.n_missing:
            best = witness
        if best.n_missing <= enough:
            break
    return best


def _witnesses(
    formula: Formula, bound, full: Edges, observed, n_entities: int, most: int
) -> Iterator[CrispWitness | None]:
    """Witnesses as they are found, some of them twice; None where too many have been tried."""
    budget = iter(range(most))
    normal = negation_normal(without_implications(formula))
    whole = variables(normal)
    for parts in alternatives(normal):
        atoms = [part for part in parts if isinstance(part, Atom)]
        absent = tuple(part.inner for part in parts if isinstance(part, Not))
        for assignment in _assignments(atoms, absent, bound, full, n_entities, whole, budget):
            if assignment is None:
                yield None
                break
            steps = tuple(_step(atom, assignment, observed) for atom in atoms)
            own = {name: assignment[name] for name in sorted(assignment) if name[0] == "e"}
            yield CrispWitness(own, steps, absent)


def alternatives(formula: Formula) -> Iterator[tuple[Formula, ...]]:
    """The conjunctions of atoms and negated parts whose union a formula in normal form is."""
    match formula:
        case Or(parts):
            for part in parts:
                yield from alternatives(part)
        case And(parts):
            for chosen in itertools.product(*(list(alternatives(part)) for part in parts)):
                yield tuple(itertools.chain(*chosen))
        case _:
            yield (formula,)


def _step(atom: Atom, assignment: Mapping[str, int], observed: Container) -> Step:
    edge = tuple(assignment[name] for name in (atom.head, atom.relation, atom.tail))
    return Step(edge, "observed" if edge in observed else "missing")


def _assignments(
    atoms, absent, bound, full: Edges, n_entities: int, whole: Counter, budget
) -> Iterator[dict | None]:
    """Extensions of a partial assignment under which atoms hold and negated parts do not.

    None at the end of the budget.
    """
    if next(budget, None) is None:
        yield None
        return
    atom = min(atoms, key=lambda one: _n_choices(one, bound, full, n_entities), default=None)
    if atom is not None:
        rest = [one for one in atoms if one is not atom]
        for more in _extensions(atom, bound, full):
            yield from _assignments(rest, absent, more, full, n_entities, whole, budget)
        return
    # A variable of negated parts alone, which is bound outside of them, may be anything.
    open_ = next((name for part in absent for name in _outer(part, whole, bound)), None)
    if open_ is not None:
        for entity in range(n_entities):
            more = {**bound, open_: entity}
            yield from _assignments(atoms, absent, more, full, n_entities, whole, budget)
        return
    if not any(holds(part, bound, full, n_entities) for part in absent):
        yield bound


def _outer(part: Formula, whole: Counter, bound) -> list[str]:
    """Variables without a value in a negated part that are bound outside of it."""
    own = variables(part)
    return sorted(name for name in own if name not in bound and own[name] < whole[name])


def holds(formula: Formula, bound: Mapping[str, int], full: Edges, n_entities: int) -> bool:
    """Whether some values of the variables without one make the formula true."""
    normal = negation_normal(formula, frozenset(bound))
    whole = variables(normal)
    for parts in alternatives(normal):
        atoms = [part for part in parts if isinstance(part, Atom)]
        absent = tuple(part.inner for part in parts if isinstance(part, Not))
        found = _assignments(atoms, absent, bound, full, n_entities, whole, iter(range(MOST_TRIED)))
        if next(found, None) is not None:
            return True
    return False


def _n_choices(atom: Atom, bound, full: Edges, n_entities: int) -> int:
    head, tail = bound.get(atom.head), bound.get(atom.tail)
    relation = bound[atom.relation]
    if head is not None and tail is not None:
        return 0
    if head is not None:
        return len(full.tails.get((head, relation), ()))
    if tail is not None:
        return len(full.heads.get((tail, relation), ()))
    return n_entities + len(full.known)


def _extensions(atom: Atom, bound, full: Edges) -> Iterator[dict]:
    """Bindings under which the atom is an edge."""
    head, tail, relation = bound.get(atom.head), bound.get(atom.tail), bound[atom.relation]
    if head is not None and tail is not None:
        if (head, relation, tail) in full.known:
            yield dict(bound)
    elif head is not None:
        for entity in full.tails.get((head, relation), ()):
            yield {**bound, atom.tail: entity}
    elif tail is not None:
        for entity in full.heads.get((tail, relation), ()):
            yield {**bound, atom.head: entity}
    else:
        for one, other_relation, other in sorted(full.known):
            if other_relation == relation and (atom.head != atom.tail or one == other):
                yield {**bound, atom.head: one, atom.tail: other}
