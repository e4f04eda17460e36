"""Count, for every hard answer of a shard, the candidates that beat and that tie it.

Where the shapes have several free variables, they are counted for every value that a variable has
in a known answer (`clqa.tuple_counts`).
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from clqa.adjacencies import graph_view
from clqa.answers import answer_sets
from clqa.bounded_ranks import bounded_ranking
from clqa.competitions import CANDIDATES, competitions
from clqa.cut_lists import open_lists
from clqa.errors import InputError, placed
from clqa.failed_shapes import without
from clqa.filters import FILTERS, with_test
from clqa.formulas import parse
from clqa.graphs import Graph, read_graph
from clqa.logs import log_to
from clqa.node_files import from_node, leave_node
from clqa.outside_lists import taken_lists
from clqa.plans import plan
from clqa.predictions import MISSING, Predictions, open_predictions
from clqa.query_sets import (
    AnswerTable,
    QueryTable,
    arity_of,
    check_asked_of,
    read_answers,
    read_queries,
)
from clqa.ragged import Ragged
from clqa.ranks import Competitors, Ranking, rank
from clqa.tables import dictionary, write_table
from clqa.top_tables import write_tops
from clqa.tuple_counts import ValueCounts, count_values, known_answers
from clqa.typed_candidates import Pools, typed_pools
from clqa.value_ranks import ranks_of_values


def rank_answers(
    path_to_predictions,
    path_to_sidecar,
    path_to_answers,
    path_to_ranks,
    path_to_tops,
    depth,
    candidates=CANDIDATES[:1],
    filters=(),
    missing=MISSING[0],
    path_to_queries=None,
    path_to_graph=None,
    bound=None,
):
    """Write one row per competition and hard answer, and one per query of tops.

    Shapes on which the model has failed have none, and `failed` in the metadata names them.
    With several free variables there is a row per competition, variable and value, no candidates
    are `typed`, and there are no tops.

    Parameters
    ----------
    depth : int
        How many of the best candidates of a query are kept.
    candidates : list of str
        Of `clqa.competitions.CANDIDATES`; there are ranks among `all` in any case.
    filters : list of str
        `clqa.competitions.WITH_TEST` or none; there are ranks under `clqa.filters.FILTERS` in any
        case.
    missing : str
        Of `clqa.predictions.MISSING`: what a query costs that the dump lacks.
    path_to_queries, path_to_graph : optional
        Needed for `typed` candidates and for further filters.
    bound : str, optional
        Of `clqa.outside_entries.BOUNDS`, where the predictions are lists that are cut.
    """
    answers = read_answers(path_to_answers)
    opened = open_lists if bound else open_predictions
    predictions = opened(path_to_predictions, path_to_sidecar, expected=answers, missing=missing)
    failed = predictions.sidecar.get("failed") or {}
    answers = without(answers, failed)
    pools, on_test = {}, {}
    if "typed" in candidates or filters:
        queries, graph = without(read_queries(path_to_queries), failed), read_graph(path_to_graph)
        check_asked_of(graph, answers.metadata["split"], queries, path_to_queries)
        if queries.metadata["queries"] != answers.metadata["queries"]:
            raise InputError(f"{path_to_answers}: answers of other queries; split them again")
        pools = _pools(queries, graph) if "typed" in candidates else {}
        on_test = _on_test(queries, graph) if filters else {}
    of_tuples = arity_of(answers) > 1
    pools = {} if of_tuples else pools
    with placed(f"{path_to_predictions} with {path_to_answers}"):
        if of_tuples:
            counts = [*_value_counts(answers, predictions, on_test)]
        else:
            rankings = [*_rankings(answers, predictions, depth, pools, on_test, bound)]
    model = {key: predictions.sidecar.get(key) for key in ("model", "method", "inference_graph")}
    model["settings"] = predictions.sidecar.get("settings", {})
    if bound:
        model["model"] += f".{bound}"
        model["settings"] = {**model["settings"], "unlisted": bound}
    about = {**answers.metadata, "model": model, **predictions.missing}
    about |= {"failed": failed} if failed else {}
    names = [*FILTERS, *filters]
    rules = competitions(names, CANDIDATES[:1]) + competitions(names, ["typed"] * bool(pools))
    if of_tuples:
        table = ranks_of_values(answers, counts, rules)
        answers, rankings = answers._replace(shapes={}), []
    else:
        table = _table(answers, [one.counts for one in rankings], rules)
    write_table(path_to_ranks, table, {**about, "predictions": predictions.sidecar["sha256"]})
    write_tops(path_to_tops, answers, rankings, {**about, "depth": depth})


def _pools(queries: QueryTable, graph: Graph) -> dict[str, Pools]:
    """The typed candidates of each shape."""
    formulas, split = queries.metadata["formulas"], queries.metadata["split"]
    return {
        shape: typed_pools(parse(formulas[shape]), batch.relations, graph, split)
        for shape, batch in queries.shapes.items()
    }


def _on_test(queries: QueryTable, graph: Graph) -> dict[str, Ragged]:
    """The answers of each shape on the full graph of test."""
    view, formulas = graph_view(graph, graph.full("test")), queries.metadata["formulas"]
    return {
        shape: answer_sets(plan(parse(formulas[shape])), view, batch.anchors, batch.relations)
        for shape, batch in queries.shapes.items()
    }


def _rankings(
    answers: AnswerTable,
    predictions: Predictions,
    depth: int,
    pools: dict[str, Pools],
    on_test: dict[str, Ragged],
    bound: str | None,
) -> Iterator[Ranking]:
    """Rankings under all filters, shape by shape."""
    first = 0
    for shape, part in answers.shapes.items():
        last = first + len(part.query_ids)
        excluded = [rule(part.easy, part.hard, part.retracted) for rule in FILTERS.values()]
        if shape in on_test:
            excluded.append(with_test(part.easy, part.hard, on_test[shape]))
        asked = {
            "targets": part.hard,
            "excluded": excluded,
            "depth": depth,
            "wanted": excluded[0],
            "candidates": answers.candidates,
            "pools": pools.get(shape),
        }
        rows = predictions.rows[first:last]
        if bound:
            lists = taken_lists(predictions.scores, np.arange(first, last))
            n_entities = answers.metadata["n_entities"]
            yield bounded_ranking(lists, n_entities, bound=bound, is_missing=rows < 0, **asked)
        else:
            yield rank(predictions.scores, rows=rows, query_ids=part.query_ids, **asked)
        first = last


def _value_counts(
    answers: AnswerTable, predictions: Predictions, on_test: dict[str, Ragged]
) -> Iterator[ValueCounts]:
    """Counts of the values of each variable, shape by shape."""
    first = 0
    for shape, part in answers.shapes.items():
        last = first + len(part.query_ids)
        yield count_values(
            predictions.scores,
            known_answers(part.easy, part.hard, part.retracted),
            rows=predictions.rows[first:last],
            axes=predictions.axes,
            on_test=on_test.get(shape),
            query_ids=part.query_ids,
            candidates=answers.candidates,
        )
        first = last


def _table(answers: AnswerTable, counts: list[Competitors], rules: list[str]) -> pa.Table:
    shapes = list(answers.shapes.values())
    query_ids = np.concatenate([[], *(part.query_ids for part in shapes)]).astype(str)
    n_hard = np.concatenate([np.empty(0, np.int64), *(part.hard.lengths() for part in shapes)])
    n_answers = [len(part.hard.values) for part in shapes]
    hard = np.concatenate([np.empty(0, np.int32), *(part.hard.values for part in shapes)])
    links = np.concatenate([np.empty(0, np.uint8), *(part.links for part in shapes)])
    repeated = {
        "query_id": (np.repeat(np.arange(len(query_ids)), n_hard), query_ids),
        "shape": (np.repeat(np.arange(len(shapes)), n_answers), list(answers.shapes)),
    }
    n_rules = len(rules)
    columns = {
        name: dictionary(np.tile(places, n_rules), names)
        for name, (places, names) in repeated.items()
    }
    columns["variable"] = pa.nulls(n_rules * len(hard), pa.int8())
    columns["answer"] = np.tile(hard, n_rules)
    columns["filter"] = dictionary(np.repeat(np.arange(n_rules), len(hard)), rules)
    for name in Competitors._fields:
        found = [getattr(count, name) for count in counts]
        columns[name] = np.concatenate([np.empty((n_rules, 0), np.int32), *found], axis=1).ravel()
    columns["links"] = np.tile(links, n_rules)
    return pa.table(columns)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    rank_answers(
        path_to_predictions=from_node(snakemake.input.predictions),
        path_to_sidecar=snakemake.input.sidecar,
        path_to_answers=snakemake.input.answers,
        path_to_ranks=snakemake.output.ranks,
        path_to_tops=snakemake.output.tops,
        depth=snakemake.params.depth,
        candidates=snakemake.params.candidates,
        filters=snakemake.params.filters,
        missing=snakemake.params.missing,
        path_to_queries=snakemake.input.queries,
        path_to_graph=snakemake.input.graph,
        bound=snakemake.params.bound,
    )
    leave_node(snakemake.input.predictions)
