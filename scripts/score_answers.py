"""Turn the counts per hard answer into scores per query."""

import pyarrow as pa

from clqa.errors import InputError, placed
from clqa.logs import log_to
from clqa.query_sets import read_answers
from clqa.scores import merged_metadata, query_scores, read_ranks
from clqa.tables import write_table


def score_answers(paths_to_ranks, paths_to_answers, path_to_scores, metrics, ties, filters):
    """Write one table for all shards of a query set, given in the same order."""
    parts, metadata, ids = [], [], []
    for path_to_ranks, path_to_answers in zip(paths_to_ranks, paths_to_answers, strict=True):
        ranks, origin = read_ranks(path_to_ranks)
        answers = read_answers(path_to_answers)
        if {**answers.metadata, "model": origin.get("model")} != origin:
            raise InputError(
                f"{path_to_ranks}: not made from {path_to_answers}; delete it and rank again"
            )
        with placed(path_to_ranks):
            parts.append(query_scores(ranks, answers, metrics, ties, filters))
        metadata.append(origin)
        ids += [name for part in answers.shapes.values() for name in part.query_ids]
    with placed(", ".join(map(str, paths_to_ranks))):
        merged = merged_metadata(metadata, ids)
    write_table(path_to_scores, pa.concat_tables(parts), merged)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    score_answers(
        paths_to_ranks=snakemake.input.ranks,
        paths_to_answers=snakemake.input.answers,
        path_to_scores=snakemake.output.scores,
        metrics=snakemake.params.metrics,
        ties=snakemake.params.ties,
        filters=snakemake.params.filters,
    )
