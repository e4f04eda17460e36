"""Groups of shapes by what EFOk-CQA tells them apart by."""

import pytest

from clqa.abstract_graphs import enumerate_graphs, formula_of, has_cycle, has_parallel_edges
from clqa.formulas import parse
from clqa.shape_groups import graph_class, members_of_groups, structure


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("r1(s1,f)", "SDAG"),
        ("r1(s1,e1)&r2(e1,f)&r3(e1,f)", "multi"),
        ("r1(s1,e1)&r2(e1,f)&r3(f,e1)", "multi"),
        ("r1(s1,e1)&r2(e1,f)&r3(e2,f)&r4(e1,e2)", "cyclic"),
        ("r1(s1,f1)&r2(f1,f2)", "SDAG"),
        ("r1(s1,f1)&r2(e1,f1)&r3(e1,f2)&!r4(f1,f2)", "cyclic"),
    ],
)
def test_the_class_of_a_graph(text, wanted):
    assert graph_class(parse(text)) == wanted


def test_classes_are_those_of_the_enumerated_graphs():
    for graph in enumerate_graphs():
        flags = (has_parallel_edges(graph), has_cycle(graph))
        wanted = {(True, False): "multi", (False, True): "cyclic", (False, False): "SDAG"}[flags]
        assert graph_class(formula_of(graph)) == wanted


def test_groups_by_numbers_and_their_cell():
    assert structure(parse("r1(s1,e1)&r2(e1,f1)&r3(e1,f2)&r4(s2,f1)")) == (
        *("f=2", "c=2", "e=1", "graph=SDAG"),
        "f=2 c=2 e=1 graph=SDAG",
    )


def test_trees_with_one_free_variable_have_no_such_groups():
    plain = {"1p": parse("r1(s1,f)"), "2p": parse("r1(s1,e1)&r2(e1,f)")}
    assert not any("=" in group for group in members_of_groups(plain))
    found = members_of_groups(plain | {"pair": parse("r1(s1,f1)&r2(f1,f2)")})
    assert found["f=1"] == ("1p", "2p")
    assert found["f=2 c=1 e=0 graph=SDAG"] == ("pair",)
    assert members_of_groups(plain | {"pair": parse("r1(s1,f1)&r2(f1,f2)")}, "mrr")["c=1"] == (
        *plain,
    )
