"""Link predictors through the workflow: what is made, what is made anew, and what is refused."""

import json
import os
import re
import shutil

import numpy as np
import pytest

from test_configs import refusal, run_with
from test_workflow import ROOT, append, clone, done, edit, files_below, refused, snakemake

METRICS = "results/predictors/toy/tiny.metrics.json"

# Appended to a stage: how many threads the libraries in its process have, told when it is done.
TELL = """
    import ctypes
    import json
    import re

    import numba
    import pyarrow

    found = {"arrow": pyarrow.cpu_count(), "blas": []}
    maps = Path("/proc/self/maps").read_text()
    for path in sorted(set(re.findall(r" (/.*openblas.*)$", maps, re.MULTILINE))):
        library = ctypes.CDLL(path)
        names = (a + "openblas_get_num_threads" + z for a in ("", "scipy_") for z in ("", "64_"))
        found["blas"] += [getattr(library, name)() for name in names if hasattr(library, name)][:1]
    try:
        found["numba"] = numba.threading_layer()
    except ValueError:
        found["numba"] = None  # it has begun none
    Path(snakemake.log[0]).with_suffix(".threads").write_text(json.dumps(found))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A clone with two predictors of the toy graph; tests put back what they change."""
    folder = clone(tmp_path_factory.mktemp("trained") / "clone")
    append(folder / "scripts/train_predictor.py", TELL)
    append(
        folder / "tests/toy/predictors.yaml",
        "wide: { model: complex, training: { rank: 8, epochs: 1, threads: 3 } }\n",
    )
    jobs = done(folder, METRICS, "results/predictors/toy/wide.npz", cores=3)
    expected = {"download_graph": 1, "build_graph": 1, "train_predictor": 2}
    assert jobs == {**expected, "evaluate_predictor": 1}
    return folder


def test_a_trained_predictor_is_evaluated_and_leaves_no_checkpoint(trained):
    names = {name for name in files_below(trained / "results") if "graphs/" not in name}
    made = {f"predictors/toy/tiny.{ending}" for ending in ("npz", "json", "metrics.json")}
    made |= {f"predictors/toy/wide.{ending}" for ending in ("npz", "json")}
    assert names - {"README.md"} == made
    metrics = json.loads((trained / METRICS).read_text(encoding="utf-8"))
    assert metrics["test"]["n_triples"] == 100  # 50 triples in both directions
    assert 0 < metrics["test"]["ties"]["pessimistic"]["mrr"] <= 1
    log = trained / "results/logs/train_predictor/toy/tiny.log"
    assert "epoch 10, loss" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "threads"), [("tiny", 1), ("wide", 3)])
def test_libraries_in_a_job_have_the_threads_of_its_rule(trained, name, threads):
    told = trained / f"results/logs/train_predictor/toy/{name}.threads"
    found = json.loads(told.read_text(encoding="utf-8"))
    assert found["arrow"] == threads
    # BLAS, which more than one package brings along, has none for processors that are not there.
    assert set(found["blas"]) == {min(threads, len(os.sched_getaffinity(0)))}
    assert found["numba"] is None


def test_no_kernel_has_threads_of_its_own():
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bprange\b|\bparallel=True|\bset_num_threads\b", text), path.name


def test_a_second_training_gives_the_same_bytes(trained):
    made = (trained / "results/predictors").rglob("tiny.*")
    before = {path: path.read_bytes() for path in made}
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
def test_an_odd_entry_is_refused(toy, tmp_path, old, new, message):
    for path in toy.glob("*s.yaml"):
        shutil.copy(path, tmp_path)
    edit(tmp_path / "predictors.yaml", old, new)
    found = refusal(lambda: run_with(catalogues=[str(tmp_path)]))
    assert re.search(rf"predictors\.yaml: tiny(: |\.){re.escape(message)}", found)


def test_an_odd_entry_stops_the_run(trained):
    old, new, message = ODD[2]
    catalogue = trained / "tests/toy/predictors.yaml"
    text = catalogue.read_text(encoding="utf-8")
    edit(catalogue, old, new)
    found = refused(trained, METRICS)
    catalogue.write_text(text, encoding="utf-8")
    assert f"predictors.yaml: tiny.{message}" in found


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
