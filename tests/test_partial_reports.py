"""What is told of a run of which a part has failed: no number is lost, and none is made up."""

import csv
import functools
from pathlib import Path
from types import SimpleNamespace

import pytest

import models.popularity
from assemble_partial import COLUMNS, Paths, assemble_partial
from clqa.competitions import competitions
from clqa.configs import read_yaml, validated
from clqa.formulas import parse
from clqa.unfinished_jobs import Cause, last_line, unfinished
from made_runs import MODELS, make_graph
from predict_answers import predict_answers
from rank_answers import rank_answers
from sample_queries import sample_queries
from score_answers import score_answers
from split_answers import split_answers
from synthetic_runs import TEMPLATE

PAGE = TEMPLATE.with_name("partial.html.j2")
SHARDS = {
    "one": {"1p": "r1(s1,f)", "2p": "r1(s1,e1)&r2(e1,f)"},
    "two": {"2i": "r1(s1,f)&r2(s2,f)", "2in": "r1(s1,f)&!r2(s2,f)"},
}
RUN = {
    "name": "toy",
    "query_sets": ["q"],
    "shapes": [shape for shapes in SHARDS.values() for shape in shapes],
    "models": ["popular", "chance"],
    "metrics": ["mrr", "hits@3"],
    "ties": ["pessimistic", "expected"],
    "filters": ["observed-and-full", "full-only"],
    "candidates": ["all"],
    "averaging": ["query", "answer", "pooled"],
    "seeds": {},
}
RULES = competitions(RUN["filters"], RUN["candidates"])
SAMPLING = validated(
    {"q": {"graph": "toy", "split": "test", "sampling": {"count": 8}}},
    read_yaml(TEMPLATE.parents[1] / "schemas" / "query_sets.schema.yaml"),
    "q",
)["q"]["sampling"]
FAILED = Cause("rank_answers", "results/ranks", "<b>no</b> such luck", "logs/rank.log", True)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Paths:
    """A run of two shards and two models, up to its scores."""
    results = tmp_path_factory.mktemp("results")
    graph = make_graph(results)
    files = {"queries": {}, "answers": {}, "ranks": {}, "scores": {}}
    for shard, shapes in SHARDS.items():
        queries, answers = (results / kind / f"{shard}.parquet" for kind in ("queries", "answers"))
        report = queries.with_suffix(".json")
        sample_queries(graph / "graph.npz", queries, report, shapes, SAMPLING, "test", 3, "q")
        split_answers(graph / "graph.npz", queries, answers, "test")
        files["queries"]["q", shard], files["answers"]["q", shard] = queries, answers
        for model in RUN["models"]:
            about = MODELS[model]
            dump = results / "predictions" / model / f"{shard}.npy"
            predicted = dump, dump.with_suffix(".json"), model, *about.values(), "test"
            predict_answers(graph / "graph.npz", queries, *predicted)
            ranks, tops = (
                results / kind / model / f"{shard}.parquet" for kind in ("ranks", "tops")
            )
            rank_answers(dump, dump.with_suffix(".json"), answers, ranks, tops, depth=5)
            files["ranks"]["q", model, shard] = ranks
    for model in RUN["models"]:
        of_model = [files["ranks"]["q", model, shard] for shard in SHARDS]
        given = of_model, *([*files[kind].values()] for kind in ("answers", "queries"))
        scores = files["scores"]["q", model] = results / "scores" / f"{model}.parquet"
        of_graph = graph / "graph.npz", graph / "relations.tsv"
        score_answers(*given, *of_graph, scores, RUN["metrics"], RUN["ties"], RULES, ["links"])
    of_graphs = {"graphs": "graph.npz", "relations": "relations.tsv"}
    return Paths(**files, **{kind: {"toy": graph / name} for kind, name in of_graphs.items()})


