"""Queries and answers of any shapes in a form of our own: Parquet tables, or JSON lines.

Parquet: the role `queries` is a table of queries and `answers` one of answers, as this workflow
makes them. JSON lines: the role `queries` has a query a line, such as
`{"formula": "r1(s1,f)", "anchors": [5], "relations": [0], "easy": [1], "hard": [7, 9]}`; anchors
and relations are in the order in which the formula first names them, and an answer of several free
variables is a list of ids in the order of their numbers; of `easy`, `hard`,
`retracted` and `full` all queries of a formula have the same ones. Where only some hard answers are
asked for, all lines have them as `selected`; those of +H have the rule by which the others are
easy, as `selection`, and if it is that of the release, what it takes for easy, as `filtered`.
`shape` is for readers; other keys are refused. With `fields: labels`, lines have labels of the
graph in place of ids.
"""

import functools
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from clqa.canonical_forms import canonical
from clqa.errors import InputError, abridged
from clqa.formulas import Formula, parse, symbols
from clqa.json_objects import DoubleKeyError, unique
from clqa.outside_tables import check_table
from clqa.published_sets import SELECTION, SETS, Release, Source, batch
from clqa.query_sets import read_answers, read_queries
from clqa.ragged import Ragged
from clqa.release_ids import ReleaseIds
from clqa.vocabularies import given_ids, label_array

LINES = (".jsonl", ".ndjson")
LISTS = (*SETS, *SELECTION)
KEYS = ("shape", "formula", "anchors", "relations", *LISTS, "selection")
# The columns of a selection, by the rule by which the other answers are easy.
RULES = {
    None: ((), ("selected",)),
    "plus-h-corrected": (("selected",),),
    "plus-h-released": (SELECTION,),
}


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
    labels: tuple[pa.Array, pa.Array] | None = None,
) -> Release:
    """The shapes that are asked for, known by their formulas and not by their names.

    Parameters
    ----------
    labels : pair of pyarrow.LargeStringArray, optional
        Labels of entities and of relations, where lines have them in place of ids.
    """
    is_lines = files["queries"].suffix in LINES
    for role in () if is_lines else {"queries", "answers"} & {*files}:
        _check_table(files[role], names[role])
    if labels is not None and not is_lines:
        raise InputError(f"{names['queries']}: only JSON lines ({LINES[0]}) may have labels")
    read_sources = _from_lines if is_lines else _from_tables
    sources, selection = read_sources(files, names, labels)
    release = Release({}, {}, *selection)
    for shape, formula in formulas.items():
        try:
            source = sources.get(canonical(formula)[0])
            if source is None:
                raise InputError(f"{names['queries']}, {shape}: no queries of this formula")
            release.shapes[shape] = batch(shape, source(shape), formula, ids, need_hard=False)
        except InputError as error:
            release.refused[shape] = str(error)
    return release


def _check_table(path: Path, name: str) -> None:
    try:
        check_table(path)
    except Exception as error:  # whatever a damaged file makes its reader say
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name}: not a readable table ({reason:.300})") from error


def vocabulary(files: Mapping[str, Path]) -> str | None:
    """Hash of the vocabulary that tables are of; lines do not say."""
    if files["queries"].suffix in LINES:
        return None
    _check_table(files["queries"], files["queries"].name)
    return read_queries(files["queries"]).metadata["vocabulary"]


def _selection(present, rule: object, place: str) -> tuple[tuple[str, ...], str | None]:
    """Names of `SELECTION` that are present, and the rule, where the two go together."""
    names = tuple(name for name in SELECTION if name in present)
    if not isinstance(rule, str | None) or rule not in RULES:
        known = ", ".join(one for one in RULES if one)
        raise InputError(f"{place}: unknown selection {abridged(rule)}; known: {known}")
    if names not in RULES[rule]:
        wanted = " or ".join(" and ".join(one) or "none" for one in RULES[rule])
        found, by = " and ".join(names) or "none", rule or "no rule"
        raise InputError(
            f"{place}: a selection by {by} has of {' and '.join(SELECTION)} {wanted}, found {found}"
        )
    return names, rule


def _from_tables(files, names, _labels):
    queries = read_queries(files["queries"])
    columns = {
        name
        for rows in queries.shapes.values()
        for name in SELECTION
        if getattr(rows, name) is not None
    }
    selection = _selection(columns, queries.metadata.get("easy"), names["queries"])
    answers = read_answers(files["answers"]).shapes if "answers" in files else {}
    found = {}
    for name, rows in queries.shapes.items():
        formula = parse(queries.metadata["formulas"][name])

        def source(shape, name=name, rows=rows, formula=formula):
            sets = {kind: (_lists(getattr(rows, kind)), names["queries"]) for kind in selection[0]}
            if name in answers:
                if list(answers[name].query_ids) != list(rows.query_ids):
                    raise InputError(
                        f"{names['answers']}, {shape}: answers of other queries than "
                        f"{names['queries']}"
                    )
                for kind in ("easy", "hard", "retracted"):
                    sets[kind] = (_lists(getattr(answers[name], kind)), names["answers"])
            written = list(rows.query_ids)
            return Source(written, rows.anchors, rows.relations, formula, sets, names["queries"])

        found[canonical(formula)[0]] = source
    return found, selection


