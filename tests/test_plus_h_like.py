"""Sampling by class through the stages: queries, answers, both from files."""

import json
from pathlib import Path

import numpy as np

from clqa.graphs import write_graph
from clqa.query_sets import read_answers, read_queries
from sample_queries import sample_queries
from split_answers import split_answers
from test_sampling import FORK, PATH, random_graph

SHAPES = {"1p": "r1(s1,f)", "2p": PATH, "2i": FORK}
SAMPLING = {
    "count": 300,
    "tries": 1000,
    "exhaustive": True,
    "max_hard": None,
    "quotas": {"answers": 20, "max_share": 1.0},
}


def test_the_selected_answers_are_the_hard_ones_in_the_tables(tmp_path: Path):
    paths = [tmp_path / name for name in ("graph.npz", "queries.parquet", "report.json", "answers")]
    write_graph(paths[0], random_graph(3, n_entities=60, n_forward=4, n_edges=500))
    sample_queries(*paths[:3], SHAPES, SAMPLING, "test", 0, "q")
    split_answers(paths[0], paths[1], paths[3], "test")
    report = json.loads(paths[2].read_text())
    assert report["2p"]["classes"] == {"1p": 20, "2p": 20}
    assert report["2i"].pop("queries")
    assert report["2i"] | {"rejections": 0, "tries": 0} == {
        "requested": 40,
        "accepted": 40,
        "short": 0,
        "classes": {"1p": 20, "2i": 20},
        "rejections": 0,
        "tries": 0,
    }
    queries, answers = read_queries(paths[1]).shapes, read_answers(paths[3]).shapes
    for shape in SHAPES:
        assert np.array_equal(queries[shape].selected.values, answers[shape].hard.values)
        assert len(answers[shape].retracted.values) == 0
        assert len(answers[shape].links) == len(answers[shape].hard.values)
    assert len(answers["2p"].hard.values) == 40
