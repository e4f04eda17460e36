"""Queries and answers as EFO-1-QA has them: a CSV file for each type of query.

Each row is a query: `easy_answers` and `hard_answers` are lists of ids, and each of the columns
named as in `clqa.operator_strings.FORMS` has the query in one of nine normal forms, as JSON:
`{"o": "p", "a": [[4], {"o": "e", "a": [7]}]}` is the projection by relation 4 of entity 7. The role
`formulas` is the published list of types, if it is there; all other roles are files of queries.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clqa.archives import check_form
from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula, symbols
from clqa.graph_entries import DICTIONARIES
from clqa.grounded_operators import filled, grounded_operator, numbers_of, settled
from clqa.operator_strings import FORMS, Operator, in_order, parse, to_formula, to_text
from clqa.published_sets import Batch, Release, Source, batch
from clqa.release_ids import ReleaseIds
from clqa.shape_files import read_shapes

ANSWERS = {"easy_answers": "easy", "hard_answers": "hard"}
_LONGEST_CELL = 1 << 28


class _Table(NamedTuple):
    """Rows of one file, with the operator string of the form that is read."""

    file: str
    text: str
    rows: list[dict[str, str]]
    published: dict[str, str]


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
    form: str = "original",
) -> Release:
    """The shapes that are asked for, each known by its formula or by the role of its file.

    Parameters
    ----------
    form : str
        Column that the queries are read from; the others are held against the original form.
    """
    roles = [role for role in files if role not in ("formulas", *DICTIONARIES)]
    listed = _listed(files["formulas"], names["formulas"]) if "formulas" in files else {}

    def load(role: str) -> dict[str, _Table]:
        rows = _rows(files[role], names[role], (form, *ANSWERS))
        if not rows:
            raise InputError(f"{names[role]}: has no queries")
        try:
            text = to_text(in_order(grounded_operator(rows[0][form])))
            key = canonical(to_formula(parse(text)))[0]
        except InputError as error:
            raise InputError(f"{names[role]}, query 0: {error}") from None
        return {key: _Table(names[role], text, rows, listed.get(role, {}))}

    def read_shape(shape: str, formula: Formula, table: _Table) -> Batch:
        _check_listed(table, shape, form)
        return batch(shape, _source(table, shape, form), formula, ids)

    return read_shapes(roles, names, formulas, load, read_shape)


def _rows(path: Path, name: str, needed: tuple[str, ...]) -> list[dict[str, str]]:
    check_form(path, name, refuse_web_page=True)
    csv.field_size_limit(_LONGEST_CELL)
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            columns, rows = reader.fieldnames or (), list(reader)
    except (csv.Error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: cut short, damaged, or not CSV ({reason})") from None
    missing = [column for column in needed if column not in columns]
    if missing:
        raise InputError(f"{name}: lacks the columns {', '.join(missing)}")
    for number, row in enumerate(rows):
        if None in row or None in row.values():
            raise InputError(f"{name}, query {number}: too many or too few cells")
    return rows


def _listed(path: Path, name: str) -> dict[str, dict[str, str]]:
    """The published operator strings of each type by normal form."""
    return {row["formula_id"]: row for row in _rows(path, name, ("formula_id", *FORMS))}


def _check_listed(table: _Table, shape: str, form: str) -> None:
    """Raise `InputError` unless the queries are of the type that the published list has."""
    if table.published:
        expected = table.published[form]
        if to_text(in_order(parse(expected))) != table.text:
            raise InputError(
                f"{table.file}, {shape}: its queries are {table.text} where the list of types has "
                f"{expected}"
            )


def _source(table: _Table, shape: str, form: str) -> Source:
    formula = to_formula(parse(table.text))
    columns = [[int(symbol[1:]) - 1 for symbol in symbols(formula, kind)] for kind in ("s", "r")]
    rewritten = _rewritten(table)
    grounding: tuple[list, list] = ([], [])
    sets = {name: ([], table.file) for name in ANSWERS.values()}
    for number, row in enumerate(table.rows):
        try:
            operator = in_order(grounded_operator(row[form]))
            if to_text(operator) != table.text:
                raise InputError(f"it is {to_text(operator)}, and not {table.text} as the first")
            _check_forms(row, rewritten)
            for column, name in ANSWERS.items():
                sets[name][0].append(_answers(row[column], column))
        except InputError as error:
            raise InputError(f"{table.file}, {shape}, query {number}: {error}") from None
        for ids, found in zip(grounding, numbers_of(operator), strict=True):
            ids.append(found)
    anchors, relations = (
        np.array(ids, np.int32)[:, own] for ids, own in zip(grounding, columns, strict=True)
    )
    places = list(range(len(table.rows)))
    return Source(places, anchors, relations, formula, sets, table.file)


def _rewritten(table: _Table) -> dict[str, Operator]:
    """Our rewriting of the original form for each other column that the file has."""
    first = table.rows[0]
    if "original" not in first:
        return {}
    original = parse(to_text(in_order(grounded_operator(first["original"]))))
    return {form: rewrite(original) for form, rewrite in FORMS.items() if form in first}


def _check_forms(row: dict[str, str], rewritten: dict[str, Operator]) -> None:
    """Raise `InputError` unless all forms of a query are one query."""
    if not rewritten:
        return
    original = in_order(grounded_operator(row["original"]))
    if to_text(original) != to_text(rewritten["original"]):
        raise InputError("its original form is another one than that of the first query")
    entities, relations = numbers_of(original)
    for form, operator in rewritten.items():
        if settled(filled(operator, entities, relations)) != settled(grounded_operator(row[form])):
            raise InputError(f"the form {form} is not the original one rewritten")


def _answers(cell: str, column: str) -> list:
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise InputError(f"expected a list of ids as {column}")
    return found
