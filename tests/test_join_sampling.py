"""Sampled queries with cycles, parallel atoms and several free variables keep every rule."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.canonical_forms import canonical
from clqa.formulas import free_variables, parse, symbols
from clqa.graphs import FULL, OBSERVED
from clqa.judgements import REASONS
from clqa.plans import plan
from clqa.query_sets import query_ids
from clqa.walks import DRAWS
from strategies import edges, values_of
from test_joins import OTHERS, REAL_EFO1, true_costs
from test_sampling import random_graph, sampled

PARALLEL = REAL_EFO1["2m"]
TRIANGLE = "r1(f1,f2)&r2(f2,e1)&r3(e1,f1)"
SHAPES = [text for text in [*REAL_EFO1.values(), *OTHERS, TRIANGLE] if "f3" not in text]


def costs_and_easy(graph, split, formula, anchors, relations):
    """Links of each answer on the full graph, and the answers on the observed one."""
    values, entities = values_of(formula, anchors, relations), range(graph.n_entities)
    observed, full = edges(graph, OBSERVED[split]), edges(graph, FULL[split])
    costs = true_costs(formula, values, observed, full, entities)
    return costs, set(true_costs(formula, values, observed, observed, entities))


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(SHAPES),
    st.sampled_from(["valid", "test"]),
    st.sampled_from(DRAWS),
    st.sampled_from([1, 2, None]),
    st.sampled_from(["must_retract", "must_change", "any"]),
    st.integers(1, 2),
)
def test_every_sampled_query_keeps_the_rules(
    seed, text, split, draw, max_hard, negation, min_links
):
    graph, formula = random_graph(seed), parse(text)
    arity, min_links = len(free_variables(formula)), min(min_links, plan(formula).most_links)
    options = {"draw": draw, "max_hard": max_hard, "min_links": min_links, "negation": negation}
    found = sampled(graph, text, count=8, tries=150, split=split, **options)
    assert sum(found.rejections.values()) + len(found.anchors) == found.tries
    ids = query_ids("g", formula, found.anchors, found.relations)
    assert len(set(ids)) == len(ids)
    positive = parse("&".join(part for part in text.split("&") if "!" not in part))
    for anchors, relations in zip(found.anchors, found.relations, strict=True):
        costs, easy = costs_and_easy(graph, split, formula, anchors, relations)
        hard = set(costs) - easy
        assert hard
        assert max_hard is None or len(hard) <= max_hard * arity
        assert min(costs[t] for t in hard) >= min_links
        if "!" in text and negation == "must_retract":
            assert easy - set(costs)
        if text in REAL_EFO1.values() and "!" in text and negation == "must_change":
            names = dict(zip(symbols(formula, "r"), relations, strict=True))
            own = [names[name] for name in symbols(positive, "r")]
            kept = [a for a, s in zip(anchors, symbols(formula, "s"), strict=True) if s in text]
            without, _ = costs_and_easy(graph, split, positive, kept, own)
            assert set(without) != set(costs)


@pytest.mark.parametrize("seed", range(3))
def test_parallel_atoms_are_grounded_in_every_valid_way(seed):
    graph, formula = random_graph(seed, n_entities=5, n_edges=12), parse(PARALLEL)
    valid = set()
    for anchor, *relations in itertools.product(range(5), *[range(4)] * 3):
        costs, easy = costs_and_easy(graph, "test", formula, [anchor], relations)
        first, second, third = relations
        # Alike atoms differ; e1 joins three atoms, so that no chain goes through it.
        if set(costs) - easy and second < third:
            valid.add((anchor, first, second, third))
    found = sampled(graph, PARALLEL, count=len(valid) + 1, tries=40_000)
    rows = [
        (int(a[0]), int(r[0]), *sorted(map(int, r[1:])))
        for a, r in zip(found.anchors, found.relations, strict=True)
    ]
    assert len(set(rows)) == len(rows)
    assert set(rows) == valid


@pytest.mark.parametrize("text", [TRIANGLE, PARALLEL, OTHERS[5]])
def test_a_longer_run_begins_like_a_shorter_one(text):
    graph = random_graph(4, n_entities=12, n_edges=60)
    few, many = (sampled(graph, text, count=count, tries=3000) for count in (4, 12))
    assert len(few.anchors) == 4
    assert np.array_equal(few.relations, many.relations[:4])
    assert np.array_equal(few.anchors, many.anchors[:4])


def test_queries_of_too_many_bindings_are_rejected_by_name():
    graph = random_graph(4, n_entities=12, n_edges=60)
    found = sampled(graph, TRIANGLE, count=4, tries=200, max_bindings=1)
    assert len(found.anchors) == 0
    assert found.rejections["too_many_bindings"] > 0
    assert set(found.rejections) == set(REASONS)


def test_free_variables_are_not_exchanged():
    one, other = parse("r1(s1,f1)&r2(f1,f2)"), parse("r1(s1,f2)&r2(f2,f1)")
    assert canonical(one)[0] != canonical(other)[0]
    assert len(canonical(parse("r1(s1,e1)&r2(e1,f1)&r3(e1,f2)"))[1]) == 1
    assert len(canonical(parse("r1(s1,e1)&r2(e1,f1)&r3(e1,f1)&r4(f1,f2)"))[1]) == 2
    assert canonical(parse("r1(s1,f3)&r2(f3,f7)"))[0] == canonical(one)[0]


def test_a_shape_of_joins_has_no_more_links_than_positive_atoms():
    assert plan(parse(REAL_EFO1["2nm"])).most_links == 2
