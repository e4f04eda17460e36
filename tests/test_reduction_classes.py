"""The classes of the +H benchmarks, against a set-based reading of their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.adjacencies import split_view
from clqa.answers import split_answers
from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import And, Formula, Not, Or, negation_normal, parse, symbols
from clqa.graphs import FULL, OBSERVED
from clqa.plans import plan
from clqa.reduction_classes import NO_CLASS, RELEASED, class_table, released_classes
from strategies import edges, graphs, groundings, values_of
from test_answers import graph_of


def conjoined(formula: Formula) -> Formula:
    if isinstance(formula, And | Or):
        return And(tuple(map(conjoined, formula.parts)))
    return formula


def negated(formula: Formula) -> set[str]:
    if isinstance(formula, Not):
        return set(symbols(formula, "r"))
    return set().union(*map(negated, getattr(formula, "parts", ())))


def expected_classes(text, anchors, relations, observed, full, entities):
    """Class by hard answer: every marking answered with each atom on its own graph."""
    formula = parse(text)
    values = values_of(formula, anchors, relations)
    easy = reference_answers.answers(formula, values, observed, entities)
    left = reference_answers.answers(formula, values, full, entities) - easy
    names = symbols(formula, "r")
    positive = [name for name in names if name not in negated(formula)]
    classes = {}
    for number, markings in enumerate(RELEASED[text].values()):
        found = set()
        for marking in markings:
            graph = set()
            for place, name in enumerate(names):
                chosen = full
                if name in positive:
                    missing = marking[positive.index(name)] == "1"
                    chosen = full - observed if missing else observed
                graph |= {(h, place, t) for h, r, t in chosen if r == values[name]}
            own = values | {name: place for place, name in enumerate(names)}
            found |= reference_answers.answers(conjoined(formula), own, graph, entities)
        classes |= dict.fromkeys(found & left, number)
        left -= found
    return classes | dict.fromkeys(left, NO_CLASS)


def found_classes(text, graph, split, anchors, relations):
    """Class by hard answer, for each query."""
    formula, view = parse(text), split_view(graph, split)
    hard = split_answers(plan(formula), view, anchors, relations).hard
    classes = released_classes(formula, view, anchors, relations, hard)
    return [
        dict(
            zip(
                hard.row(q).tolist(), classes[slice(*hard.offsets[q : q + 2])].tolist(), strict=True
            )
        )
        for q in range(len(anchors))
    ]


@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.parametrize("text", RELEASED)
def test_classes_equal_their_definition_on_random_graphs(text, data):
    graph = data.draw(graphs(n_entities=5, n_relations=2))
    anchors, relations = data.draw(groundings(parse(text), n_entities=5, n_relations=2))
    found = found_classes(text, graph, "test", anchors, relations)
    observed, full = edges(graph, OBSERVED["test"]), edges(graph, FULL["test"])
    for q in range(len(anchors)):
        assert found[q] == expected_classes(
            text, anchors[q], relations[q], observed, full, range(5)
        )


@pytest.mark.parametrize("text", RELEASED)
def test_classes_do_not_depend_on_the_order_of_like_branches(text):
    _, orders = canonical(negation_normal(parse(text)))
    n_constants = len(symbols(parse(text), "s"))
    positive = [r not in negated(parse(text)) for r in symbols(parse(text), "r")]
    digit = np.cumsum(positive) - 1
    for order in orders:
        moved = [digit[c - n_constants] for c in order[n_constants:] if positive[c - n_constants]]
        first = [
            digit[c - n_constants] for c in orders[0][n_constants:] if positive[c - n_constants]
        ]
        for markings in RELEASED[text].values():
            by_first = {"".join(m[place] for place in first) for m in markings}
            assert by_first == {"".join(m[place] for place in moved) for m in markings}


@pytest.mark.parametrize(
    "same",
    [
        "r3(s2,f)&(r1(s1,e1)&r2(e1,f))",
        "r2(e1,f)&r3(s2,f)&r1(s1,e1)",
    ],
)
def test_the_way_a_formula_is_written_does_not_matter(same):
    table = class_table(parse(same))
    assert table.names == ("1p", "2i", "2p", "pi")
    assert sum(int(family).bit_count() for family in table.families) == 7


def test_atoms_keep_their_classes_when_they_change_places():
    # 0 -r0-> 1 -r1-> 2 and 3 -r2-> 2, both edges of the path missing: the class 2p.
    graph = graph_of(4, 3, train=[[3, 2, 2]], valid=[[0, 0, 1], [1, 1, 2]])
    view = split_view(graph, "valid")
    for text, anchors, relations in [
        ("r1(s1,e1)&r2(e1,f)&r3(s2,f)", [0, 3], [0, 1, 2]),
        ("r1(s1,f)&r2(e1,f)&r3(s2,e1)", [3, 0], [2, 1, 0]),
    ]:
        formula = parse(text)
        hard = split_answers(plan(formula), view, [anchors], [relations]).hard
        assert hard.values.tolist() == [2]
        found = released_classes(formula, view, [anchors], [relations], hard)
        assert [class_table(formula).names[c] for c in found] == ["2p"]


def names_of(text, graph, anchors, relations):
    (found,) = found_classes(text, graph, "valid", [anchors], [relations])
    names = class_table(parse(text)).names
    return {t: names[c] if c != NO_CLASS else None for t, c in found.items()}


def test_a_union_needs_both_branches_as_edges():
    graph = graph_of(6, 2, train=[[5, 0, 5]], valid=[[0, 0, 2], [1, 1, 2], [0, 0, 3]])
    assert names_of("r1(s1,f)|r2(s2,f)", graph, [0, 1], [0, 1]) == {2: "2u", 3: None}


def test_both_ways_to_write_a_union_have_the_same_classes():
    graph = graph_of(6, 2, train=[[5, 0, 5]], valid=[[0, 0, 2], [1, 1, 2], [0, 0, 3]])
    one, other = parse("r1(s1,f)|r2(s2,f)"), parse("!(!r1(s1,f)&!r2(s2,f))")
    view = split_view(graph, "valid")
    hard = split_answers(plan(one), view, [[0, 1]], [[0, 1]]).hard
    found = [released_classes(f, view, [[0, 1]], [[0, 1]], hard).tolist() for f in (one, other)]
    assert found[0] == found[1] == [1, NO_CLASS]


def test_the_cheapest_class_goes_first():
    # Answer 4 by a path of two missing edges, and by another one of which one edge is missing.
    path = "r1(s1,e1)&r2(e1,f)"
    missing = [[0, 0, 1], [1, 1, 4], [2, 1, 4], [1, 1, 5]]
    graph = graph_of(6, 2, train=[[0, 0, 2]], valid=missing)
    assert names_of(path, graph, [0], [0, 1]) == {4: "1p", 5: "2p"}


def test_a_shape_that_the_release_lacks_is_refused():
    with pytest.raises(InputError, match="no classes"):
        class_table(parse("r1(s1,e1)&!r2(e1,f)&r3(s2,f)"))
