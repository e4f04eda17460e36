"""What a job asks of a cluster: memory and time, from the graph and the queries that it works on.

Light on purpose: the workflow imports it when it is parsed. The numbers are bounds with room to
spare above what docs/cluster.md has measured; a job that needs more gets it at its next attempt.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from clqa.embeddings import MODELS
from clqa.runs import Run

# Of a graph of which the catalogue tells neither the size nor files at hand.
UNKNOWN = {"triples": 1_000_000, "entities": 100_000}
LINE = 12  # bytes of a line of a file of triples, at least but for tiny graphs
MOST_MB = 16_000  # that queries add: where entities are many, few of them are answers
MILLION = 1_000_000


class Load(NamedTuple):
    """How much a job works on: a graph, and the predictions of some queries in bytes."""

    triples: int
    entities: int
    scores: int = 0


class Demand(NamedTuple):
    """MB, bytes per triple, per entity and per byte of predictions; minutes, per million triples
    and per 100 MB of predictions.
    """

    mb: int
    per_triple: int = 0
    per_entity: int = 0
    per_score: float = 0
    minutes: int = 10
    per_million: float = 0
    per_100_mb: float = 0


DEMANDS = {
    "download": Demand(1000, minutes=120),
    "build_graph": Demand(800, 200, 200, minutes=10, per_million=2),
    "sample_queries": Demand(800, 60, 30, 0.2, minutes=20, per_million=2, per_100_mb=20),
    "import_queries": Demand(1000, 20, 60, 1.5, minutes=15, per_100_mb=5),
    "split_answers": Demand(800, 60, 30, 1.5, minutes=15, per_million=2, per_100_mb=10),
    "audit_queries": Demand(1000, 60, 60, 0.5, minutes=15, per_million=1, per_100_mb=5),
    "predict_answers": Demand(1000, 60, 60, 0.2, minutes=20, per_million=2, per_100_mb=30),
    "predict_over_links": Demand(1700, 60, 10_000, 0.2, minutes=30, per_million=2, per_100_mb=60),
    "import_predictions": Demand(1000, 20, 60, 1, minutes=15, per_100_mb=10),
    "rank_answers": Demand(1000, 60, 60, 1.5, minutes=10, per_million=1, per_100_mb=5),
    "score_answers": Demand(1000, 20, 30, 1, minutes=10, per_100_mb=5),
    "evaluate_sets": Demand(1000, 20, 30, 1, minutes=10, per_100_mb=5),
    "estimate_intervals": Demand(1000, per_score=0.2, minutes=10, per_100_mb=2),
    "compare_models": Demand(1000, per_score=0.5, minutes=10, per_100_mb=2),
    "evaluate_predictor": Demand(1000, 60, 1000, minutes=20, per_million=30),
    "import_predictor": Demand(1000, per_entity=20_000, minutes=15),
    "explain_examples": Demand(1500, 60, 60, 0.5, minutes=20, per_million=2, per_100_mb=5),
    "assemble_report": Demand(2000, per_score=0.2, minutes=20, per_100_mb=1),
}


def memory(stage: str, load: Load) -> int:
    """MB of a job's first attempt."""
    demand = DEMANDS[stage]
    of_graph = demand.per_triple * load.triples + demand.per_entity * load.entities
    of_queries = min(demand.per_score * load.scores, MOST_MB * MILLION)
    return demand.mb + int(of_graph + of_queries) // MILLION


def minutes(stage: str, load: Load) -> int:
    """Minutes of a job's first attempt."""
    demand = DEMANDS[stage]
    of_graph = demand.per_million * load.triples / MILLION
    return demand.minutes + int(of_graph + demand.per_100_mb * load.scores / (100 * MILLION))


def training_memory(load: Load, training: dict) -> int:
    """MB of a training: vectors with their gradients, moments and best copy; parts of scores."""
    columns = MODELS[training["model"]].entity_width(training["rank"])
    return 1000 + (load.triples * 100 + load.entities * columns * 4 * 8) // MILLION


def training_minutes(load: Load, training: dict) -> int:
    """Minutes of a training, in which every triple is scored with all entities both ways."""
    columns = MODELS[training["model"]].entity_width(training["rank"])
    multiplied = training["epochs"] * load.triples * load.entities * columns * 6
    return 30 + int(multiplied / 3e10 / 60 / training["threads"])


def load_of(run: Run, wildcards: Mapping[str, str]) -> Load:
    """What a job works on: a graph, a shard or all of a query set, or all of the run."""
    if "graph" in wildcards:
        return _graph(run, wildcards["graph"])
    if "queries" not in wildcards:
        loads = [load_of(run, {"queries": name}) for name in run.settings["query_sets"]]
        return Load(*map(max, zip(*loads, strict=True)))._replace(
            scores=sum(load.scores for load in loads)
        )
    queries = wildcards["queries"]
    shards = run.shards[queries]
    shapes = shards.get(wildcards.get("shard"), [one for names in shards.values() for one in names])
    scores = sum(run.sizes[queries][shape] for shape in shapes)
    return _graph(run, run.query_sets[queries]["graph"])._replace(scores=scores)


def _graph(run: Run, graph: str) -> Load:
    """The size of a graph, as its entry says or as its files at hand suggest."""
    entry = run.graphs[graph]
    facts = entry.get("facts", {})
    files = [Path(file) for file in run.local_files(graph)]
    n_bytes = sum(file.stat().st_size for file in files if file.is_file())
    triples = sum(facts.get("triples", {}).values()) or n_bytes // LINE or UNKNOWN["triples"]
    entities = facts.get("entities") or min(2 * triples, UNKNOWN["entities"])
    return Load(triples, entities)
