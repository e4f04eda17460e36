"""Queries to look at: labels, answers, and the rank of each hard answer under each model."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.formulas import parse
from clqa.printed_queries import values_of, with_labels
from clqa.query_sets import Answers, AnswerTable, QueryTable
from clqa.rank_curves import Ranked

# Of a query set at most so many queries are shown, so many of a shape, and so many answers of each.
MOST, OF_A_SHAPE, EASY, HARD = 300, 20, 10, 20


class Example(NamedTuple):
    """A query with its answers as tuples of entities; `n_easy` and `n_hard` count all of them."""

    shape: str
    query_id: str
    text: str
    easy: list[tuple[int, ...]]
    hard: list[tuple[int, ...]]
    n_easy: int
    n_hard: int
    links: list[int]


def number_per_shape(n_shapes: int) -> int:
    """How many queries of each shape are shown; at least one."""
    return max(1, min(OF_A_SHAPE, MOST // max(n_shapes, 1)))


def examples(
    queries: QueryTable, answers: AnswerTable, number: int, entities, relations
) -> list[Example]:
    """Of each shape the first queries with hard answers, in the order of their ids.

    Ids are hashes, so that these are not chosen by what they ask.

    Parameters
    ----------
    number : most queries of a shape
    entities, relations : sequences of str
        Labels by id.
    """
    found = []
    for shape, own in answers.shapes.items():
        formula, asked = parse(answers.metadata["formulas"][shape]), queries.shapes[shape]
        for place in _chosen(own, number):
            row = int(np.flatnonzero(asked.query_ids == own.query_ids[place])[0])
            values = values_of(formula, asked.anchors[row], asked.relations[row])
            text = with_labels(formula, values, entities, relations)
            found.append(_example(shape, own, place, text))
    return found


def _chosen(own: Answers, number: int) -> list[int]:
    places = np.flatnonzero(own.hard.lengths())
    return sorted(places.tolist(), key=lambda place: own.query_ids[place])[:number]


def _example(shape: str, own: Answers, place: int, text: str) -> Example:
    sets = []
    for rows, most in ((own.easy, EASY), (own.hard, HARD)):
        first, last = rows.offsets[place : place + 2].tolist()
        kept = rows.values[first : min(last, first + most)]
        sets.append(([tuple(np.atleast_1d(one).tolist()) for one in kept], last - first))
    (easy, n_easy), (hard, n_hard) = sets
    start = int(own.hard.offsets[place])
    links = own.links[start : start + len(hard)].tolist()
    return Example(shape, str(own.query_ids[place]), text, easy, hard, n_easy, n_hard, links)


def example_ranks(chosen: Iterable[Example], ranked: Ranked) -> dict[str, list]:
    """For each query the best and the worst rank of each hard answer that is shown.

    Ranks of tied candidates lie between them. Of an answer of several variables each value has
    ranks; an answer that was not ranked has None.
    """
    chosen = list(chosen)
    ids = pa.array([one.query_id for one in chosen], pa.string())
    rows = ranked.table.filter(pc.is_in(ranked.table["query_id"].cast(pa.string()), value_set=ids))
    names = ("query_id", "variable", "answer", "greater", "tied")
    columns = (rows[name].to_pylist() for name in names)
    ranks = {
        (query, variable or 1, answer): [greater + 1, greater + tied + 1]
        for query, variable, answer, greater, tied in zip(*columns, strict=True)
    }
    return {
        one.query_id: [
            [ranks.get((one.query_id, place, entity)) for place, entity in enumerate(answer, 1)]
            for answer in one.hard
        ]
        for one in chosen
    }


def browser(chosen: Iterable[Example], ranks: Mapping[str, Mapping[str, list]], entities) -> dict:
    """The examples of a query set as JSON; `ranks` by model, `entities` their labels by id."""
    chosen = list(chosen)
    used = sorted({entity for one in chosen for tuple_ in one.easy + one.hard for entity in tuple_})
    place = {entity: number for number, entity in enumerate(used)}
    return {
        "models": list(ranks),
        "labels": [entities[entity] for entity in used],
        "queries": [
            {
                "shape": one.shape,
                "id": one.query_id,
                "text": one.text,
                "easy": [[place[entity] for entity in tuple_] for tuple_ in one.easy],
                "hard": [[place[entity] for entity in tuple_] for tuple_ in one.hard],
                "n": [one.n_easy, one.n_hard],
                "links": one.links,
                "ranks": [_shortened(found[one.query_id]) for found in ranks.values()],
            }
            for one in chosen
        ],
    }


def _shortened(answers: list[list]) -> list:
    """Ranks of one variable without a list around them, and equal ends as one number."""
    short = [
        [ends[0] if ends and ends[0] == ends[1] else ends for ends in answer] for answer in answers
    ]
    return [answer[0] if len(answer) == 1 else answer for answer in short]
