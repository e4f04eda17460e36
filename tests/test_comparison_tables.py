"""Tables of paired comparisons: which pairs, which rows, what is marked."""

import numpy as np
import pytest

from clqa.comparison_tables import COLUMNS, comparison_rows, comparison_view, pairs
from clqa.comparisons import compare, compare_shapes
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.tables import read_table, write_table
from compare_models import compare_models
from synthetic_runs import configuration, write_run

SHAPES = {"1p": parse("r1(s1,f)"), "2p": parse("r1(s1,e1)&r2(e1,f)")}
MRR = "mrr[pessimistic,observed-and-full]"


def model(one, two):
    parts = {"1p": one, "2p": two}
    return {s: {f"{s}{n}": v for n, v in enumerate(values)} for s, values in parts.items()}


def rows_of(models, shapes=SHAPES):
    rows = comparison_rows(models, shapes, MRR, ("s",))
    return {(r[2], r[3], r[0] or r[1]): dict(zip(COLUMNS, r, strict=True)) for r in rows}


def test_each_shape_and_group_is_compared_by_the_differences_of_its_queries():
    a = model([0.5, 1.0, None, 0.25], [0.1, 0.3])
    b = model([0.25, 0.5, None, 0.5], [0.2, 0.1])
    found = rows_of({"a": a, "b": b})
    one, two = np.array([0.25, 0.5, -0.25]), np.array([-0.1, 0.2])
    assert {key[2] for key in found} == {"1p", "2p", "EPFO", "chain", "conjunctive"}
    row = found["a", "b", "1p"]
    assert (row["difference"], row["p"]) == (compare(one, ()).difference, compare(one, ()).p)
    assert (row["n_queries"], row["n_better"], row["n_worse"]) == (3, 2, 1)
    # Both p-values are 3 / 4 or more, so that both are 1 when they are adjusted for two shapes.
    assert row["p_holm"] == found["a", "b", "2p"]["p_holm"] == 1.0
    group = found["a", "b", "EPFO"]
    assert group["difference"] == pytest.approx((one.mean() + two.mean()) / 2)
    assert group["p"] == compare_shapes([one, two], ()).p
    assert group["p_holm"] is None


def test_few_models_are_compared_all_with_all_and_many_with_the_best():
    models = {name: model([n / 10], [n / 20]) for n, name in enumerate("abcdefg")}
    assert pairs(dict(list(models.items())[:3])) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs(models) == [("g", name) for name in "abcdef"]


def test_a_shape_that_nobody_has_values_for_has_no_row_nor_has_its_group():
    a = model([1.0, 0.5], [None, None])
    assert {key[2] for key in rows_of({"a": a, "b": a})} == {"1p"}


def test_models_on_other_queries_are_refused():
    a, b = model([1.0], [0.5]), model([1.0, 0.5], [0.5])
    with pytest.raises(InputError, match="1 queries are scored for one of them only"):
        rows_of({"a": a, "b": b})


def test_a_sure_difference_is_marked_by_its_adjusted_p_value():
    a, b = model([0.9] * 12, [0.5, 0.6] * 5), model([0.4] * 12, [0.6, 0.5] * 5)
    view = comparison_view(list(rows_of({"a": a, "b": b}).values()), list(SHAPES), in_points=True)
    assert view.columns == ("models", "EPFO", "1p", "2p")
    assert view.rows == [("a − b", "+25.0 *", "+50.0 *", "+0.0")]


def test_the_stage_compares_the_models_of_one_query_set(tmp_path):
    given = write_run(tmp_path, configuration())
    scores = {m: path for (_, m), path in given["paths_to_scores"].items()}
    compare_models(scores, tmp_path / "out.parquet", MRR, seed=1)
    table, metadata = read_table(tmp_path / "out.parquet")
    assert metadata["score"] == MRR
    assert len({(r["model"], r["other"]) for r in table.to_pylist()}) == 6
    compare_models(dict(reversed(scores.items())), tmp_path / "back.parquet", MRR, seed=1)
    back = {(r["other"], r["model"], r["shape"], r["group"]): r
            for r in read_table(tmp_path / "back.parquet")[0].to_pylist()}  # fmt: skip
    for row in table.to_pylist():
        other = back[row["model"], row["other"], row["shape"], row["group"]]
        assert other["difference"] == -row["difference"]


def test_scores_of_other_queries_are_refused_by_the_stage(tmp_path):
    given = write_run(tmp_path, configuration())
    paths = list(given["paths_to_scores"].values())
    table, metadata = read_table(paths[1])
    write_table(paths[1], table, {**metadata, "split": "valid"})
    with pytest.raises(InputError, match="scores of other queries than those of the other models"):
        compare_models({"a": paths[0], "b": paths[1]}, tmp_path / "out", MRR, seed=0)
    assert not (tmp_path / "out").exists()


def test_a_single_model_has_nothing_to_be_compared_with(tmp_path):
    given = write_run(tmp_path, configuration())
    (name, path), *_ = given["paths_to_scores"].items()
    compare_models({name[1]: path}, tmp_path / "out", MRR, seed=0)
    assert read_table(tmp_path / "out")[0].num_rows == 0
