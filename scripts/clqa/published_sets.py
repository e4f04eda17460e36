"""Published queries with their answers: brought to a graph's ids and checked, and kept as a table.

Whatever a release publishes is kept as it is, for the audit: the sets may be `easy`, `hard`,
`retracted` (on the observed graph only) and `full` (all answers on the full graph).
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.answer_lists import answer_rows
from clqa.canonical_forms import canonical
from clqa.errors import InputError, abridged, damaged
from clqa.formulas import Formula, symbols
from clqa.query_sets import ORIGIN, list_column, unflattened
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, row_numbers
from clqa.release_ids import ReleaseIds
from clqa.tables import Contents, read_table, write_table

SETS = ("easy", "hard", "retracted", "full")
# What a release has where its hard answers are a selection, as `clqa.query_sets.Queries` says.
SELECTION = ("selected", "filtered")
PUBLISHED = Contents(
    rule="import_queries",
    columns={
        "query_id": "text",
        "shape": "text",
        **dict.fromkeys(SETS, "lists of whole numbers"),
    },
    metadata={**ORIGIN, "sizes": dict, "refused": dict},
    may_be_null=SETS,
)


class Classes(NamedTuple):
    """Published classes of hard answers.

    Attributes
    ----------
    names : tuple of str
    codes : (n_hard,) int8
        Place in the names of the class of each hard answer, -1 where none is published.
    """

    names: tuple[str, ...]
    codes: np.ndarray


class Batch(NamedTuple):
    """Published queries of one shape, in the ids of the graph.

    Attributes
    ----------
    anchors : (n, n_constants) int32
    relations : (n, n_relations) int32
        Columns in the order of the shape's formula; rows in that of the file.
    sets : dict of Ragged
        Published answers by the names of `SETS`, as far as the release has them, and those of
        `SELECTION` that are in the `selection` of the release.
    classes : Classes, optional
        Of the hard answers, in the order of their values.
    queries : list
        As the file writes them, for messages.
    files : dict of str
        For messages, the name of the file that has each of the sets.
    """

    anchors: np.ndarray
    relations: np.ndarray
    sets: dict[str, Ragged]
    classes: Classes | None = None
    queries: Sequence = ()
    files: Mapping[str, str] | None = None

    def place(self, shape: str, row: int, *sets: str) -> str:
        """Where a query is for a message about some of its sets: their files, shape and query."""
        files = " and ".join(dict.fromkeys(self.files[name] for name in sets))
        return f"{files}, {shape}, query {abridged(self.queries[row])}"


class Release(NamedTuple):
    """What was read of a release.

    Attributes
    ----------
    shapes : dict of Batch
    refused : dict of str
        Why, for shapes that could not be read.
    selection : tuple of str
        Those names of `SELECTION` that all shapes have among their sets.
    easy : str, optional
        By whose rule the answers beside a selection are easy, as the metadata of queries has it.
    """

    shapes: dict[str, Batch]
    refused: dict[str, str]
    selection: tuple[str, ...] = ()
    easy: str | None = None


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
        For each name of `SETS` and `SELECTION` the answers of each query, as a list of collections
        of int, or of tuples of int, and the name of the file that has them.
    file : str
    """

    queries: list
    anchors: np.ndarray
    relations: np.ndarray
    formula: Formula
    sets: dict[str, tuple[list, str]]
    file: str


def release_of(formulas: Mapping[str, Formula], read: Callable[[str, Formula], Batch]) -> Release:
    """The shapes that can be read one by one, and why the others cannot."""
    release = Release({}, {})
    for shape, formula in formulas.items():
        try:
            release.shapes[shape] = read(shape, formula)
        except InputError as error:
            release.refused[shape] = str(error)
    return release


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
    arity = len(symbols(formula, "f"))
    sets = {
        name: answer_rows(rows, file, shape, source.queries, ids, arity)
        for name, (rows, file) in source.sets.items()
    }
    _check_sets(sets, shape, source, ids, need_hard)
    files = {name: file for name, (_, file) in source.sets.items()}
    return Batch(anchors, relations, sets, queries=source.queries, files=files)


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


