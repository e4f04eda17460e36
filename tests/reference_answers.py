"""Answers and missing links straight from the definitions: assignments tried one after another.

Nothing here knows of plans, stacks or arrays. A graph is a set of (head, relation, tail).
"""

import functools
import itertools
import math

from clqa.formulas import And, Atom, Not, Or


@functools.cache
def _names(formula):
    if isinstance(formula, Atom):
        return tuple(t for t in (formula.head, formula.tail) if isinstance(t, str) and t[0] in "ef")
    parts = [formula.inner] if isinstance(formula, Not) else formula.parts
    return tuple(name for part in parts for name in _names(part))


@functools.cache
def _bound_here(formula, outside):
    """Variables of the formula that occur in no wider scope and in several of its parts."""
    if isinstance(formula, Not):
        return []
    own = set(_names(formula)) - outside
    if isinstance(formula, Atom):
        return sorted(own)
    return sorted(n for n in own if sum(n in _names(part) for part in formula.parts) > 1)


@functools.cache
def _outside(part, whole, outside):
    elsewhere = list(_names(whole))
    for name in _names(part):
        elsewhere.remove(name)
    return frozenset(outside).union(elsewhere)


def cost(formula, values, observed, full, entities, outside=frozenset("f")):
    """Fewest missing edges that make the formula true on `full`; infinite if it is false.

    `values` gives ids to constants, relations and the free variable; a negated part costs nothing
    where it fails on the full graph.
    """
    bound = _bound_here(formula, outside)
    if bound:
        name, *_ = bound
        return min(
            cost(formula, {**values, name: v}, observed, full, entities, outside | {name})
            for v in entities
        )
    if isinstance(formula, Atom):
        edge = tuple(values[symbol] for symbol in (formula.head, formula.relation, formula.tail))
        return math.inf if edge not in full else int(edge not in observed)
    if isinstance(formula, Not):
        inner = formula.inner
        if isinstance(inner, Not):
            return cost(inner.inner, values, observed, full, entities, outside)
        if isinstance(inner, And | Or) and not _bound_here(inner, outside):
            opposite = Or if isinstance(inner, And) else And
            pushed = opposite(tuple(Not(part) for part in inner.parts))
            return cost(pushed, values, observed, full, entities, outside)
        false = math.isinf(cost(inner, values, full, full, entities, outside))
        return 0 if false else math.inf
    costs = [
        cost(part, values, observed, full, entities, _outside(part, formula, outside))
        for part in formula.parts
    ]
    return sum(costs) if isinstance(formula, And) else min(costs)


def answers(formula, values, graph, entities):
    """The set of values of f for which the formula holds on the graph."""
    return {
        v
        for v in entities
        if not math.isinf(cost(formula, {**values, "f": v}, graph, graph, entities))
    }


def links(formula, values, observed, full, entities):
    """Fewest missing edges for each answer on the full graph, as a dictionary."""
    found = {v: cost(formula, {**values, "f": v}, observed, full, entities) for v in entities}
    return {v: c for v, c in found.items() if not math.isinf(c)}


def markings(formula, values, observed, full, entities, outside=frozenset("f")):
    """For every witness on `full` the relation symbols of its missing edges, as a set of sets.

    Every relation symbol occurs once. A negated part has one witness, without edges, if it fails.
    """
    bound = _bound_here(formula, outside)
    if bound:
        name, *_ = bound
        found = [
            markings(formula, {**values, name: v}, observed, full, entities, outside | {name})
            for v in entities
        ]
        return set().union(*found)
    if isinstance(formula, Atom):
        edge = tuple(values[symbol] for symbol in (formula.head, formula.relation, formula.tail))
        missing = frozenset() if edge in observed else frozenset([formula.relation])
        return {missing} if edge in full else set()
    if isinstance(formula, Not):
        inner = formula.inner
        if isinstance(inner, Not):
            return markings(inner.inner, values, observed, full, entities, outside)
        if isinstance(inner, And | Or) and not _bound_here(inner, outside):
            opposite = Or if isinstance(inner, And) else And
            pushed = opposite(tuple(Not(part) for part in inner.parts))
            return markings(pushed, values, observed, full, entities, outside)
        return set() if markings(inner, values, full, full, entities, outside) else {frozenset()}
    found = [
        markings(part, values, observed, full, entities, _outside(part, formula, outside))
        for part in formula.parts
    ]
    if isinstance(formula, Or):
        return set().union(*found)
    return {frozenset().union(*chosen) for chosen in itertools.product(*found)}


def minimal(sets):
    """The sets that hold no other one as a proper subset."""
    return {one for one in sets if not any(other < one for other in sets)}
