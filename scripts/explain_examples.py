"""Find why the queries that a report shows have their answers."""

import functools
from collections.abc import Mapping, Sequence

from clqa.example_queries import examples
from clqa.explained_examples import explained
from clqa.files import write_sealed
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.model_witnesses import open_reasoner
from clqa.query_sets import read_answers, read_queries, set_hash


def explain_examples(
    paths_to_queries: Sequence[str],
    paths_to_answers: Sequence[str],
    path_to_graph: str,
    path_to_explanations: str,
    split: str,
    shapes: Sequence[str],
    models: Mapping[str, dict],
    paths_to_predictors: Mapping[str, str],
) -> None:
    """Write a witness of each answer, and what models over predicted links take for it.

    Parameters
    ----------
    paths_to_queries, paths_to_answers : of the same shards, in one order
    shapes : of the run, in its order
    models : `method` and `settings` of each model over predicted links
    paths_to_predictors : by model
    """
    tables = [
        (read_queries(one), read_answers(other))
        for one, other in zip(paths_to_queries, paths_to_answers, strict=True)
    ]
    own = {shape for queries, _ in tables for shape in queries.shapes}
    asked = [shape for shape in shapes if shape in own]
    chosen = [one for pair in tables for one in examples(*pair, asked)]
    opened = [
        functools.partial(
            open_reasoner,
            path_to_graph,
            paths_to_predictors[name],
            model["method"],
            model["settings"],
            split,
        )
        for name, model in models.items()
    ]
    ids = (
        id_ for queries, _ in tables for part in queries.shapes.values() for id_ in part.query_ids
    )
    content = {
        "query_set": set_hash(ids),
        "models": list(models),
        "queries": explained(chosen, read_graph(path_to_graph), split, opened),
    }
    write_sealed(path_to_explanations, content)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    names = list(snakemake.params.models)
    explain_examples(
        paths_to_queries=snakemake.input.queries,
        paths_to_answers=snakemake.input.answers,
        path_to_graph=snakemake.input.graph,
        path_to_explanations=snakemake.output.explanations,
        split=snakemake.params.split,
        shapes=snakemake.params.shapes,
        models=snakemake.params.models,
        paths_to_predictors=dict(zip(names, snakemake.input.predictors, strict=True)),
    )
