"""The workflow on a toy graph: what it makes, what a change makes anew, and what it refuses."""

import base64
import filecmp
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from clqa.files import sha256_of
from clqa.stages import STAGES, stage_of

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("Snakefile", "workflow", "scripts", "config", "profiles", "envs", "tests/toy")
TOY = ROOT / "tests" / "toy"
MODELS = ("oracle", "traversal", "popularity", "random", "constant")
# On the two shards of the toy run, and on those of the query set that its rules are tuned on.
PER_MODEL = {"rank_answers": 2, "score_answers": 1, "evaluate_sets": 1, "estimate_intervals": 1}
OF_RUN = {"compare_models": 1, "assemble_report": 1}
ALL_MODELS = {
    **{"rank_answers": 10, "score_answers": 5, "evaluate_sets": 5, "estimate_intervals": 5},
    **OF_RUN,
}


def clone(target: Path, copy=shutil.copyfile) -> Path:
    """A copy of the source tree; `copyfile` leaves the times of the files behind, as git does."""
    passing = shutil.ignore_patterns("__pycache__")
    for name in SOURCES:
        copied = target / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copied, ignore=passing, copy_function=copy)
        else:
            copy(ROOT / name, copied)
    return target


def snakemake(folder: Path, *arguments: str, cores: int = 2, **environment: str):
    """Run snakemake on the toy run in a clone."""
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    inherited = {key: value for key, value in os.environ.items() if key not in left_out}
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments]
    if "--configfile" not in arguments:
        command += ["--configfile", "tests/toy/run.yaml"]
    return subprocess.run(
        command,
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def elsewhere(folder: Path, *arguments: str) -> tuple[str, ...]:
    """Arguments to run the workflow of this clone, whose code is compiled, in an empty folder."""
    own = (*arguments, "--directory", str(folder), "--configfile", str(TOY / "run.yaml"))
    return (*own, "--config", f"catalogues=[{TOY}]")


def done(folder: Path, *arguments: str, **options) -> dict[str, int]:
    """Run, or plan with -n, and give the number of jobs of each rule."""
    finished = snakemake(folder, *arguments, **options)
    output = finished.stdout + finished.stderr
    assert finished.returncode == 0, output[-2000:]
    if "Nothing to be done" in output:
        return {}
    table = re.search(r"^-+ +-+\n(.*?)^total", output, re.DOTALL | re.MULTILINE)
    assert table, output[-2000:]
    jobs = dict(re.findall(r"^(\w+) +(\d+)", table[1], re.MULTILINE))
    return {rule: int(count) for rule, count in jobs.items() if rule not in ("all", "default")}


def planned(folder: Path, *arguments: str) -> dict[str, int]:
    return done(folder, "-n", *arguments)


def refused(folder: Path, *arguments: str) -> str:
    """Output of a run that must stop before any job."""
    finished = snakemake(folder, "-n", *arguments)
    assert finished.returncode != 0
    assert "Job stats" not in finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A clone in which the toy run is done; not to be changed by a test."""
    folder = clone(tmp_path_factory.mktemp("finished") / "a clone", copy=shutil.copy2)
    # One job to begin with compiles what its like then load.
    first = done(folder, "results/queries/toy-test/part-1.parquet", PYTHONHASHSEED="0")
    rest = done(folder, PYTHONHASHSEED="0")
    assert first == {"download_graph": 1, "build_graph": 1, "sample_queries": 1}
    assert rest == {
        "sample_queries": 3,
        "split_answers": 4,
        "predict_oracle": 2,
        "predict_answers": 8,
        "audit_queries": 1,
        "explain_examples": 1,
        **ALL_MODELS,
    }
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished clone, as it is, that a test may change."""
    return Path(shutil.copytree(finished, tmp_path / "clone", symlinks=True))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old} is not in {path}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def files_below(folder: Path) -> dict[str, Path]:
    """Files of a results folder other than logs and Snakemake's own marks."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return {name: path for name, path in names.items() if not name.startswith("logs/")}


# What a run makes


def test_the_manifest_tells_the_rules_and_inputs_that_snakemake_knows(finished):
    files = json.loads((finished / "results/runs/toy/manifest.json").read_text())["files"]
    known = {}
    for path in (finished / ".snakemake" / "metadata").rglob("*"):
        if path.is_file():
            output = base64.b64decode(path.name).decode().removeprefix("results/")
            known[output] = json.loads(path.read_text())
    assert {stage_of(path) for path in files} == {*STAGES}
    for path, about in files.items():
        made = known["runs/toy/tables" if path.startswith("runs/toy/tables/") else path]
        inputs = {name.removeprefix("results/") for name in made["input"]}
        inputs &= files.keys()
        if made["rule"] == "assemble_report":  # which also reads what others are made from
            inputs -= {one for one in inputs if one not in about["inputs"]}
        assert (about["rule"], about["inputs"].keys()) == (made["rule"], inputs), path
        assert about["inputs"] == {one: files[one]["sha256"] for one in inputs}
        on_disk = finished / "results" / path
        assert not on_disk.exists() or sha256_of(on_disk) == about["sha256"]


def test_a_run_makes_its_report(finished):
    names = files_below(finished / "results")
    for name in ("metrics.tsv", "report.html", "versions.json", "manifest.json"):
        assert f"runs/toy/{name}" in names
    assert any(name.startswith("runs/toy/tables/") for name in names)
    assert {f"scores/toy-test/{model}.parquet" for model in MODELS} <= names.keys()
    assert {f"sets/toy-test/{model}/sets.parquet" for model in MODELS} <= names.keys()
    assert {"queries/toy-valid/part-1.parquet", "answers/toy-valid/part-2.parquet"} <= names.keys()
    assert not any(name.startswith("predictions/toy-valid") for name in names)


def test_rules_that_are_tuned_run_the_models_on_the_partner(finished):
    counts = planned(finished, "--config", "sets=[tuned@macro]")
    assert (counts["predict_answers"], counts["rank_answers"]) == (8, 10)
    assert counts["evaluate_sets"] == len(MODELS)


def test_nothing_half_written_stays(finished):
    hidden = [name for name in files_below(finished / "results") if "/." in name]
    assert [name for name in hidden if not name.endswith(".snakemake_timestamp")] == []


def test_every_job_has_a_log(finished):
    logs = finished / "results" / "logs"
    assert {path.name for path in logs.iterdir()} == {
        "download_graph",
        "build_graph",
        "sample_queries",
        "split_answers",
        "predict_answers",
        "predict_oracle",
        "rank_answers",
        "score_answers",
        "evaluate_sets",
        "estimate_intervals",
        "compare_models",
        "audit_queries",
        "explain_examples",
        "assemble_report",
    }


def test_other_cores_hash_seeds_and_orders_of_shards_give_the_same_bytes(finished, tmp_path):
    other, scratch = tmp_path / "another name", {"CLQA_SCRATCH": str(tmp_path / "scratch")}
    last = [f"results/ranks/toy-test/{model}/part-2.parquet" for model in reversed(MODELS)]
    begun = done(finished, *last, *elsewhere(other), cores=1, PYTHONHASHSEED="1", **scratch)
    assert (begun["sample_queries"], begun["split_answers"], begun["rank_answers"]) == (1, 1, 5)
    assert not list((other / "results").rglob("part-1*"))
    done(finished, *elsewhere(other), cores=1, PYTHONHASHSEED="1", **scratch)
    ours, theirs = files_below(finished / "results"), files_below(other / "results")
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not filecmp.cmp(ours[name], theirs[name], shallow=False)]
    assert different == []
    assert files_below(tmp_path / "scratch") == {}


def test_predictions_that_a_node_has_lost_are_made_again(finished, tmp_path):
    other, scratch = tmp_path / "other", {"CLQA_SCRATCH": str(tmp_path / "$WHERE"), "WHERE": "node"}
    arguments = (*elsewhere(other), "keep_predictions=false")
    dump = "results/predictions/toy-test/constant/part-1.npy"
    ranks = "results/ranks/toy-test/constant/part-1.parquet"
    done(finished, dump, *arguments, **scratch)
    (made,) = files_below(tmp_path / "node").values()
    assert (other / dump).read_text().endswith(str(made))
    made.unlink()
    failed = snakemake(finished, ranks, *arguments, **scratch)
    assert failed.returncode == 1
    assert f"{dump}: its content is on a disk of another node" in failed.stdout + failed.stderr
    jobs = {"predict_answers": 1, "rank_answers": 1}
    assert done(finished, ranks, *arguments, **scratch) == jobs
    assert files_below(tmp_path / "node") == {}
    assert (other / ranks).read_bytes() == (finished / ranks).read_bytes()


# What a change makes anew


def test_a_second_run_has_nothing_to_do(finished):
    assert done(finished) == {}


def test_new_times_and_comments_rerun_nothing(folder):
    for path in [*folder.rglob("*.py"), *folder.rglob("*.smk"), *folder.glob("tests/toy/*")]:
        path.touch()
    append(folder / "scripts/clqa/files.py", "\n\n# A comment.\n")
    edit(folder / "scripts/rank_answers.py", '"""', '"""In other words. ')
    assert planned(folder) == {}


@pytest.mark.parametrize("copy", [shutil.copy2, shutil.copyfile])
def test_a_fresh_clone_with_restored_results_reruns_nothing(finished, tmp_path, copy):
    fresh = clone(tmp_path / "fresh")
    for name in ("results", ".snakemake"):
        shutil.copytree(finished / name, fresh / name, copy_function=copy)
    assert planned(fresh) == {}


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("scripts/clqa/figures.py", {"assemble_report": 1}),
        (
            "scripts/clqa/averages.py",
            {name: count for name, count in ALL_MODELS.items() if name != "rank_answers"},
        ),
        ("scripts/clqa/edge_indexes.py", {"explain_examples": 1, "assemble_report": 1}),
        ("scripts/clqa/cardinalities.py", {"evaluate_sets": 5, "assemble_report": 1}),
        ("scripts/clqa/ranks.py", ALL_MODELS),
        ("scripts/models/popularity.py", {"predict_answers": 2, **PER_MODEL, **OF_RUN}),
        ("scripts/models/oracle.py", {"predict_oracle": 2, **PER_MODEL, "assemble_report": 1}),
    ],
)
def test_an_edited_module_reruns_the_stages_that_import_it(folder, module, expected):
    append(folder / module, "\n\nEDITED = True\n")
    assert planned(folder) == expected


def test_an_edited_metric_is_computed_anew_from_kept_ranks(folder):
    append(folder / "scripts/clqa/ties.py", "\n\nEDITED = True\n")
    before = {path: path.stat().st_mtime_ns for path in (folder / "results").rglob("*.npy")}
    reruns = planned(folder)
    assert reruns["score_answers"] == len(MODELS)
    assert (
        not {"sample_queries", "predict_answers", "predict_oracle", "rank_answers"} & reruns.keys()
    )
    one = ("--config", "models=[random]")
    assert done(folder, *one)["score_answers"] == 1
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert planned(folder, *one) == {}


def test_a_changed_formula_reruns_its_shard_only(folder):
    edit(folder / "config/shapes.yaml", "2in: r1(s1,f)&!r2(s2,f)", "2in: r2(s2,f)&!r1(s1,f)")
    assert planned(folder) == {
        "sample_queries": 2,
        "split_answers": 2,
        "audit_queries": 1,
        "explain_examples": 1,
        "predict_oracle": 1,
        "predict_answers": 4,
        **ALL_MODELS,
        "rank_answers": 5,
    }


def test_a_changed_file_of_a_local_graph_rebuilds_it(folder):
    append(folder / "tests/toy/train.txt", "n00\tlikes\tn01\n")
    jobs = planned(folder)
    assert {"download_graph", "build_graph", "sample_queries", "assemble_report"} <= jobs.keys()


@pytest.mark.parametrize(
    ("setting", "reruns", "keeps"),
    [
        ("seed=1", {"sample_queries": 4, "predict_answers": 8}, {"build_graph"}),
        ("ties=[pessimistic]", {"score_answers": 5, "assemble_report": 1}, {"rank_answers"}),
        ("metrics=[mrr]", {"score_answers": 5, "assemble_report": 1}, {"rank_answers"}),
        ("models=[constant]", {"assemble_report": 1}, {"score_answers"}),
        ("beta=1", {"evaluate_sets": 5, "assemble_report": 1}, {"rank_answers", "score_answers"}),
        ("sets=[top@3]", {"evaluate_sets": 5, "assemble_report": 1}, {"rank_answers"}),
    ],
)
def test_a_changed_setting_reruns_what_depends_on_it(finished, setting, reruns, keeps):
    jobs = planned(finished, "--config", setting)
    assert reruns.items() <= jobs.items()
    assert not keeps & jobs.keys()


def test_other_intervals_are_estimated_of_averages_and_of_answer_sets(folder):
    append(folder / "tests/toy/run.yaml", "intervals: { draws: 9 }\n")
    wanted = {"estimate_intervals": 5, "evaluate_sets": 5, "assemble_report": 1}
    assert planned(folder) == wanted


PUBLISHED = """
toy-published:
  graph: toy
  split: test
  shapes: [1p, 2p, 2i, 2in]
  published:
    source: { kind: path, folder: ../../out }
    layout: """
FILES = {
    "beta-e": """beta-e
    files:
      entities: id2ent.pkl
      relations: id2rel.pkl
      queries: test-queries.pkl
      easy: test-easy-answers.pkl
      hard: test-hard-answers.pkl
