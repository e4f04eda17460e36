"""Fuzzy query answering: against all assignments, against crisp answers, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.adjacencies import graph_view
from clqa.algebras import ALGEBRAS, NEGATIONS, algebra
from clqa.answers import answer_sets
from clqa.formulas import parse
from clqa.fuzzy_answers import Search, answer_degrees, best_members
from clqa.link_degrees import weighted_links, with_edges
from clqa.link_queries import link_queries
from clqa.plans import plan
from reference_degrees import degree
from strategies import formulas, graphs, groundings, values_of

N_ENTITIES, N_RELATIONS = 6, 3
# The fixture of Heyting, a library of fuzzy query answering.
CHAIN = np.zeros((2, 6, 6))
for head, relation, tail, held in [
    *[(0, 0, 1, 0.5), (0, 0, 2, 0.8), (0, 0, 3, 0.1)],
    *[(1, 1, 4, 0.7), (2, 1, 4, 0.4), (2, 1, 5, 0.9), (3, 1, 5, 1.0)],
]:
    CHAIN[relation, head, tail] = held
PNI = {"all": "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", "some": "r1(s1,e1)&!r2(e1,f)&r3(s2,f)"}


def found(text, anchors, relations, weights, name="product", beam=6, **options):
    negation = options.pop("negation", "standard")
    links = options.pop("links", None) or weighted_links(np.asarray(weights))
    rows = np.atleast_2d(anchors), np.atleast_2d(relations)
    formula = parse(text) if isinstance(text, str) else text
    search = Search(links, algebra(name, negation), *rows, beam, **options)
    return answer_degrees(plan(formula).root, search)


def random_weights(seed):
    """Quarters, whose products are exact, so that implications do not hang on rounding."""
    drawn = np.random.default_rng(seed)
    return drawn.choice([0, 0, 0.25, 0.5, 0.75, 1], (N_RELATIONS, N_ENTITIES, N_ENTITIES))


# By hand.


@pytest.mark.parametrize(
    ("name", "beam", "wanted"),
    [
        ("product", 6, [0.35, 0.72]),
        ("viterbi", 6, [0.35, 0.72]),
        ("goedel", 6, [0.5, 0.8]),
        ("lukasiewicz", 6, [0.2, 0.7]),
        ("product", 1, [0.32, 0.72]),
        ("product", 2, [0.35, 0.72]),
    ],
)
def test_degrees_of_a_chain(name, beam, wanted):
    degrees = found("r1(s1,e1)&r2(e1,f)", [0], [0, 1], CHAIN, name, beam)[0]
    assert degrees[4:].tolist() == pytest.approx(wanted, abs=1e-6)
    assert not degrees[:4].any()


def test_a_relation_may_be_followed_backwards():
    degrees = found("r1(f,s1)", [5], [1], CHAIN)[0]
    assert degrees.tolist() == pytest.approx([0, 0, 0.9, 1, 0, 0])


def test_of_equal_intermediates_those_of_lowest_id_are_followed():
    weights = np.zeros((2, 4, 4))
    weights[0, 0, 1:] = 0.5
    weights[1, [1, 2, 3], [1, 2, 3]] = 1
    degrees = found("r1(s1,e1)&r2(e1,f)", [0], [0, 1], weights, beam=2)[0]
    assert degrees.tolist() == [0, 0.5, 0.5, 0]


def test_members_of_degree_zero_are_not_followed():
    members = best_members(np.array([[0, 0.25, 0], [0, 0, 0]], np.float32), 2)
    assert members.owners.tolist() == [0]
    assert members.entities.tolist() == [1]


@given(st.lists(st.lists(st.integers(0, 3), min_size=7, max_size=7), min_size=1), st.integers(1, 8))
def test_a_beam_holds_the_first_members_by_degree_and_then_by_id(rows, beam):
    degrees = np.array(rows, np.float32) / 4
    members = best_members(degrees, beam)
    for number, row in enumerate(rows):
        first = sorted(range(7), key=lambda e: (-row[e], e))[:beam]
        wanted = sorted(entity for entity in first if row[entity] > 0)
        assert members.entities[members.owners == number].tolist() == wanted


@pytest.mark.parametrize(("reading", "wanted"), [("all", 0.0), ("some", 0.5)])
def test_the_two_readings_of_pni(reading, wanted):
    # Of two intermediates one leads to the entity 3 and the other, of degree 0.5, does not.
    weights = np.zeros((3, 4, 4))
    weights[0, 0, 1], weights[0, 0, 2], weights[1, 1, 3], weights[2, 0, 3] = 1, 0.5, 1, 1
    degrees = found(PNI[reading], [0, 0], [0, 1, 2], weights)[0]
    assert degrees.tolist() == [0, 0, 0, wanted]


def test_a_search_that_branches_keeps_a_beam_for_each_intermediate():
    # The best of 2 are 3 and 4, those of 1 only 5; one beam of two holds 3 and 4.
    weights = np.zeros((3, 7, 7))
    weights[0, 0, 1], weights[0, 0, 2] = 0.5, 1
    weights[1, 2, 3], weights[1, 2, 4], weights[1, 1, 5] = 1, 0.75, 1
    weights[2, [3, 4, 5], [3, 4, 5]] = 1
    chain = "r1(s1,e1)&r2(e1,e2)&r3(e2,f)", [0], [0, 1, 2], weights
    assert found(*chain, beam=2)[0].tolist() == [0, 0, 0, 1, 0.75, 0, 0]
    assert found(*chain, beam=2, branching=True)[0].tolist() == [0, 0, 0, 1, 0.75, 0.5, 0]
    assert found(*chain, beam=1, branching=True)[0].tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_branches_that_meet_count_once_with_the_best_degree():
    weights = np.zeros((3, 5, 5))
    weights[0, 0, 1], weights[0, 0, 2], weights[1, 1, 3], weights[1, 2, 3] = 0.5, 0.25, 0.5, 0.75
    weights[2, 3, 4] = 1
    degrees = found("r1(s1,e1)&r2(e1,e2)&r3(e2,f)", [0], [0, 1, 2], weights, branching=True)[0]
    assert degrees.tolist() == [0, 0, 0, 0, 0.25]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("goedel", [1, 0.25]), ("product", [1, 0.5]), ("lukasiewicz", [1, 0.75])],
)
def test_an_implication_has_the_degree_of_the_residuum(name, wanted):
    weights = np.zeros((2, 2, 2))
    weights[0, 0], weights[1, 0] = [0.25, 0.5], [0.5, 0.25]
    degrees = found("r1(s1,f)->r2(s2,f)", [0, 0], [0, 1], weights, name)[0]
    assert degrees.tolist() == wanted


# Against the definition.


@pytest.mark.parametrize("negation", NEGATIONS)
@pytest.mark.parametrize("name", ALGEBRAS)
@settings(max_examples=25)
@given(st.data())
def test_with_all_intermediates_degrees_are_the_best_over_all_assignments(name, negation, data):
    formula = data.draw(formulas(depth=2, implications=True))
    weights = random_weights(data.draw(st.integers(0, 100)))
    anchors, relations = data.draw(groundings(formula))
    branching = data.draw(st.booleans())
    degrees = found(
        formula, anchors, relations, weights, name, negation=negation, branching=branching
    )
    weights = weights.astype(np.float32)
    for row, constants, symbols in zip(degrees, anchors, relations, strict=True):
        values = values_of(formula, constants, symbols)
        wanted = [
            float(
                degree(
                    formula,
                    {**values, "f": v},
                    lambda head, relation, tail: weights[relation, head, tail],
                    algebra(name, negation),
                    range(N_ENTITIES),
                )
            )
            for v in range(N_ENTITIES)
        ]
        assert row.tolist() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("negation", NEGATIONS)
@pytest.mark.parametrize("name", ALGEBRAS)
@settings(max_examples=25)
@given(st.data())
def test_on_certain_links_every_algebra_gives_the_crisp_answers(name, negation, data):
    formula, graph = data.draw(formulas(implications=True)), data.draw(graphs())
    anchors, relations = data.draw(groundings(formula))
    weights = np.zeros((N_RELATIONS, N_ENTITIES, N_ENTITIES))
    heads, kinds, tails = np.concatenate(list(graph.triples.values())).T
    weights[kinds, heads, tails] = 1
    degrees = found(formula, anchors, relations, weights, name, negation=negation)
    answers = answer_sets(
        plan(formula), graph_view(graph, tuple(graph.triples)), anchors, relations
    )
    assert np.isin(degrees, [0, 1]).all()
    assert [np.flatnonzero(row).tolist() for row in degrees] == [
        answers.row(i).tolist() for i in range(len(degrees))
    ]


@settings(max_examples=25)
@given(st.data(), st.integers(1, 5), st.booleans())
def test_degrees_of_a_query_do_not_depend_on_the_batch(data, beam, branching):
    formula = data.draw(formulas(depth=2))
    weights = random_weights(data.draw(st.integers(0, 100)))
    anchors, relations = data.draw(groundings(formula, n_queries=5))
    options = {"beam": beam, "branching": branching}
    together = found(formula, anchors, relations, weights, **options)
    alone = [found(formula, anchors[[i]], relations[[i]], weights, **options)[0] for i in range(5)]
    assert together.tolist() == np.array(alone).tolist()


@settings(max_examples=25)
@given(st.data())
def test_a_wider_beam_never_lowers_degrees_without_negation(data):
    formula = parse("(r1(s1,e1)|r2(s2,e1))&r3(e1,f)&r4(s3,f)")
    weights = random_weights(data.draw(st.integers(0, 100)))
    anchors, relations = data.draw(groundings(formula))
    degrees = [found(formula, anchors, relations, weights, beam=k) for k in range(1, 7)]
    assert (np.diff(degrees, axis=0) >= 0).all()


# Known edges.


@settings(max_examples=25)
@given(graphs(), st.integers(0, 2), st.integers(0, 5))
def test_known_edges_are_certain_in_both_directions_and_others_are_left(graph, relation, entity):
    weights = np.full((N_RELATIONS, N_ENTITIES, N_ENTITIES), 0.25)
    links = weighted_links(weights)
    links = with_edges(links, link_queries(graph, graph.triples))
    triples = {tuple(row) for rows in graph.triples.values() for row in rows.tolist()}
    ahead = links.rows(np.array([entity]), np.array([relation]))[0]
    back = links.rows(np.array([entity]), links.reciprocal[[relation]])[0]
    for other in range(N_ENTITIES):
        assert ahead[other] == (1 if (entity, relation, other) in triples else 0.25)
        assert back[other] == (1 if (other, relation, entity) in triples else 0.25)
