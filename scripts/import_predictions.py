"""Take the scores of all entities for the queries of a shard from files made elsewhere."""

from clqa.cut_lists import refuse_tuples
from clqa.errors import placed
from clqa.failed_shapes import predict_what_can_be
from clqa.logs import log_to
from clqa.outside_lists import checked_lists, filled_blocks, read_lists
from clqa.outside_scores import blocks, read_matrices
from clqa.outside_shards import matched, open_shard, refuse_absent, sidecar_of
from clqa.predictions import join_predictions, write_predictions
from clqa.query_sets import QueryTable


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
            written = read_lists(paths_to_scores, shard)
            rows = written.names
        else:
            row = (n_variables, n_entities) if n_variables > 1 else (n_entities,)
            matrices = read_matrices(paths_to_scores, shard.rows, own.get("array"), row)
            rows = matrices.rows

        def take(part: QueryTable, path_to_dump, path_to_its_sidecar) -> None:
            query_ids, found = matched(shard, part, rows, missing, paths_to_scores[0])
            if "unlisted" in own:
                lists = checked_lists(written, shard, found)
                parts = filled_blocks(lists, own["unlisted"], n_entities, chunk_bytes)
            else:
                parts = blocks(matrices, found, shard.numbering.entities, chunk_bytes)
            sidecar = sidecar_of(shard, query_ids, model, entry)
            write_predictions(path_to_dump, path_to_its_sidecar, parts, sidecar)

        paths = path_to_predictions, path_to_sidecar
        predict_what_can_be(take, join_predictions, shard.asked, *paths)


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