""",
    "efok-json": """efok-json
    files:
      index: kgindex.json
      type0000: test_type0000_EFOX_qaa.json
      type0001: test_type0001_EFOX_qaa.json
      type0002: test_type0002_EFOX_qaa.json
      type0003: test_type0003_EFOX_qaa.json
""",
}


@pytest.mark.parametrize(
    ("layout", "models"),
    [("beta-e", ("oracle", "traversal", "constant")), ("efok-json", ("popularity", "random"))],
)
def test_an_exported_query_set_is_imported_audited_and_scored_alike(folder, layout, models):
    command = ["scripts/export_queries.py", "toy-test", "--graph", "toy", "--layout", layout]
    subprocess.run([sys.executable, *command, "--to", "out"], cwd=folder, check=True)
    append(folder / "tests" / "toy" / "query_sets.yaml", PUBLISHED + FILES[layout])
    asked = ("query_sets=[toy-published]", f"models=[{', '.join(models)}]")
    jobs = done(folder, "--config", "name=again", *asked)
    assert jobs["download_queries"] == jobs["audit_queries"] == 1
    assert jobs["import_queries"] == jobs["split_answers"] == 2
    assert not {"sample_queries", "build_graph"} & jobs.keys()
    audit = json.loads((folder / "results" / "audits" / "toy-published.json").read_text())
    assert audit["clean"]
    assert audit["queries"] > 20
    first, again = (
        (folder / "results/runs" / run / "metrics.tsv").read_text().splitlines()
        for run in ("toy", "again")
    )
    rows = [line.split("\t")[6:17] for line in first if "\thits@3\t" in line]
    assert [row for row in rows if row[0] in models] == [
        line.split("\t")[6:17] for line in again if "\thits@3\t" in line
    ]
    assert {line.split("\t")[6] for line in again[1:]} == {*models}


def test_scores_from_files_are_ranked_and_what_does_not_fit_is_told_in_the_log(folder):
    toy = folder / "tests" / "toy"
    (toy / "models.yaml").write_text(
        "mine: { imported: { scores: '{queries}.npz', array: scores, queries: '{queries}.txt',"
        " entities: names.tsv } }\n"
        "cut: { imported: { scores: '{queries}.parquet', unlisted: bounds } }\n"
    )
    shards = [folder / f"results/queries/toy-test/part-{n}.parquet" for n in (1, 2)]
    ids = [name for path in shards for name in pq.read_table(path)["query_id"].to_pylist()]
    (toy / "toy-test.txt").write_text("\n".join(ids))
    shutil.copy(folder / "results/graphs/toy/entities.tsv", toy / "names.tsv")
    scores = np.tile(np.arange(36.0), (len(ids), 1))
    lists = {"query_id": ids, "entity": [35] * len(ids), "score": [35.0] * len(ids)}
    pq.write_table(pa.table(lists), toy / "toy-test.parquet")
    np.savez(toy / "toy-test.npz", scores=scores[:, :-1])
    names = "mine", "cut.best", "cut.worst"
    targets = [f"results/ranks/toy-test/{name}/part-1.parquet" for name in names]
    options = ["--config", "models=[mine, cut]"]
    assert snakemake(folder, *targets[:1], *options).returncode != 0
    log = folder / "results/logs/import_predictions/toy-test/mine/part-1.log"
    assert "toy-test.npz: scores of shape (80, 35); expected (80, 36)" in log.read_text()
    np.savez(toy / "toy-test.npz", scores=scores)
    jobs = done(folder, *targets, *options)
    assert jobs == {"import_predictions": 1, "import_lists": 1, "rank_answers": 3}
    tables = [pq.read_table(folder / target) for target in targets]
    exact, best, worst = (np.array(table["greater"]) + np.array(table["tied"]) for table in tables)
    assert (best <= exact).all()
    assert (exact <= worst).all()
    # All that a list of one entity tells is where this one is.
    assert set(best) <= {0, 1}


def ids_of(results: Path) -> dict[str, list[str]]:
    """The queries of each shape of the toy run."""
    found: dict[str, list[str]] = {}
    for n in (1, 2):
        table = pq.read_table(results / f"queries/toy-test/part-{n}.parquet").to_pydict()
        for shape, name in zip(table["shape"], table["query_id"], strict=True):
            found.setdefault(shape, []).append(name)
    return found


def test_models_that_fail_do_not_take_the_table_down_and_are_tried_again(folder):
    toy, results = folder / "tests/toy", folder / "results"
    (toy / "models.yaml").write_text(
        "mine: { imported: { scores: '{queries}.npz', array: scores, queries: '{queries}.txt' } }\n"
        "partly: { imported: { scores: '{shape}.npy', queries: '{shape}.txt' } }\n"
    )
    for shape, ids in ids_of(results).items():
        np.save(toy / f"{shape}.npy", np.tile(np.arange(36.0), (len(ids), 1)))
        (toy / f"{shape}.txt").write_text("\n".join(ids))
    holed = np.load(toy / "2p.npy")
    holed[3, 4] = np.nan
    np.save(toy / "2p.npy", holed)
    dump = results / "predictions/toy-test/popularity/part-2.npy"
    content = dump.read_bytes()
    dump.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for path in ("ranks/toy-test/popularity/part-2", "scores/toy-test/popularity"):
        (results / f"{path}.parquet").unlink()
    shutil.copy(results / "runs/toy/metrics.tsv", folder / "metrics.tsv")
    command = "--keep-going", "--config", "models=[popularity, random, mine, partly]"
    finished = snakemake(folder, *command)
    assert finished.returncode == 1
    told = finished.stdout + finished.stderr
    assert "missing: mine on toy-test (1p, 2p): import_predictions: model mine: tests/toy" in told
    assert "missing: popularity on toy-test (2i, 2in): rank_answers: " in told
    holes = [line for line in told.splitlines() if line.startswith("missing: partly on ")]
    assert len(holes) == 1
    assert re.search(r"\(2p\): import_predictions: .*2p\.npy: .* hold a NaN$", holes[0])
    assert "error: partly failed on one shape: 2p: " in told
    ranks = "results/ranks/toy-test/partly/part-{}.parquet"
    sidecar = "results/predictions/toy-test/partly/part-1.json"
    assert f"shapes that failed: {ranks.format(1)}, {sidecar}\n" in told
    assert not (folder / ranks.format(1)).exists()
    assert not (folder / sidecar).exists()
    assert (folder / ranks.format(2)).exists()
    assert "partial report: results/runs/toy/partial/report.html" in told
    lines = (results / "runs/toy/partial/metrics.tsv").read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    kept = {"random": {row["shape"] or row["group"] for row in rows}}
    kept["popularity"] = {"1p", "2p", "chain"}
    kept["partly"] = {"1p", "2i", "2in", "intersection", "negation"}
    for about in (row for row in rows if not row["stratum"]):
        subject = about["shape"] or about["group"]
        assert bool(about["value"]) == (subject in kept.get(about["model"], ())), about
    # Those that there are have the numbers that they have in the whole table.
    values = {line.split("\t")[16] for line in (folder / "metrics.tsv").read_text().splitlines()}
    assert {one["value"] for one in rows if one["model"] != "partly"} - {""} <= values
    page = (results / "runs/toy/partial/report.html").read_text()
    assert "part-2.npy: changed since it was written" in page
    assert "no such file; put it there, or leave the model out" in page
    dump.unlink()
    np.save(toy / "2p.npy", np.nan_to_num(holed, nan=4.0))
    ids = [name for part in ids_of(results).values() for name in part]
    (toy / "toy-test.txt").write_text("\n".join(ids))
    np.savez(toy / "toy-test.npz", scores=np.tile(np.arange(36.0), (len(ids), 1)))
    jobs = done(folder, *command)
    assert jobs == {
        **{"import_predictions": 3, "predict_answers": 1, "rank_answers": 4, "score_answers": 3},
        **{"evaluate_sets": 3, "estimate_intervals": 3, **OF_RUN},
    }
    assert dump.read_bytes() == content
    assert (results / "runs/toy/report.html").exists()
    assert not (results / "runs/toy/partial").exists()


def test_a_run_ends_with_the_place_of_its_report(folder):
    told = "report: results/runs/toy/report.html"
    (folder / "results/answers/toy-test/part-1.parquet").unlink()
    part = snakemake(folder, "results/answers/toy-test/part-1.parquet")
    nothing = snakemake(folder, "results/answers/toy-test/part-1.parquet")
    shutil.rmtree(folder / "results/runs")
    plan, whole = snakemake(folder, "-n"), snakemake(folder)
    lines = [(run.stdout + run.stderr).splitlines() for run in (part, nothing, plan, whole)]
    assert [run.returncode for run in (part, nothing, plan, whole)] == [0] * 4
    assert [found.count(told) for found in lines] == [0, 0, 0, 1]
    start = lines[-1].index("MRR × 100, pessimistic ties, filter observed-and-full")
    assert lines[-1][start + 2].split() == ["EPFO", "negation"]
    assert [line.split()[0] for line in lines[-1][start + 3 : start + 8]] == sorted(
        MODELS, key=lambda name: (name in ("oracle", "random", "constant"), MODELS.index(name))
    )
    assert "oracle      100.0     100.0" in lines[-1][start + 3 : start + 8]


def test_snakemakes_own_report_has_every_result_with_caption_category_and_label(finished, tmp_path):
    path = tmp_path / "own.zip"
    made = snakemake(finished, "--report", str(path))
    assert made.returncode == 0, (made.stdout + made.stderr)[-2000:]
    with zipfile.ZipFile(path) as archive:
        text = archive.read("own/report.html").decode()
        inside = {name.rpartition("/")[2] for name in archive.namelist()}
    found = {
        name: json.loads(
            re.search(rf"<script id=.{name}.>\s*var {name} = (.*)", text)[1].rstrip(";")
        )
        for name in ("categories", "results")
    }
    run = finished / "results/runs/toy"
    tables = {f"results/runs/toy/tables/{path.name}" for path in (run / "tables").glob("*.tsv")}
    made = {f"results/runs/toy/{path.name}" for path in run.iterdir() if path.is_file()}
    assert found["results"].keys() == {*tables, *made, "results/audits/toy-test.json"}
    assert found["categories"].keys() == {"Report", "Tables", "Provenance", "Query sets"}
    for name, about in found["results"].items():
        assert Path(name).name in inside
        assert len(about["labels"]) == 1
        caption = re.sub("<[^>]*>", "", about["caption"])
        assert "toy" in caption
        assert "{{" not in caption
    overview = found["results"]["results/runs/toy/tables/overview.tsv"]
    assert overview["labels"] == {"table": "overview"}
    assert "Table overview of the run toy" in re.sub("<[^>]*>", "", overview["caption"])


def test_predictions_can_be_dropped_after_ranking(folder):
    for made in ("predictions/toy-test/constant", "ranks/toy-test/constant", "runs/toy"):
        shutil.rmtree(folder / "results" / made)
    (folder / "results/scores/toy-test/constant.parquet").unlink()
    jobs = done(folder, "--config", "keep_predictions=false")
    assert (jobs["predict_answers"], jobs["rank_answers"]) == (2, 2)
    assert not list((folder / "results/predictions/toy-test/constant").glob("*"))


def test_files_that_are_not_there_any_more_are_told_of(folder):
    (folder / "tests/toy/test.txt").unlink()
    told = snakemake(folder, "-n")
    assert told.returncode == 0
    said = "graph toy: tests/toy/test.txt: no such file; what was made of it before is taken as it"
    assert f"warning: {said} is" in told.stderr
    catalogue = folder / "tests/toy/graphs.yaml"
    entries = catalogue.read_text(encoding="utf-8")
    catalogue.write_text(entries.replace("test.txt", "tset.txt"), encoding="utf-8")
    found = refused(folder)
    assert "graph toy: tests/toy/tset.txt: no such file; put it there, or leave it out" in found
    catalogue.write_text(entries, encoding="utf-8")
    entry = "gone: { imported: { scores: gone.npy, queries: gone.txt } }\n"
    (folder / "tests/toy/models.yaml").write_text(entry, encoding="utf-8")
    found = refused(folder, "--config", "models=[random, gone]")
    assert "model gone: tests/toy/gone.npy: no such file; put it there, or leave it out" in found


# What is refused


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("query_sets=[toy-tset]", "unknown query set 'toy-tset' (did you mean toy-test?); known: "),
        ("name=2023023902_2", "name: expected text, found 20230239022"),
    ],
)
def test_unknown_names_and_keys_stop_the_run_beside_finished_results(finished, setting, expected):
    assert expected in refused(finished, "--config", setting)


def test_a_catalogue_with_an_unknown_graph_stops_the_run(tmp_path):
    folder = clone(tmp_path / "clone")
    edit(folder / "tests/toy/query_sets.yaml", "graph: toy", "graph: tyo")
    assert "toy-test.graph: unknown graph tyo (did you mean toy?)" in refused(folder)


def test_a_job_with_bad_input_says_so_in_its_log_and_leaves_nothing(tmp_path):
    folder = clone(tmp_path / "clone")
    append(folder / "tests/toy/train.txt", "n00\tlikes\n")
    result = snakemake(folder, "results/graphs/toy/graph.npz")
    assert result.returncode != 0
    log = (folder / "results/logs/build_graph/toy.log").read_text(encoding="utf-8")
    assert log.startswith("error: ")
    assert len(log.splitlines()) == 1
    assert "train" in log
    assert sorted(path.name for path in (folder / "results/graphs/toy").iterdir()) == [
        "receipt.json",
        "source",
    ]


NAMES = {
    "graphs": ("FB15k-237-x", "FB15k-237-x-betae", "NELL.v2_x"),
    "query_sets": ("FB15k-237-x", "FB15k-237-x-betae", "NELL.v2_x", "NELLxv2_x"),
    "models": ("m_1-2.3", "m_1-2", "m_1-2x3"),
}


def names_of_many_kinds(folder: Path) -> None:
    """A run over graphs, query sets and models whose names hold dots, dashes and each other."""
    files = {split: f"{split}.txt" for split in ("train", "valid", "test")}
    graph = {"source": {"kind": "path", "folder": "../tests/toy"}, "files": files}
    graphs = [*NAMES["graphs"], NAMES["graphs"][-1]]
    entries = {
        "graphs": {name: {**graph} for name in NAMES["graphs"]},
        "query_sets": {
            name: {"graph": graph, "split": "test"}
            for name, graph in zip(NAMES["query_sets"], graphs, strict=True)
        },
        "models": {name: {"method": "constant"} for name in NAMES["models"]},
    }
    (folder / "named").mkdir()
    for kind, content in entries.items():
        (folder / "named" / f"{kind}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    run = {"name": "r-1.0_a+b", "catalogues": ["named"], "shapes": ["1p"], "shards": 1}
    run |= {kind: list(NAMES[kind]) for kind in ("query_sets", "models")}
    (folder / "named/run.yaml").write_text(yaml.safe_dump(run), encoding="utf-8")


def test_names_with_dots_dashes_and_underscores_have_folders_of_their_own(tmp_path):
    folder = clone(tmp_path / "clone")
    names_of_many_kinds(folder)
    planned = snakemake(folder, "-n", "--configfile", "named/run.yaml")
    output = planned.stdout + planned.stderr
    assert planned.returncode == 0, output[-2000:]
    made = re.findall(r"^    output: (.*)$", output, re.MULTILINE)
    paths = [path for line in made for path in line.split(", ")]
    assert len(paths) == len(set(paths))
    expected = {f"results/graphs/{graph}/graph.npz" for graph in NAMES["graphs"]}
    expected |= {
        f"results/scores/{queries}/{model}.parquet"
        for queries in NAMES["query_sets"]
        for model in NAMES["models"]
    }
    assert {path for path in paths if path.endswith("/graph.npz") or "/scores/" in path} == expected
    assert "results/runs/r-1.0_a+b/report.html" in paths


def test_a_name_that_makes_no_folder_stops_the_run(tmp_path):
    folder = clone(tmp_path / "clone")
    (folder / "named").mkdir()
    run = {"name": "a\n", "catalogues": ["tests/toy"]}
    (folder / "named/run.yaml").write_text(yaml.safe_dump(run), encoding="utf-8")
    stopped = snakemake(folder, "-n", "--configfile", "named/run.yaml")
    assert stopped.returncode != 0
    assert "named/run.yaml: name: 'a\\n' is not allowed" in stopped.stdout + stopped.stderr


# How the rules are written


def rule_texts() -> list[tuple[str, str]]:
    text = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    rules = re.split(r"^rule (\w+):$", text, flags=re.MULTILINE)[1:]
    return list(zip(rules[::2], rules[1::2], strict=True))


@pytest.mark.parametrize(("name", "text"), rule_texts(), ids=lambda value: value.split("\n")[0])
def test_rules_tell_the_engine_every_cause(name, text):
    """A cached rule that does not have a wildcard among its params hands out another's files."""
    assert re.search(r'^    """.+"""$', text, re.MULTILINE), "no docstring"
    params = re.search(r"    params:\n(.*?)^    \w", text, re.DOTALL | re.MULTILINE)[1]
    assert re.search(r"^        code=", params, re.MULTILINE)
    outputs = re.search(r"    output:\n(.*?)^    \w", text, re.DOTALL | re.MULTILINE)[1]
    if "cache:" in text:
        assert "benchmark:" not in text
        for wildcard in set(re.findall(r"\{(\w+)\}", outputs)):
            assert f'"{{{wildcard}}}"' in params, wildcard


