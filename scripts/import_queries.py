"""Read the published queries of a shard, in the ids of their graph, with their answers."""

import logging

from numpy import empty, int32, int64, unique, zeros

from clqa.adjacencies import split_edges, split_view
from clqa.errors import InputError
from clqa.files import write_sealed
from clqa.formulas import parse, symbols
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.published_sets import SETS, Batch, write_published
from clqa.query_sets import Queries, describe_queries, query_ids, set_hash, write_queries
from clqa.ragged import Ragged
from clqa.releases import check_against_candidates, check_against_graph, read_release

log = logging.getLogger(__name__)


def import_shard(
    path_to_source,
    path_to_graph,
    path_to_entities,
    path_to_relations,
    path_to_queries,
    path_to_report,
    path_to_published,
    shapes,
    published,
    split,
):
    """Write queries as `sample_queries` does, a report of the same form, and published answers.

    Parameters
    ----------
    shapes : dict
        Formula text by shape.
    published : dict
        What the query set's catalogue entry says of its files; `layout` and its options,
        `filter`, `counts` and `on_bad_shape` are used.

    Raises
    ------
    InputError
        If the release is of another graph, or a shape of it cannot be read and is not to be
        skipped.
    """
    graph = read_graph(path_to_graph)
    formulas = {shape: parse(text) for shape, text in shapes.items()}
    release = read_release(
        path_to_source, published, formulas, graph, path_to_entities, path_to_relations
    )
    refused = _refused(release, published["counts"], formulas, graph, split)
    for reason in refused.values():
        if published["on_bad_shape"] == "error":
            raise InputError(f"{reason} (on_bad_shape: skip goes on without this shape)")
        log.warning("skipped: %s", reason)
    queries, batches, report = {}, {}, {}
    for shape, formula in formulas.items():
        rows = _none(formula) if shape in refused else release.shapes[shape]
        batches[shape] = rows
        ids = query_ids(graph.hash, formula, rows.anchors, rows.relations)
        queries[shape] = Queries(
            ids, rows.anchors, rows.relations, **_selection(rows, release.selection)
        )
        report[shape] = _report(ids, published["counts"].get(shape), rows, refused.get(shape))
    ids = {shape: rows.query_ids for shape, rows in queries.items()}
    metadata = describe_queries(graph, split, shapes, [i for names in ids.values() for i in names])
    if release.easy is not None:
        metadata["easy"] = release.easy
    sizes = {shape: len(names) for shape, names in ids.items()}
    about = {"sizes": sizes, "layout": published["layout"], "refused": refused}
    write_sealed(path_to_report, report)
    write_published(path_to_published, ids, batches, {**metadata, **about})
    write_queries(path_to_queries, queries, metadata, source=published["layout"])


def _selection(rows: Batch, names: tuple[str, ...]) -> dict[str, Ragged]:
    """The hard answers that are asked for and what is taken for easy, where a release tells."""
    nothing = Ragged(zeros(len(rows.anchors) + 1, int64), empty(0, int32))
    return {name: rows.sets.get(name, nothing) for name in names}


def _refused(release, counts, formulas, graph, split) -> dict[str, str]:
    """Why shapes cannot be used, once those that were read are held against what is known."""
    view, refused = split_view(graph, split), dict(release.refused)
    known = unique(split_edges(graph, split).triples[:, [0, 2]]) if graph.restricted else None
    for shape, rows in release.shapes.items():
        expected = counts.get(shape, len(rows.anchors))
        try:
            if not len(rows.anchors) and shape not in counts:
                raise InputError(
                    f"{shape}: the release has a place for its queries, but none are there; where "
                    f"that is right, say published.counts: {{ {shape}: 0 }}"
                )
            if len(rows.anchors) != expected:
                raise InputError(
                    f"{shape}: {len(rows.anchors)} queries, expected {expected} by published.counts"
                )
            if known is not None:
                check_against_candidates(shape, rows, known)
            check_against_graph(shape, formulas[shape], rows, view)
        except InputError as error:
            refused[shape] = str(error)
    return refused


def _none(formula) -> Batch:
    n_constants, n_relations = (len(symbols(formula, kind)) for kind in "sr")
    return Batch(empty((0, n_constants), int32), empty((0, n_relations), int32), {})


def _report(ids, expected: int | None, rows: Batch, reason: str | None) -> dict:
    found = len(ids)
    expected = found if expected is None else expected
    about = {
        "requested": expected,
        "accepted": found,
        "short": expected - found,
        "tries": found,
        "rejections": {},
        "queries": set_hash(ids),
        "published": sorted({*rows.sets}.intersection(SETS)),
    }
    return about if reason is None else about | {"skipped": reason}


if __name__ == "__main__":
    log_to(snakemake.log[0])
    import_shard(
        path_to_source=snakemake.input.source,
        path_to_graph=snakemake.input.graph,
        path_to_entities=snakemake.input.entities,
        path_to_relations=snakemake.input.relations,
        path_to_queries=snakemake.output.queries,
        path_to_report=snakemake.output.report,
        path_to_published=snakemake.output.published,
        shapes=snakemake.params.shapes,
        published=snakemake.params.published,
        split=snakemake.params.split,
    )
