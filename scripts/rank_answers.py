"""Count, for every hard answer of a shard, the candidates that beat and that tie it."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from clqa.errors import placed
from clqa.filters import FILTERS
from clqa.logs import log_to
from clqa.predictions import Predictions, open_predictions
from clqa.query_sets import AnswerTable, read_answers
from clqa.ranks import Competitors, Ranking, rank
from clqa.tables import write_table
from clqa.top_tables import write_tops


def rank_answers(
    path_to_predictions, path_to_sidecar, path_to_answers, path_to_ranks, path_to_tops, depth
):
    """Write one row per filter and hard answer, under all filters, and one per query of tops.

    Parameters
    ----------
    depth : int
        How many of the best candidates of a query are kept.
    """
    answers = read_answers(path_to_answers)
    predictions = open_predictions(path_to_predictions, path_to_sidecar, expected=answers)
    with placed(f"{path_to_predictions} with {path_to_answers}"):
        rankings = [*_rankings(answers, predictions, depth)]
    model = {key: predictions.sidecar.get(key) for key in ("model", "method", "inference_graph")}
    model["settings"] = predictions.sidecar.get("settings", {})
    about = {**answers.metadata, "model": model}
    write_table(path_to_ranks, _table(answers, [one.counts for one in rankings]), about)
    write_tops(path_to_tops, answers, rankings, {**about, "depth": depth})


def _rankings(answers: AnswerTable, predictions: Predictions, depth: int) -> Iterator[Ranking]:
    """Rankings under all filters, shape by shape."""
    first = 0
    for part in answers.shapes.values():
        last = first + len(part.query_ids)
        excluded = [rule(part.easy, part.hard, part.retracted) for rule in FILTERS.values()]
        yield rank(
            predictions.scores,
            targets=part.hard,
            excluded=excluded,
            depth=depth,
            wanted=excluded[0],
            rows=predictions.rows[first:last],
            query_ids=part.query_ids,
            candidates=answers.candidates,
        )
        first = last


def _table(answers: AnswerTable, counts: list[Competitors]) -> pa.Table:
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
    n_filters = len(FILTERS)
    columns = {
        name: _dictionary(np.tile(places, n_filters), names)
        for name, (places, names) in repeated.items()
    }
    columns["variable"] = pa.nulls(n_filters * len(hard), pa.int8())
    columns["answer"] = np.tile(hard, n_filters)
    columns["filter"] = _dictionary(np.repeat(np.arange(n_filters), len(hard)), list(FILTERS))
    for name in Competitors._fields:
        found = [getattr(count, name) for count in counts]
        columns[name] = np.concatenate([np.empty((n_filters, 0), np.int32), *found], axis=1).ravel()
    columns["links"] = np.tile(links, n_filters)
    return pa.table(columns)


def _dictionary(places: np.ndarray, names) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), pa.array(names, pa.string()))


if __name__ == "__main__":
    log_to(snakemake.log[0])
    rank_answers(
        path_to_predictions=snakemake.input.predictions,
        path_to_sidecar=snakemake.input.sidecar,
        path_to_answers=snakemake.input.answers,
        path_to_ranks=snakemake.output.ranks,
        path_to_tops=snakemake.output.tops,
        depth=snakemake.params.depth,
    )
