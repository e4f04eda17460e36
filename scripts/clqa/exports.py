"""Query sets with their answers, written in the layouts that published code reads."""

import itertools
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.files import replacing
from clqa.formulas import parse
from clqa.graphs import SPLITS, Graph
from clqa.published_sets import columns
from clqa.query_sets import (
    Answers,
    AnswerTable,
    Queries,
    QueryTable,
    set_hash,
    write_answers,
    write_queries,
)
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, merged, selected
from clqa.structures import QUERY2BOX, formula_layout, grounded, structure_formula

# How the lists of Query2Box call its shapes.
TASKS = {
    "1c": "1-chain",
    "2c": "2-chain",
    "3c": "3-chain",
    "2i": "2-inter",
    "3i": "3-inter",
    "ic": "inter-chain",
    "ci": "chain-inter",
    "2u": "2-union",
    "uc": "union-chain",
}


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


def write_beta_e(
    folder: Path, sets: Mapping[str, QuerySet], graph: Graph, vocabulary: Vocabulary
) -> dict[str, str]:
    """Write every file that code for the BetaE release opens.

    Parameters
    ----------
    sets : by split; of a split without any the files are there and hold nothing

    Returns
    -------
    dict of str
        For each shape that the layout cannot express, why.
    """
    refused: dict[str, str] = {}
    for split in SPLITS:
        queries, easy, hard = {}, {}, {}
        for shape, rows, answers in _shapes(sets.get(split)):
            try:
                layout = formula_layout(parse(sets[split].queries.metadata["formulas"][shape]))
                _need_hard(answers)
            except InputError as error:
                refused[shape] = str(error)
                continue
            written = grounded(layout, rows.anchors, rows.relations)
            queries.setdefault(layout.structure, set()).update(written)
            easy |= zip(written, _sets(answers.easy), strict=True)
            hard |= zip(written, _sets(answers.hard), strict=True)
        _dump(folder / f"{split}-queries.pkl", queries)
        if split == "train":
            _dump(folder / "train-answers.pkl", hard)
        else:
            _dump(folder / f"{split}-easy-answers.pkl", easy)
            _dump(folder / f"{split}-hard-answers.pkl", hard)
    names = (("id2ent", "ent2id"), ("id2rel", "rel2id"))
    _write_vocabulary(folder, graph, vocabulary, names)
    for split in SPLITS:
        with replacing(folder / f"{split}.txt") as temporary:
            np.savetxt(temporary, graph.triples[split], fmt="%d", delimiter="\t")
    return refused


def write_query2box(
    folder: Path, sets: Mapping[str, QuerySet], graph: Graph, vocabulary: Vocabulary
) -> dict[str, str]:
    """Write queries, all answers and hard answers of each shape that Query2Box has."""
    keys = {canonical(structure_formula(common))[0]: key for key, (_, common) in QUERY2BOX.items()}
    refused: dict[str, str] = {}
    for split, one in sets.items():
        for shape, rows, answers in _shapes(one):
            formula = parse(one.queries.metadata["formulas"][shape])
            key = keys.get(canonical(formula)[0])
            try:
                if key is None:
                    raise InputError("the Query2Box layout has no such shape")
                _need_hard(answers)
            except InputError as error:
                refused[shape] = str(error)
                continue
            own, common = QUERY2BOX[key]
            constants, relations = columns(formula, structure_formula(common))
            layout = formula_layout(structure_formula(common))._replace(structure=own)
            written = grounded(layout, rows.anchors[:, constants], rows.relations[:, relations])
            full = _full(answers, graph.n_entities)
            hard = dict(zip(written, _sets(answers.hard), strict=True))
            listed = [_listed(query, key) for query in written]
            _dump(folder / f"{split}_ans_{key}.pkl", dict(zip(written, _sets(full), strict=True)))
            _dump(folder / f"{split}_ans_{key}_hard.pkl", hard)
            _dump(folder / f"{split}_triples_{key}.pkl", listed)
    _write_vocabulary(folder, graph, vocabulary, (("ind2ent", None), ("ind2rel", None)))
    return refused


def _listed(query: tuple, key: str) -> tuple:
    """A query as the lists of Query2Box have it: with a place for an answer, and the task."""
    return ((*query[0], 0), TASKS[key]) if len(query) == 1 else (*query, 0, TASKS[key])


def write_neutral(
    folder: Path, sets: Mapping[str, QuerySet], graph: Graph, vocabulary: Vocabulary
) -> dict[str, str]:
    """Write the tables of queries and of answers, all shards in one."""
    for split, one in sets.items():
        path = folder / f"{split}-queries.parquet"
        write_queries(path, one.queries.shapes, one.queries.metadata, source="exported")
        path = folder / f"{split}-answers.parquet"
        write_answers(path, one.answers.shapes, one.answers.metadata, one.answers.candidates)
    return {}


def write_json_lines(
    folder: Path, sets: Mapping[str, QuerySet], graph: Graph, vocabulary: Vocabulary
) -> dict[str, str]:
    """Write a query with its answers on each line, and the labels of the ids beside."""
    for split, one in sets.items():
        with (
            replacing(folder / f"{split}.jsonl") as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as stream,
        ):
            for shape, rows, answers in _shapes(one):
                formula = one.queries.metadata["formulas"][shape]
                for place in range(len(rows.query_ids)):
                    query = {
                        "shape": shape,
                        "formula": formula,
                        "anchors": rows.anchors[place].tolist(),
                        "relations": rows.relations[place].tolist(),
                        "easy": answers.easy.row(place).tolist(),
                        "hard": answers.hard.row(place).tolist(),
                        "retracted": answers.retracted.row(place).tolist(),
                    }
                    stream.write(json.dumps(query) + "\n")
    _write_vocabulary(folder, graph, vocabulary, (("id2ent", None), ("id2rel", None)))
    return {}


WRITERS: dict[str, Callable] = {
    "beta-e": write_beta_e,
    "query2box": write_query2box,
    "neutral": write_neutral,
    "json-lines": write_json_lines,
}


def _shapes(one: QuerySet | None):
    for shape, rows in one.queries.shapes.items() if one else ():
        yield shape, rows, one.answers.shapes[shape]


def _need_hard(answers: Answers) -> None:
    without = int((answers.hard.lengths() == 0).sum())
    if without:
        raise InputError(
            f"{without} queries have no hard answer, which code for this layout cannot "
            "rank; use the layout neutral"
        )


def _full(answers: Answers, n_entities: int) -> Ragged:
    kept = ~is_shared(answers.easy, answers.retracted, n_entities)
    return merged(selected(answers.easy, kept), answers.hard, n_entities)


def _sets(rows: Ragged) -> list[set[int]]:
    values, ends = rows.values.tolist(), rows.offsets.tolist()
    return [set(values[a:b]) for a, b in itertools.pairwise(ends)]


def _write_vocabulary(folder: Path, graph: Graph, vocabulary: Vocabulary, names) -> None:
    for labels, (forward, backward) in zip(vocabulary, names, strict=True):
        by_id = dict(enumerate(labels.to_pylist()))
        _dump(folder / f"{forward}.pkl", by_id)
        if backward:
            _dump(folder / f"{backward}.pkl", {label: id_ for id_, label in by_id.items()})
    with replacing(folder / "stats.txt") as temporary:
        text = f"numentity: {graph.n_entities}\nnumrelations: {graph.n_relations}\n"
        temporary.write_text(text, encoding="utf-8")


def _dump(path: Path, content: object) -> None:
    """Pickle of plain dicts, sets, lists, tuples, numbers and strings."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(content, stream, protocol=4)
