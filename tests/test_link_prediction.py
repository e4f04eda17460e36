"""Filtered ranks of links in both directions."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clqa.graphs import Graph, make_graph, write_graph
from clqa.link_prediction import link_metrics, link_mrr, link_ranks
from clqa.predictors import make_predictor, write_predictor
from evaluate_predictor import evaluate_predictor
from reference_links import filtered_ranks, score

N = 6


@st.composite
def graphs(draw) -> Graph:
    """Relations 0 and 1 are inverse to each other, 2 is its own inverse, 3 has none."""
    ids = st.integers(0, N - 1)
    parts = {}
    for part in ("train", "valid", "test"):
        rows = draw(st.lists(st.tuples(ids, st.sampled_from([0, 2, 3]), ids), max_size=8))
        turned = [(t, {0: 1, 2: 2}[r], h) for h, r, t in rows if r != 3]
        parts[part] = np.array([*rows, *turned], np.int32).reshape(-1, 3)
    return make_graph(parts, np.array([1, 0, 2, -1]), N, "labels")


def both_ways(graph: Graph, *parts: str) -> set[tuple[int, int, int]]:
    rows = [tuple(map(int, row)) for part in parts for row in graph.triples[part]]
    return {*rows, *((t, 4, h) for h, r, t in rows if r == 3)}


@given(graphs(), st.integers(0, 2**32 - 1), st.sampled_from(["valid", "test"]))
def test_ranks_equal_those_of_a_slow_reference(graph, seed, split):
    # Small whole numbers make ties, and exact sums in every order.
    random = np.random.default_rng(seed)
    vectors = [random.integers(-2, 3, (n, 4)).astype(float) for n in (N, 5)]
    predictor = make_predictor("complex", *vectors, {}, graph)

    def found(h, r):
        return [score("complex", vectors[0][h], vectors[1][r], t) for t in vectors[0]]

    known = both_ways(graph, *{"valid": ("train", "valid")}.get(split, graph.triples))
    asked = both_ways(graph, split)
    expected = filtered_ranks(found, asked, known)
    greater, tied = link_ranks(predictor, graph, split)
    assert (greater + tied + 1).tolist() == expected
    mean = sum(1 / rank for rank in expected) / len(expected) if expected else 0.0
    assert link_mrr(predictor, graph, split) == pytest.approx(mean)


def test_metrics_of_counts_worked_by_hand():
    # One candidate ahead; none ahead and one tied.
    found = link_metrics(np.array([1, 0]), np.array([0, 1]))
    assert found["pessimistic"]["mrr"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert found["optimistic"]["mrr"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["realistic"]["mrr"] == pytest.approx((1 / 2 + 1 / 1.5) / 2)
    assert found["expected"]["mrr"] == pytest.approx((1 / 2 + (1 + 1 / 2) / 2) / 2)
    assert (found["pessimistic"]["hits@1"], found["optimistic"]["hits@1"]) == (0, 0.5)
    assert found["expected"]["hits@1"] == pytest.approx(0.25)
    assert found["pessimistic"]["hits@3"] == 1
    assert link_metrics(np.empty(0, int), np.empty(0, int)) == {}


def test_the_stage_writes_both_splits(tmp_path):
    parts = {"train": [(0, 0, 1)], "valid": [(0, 0, 2)], "test": []}
    parts = {name: np.array(rows, np.int32).reshape(-1, 3) for name, rows in parts.items()}
    graph = make_graph(parts, np.array([-1]), 4, "labels")
    # Tails of 0 by score: 1, 3, 2, 0; heads of 2 likewise 1, 3, 2, 0.
    vectors = np.array([[1.0], [4.0], [2.0], [3.0]]), np.ones((2, 1))
    write_graph(tmp_path / "graph.npz", graph)
    write_predictor(tmp_path / "p.npz", make_predictor("distmult", *vectors, {"a": 1}, graph))
    evaluate_predictor(tmp_path / "graph.npz", tmp_path / "p.npz", tmp_path / "m.json")
    metrics = json.loads((tmp_path / "m.json").read_text())
    assert metrics["settings"] == {"a": 1}
    # The tail 2 is behind 3 alone, as 1 is a tail in train; the head 0 is behind all others.
    assert metrics["valid"]["n_triples"] == 2
    assert metrics["valid"]["ties"]["pessimistic"]["mrr"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert metrics["test"] == {"n_triples": 0, "ties": {}}
