"""Let a model score all entities as answers of the queries of a shard."""

from collections.abc import Iterator

import numpy as np
from tqdm import tqdm

from clqa.errors import damaged
from clqa.failed_shapes import predict_what_can_be
from clqa.filters import full_only
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.models import (
    QueryBatch,
    batches,
    inference_graph,
    load_method,
    needs_trees,
    own_settings,
    takes_links,
    visible_parts,
)
from clqa.node_files import on_node
from clqa.plans import plan, tree_plan
from clqa.predictions import join_predictions, write_predictions
from clqa.query_sets import Queries, QueryTable, check_asked_of, read_answers, read_queries
from clqa.tuples import combined, common_variables


def predict_answers(
    path_to_graph,
    path_to_queries,
    path_to_predictions,
    path_to_sidecar,
    model,
    method,
    settings,
    split,
    path_to_answers=None,
    path_to_predictor=None,
    chunk_bytes=64 * 2**20,
):
    """Write the scores of a model; answers are read only for the method that runs on them.

    A shape on which the method fails is left out (`clqa.failed_shapes`).
    """
    module = load_method(method, settings)
    basis = inference_graph(module, settings)
    parts = visible_parts(basis, read_graph(path_to_graph, ()), split)
    graph = read_graph(path_to_graph, parts)
    queries = read_queries(path_to_queries)
    check_asked_of(graph, split, queries, path_to_queries)
    answers = _answers_of(queries, path_to_queries, path_to_answers) if basis == "answers" else {}
    options = own_settings(settings)
    if takes_links(module):
        queries = _in_order_of_relations(queries)
        options["links"] = module.open_links(
            path_to_predictor, graph, settings["calibration"], settings.get("hybrid", False)
        )
    planned = tree_plan if needs_trees(module) else plan
    about = {
        "n_entities": graph.n_entities,
        "vocabulary": graph.vocabulary,
        "graph": graph.hash,
        "queries": queries.metadata["queries"],
        "model": model,
        "method": method,
        "settings": settings,
        "inference_graph": basis if basis == "answers" else list(parts),
    }
    variables = common_variables(queries.metadata["formulas"])
    if len(variables) > 1:
        about["variables"] = list(variables)

    def predict(part: QueryTable, path_to_dump, path_to_its_sidecar) -> None:
        asked = _all_batches(part, planned, answers, graph.n_entities, chunk_bytes)
        blocks = (module.scores(graph, batch, **options) for batch in _with_progress(asked, part))
        sidecar = {
            "query_ids": [str(name) for batch in part.shapes.values() for name in batch.query_ids],
            "shapes": {shape: len(batch.query_ids) for shape, batch in part.shapes.items()},
            **about,
        }
        write_predictions(path_to_dump, path_to_its_sidecar, blocks, sidecar)

    predict_what_can_be(predict, join_predictions, queries, path_to_predictions, path_to_sidecar)


def _answers_of(queries: QueryTable, path_to_queries, path_to_answers) -> dict:
    answers = read_answers(path_to_answers)
    for shape, part in queries.shapes.items():
        known = answers.shapes.get(shape)
        if known is None or known.query_ids.tolist() != part.query_ids.tolist():
            what = f"{shape}: answers of other queries than {path_to_queries}, or in another order"
            raise damaged(path_to_answers, what, "split_answers")
    return answers.shapes


def _in_order_of_relations(queries: QueryTable) -> QueryTable:
    """The queries of each shape by their relations, the last one first.

    Those side by side then follow links of the same relations, whose rows they share.
    """
    shapes = {}
    for shape, part in queries.shapes.items():
        order = np.lexsort(part.relations.T)
        shapes[shape] = Queries(part.query_ids[order], part.anchors[order], part.relations[order])
    return queries._replace(shapes=shapes)


def _all_batches(
    queries: QueryTable, planned, answers, n_entities, chunk_bytes
) -> Iterator[QueryBatch]:
    for shape, part in queries.shapes.items():
        full = None
        if shape in answers:
            known = answers[shape]
            sets = (known.easy, known.hard, known.retracted)
            full = combined(full_only, *sets) if sets[0].values.ndim > 1 else full_only(*sets)
        formula = parse(queries.metadata["formulas"][shape])
        rows = (part.query_ids, part.anchors, part.relations)
        whole = QueryBatch(planned(formula), *rows, full, formula)
        yield from batches(whole, n_entities, chunk_bytes)


def _with_progress(parts: Iterator[QueryBatch], queries: QueryTable) -> Iterator[QueryBatch]:
    """Show progress on a terminal if it takes more than a few seconds."""
    total = sum(len(part.query_ids) for part in queries.shapes.values())
    with tqdm(total=total, unit="query", delay=5, disable=None) as bar:
        for part in parts:
            yield part
            bar.update(len(part.query_ids))


if __name__ == "__main__":
    log_to(snakemake.log[0])
    with on_node(snakemake.output.predictions) as path_to_predictions:
        predict_answers(
            path_to_graph=snakemake.input.graph,
            path_to_queries=snakemake.input.queries,
            path_to_predictions=path_to_predictions,
            path_to_sidecar=snakemake.output.sidecar,
            model=snakemake.params.model,
            method=snakemake.params.method,
            settings=snakemake.params.settings,
            split=snakemake.params.split,
            path_to_answers=snakemake.input.get("answers"),
            path_to_predictor=snakemake.input.get("predictor") or None,
        )
