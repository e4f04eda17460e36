"""Answer the queries of a shard on the observed and the full graph of their split."""

import clqa.answers
from clqa.adjacencies import split_view
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import candidates, read_graph
from clqa.joins import TooManyBindingsError
from clqa.logs import log_to
from clqa.plans import plan
from clqa.query_sets import Answers, check_asked_of, read_queries, write_answers
from clqa.reductions import answer_reductions


def split_answers(path_to_graph, path_to_queries, path_to_answers, split, max_bindings=None):
    """Write easy, hard and retracted answers, and what has to be predicted for each hard one.

    Parameters
    ----------
    max_bindings : int, optional
        Partial bindings that may be tried for a query that takes joins.

    Raises
    ------
    InputError
        If the queries belong to another graph or split, or one takes too many partial bindings.
    """
    graph = read_graph(path_to_graph)
    queries = read_queries(path_to_queries)
    check_asked_of(graph, split, queries, path_to_queries)
    view = split_view(graph, split)
    shapes = {}
    for shape, batch in queries.shapes.items():
        formula = parse(queries.metadata["formulas"][shape])
        rows = (view, batch.anchors, batch.relations)
        try:
            found = clqa.answers.split_answers(plan(formula), *rows, max_bindings)
        except TooManyBindingsError as error:
            name = batch.query_ids[error.query]
            raise InputError(f"shape {shape}, query {name}: {error.reason}") from None
        if "easy" in queries.metadata:
            found = clqa.answers.released_answers(found, batch.selected, batch.filtered)
        elif batch.selected is not None:
            found = clqa.answers.selected_answers(found, batch.selected)
        reductions = answer_reductions(formula, *rows, found.hard)
        shapes[shape] = Answers(batch.query_ids, *found, *reductions)
    write_answers(path_to_answers, shapes, queries.metadata, candidates(graph, split))


if __name__ == "__main__":
    log_to(snakemake.log[0])
    split_answers(
        path_to_graph=snakemake.input.graph,
        path_to_queries=snakemake.input.queries,
        path_to_answers=snakemake.output.answers,
        split=snakemake.params.split,
        max_bindings=snakemake.params.max_bindings,
    )
