"""Take the scores of all entities for the queries of a shard from files made elsewhere."""

from clqa.cut_lists import refuse_tuples
from clqa.errors import placed
from clqa.logs import log_to
from clqa.outside_lists import filled_blocks, read_lists, taken_lists
from clqa.outside_scores import blocks, read_matrices
from clqa.outside_shards import matched, open_shard, refuse_absent, sidecar_of
from clqa.predictions import write_predictions


def import_predictions(
    path_to_queries,
    path_to_graph_entities,
    path_to_graph_relations,
    paths_to_scores,
    paths_to_rows,
    path_to_predictions,
    path_to_sidecar,
    model,
    entry,
    missing,
    path_to_entities=None,
    path_to_relations=None,
    chunk_bytes=64 * 2**20,
):
    """Write them as a dump of our own, in the order of the queries and of the graph's entities.

    Parameters
    ----------
    entry : dict
        The model's in the catalogue.
    missing : str
        Of `clqa.predictions.MISSING`; under any but the first, queries may be missing.
    """
    own = entry["imported"]
    with placed(f"model {model}"):
        shard = open_shard(
            path_to_queries,
            (path_to_graph_entities, path_to_graph_relations),
            (path_to_entities, path_to_relations),
            paths_to_rows,
        )
        n_entities, n_variables = len(shard.labels), len(shard.variables)
        if "unlisted" in own:
            refuse_tuples(paths_to_scores[0], n_variables)
            lists, rows = read_lists(paths_to_scores, shard)
            query_ids, found = matched(shard, rows, missing, paths_to_scores[0])
            lists = taken_lists(lists, found)
            parts = filled_blocks(lists, own["unlisted"], n_entities, chunk_bytes)
        else:
            row = (n_variables, n_entities) if n_variables > 1 else (n_entities,)
            matrices = read_matrices(paths_to_scores, shard.rows, own.get("array"), row)
            query_ids, found = matched(shard, matrices.rows, missing, paths_to_scores[0])
            parts = blocks(matrices, found, shard.numbering.entities, chunk_bytes)
        sidecar = sidecar_of(shard, query_ids, model, entry)
        write_predictions(path_to_predictions, path_to_sidecar, parts, sidecar)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    refuse_absent(snakemake.params.absent)
    import_predictions(
        path_to_queries=snakemake.input.queries,
        path_to_graph_entities=snakemake.input.graph_entities,
        path_to_graph_relations=snakemake.input.graph_relations,
        paths_to_scores=snakemake.input.scores,
        paths_to_rows=snakemake.input.get("rows", []),
        path_to_predictions=snakemake.output.predictions,
        path_to_sidecar=snakemake.output.sidecar,
        model=snakemake.params.model,
        entry=snakemake.params.entry,
        missing=snakemake.params.missing,
        path_to_entities=snakemake.input.get("own_entities"),
        path_to_relations=snakemake.input.get("own_relations"),
    )
