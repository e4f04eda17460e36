"""Nested tuples of the BetaE pickles against formulas."""

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from clqa.adjacencies import graph_view, split_view
from clqa.answers import answer_sets, split_answers
from clqa.canonical_forms import canonical
from clqa.configs import read_yaml
from clqa.errors import InputError
from clqa.formulas import parse, symbols, to_text
from clqa.graphs import make_graph
from clqa.plans import plan
from clqa.structures import (
    QUERY2BOX,
    Malformed,
    formula_layout,
    grounded,
    groundings,
    letters,
    structure_formula,
)
from strategies import formulas

SHAPES = read_yaml(Path(__file__).resolve().parents[1] / "config" / "shapes.yaml")
ONE = ("e", ("r",))
STRUCTURES = {
    "1p": ONE,
    "2p": ("e", ("r", "r")),
    "3p": ("e", ("r", "r", "r")),
    "4p": ("e", ("r", "r", "r", "r")),
    "5p": ("e", ("r", "r", "r", "r", "r")),
    "2i": (ONE, ONE),
    "3i": (ONE, ONE, ONE),
    "4i": (ONE, ONE, ONE, ONE),
    "pi": (("e", ("r", "r")), ONE),
    "ip": ((ONE, ONE), ("r",)),
    "2in": (ONE, ("e", ("r", "n"))),
    "3in": (ONE, ONE, ("e", ("r", "n"))),
    "inp": ((ONE, ("e", ("r", "n"))), ("r",)),
    "pin": (("e", ("r", "r")), ("e", ("r", "n"))),
    "pni": (("e", ("r", "r", "n")), ONE),
    "2u": (ONE, ONE, ("u",)),
    "up": ((ONE, ONE, ("u",)), ("r",)),
    "2u-DM": ((("e", ("r", "n")), ("e", ("r", "n"))), ("n",)),
    "up-DM": ((("e", ("r", "n")), ("e", ("r", "n"))), ("n", "r")),
}


@pytest.mark.parametrize("shape", STRUCTURES)
def test_a_structure_is_the_catalogues_shape(shape):
    formula = structure_formula(STRUCTURES[shape])
    assert canonical(formula)[0] == canonical(parse(SHAPES[shape]))[0]
    assert to_text(formula) == SHAPES[shape]


@pytest.mark.parametrize("shape", STRUCTURES)
def test_a_catalogues_shape_is_written_as_its_structure(shape):
    layout = formula_layout(parse(SHAPES[shape]))
    assert layout.structure == STRUCTURES[shape]
    assert layout.constants == tuple(range(len(layout.constants)))
    assert layout.relations == tuple(range(len(layout.relations)))


@pytest.mark.parametrize("key", QUERY2BOX)
def test_query2box_keys_have_their_letters_in_the_order_of_betae(key):
    own, common = QUERY2BOX[key]
    assert [x for x in letters(own) if x in "er"] == [x for x in letters(common) if x in "er"]


def test_published_examples():
    query = (((5, (0,)), (9, (2, -2))), (4,))
    anchors, relations = groundings([query], STRUCTURES["inp"])
    assert anchors.tolist() == [[5, 9]]
    assert relations.tolist() == [[0, 2, 4]]
    assert grounded(formula_layout(parse(SHAPES["inp"])), anchors, relations) == [query]


def test_the_order_is_that_of_the_formula_also_where_the_tuple_has_another():
    formula = parse("r3(e1,f)&!r2(s2,f)&r1(s1,e1)")
    layout = formula_layout(formula)
    # columns: s2, s1 and r3, r2, r1, as they first appear
    assert layout.structure == STRUCTURES["pin"]
    assert grounded(layout, np.array([[7, 5]]), np.array([[3, 2, 1]])) == [
        ((5, (1, 3)), (7, (2, -2)))
    ]


@pytest.mark.parametrize("text", ["r1(s1,e1)&!r2(e1,f)&r3(s2,f)", "r1(f,s1)", "r1(s1,f)&r2(e1,f)"])
def test_what_tuples_cannot_express_is_refused(text):
    with pytest.raises(InputError, match="nested tuples cannot express"):
        formula_layout(parse(text))