def _lists(rows: Ragged) -> list[list[int]]:
    values, ends = rows.values.tolist(), rows.offsets.tolist()
    return [values[a:b] for a, b in itertools.pairwise(ends)]


def _from_lines(files, names, labels):
    groups: dict[str, list[tuple[int, dict]]] = {}
    selection = None
    with open(files["queries"], "rb") as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                query = _read_line(line, names["queries"], number)
                place = f"{names['queries']}:{number}"
                own = _selection(query, query.get("selection"), place)
                if own != (selection or own):
                    raise InputError(f"{place}: another selection than the lines before it have")
                selection = own
                groups.setdefault(query["formula"], []).append((number, query))
    if labels is not None:
        _number([one for rows in groups.values() for one in rows], labels, names["queries"])
    found = {}
    for text, rows in groups.items():
        try:
            formula = parse(text)
        except InputError as error:
            raise InputError(f"{names['queries']}:{rows[0][0]}: {error}") from None
        key = canonical(formula)[0]
        if key in found:
            raise InputError(
                f"{names['queries']}: one formula written in two ways, as {abridged(text)}"
            )
        found[key] = lambda shape, rows=rows, formula=formula: _lines_source(
            rows, formula, names["queries"], shape
        )
    return found, selection or ((), None)


def _read_line(line: bytes, file: str, number: int) -> dict:
    place = f"{file}:{number}"
    try:
        query = json.loads(line, object_pairs_hook=unique)
        lists = [query["anchors"], query["relations"], *(query[s] for s in LISTS if s in query)]
        is_query = isinstance(query["formula"], str) and all(isinstance(o, list) for o in lists)
    except DoubleKeyError as error:
        raise InputError(f"{place}: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        is_query = False
    if not is_query:
        raise InputError(f"{place}: expected JSON with formula, anchors, relations and answers")
    for key in query:
        if key not in KEYS:
            raise InputError(f"{place}: unknown key {abridged(key)}; known: {', '.join(KEYS)}")
    return query


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _number(rows: list[tuple[int, dict]], labels: tuple[pa.Array, pa.Array], file: str) -> None:
    """Put ids in place of labels."""
    keys = {"entity": ("anchors", *LISTS), "relation": ("relations",)}
    for (kind, own), known in zip(keys.items(), labels, strict=True):
        ids = _ids_by_label(rows, own, known)
        for number, query in rows:
            for key in (key for key in own if key in query):
                is_nested = key in LISTS and _has_tuples(query["formula"])
                for label in _each(query[key]) if is_nested else query[key]:
                    if not isinstance(label, str) or label not in ids:
                        raise InputError(
                            f"{file}:{number}: {key}: no {kind} has the label {abridged(label)}"
                        )
                query[key] = [
                    [ids[label] for label in one] if isinstance(one, list) else ids[one]
                    for one in query[key]
                ]


@functools.lru_cache(maxsize=4096)
def _has_tuples(text: str) -> bool:
    """Whether answers of the formula are lists; one that cannot be read is refused later on."""
    try:
        return len(symbols(parse(text), "f")) > 1
    except InputError:
        return False


def _each(labels: list) -> Iterator:
    """Labels, and those in lists of labels."""
    for one in labels:
        yield from one if isinstance(one, list) else [one]


def _ids_by_label(rows, keys: tuple[str, ...], known: pa.Array) -> dict[str, int]:
    """Ids of those labels in lines that are known."""
    lists = (query.get(key, ()) for _, query in rows for key in keys)
    used = {one for labels in lists for one in _each(labels) if type(one) is str}
    # Half a pair of surrogates is a text in JSON, and no label.
    written = [one for one in sorted(used) if one == one.encode("utf-8", "replace").decode()]
    ids = given_ids(label_array(written), known, "labels").tolist()
    return {label: id_ for label, id_ in zip(written, ids, strict=True) if id_ >= 0}


def _lines_source(rows, formula, file, shape) -> Source:
    sizes = {"anchors": len(symbols(formula, "s")), "relations": len(symbols(formula, "r"))}
    kinds = [kind for kind in LISTS if kind in rows[0][1]]
    for number, query in rows:
        for key, size in sizes.items():
            if len(query[key]) != size or not all(map(_is_id, query[key])):
                raise InputError(f"{file}:{number}, {shape}: expected {size} ids as {key}")
        if kinds != [kind for kind in LISTS if kind in query]:
            raise InputError(f"{file}:{number}, {shape}: expected the sets {', '.join(kinds)}")
    columns = [
        np.array([query[key] for _, query in rows], np.int64).reshape(len(rows), size)
        for key, size in sizes.items()
    ]
    sets = {kind: ([query[kind] for _, query in rows], file) for kind in kinds}
    return Source([f"line {number}" for number, _ in rows], *columns, formula, sets, file)
