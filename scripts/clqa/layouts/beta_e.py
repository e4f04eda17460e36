"""Queries and answers as the BetaE release and its followers have them: three pickles a split."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from clqa.canonical_forms import canonical
from clqa.errors import InputError, abridged
from clqa.formulas import Formula
from clqa.pickles import read_pickle
from clqa.published_sets import Release, Source, batch, release_of
from clqa.release_ids import ReleaseIds
from clqa.structures import Malformed, Structure, groundings, structure_formula

log = logging.getLogger(__name__)

# What the sets are, by the role of their file; tp, fn and fp are the names of the generator.
SETS = {
    "easy": "easy",
    "tp": "easy",
    "hard": "hard",
    "fn": "hard",
    "fp": "retracted",
    "answers": "full",
}
COLLECTIONS = (set, frozenset, list, tuple)


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
    nested: bool = False,
) -> Release:
    """The shapes that are asked for, from `queries` and the answers beside it.

    Parameters
    ----------
    nested : bool
        Whether answers are by structure and then by query, as UltraQuery has them.

    Raises
    ------
    InputError
        If a file is not what the layout has. What is wrong with one shape only is told in the
        `refused` of the release.
    """
    source = opened(files, names, nested)
    return release_of(formulas, lambda shape, f: batch(shape, source(shape, f), f, ids))


def opened(
    files: Mapping[str, Path], names: Mapping[str, str], nested: bool = False
) -> Callable[[str, Formula], Source]:
    """What gives the queries of a shape, by its name for messages and its formula."""
    content = table(files, names, "queries")
    by_formula, strange = _structures(content)
    answers = {role: table(files, names, role) for role in SETS if role in files}

    def source(shape: str, formula: Formula) -> Source:
        structure = by_formula.get(canonical(formula)[0])
        if structure is None:
            raise InputError(
                f"{names['queries']}: {strange[0]}"
                if strange
                else f"{names['queries']}, {shape}: no queries of this structure"
            )
        known = answers
        if nested:
            known = {r: _of_structure(t, structure, names[r], shape) for r, t in answers.items()}
        return _source(structure, content[structure], known, names, shape)

    return source


def _structures(content: dict) -> tuple[dict[str, Structure], list[str]]:
    """Structures by canonical formula, and what is wrong with keys that are none."""
    by_formula, strange = {}, []
    for structure in content:
        try:
            by_formula[canonical(structure_formula(structure))[0]] = structure
        except InputError as error:
            strange.append(str(error))
            log.warning("%s", error)
    return by_formula, strange


def table(files: Mapping[str, Path], names: Mapping[str, str], role: str) -> dict:
    """The dict that a pickle holds."""
    content = read_pickle(files[role], names[role])
    if not isinstance(content, dict):
        raise InputError(f"{names[role]}: expected a dict, found a {type(content).__name__}")
    return content


def _of_structure(content: dict, structure: Structure, file: str, shape: str) -> dict:
    found = content.get(structure)
    if not isinstance(found, dict):
        what = "no answers" if found is None else f"a {type(found).__name__}"
        raise InputError(
            f"{file}, {shape}: {what} for {abridged(structure)}; expected a dict by query"
        )
    return found


def _source(structure, queries, answers, names, shape) -> Source:
    if not isinstance(queries, COLLECTIONS):
        found = type(queries).__name__
        raise InputError(f"{names['queries']}, {shape}: expected a set of queries, found a {found}")
    for query in queries:
        if not isinstance(query, tuple):
            raise InputError(
                f"{names['queries']}, {shape}, query {abridged(query)}: expected a tuple"
            )
    try:
        order = answers.get("hard") or answers.get("fn") or answers.get("answers")
        queries = in_order(queries, order)
    except TypeError as error:
        raise InputError(f"{names['queries']}, {shape}: a query is no tuple of ids") from error
    found = groundings(queries, structure)
    if isinstance(found, Malformed):
        raise InputError(
            f"{names['queries']}, {shape}, query {abridged(found.query)}: {found.reason}"
        )
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
        if not isinstance(row, COLLECTIONS) and not (
            row is None and isinstance(known, defaultdict)
        ):
            what = "has no answers" if row is None else f"has {type(row).__name__} for answers"
            raise InputError(
                f"{file}, {shape}, query {abridged(query)}: {what}; expected a set of ids"
            )
    return [() if row is None else row for row in rows]
