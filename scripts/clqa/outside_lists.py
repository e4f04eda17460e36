"""Lists of the best entities of each query, with their scores, from elsewhere."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from clqa.errors import InputError, abridged
from clqa.outside_queries import Key, Numbering, refuse_repeated
from clqa.outside_scores import read_arrays_of
from clqa.outside_shards import COUNTS, Shard
from clqa.outside_tables import read_parquet
from clqa.ragged import Ragged

UNKNOWN = -1


class Lists(NamedTuple):
    """The entities of n lists that are given, with their scores.

    Attributes
    ----------
    listed : Ragged of n rows
        Entities by id.
    scores : (len(listed.values),) float64
    tied : (n,) int64
        How many entities, listed or not, score as the last listed one; -1 where it is not known.
    """

    listed: Ragged
    scores: np.ndarray
    tied: np.ndarray


class _Pairs(NamedTuple):
    """Pairs of a row and an entity, whose ids or labels are as in the file."""

    rows: np.ndarray
    entities: np.ndarray | pa.Array
    scores: np.ndarray


class Written(NamedTuple):
    """Lists of several files as they stand there.

    Attributes
    ----------
    paths : of the files
    rows : list of str or tuple
        The queries of the rows of all files.
    pairs : list of _Pairs
        Of each file; their rows are counted over all files.
    counts : dict
        For each row what is said of its list.
    """

    paths: Sequence[str | os.PathLike]
    rows: list[Key]
    pairs: list[_Pairs]
    counts: dict[str, list]


def read_lists(paths: Sequence[str | os.PathLike], shard: Shard) -> Written:
    """The lists of all files, whose content `checked_lists` looks at.

    Raises
    ------
    InputError
        If a file is not readable, or names a query that another has, too.
    """
    rows, counts = shard.rows, shard.counts
    if rows is not None and len(paths) != len(rows):
        raise InputError(f"{paths[0]}: {len(paths)} files of scores for {len(rows)} of queries")
    names, found, said = [], [], []
    for place, path in enumerate(paths):
        own, more = None if rows is None else rows[place], {}
        if Path(path).suffix == ".npz":
            pairs, own, more = _from_arrays(path, own)
        else:
            pairs, own = _from_table(path, own)
        found.append(pairs._replace(rows=pairs.rows + len(names)))
        said.append(more)
        names += own
    for name in COUNTS:
        if name not in counts and all(name in more for more in said):
            counts = {**counts, name: [value for more in said for value in more[name]]}
    refuse_repeated(paths[0], names)
    return Written(paths, names, found, counts)


def checked_lists(written: Written, shard: Shard, places: np.ndarray) -> Lists:
    """The lists at some places; what is wrong with others does not matter.

    Raises
    ------
    InputError
        If one names an entity that there is not or one twice, has a NaN, or does not fit what is
        said of it.
    """
    path, names, found = written.paths[0], written.rows, []
    is_taken = np.zeros(len(names), bool)
    is_taken[places] = True
    for one, pairs in zip(written.paths, written.pairs, strict=True):
        kept = is_taken[pairs.rows]
        is_ids = isinstance(pairs.entities, np.ndarray)
        entities = pairs.entities[kept] if is_ids else pairs.entities.filter(pa.array(kept))
        ids = _own_ids(entities, shard.numbering, shard.labels, one)
        found.append((pairs.rows[kept], ids, pairs.scores[kept]))
    numbers, ids, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((ids, numbers))
    numbers, ids, scores = numbers[order], ids[order], scores[order]
    _check_pairs(path, names, numbers, ids, scores)
    offsets = np.searchsorted(numbers, np.arange(len(names) + 1)).astype(np.int64)
    listed = Ragged(offsets, ids.astype(np.int32))
    tied = _tied(path, names, listed, scores, written.counts, shard.labels)
    return taken_lists(Lists(listed, scores, tied), places)


def taken_lists(lists: Lists, places: np.ndarray) -> Lists:
    """The lists at some places."""
    lengths = lists.listed.lengths()[places]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    starts = np.repeat(lists.listed.offsets[places] - offsets[:-1], lengths)
    inner = starts + np.arange(offsets[-1])
    listed = Ragged(offsets, lists.listed.values[inner])
    return Lists(listed, lists.scores[inner], lists.tied[places])


def filled_blocks(
    lists: Lists, unlisted: float, n_entities: int, chunk_bytes: int
) -> Iterator[np.ndarray]:
    """Rows of scores of all entities; those that are not listed score the same."""
    offsets, n = lists.listed.offsets, len(lists.tied)
    step = max(1, chunk_bytes // (8 * n_entities))
    for first in range(0, n, step):
        last = min(first + step, n)
        block = np.full((last - first, n_entities), unlisted, np.float64)
        inside = slice(offsets[first], offsets[last])
        owners = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
        block[owners, lists.listed.values[inside]] = lists.scores[inside]
        yield block


def _from_table(path, rows: list[Key] | None) -> tuple[_Pairs, list[Key]]:
    """Columns `query_id` or `row`, `entity` (ids) or `label`, and `score`."""
    table = _read_table(path)
    one = [name for name in table.column_names if name in ("query_id", "row")]
    other = [name for name in table.column_names if name in ("entity", "label")]
    if len(one) != 1 or len(other) != 1 or table.column_names.count("score") != 1:
        raise InputError(
            f"{path}: columns {', '.join(table.column_names)}; expected query_id (or row), entity"
            " (or label) and score"
        )
    for name in (*one, *other):
        if table[name].null_count:
            raise InputError(f"{path}: the column {name} has gaps")
    scores = _numbers(_as_scores(table["score"]), pa.float64(), path, "score")
    entities = table[other[0]]
    if other[0] == "entity":
        entities = _numbers(entities, pa.int64(), path, "entity")
    else:
        entities = _texts(entities, pa.large_string(), path, "label")
    if one[0] == "row":
        if rows is None:
            raise InputError(f"{path}: rows without names; give the key queries, or query_id")
        numbers = _numbers(table["row"], pa.int64(), path, "row")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(rows):
            raise InputError(f"{path}: the column row must be from 0 to {len(rows) - 1}")
        return _Pairs(numbers, entities, scores), rows
    named = _texts(table["query_id"], pa.string(), path, "query_id")
    if rows is None:
        rows = named.unique().to_pylist()
    elif rows and not isinstance(rows[0], str):
        raise InputError(f"{path}: query ids for queries that are tuples; give the column row")
    numbers = pc.index_in(named, value_set=pa.array(rows, pa.string()))
    if numbers.null_count:
        stranger = named.filter(numbers.is_null())[0].as_py()
        raise InputError(f"{path}: query {stranger}: not in the file of queries")
    return _Pairs(numbers.to_numpy().astype(np.int64), entities, scores), rows


def _read_table(path) -> pa.Table:
    if Path(path).suffix == ".parquet":
        return read_parquet(path)
    try:
        options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
        texts = dict.fromkeys(("query_id", "label"), pa.string())
        convert = pyarrow.csv.ConvertOptions(column_types=texts, strings_can_be_null=False)
        table = pyarrow.csv.read_csv(path, parse_options=options, convert_options=convert)
        table.schema.names  # noqa: B018 - raises where they are no text
        return table
    except Exception as error:  # whatever a damaged file makes its reader say
        what = " ".join(str(error or type(error).__name__).split())
        raise InputError(f"{path}: not readable ({what:.300})") from error


def _texts(column: pa.ChunkedArray, kind: pa.DataType, path, name: str) -> pa.ChunkedArray:
    """A column of texts, or of what is written in one way only."""
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"{path}: the column {name} is of {column.type}; expected text") from None


def _as_scores(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers as the nearest 64-bit floats, and a NaN where there is none, as text has it.

    A NaN is one for its query, and not for all.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
        column = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan)
    return column


def _numbers(column: pa.ChunkedArray, kind: pa.DataType, path, name: str) -> np.ndarray:
    """A column of the numbers that it should have, or of texts of such."""
    try:
        found = column.cast(pa.float64() if pa.types.is_floating(column.type) else kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        found = None
    is_whole = kind == pa.int64()
    if found is None or (is_whole and not pa.types.is_integer(found.type)):
        what = "whole numbers" if is_whole else "numbers"
        raise InputError(f"{path}: the column {name} is of {column.type}; expected {what}")
    return found.to_numpy()


def _from_arrays(path, rows: list[Key] | None) -> tuple[_Pairs, list[Key], dict]:
    """Arrays `entities` and `scores`, (n, k), and perhaps `n_tied_at_cut`, (n,)."""
    arrays = read_arrays_of(path)
    entities, scores = arrays.get("entities"), arrays.get("scores")
    if entities is None or scores is None:
        raise InputError(f"{path}: arrays {', '.join(arrays)}; expected entities and scores")
    if rows is None:
        raise InputError(f"{path}: rows without names; give the key queries")
    right = entities.shape == scores.shape and entities.ndim == 2 and len(entities) == len(rows)
    if not right or entities.dtype.kind not in "iu" or scores.dtype.kind != "f":
        raise InputError(
            f"{path}: entities of {entities.dtype} {entities.shape} and scores of {scores.dtype}"
            f" {scores.shape}; expected whole and other numbers ({len(rows)}, k)"
        )
    is_listed = entities != -1
    numbers = np.broadcast_to(np.arange(len(rows))[:, None], entities.shape)[is_listed]
    pairs = _Pairs(numbers, entities[is_listed].astype(np.int64), scores[is_listed].astype(float))
    more = {name: arrays[name] for name in COUNTS if name in arrays}
    for name, given in more.items():
        if given.shape != (len(rows),) or given.dtype.kind not in "iuf":
            raise InputError(
                f"{path}: {name} of {given.dtype} {given.shape}; expected numbers ({len(rows)},)"
            )
    more = {name: given.tolist() for name, given in more.items()}
    return pairs, rows, more


def _own_ids(entities, numbering: Numbering, labels: pa.Array, path) -> np.ndarray:
    """Ids in the graph of entities that are given by ids or labels."""
    if not isinstance(entities, np.ndarray):
        found = pc.index_in(entities, value_set=labels.cast(pa.large_string()))
        if found.null_count:
            stranger = entities.filter(found.is_null())[0].as_py()
            raise InputError(f"{path}: the graph has no entity {abridged(stranger)}")
        return found.to_numpy().astype(np.int64)
    wrong = (entities < 0) | (entities >= len(labels))
    if wrong.any():
        raise InputError(
            f"{path}: the id {entities[wrong][0]} of an entity; expected 0 to {len(labels) - 1}"
        )
    if numbering.entities is None:
        return entities
    ours = np.empty(len(labels), np.int64)
    ours[numbering.entities] = np.arange(len(labels))
    return ours[entities]


def _check_pairs(path, names: list[Key], numbers, ids, scores) -> None:
    """Pairs that are sorted by row and entity: none twice, and no NaN."""
    same = np.flatnonzero((np.diff(numbers) == 0) & (np.diff(ids) == 0))
    if len(same):
        raise InputError(f"{path}: query {_at(names, numbers[same[0]])} lists an entity twice")
    bad = np.flatnonzero(np.isnan(scores))
    if len(bad):
        raise InputError(f"{path}: the scores of query {_at(names, numbers[bad[0]])} hold a NaN")


def _at(names: list[Key], place: int) -> str:
    return names[place] if isinstance(names[place], str) else abridged(names[place])


def _tied(path, names, listed: Ragged, scores, counts: dict, labels: pa.Array) -> np.ndarray:
    """How many entities score as the last of each list; what is said of it must fit the list."""
    n, lengths = len(names), listed.lengths()
    cuts = np.full(n, np.inf)
    rows = np.repeat(np.arange(n), lengths)
    np.minimum.at(cuts, rows, scores)
    at_cut = np.bincount(rows[scores == cuts[rows]], minlength=n)
    own = {"k": lengths, "cut_score": cuts, "n_above": lengths - at_cut}
    for name in COUNTS:
        given = counts.get(name)
        if given is None:
            continue
        is_list = isinstance(given, list) and len(given) == n
        if not is_list or not all(type(one) in (int, float) for one in given):
            raise InputError(f"{path}: {name} must have a number for each of {n} queries")
        given = np.array(given)
        # A text of a float32 is not its float64.
        wrong = ~np.isclose(given, own[name], 1e-5) if name in own else given < at_cut
        if name == "n_tied_at_cut":
            wrong |= (lengths - at_cut + given > len(labels)) | (given % 1 != 0)
        wrong &= lengths > 0
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"{path}: {name} of query {_at(names, place)} is {given[place]}, which does not"
                " fit its list"
            )
    tied = np.array(counts.get("n_tied_at_cut", np.full(n, UNKNOWN)), np.int64)
    tied[lengths == 0] = UNKNOWN
    whole = lengths == len(labels)
    tied[whole] = at_cut[whole]
    return tied
