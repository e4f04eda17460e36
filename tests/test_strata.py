"""Strata of answers and queries against what their definitions say."""

import numpy as np
import pyarrow as pa
import pytest

from clqa.averages import mean, shape_average
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import make_graph
from clqa.query_sets import Answers, AnswerTable, Queries, QueryTable
from clqa.ragged import ragged
from clqa.scores import query_scores
from clqa.strata import last_relations, query_strata, strata

FORMULAS = {"2p": "r1(s1,e1)&r2(e1,f)", "2i": "r1(s1,f)&r2(s2,f)", "own": "r1(s1,e1)&!r2(e1,f)"}


def answers(easy, hard, retracted, links, classes):
    ids = np.array([f"q{n}" for n in range(len(easy))], object)
    sets = [ragged(rows) for rows in (easy, hard, retracted)]
    about = np.array(links, np.uint8), np.zeros(len(links), np.uint64), np.array(classes, np.int8)
    return Answers(ids, *sets, *about)


# The classes of 2p and 2i by number are 1p and 2p, and 1p and 2i; 12 true answers, 1, 2, none of 1.
ANSWERS = AnswerTable(
    {
        "2p": answers([range(10), []], [[10, 11], [3]], [[], []], [1, 2, 1], [0, 1, -1]),
        "2i": answers([[0, 1]], [[5]], [[0]], [2], [1]),
        "own": answers([[]], [[7]], [[]], [1], [-1]),
    },
    {"formulas": FORMULAS},
)
QUERIES = QueryTable(
    {
        "2p": Queries(None, np.array([[0], [1]]), np.array([[0, 1], [0, 0]])),
        "2i": Queries(None, np.array([[0, 2]]), np.array([[1, 0]])),
        "own": Queries(None, np.array([[0]]), np.array([[0, 1]])),
    },
    {"formulas": FORMULAS, "split": "test"},
)
# Observed edges at entity 0: 12, at 1: 1, at 2: none.
STAR = [[0, 0, leaf] for leaf in range(3, 14)]
GRAPH = make_graph(
    {"train": np.array(STAR), "valid": np.array([[1, 1, 0]]), "test": np.array([[2, 0, 3]])},
    np.full(2, -1),
    20,
    "vocabulary",
)


def found(*keys):
    every = strata(keys, ANSWERS, QUERIES, GRAPH, ["likes", "knows"])
    return {one.name: (one.chosen.tolist(), one.whole) for one in every}


def test_answers_by_their_number_of_missing_links():
    assert found("links") == {
        "links=1": ([True, False, True, False, True], False),
        "links=2": ([False, True, False, True, False], False),
    }


def test_answers_by_their_class_where_the_shape_has_classes():
    assert found("class") == {
        "class=1p": ([True, False, False, False, False], False),
        "class=2i": ([False, False, False, True, False], False),
        "class=2p": ([False, True, False, False, False], False),
        "class=none": ([False, False, True, False, False], False),
    }


def test_queries_by_their_number_of_true_answers_retracted_ones_left_out():
    assert found("size") == {
        "size=1": ([False, False, True, False, True], True),
        "size=2-4": ([False, False, False, True, False], True),
        "size=10-19": ([True, True, False, False, False], True),
    }


def test_queries_by_the_observed_edges_of_their_rarest_anchor():
    assert found("degree") == {
        "degree=0": ([False, False, False, True, False], True),
        "degree=1-9": ([False, False, True, False, False], True),
        "degree=10-99": ([True, True, False, False, True], True),
    }


def test_queries_by_the_relations_beside_the_free_variable():
    assert found("relation") == {
        "relation=likes": ([False, False, True, True, False], True),
        "relation=knows": ([True, True, False, True, True], True),
    }


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("r1(s1,f)", [0]),
        ("(r1(s1,e1)|r2(s2,e1))&r3(e1,f)", [2]),
        ("r1(s1,f)|!r2(s2,f)", [0, 1]),
        ("r1(f,e1)&r2(s1,e1)", [0]),
    ],
)
def test_last_relations_are_those_of_atoms_with_the_free_variable(text, columns):
    assert last_relations(parse(text)) == columns


def test_keys_keep_their_order_and_unknown_ones_are_named():
    assert [name.partition("=")[0] for name in found("size", "links")] == ["size"] * 3 + [
        "links"
    ] * 2
    with pytest.raises(InputError, match="no key 'length'; known are links, class"):
        found("length")


def test_no_queries_have_no_strata():
    nothing = AnswerTable({"2p": answers([], [], [], [], [])}, {"formulas": FORMULAS})
    none = Queries(None, np.empty((0, 1), int), np.empty((0, 2), int))
    queries = QueryTable({"2p": none}, QUERIES.metadata)
    keys = ["links", "class", "size", "degree", "relation"]
    assert list(strata(keys, nothing, queries, GRAPH, ["likes", "knows"])) == []


def test_strata_of_queries_have_those_without_hard_answers_too():
    none = answers([[], [4]], [[], []], [[], [4]], [], [])
    table = AnswerTable({**ANSWERS.shapes, "none": none}, ANSWERS.metadata)
    keys = ["links", "shape", "size"]
    found = {one.name: one.chosen.tolist() for one in query_strata(keys, table)}
    assert found == {
        "links=0": [False, False, False, False, True, True],
        "links=1": [False, True, False, True, False, False],
        "links=1-2": [True, False, False, False, False, False],
        "links=2": [False, False, True, False, False, False],
        "shape=2p": [True, True, False, False, False, False],
        "shape=2i": [False, False, True, False, False, False],
        "shape=own": [False, False, False, True, False, False],
        "shape=none": [False, False, False, False, True, True],
        "size=0": [False, False, False, False, True, True],
        "size=1": [False, True, False, True, False, False],
        "size=2-4": [False, False, True, False, False, False],
        "size=10-19": [True, False, False, False, False, False],
    }
    with pytest.raises(InputError, match="no key 'class' of whole queries; known are shape, links"):
        list(query_strata(["class"], table))


def test_averages_by_relation_and_over_all():
    """Ranks 1 and 2 under one relation and 10 under the other: .75 and .1, .533333 over all."""
    hard = answers([[]] * 3, [[3], [4], [5]], [[]] * 3, [1] * 3, [-1] * 3)
    table = AnswerTable({"1p": hard}, {"formulas": {"1p": "r1(s1,f)"}})
    asked = Queries(None, np.array([[0], [1], [2]]), np.array([[0], [0], [1]]))
    queries = QueryTable({"1p": asked}, table.metadata)
    ranks = pa.table(
        {
            "query_id": hard.query_ids.astype(str),
            "answer": hard.hard.values,
            "filter": ["full-only"] * 3,
            "greater": np.array([0, 1, 9], np.int32),
            "tied": np.zeros(3, np.int32),
        }
    )
    by_relation = strata(["relation"], table, queries, GRAPH, ["r", "s"])
    rows = query_scores(ranks, table, ["mrr"], ["pessimistic"], ["full-only"], by_relation)
    values = {"": [], "relation=r": [], "relation=s": []}
    for row in rows.to_pylist():
        values[row["stratum"]].append(row["mrr[pessimistic,full-only]"])
    found = {name: shape_average(of, [1] * len(of)).value for name, of in values.items()}
    assert found == pytest.approx({"": 0.533333, "relation=r": 0.75, "relation=s": 0.1}, abs=5e-7)
    assert mean([found["relation=r"], found["relation=s"]]) == pytest.approx(0.425)
