"""Published queries with their answers: brought to a graph's ids and checked, and kept as a table.

Whatever a release publishes is kept as it is, for the audit: the sets may be `easy`, `hard`,
`retracted` (on the observed graph only) and `full` (all answers on the full graph).
"""

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula, symbols
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, row_numbers
from clqa.release_ids import ReleaseIds
from clqa.tables import read_table, write_table

SETS = ("easy", "hard", "retracted", "full")


class Batch(NamedTuple):
    """Published queries of one shape, in the ids of the graph.

    Attributes
    ----------
    anchors : (n, n_constants) int32
    relations : (n, n_relations) int32
        Columns in the order of the shape's formula; rows in that of the file.
    sets : dict of Ragged
        Published answers by the names of `SETS`, as far as the release has them.
    """

    anchors: np.ndarray
    relations: np.ndarray
    sets: dict[str, Ragged]


class Release(NamedTuple):
    """What was read of a release.

    Attributes
    ----------
    shapes : dict of Batch
    refused : dict of str
        Why, for shapes that could not be read.
    """

    shapes: dict[str, Batch]
    refused: dict[str, str]


class Source(NamedTuple):
    """Queries of one shape as a file has them, in the ids of the release.

    Attributes
    ----------
    queries : list
        As the file writes them, for messages.
    anchors, relations : (n, ·) int32
        Columns in the order of `formula`.
    formula : Formula
    sets : dict
        For each name of `SETS` the answers of each query, as a list of collections of int, and the
        name of the file that has them.
    file : str
    """

    queries: list
    anchors: np.ndarray
    relations: np.ndarray
    formula: Formula
    sets: dict[str, tuple[list, str]]
    file: str


def batch(
    shape: str, source: Source, formula: Formula, ids: ReleaseIds, need_hard: bool = True
) -> Batch:
    """Published queries as queries of the shape `formula` of a graph.

    Parameters
    ----------
    need_hard : bool
        Whether every query must have something to rank.

    Raises
    ------
    InputError
        One line that names the file, the shape and the query: an id that the release's
        dictionary does not have, sets that contradict each other, a query without hard answers.
    """
    anchors = _mapped(source.anchors, ids.entities, "entity", shape, source)
    relations = _mapped(source.relations, ids.relations, "relation", shape, source)
    constants, symbols_ = columns(source.formula, formula)
    anchors, relations = anchors[:, constants], relations[:, symbols_]
    sets = {
        name: _answer_rows(rows, file, shape, source.queries, ids.entities)
        for name, (rows, file) in source.sets.items()
    }
    _check_sets(sets, shape, source, len(ids.entities), need_hard)
    return Batch(anchors, relations, sets)


def columns(formula: Formula, other: Formula) -> tuple[list[int], list[int]]:
    """Where the constants and relations of `other` are among those of an equal `formula`.

    Of several ways that the symmetries allow, the one that changes the order least.
    """
    n_constants = len(symbols(formula, "s"))
    (text, orders), (expected, targets) = canonical(formula), canonical(other)
    if text != expected:
        raise InputError(f"the formulas {text} and {expected} differ")
    places = np.empty_like(orders)
    places[:, targets[0]] = orders
    least = min(places.tolist())
    return least[:n_constants], [place - n_constants for place in least[n_constants:]]


def _mapped(rows: np.ndarray, ids: np.ndarray, kind: str, shape: str, source: Source) -> np.ndarray:
    wrong = np.flatnonzero(((rows < 0) | (rows >= len(ids))).any(axis=1))
    if len(wrong):
        query = source.queries[wrong[0]]
        raise _at(source.file, shape, query, f"{kind} ids must be 0 to {len(ids) - 1}")
    return ids[rows]


