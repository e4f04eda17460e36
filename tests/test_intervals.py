"""Intervals of tables of scores: which averages have one, and what it is drawn from."""

import numpy as np
import pyarrow as pa
import pytest

from clqa.bootstraps import bootstrap
from clqa.errors import InputError
from clqa.files import sha256_of
from clqa.formulas import parse
from clqa.interval_tables import read_intervals, score_intervals
from estimate_intervals import estimate_intervals
from synthetic_runs import configuration, write_run

SHAPES = {"1p": parse("r1(s1,f)"), "2p": parse("r1(s1,e1)&r2(e1,f)")}
MRR, RATE = "mrr[pessimistic,full-only]", "tie_rate[full-only]"


def table(rows):
    names = ("shape", "stratum", MRR, RATE)
    return pa.table(
        {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    )


def keyed(found):
    rows = found.to_pylist()
    key = ("stratum", "shape", "group", "score")
    return {tuple(r[k] for k in key): (r["lower"], r["upper"]) for r in rows}


def test_shapes_and_groups_have_the_intervals_of_their_queries():
    drawn = np.random.default_rng(4)
    values = {shape: drawn.random((20, 2)) for shape in SHAPES}
    rows = [(shape, "", *pair) for shape in SHAPES for pair in values[shape].tolist()]
    found = keyed(score_intervals(table(rows), SHAPES, ("s",), 200, 0.9))
    expected = bootstrap(values, {"EPFO": ["1p", "2p"]}, ("s", ""), 200, 0.9)
    for place, score in enumerate((MRR, RATE)):
        for shape in SHAPES:
            ends = expected[shape].lower[place], expected[shape].upper[place]
            assert found["", shape, "", score] == ends
        ends = expected["EPFO"].lower[place], expected["EPFO"].upper[place]
        assert found["", "", "EPFO", score] == ends
    assert {key[2] for key in found} == {"", "EPFO", "chain", "conjunctive"}


def test_queries_without_a_value_are_left_out_and_strata_stand_alone():
    rows = [("1p", "", x, 0.0) for x in (0.1, 0.2, 0.9)] + [("1p", "", None, None)]
    rows += [("1p", "links=2", x, None) for x in (0.5, 0.7)] + [("2p", "", 1.0, 0.0)]
    found = keyed(score_intervals(table(rows), SHAPES, ("s",), 300, 0.95))
    own = bootstrap({"1p": np.array([[0.1], [0.2], [0.9]])}, {}, ("s", ""), 300)["1p"]
    assert found["", "1p", "", MRR] == (own.lower[0], own.upper[0])
    assert 0.5 <= found["links=2", "1p", "", MRR][0] <= found["links=2", "1p", "", MRR][1] <= 0.7
    assert ("links=2", "1p", "", RATE) not in found
    # One query tells nothing of the spread, so 2p has no interval, nor has its group.
    assert not any(key[1] == "2p" or key[2] == "EPFO" for key in found)


def test_all_models_draw_the_same_queries():
    drawn = np.random.default_rng(4).random(30)
    mine, double = ([("1p", "", f * x, 0.0) for x in drawn.tolist()] for f in (0.5, 1.0))
    ends = [keyed(score_intervals(table(r), SHAPES, ("s",), 99, 0.9))["", "1p", "", MRR]
            for r in (mine, double)]  # fmt: skip
    assert ends[1] == pytest.approx([2 * end for end in ends[0]])


def test_a_file_of_intervals_belongs_to_its_scores(tmp_path):
    given = write_run(tmp_path, configuration())
    (name, path), *_ = given["paths_to_scores"].items()
    held = given["paths_to_intervals"][name]
    assert read_intervals(held, sha256_of(path))
    with pytest.raises(InputError, match="not estimated from these scores; delete it"):
        read_intervals(held, "0" * 64)


def test_without_draws_there_are_no_intervals(tmp_path):
    given = write_run(tmp_path, configuration())
    path = next(iter(given["paths_to_scores"].values()))
    estimate_intervals(path, tmp_path / "none", seed=0, draws=0, level=0.95)
    assert read_intervals(tmp_path / "none", sha256_of(path)) == {}