def report(made: Paths, folder: Path, lacking: dict, failed=(), **changes) -> tuple[list, dict]:
    """What is said to be missing, and the rows by what they are about."""
    missing = assemble_partial(
        made,
        {str(path): cause for path, cause in lacking.items()},
        {str(path): causes for path, causes in dict(failed).items()},
        {("q", shard): shapes for shard, shapes in SHARDS.items()},
        MODELS,
        RUN | changes,
        {"q": {"graph": "toy", "split": "test"}},
        PAGE,
        folder / "partial",
    )
    if not (folder / "partial").exists():
        return missing, {}
    with (folder / "partial/metrics.tsv").open(newline="") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return missing, {_subject(row): row for row in rows if not row["stratum"]}


def _subject(row: dict) -> tuple:
    names = ("model", "metric", "ties", "filter", "averaging", "shape", "group", "stratum")
    return tuple(row[name] for name in names)


@pytest.fixture(scope="module")
def whole(made, tmp_path_factory) -> dict:
    """The rows of the run without a fault."""
    missing, rows = report(made, tmp_path_factory.mktemp("whole"), {})
    assert missing == []
    assert all(row["value"] for row in rows.values())
    assert len(rows) > 500
    return rows


def lost(row: dict, shapes: set[str]) -> bool:
    """Whether a row is about one of the shapes, or averages over one."""
    groups = {
        **{"1p": ("EPFO", "chain", "conjunctive"), "2p": ("EPFO", "chain", "conjunctive")},
        **{"2i": ("EPFO", "intersection", "conjunctive"), "2in": ("negation", "intersection")},
    }
    return row["shape"] in shapes or any(row["group"] in groups[shape] for shape in shapes)


def check(rows: dict, whole: dict, models: set[str], shapes: set[str]) -> None:
    """Rows of the models over the shapes have no value; all others are as they would have been."""
    assert rows.keys() == whole.keys()
    for key, row in rows.items():
        if row["model"] in models and lost(row, shapes):
            assert (row["value"], row["lower"], row["upper"]) == ("", "", ""), key
            own = sorted(shape for shape in shapes if lost(row, {shape}))
            told = "rank_answers failed: <b>no</b> such luck"
            expected = told if row["shape"] else f"no value for {', '.join(own)}"
            assert row["note"] == expected, key
        else:
            assert {**row, "queries": "", "fingerprint": ""} == {
                **whole[key],
                "queries": "",
                "fingerprint": "",
            }, key
            assert row["value"]


def test_a_model_that_fails_on_a_shard_keeps_its_other_shapes_and_averages(made, whole, tmp_path):
    lacking = {made.ranks["q", "popular", "two"]: FAILED, made.scores["q", "popular"]: FAILED}
    missing, rows = report(made, tmp_path, lacking)
    check(rows, whole, {"popular"}, {"2i", "2in"})
    assert missing == [("q", "popular", "2i, 2in", FAILED)]
    # With all answers known, what is there is the very number that the whole report has.
    known = [key for key, row in rows.items() if row["value"]]
    assert [rows[key]["fingerprint"] for key in known] == [
        whole[key]["fingerprint"] for key in known
    ]


def test_a_model_that_fails_altogether_leaves_the_others(made, whole, tmp_path):
    lacking = dict.fromkeys([made.ranks["q", "popular", shard] for shard in SHARDS], FAILED)
    missing, rows = report(made, tmp_path, lacking | {made.scores["q", "popular"]: FAILED})
    lacks = {name for name, row in rows.items() if not row["value"]}
    assert lacks == {key for key in whole if key[0] == "popular"}
    assert [about[1:3] for about in missing] == [("popular", "1p, 2p, 2i, 2in")]


def test_queries_that_fail_are_missing_for_every_model(made, whole, tmp_path):
    of_shard = made.answers["q", "one"], made.queries["q", "one"]
    lacking = dict.fromkeys([*made.scores.values(), *of_shard], FAILED)
    missing, rows = report(made, tmp_path, lacking)
    check(rows, whole, {"popular", "chance"}, {"1p", "2p"})
    assert [about[:3] for about in missing] == [("q", "popular, chance", "1p, 2p")]
    # The queries are fewer than those of the protocol, so the numbers are of another one.
    assert not {r["fingerprint"] for r in rows.values()} & {
        r["fingerprint"] for r in whole.values()
    }


