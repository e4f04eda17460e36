"""The types of EFO-1-QA against the published list and its counts."""

import csv
import lzma
from collections import Counter

import pytest

from clqa.operator_strings import parse, to_text
from clqa.operator_types import operator_types

LIST = "queries/efo1-formulas/test_generated_formula_anchor_node=3.csv.xz"


def projections(tree):
    return (tree.sign == "p") + max(map(projections, tree.parts), default=0)


def anchors(tree):
    return (tree.sign == "e") + sum(map(anchors, tree.parts))


def in_any_order(tree):
    return f"({','.join([tree.sign, *sorted(map(in_any_order, tree.parts))])})"


def test_counts_by_anchors_and_projections_are_those_of_the_paper():
    types = operator_types()
    assert len({in_any_order(tree) for tree in types}) == len(types) == 301
    assert sum("n" in to_text(tree) for tree in types) == 148
    assert Counter((anchors(tree), projections(tree)) for tree in types) == {
        **{(1, 1): 1, (1, 2): 1, (1, 3): 1},
        **{(2, 1): 3, (2, 2): 10, (2, 3): 13},
        **{(3, 1): 12, (3, 2): 91, (3, 3): 169},
    }


def test_the_types_are_those_of_the_published_list(data):
    with lzma.open(data / LIST, "rt") as file:
        published = {in_any_order(parse(row["original"])) for row in csv.DictReader(file)}
    assert {in_any_order(tree) for tree in operator_types()} == published


@pytest.mark.parametrize(
    ("limits", "expected"), [((1, 5), 5), ((2, 1), 1), ((2, 2), 2 + 3 + 3 + 2)]
)
def test_smaller_limits_give_fewer_types(limits, expected):
    """Two anchors and levels: 1p, 2p, three meets and joins of them, and both without a 1p."""
    assert len(operator_types(*limits)) == expected
