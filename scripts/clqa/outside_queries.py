"""Which queries the rows of scores from elsewhere belong to.

Rows are named by query ids, or by the nested tuples of the BetaE pickles with the ids of whoever
made the scores. Both may be more than are asked for, and in any order.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.errors import InputError, abridged
from clqa.files import read_json
from clqa.formulas import parse
from clqa.pickles import read_pickle
from clqa.query_sets import QueryTable
from clqa.structures import SIGNS, formula_layout, grounded
from clqa.vocabularies import PICKLES, read_labels

Key = str | tuple
_UNION = (SIGNS["u"],)


class Numbering(NamedTuple):
    """Ids of a graph in the numbering of someone else; None where the two are the same.

    Attributes
    ----------
    entities, relations : (n,) int64, optional
    """

    entities: np.ndarray | None = None
    relations: np.ndarray | None = None


def read_numbering(path: str | os.PathLike | None, labels: pa.Array) -> np.ndarray | None:
    """For each label of the graph its id in a dictionary from elsewhere.

    Raises
    ------
    InputError
        If the dictionary does not have the same labels.
    """
    if path is None:
        return None
    theirs = {
        label: number for number, label in enumerate(read_labels(path, str(path)).to_pylist())
    }
    ours = labels.to_pylist()
    for known, others, text in (
        (theirs, ours, "lacks {}, which the graph has"),
        (dict.fromkeys(ours), theirs, "has {}, which the graph lacks"),
    ):
        strangers = [label for label in others if label not in known]
        if strangers:
            more = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
            raise InputError(f"{path}: {text.format(abridged(strangers[0]) + more)}")
    return np.array([theirs[label] for label in ours], np.int64)


def read_rows(path: str | os.PathLike) -> tuple[list[Key], dict]:
    """The names of the rows in their order, and what else a `.json` file says.

    `.json` has an object with query ids as `query_ids`, or nested lists as `queries`; `.txt` a
    query id a line; `.pkl` a list of tuples, or of pairs of a tuple and its structure, or a dict
    from structures to such lists.

    Raises
    ------
    InputError
        If the file is of another kind, or names a row twice.
    """
    suffix, about = Path(path).suffix, {}
    if suffix == ".txt":
        rows = _lines(path)
    elif suffix == ".json":
        about = read_json(path)
        rows = about.get("query_ids", _tuples(about.get("queries")))
    elif suffix in PICKLES:
        rows = _from_pickle(read_pickle(path, str(path)))
    else:
        raise InputError(f"{path}: expected the queries of the rows as .json, .txt or .pkl")
    if not isinstance(rows, list | tuple) or not _are_keys(rows):
        raise InputError(
            f"{path}: expected a list of query ids (query_ids) or of nested tuples (queries)"
        )
    refuse_repeated(path, rows)
    return list(rows), about


def refuse_repeated(path: str | os.PathLike, rows: Sequence[Key]) -> None:
    """Raise `InputError` if two rows have the same name."""
    repeated = [row for row, n in Counter(rows).items() if n > 1]
    if repeated:
        raise InputError(f"{path}: query {_some(repeated)}: twice or more; one row per query")


def _some(names: Sequence[Key]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    first = names[0] if isinstance(names[0], str) else abridged(names[0])
    return f"{first}{more}"


def _lines(path) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error


def _tuples(content: object) -> object:
    return tuple(map(_tuples, content)) if isinstance(content, list) else content


def _from_pickle(content: object) -> object:
    if isinstance(content, dict) and all(isinstance(part, list) for part in content.values()):
        return [query for part in content.values() for query in part]
    if isinstance(content, list) and content and _is_pair(content[0]):
        return [item[0] if _is_pair(item) else item for item in content]
    return content


def _is_pair(item: object) -> bool:
    """Whether this is a query with its structure, as `flatten_query` of KGReasoning gives it."""
    is_pair = isinstance(item, tuple) and len(item) == 2
    return is_pair and any(isinstance(leaf, str) for leaf in _leaves(item[1]))


def _leaves(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        for part in node:
            yield from _leaves(part)
    else:
        yield node


def _are_keys(rows: Sequence[object]) -> bool:
    if all(isinstance(row, str) for row in rows):
        return True
    whole = all(isinstance(row, tuple) for row in rows)
    return whole and all(type(leaf) is int for row in rows for leaf in _leaves(row))


def matched_rows(
    rows: Sequence[Key], asked: QueryTable, numbering: Numbering, path: str | os.PathLike
) -> np.ndarray:
    """For each query that is asked for, shape by shape, its place among the rows; -1 for none.

    Tuples that differ in the order of their branches alone are the same query, unless there is one
    in the very order.

    Raises
    ------
    InputError
        If the rows have tuples and a shape cannot be written as such.
    """
    places = {row: place for place, row in enumerate(rows)}
    if rows and not isinstance(rows[0], str):
        settled = {_settled(row): place for place, row in enumerate(rows)}
        written = [query for shape in asked.shapes for query in _written(asked, shape, numbering)]
        found = [places.get(query, settled.get(_settled(query), -1)) for query in written]
    else:
        found = [places.get(name, -1) for name in _names(asked)]
    return np.array(found, np.int64)


def _names(asked: QueryTable) -> list[str]:
    return [str(name) for part in asked.shapes.values() for name in part.query_ids]


def refuse_strangers(asked: QueryTable, found: np.ndarray, path: str | os.PathLike) -> None:
    """Raise `InputError` if no query has a row."""
    names = _names(asked)
    if names and max(found) < 0:
        raise InputError(
            f"{path}: has none of the {len(names)} queries that are asked for, such as {names[0]};"
            " were they asked of another graph or query set?"
        )


def refuse_missing(asked: QueryTable, found: np.ndarray, path: str | os.PathLike) -> None:
    """Raise `InputError` if a query has no row."""
    missing = [name for name, place in zip(_names(asked), found.tolist(), strict=True) if place < 0]
    if missing:
        raise InputError(
            f"{path}: query {_some(missing)}: missing; score it, or let missing of the run be worst"
            " or skip"
        )


def _written(asked: QueryTable, shape: str, numbering: Numbering) -> list[tuple]:
    """The queries of a shape as nested tuples of foreign ids."""
    part = asked.shapes[shape]
    anchors = part.anchors if numbering.entities is None else numbering.entities[part.anchors]
    relations = part.relations
    if numbering.relations is not None:
        relations = numbering.relations[relations]
    return grounded(formula_layout(parse(asked.metadata["formulas"][shape])), anchors, relations)


def _settled(node: int | tuple) -> int | tuple:
    """The query with the branches of each intersection and union in one order."""
    if not isinstance(node, tuple):
        return node
    if len(node) == 2 and _is_steps(node[1]):
        return _settled(node[0]), node[1]
    branches = sorted((_settled(part) for part in node if part != _UNION), key=repr)
    return (*branches, _UNION) if node[-1:] == (_UNION,) else tuple(branches)


def _is_steps(node: object) -> bool:
    """Whether a tuple is that of a chain's steps, and no branch."""
    whole = isinstance(node, tuple) and all(isinstance(step, int) for step in node)
    return whole and node != _UNION


def check_origin(path: str | os.PathLike, about: dict, metadata: dict) -> None:
    """Raise `InputError` if what a file says of its origin is not the graph that is asked.

    Parameters
    ----------
    metadata : dict
        Of the queries.
    """
    for key in ("graph", "vocabulary"):
        if about.get(key, metadata[key]) != metadata[key]:
            raise InputError(
                f"{path}: made for another {key} ({str(about[key])[:12]}... instead of"
                f" {metadata[key][:12]}...)"
            )
