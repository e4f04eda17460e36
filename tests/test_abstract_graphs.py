"""Enumerated query graphs against the published counts of EFOk-CQA and of a clean enumeration."""

import contextlib
import io
from collections import Counter
from pathlib import Path

import pytest
import yaml

import list_shapes
from clqa.abstract_graphs import (
    AbstractGraph,
    Limits,
    canonical_graph,
    enumerate_graphs,
    formula_of,
    has_cycle,
    has_parallel_edges,
    is_admissible,
    is_grounded,
)
from clqa.formulas import parse, to_text
from clqa.released_graphs import released_graphs

ROOT = Path(__file__).resolve().parents[1]

# By free variables, constants and existentials: SDAG, multi and cyclic, positive and negated.
COMPLETE = {
    (1, 1, 0): ((1, 0, 0), (0, 0, 0)),
    (1, 1, 1): ((2, 2, 0), (0, 2, 0)),
    (1, 1, 2): ((4, 7, 2), (0, 7, 5)),
    (1, 2, 0): ((1, 0, 0), (1, 0, 0)),
    (1, 2, 1): ((3, 3, 0), (5, 7, 0)),
    (1, 2, 2): ((9, 16, 4), (19, 47, 15)),
    (1, 3, 0): ((1, 0, 0), (1, 0, 0)),
    (1, 3, 1): ((4, 4, 0), (8, 10, 0)),
    (1, 3, 2): ((15, 28, 6), (42, 95, 26)),
    (2, 1, 0): ((1, 1, 0), (0, 1, 0)),
    (2, 1, 1): ((5, 9, 2), (2, 11, 5)),
    (2, 1, 2): ((15, 41, 17), (11, 62, 49)),
    (2, 2, 0): ((2, 2, 0), (3, 4, 0)),
    (2, 2, 1): ((10, 18, 4), (22, 53, 15)),
    (2, 2, 2): ((41, 112, 43), (117, 393, 197)),
    (2, 3, 0): ((2, 2, 0), (4, 5, 0)),
    (2, 3, 1): ((16, 30, 6), (45, 101, 26)),
}
RELEASED = {
    (1, 1, 0): (1, 0, 0),
    (1, 2, 0): (2, 0, 0),
    (1, 3, 0): (2, 0, 0),
    (1, 1, 1): (2, 4, 0),
    (1, 2, 1): (6, 6, 0),
    (1, 3, 1): (8, 8, 0),
    (1, 1, 2): (4, 16, 4),
    (1, 2, 2): (20, 40, 8),
    (1, 3, 2): (36, 72, 12),
    (2, 1, 0): (1, 2, 0),
    (2, 2, 0): (4, 4, 0),
    (2, 3, 0): (4, 4, 0),
    (2, 1, 1): (7, 18, 4),
    (2, 2, 1): (20, 36, 8),
    (2, 3, 1): (32, 60, 12),
    (2, 1, 2): (6, 32, 26),
    (2, 2, 2): (38, 108, 64),
}


def cell(graph):
    return graph.n_free, graph.n_constants, graph.n_existentials


def is_negated(graph):
    return any(sign for _, _, sign in graph.edges)


def kind(graph):
    assert not (has_cycle(graph) and has_parallel_edges(graph))
    return 2 if has_cycle(graph) else 1 if has_parallel_edges(graph) else 0


def by_kind(graphs):
    counts = Counter(map(kind, graphs))
    return tuple(counts[number] for number in range(3))


def test_the_complete_enumeration_has_1907_classes():
    graphs = list(enumerate_graphs())
    assert len({canonical_graph(graph) for graph in graphs}) == len(graphs) == 1907
    assert sum(not is_negated(graph) for graph in graphs) == 491
    assert {cell(graph) for graph in graphs} == COMPLETE.keys()
    for name, expected in COMPLETE.items():
        inside = [graph for graph in graphs if cell(graph) == name]
        positive = by_kind(graph for graph in inside if not is_negated(graph))
        assert (positive, by_kind(filter(is_negated, inside))) == expected, name


