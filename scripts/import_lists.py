"""Take lists of the best entities for the queries of a shard from files made elsewhere."""

from clqa.cut_lists import join_lists, refuse_tuples, write_lists
from clqa.errors import placed
from clqa.failed_shapes import predict_what_can_be
from clqa.logs import log_to
from clqa.outside_lists import checked_lists, read_lists
from clqa.outside_shards import matched, open_shard, refuse_absent, sidecar_of
from clqa.query_sets import QueryTable


def import_lists(
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
):
    """Write them in the order of the queries; see `import_predictions` for the parameters."""
    with placed(f"model {model}"):
        shard = open_shard(
            path_to_queries,
            (path_to_graph_entities, path_to_graph_relations),
            (path_to_entities, path_to_relations),
            paths_to_rows,
        )
        refuse_tuples(paths_to_scores[0], len(shard.variables))
        written = read_lists(paths_to_scores, shard)

        def take(part: QueryTable, path_to_lists, path_to_their_sidecar) -> None:
            query_ids, found = matched(shard, part, written.names, missing, paths_to_scores[0])
            sidecar = sidecar_of(shard, query_ids, model, entry)
            lists = checked_lists(written, shard, found)
            write_lists(path_to_lists, path_to_their_sidecar, lists, sidecar)

        paths = path_to_predictions, path_to_sidecar
        predict_what_can_be(take, join_lists, shard.asked, *paths)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    refuse_absent(snakemake.params.absent)
    import_lists(
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
