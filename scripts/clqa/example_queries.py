"""Queries to look at, with the first of their answers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.formulas import Formula, parse
from clqa.printed_queries import values_of
from clqa.query_sets import Answers, AnswerTable, QueryTable

# Of a query set at most so many queries are shown, so many of a shape, and so many answers of each.
MOST, OF_A_SHAPE, EASY, HARD = 300, 20, 10, 20


class Example(NamedTuple):
    """A query with its answers as tuples of entities; `n_easy` and `n_hard` count all of them.

    Attributes
    ----------
    values : dict
        Ids of the constants and relations of the formula.
    """

    shape: str
    query_id: str
    formula: Formula
    values: dict[str, int]
    easy: list[tuple[int, ...]]
    hard: list[tuple[int, ...]]
    n_easy: int
    n_hard: int
    links: list[int]


def number_per_shape(n_shapes: int) -> int:
    """How many queries of each shape are shown; at least one."""
    return max(1, min(OF_A_SHAPE, MOST // max(n_shapes, 1)))


def examples(queries: QueryTable, answers: AnswerTable, shapes: Sequence[str]) -> list[Example]:
    """Of each of the first shapes the first queries with hard answers, in the order of their ids.

    Ids are hashes, so that these are not chosen by what they ask.

    Parameters
    ----------
    shapes : of the whole query set, of which the tables may hold a part
    """
    number, found = number_per_shape(len(shapes)), []
    for shape in (one for one in shapes[:MOST] if one in answers.shapes):
        own, asked = answers.shapes[shape], queries.shapes[shape]
        formula = parse(answers.metadata["formulas"][shape])
        for place in _chosen(own, number):
            row = int(np.flatnonzero(asked.query_ids == own.query_ids[place])[0])
            values = values_of(formula, asked.anchors[row], asked.relations[row])
            found.append(_example(shape, own, place, formula, values))
    return found


def _chosen(own: Answers, number: int) -> list[int]:
    places = np.flatnonzero(own.hard.lengths())
    return sorted(places.tolist(), key=lambda place: own.query_ids[place])[:number]


def _example(shape: str, own: Answers, place: int, formula: Formula, values: dict) -> Example:
    sets = []
    for rows, most in ((own.easy, EASY), (own.hard, HARD)):
        first, last = rows.offsets[place : place + 2].tolist()
        kept = rows.values[first : min(last, first + most)]
        sets.append(([tuple(np.atleast_1d(one).tolist()) for one in kept], last - first))
    (easy, n_easy), (hard, n_hard) = sets
    start = int(own.hard.offsets[place])
    links = own.links[start : start + len(hard)].tolist()
    query_id = str(own.query_ids[place])
    return Example(shape, query_id, formula, values, easy, hard, n_easy, n_hard, links)
