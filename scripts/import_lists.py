"""Take lists of the best entities for the queries of a shard from files made elsewhere."""

from clqa.cut_lists import join_lists, refuse_tuples, write_lists
from clqa.errors import placed
from clqa.failed_shapes import predict_what_can_be
from clqa.logs import log_to
from clqa.outside_lists import Written, checked_lists, read_lists
from clqa.outside_shards import Files, Shard, matched, open_shard, reader, sidecar_of, with_rows
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
    absent=(),
):
    """Write them in the order of the queries; see `import_predictions` for the parameters."""
    with placed(f"model {model}"):
        shard = open_shard(
            path_to_queries,
            (path_to_graph_entities, path_to_graph_relations),
            (path_to_entities, path_to_relations),
        )
        refuse_tuples(paths_to_scores[0], len(shard.variables))
        is_each = "{shape}" in entry["imported"].get("scores", "")
        files = Files(paths_to_scores, paths_to_rows, is_each, absent)

        def read(scores, rows) -> tuple[Shard, Written]:
            named = with_rows(shard, rows)
            return named, read_lists(scores, named)

        of_shapes = reader(read, files, shard.asked.shapes)

        def take(part: QueryTable, path_to_lists, path_to_their_sidecar) -> None:
            named, found = of_shapes(part)
            query_ids, places = matched(named, part, found.rows, missing, found.paths[0])
            sidecar = sidecar_of(named, query_ids, model, entry)
            lists = checked_lists(found, named, places)
            write_lists(path_to_lists, path_to_their_sidecar, lists, sidecar)

        paths = path_to_predictions, path_to_sidecar
        predict_what_can_be(take, join_lists, shard.asked, *paths)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    import_lists(
        path_to_queries=snakemake.input.queries,
        path_to_graph_entities=snakemake.input.graph_entities,
        path_to_graph_relations=snakemake.input.graph_relations,
        paths_to_scores=snakemake.params.files["scores"],
        paths_to_rows=snakemake.params.files.get("rows", []),
        path_to_predictions=snakemake.output.predictions,
        path_to_sidecar=snakemake.output.sidecar,
        model=snakemake.params.model,
        entry=snakemake.params.entry,
        missing=snakemake.params.missing,
        path_to_entities=snakemake.input.get("own_entities"),
        path_to_relations=snakemake.input.get("own_relations"),
        absent=snakemake.params.absent,
    )
