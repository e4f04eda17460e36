"""Query sets and their answers as tables on disk, and the ids that name queries."""

import hashlib
import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula, parse, symbols
from clqa.graphs import FULL, OBSERVED, Graph
from clqa.ragged import Ragged
from clqa.tables import read_table, write_table

_ID_LENGTH = 20
# Columns with a value for each hard answer, and the value that says that it is not known.
_PER_ANSWER = {"links": np.uint8(0), "subsets": np.uint64(0), "classes": np.int8(-1)}


class Queries(NamedTuple):
    """Queries of one shape.

    Attributes
    ----------
    query_ids : (n,) str
    anchors : (n, n_constants) int32
        Columns in the order in which the constants first appear in the shape's formula.
    relations : (n, n_relation_symbols) int32
    selected : Ragged, optional
        Those hard answers that are asked for, where not all are.
    """

    query_ids: np.ndarray
    anchors: np.ndarray
    relations: np.ndarray
    selected: Ragged | None = None


class Answers(NamedTuple):
    """Answers of the queries of one shape on the observed and the full graph of a split.

    Attributes
    ----------
    query_ids : (n,) str
    easy, hard, retracted : Ragged
        See `clqa.answers.SplitAnswers`.
    links : (len(hard.values),) uint8
        Smallest number of missing links for each hard answer.
    subsets, classes : (len(hard.values),) uint64 and int8, optional
        See `clqa.reductions.Reductions`; as for an unknown shape where they are not given.
    """

    query_ids: np.ndarray
    easy: Ragged
    hard: Ragged
    retracted: Ragged
    links: np.ndarray
    subsets: np.ndarray | None = None
    classes: np.ndarray | None = None


class QueryTable(NamedTuple):
    """Queries by shape, in the order of the file; `metadata` as written by `describe_queries`."""

    shapes: dict[str, Queries]
    metadata: dict


class AnswerTable(NamedTuple):
    """Answers by shape, in the order of the file; metadata with `observed` and `full` splits."""

    shapes: dict[str, Answers]
    metadata: dict


def query_ids(
    graph_hash: str, formula: Formula, anchors: np.ndarray, relations: np.ndarray
) -> np.ndarray:
    """Names of queries that depend on the graph and on what is asked, not on how it is written.

    Returns
    -------
    ids : (n,) str
        20 hex digits of the sha256 of graph hash, canonical formula and canonical grounding: two
        queries that are equal up to the order of their branches have the same id.
    """
    text, orders = canonical(formula)
    start = hashlib.sha256(f"{graph_hash}\n{text}\n".encode())
    width = orders.shape[1] * 4
    rows = canonical_groundings(orders, anchors, relations).astype("<i4").tobytes()
    names = []
    for place in range(0, len(anchors) * width, width):
        digest = start.copy()
        digest.update(rows[place : place + width])
        names.append(digest.hexdigest()[:_ID_LENGTH])
    return np.array(names, dtype=object)


def canonical_groundings(
    orders: np.ndarray, anchors: np.ndarray, relations: np.ndarray
) -> np.ndarray:
    """Groundings in canonical order, (n, n_constants + n_relations) int32.

    Of the orders that the formula's symmetries allow, each row takes the smallest grounding.
    """
    grounding = np.concatenate([anchors, relations], axis=1).astype(np.int32)
    best = grounding[:, orders[0]]
    for order in orders[1:]:
        other = grounding[:, order]
        differs = other != best
        first = differs.argmax(axis=1)
        rows = np.arange(len(best))
        smaller = other[rows, first] < best[rows, first]
        best = np.where(smaller[:, None], other, best)
    return best