@pytest.mark.parametrize("wrong", [(), "e", ("e", ()), ("e", ("n",)), (ONE, ("u",)), ("e", "r")])
def test_what_is_no_structure_is_refused(wrong):
    with pytest.raises(InputError, match="not a query structure"):
        structure_formula(wrong)


@pytest.mark.parametrize(
    "query",
    [
        ((5, (0, 1)), (9, (2, -2))),
        ((5, (0,)), (9, (2, -1))),
        ((5, (0,)), (9, (-2, -2))),
        ((5, (0,)), (True, (2, -2))),
        ((5, (0,)), ("9", (2, -2))),
        5,
    ],
)
def test_a_query_of_another_structure_is_named(query):
    found = groundings([((1, (0,)), (2, (2, -2))), query], STRUCTURES["2in"])
    assert isinstance(found, Malformed)
    assert found.query == query


@st.composite
def structures(draw, depth=2):
    def steps():
        return tuple(draw(st.lists(st.sampled_from("rrn"), min_size=1, max_size=3)))

    def branch(depth):
        kind = draw(st.sampled_from(["chain", "and", "or"])) if depth else "leaf"
        if kind == "leaf":
            return ("e", ("r", *draw(st.lists(st.sampled_from("rn"), max_size=2))))
        if kind == "chain":
            inner = branch(depth - 1)
            more = steps()
            is_chain = len(inner) == 2 and set(inner[1]) <= {"r", "n"}
            return (inner[0], inner[1] + more) if is_chain else (inner, more)
        branches = tuple(branch(depth - 1) for _ in range(draw(st.integers(2, 3))))
        return branches if kind == "and" else (*branches, ("u",))

    return branch(depth)


@settings(deadline=None)
@given(structures(), st.data())
def test_structure_and_formula_and_tuple_round_trip(structure, data):
    formula = structure_formula(structure)
    assert symbols(formula, "s") == [f"s{i + 1}" for i in range(len(symbols(formula, "s")))]
    assert symbols(formula, "r") == [f"r{i + 1}" for i in range(len(symbols(formula, "r")))]
    layout = formula_layout(formula)
    assert canonical(structure_formula(layout.structure))[0] == canonical(formula)[0]
    sizes = plan(formula).n_constants, plan(formula).n_relations
    ids = st.integers(0, 2**31 - 1)
    anchors, relations = (
        np.array([data.draw(st.lists(ids, min_size=n, max_size=n))], np.int32) for n in sizes
    )
    found = groundings(grounded(layout, anchors, relations), layout.structure)
    assert np.array_equal(found[0], anchors[:, list(layout.constants)])
    assert np.array_equal(found[1], relations[:, list(layout.relations)])


@settings(deadline=None)
@given(formulas())
def test_a_formula_that_tuples_express_comes_back(formula):
    try:
        layout = formula_layout(formula)
    except InputError:
        return
    assert canonical(structure_formula(layout.structure))[0] == canonical(formula)[0]


def test_longer_chains_on_a_chain_of_six():
    edges = np.array([[node, 0, node + 1] for node in range(5)])
    none = np.empty((0, 3), np.int32)
    triples = {"train": edges, "valid": none, "test": none}
    view = graph_view(make_graph(triples, np.array([-1]), 6, "chain"), ("train",))
    anchors = np.arange(6).reshape(-1, 1)
    for steps, n_groundings in ((4, 2), (5, 1)):
        formula = structure_formula(("e", ("r",) * steps))
        assert parse(to_text(formula)) == formula
        found = answer_sets(plan(formula), view, anchors, np.zeros((6, steps), np.int32))
        assert len(found.values) == n_groundings


def test_the_same_triple_in_two_splits_is_not_scored():
    train, test = np.array([[0, 0, 1]]), np.array([[0, 0, 1], [0, 0, 2]])
    triples = {"train": train, "valid": np.empty((0, 3), np.int32), "test": test}
    view = split_view(make_graph(triples, np.array([-1]), 3, "v"), "test")
    found = split_answers(plan(structure_formula(ONE)), view, np.array([[0]]), np.array([[0]]))
    assert (found.easy.values.tolist(), found.hard.values.tolist()) == ([1], [2])
