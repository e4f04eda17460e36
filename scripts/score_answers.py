"""Turn the counts per hard answer into scores per query."""

import pyarrow as pa

import clqa.strata
from clqa.errors import InputError, placed
from clqa.failed_shapes import refuse_failed, without
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.query_sets import check_asked_of, read_answers, read_queries
from clqa.scores import RANKS, merged_metadata, query_scores, read_ranks
from clqa.tables import table_metadata, write_table
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
    may_lack=False,
):
    """Write one table for all shards of a query set, given in the same order.

    Parameters
    ----------
    filters : list of str
        Competitions (`clqa.competitions`); those without candidates are names of filters.
    strata : list of str
        Keys of `clqa.strata.KEYS`.
    may_lack : bool
        Whether shapes on which the model has failed are left out; else they are refused.
    """
    if not may_lack:
        _refuse_failed(paths_to_ranks)
    parts, metadata, ids = [], [], []
    graph, relations = read_graph(path_to_graph), read_labels(path_to_relations).to_pylist()
    paths = zip(paths_to_ranks, paths_to_answers, paths_to_queries, strict=True)
    for path_to_ranks, path_to_answers, path_to_queries in paths:
        ranks, origin = read_ranks(path_to_ranks)
        failed = origin.pop("failed", {})
        answers = without(read_answers(path_to_answers), failed)
        queries = without(read_queries(path_to_queries), failed)
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
        formulas = {shape: origin["formulas"][shape] for shape in answers.shapes}
        metadata.append({**origin, "formulas": formulas})
        ids += [name for part in answers.shapes.values() for name in part.query_ids]
    with placed(", ".join(map(str, paths_to_ranks))):
        merged = merged_metadata(metadata, ids)
    write_table(path_to_scores, pa.concat_tables(parts, promote_options="default"), merged)


def _refuse_failed(paths_to_ranks) -> None:
    abouts = [table_metadata(path, RANKS) for path in paths_to_ranks]
    failed = {shape: text for about in abouts for shape, text in about.get("failed", {}).items()}
    refuse_failed(abouts[0]["model"]["model"] if abouts else "", failed)


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
