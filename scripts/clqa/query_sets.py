"""Query sets and their answers as tables on disk, and the ids that name queries."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.candidate_sets import described, split_off
from clqa.canonical_forms import canonical
from clqa.errors import InputError, damaged
from clqa.formulas import Formula, parse, symbols
from clqa.graphs import Graph
from clqa.ragged import Ragged, is_ascending
from clqa.tables import Contents, read_table, write_table

_ID_LENGTH = 20
# Columns with a value for each hard answer, and the value that says that it is not known.
PER_ANSWER = {"links": np.uint8(0), "subsets": np.uint64(0), "classes": np.int8(-1)}
# What a query set's tables say of it, from `describe_queries` on.
ORIGIN = {
    "graph": str,
    "vocabulary": str,
    "n_entities": int,
    "split": str,
    "formulas": dict,
    "queries": str,
    "observed": list,
    "full": list,
}
_LISTS = "lists of whole numbers"
QUERIES = Contents(
    rule="sample_queries or import_queries",
    columns={
        "query_id": "text",
        "shape": "text",
        **dict.fromkeys(("anchors", "relations", "selected", "filtered"), _LISTS),
    },
    metadata=ORIGIN,
    may_lack=("selected", "filtered"),
)
ANSWERS = Contents(
    rule="split_answers",
    columns={
        "query_id": "text",
        "shape": "text",
        **dict.fromkeys(("easy", "hard", "retracted", *PER_ANSWER), _LISTS),
    },
    metadata=ORIGIN,
)


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
    filtered : Ragged, optional
        What is taken for easy, where that is not what the graph gives.
    """

    query_ids: np.ndarray
    anchors: np.ndarray
    relations: np.ndarray
    selected: Ragged | None = None
    filtered: Ragged | None = None