def set_hash(ids: Iterable[str]) -> str:
    """sha256 of a set of queries, in whatever order or shards they come."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def describe_queries(graph: Graph, split: str, formulas: dict[str, str], ids) -> dict:
    """The metadata that a table of queries carries to everything made from it."""
    return {
        "graph": graph.hash,
        "vocabulary": graph.vocabulary,
        "n_entities": graph.n_entities,
        "split": split,
        "formulas": formulas,
        "queries": set_hash(ids),
    }


def write_queries(
    path: str | os.PathLike, shapes: dict[str, Queries], metadata: dict, source: str
) -> None:
    """Write queries as Parquet: query_id, shape, anchors, relations, source, and selected answers.

    The column `selected` is there if the query set selects answers; all batches do then.
    """
    n_rows = sum(len(batch.query_ids) for batch in shapes.values())
    selected = [batch.selected for batch in shapes.values() if batch.selected is not None]
    table = pa.table(
        {
            "query_id": _joined_ids(shapes),
            "shape": _shape_column(shapes),
            "anchors": _concatenated(_matrix_column(b.anchors) for b in shapes.values()),
            "relations": _concatenated(_matrix_column(b.relations) for b in shapes.values()),
            "source": pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), [source])
            if n_rows
            else pa.array([], pa.dictionary(pa.int32(), pa.string())),
            **({"selected": _concatenated(map(_ragged_column, selected))} if selected else {}),
        }
    )
    write_table(path, table, metadata)


def read_queries(path: str | os.PathLike) -> QueryTable:
    """Read queries.

    Raises
    ------
    InputError
        If the file is not a table of queries.
    """
    table, metadata = read_table(path)
    _need_columns(path, table, ("query_id", "shape", "anchors", "relations"))
    shapes = {}
    for shape, rows in _by_shape(path, table, metadata):
        formula = parse(metadata["formulas"][shape])
        shapes[shape] = Queries(
            rows["query_id"].to_numpy(zero_copy_only=False),
            _values(rows, "anchors").reshape(rows.num_rows, len(symbols(formula, "s"))),
            _values(rows, "relations").reshape(rows.num_rows, len(symbols(formula, "r"))),
            _read_ragged(rows, "selected") if "selected" in rows.column_names else None,
        )
    return QueryTable(shapes, metadata)


def write_answers(
    path: str | os.PathLike, shapes: dict[str, Answers], queries_metadata: dict
) -> None:
    """Write answers as Parquet: query_id, shape, easy, hard, retracted, and `_PER_ANSWER`."""
    columns = {
        name: _concatenated(_ragged_column(getattr(batch, name)) for batch in shapes.values())
        for name in ("easy", "hard", "retracted")
    }
    for name, unknown in _PER_ANSWER.items():
        parts = (_per_answer(batch, name, unknown) for batch in shapes.values())
        columns[name] = _concatenated(parts)
    split = queries_metadata["split"]
    table = pa.table({"query_id": _joined_ids(shapes), "shape": _shape_column(shapes), **columns})
    metadata = {**queries_metadata, "observed": OBSERVED[split], "full": FULL[split]}
    write_table(path, table, metadata)


def read_answers(path: str | os.PathLike) -> AnswerTable:
    """Read answers.

    Raises
    ------
    InputError
        If the file is not a table of answers.
    """
    table, metadata = read_table(path)
    sets = ("easy", "hard", "retracted")
    _need_columns(path, table, ("query_id", "shape", *sets, *_PER_ANSWER))
    shapes = {}
    for shape, rows in _by_shape(path, table, metadata):
        shapes[shape] = Answers(
            rows["query_id"].to_numpy(zero_copy_only=False),
            *(_read_ragged(rows, name) for name in sets),
            *(_values(rows, name) for name in _PER_ANSWER),
        )
    return AnswerTable(shapes, metadata)


def _per_answer(batch: Answers, name: str, unknown: np.generic) -> pa.Array:
    values = getattr(batch, name)
    if values is None:
        values = np.full(len(batch.hard.values), unknown)
    return _ragged_column(Ragged(batch.hard.offsets, values))


def _need_columns(path, table: pa.Table, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(f"{path}: a table without the column '{missing[0]}'; make it again")


def _by_shape(path, table: pa.Table, metadata: dict):
    """Rows of each shape of the metadata, in its order; a file keeps a shape's rows together."""
    table = table.combine_chunks()
    if set_hash(map(str, table["query_id"].to_pylist())) != metadata["queries"]:
        raise InputError(f"{path}: rows are missing, repeated or foreign; delete it and run again")
    names, lengths = [], []
    if table.num_rows:
        runs = pc.run_end_encode(table["shape"].cast(pa.string()).chunk(0))
        names = runs.values.to_pylist()
        lengths = np.diff(runs.run_ends.to_numpy(), prepend=0).tolist()
    places, start = {}, 0
    for name, length in zip(names, lengths, strict=True):
        if name in places or name not in metadata["formulas"]:
            raise InputError(f"{path}: rows of the shape {name} stand apart or are not declared")
        places[name] = (start, length)
        start += length
    for shape in metadata["formulas"]:
        yield shape, table.slice(*places.get(shape, (0, 0)))


def _joined_ids(shapes: dict) -> pa.Array:
    return pa.array([name for batch in shapes.values() for name in batch.query_ids], pa.string())


def _shape_column(shapes: dict) -> pa.Array:
    sizes = [len(batch.query_ids) for batch in shapes.values()]
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(shapes), pa.string()))


def _concatenated(columns) -> pa.Array:
    return pa.concat_arrays(list(columns))


def _matrix_column(rows: np.ndarray) -> pa.Array:
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return _ragged_column(Ragged(offsets, np.ascontiguousarray(rows, np.int32).reshape(-1)))


def _ragged_column(rows: Ragged) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(rows.offsets), pa.array(rows.values))


def _list_column(table: pa.Table, name: str) -> pa.Array:
    column = table[name]
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _values(table: pa.Table, name: str) -> np.ndarray:
    return _list_column(table, name).flatten().to_numpy()


def _read_ragged(table: pa.Table, name: str) -> Ragged:
    column = _list_column(table, name)
    offsets = column.offsets.to_numpy().astype(np.int64)
    return Ragged(offsets - offsets[0], column.flatten().to_numpy())
