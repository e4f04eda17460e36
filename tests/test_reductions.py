"""Markings of witnesses and minimal sets of missing atoms, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.adjacencies import split_view
from clqa.answers import answer_sets, missing_links, split_answers
from clqa.errors import InputError
from clqa.formulas import parse, symbols
from clqa.graphs import FULL, OBSERVED
from clqa.markings import MOST_ATOMS, marking_families, marking_plan
from clqa.plans import plan
from clqa.reduction_classes import NO_CLASS, RELEASED, released_classes
from clqa.reductions import (
    answer_reductions,
    fewest,
    minimal,
    minimal_missing_subsets,
    subset_names,
)
from strategies import edges, formulas, graphs, groundings, values_of
from test_answers import FORK, TWO_HOPS, graph_of


def spelt_out(family, formula):
    """A family as a set of sets of relation symbols."""
    positive = [symbols(formula, "r")[place] for place in marking_plan(formula).positive]
    markings = [m for m in range(64) if int(family) >> m & 1]
    return {frozenset(r for i, r in enumerate(positive) if m >> i & 1) for m in markings}


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_markings_equal_the_definition_on_random_graphs(data):
    graph, formula = data.draw(graphs()), data.draw(formulas())
    try:
        shape = marking_plan(formula)
    except InputError:
        return
    anchors, relations = data.draw(groundings(formula))
    view = split_view(graph, "test")
    everything = answer_sets(plan(formula), view, anchors, relations)
    found = marking_families(shape, view, anchors, relations, everything)
    subsets = minimal_missing_subsets(formula, view, anchors, relations, everything)
    links = missing_links(plan(formula), view, anchors, relations, everything)
    assert fewest(subsets).tolist() == links.tolist()
    assert fewest(found).tolist() == links.tolist()
    observed, full = edges(graph, OBSERVED["test"]), edges(graph, FULL["test"])
    for q in range(len(anchors)):
        values = values_of(formula, anchors[q], relations[q])
        for place in range(*everything.offsets[q : q + 2]):
            grounded = {**values, "f": int(everything.values[place])}
            expected = reference_answers.markings(
                formula, grounded, observed, full, range(graph.n_entities)
            )
            assert spelt_out(found[place], formula) == expected
            assert spelt_out(subsets[place], formula) == reference_answers.minimal(expected)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_minimal_keeps_what_holds_no_other_marking(families):
    found = minimal(np.array(families, np.uint64))
    for family, kept in zip(families, found.tolist(), strict=True):
        markings = [m for m in range(64) if family >> m & 1]
        expected = [m for m in markings if not any(o != m and o & m == o for o in markings)]
        assert kept == sum(1 << m for m in expected)


def test_no_entity_outside_the_answers_has_a_marking():
    graph = graph_of(5, 2, train=TWO_HOPS[:1], valid=TWO_HOPS[1:])
    everything = answer_sets(plan(parse("!r1(s1,f)")), split_view(graph, "valid"), [[4]], [[0]])
    assert everything.values.tolist() == [0, 1, 2, 3, 4]
    path = marking_plan(parse("r1(s1,e1)&r2(e1,f)"))
    found = marking_families(path, split_view(graph, "valid"), [[0]], [[0, 1]], everything)
    assert found.tolist() == [0, 0, 0, 1 << 0b10 | 1 << 0b11, 1 << 0b11]


def test_one_link_through_either_of_two_ways_is_told_apart():
    # 0 -> 2 -> 4 and 0 -> 3 -> 4: the second hop of the one, the first of the other is missing.
    graph = graph_of(5, 2, train=[[0, 0, 2], [3, 1, 4]], valid=[[2, 1, 4], [0, 0, 3]])
    view, path = split_view(graph, "valid"), parse("r1(s1,e1)&r2(e1,f)")
    hard = answer_sets(plan(path), view, [[0]], [[0, 1]])
    assert minimal_missing_subsets(path, view, [[0]], [[0, 1]], hard).tolist() == [
        1 << 0b01 | 1 << 0b10
    ]


def test_a_negated_atom_has_no_number():
    shape = marking_plan(parse("r1(s1,e1)&!r2(s2,e1)&r3(e1,f)"))
    assert shape.positive == (0, 2)
    graph = graph_of(5, 3, train=FORK["observed"], valid=FORK["missing"])
    view, formula = split_view(graph, "valid"), parse("r1(s1,e1)&!r2(s2,e1)&r3(e1,f)")
    hard = answer_sets(plan(formula), view, [[0, 1]], [[0, 1, 2]])
    assert hard.values.tolist() == [4]
    subsets = minimal_missing_subsets(formula, view, [[0, 1]], [[0, 1, 2]], hard)
    assert subsets.tolist() == [1 << 0b11]


def test_a_relation_that_occurs_twice_stands_for_two_atoms():
    graph = graph_of(3, 1, train=[[0, 0, 1]], valid=[[1, 0, 2]])
    view, path = split_view(graph, "valid"), parse("r1(s1,e1)&r1(e1,f)")
    hard = answer_sets(plan(path), view, [[0]], [[0]])
    assert minimal_missing_subsets(path, view, [[0]], [[0]], hard).tolist() == [1 << 0b10]


def test_more_atoms_than_a_word_can_tell_apart_are_refused():
    text = "&".join(f"r{i}(s{i},f)" for i in range(MOST_ATOMS + 1))
    with pytest.raises(InputError, match="7 positive atoms"):
        marking_plan(parse(text))


@settings(max_examples=20, deadline=None)
@given(st.data())
@pytest.mark.parametrize("text", [*RELEASED, "r1(s1,f)", "r1(s1,e1)&!r2(e1,f)&r3(s2,f)"])
def test_the_reductions_of_answers_are_those_of_their_definitions(text, data):
    graph, formula = data.draw(graphs()), parse(text)
    rows = (split_view(graph, "test"), *data.draw(groundings(formula)))
    hard = split_answers(plan(formula), *rows).hard
    found = answer_reductions(formula, *rows, hard)
    assert found.links.tolist() == missing_links(plan(formula), *rows, hard).tolist()
    assert found.subsets.tolist() == minimal_missing_subsets(formula, *rows, hard).tolist()
    if text in RELEASED:
        assert found.classes.tolist() == released_classes(formula, *rows, hard).tolist()
    else:
        assert set(found.classes) <= {NO_CLASS}


def test_links_are_known_where_there_are_too_many_atoms_for_markings():
    n_atoms = MOST_ATOMS + 1
    formula = parse("&".join(f"r{i}(s{i},f)" for i in range(n_atoms)))
    graph = graph_of(3, n_atoms, train=[[0, r, 2] for r in range(5)], valid=[[0, 5, 2], [0, 6, 2]])
    rows = (split_view(graph, "valid"), [[0] * n_atoms], [list(range(n_atoms))])
    found = answer_reductions(formula, *rows, split_answers(plan(formula), *rows).hard)
    assert [part.tolist() for part in found] == [[2], [0], [NO_CLASS]]


@pytest.mark.parametrize(
    ("subsets", "name"),
    [([0b01], "1"), ([0b10, 0b01], "1 or 2"), ([0b110, 0b001], "1 or 2+3"), ([], "?")],
)
def test_minimal_sets_are_named_by_the_places_of_their_atoms(subsets, name):
    assert list(subset_names(np.array([sum(1 << m for m in subsets)], np.uint64))) == [name]
