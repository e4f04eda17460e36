"""Stages, rules and inputs of files, where two rules make files of one kind."""

import pytest

from clqa.manifests import manifest_files
from clqa.stages import Facts, stage_of, traced

GRAPH = ("graph.npz", "entities.tsv", "relations.tsv", "receipt.json")
FILES = [
    *(f"graphs/g/{name}" for name in GRAPH),
    *("published/q/receipt.json", "published/q/a.parquet"),
    *("queries/q/a.parquet", "queries/q/a.json", "queries/v/a.parquet", "queries/v/a.json"),
    *("answers/q/a.parquet", "answers/v/a.parquet", "audits/q.json"),
    *("predictors/g/one.npz", "predictors/g/own.npz"),
    *(f"predictions/q/{model}/a.npy" for model in ("best", "other", "outside")),
    "predictions/q/cut/a.parquet",
    *(f"{kind}/{q}/{model}/a.parquet" for kind in ("ranks", "tops") for q in "qv"
      for model in ("best", "other", "outside", "cut.best")),
    *(f"scores/q/{model}.parquet" for model in ("best", "other", "outside", "cut.best")),
    *("sets/q/other/sets.parquet", "comparisons/r/q.parquet", "runs/r/tables/overview.tsv"),
    "explanations/r/q.json",
]  # fmt: skip
MODELS = {
    "best": {"method": "oracle", "settings": {}},
    "other": {"method": "qto", "settings": {"predictor": "one"}},
    "outside": {"method": "imported", "settings": {}},
    "cut.best": {"method": "imported", "settings": {"unlisted": "best"}, "lists": "cut"},
}
QUERIES = {"q": {"graph": "g", "valid": "v", "published": {}}, "v": {"graph": "g"}}
FACTS = Facts(QUERIES, MODELS, ["q"], ["other", "outside", "cut.best"], ["own"])


@pytest.fixture(scope="module")
def files():
    return traced({name: name.upper() for name in FILES}, FACTS)


@pytest.mark.parametrize(
    ("path", "rule", "inputs"),
    [
        (
            "queries/q/a.parquet",
            "import_queries",
            [f"graphs/g/{name}" for name in GRAPH[:3]] + ["published/q/receipt.json"],
        ),
        ("queries/v/a.parquet", "sample_queries", ["graphs/g/graph.npz"]),
        (
            "audits/q.json",
            "audit_queries",
            [f"graphs/g/{name}" for name in GRAPH[:3]]
            + ["queries/q/a.parquet", "answers/q/a.parquet", "published/q/a.parquet"],
        ),
        ("predictors/g/one.npz", "train_predictor", ["graphs/g/graph.npz"]),
        (
            "predictions/q/best/a.npy",
            "predict_oracle",
            ["graphs/g/graph.npz", "queries/q/a.parquet", "answers/q/a.parquet"],
        ),
        (
            "predictions/q/other/a.npy",
            "predict_answers",
            ["graphs/g/graph.npz", "queries/q/a.parquet", "predictors/g/one.npz"],
        ),
        (
            "predictions/q/outside/a.npy",
            "import_predictions",
            ["queries/q/a.parquet", "graphs/g/entities.tsv", "graphs/g/relations.tsv"],
        ),
        (
            "predictions/q/cut/a.parquet",
            "import_lists",
            ["queries/q/a.parquet", "graphs/g/entities.tsv", "graphs/g/relations.tsv"],
        ),
        (
            "ranks/q/cut.best/a.parquet",
            "rank_answers",
            [
                *("answers/q/a.parquet", "graphs/g/graph.npz", "queries/q/a.parquet"),
                "predictions/q/cut/a.parquet",
            ],
        ),
        (
            "comparisons/r/q.parquet",
            "compare_models",
            [f"scores/q/{model}.parquet" for model in ("other", "outside", "cut.best")],
        ),
        (
            "explanations/r/q.json",
            "explain_examples",
            [
                *("answers/q/a.parquet", "graphs/g/graph.npz", "queries/q/a.parquet"),
                "predictors/g/one.npz",
            ],
        ),
        (
            "sets/q/other/sets.parquet",
            "evaluate_sets",
            [
                *("tops/q/other/a.parquet", "tops/v/other/a.parquet", "answers/q/a.parquet"),
                *("answers/v/a.parquet", "queries/q/a.parquet", "graphs/g/graph.npz"),
                "graphs/g/relations.tsv",
            ],
        ),
    ],
)
def test_files_have_the_rule_and_the_inputs_that_they_are_made_by(files, path, rule, inputs):
    found = files[path]
    assert (found["sha256"], found["rule"]) == (path.upper(), rule)
    assert found["inputs"] == {name: name.upper() for name in inputs}


def test_the_report_is_made_of_the_run_s_own_query_sets(files):
    inputs = files["runs/r/tables/overview.tsv"]["inputs"]
    assert "answers/q/a.parquet" in inputs
    assert "answers/v/a.parquet" not in inputs


def test_what_is_no_result_has_no_stage():
    assert stage_of("logs/build_graph/g.log") is None
    assert stage_of("runs/r/metrics.tsv") == "metrics"
    assert manifest_files([], ".", {"models": [], "query_sets": []}, {}, {}) == {}
