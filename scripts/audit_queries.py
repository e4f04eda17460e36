"""Find out what is to be known of queries and their answers before models are judged by them."""

from itertools import zip_longest

import numpy as np

from clqa.adjacencies import split_view
from clqa.answer_sizes import SETS, implied_cap
from clqa.audits import Ground, Labels, audit_shape
from clqa.errors import InputError
from clqa.files import write_json
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.published_sets import read_published, refused_shapes
from clqa.query_sets import read_answers, read_queries
from clqa.vocabularies import read_labels, taken


def audit_queries(
    paths_to_queries,
    paths_to_answers,
    paths_to_published,
    path_to_graph,
    path_to_entities,
    path_to_relations,
    path_to_audit,
    split,
    queries,
):
    """Write, shape by shape, how queries and answers are made and where published ones differ.

    Parameters
    ----------
    paths_to_queries, paths_to_answers : one per shard
    paths_to_published : one per shard, or none for queries that were sampled

    Raises
    ------
    InputError
        If the files are not of the same queries, or not of this graph and split.
    """
    graph = read_graph(path_to_graph)
    labels = Labels(_taker(path_to_entities), _taker(path_to_relations))
    ground = Ground(graph, split_view(graph, split), split, labels)
    shapes, skipped, lengths = {}, {}, {name: [np.empty(0, np.int64)] for name in SETS}
    paths = zip_longest(paths_to_queries, paths_to_answers, paths_to_published)
    for path_to_queries, path_to_answers, path_to_published in paths:
        asked, found = read_queries(path_to_queries), read_answers(path_to_answers)
        if (asked.metadata["graph"], asked.metadata["split"]) != (graph.hash, split):
            raise InputError(
                f"{path_to_queries}: queries of another graph or split than {path_to_graph} "
                f"({split}); sample or import them again"
            )
        published = read_published(path_to_published) if path_to_published else {}
        refused = refused_shapes(path_to_published) if path_to_published else {}
        skipped |= refused
        for shape, rows in asked.shapes.items():
            if list(rows.query_ids) != list(found.shapes[shape].query_ids):
                raise InputError(
                    f"{path_to_answers}, {shape}: not of the queries of {path_to_queries}"
                )
            if shape not in refused:
                formula = parse(asked.metadata["formulas"][shape])
                own = found.shapes[shape]
                shapes[shape] = audit_shape(ground, formula, rows, own, published.get(shape))
                for name in SETS:
                    lengths[name].append(getattr(own, name).lengths())
    caps = {name: implied_cap(np.concatenate(parts)) for name, parts in lengths.items()}
    about = {"name": queries, "split": split, "queries": sum(s["queries"] for s in shapes.values())}
    if paths_to_published:
        about |= _verdict(shapes, skipped)
    write_json(path_to_audit, {**about, "caps": caps, "skipped": skipped, "shapes": shapes})


def _taker(path):
    labels = read_labels(path)
    return lambda ids: taken(labels, ids).to_pylist()


def _verdict(shapes: dict, skipped: dict) -> dict:
    """Whether published answers are those of the graph."""
    return {
        "clean": not skipped and not any(one["differing"] for one in shapes.values()),
        "differing": sum(one["differing"] for one in shapes.values()),
        "unverified": {s: one["unverified"] for s, one in shapes.items() if one["unverified"]},
    }


if __name__ == "__main__":
    log_to(snakemake.log[0])
    audit_queries(
        paths_to_queries=snakemake.input.queries,
        paths_to_answers=snakemake.input.answers,
        paths_to_published=snakemake.input.published,
        path_to_graph=snakemake.input.graph,
        path_to_entities=snakemake.input.entities,
        path_to_relations=snakemake.input.relations,
        path_to_audit=snakemake.output.audit,
        split=snakemake.params.split,
        queries=snakemake.params.queries,
    )
