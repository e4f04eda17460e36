"""What the scripts of the report page know of each query set beside its metrics."""

import os
from collections.abc import Iterable, Mapping

from clqa.errors import damaged
from clqa.example_queries import examples
from clqa.query_browsers import browser, example_ranks
from clqa.query_sets import QUERIES, read_answers, read_queries
from clqa.rank_curves import curve_ranks, curves, read_primary, shape_curves
from clqa.scopes import Scope
from clqa.vocabularies import graph_labels

Paths = Mapping[str, str | os.PathLike]


def query_data(
    scope: Scope,
    run: Mapping,
    paths_to_queries: Paths,
    paths_to_answers: Paths,
    paths_to_ranks: Mapping[str, Paths],
    paths_to_labels: tuple[str | os.PathLike, str | os.PathLike],
    explained: Mapping | None = None,
) -> dict:
    """The spread of ranks of a query set, and some of its queries; one shard is read at a time.

    Parameters
    ----------
    paths_to_queries, paths_to_answers : by shard
    paths_to_ranks : by model, then by shard
    paths_to_labels : those of the entities and of the relations of the graph
    explained : of `clqa.explanation_files.read_explanations`

    Raises
    ------
    InputError
        If a file is damaged, or not of these queries and models.
    """
    shapes, chosen, ranks = list(scope.shapes), [], []
    spread: dict[str, dict] = {model: {} for model in run["models"]}
    ranked_examples: dict[str, dict] = {model: {} for model in run["models"]}
    labels = [], []
    for shard, path in paths_to_answers.items():
        answers, queries = read_answers(path), read_queries(paths_to_queries[shard])
        about = answers.metadata
        if queries.metadata["queries"] != about["queries"]:
            raise damaged(paths_to_queries[shard], "other queries than the answers'", QUERIES.rule)
        labels = labels if any(labels) else _labels(paths_to_labels, about["vocabulary"])
        own = examples(queries, answers, shapes)
        chosen += own
        ranks = curve_ranks(about["n_entities"])
        for model in run["models"]:
            ranked = read_primary(paths_to_ranks[model][shard], run, model, about["queries"])
            spread[model] |= shape_curves(ranked, ranks, run["ties"][0])
            ranked_examples[model] |= example_ranks(own, ranked)
    chosen.sort(key=lambda one: shapes.index(one.shape))
    return {
        "name": scope.queries,
        "ranks": ranks,
        "curves": curves(scope.shapes, spread, run.get("seeds", {})),
        "browser": browser(chosen, ranked_examples, *labels, explained),
    }


def _labels(paths: Iterable[str | os.PathLike], vocabulary: str) -> tuple[list[str], list[str]]:
    entities, relations = graph_labels(*paths, vocabulary)
    return entities.to_pylist(), relations.to_pylist()