def test_scores_that_were_not_begun_are_made_from_ranks_and_those_that_failed_are_not(
    made, whole, tmp_path
):
    waiting = FAILED._replace(rule="score_answers", has_failed=False)
    missing, rows = report(made, tmp_path, {made.scores["q", "popular"]: waiting})
    assert missing == []
    assert rows == whole
    broken = waiting._replace(has_failed=True)
    missing, rows = report(made, tmp_path, {made.scores["q", "popular"]: broken})
    assert {key[0] for key, row in rows.items() if not row["value"]} == {"popular"}
    assert missing[0][1:] == ("popular", "1p, 2p, 2i, 2in", broken)


def test_what_is_to_be_made_anew_is_not_read(made, whole, tmp_path):
    """Files of an earlier run lie where those that failed should be."""
    stale = {path: path.read_bytes() for path in (made.scores["q", "chance"],)}
    for path in stale:
        path.write_bytes(b"of another run")
    lacking = dict.fromkeys([made.ranks["q", "chance", shard] for shard in SHARDS], FAILED)
    _, rows = report(made, tmp_path, lacking | {made.scores["q", "chance"]: FAILED})
    for path, content in stale.items():
        path.write_bytes(content)
    assert {key[0] for key, row in rows.items() if not row["value"]} == {"chance"}


@pytest.fixture
def lacking(made, tmp_path, monkeypatch) -> Paths:
    """The run, with ranks of a model that has failed on 2in."""
    undisturbed = models.popularity.scores

    @functools.wraps(undisturbed)
    def scores(graph, queries, **settings):
        if queries.formula == parse(SHARDS["two"]["2in"]):
            raise ZeroDivisionError
        return undisturbed(graph, queries, **settings)

    monkeypatch.setattr(models.popularity, "scores", scores)
    dump, sidecar, ranks = (tmp_path / f"two.{end}" for end in ("npy", "json", "parquet"))
    asked = made.graphs["toy"], made.queries["q", "two"], dump, sidecar
    predict_answers(*asked, "popular", *MODELS["popular"].values(), "test")
    rank_answers(dump, sidecar, made.answers["q", "two"], ranks, tmp_path / "tops", depth=5)
    return made._replace(ranks={**made.ranks, ("q", "popular", "two"): ranks})


@pytest.mark.parametrize("has_failed", [True, False])
def test_a_shape_that_fails_leaves_those_of_its_shard(lacking, whole, tmp_path, has_failed):
    refusal = Cause("score_answers", "results/scores", "popular failed on 2in", "", has_failed)
    of_ranks = {lacking.ranks["q", "popular", "two"]: {"2in": FAILED}}
    scores = {lacking.scores["q", "popular"]: refusal}
    missing, rows = report(lacking, tmp_path, scores, of_ranks)
    check(rows, whole, {"popular"}, {"2in"})
    assert missing == [("q", "popular", "2in", FAILED)]
    text = (tmp_path / "partial/report.html").read_text()
    assert text.count("logs/rank.log") == 2
    # Of a shard that is to be ranked anew, what lies there is not read.
    anew = FAILED._replace(message="killed")
    ranks = {lacking.ranks["q", "popular", "two"]: anew}
    missing, _ = report(lacking, tmp_path, scores | ranks, of_ranks)
    assert missing == [("q", "popular", "2i, 2in", anew)]


def test_ranks_that_cannot_be_scored_leave_the_other_models(lacking, whole, tmp_path):
    refusal = Cause("score_answers", "results/scores", "popular failed on 2in", "", True)
    scores = {lacking.scores["q", "popular"]: refusal}
    path = Path(lacking.ranks["q", "popular", "two"])
    path.write_bytes(path.read_bytes()[:-9])
    missing, rows = report(lacking, tmp_path, scores, {path: {"2in": FAILED}})
    assert {key[0] for key, row in rows.items() if not row["value"]} == {"popular"}
    ((_, model, shapes, cause),) = missing
    assert (model, shapes) == ("popular", "1p, 2p, 2i, 2in")
    assert (cause.rule, cause.has_failed) == ("score_answers", True)
    assert "two.parquet: not a readable table" in cause.message


