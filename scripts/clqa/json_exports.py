"""Query sets with their answers, written as JSON: a query a line, or as EFOk-CQA has them."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clqa.errors import InputError
from clqa.exported_sets import (
    QuerySet,
    Vocabulary,
    need_hard,
    refuse_selection,
    shapes_of,
    write_vocabulary,
)
from clqa.files import replacing
from clqa.formulas import (
    And,
    Atom,
    Formula,
    Not,
    Or,
    atoms,
    free_variables,
    parse,
    renamed,
    symbols,
    to_text,
    vectors,
)
from clqa.graphs import FULL, SPLITS, Graph, sorted_unique
from clqa.published_sets import SELECTION
from clqa.query_sets import Answers, Queries
from clqa.readings import binds_under_negation
from clqa.shape_groups import graph_class


def write_json_lines(
    folder: Path,
    sets: Mapping[str, QuerySet],
    graph: Graph,
    vocabulary: Vocabulary,
    fields: str = "ids",
) -> dict[str, str]:
    """Write a query with its answers on each line.

    Parameters
    ----------
    fields : {"ids", "labels"}
        What stands for entities and relations; labels of the ids are written beside.
    """
    entities, relations = (
        (np.arange(len(labels)) if fields == "ids" else np.array(labels.to_pylist(), object))
        for labels in vocabulary
    )
    for split, one in sets.items():
        easy = one.queries.metadata.get("easy")
        rule = {} if easy is None else {"selection": easy}
        with (
            replacing(folder / f"{split}.jsonl") as temporary,
            temporary.open("w", encoding="utf-8", newline="\n") as stream,
        ):
            for shape, rows, answers in shapes_of(one):
                formula = one.queries.metadata["formulas"][shape]
                selection = {k: getattr(rows, k) for k in SELECTION if getattr(rows, k) is not None}
                for place in range(len(rows.query_ids)):
                    query = {
                        "shape": shape,
                        "formula": formula,
                        "anchors": entities[rows.anchors[place]].tolist(),
                        "relations": relations[rows.relations[place]].tolist(),
                        "easy": entities[answers.easy.row(place)].tolist(),
                        "hard": entities[answers.hard.row(place)].tolist(),
                        "retracted": entities[answers.retracted.row(place)].tolist(),
                        **{k: entities[v.row(place)].tolist() for k, v in selection.items()},
                        **rule,
                    }
                    stream.write(json.dumps(query) + "\n")
    if fields == "ids":
        write_vocabulary(folder, graph, vocabulary, (("id2ent", None), ("id2rel", None)))
    return {}


def write_efok_json(
    folder: Path, sets: Mapping[str, QuerySet], graph: Graph, vocabulary: Vocabulary
) -> dict[str, str]:
    """Write what code for EFOk-CQA opens: a file for each type, the types, the graphs, the index.

    Types are numbered in the order of the shapes; `types.csv` says which formula is which.
    """
    refused: dict[str, str] = {}
    types: dict[str, tuple[str, str]] = {}
    for split, one in sets.items():
        for shape, rows, answers in shapes_of(one):
            formula = parse(one.queries.metadata["formulas"][shape])
            try:
                _check_scopes(formula)
                refuse_selection(rows)
                need_hard(answers)
            except InputError as error:
                refused[shape] = str(error)
                continue
            # Code for the layout looks answers up under `f1`, or `f1_f2`, whatever their names.
            free = free_variables(formula)
            formula = renamed(formula, {name: f"f{n}" for n, name in enumerate(free, start=1)})
            name, text = types.setdefault(shape, (f"type{len(types):04d}", _text(formula)))
            queries = _queries(formula, rows, answers, split)
            _write(folder / f"{split}_{name}_EFOX_qaa.json", {text: queries})
    _write_types(folder / "types.csv", types)
    entities, relations = (labels.to_pylist() for labels in vocabulary)
    index = {"e": entities, "r": relations}
    _write(
        folder / "kgindex.json",
        {key: {label: id_ for id_, label in enumerate(labels)} for key, labels in index.items()},
    )
    for split in SPLITS:
        triples = sorted_unique(np.concatenate([graph.triples[part] for part in FULL[split]]))
        with replacing(folder / f"{split}_kg.tsv") as temporary:
            np.savetxt(temporary, triples, fmt="%d", delimiter="\t")
    return refused


def _check_scopes(formula: Formula) -> None:
    if binds_under_negation(formula):
        raise InputError(
            f"formula '{to_text(formula)}': the layout binds existential variables before "
            "everything else, and not under a negation"
        )
    if vectors(formula):
        raise InputError(f"formula '{to_text(formula)}': the layout has no given degrees")


def _text(formula: Formula) -> str:
    """The formula as the layout has it, with every part of a conjunction in parentheses."""
    match formula:
        case Not(inner):
            return f"!{_text(inner)}" if isinstance(inner, Atom) else f"!({_text(inner)})"
        case And(parts) | Or(parts):
            sign = "&" if isinstance(formula, And) else "|"
            return sign.join(f"({_text(part)})" for part in parts)
        case _:
            return to_text(formula)


def _queries(formula: Formula, rows: Queries, answers: Answers, split: str) -> list[list]:
    """Grounding, easy and hard answers of each query; train queries have all in one list."""
    names = symbols(formula, "s") + symbols(formula, "r")
    free = free_variables(formula)
    ids = np.concatenate([rows.anchors, rows.relations], axis=1).tolist()
    found = []
    for place, own in enumerate(ids):
        easy, hard = (
            {"_".join(free): sets.row(place).reshape(-1, len(free)).tolist()}
            for sets in (answers.easy, answers.hard)
        )
        sets = [hard, []] if split == "train" else [easy, hard]
        found.append([dict(zip(names, own, strict=True)), *sets])
    return found


def _write(path: Path, content: dict) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


def _write_types(path: Path, types: dict[str, tuple[str, str]]) -> None:
    """The list of types: id, formula, numbers of symbols, and the name of the shape."""
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        table = csv.writer(stream, lineterminator="\n")
        sizes = ["f_num", "e_num", "c_num", "edge_num"]
        table.writerow(["", "formula_id", "formula", *sizes, "cyclic", "multi", "shape"])
        for number, (shape, (name, text)) in enumerate(types.items()):
            formula = parse(text)
            free, bound, constants = (len(symbols(formula, kind)) for kind in "fes")
            # What the release has as edge_num: edges beyond those of a tree of the variables.
            beyond = len(list(atoms(formula))) - free - bound + 1
            graph = graph_class(formula)
            flags = [graph == "cyclic", graph == "multi"]
            table.writerow([number, name, text, free, bound, constants, beyond, *flags, shape])
