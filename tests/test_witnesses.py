"""Witnesses: the assignments behind degrees."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.algebras import ALGEBRAS, algebra
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.link_degrees import weighted_links
from clqa.optimal_answers import Optimization, optimal_degrees
from clqa.plans import plan
from clqa.sparse_rows import SparseRows
from clqa.witnesses import Link, best_witness, link_status, links_of
from strategies import formulas, groundings
from test_fuzzy_answers import CHAIN, random_weights


def fuzzy_witness(text, anchors, relations, entity, weights, name, beam=6):
    logic, rows = algebra(name), (np.atleast_2d(anchors), np.atleast_2d(relations))
    search = Search(weighted_links(weights), logic, *rows, beam)
    root = plan(parse(text) if isinstance(text, str) else text).root
    return best_witness(root, entity, search, lambda node: answer_degrees(node, search)[0])


@pytest.mark.parametrize(
    ("name", "entity", "degree", "middle"),
    [
        ("viterbi", 4, 0.35, 1),
        ("viterbi", 5, 0.72, 2),
        ("goedel", 4, 0.5, 1),
        ("goedel", 5, 0.8, 2),
    ],
)
def test_a_chain_is_explained_by_its_best_intermediate(name, entity, degree, middle):
    found = fuzzy_witness("r1(s1,e1)&r2(e1,f)", [0], [0, 1], entity, CHAIN, name)
    assert found.degree == pytest.approx(degree)
    assert [link[:3] for link in links_of(found)] == [(middle, 1, entity), (0, 0, middle)]


def test_a_narrow_beam_is_explained_by_what_it_holds():
    found = fuzzy_witness("r1(s1,e1)&r2(e1,f)", [0], [0, 1], 4, CHAIN, "product", beam=1)
    assert [link[:3] for link in links_of(found)] == [(2, 1, 4), (0, 0, 2)]
    assert found.degree == pytest.approx(0.32)


def test_a_link_that_is_followed_backwards_keeps_its_direction():
    found = fuzzy_witness("r1(f,s1)", [5], [1], 2, CHAIN, "product")
    assert next(links_of(found))[:3] == (2, 1, 5)


def test_an_entity_of_degree_0_has_no_witness():
    with pytest.raises(InputError, match="entity 3 has degree 0"):
        fuzzy_witness("r1(s1,e1)&r2(e1,f)", [0], [0, 1], 3, CHAIN, "product")


def product_of(witness, disjoin):
    """The degree of a positive witness from its links alone."""
    parts = [product_of(part, disjoin) for part in witness.parts]
    if witness.kind == "any":
        return functools.reduce(disjoin, parts)
    own = [1.0 if witness.link is None else witness.link.degree]
    return float(np.prod(own + parts))


@pytest.mark.parametrize("name", ["product", "viterbi"])
@settings(max_examples=25)
@given(st.data())
def test_the_links_of_a_witness_make_its_degree(name, data):
    formula = parse("(r1(s1,e1)|r2(s2,e1))&r3(e1,e2)&!r4(e2,f)&r5(f,s3)")
    anchors, relations = data.draw(groundings(formula, n_queries=1))
    weights = random_weights(data.draw(st.integers(0, 100)))
    search = Search(weighted_links(weights), algebra(name), anchors, relations, 6)
    degrees = answer_degrees(plan(formula).root, search)[0]
    for entity in np.flatnonzero(degrees):
        found = fuzzy_witness(formula, anchors, relations, entity, weights, name)
        assert found.degree == degrees[entity]
        assert product_of(found, search.algebra.disjoin) == pytest.approx(degrees[entity])


@pytest.mark.parametrize("name", ALGEBRAS)
@settings(max_examples=20)
@given(st.data())
def test_every_entity_above_degree_0_has_a_witness_of_its_degree(name, data):
    formula = data.draw(formulas(depth=2, implications=True))
    anchors, relations = data.draw(groundings(formula, n_queries=1))
    weights = random_weights(data.draw(st.integers(0, 100)))
    search = Search(weighted_links(weights), algebra(name), anchors, relations, 6)
    degrees = answer_degrees(plan(formula).root, search)[0]
    for entity in np.flatnonzero(degrees > 0):
        found = fuzzy_witness(formula, anchors, relations, entity, weights, name)
        assert (found.entity, found.degree) == (entity, degrees[entity])


def test_an_optimum_is_explained_by_its_assignment():
    # Two intermediates, 1 and 2; only 2 is not linked to the answer for sure.
    weights = np.zeros((3, 4, 4))
    weights[0, 0, [1, 2]], weights[1, 1, 3], weights[1, 2, 3], weights[2, 0, 3] = 1, 0.25, 0.125, 1
    root = plan(parse("r1(s1,e1)&!r2(e1,f)&r3(s2,f)")).root
    rows = np.array([[0, 0]]), np.array([[0, 1, 2]])
    links = weighted_links(weights)
    task = Optimization(SparseRows(links), *rows, negation_scale=3.0)
    logic = algebra("product")._replace(negate=lambda held: 1 - np.minimum(1, 3 * held))
    search = Search(links, logic, *rows, beam=4)
    found = best_witness(root, 3, search, lambda node: optimal_degrees(node, task)[0])
    assert found.degree == 0.625
    assert list(links_of(found)) == [
        Link(2, 1, 3, True, 0.625),
        Link(0, 0, 2, False, 1.0),
        Link(0, 2, 3, False, 1.0),
    ]


def test_links_are_observed_missing_or_predicted():
    observed, full = {(0, 0, 1)}, {(0, 0, 1), (1, 0, 2)}
    links = [Link(*edge, False, 0.5) for edge in ((0, 0, 1), (1, 0, 2), (2, 0, 0))]
    wanted = ["observed", "missing", "predicted"]
    assert [link_status(link, observed, full) for link in links] == wanted
