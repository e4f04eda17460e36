"""Exact optimisation: against all assignments, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.formulas import And, Atom, Not, parse
from clqa.graphs import make_graph
from clqa.link_degrees import weighted_links, with_edges
from clqa.link_queries import link_queries
from clqa.optimal_answers import Optimization, best_degrees
from clqa.plans import plan
from clqa.sparse_rows import SparseRows
from reference_answers import _bound_here, _outside
from strategies import formulas, groundings, values_of

N_ENTITIES, N_RELATIONS = 6, 3


def with_certain_edges(weights):
    """The links, of which those of degree 1 are known edges, and less by themselves."""
    relations, heads, tails = np.nonzero(weights == 1)
    triples = np.stack([heads, relations, tails], axis=1).astype(np.int32)
    parts = {"train": triples, "valid": triples[:0], "test": triples[:0]}
    graph = make_graph(parts, np.full(len(weights), -1), weights.shape[1], "")
    links = weighted_links(np.where(weights == 1, np.float32(0.25), weights))
    return with_edges(links, link_queries(graph, ("train",)))


def found(formula, anchors, relations, weights, **options):
    formula = parse(formula) if isinstance(formula, str) else formula
    links = (with_certain_edges if options.pop("hybrid", False) else weighted_links)(weights)
    rows = SparseRows(links, options.pop("most_bytes", 2**20))
    exact = options.pop("exact", 0)
    queries = Optimization(rows, np.atleast_2d(anchors), np.atleast_2d(relations), **options)
    return best_degrees(plan(formula).root, queries, exact)


def random_weights(seed):
    drawn = np.random.default_rng(seed)
    weights = drawn.random((N_RELATIONS, N_ENTITIES, N_ENTITIES)) ** 2
    weights[drawn.random(weights.shape) < 0.5] = 0
    weights[drawn.random(weights.shape) < 0.1] = 1
    return weights.astype(np.float32)


def optimum(formula, values, weights, scale, outside=frozenset("f"), last=False):
    """The best degree over all values of the existential variables, tried one after another.

    `last` says that the links right below are those of a negation, and scaled.
    """
    bound = _bound_here(formula, outside)
    if bound:
        name = bound[0]
        return max(
            optimum(formula, {**values, name: v}, weights, scale, outside | {name}, last)
            for v in range(N_ENTITIES)
        )
    if isinstance(formula, Atom):
        head, tail = values[formula.head], values[formula.tail]
        held = weights[values[formula.relation], head, tail]
        return min(1, scale * held) if last else held
    if isinstance(formula, Not):
        return 1 - optimum(formula.inner, values, weights, scale, outside, True)
    joined = 1.0
    for part in formula.parts:
        own = _outside(part, formula, outside)
        # In a negated conjunction, the link that leads to the free variable is the last one.
        ends = last and isinstance(formula, And) and isinstance(part, Atom)
        ends = ends and "f" in (part.head, part.tail)
        degree = optimum(part, values, weights, scale, own, ends)
        joined *= degree if isinstance(formula, And) else 1 - degree
    return joined if isinstance(formula, And) else 1 - joined


def compare(formula, data, scale, **options):
    weights = random_weights(data.draw(st.integers(0, 200)))
    anchors, relations = data.draw(groundings(formula))
    degrees = found(formula, anchors, relations, weights, negation_scale=scale, **options)
    for row, constants, symbols in zip(degrees, anchors, relations, strict=True):
        values = values_of(formula, constants, symbols)
        wanted = [optimum(formula, {**values, "f": v}, weights, scale) for v in range(N_ENTITIES)]
        assert row.tolist() == pytest.approx(wanted, abs=1e-5)


@settings(max_examples=60)
@given(st.data(), formulas(depth=2))
def test_degrees_are_the_optimum_over_all_assignments(data, formula):
    compare(formula, data, 1.0)


SHAPES = [
    "r1(s1,f)&!r2(s2,f)",
    "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)",
    "r1(s1,e1)&r2(e1,f)&!r3(s2,f)",
    "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
    "r1(s1,e1)&!r2(e1,f)&r3(s2,f)",
    "r1(s1,e1)&r2(e1,e2)&!r3(e2,f)",
    "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
]


@pytest.mark.parametrize("text", SHAPES)
@settings(max_examples=20)
@given(st.data(), st.sampled_from([0.5, 3.0, 6.0]))
def test_degrees_of_shapes_with_scaled_negation_are_the_optimum(text, data, scale):
    compare(parse(text), data, scale)


@settings(max_examples=20)
@given(st.data())
def test_rows_that_are_dropped_are_computed_again(data):
    compare(parse("r1(s1,e1)&r2(e1,e2)&r3(e2,f)"), data, 1.0, most_bytes=40)


def test_a_negation_counts_links_by_its_scale():
    weights = np.zeros((1, 3, 3), np.float32)
    weights[0, 0] = [0.125, 0.25, 0.5]
    degrees = found("!r1(s1,f)", [0], [0], weights, negation_scale=3.0)[0]
    assert degrees.tolist() == [0.625, 0.25, 0]


@settings(max_examples=30)
@given(st.data(), st.sampled_from([0.01, 0.1, 0.3]))
def test_without_weak_intermediates_stronger_degrees_stay_exact(data, least):
    formula = parse("r1(s1,e1)&r2(e1,e2)&r3(e2,f)&r4(s2,f)")
    weights = random_weights(data.draw(st.integers(0, 200)))
    anchors, relations = data.draw(groundings(formula))
    exact = found(formula, anchors, relations, weights)
    rough = found(formula, anchors, relations, weights, least=least)
    assert (rough <= exact).all()
    assert (exact - rough <= least).all()
    assert rough[exact > least].tolist() == exact[exact > least].tolist()


def faint_weights(seed, n_entities=30):
    """Links of all strengths, down to very weak ones, and some that are certain."""
    drawn = np.random.default_rng(seed)
    weights = 10.0 ** -drawn.uniform(0, 4, (N_RELATIONS, n_entities, n_entities))
    weights[drawn.random(weights.shape) < 0.3] = 0
    weights[drawn.random(weights.shape) < 0.05] = 1
    return weights.astype(np.float32)


@settings(max_examples=80)
@given(
    st.data(),
    formulas(depth=3),
    st.integers(1, 12),
    st.sampled_from([0.5, 1.0, 3.0]),
    st.booleans(),
)
def test_the_best_uncertain_answers_are_exact_and_no_other_is_better(
    data, formula, exact, scale, hybrid
):
    weights = faint_weights(data.draw(st.integers(0, 50)))
    anchors, relations = data.draw(groundings(formula, 30, N_RELATIONS, n_queries=4))
    options = {"negation_scale": scale}
    whole = found(formula, anchors, relations, weights, **options)
    options |= {"exact": exact, "hybrid": hybrid}
    degrees = found(formula, anchors, relations, weights, **options)
    for rough, full in zip(degrees, whole, strict=True):
        last = np.sort(np.where(full < 1, full, 0))[-exact]
        assert rough[full >= last].tolist() == full[full >= last].tolist()
        assert (rough[full < last] <= full[full < last]).all()


def five_best(links):
    """Of a 2p query degrees that are right for five, and the entities whose rows that took."""
    asked = []

    def tiles(entities, relations):
        asked.extend(entities.tolist())
        return links.tiles(entities, relations)

    queries = Optimization(
        SparseRows(links._replace(tiles=tiles)), np.array([[0]]), np.array([[0, 1]])
    )
    return best_degrees(plan(parse("r1(s1,e1)&r2(e1,f)")).root, queries, 5)[0], set(asked)


def test_intermediates_that_cannot_matter_are_not_looked_at():
    weights = np.full((2, 60, 60), 1e-3, np.float32)
    weights[0, 0, :3] = [1, 0.5, 0.25]
    weights[1, 0, 10:40], weights[1, 1, 10:40] = 0.3, 0.8
    degrees, asked = five_best(weighted_links(weights))
    # By the entity 0 there are answers of 0.3, which 1, of degree 0.5, can raise, and 2 cannot.
    assert asked == {0, 1}
    assert (degrees[10:40] == np.float32(0.5) * np.float32(0.8)).all()


def test_known_edges_say_which_intermediates_cannot_matter():
    weights = np.full((2, 60, 60), 1e-3, np.float32)
    weights[0, 0, 1:4] = [0.9, 0.6, 0.5]
    weights[1, 2, 10:40] = 1
    degrees, asked = five_best(with_certain_edges(weights))
    # By known edges of 2 there are answers of 0.6, which 3, of degree 0.5, cannot raise.
    assert asked == {0, 1, 2}
    assert (degrees[10:40] == np.float32(0.6)).all()


@settings(max_examples=25)
@given(st.data(), formulas(depth=2))
def test_degrees_of_a_query_do_not_depend_on_the_batch(data, formula):
    weights = random_weights(data.draw(st.integers(0, 200)))
    anchors, relations = data.draw(groundings(formula, n_queries=5))
    together = found(formula, anchors, relations, weights)
    alone = [found(formula, anchors[[i]], relations[[i]], weights)[0] for i in range(5)]
    assert together.tolist() == np.array(alone).tolist()


@pytest.mark.parametrize("density", [0.3, 0.9, 1.0])
def test_of_many_intermediates_the_best_that_is_not_linked_is_found(density):
    drawn = np.random.default_rng(4)
    weights = drawn.random((2, 60, 60)).astype(np.float32)
    weights[1] = np.where(drawn.random((60, 60)) < density, 0.2 + 0.8 * weights[1], 0)
    anchors, relations = np.arange(20)[:, None], np.tile([0, 1], (20, 1))
    degrees = found("r1(s1,e1)&!r2(e1,f)", anchors, relations, weights, negation_scale=1.5)
    failing = 1 - np.minimum(1, np.float32(1.5) * weights[1])
    wanted = (weights[0, :20, :, None] * failing).max(axis=1)
    assert degrees == pytest.approx(wanted, abs=1e-6)


def test_an_implication_has_the_degree_of_the_residuum_of_the_product():
    weights = np.zeros((2, 2, 2), np.float32)
    weights[0, 0], weights[1, 0] = [0.25, 0.5], [0.5, 0.25]
    assert found("r1(s1,f)->r2(s2,f)", [0, 0], [0, 1], weights)[0].tolist() == [1, 0.5]
