"""Whole runs over the toy graph, made by the functions of the stages in one process."""

import json
from pathlib import Path

from assemble_report import assemble_report
from audit_queries import audit_queries
from build_graph import build_graph
from clqa.competitions import competitions
from clqa.configs import read_yaml, validated
from clqa.graph_entries import complete_entry
from clqa.metrics import score_id
from compare_models import compare_models
from download_graph import download_graph
from estimate_intervals import estimate_intervals
from evaluate_sets import evaluate_sets
from explain_examples import explain_examples
from predict_answers import predict_answers
from rank_answers import rank_answers
from sample_queries import sample_queries
from score_answers import score_answers
from split_answers import split_answers
from synthetic_runs import PAGE_SCRIPTS, REFERENCES, TEMPLATE

TOY = Path(__file__).parent / "toy"
SHAPES = {"1p": "r1(s1,f)", "2p": "r1(s1,e1)&r2(e1,f)", "2i": "r1(s1,f)&r2(s2,f)"}
MODELS = {
    "popular": {"method": "popularity", "settings": {}},
    "chance": {"method": "random", "settings": {"seed": 1}},
    "walker": {"method": "traversal", "settings": {}},
}
RUN = {
    "name": "toy",
    "query_sets": ["toy-test"],
    "shapes": list(SHAPES),
    "models": list(MODELS),
    "metrics": ["mrr", "hits@3"],
    "ties": ["pessimistic", "expected"],
    "filters": ["observed-and-full"],
    "candidates": ["all"],
    "averaging": ["query"],
    "truths": ["hard"],
    "seed": 5,
}
_SCHEMA = read_yaml(TEMPLATE.parents[1] / "schemas" / "query_sets.schema.yaml")
_GRAPH = ("graph.npz", "entities.tsv", "relations.tsv", "summary.json")


def make_graph(results: Path) -> Path:
    """Download and build the toy graph."""
    folder = results / "graphs" / "toy"
    entry = read_yaml(TOY / "graphs.yaml")["toy"]
    entry = complete_entry("toy", entry)
    download_graph(folder / "source", entry, "toy", TOY, results / "downloads")
    build_graph(folder / "source", entry, "toy", *(folder / name for name in _GRAPH))
    return folder


def make_queries(results: Path, seed: int) -> None:
    graph, queries = results / "graphs/toy/graph.npz", results / "queries/toy-test/all.parquet"
    report, asked = queries.with_suffix(".json"), _entry(seed)["sampling"]
    sample_queries(graph, queries, report, SHAPES, asked, "test", seed, "toy-test")


def make_answers(results: Path) -> None:
    folder, queries = results / "graphs/toy", results / "queries/toy-test/all.parquet"
    answers = results / "answers/toy-test/all.parquet"
    split_answers(folder / "graph.npz", queries, answers, "test")
    files = [folder / name for name in _GRAPH[:3]]
    audit = results / "audits/toy-test.json"
    audit_queries([queries], [answers], [], *files, audit, "test", "toy-test")


def make_predictions(results: Path, models: dict) -> None:
    for model, entry in models.items():
        path = results / "predictions/toy-test" / model / "all.npy"
        predict_answers(
            results / "graphs/toy/graph.npz",
            results / "queries/toy-test/all.parquet",
            path,
            path.with_suffix(".json"),
            model,
            entry["method"],
            entry["settings"],
            "test",
        )


def make_ranks(results: Path, models: dict) -> None:
    for model in models:
        path = results / "predictions/toy-test" / model / "all.npy"
        ranks, tops = (results / kind / "toy-test" / model / "all.parquet" for kind in _RANKED)
        answers = results / "answers/toy-test/all.parquet"
        rank_answers(path, path.with_suffix(".json"), answers, ranks, tops, depth=20)


_RANKED = ("ranks", "tops")


