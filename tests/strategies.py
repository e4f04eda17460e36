"""Random graphs, formulas and groundings for property tests."""

import itertools

import numpy as np
from hypothesis import strategies as st

from clqa.formulas import And, Atom, Implies, Not, Or, joined, renamed, symbols
from clqa.graphs import make_graph

N_ENTITIES, N_RELATIONS = 6, 3


@st.composite
def graphs(draw, n_entities=N_ENTITIES, n_relations=N_RELATIONS, max_edges=24):
    """A graph whose edges fall at random into the three splits, sometimes into two of them."""
    edge = st.tuples(
        st.integers(0, n_entities - 1),
        st.integers(0, n_relations - 1),
        st.integers(0, n_entities - 1),
    )
    triples = {
        split: np.array(draw(st.lists(edge, max_size=most)), np.int32).reshape(-1, 3)
        for split, most in (("train", max_edges), ("valid", 6), ("test", 8))
    }
    return make_graph(triples, np.full(n_relations, -1), n_entities, "vocabulary")


def edges(graph, splits):
    """The union of some splits as a set of (head, relation, tail)."""
    return {tuple(map(int, row)) for split in splits for row in graph.triples[split]}


@st.composite
def formulas(draw, depth=3, implications=False):
    """A formula that is a tree of set operators, complements anywhere; every symbol occurs once."""
    numbers = {kind: itertools.count(1) for kind in "sre"}

    def fresh(kind):
        return f"{kind}{next(numbers[kind])}"

    def atom(one, other):
        return Atom(fresh("r"), *draw(st.permutations([one, other])))

    def about(target, depth):
        kinds = ["anchor"] if depth == 0 else ["anchor", "hop", "hop", "and", "or", "not", "leaf"]
        kinds += ["implies"] * (implications and depth > 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "anchor":
            return atom(fresh("s"), target)
        if kind == "leaf":
            return atom(fresh("e"), target)
        if kind == "hop":
            middle = fresh("e")
            link = atom(middle, target)
            link = Not(link) if draw(st.integers(0, 4)) == 0 else link
            return joined(And, [about(middle, depth - 1), link])
        if kind == "not":
            return Not(about(target, depth - 1))
        if kind == "implies":
            return Implies((Not(about(target, depth - 1)), about(target, depth - 1)))
        parts = [about(target, depth - 1) for _ in range(draw(st.integers(2, 3)))]
        return joined(And if kind == "and" else Or, parts)

    return about("f", depth)


@st.composite
def groundings(draw, formula, n_entities=N_ENTITIES, n_relations=N_RELATIONS, n_queries=3):
    """Rows of anchors and relations for a formula."""
    sizes = [(len(symbols(formula, "s")), n_entities), (len(symbols(formula, "r")), n_relations)]
    return [
        np.array(
            draw(
                st.lists(
                    st.lists(st.integers(0, most - 1), min_size=size, max_size=size),
                    min_size=n_queries,
                    max_size=n_queries,
                )
            ),
            np.int32,
        ).reshape(n_queries, size)
        for size, most in sizes
    ]


def values_of(formula, anchors, relations):
    """One query's grounding as a dictionary from symbol to id."""
    named = zip(symbols(formula, "s"), map(int, anchors), strict=True)
    return dict(named) | dict(zip(symbols(formula, "r"), map(int, relations), strict=True))


@st.composite
def formulas_with_shared_variables(draw, depth=2):
    """As `formulas`, but existential variables may take each other's names."""
    formula = draw(formulas(depth=depth))
    names = symbols(formula, "e")
    return renamed(formula, {name: draw(st.sampled_from(names)) for name in names})