def test_the_page_on_results_has_every_folder():
    page = (ROOT / "results/README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)/", page, re.MULTILINE))
    made = {name for _, text in rule_texts() for name in re.findall(r'"results/(\w+)/', text)}
    assert listed == made | {"downloads"}


def test_common_rules_stay_small_and_write_nothing():
    text = (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert not re.search(r"open\(|write|mkdir|pandas", text)


@pytest.mark.parametrize(("name", "executor"), [("slurm", "slurm"), ("generic", "cluster-generic")])
def test_cluster_profiles_wait_for_shared_file_systems(name, executor):
    text = (ROOT / f"profiles/{name}/profile.yaml").read_text(encoding="utf-8")
    profile = yaml.safe_load(text)
    default = yaml.safe_load((ROOT / "profiles/default/profile.yaml").read_text(encoding="utf-8"))
    assert profile["executor"] == executor
    assert profile["latency-wait"] >= 60
    assert profile["retries"] >= 1
    assert default.items() <= profile.items()


# How long planning takes


def plan_many(folder: Path, n_models: int, **settings) -> tuple[dict[str, int], float]:
    """Jobs of a run with many models, and the seconds of a processor that planning them takes."""
    models = {f"m{i:02}": {"method": "random", "settings": {"seed": i}} for i in range(n_models)}
    (folder / "many").mkdir()
    (folder / "many/models.yaml").write_text(yaml.safe_dump(models), encoding="utf-8")
    run = {"name": "many", "catalogues": ["many"], "models": [*models], **settings}
    (folder / "many/run.yaml").write_text(yaml.safe_dump(run), encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = done(folder, "-n", "--quiet", "rules", "--configfile", "many/run.yaml")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_maxrss < 1_000_000  # kB
    return jobs, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_planning_840_leaves_is_fast(tmp_path):
    """20 models on 3 graphs and 14 shapes: 840 jobs to predict and as many to rank."""
    jobs, seconds = plan_many(clone(tmp_path / "clone"), 20, shards="per-shape")
    assert jobs["predict_answers"] == 840
    assert seconds < 20


def test_840_leaves_in_batches_of_20_are_42_jobs_of_one_thread(tmp_path):
    """21 models on 40 shapes, in two shards."""
    folder = clone(tmp_path / "clone")
    shapes = [f"efok{n:04}" for n in range(1, 41)]
    asked = {"shapes": shapes, "query_sets": ["efok-fb15k-237-test"], "shards": 2}
    jobs, _ = plan_many(folder, 21, **asked, catalogues=["config/efok", "many"])
    assert jobs["predict_answers"] == jobs["rank_answers"] == 42
    told = snakemake(folder, "-n", "--configfile", "many/run.yaml", "--cores", "8").stdout
    assert "threads:" not in told


def test_planning_741_shapes_and_ten_models_is_fast(tmp_path):
    """The protocol of EFOk-CQA: 7,410 pairs of shape and model, in shards."""
    folder = clone(tmp_path / "clone")
    efok = yaml.safe_load((folder / "config/efok.yaml").read_text(encoding="utf-8"))
    del efok["name"], efok["models"]
    jobs, seconds = plan_many(folder, 10, **efok | {"catalogues": ["config/efok", "many"]})
    assert 741 < jobs["predict_answers"] == jobs["rank_answers"] < 1000
    assert seconds < 20
