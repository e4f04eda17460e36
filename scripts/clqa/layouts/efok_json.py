"""Queries and answers as EFOk-CQA and FIT have them: JSON of formulas with their groundings.

A file is an object from formulas to lists of queries. A query is a list of a grounding
(`{"s1": 5, "r1": 0}`), easy answers and hard answers; answers are under the names of the free
variables, joined by `_` in whichever order the ids of each answer have: `{"f": [[3], [7]]}`, or
`{"f1_f2": [[3, 7]]}` for pairs. Where there is a
single free variable they may be plain ids. An empty list in place of the hard answers, as train
queries have it, says that the first ones are all answers.

The role `index` is the release's dictionary (`kgindex.json`: `{"e": {label: id}, "r": …}`); all
other roles are files of queries.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula, free_variables, parse, symbols, to_text
from clqa.graph_entries import DICTIONARIES
from clqa.json_objects import read_object
from clqa.plans import plan
from clqa.published_sets import Batch, Release, Source, batch
from clqa.readings import binds_under_negation
from clqa.release_ids import ReleaseIds
from clqa.shape_files import read_shapes

_MOST = 2**31 - 1


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
) -> Release:
    """The shapes that are asked for, each known by its formula or by the role of its file."""
    roles = [role for role in files if role not in ("index", *DICTIONARIES)]

    def load(role: str) -> dict[str, tuple[str, str, list]]:
        return {
            key: (names[role], text, rows)
            for key, (text, rows) in _by_formula(files[role], names[role]).items()
        }

    def read_shape(shape: str, formula: Formula, content: tuple[str, str, list]) -> Batch:
        source = _source(*content, shape)
        try:
            _check_scopes(source.formula)
            plan(formula)
        except InputError as error:
            raise InputError(f"{source.file}, {shape}: {error}") from None
        return batch(shape, source, formula, ids)

    return read_shapes(roles, names, formulas, load, read_shape)


def _by_formula(path: Path, name: str) -> dict[str, tuple[str, list]]:
    """Formula text and queries of a file, by canonical formula."""
    found: dict[str, tuple[str, list]] = {}
    for text, rows in read_object(path, name).items():
        try:
            key = canonical(parse(text))[0]
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        if key in found:
            raise InputError(f"{name}: one formula in two ways, as {found[key][0]} and as {text}")
        if not isinstance(rows, list):
            raise InputError(f"{name}, {text}: expected a list of queries")
        found[key] = (text, rows)
    return found


def _source(file: str, text: str, rows: list, shape: str) -> Source:
    formula = parse(text)
    terms, relations = symbols(formula, "s"), symbols(formula, "r")
    free = free_variables(formula)
    expected = {*terms, *relations}
    grounding, sets = [], {}
    kinds = _kinds(rows)
    for number, query in enumerate(rows):
        place = f"{file}, {shape}, query {number}"
        if not isinstance(query, list) or len(query) != 3 or not isinstance(query[0], dict):
            raise InputError(f"{place}: expected a list of a grounding, easy and hard answers")
        own, *answers = query
        if own.keys() != expected:
            names = ", ".join(sorted(own.keys() ^ expected))
            raise InputError(f"{place}: its grounding is not one of {text} ({names})")
        if any(type(one) is not int or abs(one) > _MOST for one in own.values()):
            raise InputError(f"{place}: expected ids (whole numbers) as its grounding")
        grounding.append([own[name] for name in (*terms, *relations)])
        if _kinds([query]) != kinds:
            raise InputError(f"{place}: other sets of answers than the first query has")
        for kind, one in zip(kinds, answers, strict=False):
            sets.setdefault(kind, []).append(_tuples(one, free, place, kind))
    width = len(terms) + len(relations)
    ids = np.array(grounding, np.int32).reshape(len(grounding), width)
    if len(free) == 1:
        sets = {k: [[one for (one,) in answers] for answers in rows] for k, rows in sets.items()}
    named = {kind: (lists, file) for kind, lists in sets.items()}
    places = list(range(len(rows)))
    return Source(places, ids[:, : len(terms)], ids[:, len(terms) :], formula, named, file)


def _check_scopes(formula: Formula) -> None:
    if binds_under_negation(formula):
        raise InputError(
            f"formula '{to_text(formula)}' has an existential variable that only a negation "
            "speaks of; the layout binds it before the negation, which no formula here can say"
        )


def _kinds(rows: list) -> tuple[str, ...]:
    """Which sets the queries have; the first one tells."""
    first = rows[0] if rows else None
    is_train = isinstance(first, list) and len(first) == 3 and first[2] == []
    return ("full",) if is_train else ("easy", "hard")


def _tuples(answers: object, free: Sequence[str], place: str, kind: str) -> list[tuple[int, ...]]:
    """Answers as tuples in the order of `free`, whatever the order in which they are written.

    An object without any answers may name no variables.
    """
    names = list(answers) if isinstance(answers, dict) else [""]
    written = names[0].split("_") if names else list(free)
    if len(names) > 1 or sorted(written) != sorted(free):
        expected = "_".join(free)
        raise InputError(f"{place}: expected an object of {kind} answers under {expected!r}")
    rows = answers[names[0]] if names else []
    if not isinstance(rows, list):
        raise InputError(f"{place}: expected a list of {kind} answers")
    found = [tuple(row) if isinstance(row, list) else (row,) for row in rows]
    for row in found:
        if len(row) != len(free) or any(type(one) is not int for one in row):
            raise InputError(f"{place}: {kind} answers must be ids for {', '.join(written)}")
    if written == list(free):
        return found
    columns = [written.index(name) for name in free]
    return [tuple(row[column] for column in columns) for row in found]
