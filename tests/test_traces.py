"""Two whole runs that differ in one thing: what it is, and at which stage it begins."""

import copy
import json
import math
import shutil

import numpy as np
import pyarrow as pa
import pytest

from clqa import metrics
from clqa.diffs import compare_results
from clqa.errors import InputError
from clqa.files import read_sealed, sha256_of, write_sealed
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.listings import listing, traced
from clqa.query_sets import (
    Queries,
    describe_queries,
    query_ids,
    read_queries,
    set_hash,
    write_queries,
)
from clqa.stages import STAGES, stage_of
from clqa.tables import read_table
from diff_results import main
from made_runs import (
    MODELS,
    RUN,
    SHAPES,
    make_predictions,
    make_queries,
    make_ranks,
    make_report,
    make_run,
    make_scores,
    remade,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A result folder with one run; not to be changed."""
    results = tmp_path_factory.mktemp("base")
    make_run(results)
    return results


@pytest.fixture
def other(base, tmp_path):
    """A copy of it to change."""
    return shutil.copytree(base, tmp_path / "other")


def the_trace(base, other, **options):
    diff = compare_results(base, other, **options)
    return diff, diff["traces"]["toy"]


def files_that_differ(trace):
    return {one["path"]: one["what"] for one in trace["stages"][trace["first"]]["different"]}


def test_a_run_equals_a_copy_of_it(base, other):
    diff, trace = the_trace(base, other)
    assert diff["status"] == "equal"
    assert (trace["first"], trace["settings"]) == (None, [])
    assert list(trace["stages"]) == list(STAGES)
    assert all(about["files"] for about in trace["stages"].values())


def test_what_the_page_alone_shows_is_no_difference(base, other):
    path = other / "runs/toy/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["explanations/toy/toy-test.json"]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest))
    diff, trace = the_trace(base, other)
    assert (diff["status"], trace["first"]) == ("equal", None)


def test_a_changed_tie_policy_is_named_at_the_metrics(base, other, capsys):
    run = RUN | {"ties": ["optimistic", "expected"]}
    make_scores(other, run)
    make_report(other, run)
    assert main([str(base), str(other)]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("protocol differs: ties (")
    assert out.splitlines()[:2] == [
        "toy: setting ties: without pessimistic, with optimistic",
        "toy: first differs at the stage metrics",
    ]
    _, trace = the_trace(base, other)
    assert [one["setting"] for one in trace["settings"]] == ["ties"]


def test_a_changed_seed_of_a_model_is_named_at_the_predictions(base, other):
    models = copy.deepcopy(MODELS)
    models["chance"]["settings"]["seed"] = 2
    make_predictions(other, {"chance": models["chance"]})
    make_ranks(other, models)
    make_scores(other, RUN)
    make_report(other, RUN)
    diff, trace = the_trace(base, other)
    assert (diff["status"], trace["first"]) == ("different", "predictions")
    assert files_that_differ(trace) == {"predictions/toy-test/chance/all.npy": "changed"}
    assert trace["settings"] == [{"setting": "models.chance.settings.seed", "old": 1, "new": 2}]
    changed = {entry["key"].get("model", "chance") for entry in diff["changed"]}
    assert changed == {"chance"}


def test_a_changed_seed_of_the_run_is_named_at_the_queries(base, other):
    run = RUN | {"seed": 6}
    make_queries(other, 6)
    remade(other, run, MODELS)
    diff, trace = the_trace(base, other)
    assert (diff["status"], trace["first"]) == ("not comparable", "queries")
    assert diff["protocol"] == ["queries"]
    settings = {one["setting"]: (one["old"], one["new"]) for one in trace["settings"]}
    assert settings == {"seed": (5, 6), "query_sets.toy-test.seed": (5, 6)}


def test_files_that_another_run_has_made_anew_differ_all_the_same(other):
    make_queries(other, 6)
    remade(other, RUN | {"seed": 6, "name": "again"}, MODELS)
    runs = [other / "runs" / name for name in ("toy", "again")]
    (trace,) = compare_results(*runs)["traces"].values()
    assert trace["first"] == "queries"
    notes = {one["note"] for one in trace["stages"]["queries"]["different"]}
    assert notes == {
        "other bytes; the file is not what a manifest lists: made anew since, or edited"
    }


def test_an_edited_query_is_named_at_the_queries(base, other):
    graph = read_graph(other / "graphs/toy/graph.npz")
    path = other / "queries/toy-test/all.parquet"
    queries = read_queries(path)
    anchors = queries.shapes["2p"].anchors.copy()
    anchors[3] = (anchors[3] + 1) % graph.n_entities
    relations = queries.shapes["2p"].relations
    ids = query_ids(graph.hash, parse(SHAPES["2p"]), anchors, relations)
    shapes = queries.shapes | {"2p": Queries(ids, anchors, relations)}
    everything = [name for part in shapes.values() for name in part.query_ids]
    write_queries(path, shapes, describe_queries(graph, "test", SHAPES, everything), "sampled")
    report = read_sealed(path.with_suffix(".json"))
    report["2p"]["queries"] = set_hash(ids)
    write_sealed(path.with_suffix(".json"), report)
    remade(other, RUN, MODELS)
    diff, trace = the_trace(base, other)
    assert (diff["status"], trace["first"], trace["settings"]) == ("not comparable", "queries", [])
    by_path = {one["path"]: one for one in trace["stages"]["queries"]["different"]}
    found = by_path["queries/toy-test/all.parquet"]
    assert found["counts"] == {"added": 1, "removed": 1, "changed": 0, "clashes": 0}
    assert found["removed"][0]["key"]["query_id"] == queries.shapes["2p"].query_ids[3]
    assert found["added"][0]["key"]["query_id"] == ids[3]
    assert str(ids[3]) in "\n".join(traced(diff))


def test_a_missing_model_is_named_at_the_predictions(base, other):
    run = RUN | {"models": ["popular", "chance"]}
    make_report(other, run)
    diff, trace = the_trace(base, other)
    assert (diff["status"], trace["first"]) == ("different", "predictions")
    assert files_that_differ(trace) == {"predictions/toy-test/walker/all.npy": "removed"}
    assert "toy: setting models: without walker" in listing(diff)
    assert diff["counts"]["changed"] == diff["counts"]["added"] == 0 or {
        entry["table"] for entry in diff["changed"] + diff["added"]
    } == {"tables/comparisons.tsv"}


def test_a_changed_graph_is_named_first(base, other):
    triples = other / "graphs/toy/entities.tsv"
    manifest = json.loads((other / "runs/toy/manifest.json").read_text())
    lines = triples.read_text().splitlines()
    triples.write_text("\n".join([*lines[:-1], lines[-1] + "x"]) + "\n")
    manifest["files"]["graphs/toy/entities.tsv"]["sha256"] = sha256_of(triples)
    (other / "runs/toy/manifest.json").write_text(json.dumps(manifest))
    _, trace = the_trace(base, other)
    assert trace["first"] == "graph"
    (found,) = trace["stages"]["graph"]["different"]
    assert found["changed"][0]["key"] == {"id": str(len(lines) - 1)}


def test_files_of_other_bytes_and_the_same_content_do_not_differ(base, other):
    path = other / "answers/toy-test/all.parquet"
    pa.parquet.write_table(read_table(path)[0], path, compression="snappy")
    manifest = json.loads((other / "runs/toy/manifest.json").read_text())
    manifest["files"]["answers/toy-test/all.parquet"]["sha256"] = sha256_of(path)
    (other / "runs/toy/manifest.json").write_text(json.dumps(manifest))
    assert the_trace(base, other)[0]["status"] == "equal"


def test_run_folders_alone_are_traced_by_the_hashes_of_their_manifests(base, other, tmp_path):
    make_scores(other, RUN | {"seed": 9})
    make_report(other, RUN | {"seed": 9})
    alone = [shutil.copytree(side / "runs/toy", tmp_path / n / "toy") for n, side in
             (("a", base), ("b", other))]  # fmt: skip
    diff = compare_results(*alone)
    trace = diff["traces"]["toy"]
    assert trace["first"] == "metrics"
    notes = {one.get("note") for one in trace["stages"]["metrics"]["different"]}
    assert notes == {"other bytes; the files are not at hand"}


@pytest.mark.parametrize("number", [1, 3, "x"])
def test_a_manifest_of_an_unknown_version_is_refused(base, other, number):
    path = other / "runs/toy/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": number}))
    with pytest.raises(InputError, match="a manifest of the format"):
        compare_results(base, other)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ({"files": [], "run": "toy"}, "files"),
        ({"files": {"a": 1}, "run": "toy"}, "files.a"),
        ({"files": {"a": None}, "run": "toy"}, "files.a"),
        ({"files": {"a": {}}, "run": "toy"}, "files.a"),
        ({"files": {"a": "0"}}, "it: 'run' is a dependency"),
        ({"run": 5}, "run"),
        ({"models": []}, "models"),
        ({"models": {"oracle": None}}, "models.oracle"),
        ({"settings": [1]}, "settings"),
        ({"query_sets": {"a": []}}, "query_sets.a"),
        ({"fingerprints": []}, "fingerprints"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_place(tmp_path, content, where):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=rf"manifest\.json: not a manifest of a run: {where}"):
        compare_results(tmp_path / "a", tmp_path / "a")


def test_an_edited_number_is_named_at_the_metrics(base, other):
    path = other / "runs/toy/metrics.tsv"
    lines = path.read_text().splitlines()
    place = lines[0].split("\t").index("value")
    row = lines[5].split("\t")
    row[place] = "0.123"
    path.write_text("\n".join([*lines[:5], "\t".join(row), *lines[6:]]) + "\n")
    diff, trace = the_trace(base, other)
    assert (diff["counts"]["changed"], trace["first"]) == (1, "metrics")
    assert [one["path"] for one in trace["stages"]["metrics"]["different"]] == ["runs/{run}/"]


def test_a_manifest_of_the_first_version_is_read(base, other):
    path = other / "runs/toy/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"] = {name: one["sha256"] for name, one in manifest["files"].items()}
    del manifest["format"]
    path.write_text(json.dumps(manifest))
    assert the_trace(base, other)[0]["status"] == "equal"


def test_every_file_of_a_manifest_has_a_stage_and_its_inputs(base):
    files = json.loads((base / "runs/toy/manifest.json").read_text())["files"]
    assert {stage_of(path) for path in files} == {*STAGES}
    ranks = files["ranks/toy-test/chance/all.parquet"]
    assert ranks["rule"] == "rank_answers"
    names = {"answers/toy-test/all.parquet", "graphs/toy/graph.npz"}
    names |= {"predictions/toy-test/chance/all.npy", "queries/toy-test/all.parquet"}
    assert ranks["inputs"] == {name: files[name]["sha256"] for name in names}


def shuffled(results, model):
    """Put the rows of a dump, and the ids in its sidecar, into another order."""
    path = results / "predictions/toy-test" / model / "all.npy"
    scores, sidecar = np.load(path), read_sealed(path.with_suffix(".json"))
    order = np.random.default_rng(0).permutation(len(scores))
    np.save(path, scores[order])
    sidecar["query_ids"] = [sidecar["query_ids"][place] for place in order]
    sidecar["sha256"] = sha256_of(path)
    write_sealed(path.with_suffix(".json"), sidecar)
    return path, order


def test_case_96_the_order_of_a_dump_changes_no_rank_and_no_metric(base, other):
    shuffled(other, "popular")
    make_ranks(other, MODELS)
    make_scores(other, RUN)
    make_report(other, RUN)
    diff, trace = the_trace(base, other, atol=0)
    assert (diff["status"], trace["first"]) == ("equal", None)


def test_case_96_ranks_aggregate_to_the_reported_mrr_exactly(base):
    rows = read_table(base / "ranks/toy-test/popular/all.parquet")[0].to_pylist()
    queries = {}
    for row in rows:
        if (row["filter"], row["shape"]) == ("observed-and-full", "2p"):
            rank = 1 + row["greater"] + row["tied"]
            queries.setdefault(row["query_id"], []).append(1 / rank)
    means = [math.fsum(values) / len(values) for values in queries.values()]
    lines = (base / "runs/toy/metrics.tsv").read_text().splitlines()
    named = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines]
    asked = {"metric": "mrr", "ties": "pessimistic", "shape": "2p", "model": "popular"}
    asked |= {"stratum": ""}
    (found,) = [one for one in named if asked.items() <= one.items()]
    assert float(found["value"]) == pytest.approx(math.fsum(means) / len(means), abs=1e-15)


def test_case_95_scoring_a_stored_dump_again_reproduces_every_number(base, other):
    for kind in ("ranks", "tops", "scores", "intervals", "sets", "runs"):
        shutil.rmtree(other / kind)
    make_ranks(other, MODELS)
    make_scores(other, RUN)
    make_report(other, RUN)
    assert compare_results(base, other, atol=1e-12)["status"] == "equal"


def test_case_95_a_new_version_of_a_metric_touches_that_metric_alone(base, other, monkeypatch):
    monkeypatch.setitem(metrics.VERSIONS, "hits@K", 2)
    make_report(other, RUN)
    diff, _ = the_trace(base, other)
    assert (diff["status"], diff["protocol"]) == ("not comparable", ["metric_version"])
    assert {entry["key"]["metric"] for entry in diff["clashes"]} == {"hits@3"}
    n_rows = (base / "runs/toy/metrics.tsv").read_text().count("\thits@3\t")
    assert diff["counts"]["clashes"] == n_rows
    assert diff["counts"]["changed"] == 0


def test_the_rows_of_a_dump_are_matched_by_their_queries(base, other):
    path, order = shuffled(other, "popular")
    scores = np.empty_like(np.load(path))
    scores[order] = np.load(path)
    names = json.loads(path.with_suffix(".json").read_text())["query_ids"]
    before = base / "predictions/toy-test/popular/all.npy"
    assert compare_results(before, path)["status"] == "equal"
    scores[0, 0] += 1
    np.save(path, scores[order])
    (entry,) = compare_results(before, path)["changed"]
    assert entry["key"]["row"] == names[list(order).index(0)]