def test_the_released_enumeration_has_741_rows_of_552_classes():
    graphs = list(released_graphs())
    assert (len(graphs), len(set(map(canonical_graph, graphs)))) == (741, 552)
    assert (sum(map(is_negated, graphs)), by_kind(graphs)) == (362, (193, 410, 138))
    surplus = Counter(len(g.edges) - g.n_variables + 1 for g in graphs)
    assert surplus == {1: 21, 2: 196, 3: 356, 4: 168}
    found = {name: by_kind(g for g in graphs if cell(g) == name) for name in RELEASED}
    assert found == RELEASED
    assert {cell(graph) for graph in graphs} == RELEASED.keys()


def test_every_released_class_is_one_of_the_complete_enumeration():
    assert set(map(canonical_graph, released_graphs())) <= set(enumerate_graphs())


def test_the_released_enumeration_lacks_pin_and_has_pni():
    texts = {to_text(formula_of(canonical_graph(graph))) for graph in released_graphs()}
    every = {to_text(formula_of(graph)) for graph in enumerate_graphs()}
    pni, pin = "r1(s1,e1)&r2(s2,f)&!r3(e1,f)", "r1(s1,e1)&!r2(s2,f)&r3(e1,f)"
    assert {pni, pin} <= every
    assert pni in texts
    assert pin not in texts


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(1, 0, 3, negations=0), 3),  # 1p, 2i, 3i
        (Limits(1, 0, 3), 5),  # and 2in, 3in
        (Limits(1, 0, 3, negations=2), 6),  # and one positive branch with two negated
        (Limits(1, 0, 5, edges=6, negations=0), 5),
        (Limits(1, 1, 1, surplus=0, negations=0), 1 + 2),  # 1p; 2p and a leaf beside 1p
        (Limits(3, 0, 1, surplus=0, negations=0), 1 + 1 + 2),  # path of 3, from end or middle
        (Limits(1, 1, 1, surplus=2, parallel=3, negations=0), 1 + 2 * 3),
    ],
)
def test_other_limits(limits, expected):
    assert len(list(enumerate_graphs(limits))) == expected


def test_a_leaf_must_touch_a_free_variable():
    far = AbstractGraph(2, 1, 1, ((0, 1, False), (1, 2, False), (2, 3, False)))
    near = AbstractGraph(2, 1, 1, ((0, 2, False), (1, 2, False), (2, 3, False)))
    assert not is_admissible(far, 3)
    assert is_admissible(near, 3)


def test_a_variable_needs_a_positive_edge_and_the_free_one_a_constant():
    cut_off = AbstractGraph(1, 1, 1, ((0, 1, True), (0, 2, False)))
    leaf = AbstractGraph(1, 1, 1, ((0, 1, True), (1, 2, False)))
    doubled = AbstractGraph(1, 1, 1, ((0, 1, False), (0, 1, True), (0, 2, False)))
    assert [is_grounded(graph) for graph in (cut_off, leaf, doubled)] == [False, False, True]


def test_formulas_are_read_back_and_point_to_the_free_variables():
    for graph in enumerate_graphs():
        text = to_text(formula_of(graph))
        assert to_text(parse(text)) == text
        assert text.count("(") == len(graph.edges)


def listed(*arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert list_shapes.main(list(arguments)) == 0
    return output.getvalue()


def test_the_released_types_are_in_the_catalogue():
    text = listed("--enumerate", "efok-released")
    assert (ROOT / "config" / "efok" / "shapes.yaml").read_text(encoding="utf-8").endswith(text)
    assert len(yaml.safe_load(text)) == 741
    assert text.count("  # the same as efok") == 741 - 552


def test_enumerated_shapes_keep_their_limits():
    shapes = yaml.safe_load(listed("--enumerate", "complete", "--free", "1", "--existentials", "1"))
    assert len(shapes) == sum(sum(map(sum, COMPLETE[1, c, e])) for c in (1, 2, 3) for e in (0, 1))
    assert len(yaml.safe_load(listed("--enumerate", "complete"))) == 1907
    assert len(yaml.safe_load(listed("--enumerate", "efo-1"))) == 301


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--enumerate", "efo-1", "--free", "1"],
        ["--enumerate", "complete", "--free", "-1"],
        ["--enumerate", "complete", "--free", "9" * 20],
    ],
)
def test_limits_that_make_no_sense_are_refused(arguments):
    with pytest.raises(SystemExit):
        list_shapes.main(arguments)