class Answers(NamedTuple):
    """Answers of the queries of one shape on the observed and the full graph of a split.

    Attributes
    ----------
    query_ids : (n,) str
    easy, hard, retracted : Ragged
        See `clqa.answers.SplitAnswers`; of tuples (`clqa.tuples`) where there are several free
        variables.
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
    """Answers by shape, in the order of the file.

    Attributes
    ----------
    metadata : dict
        As of the queries, with the `observed` and the `full` parts of the graph. Where the shapes
        have several free variables, `arity` is their number, and tuples are flattened on disk.
    candidates : (n,) int32, optional
        Entities that compete with the hard answers, ascending; all where there is no list.
    """

    shapes: dict[str, Answers]
    metadata: dict
    candidates: np.ndarray | None = None


def arity_of(table: QueryTable | AnswerTable) -> int:
    """Number of free variables of the shapes of a table."""
    return table.metadata.get("arity", 1)


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
    """The metadata that a table of queries carries to everything made from it.

    Raises
    ------
    InputError
        If the formulas differ in the number of their free variables.
    """
    arities = {len(symbols(parse(text), "f")) for text in formulas.values()}
    if len(arities) > 1:
        raise InputError(
            f"shapes of {min(arities)} and of {max(arities)} free variables in one table: a shard"
            " has those of one number"
        )
    several = {"arity": max(arities)} if max(arities, default=1) > 1 else {}
    return {
        "graph": graph.hash,
        "vocabulary": graph.vocabulary,
        "n_entities": graph.n_entities,
        "split": split,
        "observed": list(graph.observed[split]),
        "full": list(graph.full(split)),
        "formulas": formulas,
        "queries": set_hash(ids),
        **several,
    }


def write_queries(
    path: str | os.PathLike, shapes: dict[str, Queries], metadata: dict, source: str
) -> None:
    """Write queries as Parquet: query_id, shape, anchors, relations, source, and selected answers.

    The columns `selected` and `filtered` are there if the query set has such sets; all batches do
    then.
    """
    n_rows = sum(len(batch.query_ids) for batch in shapes.values())
    chosen = {}
    for name in ("selected", "filtered"):
        rows = [getattr(one, name) for one in shapes.values() if getattr(one, name) is not None]
        if rows:
            chosen[name] = _concatenated(map(list_column, rows))
    table = pa.table(
        {
            "query_id": _joined_ids(shapes),
            "shape": _shape_column(shapes),
            "anchors": _concatenated(_matrix_column(b.anchors) for b in shapes.values()),
            "relations": _concatenated(_matrix_column(b.relations) for b in shapes.values()),
            "source": pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), [source])
            if n_rows
            else pa.array([], pa.dictionary(pa.int32(), pa.string())),
            **chosen,
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
    table, metadata = read_table(path, QUERIES)
    shapes = {}
    for shape, rows in _by_shape(path, table, metadata, QUERIES):
        with _as_damage(path, shape, QUERIES):
            shapes[shape] = _queries(rows, parse(metadata["formulas"][shape]), metadata)
    return QueryTable(shapes, metadata)


def _queries(rows: pa.Table, formula: Formula, metadata: dict) -> Queries:
    columns = []
    for name, sort in (("anchors", "s"), ("relations", "r")):
        lists, size = _read_ragged(rows, name), len(symbols(formula, sort))
        if (lists.lengths() != size).any():
            raise ValueError(f"expected {size} {name} in each row")
        _check_ids(name, lists, metadata["n_entities"] if sort == "s" else np.iinfo(np.int32).max)
        columns.append(lists.values.astype(np.int32, copy=False).reshape(rows.num_rows, size))
    for name in ("selected", "filtered"):
        known = name in rows.column_names
        columns.append(_answers(rows, name, metadata) if known else None)
    return Queries(rows["query_id"].to_numpy(zero_copy_only=False), *columns)


def check_asked_of(graph: Graph, split: str, queries: QueryTable, path: str | os.PathLike) -> None:
    """Raise `InputError` unless the queries at `path` are those of a split of the graph."""
    found = queries.metadata["graph"], queries.metadata["split"]
    if found != (graph.hash, split):
        what = f"not asked of the graph {graph.hash[:12]}…, split {split}, but of"
        raise damaged(path, f"{what} {found[0][:12]}…, split {found[1]}", QUERIES.rule)
    for shape, batch in queries.shapes.items():
        if batch.relations.size and batch.relations.max() >= graph.n_relations:
            what = f"{shape}: relation ids must be below {graph.n_relations}"
            raise damaged(path, what, QUERIES.rule)


def write_answers(
    path: str | os.PathLike,
    shapes: dict[str, Answers],
    queries_metadata: dict,
    candidates: np.ndarray | None = None,
) -> None:
    """Write answers as Parquet: query_id, shape, easy, hard, retracted, and `PER_ANSWER`."""
    columns = {
        name: _concatenated(list_column(getattr(batch, name)) for batch in shapes.values())
        for name in ("easy", "hard", "retracted")
    }
    for name, unknown in PER_ANSWER.items():
        parts = (_per_answer(batch, name, unknown) for batch in shapes.values())
        columns[name] = _concatenated(parts)
    table = pa.table({"query_id": _joined_ids(shapes), "shape": _shape_column(shapes), **columns})
    about = described(candidates, queries_metadata["n_entities"])
    write_table(path, table, {**queries_metadata, **about})


def read_answers(path: str | os.PathLike) -> AnswerTable:
    """Read answers.

    Raises
    ------
    InputError
        If the file is not a table of answers.
    """
    table, metadata = read_table(path, ANSWERS)
    metadata, candidates = split_off(metadata)
    shapes = {}
    for shape, rows in _by_shape(path, table, metadata, ANSWERS):
        with _as_damage(path, shape, ANSWERS):
            sets = [_answers(rows, name, metadata) for name in ("easy", "hard", "retracted")]
            about = {name: _values_of(rows, name, sets[1]) for name in PER_ANSWER}
            query_ids = rows["query_id"].to_numpy(zero_copy_only=False)
            shapes[shape] = Answers(query_ids, *sets, **about)
    return AnswerTable(shapes, metadata, candidates)


def _answers(rows: pa.Table, name: str, metadata: dict) -> Ragged:
    found = _read_ragged(rows, name)
    _check_ids(name, found, metadata["n_entities"])
    found = unflattened(found, name, metadata)
    if not is_ascending(found):
        raise ValueError(f"the ids in {name} do not ascend within a row")
    return found._replace(values=found.values.astype(np.int32, copy=False))


def _values_of(rows: pa.Table, name: str, hard: Ragged) -> np.ndarray:
    """The values of the hard answers in a column of lists."""
    found, kind = _read_ragged(rows, name), PER_ANSWER[name].dtype
    if not np.array_equal(found.offsets, hard.offsets) or found.values.dtype != kind:
        raise ValueError(f"expected {name}, {kind}, with a number for each hard answer")
    return found.values


def _per_answer(batch: Answers, name: str, unknown: np.generic) -> pa.Array:
    values = getattr(batch, name)
    if values is None:
        values = np.full(len(batch.hard.values), unknown)
    return list_column(Ragged(batch.hard.offsets, values))


def _check_ids(name: str, ids: Ragged, bound: int) -> None:
    if len(ids.values) and not 0 <= ids.values.min() <= ids.values.max() < bound:
        raise ValueError(f"ids in {name} must be 0 to {bound - 1}")


@contextlib.contextmanager
def _as_damage(path, shape: str, contents: Contents) -> Iterator[None]:
    """Say of which table and shape bad content is."""
    try:
        yield
    except ValueError as error:
        raise damaged(path, f"{shape}: {error}", contents.rule) from error


def _by_shape(path, table: pa.Table, metadata: dict, contents: Contents):
    """Rows of each shape of the metadata, in its order; a file keeps a shape's rows together."""
    table = table.combine_chunks()
    if set_hash(table["query_id"].to_pylist()) != metadata["queries"]:
        raise damaged(path, "rows are missing, repeated or foreign", contents.rule)
    names, lengths = [], []
    if table.num_rows:
        runs = pc.run_end_encode(table["shape"].cast(pa.string()).chunk(0))
        names = runs.values.to_pylist()
        lengths = np.diff(runs.run_ends.to_numpy(), prepend=0).tolist()
    for shape, text in metadata["formulas"].items():
        found, arity = len(symbols(parse(text), "f")), metadata.get("arity", 1)
        if found != arity:
            what = f"{shape} has {found} free variables; the table is of shapes with {arity}"
            raise damaged(path, what, contents.rule)
    places, start = {}, 0
    for name, length in zip(names, lengths, strict=True):
        if name in places or name not in metadata["formulas"]:
            what = f"rows of the shape {name} stand apart or are not declared"
            raise damaged(path, what, contents.rule)
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
    return list_column(Ragged(offsets, np.ascontiguousarray(rows, np.int32).reshape(-1)))


def list_column(rows: Ragged) -> pa.Array:
    """Lists of ids; tuples are flattened."""
    width = rows.values.shape[1] if rows.values.ndim > 1 else 1
    values = pa.array(rows.values.reshape(-1))
    return pa.LargeListArray.from_arrays(pa.array(rows.offsets * width), values)


def unflattened(ids: Ragged, name: str, metadata: dict) -> Ragged:
    """Lists of ids as the tuples that they are where the metadata says so."""
    arity = metadata.get("arity", 1)
    if arity == 1:
        return ids
    if (ids.offsets % arity).any():
        raise ValueError(f"the ids in {name} are no tuples of {arity}")
    return Ragged(ids.offsets // arity, ids.values.reshape(-1, arity))


def _list_column(table: pa.Table, name: str) -> pa.Array:
    column = table[name]
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _read_ragged(table: pa.Table, name: str) -> Ragged:
    column = _list_column(table, name)
    offsets = column.offsets.to_numpy().astype(np.int64)
    return Ragged(offsets - offsets[0], column.flatten().to_numpy())