def test_without_a_single_number_nothing_is_written(made, tmp_path):
    lacking = [*made.scores.values(), *made.ranks.values(), *made.answers.values()]
    missing, rows = report(made, tmp_path, dict.fromkeys(lacking, FAILED))
    assert rows == {}
    assert [about[:3] for about in missing] == [("q", "popular, chance", "1p, 2p, 2i, 2in")]


def test_a_mean_over_seeds_is_none_where_a_seed_has_failed(made, tmp_path):
    seeds = {"seeds": {"popular": "both", "chance": "both"}}
    lacking = {made.ranks["q", "popular", "two"]: FAILED, made.scores["q", "popular"]: FAILED}
    _, rows = report(made, tmp_path, lacking, **seeds)
    means = [row for row in rows.values() if row["seed"] == "mean"]
    assert {bool(row["value"]) for row in means} == {True, False}
    for row in means:
        assert bool(row["value"]) != lost(row, {"2i", "2in"})


def test_the_page_names_what_is_missing_and_why(made, tmp_path):
    lacking = {made.ranks["q", "popular", "two"]: FAILED, made.scores["q", "popular"]: FAILED}
    report(made, tmp_path, lacking)
    text = (tmp_path / "partial/report.html").read_text()
    assert "&lt;b&gt;no&lt;/b&gt; such luck" in text
    assert "<b>no</b>" not in text
    assert text.count("logs/rank.log") == 2
    assert "no value for 2i" in text
    lines = (tmp_path / "partial/missing.tsv").read_text().splitlines()
    assert lines[0].split("\t") == [*COLUMNS]
    assert lines[1:] == ["q\tpopular\t2i, 2in\trank_answers\t<b>no</b> such luck\tlogs/rank.log"]
    tables = {path.name for path in (tmp_path / "partial/tables").iterdir()}
    assert {"overview.tsv", "mrr-q.tsv", "hits@3-q.tex"} <= tables


# Which jobs stand in the way


def job(name: str, *outputs: str, log: str = "") -> SimpleNamespace:
    rule = SimpleNamespace(name=name)
    return _Job(rule=rule, output=outputs, log=[log] if log else [])


class _Job(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def test_a_result_lacks_for_the_first_job_that_failed(tmp_path):
    log = tmp_path / "rank.log"
    log.write_text("reading\nerror: damaged; delete it\n\n")
    sample, rank = job("sample", "a"), job("rank", "b", "c", log=str(log))
    other, score, last = job("rank", "d"), job("score", "e"), job("report", "f")
    before = {sample: [], rank: [sample], other: [sample], score: [rank, other], last: [score]}
    dag = SimpleNamespace(
        jobs=[*before], dependencies=before, noneedrun_finished=lambda one: one is sample
    )
    found = unfinished(dag, [SimpleNamespace(jobs=[rank])])
    failed = Cause("rank", "b", "damaged; delete it", str(log), True)
    assert {name: found[name] for name in "bcef"} == dict.fromkeys("bcef", failed)
    assert "a" not in found
    assert found["d"] == Cause("rank", "d", "the run had stopped before", "", False)
    assert str(failed) == "rank failed: damaged; delete it"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "it ended without a word in its log"),
        (b"\n  \n", "it ended without a word in its log"),
        (b"Traceback:\n  File\nKeyError: 'a\tb'\n", "KeyError: 'a b'"),
        (b"\xff\xfe\n", "\ufffd\ufffd"),
        (b"x" * 1000, "x" * 299 + "…"),
    ],
)
def test_the_last_line_of_a_log_is_one_short_line(tmp_path, content, expected):
    (tmp_path / "a.log").write_bytes(content)
    assert last_line([tmp_path / "a.log"]) == expected
    assert last_line([tmp_path / "none.log", ""]) == "it ended without a word in its log"