def _check_sets(
    sets: dict[str, Ragged], shape: str, source: Source, ids: ReleaseIds, need_hard: bool
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
            shared = is_shared(sets[one], sets[other]) == wrong
            if shared.any():
                place = shared.argmax()
                query = source.queries[row_numbers(sets[one])[place]]
                file = f"{source.sets[one][1]} and {source.sets[other][1]}"
                answer = f"the answer {_as_released(sets[one].values[place], ids)}"
                raise _at(file, shape, query, f"{answer} {text}; {hint}")
    name = "hard" if "hard" in sets else "full"
    if need_hard and name in sets and not sets[name].lengths().all():
        query = source.queries[sets[name].lengths().argmin()]
        raise _at(source.sets[name][1], shape, query, f"has no {name} answer; {hint}")


def _as_released(answer: np.ndarray, ids: ReleaseIds) -> int | list[int]:
    """An entity, or a tuple of entities, in the ids of the release."""
    found = [ids.as_released(one) for one in np.atleast_1d(answer)]
    return found if np.ndim(answer) else found[0]


def _at(file: str, shape: str, query: object, why: str) -> InputError:
    return InputError(f"{file}, {shape}, query {abridged(query)}: {why}")


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
    if any(rows.classes is not None for rows in batches.values()):
        table["classes"] = pa.chunked_array(
            [_class_lists(batches[shape], len(ids)) for shape, ids in query_ids.items()],
            pa.large_list(pa.int8()),
        )
        metadata = {**metadata, "classes": _class_names(batches)}
    write_table(path, pa.table(table), metadata)


def _class_names(batches: Mapping[str, Batch]) -> dict[str, tuple[str, ...]]:
    return {s: rows.classes.names for s, rows in batches.items() if rows.classes is not None}


def _class_lists(rows: Batch, n_queries: int) -> pa.Array:
    if rows.classes is None:
        return pa.nulls(n_queries, pa.large_list(pa.int8()))
    offsets = pa.array(rows.sets["hard"].offsets, pa.int64())
    return pa.LargeListArray.from_arrays(offsets, pa.array(rows.classes.codes, pa.int8()))


def _lists(rows: Batch, name: str, n_queries: int) -> pa.Array:
    if name not in rows.sets:
        return pa.nulls(n_queries, pa.large_list(pa.int32()))
    return list_column(rows.sets[name])


def read_published(path: str | os.PathLike) -> dict[str, dict[str, Ragged]]:
    """Published sets by shape and name."""
    table, metadata = read_table(path, PUBLISHED)
    table = table.combine_chunks()
    if sum(metadata["sizes"].values()) != table.num_rows:
        raise damaged(path, "rows are missing or repeated", PUBLISHED.rule)
    found: dict[str, dict[str, Ragged]] = {}
    start = 0
    for shape, size in metadata["sizes"].items():
        rows = table.slice(start, size)
        start += size
        try:
            found[shape] = {
                name: unflattened(_ragged(rows[name].combine_chunks()), name, metadata)
                for name in SETS
                if size and not rows[name].null_count
            }
        except ValueError as error:
            raise damaged(path, f"{shape}: {error}", PUBLISHED.rule) from error
    return found


def _ragged(column: pa.ChunkedArray | pa.Array) -> Ragged:
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    offsets = column.offsets.to_numpy().astype(np.int64)
    return Ragged(offsets - offsets[0], column.flatten().to_numpy())


def read_classes(path: str | os.PathLike) -> dict[str, Classes]:
    """Published classes of the hard answers by shape, for the shapes that have some."""
    table, metadata = read_table(path)
    found, start = {}, 0
    for shape, size in metadata["sizes"].items():
        if shape in metadata.get("classes", {}) and size:
            rows = table["classes"].slice(start, size).combine_chunks()
            codes = _ragged(rows).values
            found[shape] = Classes(tuple(metadata["classes"][shape]), codes)
        start += size
    return found


def refused_shapes(path: str | os.PathLike) -> dict[str, str]:
    """Shapes that the import has skipped, and why."""
    return read_table(path, PUBLISHED, columns=[])[1]["refused"]
