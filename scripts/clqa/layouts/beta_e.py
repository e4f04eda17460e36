"""Queries and answers as the BetaE release and its followers have them: three pickles a split."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula
from clqa.pickles import read_pickle
from clqa.published_sets import Release, Source, batch
from clqa.release_ids import ReleaseIds
from clqa.structures import Malformed, groundings, structure_formula

# What the sets are, by the role of their file; tp, fn and fp are the names of the generator.
SETS = {
    "easy": "easy",
    "tp": "easy",
    "hard": "hard",
    "fn": "hard",
    "fp": "retracted",
    "answers": "full",
}


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
) -> Release:
    """The shapes that are asked for, from `queries` and the answers beside it.

    Raises
    ------
    InputError
        If a file is not what the layout has. What is wrong with one shape only is told in the
        `refused` of the release.
    """
    content = _table(files, names, "queries")
    by_formula = {}
    for structure in content:
        try:
            by_formula[canonical(structure_formula(structure))[0]] = structure
        except InputError as error:
            raise InputError(f"{names['queries']}: {error}") from None
    roles = [role for role in SETS if role in files]
    answers = {role: _table(files, names, role) for role in roles}
    release = Release({}, {})
    for shape, formula in formulas.items():
        try:
            structure = by_formula.get(canonical(formula)[0])
            if structure is None:
                raise InputError(f"{names['queries']}, {shape}: no queries of this structure")
            source = _source(structure, content[structure], answers, names, shape)
            release.shapes[shape] = batch(shape, source, formula, ids)
        except InputError as error:
            release.refused[shape] = str(error)
    return release


def _table(files: Mapping[str, Path], names: Mapping[str, str], role: str) -> dict:
    content = read_pickle(files[role], names[role])
    if not isinstance(content, dict):
        raise InputError(f"{names[role]}: expected a dict, found a {type(content).__name__}")
    return content


def _source(structure, queries, answers, names, shape) -> Source:
    queries = in_order(queries, answers.get("hard") or answers.get("fn") or answers.get("answers"))
    found = groundings(queries, structure)
    if isinstance(found, Malformed):
        raise InputError(f"{names['queries']}, {shape}, query {found.query!r}: {found.reason}")
    sets = {
        SETS[role]: (answers_of(queries, known, names[role], shape), names[role])
        for role, known in answers.items()
    }
    return Source(queries, *found, structure_formula(structure), sets, names["queries"])


def in_order(queries, answers: dict | None) -> list:
    """A set of queries in the order in which the file of their answers has them."""
    asked = set(queries)
    listed = [query for query in answers or () if query in asked]
    return listed + sorted(asked.difference(listed), key=repr)


def answers_of(queries: list, known: dict, file: str, shape: str) -> list:
    """The answers of each query; a `defaultdict` leaves out those that have none."""
    rows = list(map(known.get, queries))
    for query, row in zip(queries, rows, strict=True):
        if not isinstance(row, (set, frozenset, list, tuple)) and not (
            row is None and isinstance(known, defaultdict)
        ):
            what = "has no answers" if row is None else f"has {type(row).__name__} for answers"
            raise InputError(f"{file}, {shape}, query {query!r}: {what}; expected a set of ids")
    return [() if row is None else row for row in rows]
