"""Query sets with their answers as they are handed to a writer: whole, by split and shape."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from clqa.errors import InputError
from clqa.files import replacing
from clqa.graphs import Graph
from clqa.pickles import write_pickle
from clqa.query_sets import Answers, AnswerTable, Queries, QueryTable, set_hash


class QuerySet(NamedTuple):
    """All shards of a query set: queries and answers by shape, and the metadata of both."""

    queries: QueryTable
    answers: AnswerTable

    @property
    def split(self) -> str:
        return self.queries.metadata["split"]


class Vocabulary(NamedTuple):
    entities: pa.Array
    relations: pa.Array


def joined_shards(shards: list[QuerySet]) -> QuerySet:
    """One table of all shards.

    Raises
    ------
    InputError
        If a shard's answers are of other queries.
    """
    shapes: tuple[dict[str, Queries], dict[str, Answers]] = ({}, {})
    formulas: dict[str, str] = {}
    for shard in shards:
        for shape, rows in shard.queries.shapes.items():
            if list(rows.query_ids) != list(shard.answers.shapes[shape].query_ids):
                raise InputError(f"{shape}: the answers are of other queries; split them again")
            shapes[0][shape], shapes[1][shape] = rows, shard.answers.shapes[shape]
        formulas |= shard.queries.metadata["formulas"]
    own = {
        "formulas": formulas,
        "queries": set_hash(name for rows in shapes[0].values() for name in rows.query_ids),
    }
    return QuerySet(
        QueryTable(shapes[0], shards[0].queries.metadata | own),
        AnswerTable(shapes[1], shards[0].answers.metadata | own, shards[0].answers.candidates),
    )


def shapes_of(one: QuerySet | None) -> Iterator[tuple[str, Queries, Answers]]:
    """Each shape with its queries and answers; none of no query set."""
    for shape, rows in one.queries.shapes.items() if one else ():
        yield shape, rows, one.answers.shapes[shape]


def refuse_selection(queries: Queries) -> None:
    """Raise `InputError` where only some of the hard answers are asked for."""
    if queries.selected is not None:
        raise InputError(
            "its hard answers are a selection, which the layout cannot say; use the layout "
            "neutral, json-lines or beta-e"
        )


def need_hard(answers: Answers) -> None:
    """Raise `InputError` unless every query has something to rank."""
    without = int((answers.hard.lengths() == 0).sum())
    if without:
        raise InputError(
            f"{without} queries have no hard answer, which code for this layout cannot "
            "rank; use the layout neutral"
        )


def write_vocabulary(folder: Path, graph: Graph, vocabulary: Vocabulary, names) -> None:
    """Write pickled dictionaries, by the names of those from ids and to ids, and `stats.txt`."""
    for labels, (forward, backward) in zip(vocabulary, names, strict=True):
        by_id = dict(enumerate(labels.to_pylist()))
        write_pickle(folder / f"{forward}.pkl", by_id)
        if backward:
            write_pickle(folder / f"{backward}.pkl", {label: id_ for id_, label in by_id.items()})
    with replacing(folder / "stats.txt") as temporary:
        text = f"numentity: {graph.n_entities}\nnumrelations: {graph.n_relations}\n"
        temporary.write_text(text, encoding="utf-8")
