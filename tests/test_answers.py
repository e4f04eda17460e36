"""Crisp answers, the easy/hard split and missing links against the definitions."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.adjacencies import graph_view, split_view
from clqa.answers import answer_sets, missing_links, split_answers
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import FULL, OBSERVED, make_graph
from clqa.plans import plan
from clqa.ragged import Ragged
from strategies import (
    edges,
    formulas,
    formulas_with_shared_variables,
    graphs,
    groundings,
    values_of,
)


def graph_of(n_entities, n_relations, **splits):
    triples = {split: np.array(splits.get(split, [])) for split in ("train", "valid", "test")}
    return make_graph(triples, np.full(n_relations, -1), n_entities, "vocabulary")


def answers_of(text, graph, splits, anchors, relations):
    found = answer_sets(plan(parse(text)), graph_view(graph, splits), [anchors], [relations])
    return found.row(0).tolist()


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_answers_equal_the_definition_on_random_graphs(data):
    graph, formula = data.draw(graphs()), data.draw(formulas())
    anchors, relations = data.draw(groundings(formula))
    split = data.draw(st.sampled_from(["train", "valid", "test"]))
    found = split_answers(plan(formula), split_view(graph, split), anchors, relations)
    entities = range(graph.n_entities)
    for q in range(len(anchors)):
        values = values_of(formula, anchors[q], relations[q])
        observed, full = (
            reference_answers.answers(formula, values, edges(graph, splits), entities)
            for splits in (OBSERVED[split], FULL[split])
        )
        assert found.easy.row(q).tolist() == sorted(observed)
        assert found.hard.row(q).tolist() == sorted(full - observed)
        assert found.retracted.row(q).tolist() == sorted(observed - full)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_missing_links_equal_the_definition_on_random_graphs(data):
    graph, formula = data.draw(graphs()), data.draw(formulas())
    anchors, relations = data.draw(groundings(formula))
    view, steps = split_view(graph, "test"), plan(formula)
    everything = answer_sets(steps, view, anchors, relations)
    found = missing_links(steps, view, anchors, relations, everything)
    for q in range(len(anchors)):
        values = values_of(formula, anchors[q], relations[q])
        expected = reference_answers.links(
            formula,
            values,
            edges(graph, OBSERVED["test"]),
            edges(graph, FULL["test"]),
            range(graph.n_entities),
        )
        row = slice(*everything.offsets[q : q + 2])
        pairs = zip(everything.values[row].tolist(), found[row].tolist(), strict=True)
        assert dict(pairs) == expected


def planned(formula):
    """The plan of a formula; others, with cycles or loops, are of no use to a test."""
    try:
        return plan(formula)
    except InputError:
        return None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_variables_are_bound_around_all_parts_that_have_them(data):
    graph, formula = data.draw(graphs()), data.draw(formulas_with_shared_variables())
    steps = planned(formula)
    assume(steps is not None)
    check_answers_and_links(graph, formula, steps, *data.draw(groundings(formula)))


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize(
    "text",
    [
        "!r1(e1,f)|!r2(e1,f)",
        "r1(f,e1)|!r2(e1,f)",
        "r1(s1,f)&(!r2(e1,f)|!r3(e1,f))",
        "(r1(s1,f)&!r2(e1,f))|(r3(s2,f)&!r4(e1,f))",
        "!(!r1(e1,f)|(r2(s1,f)&!r3(e1,f)))",
        "(r1(s1,e1)&r2(e1,f))|!(r3(e1,f)&r4(s2,f))",
    ],
)
@given(st.data())
def test_a_variable_that_branches_of_a_union_share_is_bound_around_them(text, data):
    graph, formula = data.draw(graphs()), parse(text)
    check_answers_and_links(graph, formula, plan(formula), *data.draw(groundings(formula)))


def check_answers_and_links(graph, formula, steps, anchors, relations):
    view = split_view(graph, "test")
    found = split_answers(steps, view, anchors, relations)
    everything = answer_sets(steps, view, anchors, relations)
    links = missing_links(steps, view, anchors, relations, everything)
    observed, full = (edges(graph, splits["test"]) for splits in (OBSERVED, FULL))
    for q in range(len(anchors)):
        values = values_of(formula, anchors[q], relations[q])
        entities = range(graph.n_entities)
        easy = reference_answers.answers(formula, values, observed, entities)
        expected = reference_answers.links(formula, values, observed, full, entities)
        assert found.easy.row(q).tolist() == sorted(easy)
        row = slice(*everything.offsets[q : q + 2])
        pairs = zip(everything.values[row].tolist(), links[row].tolist(), strict=True)
        assert dict(pairs) == expected


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_query_is_answered_alike_alone_and_in_a_batch(data):
    graph, formula = data.draw(graphs()), data.draw(formulas())
    anchors, relations = data.draw(groundings(formula))
    view, steps = split_view(graph, "test"), plan(formula)
    batch = answer_sets(steps, view, anchors, relations)
    for q in range(len(anchors)):
        alone = answer_sets(steps, view, anchors[q : q + 1], relations[q : q + 1])
        assert alone.values.tolist() == batch.row(q).tolist()


def test_answers_beyond_one_buffer_are_all_kept():
    n = 3000
    star = [[0, 0, leaf] for leaf in range(n)]
    graph = graph_of(n, 1, train=star)
    queries = np.zeros((1500, 1), np.int32)
    found = answer_sets(plan(parse("r1(s1,f)")), graph_view(graph, ("train",)), queries, queries)
    assert found.lengths().tolist() == [n] * 1500
    assert (found.values.reshape(1500, n) == np.arange(n)).all()


def test_many_answers_out_of_order_come_out_sorted():
    rng = np.random.default_rng(0)
    n = 5000
    middle = [[0, 0, v] for v in range(1, 40)]
    spread = [[v, 1, int(t)] for v in range(1, 40) for t in rng.integers(0, n, 60)]
    graph = graph_of(n, 2, train=middle + spread)
    expected = sorted({t for _, _, t in spread})
    assert answers_of("r1(s1,e1)&r2(e1,f)", graph, ("train",), [0], [0, 1]) == expected


def test_paths_and_meets_over_rows_of_every_size_equal_joins():
    """Few members of a large relation, many of a small one, rows of one edge and of hundreds."""
    rng = np.random.default_rng(5)
    n = 4000
    heads = np.concatenate([rng.integers(0, n, 3000), np.repeat(np.arange(0, 60, 7), 400)])
    triples = np.column_stack(
        [heads, rng.integers(0, 4, len(heads)) ** 2 // 3, rng.integers(0, n, len(heads))]
    )
    triples[:300, 2] = triples[:300, 0] // 50
    parts = np.split(triples, [len(triples) * 3 // 4])
    graph = graph_of(n, 4, train=parts[0], test=parts[1])
    near = {"observed": {}, "full": {}}
    for name, splits in (("observed", ("train",)), ("full", ("train", "test"))):
        for h, r, t in edges(graph, splits):
            near[name].setdefault((h, r), set()).add(t)

    def after(name, members, relation):
        return set().union(*(near[name].get((v, relation), ()) for v in members))

    def path(name, a, r):
        return after(name, after(name, after(name, [a[0]], r[0]), r[1]), r[2])

    def meet(name, a, r):
        return path(name, a, r) & after(name, after(name, [a[1]], r[3]), r[4])

    texts = {
        path: "(r1(s1,e1)&r2(e1,e2))&r3(e2,f)",
        meet: "((r1(s1,e1)&r2(e1,e2))&r3(e2,f))&(r4(s2,e3)&r5(e3,f))",
    }
    anchors = rng.choice(np.append(triples[:, 0], np.arange(0, 60, 7).repeat(100)), (300, 2))
    relations = rng.choice([0, 1, 3], (300, 5))
    view = split_view(graph, "test")
    for (expected, text), widths, most in zip(
        texts.items(), [(1, 3), (2, 5)], [300, 50], strict=True
    ):
        a, r = anchors[:, : widths[0]], relations[:, : widths[1]]
        found = split_answers(plan(parse(text)), view, a, r)
        for q in range(len(a)):
            easy, full = (expected(name, a[q], r[q]) for name in ("observed", "full"))
            assert found.easy.row(q).tolist() == sorted(easy)
            assert found.hard.row(q).tolist() == sorted(full - easy)
        sizes = found.easy.lengths() + found.hard.lengths()
        assert sizes.max() > most
        assert len(np.unique(sizes)) > 10


def test_easy_and_hard_of_the_animal_graph():
    graph = graph_of(5, 1, train=[[2, 0, 1], [1, 0, 0]], valid=[[3, 0, 1]])
    view = split_view(graph, "valid")
    one = split_answers(plan(parse("r1(s1,f)")), view, [[3], [2]], [[0], [0]])
    two = split_answers(plan(parse("r1(s1,e1)&r2(e1,f)")), view, [[3]], [[0, 0]])
    assert [one.easy.row(0).tolist(), one.hard.row(0).tolist()] == [[], [1]]
    assert [one.easy.row(1).tolist(), one.hard.row(1).tolist()] == [[1], []]
    assert [two.easy.row(0).tolist(), two.hard.row(0).tolist()] == [[], [0]]


def test_a_negation_can_retract_an_observed_answer():
    graph = graph_of(4, 2, train=[[0, 0, 1], [0, 0, 2], [3, 1, 2]], valid=[[0, 0, 3], [3, 1, 1]])
    shape = plan(parse("r1(s1,f)&!r2(s2,f)"))
    found = split_answers(shape, split_view(graph, "valid"), [[0, 3]], [[0, 1]])
    assert found.easy.values.tolist() == [1]
    assert found.hard.values.tolist() == [3]
    assert found.retracted.values.tolist() == [1]


CHAIN = {
    "train": [[7, 0, 8], [8, 1, 9]],
    "valid": [[8, 1, 10]],
    "test": [[7, 0, 11], [11, 1, 12], [11, 1, 9]],
}


@pytest.mark.parametrize(("split", "easy", "hard"), [("test", [9, 10], [12]), ("valid", [9], [10])])
def test_an_observed_path_keeps_an_answer_easy(split, easy, hard):
    view = split_view(graph_of(13, 2, **CHAIN), split)
    found = split_answers(plan(parse("r1(s1,e1)&r2(e1,f)")), view, [[7]], [[0, 1]])
    assert found.easy.values.tolist() == easy
    assert found.hard.values.tolist() == hard


def test_an_answer_over_two_missing_edges_needs_two_links():
    view, path = split_view(graph_of(13, 2, **CHAIN), "test"), plan(parse("r1(s1,e1)&r2(e1,f)"))
    found = split_answers(path, view, [[7]], [[0, 1]])
    assert missing_links(path, view, [[7]], [[0, 1]], found.hard).tolist() == [2]


@pytest.mark.parametrize(
    ("anchors", "relations", "words"),
    [
        ([[3]], [[0]], "anchors: the id 3 is not below 3"),
        ([[-1]], [[0]], "anchors: the id -1 is not below 3"),
        ([[0]], [[10**6]], "relations: the id 1000000 is not below 1"),
        ([[0, 1]], [[0]], "anchors: expected 1 columns"),
        ([[0], [1]], [[0]], "2 rows of anchors but 1 of relations"),
    ],
)
def test_queries_of_another_graph_are_refused(anchors, relations, words):
    view = graph_view(graph_of(3, 1, train=[[0, 0, 1]]), ("train",))
    with pytest.raises(InputError, match=words):
        answer_sets(plan(parse("r1(s1,f)")), view, anchors, relations)


def test_a_triple_in_two_splits_is_observed():
    graph = graph_of(3, 1, train=[[0, 0, 1]], test=[[0, 0, 1], [0, 0, 2]])
    found = split_answers(plan(parse("r1(s1,f)")), split_view(graph, "test"), [[0]], [[0]])
    assert found.hard.values.tolist() == [2]


def costs(text, n_entities, n_relations, observed, missing, anchors, relations):
    graph = graph_of(n_entities, n_relations, train=observed, valid=missing)
    view, shape = split_view(graph, "valid"), plan(parse(text))
    found = answer_sets(shape, view, [anchors], [relations])
    links = missing_links(shape, view, [anchors], [relations], found)
    return dict(zip(found.values.tolist(), links.tolist(), strict=True))


TWO_HOPS = [[0, 0, 1], [0, 0, 2], [1, 1, 3], [2, 1, 3], [2, 1, 4]]


@pytest.mark.parametrize(("n_observed", "expected"), [(1, {3: 1, 4: 2}), (2, {3: 1, 4: 1})])
def test_links_of_a_path_are_those_of_its_cheapest_witness(n_observed, expected):
    observed, missing = TWO_HOPS[:n_observed], TWO_HOPS[n_observed:]
    path = "r1(s1,e1)&r2(e1,f)"
    assert costs(path, 5, 2, observed, missing, [0], [0, 1]) == expected


FORK = {"observed": [[0, 0, 2], [2, 2, 4]], "missing": [[0, 0, 3], [1, 1, 2], [3, 2, 4]]}


def test_a_union_takes_the_cheaper_branch():
    union = "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)"
    assert costs(union, 5, 3, *FORK.values(), [0, 1], [0, 1, 2]) == {4: 0}


def test_a_negation_rules_out_the_cheap_witness():
    negated = "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)"
    assert costs(negated, 5, 3, *FORK.values(), [0, 1], [0, 1, 2]) == {4: 2}


def test_a_negated_path_costs_nothing():
    outer = "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)"
    assert costs(outer, 5, 3, *FORK.values(), [1, 0], [1, 2, 0]) == {2: 0, 3: 1}


@pytest.mark.parametrize("text", ["r1(s1,f)", "!(!r1(s1,f))", "!(!r1(s1,f)&!r2(s2,f))"])
def test_double_negations_list_the_same_answers(text):
    graph = graph_of(4, 1, train=[[0, 0, 1], [0, 0, 3]])
    n_symbols = 2 if "s2" in text else 1
    found = answers_of(text, graph, ("train",), [0] * n_symbols, [0] * n_symbols)
    assert found == [1, 3]


def test_the_complement_of_a_set_is_over_the_whole_vocabulary():
    graph = graph_of(5, 1, train=[[0, 0, 1], [0, 0, 3]])
    assert answers_of("!r1(s1,f)", graph, ("train",), [0], [0]) == [0, 2, 4]


def test_the_two_readings_of_pni_differ():
    graph = graph_of(6, 3, train=[[0, 0, 1], [0, 0, 2], [1, 1, 3], [2, 1, 3], [1, 1, 4], [5, 2, 3],
                                  [5, 2, 4], [5, 2, 0]])  # fmt: skip
    for_all = answers_of("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", graph, ("train",), [0, 5], [0, 1, 2])
    exists = answers_of("r1(s1,e1)&!r2(e1,f)&r3(s2,f)", graph, ("train",), [0, 5], [0, 1, 2])
    assert for_all == [0]
    assert exists == [0, 4]


def test_ragged_rows_are_views_of_the_values():
    rows = Ragged(np.array([0, 2, 2, 3]), np.array([4, 7, 1], np.int32))
    assert [rows.row(q).tolist() for q in range(3)] == [[4, 7], [], [1]]
