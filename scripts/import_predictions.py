"""Take the scores of all entities for the queries of a shard from files made elsewhere."""

from clqa.cut_lists import refuse_tuples
from clqa.errors import placed
from clqa.failed_shapes import predict_what_can_be
from clqa.logs import log_to
from clqa.node_files import on_node
from clqa.outside_lists import Written, checked_lists, filled_blocks, read_lists
from clqa.outside_scores import Matrices, blocks, read_matrices
from clqa.outside_shards import Files, Shard, matched, open_shard, reader, sidecar_of, with_rows
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
    absent=(),
    chunk_bytes=64 * 2**20,
):
    """Write them as a dump of our own, in the order of the queries and of the graph's entities.

    Parameters
    ----------
    entry : dict
        The model's in the catalogue.
    missing : str
        Of `clqa.predictions.MISSING`; under any but the first, queries may be missing.
    absent : list of path
        Those of the files that are not there.
    """
    own = entry["imported"]
    with placed(f"model {model}"):
        shard = open_shard(
            path_to_queries,
            (path_to_graph_entities, path_to_graph_relations),
            (path_to_entities, path_to_relations),
        )
        is_each = "{shape}" in own.get("scores", "")
        files = Files(paths_to_scores, paths_to_rows, is_each, absent)
        is_lists, n_entities = "unlisted" in own, len(shard.labels)
        if is_lists:
            refuse_tuples(paths_to_scores[0], len(shard.variables))

        def read(scores, rows) -> tuple[Shard, Written | Matrices]:
            named = with_rows(shard, rows)
            several = len(named.variables) > 1
            row = (len(named.variables), n_entities) if several else (n_entities,)
            if is_lists:
                return named, read_lists(scores, named)
            return named, read_matrices(scores, named.rows, own.get("array"), row)

        of_shapes = reader(read, files, shard.asked.shapes)

        def take(part: QueryTable, path_to_dump, path_to_its_sidecar) -> None:
            named, found = of_shapes(part)
            query_ids, places = matched(named, part, found.rows, missing, found.paths[0])
            if is_lists:
                lists = checked_lists(found, named, places)
                parts = filled_blocks(lists, own["unlisted"], n_entities, chunk_bytes)
            else:
                parts = blocks(found, places, shard.numbering.entities, chunk_bytes)
            sidecar = sidecar_of(named, query_ids, model, entry)
            write_predictions(path_to_dump, path_to_its_sidecar, parts, sidecar)

        paths = path_to_predictions, path_to_sidecar
        predict_what_can_be(take, join_predictions, shard.asked, *paths)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    with on_node(snakemake.output.predictions) as path_to_predictions:
        import_predictions(
            path_to_queries=snakemake.input.queries,
            path_to_graph_entities=snakemake.input.graph_entities,
            path_to_graph_relations=snakemake.input.graph_relations,
            paths_to_scores=snakemake.params.files["scores"],
            paths_to_rows=snakemake.params.files.get("rows", []),
            path_to_predictions=path_to_predictions,
            path_to_sidecar=snakemake.output.sidecar,
            model=snakemake.params.model,
            entry=snakemake.params.entry,
            missing=snakemake.params.missing,
            path_to_entities=snakemake.input.get("own_entities"),
            path_to_relations=snakemake.input.get("own_relations"),
            absent=snakemake.params.absent,
        )
