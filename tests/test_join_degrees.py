"""Elimination of variables: against all assignments, and by hand."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.algebras import algebra
from clqa.formulas import And, Atom, Not, parse, symbols
from clqa.join_degrees import Elimination, join_degrees
from clqa.join_plans import join_plan
from clqa.link_degrees import weighted_links
from clqa.sparse_rows import SparseRows
from clqa.tuples import free_variables
from strategies import groundings, values_of

N_ENTITIES, N_RELATIONS = 4, 3


def found(text, anchors, relations, weights, name="product", beam=100, enumerated=100):
    formula = parse(text) if isinstance(text, str) else text
    how = Elimination(SparseRows(weighted_links(weights)), algebra(name), beam, enumerated)
    return join_degrees(join_plan(formula), np.atleast_2d(anchors), np.atleast_2d(relations), how)


def random_weights(seed, n_entities=N_ENTITIES):
    """Quarters, so that sums and minima are exact."""
    drawn = np.random.default_rng(seed)
    shape = N_RELATIONS, n_entities, n_entities
    return drawn.choice([0, 0, 0.25, 0.5, 0.75, 1], shape).astype(np.float32)


@st.composite
def conjunctions(draw, free):
    """Atoms between constants and variables with any cycles and parallels; linked to the first."""
    names = [*free, *(f"e{i}" for i in range(1, draw(st.integers(1, 3))))]
    numbers = itertools.count(1)

    def atom(one, other):
        return Atom(f"r{next(numbers)}", *draw(st.permutations([one, other])))

    parts = [atom(draw(st.sampled_from(names[:i])), names[i]) for i in range(1, len(names))]
    parts += [atom(f"s{i}", draw(st.sampled_from(names))) for i in (1, 2)]
    for _ in range(draw(st.integers(0, 3))):
        if len(names) > 1:
            pair = draw(st.permutations(names))[:2]
            made = atom(*pair)
            parts.append(Not(made) if draw(st.booleans()) else made)
    return And(tuple(draw(st.permutations(parts))))


def degree(formula, values, weights, logic):
    """The degree of a formula without quantifiers."""
    match formula:
        case Atom(relation, head, tail):
            return weights[values[relation], values[head], values[tail]]
        case Not(inner):
            return logic.negate(degree(inner, values, weights, logic))
    join = logic.conjoin if isinstance(formula, And) else logic.disjoin
    return functools.reduce(join, (degree(p, values, weights, logic) for p in formula.parts))


def best(formula, variable, values, weights, logic):
    """The best degree with each value of a variable, all values of the others tried."""
    others = [name for name in [*symbols(formula, "f"), *symbols(formula, "e")] if name != variable]
    wanted = []
    for value in range(weights.shape[1]):
        tried = itertools.product(range(weights.shape[1]), repeat=len(others))
        assigned = ({**values, variable: value, **dict(zip(others, t, strict=True))} for t in tried)
        wanted.append(max(degree(formula, one, weights, logic) for one in assigned))
    return wanted


@pytest.mark.parametrize("name", ["product", "goedel", "lukasiewicz"])
@pytest.mark.parametrize("free", [["f"], ["f1", "f2"], ["f1", "f2", "f3"]])
@settings(max_examples=15)
@given(st.data())
def test_degrees_are_the_best_over_all_assignments(free, name, data):
    formula = data.draw(conjunctions(free))
    weights = random_weights(data.draw(st.integers(0, 200)))
    anchors, relations = data.draw(groundings(formula, N_ENTITIES, N_RELATIONS, n_queries=2))
    degrees = found(formula, anchors, relations, weights, name)
    for row, constants, chosen in zip(degrees, anchors, relations, strict=True):
        values = values_of(formula, constants, chosen)
        for variable, marginal in zip(free_variables(formula), row, strict=True):
            wanted = best(formula, variable, values, weights, algebra(name))
            assert marginal.tolist() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("name", ["product", "goedel"])
@settings(max_examples=15)
@given(st.integers(0, 200), st.data())
def test_alternatives_are_joined_by_the_algebra(name, seed, data):
    text = "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)&r4(e1,f)"
    formula, weights = parse(text), random_weights(seed)
    anchors, relations = data.draw(groundings(formula, N_ENTITIES, N_RELATIONS, n_queries=1))
    logic = algebra(name)
    values = values_of(formula, anchors[0], relations[0])
    parts = [
        best(parse(f"{first}&r3(e1,f)&r4(e1,f)"), "f", values, weights, logic)
        for first in ("r1(s1,e1)", "r2(s2,e1)")
    ]
    wanted = [float(logic.disjoin(*pair)) for pair in zip(*parts, strict=True)]
    assert found(text, anchors, relations, weights, name)[0, 0] == pytest.approx(wanted, abs=1e-6)


def triangle():
    """s1 is linked to the entities 1, 2 and 3 by 0.9, 0.8 and 1; both r2 and r3 lead on to 4."""
    weights = np.zeros((3, 5, 5), np.float32)
    weights[0, 0, 1:4] = [0.9, 0.8, 1]
    weights[1, 1:4, 4] = [0.5, 1, 0.25]
    weights[2, 1:4, 4] = [0.5, 0.5, 0.25]
    return weights


def test_parallel_atoms_hold_of_the_same_intermediate():
    degrees = found("r1(s1,e1)&r2(e1,f)&r3(e1,f)", [0], [0, 1, 2], triangle())
    assert degrees[0, 0].tolist() == pytest.approx([0, 0, 0, 0, 0.8 * 1 * 0.5])
    degrees = found("r1(s1,e1)&r2(e1,f)&!r3(e1,f)", [0], [0, 1, 2], triangle(), "goedel")
    assert degrees[0, 0].tolist() == pytest.approx([0, 0, 0, 0, 0.5])


def test_a_beam_follows_the_best_values():
    text = "r1(s1,e1)&r2(e1,f)&r3(e1,f)"
    for beam, wanted in [(1, 0.0625), (2, 0.225), (3, 0.4)]:
        degrees = found(text, [0], [0, 1, 2], triangle(), beam=beam)
        assert degrees[0, 0, 4] == pytest.approx(wanted)


def test_of_a_variable_that_is_cut_those_of_degree_1_are_tried_beside():
    # e1 and e2 are linked with each other and with f: one of them has to be cut.
    weights = np.zeros((2, 6, 6), np.float32)
    weights[0, 0, [1, 2, 3, 4]] = [1, 1, 0.5, 0.25]
    weights[1, [1, 2, 3, 4], 5] = [0.1, 0.2, 0.9, 1]
    weights[0, 5, 5] = 1
    text = "r1(s1,e1)&r2(e1,e2)&r3(e2,f)&r4(e1,f)"
    for enumerated, beam, wanted in [(0, 9, 0.04), (1, 9, 0.405), (9, 2, 0.04)]:
        degrees = found(text, [0], [0, 1, 0, 1], weights, beam=beam, enumerated=enumerated)
        assert degrees[0, 0, 5] == pytest.approx(wanted)