def make_scores(results: Path, run: dict) -> None:
    """Scores, intervals and sets of each model."""
    graph = results / "graphs/toy/graph.npz"
    relations = graph.with_name("relations.tsv")
    queries, answers = (results / kind / "toy-test/all.parquet" for kind in ("queries", "answers"))
    rules = competitions(run["filters"], run["candidates"])
    for model in run["models"]:
        ranks, tops = (results / kind / "toy-test" / model / "all.parquet" for kind in _RANKED)
        scores = results / "scores/toy-test" / f"{model}.parquet"
        about = [run["metrics"], run["ties"], rules, ["links"]]
        score_answers([ranks], [answers], [queries], graph, relations, scores, *about)
        intervals = results / "intervals/toy-test" / f"{model}.parquet"
        estimate_intervals(scores, intervals, run["seed"], 20, 0.95)
        sets = results / "sets/toy-test" / model
        out = [sets / f"{kind}.parquet" for kind in ("sets", "bands", "queries")]
        rows = [tops], [answers], [queries], [], [], graph, relations
        evaluate_sets(*rows, *out, ["top@3"], run["truths"], 0.5, [])


def make_report(results: Path, run: dict) -> Path:
    """The folder of the run."""
    models = run["models"]
    paths = {kind: results / kind / "toy-test" for kind in ("scores", "intervals", "sets")}
    scores = {("toy-test", model): paths["scores"] / f"{model}.parquet" for model in models}
    comparisons = results / "comparisons" / run["name"] / "toy-test.parquet"
    first = score_id(run["metrics"][0], run["ties"][0], run["filters"][0])
    competing = {model: scores["toy-test", model] for model in models if model != "chance"}
    compare_models(competing, comparisons, first, run["seed"])
    graph, out = results / "graphs/toy", results / "runs" / run["name"]
    explanations = results / "explanations" / run["name"] / "toy-test.json"
    shard = {kind: results / kind / "toy-test/all.parquet" for kind in ("queries", "answers")}
    about = ([shard["queries"]], [shard["answers"]], graph / "graph.npz", explanations)
    explain_examples(*about, "test", run["shapes"], {}, {})
    ranked = [results / kind / "toy-test" / m / "all.parquet" for kind in _RANKED for m in models]
    assemble_report(
        paths_to_scores=scores,
        paths_to_intervals={
            ("toy-test", model): paths["intervals"] / f"{model}.parquet" for model in models
        },
        paths_to_comparisons={"toy-test": comparisons},
        paths_to_explanations={"toy-test": explanations},
        paths_to_sets={("toy-test", m): paths["sets"] / m / "sets.parquet" for m in models},
        paths_to_bands={("toy-test", m): paths["sets"] / m / "bands.parquet" for m in models},
        paths_to_answers={("toy-test", "all"): shard["answers"]},
        paths_to_samplings={("toy-test", "all"): shard["queries"].with_suffix(".json")},
        paths_to_audits={"toy-test": results / "audits/toy-test.json"},
        paths_to_summaries={"toy": graph / "summary.json"},
        paths_to_queries={("toy-test", "all"): shard["queries"]},
        paths_to_ranks={
            ("toy-test", m, "all"): results / "ranks/toy-test" / m / "all.parquet" for m in models
        },
        paths_to_entities={"toy": graph / "entities.tsv"},
        paths_to_relations={"toy": graph / "relations.tsv"},
        path_to_references=REFERENCES,
        path_to_template=TEMPLATE,
        scripts_of_page=[TEMPLATE.with_name(f"{name}.js") for name in PAGE_SCRIPTS],
        run=run,
        default=RUN,
        query_sets={"toy-test": _entry(run["seed"])},
        path_to_metrics=out / "metrics.tsv",
        path_to_tables=out / "tables",
        path_to_report=out / "report.html",
        path_to_versions=out / "versions.json",
        path_to_manifest=out / "manifest.json",
        paths_to_origins=[*(graph / n for n in _GRAPH[:3]), shard["queries"], *ranked],
    )
    return out


def _entry(seed: int) -> dict:
    entry = {"graph": "toy", "split": "test", "seed": seed, "sampling": {"count": 6}}
    return validated({"toy-test": entry}, _SCHEMA, "toy")["toy-test"]


def make_run(results: Path, run: dict = RUN, models: dict | None = None) -> Path:
    """A whole run; the folder of its report."""
    models = models or {name: MODELS[name] for name in run["models"]}
    make_graph(results)
    make_queries(results, run["seed"])
    return remade(results, run, models)


def remade(results: Path, run: dict, models: dict) -> Path:
    """All that follows from the queries that are there."""
    make_answers(results)
    make_predictions(results, models)
    make_ranks(results, models)
    make_scores(results, run)
    return make_report(results, run)


def read_manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())
