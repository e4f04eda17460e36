"""Join plans: formulas whose answers are no tree of sets, as lists of atoms for `clqa.joins`.

A formula is brought into disjunctive normal form. Each of its conjunctions is a graph of variables
and constants with an edge for each atom; it may have several free variables, cycles and parallel
edges. Negation stands before atoms only. The order in which variables are bound is chosen query by
query, by the sizes of their domains.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.formulas import (
    And,
    Atom,
    Formula,
    Given,
    Not,
    Or,
    all_atoms,
    free_variables,
    negation_normal,
    pointed,
    symbols,
    to_text,
    vectors,
)

# Columns of an atom: terms (variables are numbered, free ones first; the constant in column c is
# -1 - c), the column of its relation, whether it is negated, and its number among the positive
# atoms of the formula as they stand in it, -1 for others; and the place among those of the graph of
# the vector that it asks for, -1 for atoms of relations. An atom of a vector has its variable at
# both ends, and is in column 0 of the relations.
HEAD, TAIL, RELATION, NEGATED, PLACE, VECTOR = range(6)
_MOST_ATOMS, _MOST_ALTERNATIVES = 63, 64


class JoinPlan(NamedTuple):
    """How a formula is evaluated by joins.

    Attributes
    ----------
    n_constants, n_relations : int
    arity : int
        Number of free variables.
    n_variables : int
        Most variables of a conjunction.
    atoms : (n_atoms, 6) int32
        Atoms of all conjunctions, one conjunction after another.
    starts : (n_conjunctions + 1,) int64
        First atom of each conjunction.
    most_links : int
        Positive atoms of the longest conjunction: no answer needs more missing links.
    given : tuple of int
        Vectors whose degrees the formula asks for.
    """

    n_constants: int
    n_relations: int
    arity: int
    n_variables: int
    atoms: np.ndarray
    starts: np.ndarray
    most_links: int
    given: tuple[int, ...] = ()


class _Literal(NamedTuple):
    place: int
    atom: Atom
    negated: bool


def join_plan(formula: Formula) -> JoinPlan:
    """Compile a formula with any number of free variables.

    Raises
    ------
    InputError
        If a variable occurs only under negation, an alternative lacks a free variable or falls
        apart, a constant stands in two atoms, or there is anything else that is no such formula.
    """
    check_atoms(formula)
    free = free_variables(formula)
    if not free:
        last = symbols(formula, "e")[-1]
        raise unfit(formula, last, "there is no free variable (f, f1, f2, ...)")
    numbers = itertools.count()
    conjunctions = _alternatives(negation_normal(formula), formula, numbers)
    literals = dict.fromkeys(literal for part in conjunctions for literal in part)
    positive = (x.place for x in literals if not (x.negated or isinstance(x.atom, Given)))
    places = dict(zip(sorted(positive), itertools.count()))
    columns = {name: column for kind in "sr" for column, name in enumerate(symbols(formula, kind))}
    rows: list[tuple[int, ...]] = []
    starts, n_variables = [0], 0
    for conjunction in conjunctions:
        _check_conjunction(formula, conjunction, free)
        bound = [name for literal in conjunction for name in _variables(literal.atom)]
        terms = {name: number for number, name in enumerate(dict.fromkeys([*free, *bound]))}
        n_variables = max(n_variables, len(terms))
        for place, atom, negated in conjunction:
            ends = (terms.get(x, -1 - columns.get(x, 0)) for x in (atom.head, atom.tail))
            vector = int(atom.relation[1:]) - 1 if isinstance(atom, Given) else -1
            column = columns.get(atom.relation, 0)
            rows.append((*ends, column, int(negated), places.get(place, -1), vector))
        starts.append(len(rows))
    table = np.array(rows, np.int32).reshape(-1, 6)
    is_link = (table[:, NEGATED] == 0) & (table[:, VECTOR] < 0)
    return JoinPlan(
        n_constants=len(symbols(formula, "s")),
        n_relations=len(symbols(formula, "r")),
        arity=len(free),
        n_variables=n_variables,
        atoms=table,
        starts=np.array(starts, np.int64),
        most_links=max(int(is_link[a:b].sum()) for a, b in itertools.pairwise(starts)),
        given=vectors(formula),
    )


def without_negated_atoms(plan: JoinPlan) -> JoinPlan:
    """The plan with its negated atoms left out."""
    kept = plan.atoms[:, NEGATED] == 0
    before = np.append(0, np.cumsum(kept))
    return plan._replace(atoms=plan.atoms[kept], starts=before[plan.starts])


def _alternatives(part: Formula, whole: Formula, numbers) -> list[tuple[_Literal, ...]]:
    """The conjunctions of a negation normal form; atoms are numbered from left to right."""
    match part:
        case Atom():
            return [(_Literal(next(numbers), part, False),)]
        case Not(Atom() as inner):
            return [(_Literal(next(numbers), inner, True),)]
        case Or(parts):
            return [found for p in parts for found in _alternatives(p, whole, numbers)]
        case And(parts):
            choices = [_alternatives(p, whole, numbers) for p in parts]
            if np.prod([float(len(choice)) for choice in choices]) > _MOST_ALTERNATIVES:
                raise unfit(whole, None, f"has more than {_MOST_ALTERNATIVES} alternatives")
            return [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*choices)]
    raise unfit(whole, part, "negates an existential variable together with the rest")


def _variables(atom: Atom) -> list[str]:
    return [x for x in (atom.head, atom.tail) if isinstance(x, str) and x[0] in "ef"]


def unfit(formula: Formula, place: Formula | str | None, why: str, which: int = 0) -> InputError:
    """The error about a part or a symbol of a formula, at one of the columns where it stands."""
    text, column = to_text(formula), 0
    if place is not None:
        name = place if isinstance(place, str) else to_text(place)
        found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text))
        column = found[which].start() if found else 0
    return InputError(f"{pointed(text, column)}: {why}; it cannot be planned")


def check_atoms(formula: Formula) -> None:
    """Raise `InputError` unless each atom speaks of a variable and each constant stands once.

    In each alternative of a disjunction a constant may stand once, as in disjunctive normal forms.
    """
    for atom in all_atoms(formula):
        for symbol in (atom.relation, atom.head, atom.tail):
            if isinstance(symbol, int):
                why = f"a grounded id, {symbol}, where symbols (s1, r1, ...) are needed"
                raise unfit(formula, atom, why)
        ends = _variables(atom)
        if not ends:
            raise unfit(
                formula, atom, "an atom of constants alone, which says nothing of a variable"
            )
        if len(ends) == 2 and ends[0] == ends[1] and not isinstance(atom, Given):
            raise unfit(formula, atom, f"a loop from {ends[0]} to itself")
    for name, n_uses in _uses(formula).items():
        if n_uses > 1:
            raise unfit(formula, name, f"the constant {name} is used twice", which=1)


def _uses(formula: Formula) -> dict[str, int]:
    """How often each constant stands in that alternative in which it does most often."""
    if isinstance(formula, Not):
        return _uses(formula.inner)
    if not isinstance(formula, And | Or):
        return dict.fromkeys({formula.head, formula.tail} - {*_variables(formula)}, 1)
    found: dict[str, int] = {}
    for part in map(_uses, formula.parts):
        for name, n_uses in part.items():
            before = found.get(name, 0)
            found[name] = max(before, n_uses) if isinstance(formula, Or) else before + n_uses
    return found


def _check_conjunction(formula: Formula, conjunction, free: tuple[str, ...]) -> None:
    if len(conjunction) > _MOST_ATOMS:
        raise unfit(formula, None, f"has more than {_MOST_ATOMS} atoms")
    positive = {
        name
        for x in conjunction
        if not (x.negated or isinstance(x.atom, Given))
        for name in _variables(x.atom)
    }
    every = dict.fromkeys(name for x in conjunction for name in _variables(x.atom))
    for name in [*every, *free]:
        if name not in every:
            raise unfit(formula, name, f"an alternative says nothing of {name}")
        if name not in positive:
            raise unfit(formula, name, f"{name} occurs only under negation")
    reached, added = {free[0]}, True
    while added:
        linked = [set(_variables(x.atom)) for x in conjunction]
        new = set().union(*(ends for ends in linked if ends & reached)) - reached
        reached, added = reached | new, bool(new)
    for name in every:
        if name not in reached:
            raise unfit(formula, name, f"nothing links {name} to {free[0]}")
