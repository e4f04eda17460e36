"""A shape on which a model fails is left out by name; the others have the ranks that they had."""

import errno
import functools
import json
from types import SimpleNamespace

import numpy as np
import pytest

import models.random
from clqa.errors import InputError
from clqa.failed_shapes import refuse_failed
from clqa.files import SEAL, write_sealed
from clqa.formulas import parse
from clqa.graphs import write_graph
from clqa.outside_shards import Shard, with_rows
from clqa.query_sets import QueryTable, read_answers
from clqa.rank_curves import read_primary
from clqa.scores import read_ranks
from clqa.tables import read_table, table_metadata
from clqa.top_tables import read_tops
from clqa.unfinished_jobs import Cause, failed_shapes, remove_partial
from score_answers import score_answers
from test_models import some_graph
from test_scoring_stages import FILTERS, METRICS, SHAPES, TIES, make_queries, predict, rank, score

NAMES = ("random.npy", "random.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a graph, queries of four shapes, and what an undisturbed model makes."""
    folder = tmp_path_factory.mktemp("whole")
    write_graph(folder / "graph.npz", some_graph())
    make_queries(folder, some_graph(), SHAPES)
    predict(folder)
    rank(folder)
    score([folder])
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    for name in ("graph.npz", "queries.parquet", "answers.parquet", "relations.tsv"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    return tmp_path


@pytest.fixture
def on(monkeypatch):
    """Let the model do something else on some shapes."""
    undisturbed = models.random.scores

    def change(shapes, act):
        formulas = [parse(SHAPES[shape]) for shape in shapes]

        @functools.wraps(undisturbed)
        def scores(graph, queries, **settings):
            found = undisturbed(graph, queries, **settings)
            return act(found) if queries.formula in formulas else found

        monkeypatch.setattr(models.random, "scores", scores)

    return change


def raising(error):
    def act(_):
        raise error

    return act


def with_nan(found):
    found[1, 2] = np.nan
    return found


def rows_of(table, shapes):
    return [row for row in table.to_pylist() if row["shape"] in shapes]


def check_others(folder, whole, shapes):
    """Ranks and scores of all other shapes are those of the undisturbed model."""
    others = SHAPES.keys() - set(shapes)
    ranks, about = rank(folder)
    undisturbed, metadata = read_ranks(whole / "random.ranks.parquet")
    assert ranks.to_pylist() == rows_of(undisturbed, others)
    assert ranks.num_rows > 0
    assert about.pop("failed").keys() == set(shapes)
    assert {**about, "predictions": metadata["predictions"]} == metadata
    tops, _ = read_table(folder / "random.tops.parquet")
    assert tops.to_pylist() == rows_of(read_table(whole / "random.tops.parquet")[0], others)
    given = [[folder / f"{name}.parquet"] for name in ("random.ranks", "answers", "queries")]
    files = folder / "graph.npz", folder / "relations.tsv", folder / "partial.parquet"
    score_answers(*given, *files, METRICS, TIES, FILTERS, ["links"], may_lack=True)
    scores, about = read_table(files[-1])
    table = read_table(whole / "random.scores.parquet")[0].select(scores.column_names)
    kept = [row for row in rows_of(table, others) if row["stratum"][:5] in ("", "links")]
    assert scores.to_pylist() == kept
    assert about["formulas"].keys() == others
    assert "failed" not in about


@pytest.mark.parametrize(
    ("shapes", "act", "message"),
    [
        (["pni"], raising(InputError("no such formula")), "no such formula"),
        (["2i"], raising(KeyError("r\n7")), r"KeyError: 'r\n7'"),
        (["2u", "1p"], raising(ZeroDivisionError("x" * 999)), "ZeroDivisionError: xxx"),
        (["1p"], with_nan, "hold a NaN"),
    ],
)
def test_the_others_have_the_ranks_of_an_undisturbed_model(
    folder, whole, on, caplog, shapes, act, message
):
    on(shapes, act)
    found = predict(folder, chunk_bytes=100)
    assert list(found["failed"]) == sorted(shapes)
    assert list(found["shapes"]) == sorted(SHAPES.keys() - set(shapes))
    for text in found["failed"].values():
        assert message in text
        assert "\n" not in text
        assert len(text) <= 300
        assert "partial-" not in text
    told = [one.message for one in caplog.records if one.message.startswith("error: ")]
    assert sorted(told) == sorted(f"error: {k}: {v}" for k, v in found["failed"].items())
    has_trace = any(one.message.startswith("Traceback") for one in caplog.records)
    assert has_trace == message.split("Error")[0].isalpha()
    assert sorted(path.name for path in folder.glob("*random*")) == sorted(NAMES)
    assert not list(folder.glob(".*"))
    check_others(folder, whole, shapes)


def test_whatever_averages_refuses_ranks_that_lack_shapes(folder, on):
    on(["pni"], raising(InputError("no such formula")))
    predict(folder)
    rank(folder)
    told = r"^random failed on one shape: pni: no such formula$"
    with pytest.raises(InputError, match=told):
        score([folder])
    assert not (folder / "random.scores.parquet").exists()
    answers = read_answers(folder / "answers.parquet")
    with pytest.raises(InputError, match=r"tops\.parquet: random failed on one shape: pni"):
        read_tops(folder / "random.tops.parquet", answers)
    run = {"filters": FILTERS, "candidates": ["all"]}
    with pytest.raises(InputError, match=r"ranks\.parquet: random failed on one shape: pni"):
        read_primary(folder / "random.ranks.parquet", run, "random", answers.metadata["queries"])


def test_what_failed_is_told_on_one_short_line():
    with pytest.raises(InputError) as caught:
        refuse_failed("m", {"a": "one", "b": "two", "c": "one"})
    assert str(caught.value) == "m failed on 3 shapes: a, c: one; b: two"
    with pytest.raises(InputError) as caught:
        refuse_failed("m", {f"shape {n}": f"{n}" * 90 for n in range(9)})
    assert len(str(caught.value)) < 350
    refuse_failed("m", {})


def test_if_all_shapes_fail_the_first_error_is_raised(folder, on):
    on(SHAPES, raising(ZeroDivisionError("always")))
    with pytest.raises(ZeroDivisionError, match="always"):
        predict(folder)
    assert not list(folder.glob("*random*"))
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    "error", [MemoryError("large"), KeyboardInterrupt(), OSError(errno.ENOSPC, "no space")]
)
def test_want_of_memory_or_room_is_not_the_fault_of_a_shape(folder, on, error):
    on(["1p"], raising(error))
    with pytest.raises((type(error), InputError)):
        predict(folder)
    assert not list(folder.glob("*random*"))


def test_what_fails_once_and_then_no_more_has_the_bytes_of_an_undisturbed_run(folder, whole, on):
    left = [ValueError("once")]

    def act(found):
        if left:
            raise left.pop()
        return found

    on(["2u"], act)
    assert "failed" not in predict(folder)
    for name in NAMES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_a_shard_of_one_shape_fails_as_a_whole(tmp_path, on):
    write_graph(tmp_path / "graph.npz", some_graph())
    make_queries(tmp_path, some_graph(), {"1p": SHAPES["1p"]})
    on(["1p"], raising(InputError("no such formula")))
    with pytest.raises(InputError, match=r"^no such formula$"):
        predict(tmp_path)


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        (["pni"], "failed must be a mapping from shapes to texts"),
        ({"pni": 1}, "failed must be a mapping from shapes to texts"),
        ({"9p": "why"}, r"failed: no shape '9p'; there are "),
        (dict.fromkeys(SHAPES, "why"), "every shape has failed"),
        ({"pni": "why"}, "not asked"),
    ],
)
def test_what_a_sidecar_says_to_have_failed_is_checked(folder, whole, failed, message):
    for name in NAMES:
        (folder / name).write_bytes((whole / name).read_bytes())
    content = json.loads((folder / "random.json").read_text())
    (folder / "random.json").write_text(json.dumps({**content, SEAL: None, "failed": failed}))
    write_sealed(folder / "random.json", {**content, "failed": failed})
    with pytest.raises(InputError, match=message):
        rank(folder)


