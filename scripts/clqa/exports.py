"""Query sets with their answers, written in the layouts that published code reads."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.exported_sets import (
    QuerySet,
    Vocabulary,
    by_arity,
    need_hard,
    refuse_selection,
    shapes_of,
    write_vocabulary,
)
from clqa.files import replacing
from clqa.filters import full_only
from clqa.formulas import parse
from clqa.graphs import SPLITS, Graph
from clqa.json_exports import write_efok_json, write_json_lines
from clqa.pickles import write_pickle
from clqa.published_sets import columns
from clqa.query_sets import write_answers, write_queries
from clqa.ragged import Ragged
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
        for shape, rows, answers in shapes_of(sets.get(split)):
            try:
                layout = formula_layout(parse(sets[split].queries.metadata["formulas"][shape]))
                need_hard(answers)
            except InputError as error:
                refused[shape] = str(error)
                continue
            written = grounded(layout, rows.anchors, rows.relations)
            queries.setdefault(layout.structure, set()).update(written)
            easy |= zip(written, _sets(answers.easy), strict=True)
            hard |= zip(written, _sets(answers.hard), strict=True)
        write_pickle(folder / f"{split}-queries.pkl", queries)
        if split == "train":
            write_pickle(folder / "train-answers.pkl", hard)
        else:
            write_pickle(folder / f"{split}-easy-answers.pkl", easy)
            write_pickle(folder / f"{split}-hard-answers.pkl", hard)
    names = (("id2ent", "ent2id"), ("id2rel", "rel2id"))
    write_vocabulary(folder, graph, vocabulary, names)
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
        for shape, rows, answers in shapes_of(one):
            formula = parse(one.queries.metadata["formulas"][shape])
            key = keys.get(canonical(formula)[0])
            try:
                if key is None:
                    raise InputError("the Query2Box layout has no such shape")
                refuse_selection(rows)
                need_hard(answers)
            except InputError as error:
                refused[shape] = str(error)
                continue
            own, common = QUERY2BOX[key]
            constants, relations = columns(formula, structure_formula(common))
            layout = formula_layout(structure_formula(common))._replace(structure=own)
            written = grounded(layout, rows.anchors[:, constants], rows.relations[:, relations])
            full = full_only(answers.easy, answers.hard, answers.retracted)
            hard = dict(zip(written, _sets(answers.hard), strict=True))
            listed = [_listed(query, key) for query in written]
            write_pickle(
                folder / f"{split}_ans_{key}.pkl", dict(zip(written, _sets(full), strict=True))
            )
            write_pickle(folder / f"{split}_ans_{key}_hard.pkl", hard)
            write_pickle(folder / f"{split}_triples_{key}.pkl", listed)
    write_vocabulary(folder, graph, vocabulary, (("ind2ent", None), ("ind2rel", None)))
    return refused


def _listed(query: tuple, key: str) -> tuple:
    """A query as the lists of Query2Box have it: with a place for an answer, and the task."""
    return ((*query[0], 0), TASKS[key]) if len(query) == 1 else (*query, 0, TASKS[key])


def write_neutral(
    folder: Path, sets: Mapping[str, QuerySet], graph: Graph, vocabulary: Vocabulary
) -> dict[str, str]:
    """Write the tables of queries and of answers, all shards in one.

    Shapes of different numbers of free variables have tables for each number, such as
    `test-2-queries.parquet`.
    """
    for split, every in sets.items():
        parts = by_arity(every)
        for arity, one in parts.items():
            name = split if len(parts) == 1 else f"{split}-{arity}"
            path = folder / f"{name}-queries.parquet"
            write_queries(path, one.queries.shapes, one.queries.metadata, source="exported")
            path = folder / f"{name}-answers.parquet"
            write_answers(path, one.answers.shapes, one.answers.metadata, one.answers.candidates)
    return {}


WRITERS: dict[str, Callable] = {
    "beta-e": write_beta_e,
    "query2box": write_query2box,
    "neutral": write_neutral,
    "efok-json": write_efok_json,
    "json-lines": write_json_lines,
}


def _sets(rows: Ragged) -> list[set[int]]:
    values, ends = rows.values.tolist(), rows.offsets.tolist()
    return [set(values[a:b]) for a, b in itertools.pairwise(ends)]
