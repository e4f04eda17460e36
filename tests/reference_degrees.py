"""Degrees of formulas straight from the definitions: assignments tried one after another.

Nothing here knows of plans or arrays. Weights are a function of head, relation and tail.
"""

import functools

from clqa.formulas import And, Atom, Implies, Not
from reference_answers import _bound_here, _outside


def degree(formula, values, weight, algebra, entities, outside=frozenset("f")):
    """Degree of a formula, the highest over all values of its existential variables.

    A variable is bound at the smallest subformula that holds all its occurrences.
    """
    inner = functools.partial(degree, weight=weight, algebra=algebra, entities=entities)
    bound = _bound_here(formula, outside)
    if bound:
        name, *_ = bound
        return max(inner(formula, {**values, name: v}, outside=outside | {name}) for v in entities)
    if isinstance(formula, Atom):
        return weight(*(values[s] for s in (formula.head, formula.relation, formula.tail)))
    if isinstance(formula, Not):
        return algebra.negate(inner(formula.inner, values, outside=outside))
    if isinstance(formula, Implies):
        negated, conclusion = formula.parts
        outsides = [_outside(p, formula, outside) for p in formula.parts]
        return algebra.residuum(
            inner(negated.inner, values, outside=outsides[0]),
            inner(conclusion, values, outside=outsides[1]),
        )
    parts = [
        inner(part, values, outside=_outside(part, formula, outside)) for part in formula.parts
    ]
    join = algebra.conjoin if isinstance(formula, And) else algebra.disjoin
    return functools.reduce(join, parts)