def _answer_rows(rows: list, file: str, shape: str, queries: list, ids: np.ndarray) -> Ragged:
    """Answers in the graph's ids, ascending within each query."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = list(chain.from_iterable(rows))
    if not set(map(type, flat)) <= {int}:
        wrong = next(place for place, row in enumerate(rows) if set(map(type, row)) - {int})
        raise _at(file, shape, queries[wrong], "answers must be ids (int)")
    try:
        values = np.array(flat, np.int64)
    except OverflowError:
        values = np.array([one if 0 <= one < len(ids) else -1 for one in flat], np.int64)
    outside = np.flatnonzero((values < 0) | (values >= len(ids)))
    if len(outside):
        row = np.searchsorted(offsets, outside[0], side="right") - 1
        raise _at(
            file, shape, queries[row], f"answer {flat[outside[0]]}: ids are 0 to {len(ids) - 1}"
        )
    n_ids = len(ids)
    keys = np.repeat(np.arange(len(rows)), lengths) * np.int64(n_ids) + ids[values]
    keys.sort()
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        query = queries[keys[twice[0]] // n_ids]
        raise _at(file, shape, query, f"the answer {keys[twice[0]] % n_ids} is there twice")
    return Ragged(offsets, (keys % max(n_ids, 1)).astype(np.int32))


def _check_sets(
    sets: dict[str, Ragged], shape: str, source: Source, n_ids: int, need_hard: bool
) -> None:
    """Raise where published sets cannot be what their names say: they may be swapped."""
    hint = "are the files swapped?"
    rules = (
        ("hard", "easy", True, "is both hard and easy"),
        ("retracted", "easy", False, "is retracted, but not among the easy ones"),
        ("hard", "full", False, "is hard, but not among all answers"),
        ("retracted", "full", True, "is retracted, but among all answers"),
    )
    for one, other, wrong, text in rules:
        if one in sets and other in sets:
            shared = is_shared(sets[one], sets[other], n_ids) == wrong
            if shared.any():
                place = shared.argmax()
                query = source.queries[row_numbers(sets[one])[place]]
                file = f"{source.sets[one][1]} and {source.sets[other][1]}"
                raise _at(file, shape, query, f"an answer {text}; {hint}")
    name = "hard" if "hard" in sets else "full"
    if need_hard and name in sets and not sets[name].lengths().all():
        query = source.queries[sets[name].lengths().argmin()]
        raise _at(source.sets[name][1], shape, query, f"has no {name} answer; {hint}")


def _at(file: str, shape: str, query: object, why: str) -> InputError:
    return InputError(f"{file}, {shape}, query {query!r}: {why}")


def write_published(
    path: str | os.PathLike,
    query_ids: Mapping[str, Iterable[str]],
    batches: Mapping[str, Batch],
    metadata: dict,
) -> None:
    """Write published answers: query_id, shape and a list per set, null where none is published."""
    names = [name for ids in query_ids.values() for name in ids]
    shapes = [shape for shape, ids in query_ids.items() for _ in ids]
    table = {"query_id": pa.array(names, pa.string()), "shape": pa.array(shapes, pa.string())}
    for name in SETS:
        table[name] = pa.chunked_array(
            [_lists(batches[shape], name, len(ids)) for shape, ids in query_ids.items()],
            pa.large_list(pa.int32()),
        )
    write_table(path, pa.table(table), metadata)


def _lists(rows: Batch, name: str, n_queries: int) -> pa.Array:
    if name not in rows.sets:
        return pa.nulls(n_queries, pa.large_list(pa.int32()))
    offsets, values = rows.sets[name]
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(values))


def read_published(path: str | os.PathLike) -> dict[str, dict[str, Ragged]]:
    """Published sets by shape and name."""
    table, metadata = read_table(path)
    table = table.combine_chunks()
    found: dict[str, dict[str, Ragged]] = {}
    start = 0
    for shape, size in metadata["sizes"].items():
        rows = table.slice(start, size)
        start += size
        found[shape] = {
            name: _ragged(rows[name].combine_chunks())
            for name in SETS
            if size and not rows[name].null_count
        }
    return found


def _ragged(column: pa.ChunkedArray | pa.Array) -> Ragged:
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    offsets = column.offsets.to_numpy().astype(np.int64)
    return Ragged(offsets - offsets[0], column.flatten().to_numpy())


def refused_shapes(path: str | os.PathLike) -> dict[str, str]:
    """Shapes that the import has skipped, and why."""
    return read_table(path, columns=[])[1]["refused"]
