"""Find out what is to be known of queries and their answers before models are judged by them."""

from itertools import zip_longest

import numpy as np

from clqa.adjacencies import split_view
from clqa.answer_sizes import SETS, implied_cap
from clqa.answers import released_answers, split_answers
from clqa.audits import Ground, Labels, audit_shape
from clqa.class_audits import audit_classes
from clqa.errors import damaged
from clqa.files import write_sealed
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.plans import plan
from clqa.published_sets import read_classes, read_published, refused_shapes
from clqa.query_sets import (
    Answers,
    Queries,
    check_asked_of,
    read_answers,
    read_queries,
    set_hash,
)
from clqa.vocabularies import graph_labels, taken


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
    labels = graph_labels(path_to_entities, path_to_relations, graph.vocabulary)
    labels = Labels(*map(_taker, labels))
    ground = Ground(graph, split_view(graph, split), split, labels)
    shapes, skipped, ids = {}, {}, []
    lengths = {name: [np.empty(0, np.int64)] for name in SETS}
    paths = zip_longest(paths_to_queries, paths_to_answers, paths_to_published)
    for path_to_queries, path_to_answers, path_to_published in paths:
        asked, found = read_queries(path_to_queries), read_answers(path_to_answers)
        check_asked_of(graph, split, asked, path_to_queries)
        published, classes, refused = {}, {}, {}
        if path_to_published:
            published, classes = read_published(path_to_published), read_classes(path_to_published)
            refused = refused_shapes(path_to_published)
        skipped |= refused
        for shape, rows in asked.shapes.items():
            ids += list(rows.query_ids)
            known = found.shapes.get(shape)
            if known is None or list(rows.query_ids) != list(known.query_ids):
                what = f"{shape}: not of the queries of {path_to_queries}"
                raise damaged(path_to_answers, what, "split_answers")
            if path_to_published and shape not in published:
                what = f"{shape}: no published answers"
                raise damaged(path_to_published, what, "import_queries")
            if shape in refused:
                continue
            formula = parse(asked.metadata["formulas"][shape])
            own = _of_graph(ground, formula, rows, known)
            shapes[shape] = audit_shape(ground, formula, rows, own, published.get(shape))
            if shape in classes:
                hard = published[shape]["hard"]
                shapes[shape]["classes"] = audit_classes(
                    formula, ground.view, rows, hard, classes[shape]
                )
            for name in SETS:
                lengths[name].append(getattr(own, name).lengths())
    about = {"name": queries, "split": split, "query_set": set_hash(ids)}
    about["queries"] = sum(s["queries"] for s in shapes.values())
    if paths_to_published:
        about |= _verdict(shapes, skipped)
        about["caps"] = {
            name: implied_cap(np.concatenate(parts), graph.n_entities)
            for name, parts in lengths.items()
        }
    write_sealed(path_to_audit, {**about, "skipped": skipped, "shapes": shapes})


def _of_graph(ground: Ground, formula, rows: Queries, found: Answers) -> Answers:
    """Answers by the graph alone, where those that are ranked have the easy ones of a release."""
    if rows.filtered is None:
        return found
    every = split_answers(plan(formula), ground.view, rows.anchors, rows.relations)
    return found._replace(**released_answers(every, rows.selected)._asdict())


def _taker(labels):
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
