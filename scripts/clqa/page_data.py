"""What the scripts of the report page know of each query set beside its metrics."""

import os
from collections.abc import Iterable, Mapping

from clqa.errors import damaged
from clqa.example_queries import MOST, browser, example_ranks, examples, number_per_shape
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
) -> dict:
    """The spread of ranks of a query set, and some of its queries; one shard is read at a time.

    Parameters
    ----------
    paths_to_queries, paths_to_answers : by shard
    paths_to_ranks : by model, then by shard
    paths_to_labels : those of the entities and of the relations of the graph

    Raises
    ------
    InputError
        If a file is damaged, or not of these queries and models.
    """
    shapes, chosen, ranks = list(scope.shapes)[:MOST], [], []
    spread: dict[str, dict] = {model: {} for model in run["models"]}
    ranked_examples: dict[str, dict] = {model: {} for model in run["models"]}
    labels = None
    for shard, path in paths_to_answers.items():
        answers, queries = read_answers(path), read_queries(paths_to_queries[shard])
        about = answers.metadata
        if queries.metadata["queries"] != about["queries"]:
            raise damaged(paths_to_queries[shard], "other queries than the answers'", QUERIES.rule)
        labels = labels or _labels(paths_to_labels, about["vocabulary"])
        own = examples(queries, answers, number_per_shape(len(shapes)), *labels)
        own = [one for one in own if one.shape in shapes]
        chosen += own
        ranks = curve_ranks(about["n_entities"])
        for model in run["models"]:
            ranked = read_primary(paths_to_ranks[model][shard], run, model, about["queries"])
            spread[model] |= shape_curves(ranked, ranks, run["ties"][0])
            ranked_examples[model] |= example_ranks(own, ranked)
    chosen.sort(key=lambda one: shapes.index(one.shape))
    entities = labels[0] if labels else []
    return {
        "name": scope.queries,
        "ranks": ranks,
        "curves": curves(scope.shapes, spread, run.get("seeds", {})),
        "browser": browser(chosen, ranked_examples, entities),
    }


def _labels(paths: Iterable[str | os.PathLike], vocabulary: str) -> tuple[list[str], list[str]]:
    entities, relations = graph_labels(*paths, vocabulary)
    return entities.to_pylist(), relations.to_pylist()
