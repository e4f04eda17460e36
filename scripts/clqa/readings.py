"""Formulas with a negation over a chain, read in the other way that benchmarks read them.

`!(r1(s1,e1)&r2(e1,f))` says that no e1 leads to f (BetaE); `r1(s1,e1)&!r2(e1,f)` that some e1 does
not (EFOk-CQA, FIT, QTO).
"""

from clqa.errors import InputError
from clqa.formulas import (
    And,
    Atom,
    Formula,
    Given,
    Not,
    Or,
    bound_at,
    free_in,
    joined,
    symbols,
    variables,
)
from clqa.plans import tree_plan


def other_reading(formula: Formula) -> Formula | None:
    """The formula with its negations over chains moved, or none if there is no such negation."""
    free = frozenset(symbols(formula, "f"))
    for move in (_inwards, _outwards):
        other = move(formula, free)
        if other != formula:
            try:
                tree_plan(other)
            except InputError:
                continue
            return other
    return None


def _inwards(formula: Formula, free: frozenset[str]) -> Formula:
    """Negations of conjunctions that bind a variable as negations of their last atoms."""
    match formula:
        case Not(And(parts)) if bound_at(formula.inner, free):
            *before, last = parts
            is_link = isinstance(last, Atom) and not isinstance(last, Given)
            return joined(And, [*before, Not(last)]) if is_link else formula
        case And(parts) | Or(parts):
            return joined(type(formula), [_inwards(part, free) for part in parts])
        case _:
            return formula


def _outwards(formula: Formula, free: frozenset[str]) -> Formula:
    """Negated atoms of a variable as negations of all that says something of the variable."""
    if not isinstance(formula, And):
        return formula
    parts = list(formula.parts)
    for negated in formula.parts:
        if not (isinstance(negated, Not) and isinstance(negated.inner, Atom)):
            continue
        inner = set(variables(negated.inner)) - free
        if len(inner) != 1 or not set(variables(negated.inner)) & free:
            continue
        chain = [part for part in parts if part is not negated and inner & set(variables(part))]
        place = parts.index(chain[0]) if chain else 0
        if not chain or any(set(variables(part)) & free for part in chain):
            continue
        rest = [part for part in parts if part is not negated and part not in chain]
        rest.insert(place, Not(joined(And, [*chain, negated.inner])))
        parts = rest
    return joined(And, parts)


def binds_under_negation(formula: Formula) -> bool:
    """Whether some existential variable is bound under a negation.

    Such a formula means another thing where all variables are bound before everything else.
    """
    return _binds(formula, frozenset(symbols(formula, "f")), negated=False)


def _binds(formula: Formula, free: frozenset[str], negated: bool) -> bool:
    if negated and bound_at(formula, free):
        return True
    match formula:
        case Not(inner):
            return _binds(inner, free, negated=True)
        case And(parts) | Or(parts):
            return any(_binds(part, free_in(part, formula, free), negated) for part in parts)
        case _:
            return False
