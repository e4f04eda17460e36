"""Witnesses on the full graph: the assignments behind answers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.crisp_witnesses import crisp_witnesses
from clqa.edge_indexes import Edges, indexed_edges
from clqa.formulas import parse
from strategies import edges, formulas, graphs, groundings, values_of


def indexed(graph, splits) -> Edges:
    return indexed_edges([graph.triples[split] for split in splits], range(graph.n_relations))


@settings(max_examples=150)
@given(st.data())
def test_every_answer_has_witnesses_and_the_first_needs_the_fewest_links(data):
    graph = data.draw(graphs(max_edges=12))
    formula = data.draw(formulas(depth=2, implications=True))
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    values = values_of(formula, anchors, relations)
    observed, full = edges(graph, ("train",)), edges(graph, ("train", "test"))
    entities = range(graph.n_entities)
    expected = reference_answers.links(formula, values, observed, full, entities)
    both = indexed(graph, ("train", "test"))
    for entity in entities:
        found, is_whole = crisp_witnesses(
            formula, values, {"f": entity}, both, observed, graph.n_entities
        )
        assert is_whole
        wanted = [expected[entity]] if entity in expected else []
        assert [one.n_missing for one in found[:1]] == wanted


@settings(max_examples=50)
@given(st.data())
def test_the_edges_of_a_witness_exist_and_are_told_apart(data):
    graph = data.draw(graphs())
    formula = parse("r1(s1,e1)&r2(e1,f)&!r3(e1,f)")
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    values = values_of(formula, anchors, relations)
    observed, full = edges(graph, ("train",)), edges(graph, ("train", "test"))
    for entity in range(graph.n_entities):
        both = indexed(graph, ("train", "test"))
        found, _ = crisp_witnesses(formula, values, {"f": entity}, both, observed, 6)
        for witness in found:
            middle = witness.assignment["e1"]
            assert (middle, values["r3"], entity) not in full
            wanted = [(values["s1"], values["r1"], middle), (middle, values["r2"], entity)]
            assert [step.edge for step in witness.steps] == wanted
            for step in witness.steps:
                assert step.edge in full
                assert (step.status == "observed") == (step.edge in observed)


def test_a_cycle_and_two_free_variables_have_witnesses():
    formula = parse("r1(s1,f1)&r2(f1,e1)&r3(e1,f2)&r1(f2,f1)")
    triples = {(0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 0, 1), (1, 1, 4), (4, 2, 3)}
    both = indexed_edges([np.array(sorted(triples))], range(3))
    values = {"s1": 0, "r1": 0, "r2": 1, "r3": 2}
    answer = {"f1": 1, "f2": 3}
    found, _ = crisp_witnesses(formula, values, answer, both, triples - {(1, 1, 2)}, 5)
    assert [(one.assignment, one.n_missing) for one in found] == [({"e1": 4}, 0), ({"e1": 2}, 1)]
    assert crisp_witnesses(formula, values, {"f1": 3, "f2": 1}, both, set(), 5)[0] == []


def test_a_variable_that_two_negations_share_is_one_entity():
    # Some e1 is linked to f by neither relation; 0 is by the first, 1 by the second, 2 by none.
    formula = parse("r3(s1,f)&!r1(e1,f)&!r2(e1,f)")
    triples = np.array([[0, 0, 2], [1, 1, 2], [0, 2, 2]])
    both = indexed_edges([triples], range(3))
    values = {"s1": 0, "r1": 0, "r2": 1, "r3": 2}
    found, _ = crisp_witnesses(formula, values, {"f": 2}, both, set(), 3)
    assert [one.assignment for one in found] == [{"e1": 2}]
