"""Query sets with their answers as they are handed to a writer: whole, by split and shape."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from clqa.errors import InputError
from clqa.files import replacing
from clqa.formulas import parse
from clqa.graphs import Graph
from clqa.pickles import write_pickle
from clqa.query_sets import Answers, AnswerTable, Queries, QueryTable, set_hash
from clqa.shape_groups import arity


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
    candidates = shards[0].answers.candidates
    queries = QueryTable(shapes[0], _described(shards[0].queries.metadata, formulas, shapes[0]))
    answers = _described(shards[0].answers.metadata, formulas, shapes[0])
    return QuerySet(queries, AnswerTable(shapes[1], answers, candidates))


def by_arity(one: QuerySet) -> dict[int, QuerySet]:
    """The shapes of each number of free variables, as sets of their own."""
    formulas = one.queries.metadata["formulas"]
    found: dict[int, list[str]] = {}
    for shape in one.queries.shapes:
        found.setdefault(arity(parse(formulas[shape])), []).append(shape)
    parts = {}
    for n_variables, names in found.items():
        asked, known = ({s: t.shapes[s] for s in names} for t in (one.queries, one.answers))
        own = {shape: formulas[shape] for shape in names}
        queries = QueryTable(asked, _described(one.queries.metadata, own, asked))
        answers = _described(one.answers.metadata, own, asked)
        table = AnswerTable(known, answers, one.answers.candidates)
        parts[n_variables] = QuerySet(queries, table)
    return parts


def _described(metadata: dict, formulas: dict[str, str], shapes: dict[str, Queries]) -> dict:
    """The metadata of a table with these shapes alone."""
    ids = [name for rows in shapes.values() for name in rows.query_ids]
    kept = {key: value for key, value in metadata.items() if key != "arity"}
    arities = {arity(parse(text)) for text in formulas.values()}
    several = {"arity": max(arities)} if max(arities, default=1) > 1 else {}
    return {**kept, "formulas": formulas, "queries": set_hash(ids), **several}


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
