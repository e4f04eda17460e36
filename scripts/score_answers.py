"""Turn the counts per hard answer into scores per query."""

import pyarrow as pa

import clqa.strata
from clqa.errors import InputError, placed
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.query_sets import check_asked_of, read_answers, read_queries
from clqa.scores import merged_metadata, query_scores, read_ranks
from clqa.tables import write_table
from clqa.vocabularies import read_labels


def score_answers(
    paths_to_ranks,
    paths_to_answers,
    paths_to_queries,
    path_to_graph,
    path_to_relations,
    path_to_scores,
    metrics,
    ties,
    filters,
    strata,
):
    """Write one table for all shards of a query set, given in the same order.

    Parameters
    ----------
    filters : list of str
        Competitions (`clqa.competitions`); those without candidates are names of filters.
    strata : list of str
        Keys of `clqa.strata.KEYS`.
    """
    parts, metadata, ids = [], [], []
    graph, relations = read_graph(path_to_graph), read_labels(path_to_relations).to_pylist()
    paths = zip(paths_to_ranks, paths_to_answers, paths_to_queries, strict=True)
    for path_to_ranks, path_to_answers, path_to_queries in paths:
        ranks, origin = read_ranks(path_to_ranks)
        answers, queries = read_answers(path_to_answers), read_queries(path_to_queries)
        check_asked_of(graph, origin["split"], queries, path_to_queries)
        origin.pop("predictions", None)
        about = {key: origin[key] for key in ("model", "missing", "lacking") if key in origin}
        if {**answers.metadata, **about} != origin:
            raise InputError(
                f"{path_to_ranks}: not made from {path_to_answers}; delete it and rank again"
            )
        with placed(path_to_ranks):
            found = clqa.strata.strata(strata, answers, queries, graph, relations)
            skipped = origin.get("lacking", ()) if origin.get("missing") == "skip" else ()
            parts.append(query_scores(ranks, answers, metrics, ties, filters, found, skipped))
        metadata.append(origin)
        ids += [name for part in answers.shapes.values() for name in part.query_ids]
    with placed(", ".join(map(str, paths_to_ranks))):
        merged = merged_metadata(metadata, ids)
    write_table(path_to_scores, pa.concat_tables(parts, promote_options="default"), merged)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    score_answers(
        paths_to_ranks=snakemake.input.ranks,
        paths_to_answers=snakemake.input.answers,
        paths_to_queries=snakemake.input.queries,
        path_to_graph=snakemake.input.graph,
        path_to_relations=snakemake.input.relations,
        path_to_scores=snakemake.output.scores,
        metrics=snakemake.params.metrics,
        ties=snakemake.params.ties,
        filters=snakemake.params.filters,
        strata=snakemake.params.strata,
    )
