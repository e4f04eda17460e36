"""Answers, links and markings of formulas that are no trees of sets, against the definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.abstract_graphs import Limits, enumerate_graphs, formula_of
from clqa.adjacencies import graph_view, split_view
from clqa.answers import (
    SplitAnswers,
    answer_sets,
    missing_links,
    selected_answers,
    split_answers,
)
from clqa.errors import InputError
from clqa.formulas import And, Atom, Not, Or, free_variables, joined, parse, symbols
from clqa.graphs import FULL, OBSERVED
from clqa.join_plans import JoinPlan, join_plan
from clqa.markings import positive_atoms
from clqa.plans import plan, tree_plan
from clqa.ragged import is_ascending, ragged
from clqa.reductions import minimal_missing_subsets
from strategies import edges, formulas, graphs, groundings, values_of
from test_answers import graph_of

REAL_EFO1 = {
    "2m": "r1(s1,e1)&r2(e1,f)&r3(e1,f)",
    "2nm": "r1(s1,e1)&r2(e1,f)&!r3(e1,f)",
    "3mp": "r1(s1,e1)&r2(e1,e2)&r3(e2,f)&r4(e1,e2)",
    "3pm": "r1(s1,e1)&r2(e1,e2)&r3(e2,f)&r4(e2,f)",
    "im": "r1(s1,e1)&r2(s2,e1)&r3(e1,f)&r4(e1,f)",
    "2il": "r1(s1,f)&r2(e1,f)",
    "3il": "r1(s1,f)&r2(s2,f)&r3(e1,f)",
    "3c": "r1(s1,e1)&r2(e1,f)&r3(s2,e2)&r4(e2,f)&r5(e1,e2)",
    "3cm": "r1(s1,e1)&r2(e1,f)&r3(s2,e2)&r4(e2,f)&r5(e1,e2)&r6(e1,f)",
    "pni": "r1(s1,e1)&!r2(e1,f)&r3(s2,f)",
}
OTHERS = [
    "r1(f1,f2)",
    "r1(f1,f2)&r2(f2,f3)&r3(f3,f1)",
    "r1(s1,f1)&r2(s2,f2)&!r3(f1,f2)",
    "r1(s1,f1)&r2(f1,e1)&r3(e1,f2)&!r4(s2,e1)",
    "r1(s1,f1)&!r2(e1,f1)&r3(e1,f2)&!r4(s2,f2)",
    "r1(s1,e1)&r2(e1,f1)&r3(f1,f2)&r4(e1,f2)",
    "r1(s1,e1)&r2(e1,f1)&r3(e2,f2)&!r4(e1,e2)",
    "r1(s1,f1)&r2(f1,f2)|r3(s2,f2)&r4(f1,f2)&r5(f1,f2)",
    "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)&r4(e1,f)",
    "r1(s1,f1)&r2(f1,f2)&r3(f2,f3)&!(r4(s2,f3)&r5(f1,f3))",
    "r1(f,e1)&r2(e1,e2)&r3(e2,f)&!r4(s1,e1)",
]


def tuples(formula, entities):
    return itertools.product(entities, repeat=len(free_variables(formula)))


def true_costs(formula, values, observed, full, entities):
    """Fewest missing edges of each tuple for which the formula holds on the full graph."""
    free = free_variables(formula)
    found = {}
    for ids in tuples(formula, entities):
        bound = values | dict(zip(free, ids, strict=True))
        cost = reference_answers.cost(formula, bound, observed, full, entities, frozenset(free))
        if not math.isinf(cost):
            found[ids] = cost
    return found


def rows_of(ragged, q):
    return [tuple(np.atleast_1d(row).tolist()) for row in ragged.row(q)]


def check(graph, formula, anchors, relations, split="test", given=(frozenset(), {})):
    """Compare answers on both graphs, links and minimal sets with the definitions.

    `given` are edges that both graphs have, too, and values of symbols that the queries have not.
    """
    view, steps, entities = split_view(graph, split), plan(formula), range(graph.n_entities)
    found = split_answers(steps, view, anchors, relations)
    links = missing_links(steps, view, anchors, relations, found.hard)
    subsets = None
    if sum(positive_atoms(formula)) <= 6:
        subsets = minimal_missing_subsets(formula, view, anchors, relations, found.hard)
    observed, full = (edges(graph, splits[split]) | given[0] for splits in (OBSERVED, FULL))
    for q in range(len(anchors)):
        values = values_of(formula, anchors[q], relations[q]) | given[1]
        easy = set(true_costs(formula, values, observed, observed, entities))
        costs = true_costs(formula, values, observed, full, entities)
        assert rows_of(found.easy, q) == sorted(easy)
        assert rows_of(found.hard, q) == sorted(set(costs) - easy)
        assert rows_of(found.retracted, q) == sorted(easy - set(costs))
        own = slice(*found.hard.offsets[q : q + 2])
        assert [costs[t] for t in rows_of(found.hard, q)] == links[own].tolist()
        if subsets is not None:
            wanted = minimal_sets(formula, values, observed, full, entities, found.hard, q)
            assert subsets[own].tolist() == wanted


def minimal_sets(formula, values, observed, full, entities, hard, q):
    """Minimal sets of each hard answer as words, by the reference."""
    free, names = free_variables(formula), symbols(formula, "r")
    signs = positive_atoms(formula)
    numbered = [name for name, sign in zip(names, signs, strict=True) if sign]
    words = []
    for ids in rows_of(hard, q):
        bound = values | dict(zip(free, ids, strict=True))
        markings = reference_answers.markings(
            formula, bound, observed, full, entities, frozenset(free)
        )
        sets = reference_answers.minimal(markings)
        words.append(sum(1 << sum(1 << numbered.index(name) for name in one) for one in sets))
    return words


@st.composite
def conjunctions(draw, free=st.integers(1, 3)):  # noqa: B008
    """A connected conjunction with cycles, parallel edges, leaves and up to two negations."""
    n_free, n_existentials = draw(free), draw(st.integers(0, 2))
    names = [f"f{n + 1}" for n in range(n_free)] if n_free > 1 else ["f"]
    names += [f"e{n + 1}" for n in range(n_existentials)]
    names = draw(st.permutations(names))
    pairs = [(draw(st.sampled_from(names[:n])), names[n]) for n in range(1, len(names))]
    if len(names) > 1:
        extra = st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True)
        pairs += [tuple(pair) for pair in draw(st.lists(extra, max_size=2))]
    ends = draw(st.lists(st.sampled_from(names), min_size=int(not pairs), max_size=2))
    pairs += [(f"s{n}", end) for n, end in enumerate(ends, start=1)]
    pairs = [tuple(draw(st.permutations(pair))) for pair in draw(st.permutations(pairs))]
    negated = draw(st.sets(st.integers(0, len(pairs) - 1), max_size=2))
    atoms = [Atom(f"r{n}", *pair) for n, pair in enumerate(pairs, start=1)]
    return joined(And, [Not(a) if n in negated else a for n, a in enumerate(atoms)])


def planned(formula):
    try:
        return plan(formula)
    except InputError:
        return None


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_random_conjunctions_equal_the_definition(data):
    formula = data.draw(conjunctions())
    assume(planned(formula) is not None)
    size = 4 if len(free_variables(formula)) > 1 else 5
    graph = data.draw(graphs(n_entities=size))
    rows = data.draw(groundings(formula, n_entities=size, n_queries=2))
    check(graph, formula, *rows, data.draw(st.sampled_from(["valid", "test"])))


@pytest.mark.parametrize("text", [*REAL_EFO1.values(), *OTHERS])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_known_shapes_equal_the_definition(text, data):
    formula = parse(text)
    graph = data.draw(graphs(n_entities=4))
    check(graph, formula, *data.draw(groundings(formula, n_entities=4, n_queries=2)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_alternatives_unite(data):
    free = st.just(data.draw(st.integers(1, 3)))
    one, other = (data.draw(conjunctions(free).filter(planned)) for _ in range(2))
    numbers = itertools.count(len(symbols(one, "r")) + 1)
    shift = {name: f"s{int(name[1:]) + 5}" for name in symbols(other, "s")}
    parts = other.parts if isinstance(other, And) else (other,)
    moved = []
    for part in parts:
        atom = part.inner if isinstance(part, Not) else part
        ends = (shift.get(x, x) for x in (atom.head, atom.tail))
        atom = Atom(f"r{next(numbers)}", *ends)
        moved.append(Not(atom) if isinstance(part, Not) else atom)
    formula = Or((one, joined(And, moved)))
    assume(planned(formula) is not None)
    graph = data.draw(graphs(n_entities=4))
    check(graph, formula, *data.draw(groundings(formula, n_entities=4, n_queries=1)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_joins_equal_the_set_machine_where_both_apply(data):
    formula = data.draw(formulas())
    try:
        joins, sets = join_plan(formula), tree_plan(formula)
    except InputError:
        assume(False)
    graph = data.draw(graphs())
    rows = (split_view(graph, "test"), *data.draw(groundings(formula)))
    found, expected = split_answers(joins, *rows), split_answers(sets, *rows)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.offsets, other.offsets)
        assert np.array_equal(one.values, other.values)
    links = missing_links(joins, *rows, found.hard), missing_links(sets, *rows, expected.hard)
    assert np.array_equal(*links)


ABSTRACT = [formula_of(graph) for graph in enumerate_graphs(Limits(negations=2))]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_abstract_graphs_equal_the_definition(data):
    formula = data.draw(st.sampled_from(ABSTRACT))
    graph = data.draw(graphs(n_entities=4))
    check(graph, formula, *data.draw(groundings(formula, n_entities=4, n_queries=1)))


def test_every_abstract_graph_has_a_plan():
    for formula in ABSTRACT:
        steps = plan(formula)
        assert isinstance(steps, JoinPlan) or len(symbols(formula, "f")) == 1


@pytest.mark.parametrize(
    ("text", "marked", "why"),
    [
        ("r1(s1,f1)&!r2(f1,f2)", "r1(s1,f1)&!r2(f1,^f2)", "f2 occurs only under negation"),
        ("r1(s1,e1)&!r2(e2,f)&r3(s2,f)", "r1(s1,e1)&!r2(^e2,f)&r3(s2,f)", "e2 occurs only under"),
        ("r1(s1,f1)&r2(s2,f2)", "r1(s1,f1)&r2(s2,^f2)", "nothing links f2 to f1"),
        ("r1(s1,f)&r2(s2,e1)", "r1(s1,f)&r2(s2,^e1)", "nothing links e1 to f"),
        ("r1(s1,f1)&r2(s1,f2)&r3(f1,f2)", "r1(s1,f1)&r2(^s1,f2)&r3(f1,f2)", "s1 is used twice"),
        ("r1(s1,e1)&r2(e1,f)&r3(s1,f)", "r1(s1,e1)&r2(e1,f)&r3(^s1,f)", "s1 is used twice"),
        ("r1(s1,f)&r2(s1,f)", "r1(s1,f)&r2(^s1,f)", "s1 is used twice"),
        ("r1(s3,f)&r2(s1,s2)&r3(s2,s4)", "r1(s3,f)&^r2(s1,s2)&r3(s2,s4)", "constants alone"),
        ("r1(s1,f1)&r2(f1,f2)&r3(f1,f1)", "r1(s1,f1)&r2(f1,f2)&^r3(f1,f1)", "a loop from f1"),
        ("r1(s1,f1)&r2(f1,f2)|r3(s2,f1)", "r1(s1,f1)&r2(f1,^f2)|r3(s2,f1)", "nothing of f2"),
        (
            "r1(s1,f1)&r2(f1,f2)&!(r3(f1,e1)&r4(e1,f2))",
            "r1(s1,f1)&r2(f1,f2)&^!(r3(f1,e1)&r4(e1,f2))",
            "negates an existential variable",
        ),
        ("r1(s1,e1)&r2(e1,e2)", "r1(s1,e1)&r2(e1,^e2)", "there is no free variable"),
        ("r1(7,f1)&r2(f1,f2)", "^r1(7,f1)&r2(f1,f2)", "a grounded id, 7"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_caret_at_its_place(text, marked, why):
    with pytest.raises(InputError) as caught:
        plan(parse(text))
    column = marked.index("^") + 1
    assert str(caught.value).startswith(f"formula '{marked}', column {column}: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_query_above_the_cap_is_named_and_never_truncated():
    edges_ = [[0, 0, t] for t in range(1, 30)] + [[t, 0, 30] for t in range(1, 30)]
    view = graph_view(graph_of(31, 1, train=edges_), ("train",))
    steps, rows = plan(parse("r1(s1,f1)&r2(f1,f2)")), ([[1], [0]], [[0, 0], [0, 0]])
    with pytest.raises(InputError, match=r"query 1: 58 partial bindings .* at most 57"):
        answer_sets(steps, view, *rows, max_bindings=57)
    assert answer_sets(steps, view, *rows, max_bindings=58).lengths().tolist() == [0, 29]


def test_tables_grow_over_thousands_of_bindings():
    n = 90
    pairs = [[h, 0, t] for h in range(n) for t in range(n)]
    view = graph_view(graph_of(n, 1, train=pairs), ("train",))
    steps = plan(parse("r1(f1,e1)&r2(e1,f2)&r3(f1,f2)"))
    found = answer_sets(steps, view, np.zeros((1, 0)), [[0, 0, 0]])
    assert found.values.tolist() == [list(t) for t in itertools.product(range(n), repeat=2)]


def test_pairs_that_are_not_selected_become_easy():
    easy, hard, retracted = (
        ragged(rows, arity=2)
        for rows in ([[(0, 4), (1, 1)], []], [[(2, 3), (0, 5)], [(7, 7)]], [[(1, 1)], []])
    )
    found = selected_answers(SplitAnswers(easy, hard, retracted), ragged([[(2, 3)], []], arity=2))
    assert [rows_of(found.easy, q) for q in range(2)] == [[(0, 4), (0, 5)], [(7, 7)]]
    assert [rows_of(found.hard, q) for q in range(2)] == [[(2, 3)], []]
    with pytest.raises(InputError, match="no hard answer"):
        selected_answers(SplitAnswers(easy, hard, retracted), ragged([[(3, 2)], []], arity=2))


def test_tuples_ascend_by_their_first_id_within_a_row():
    rows = ragged([[(1, 0), (0, 9)], [(0, 0)]], arity=2)
    assert rows.values.tolist() == [[0, 9], [1, 0], [0, 0]]
    assert is_ascending(rows)
    assert not is_ascending(rows._replace(values=rows.values[[1, 0, 2]]))
    assert not is_ascending(rows._replace(values=rows.values[[0, 0, 2]]))
