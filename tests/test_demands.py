"""What jobs ask of a cluster grows with what they work on, and each stage asks for something."""

import copy
import re
from pathlib import Path

import pytest

from clqa.configs import read_yaml
from clqa.demands import (
    DEMANDS,
    Load,
    load_of,
    memory,
    minutes,
    training_memory,
    training_minutes,
)
from clqa.run_configs import read_run
from clqa.runs import Run

ROOT = Path(__file__).resolve().parents[1]
METHODS = {path.stem: path for path in (ROOT / "scripts" / "models").glob("[!_]*.py")}
TEXT = "".join(path.read_text() for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")))
RULES = re.split(r"^rule (\w+):$", TEXT, flags=re.MULTILINE)[1:]
TRAINING = {"model": "complex", "rank": 256, "epochs": 60, "threads": 1}


def run_with(**changes) -> Run:
    settings = {**copy.deepcopy(read_yaml(ROOT / "config" / "config.yaml")), **changes}
    return read_run(settings, [], ROOT / "config", METHODS)


def test_a_shard_works_on_its_graph_and_the_predictions_of_its_queries():
    run = run_with(shapes=["1p", "2i"], shards="per-shape")
    wildcards = {"queries": "umls-test", "shard": "2i", "model": "random"}
    # 300 queries of 135 entities, four bytes each; 5216, 652 and 661 triples.
    assert load_of(run, wildcards) == Load(6529, 135, 300 * 135 * 4)
    assert load_of(run, {"queries": "umls-test"}).scores == 2 * 300 * 135 * 4
    assert load_of(run, {"graph": "umls"}) == Load(6529, 135)


def test_the_report_works_on_all_queries_and_the_largest_graph():
    run = run_with(shapes=["1p"], query_sets=["umls-test", "kinships-test"])
    load = load_of(run, {"run": "default"})
    assert load == Load(8544 + 1068 + 1074, 135, 300 * 4 * (135 + 104))


def test_a_graph_of_unknown_size_is_judged_by_its_files_or_taken_for_a_large_one(tmp_path):
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("entity one\tlikes\tentity two\n" * 100)
    files = "files: { train: train.txt, valid: valid.txt, test: test.txt }"
    (tmp_path / "graphs.yaml").write_text(
        f"mine: {{ source: {{ kind: path, folder: . }}, {files} }}\n"
        "far: { source: { kind: urls, archive: { urls: ['https://example.org/a.zip'],"
        f" checksum: unknown }} }}, {files} }}\n"
    )
    run = run_with(catalogues=[str(tmp_path)])
    assert 300 <= load_of(run, {"graph": "mine"}).triples <= 1000
    assert load_of(run, {"graph": "far"}) == Load(1_000_000, 100_000)


@pytest.mark.parametrize("stage", sorted(DEMANDS))
def test_more_work_never_asks_for_less(stage):
    loads = [Load(10**4, 10**3), Load(10**6, 10**4, 10**8), Load(10**8, 10**7, 10**9)]
    for asked in (memory, minutes):
        values = [asked(stage, load) for load in loads]
        assert values == sorted(values)
        assert values[0] > 0


def test_sampling_from_the_largest_graph_asks_for_what_it_is_meant_to_fit_into():
    """86 million entities and 338 million triples in 24 GiB."""
    assert memory("sample_queries", Load(338_000_000, 86_000_000, 0)) <= 24 * 2**30 // 10**6


def test_a_training_asks_by_its_rank_its_epochs_and_its_threads():
    load = Load(310_000, 14_505)
    longer = {**TRAINING, "epochs": 600}
    assert training_minutes(load, longer) > 5 * training_minutes(load, TRAINING)
    assert training_minutes(load, {**longer, "threads": 4}) < training_minutes(load, longer) / 3
    # Vectors of 512 columns, at least the gradients' two copies beside them.
    wider = training_memory(load, {**TRAINING, "rank": 2560}) - training_memory(load, TRAINING)
    assert wider * 10**6 > 3 * 14_505 * (5120 - 512) * 4


@pytest.mark.parametrize(("name", "text"), list(zip(RULES[::2], RULES[1::2], strict=True)))
def test_every_rule_asks_for_memory_and_time_and_is_local_or_submitted(name, text):
    asked = re.findall(r'^        (?:mem_mb|runtime)=(\w+)(?:\("(\w+)"\))?,$', text, re.MULTILINE)
    functions = [function for function, _ in asked]
    of_its_own = {"train_predictor": "training_", "predict_answers": "answering_"}.get(name, "")
    assert functions == [f"{of_its_own}memory", f"{of_its_own}minutes"]
    assert {stage for _, stage in asked if not of_its_own} <= DEMANDS.keys()
    assert ("localrule: True" in text) == name.startswith("download_")