# What the next run makes anew


class Outputs(list):
    """Paths that have names."""

    def __init__(self, **named):
        super().__init__(named.values())
        self.items = named.items
        self.__dict__.update(named)


class Job(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def a_dag(folder, is_finished=True):
    """The jobs that predict and rank, whose results are in a folder."""
    paths = {name: str(folder / f"random.{end}") for name, end in (("sidecar", "json"),)}
    paths = {"predictions": str(folder / "random.npy"), **paths}
    predicting = Job(rule=SimpleNamespace(name="predict_answers"), output=Outputs(**paths))
    predicting.log = [str(folder / "predict.log")]
    paths = {name: str(folder / f"random.{name}.parquet") for name in ("ranks", "tops")}
    ranking = Job(rule=SimpleNamespace(name="rank_answers"), output=Outputs(**paths), log=[])
    ranking.input = predicting.output
    return SimpleNamespace(
        jobs=[predicting, ranking],
        dependencies={ranking: {predicting: set()}, predicting: {}},
        noneedrun_finished=lambda job: is_finished,
    )


@pytest.mark.parametrize("is_kept", [True, False])
def test_ranks_that_lack_shapes_are_removed_with_their_predictions(folder, on, is_kept):
    on(["pni"], raising(InputError("no such formula")))
    predict(folder)
    rank(folder)
    if not is_kept:
        for name in NAMES:
            (folder / name).unlink()
    cause = Cause(
        "predict_answers",
        str(folder / "random.npy"),
        "no such formula",
        str(folder / "predict.log"),
        True,
    )
    ranks = str(folder / "random.ranks.parquet")
    assert failed_shapes(a_dag(folder)) == {ranks: {"pni": cause}}
    assert failed_shapes(a_dag(folder, is_finished=False)) == {}
    assert remove_partial(a_dag(folder)) == [ranks, *[str(folder / NAMES[1])] * is_kept]
    assert not list(folder.glob("random.*"))
    assert remove_partial(a_dag(folder)) == []


def test_predictions_that_were_not_ranked_and_lack_shapes_are_removed(folder, on):
    on(["pni"], raising(InputError("no such formula")))
    predict(folder)
    assert remove_partial(a_dag(folder)) == [str(folder / NAMES[1])]
    assert not list(folder.glob("random.*"))


def test_whole_ranks_and_predictions_made_by_hand_are_kept(folder, on):
    predict(folder)
    rank(folder)
    assert remove_partial(a_dag(folder)) == []
    on(["pni"], raising(InputError("no such formula")))
    content = predict(folder)
    (folder / NAMES[1]).write_text(json.dumps({k: v for k, v in content.items() if k != SEAL}))
    rank(folder)
    assert table_metadata(folder / "random.ranks.parquet")["failed"] == {"pni": "no such formula"}
    assert remove_partial(a_dag(folder)) == [str(folder / "random.ranks.parquet")]
    assert sorted(path.name for path in folder.glob("random.*")) == sorted(NAMES)


def test_files_of_shapes_that_order_variables_otherwise_are_refused(tmp_path):
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    for path, variables in zip(paths, (["f1", "f2"], ["f1", "f2"], ["f2", "f1"]), strict=True):
        path.write_text(json.dumps({"query_ids": [path.stem], "variables": variables}))
    shard = Shard(
        QueryTable({}, {"graph": "g", "vocabulary": "v"}), [], None, None, ("f1", "f2"), {}
    )
    assert with_rows(shard, paths[:2]).variables == ("f1", "f2")
    assert with_rows(shard, paths[2:]).variables == ("f2", "f1")
    with pytest.raises(InputError, match=r"2\.json: variables f2, f1; .*0\.json has f1, f2: give"):
        with_rows(shard, paths)
