"""Link predictors through the workflow: what is made, what is made anew, and what is refused."""

import json
import re

import numpy as np
import pytest

from test_workflow import append, clone, done, edit, files_below, refused, snakemake

METRICS = "results/predictors/toy/tiny.metrics.json"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A clone with a predictor of the toy graph; tests put back what they change."""
    folder = clone(tmp_path_factory.mktemp("trained") / "clone")
    jobs = done(folder, METRICS)
    expected = {"download_graph": 1, "build_graph": 1, "train_predictor": 1}
    assert jobs == {**expected, "evaluate_predictor": 1}
    return folder


def test_a_trained_predictor_is_evaluated_and_leaves_no_checkpoint(trained):
    names = {name for name in files_below(trained / "results") if "graphs/" not in name}
    made = {f"predictors/toy/tiny.{ending}" for ending in ("npz", "json", "metrics.json")}
    assert names - {"README.md"} == made
    metrics = json.loads((trained / METRICS).read_text(encoding="utf-8"))
    assert metrics["test"]["n_triples"] == 100  # 50 triples in both directions
    assert 0 < metrics["test"]["ties"]["pessimistic"]["mrr"] <= 1
    log = trained / "results/logs/train_predictor/toy/tiny.log"
    assert "epoch 10, loss" in log.read_text(encoding="utf-8")


def test_a_second_training_gives_the_same_bytes(trained):
    before = {path: path.read_bytes() for path in (trained / "results/predictors").rglob("*.*")}
    assert len(before) == 3
    done(trained, METRICS, "--forcerun", "train_predictor", cores=1)
    assert {path: path.read_bytes() for path in before} == before


def test_settings_train_it_anew_and_others_do_not(trained):
    catalogue = trained / "tests/toy/predictors.yaml"
    text = catalogue.read_text(encoding="utf-8")
    append(catalogue, "other: { model: distmult, training: {} }\n")
    assert done(trained, "-n", METRICS) == {}
    edit(catalogue, "epochs: 10", "epochs: 11")
    assert done(trained, "-n", METRICS) == {"train_predictor": 1, "evaluate_predictor": 1}
    catalogue.write_text(text, encoding="utf-8")


ODD = [
    ("model: complex", "model: conve", "model: unknown value conve; known: complex, distmult"),
    ("rank: 8", "rank: 0", "training.rank: 0 is less than the minimum of 1"),
    ("epochs: 10", "epoch: 10", "training: unknown key epoch (did you mean epochs?)"),
    ("training: {", "imported: {", "imported: unknown key rank"),
    (
        "model: complex, training: { rank: 8, epochs: 10 }",
        "model: complex",
        "expected one of the keys training and imported",
    ),
    (
        "model: complex, training: { rank: 8",
        "model: transe, training: { relation_weight: 1",
        "training.relation_weight: not for transe",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), ODD)
def test_an_odd_entry_stops_the_run(trained, old, new, message):
    catalogue = trained / "tests/toy/predictors.yaml"
    text = catalogue.read_text(encoding="utf-8")
    edit(catalogue, old, new)
    found = refused(trained, METRICS)
    catalogue.write_text(text, encoding="utf-8")
    assert re.search(rf"predictors\.yaml: tiny(: |\.){re.escape(message)}", found)


def test_embeddings_are_imported_and_a_wrong_size_is_told_in_the_log(trained):
    catalogue = trained / "tests/toy/predictors.yaml"
    text = catalogue.read_text(encoding="utf-8")
    append(
        catalogue,
        "own: { model: distmult, imported: { entities: { path: e.npy },"
        " relations: { path: r.npy }, reciprocal: derived } }\n",
    )
    path = trained / "results/predictors/toy/own.npz"
    relations = len((trained / "results/graphs/toy/relations.tsv").read_text().splitlines()) // 2
    np.save(trained / "tests/toy/e.npy", np.ones((35, 3)))
    np.save(trained / "tests/toy/r.npy", np.ones((relations, 3)))
    finished = snakemake(trained, "results/predictors/toy/own.npz")
    assert finished.returncode != 0
    log = trained / "results/logs/import_predictor/toy/own.log"
    line = "error: predictor own: embeddings of entities: 35 rows; expected 36"
    assert log.read_text(encoding="utf-8").startswith(line)
    assert not path.exists()
    np.save(trained / "tests/toy/e.npy", np.ones((36, 3)))
    jobs = done(trained, "results/predictors/toy/own.metrics.json")
    assert jobs == {"import_predictor": 1, "evaluate_predictor": 1}
    metrics = json.loads(path.with_name("own.metrics.json").read_text(encoding="utf-8"))
    # All scores are the same, and the first place is the last.
    assert metrics["test"]["ties"]["optimistic"]["mrr"] == 1
    assert metrics["test"]["ties"]["pessimistic"]["hits@1"] == 0
    catalogue.write_text(text, encoding="utf-8")
