"""How many candidates beat and how many tie each hard answer.

Ranks are never taken from a sort of the candidates, whose order within ties is arbitrary. The two
counts do not depend on any order, and every rank under every tie policy follows from them
(`clqa.ties`).

A row of scores is read once for all its hard answers and all filters, and for its best candidates.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.candidate_sets import columns_of, renumbered, with_strangers
from clqa.errors import InputError
from clqa.predictions import release
from clqa.ragged import Ragged, is_ascending
from clqa.ragged_sets import selected
from clqa.ranked_rows import rank_rows
from clqa.top_candidates import Tops, bits_of, empty_tops
from clqa.typed_candidates import Pools, is_member, members_of

CHUNK_BYTES = 2**23


class Competitors(NamedTuple):
    """Counts per filter and hard answer; answers in the order of `targets.values`.

    Attributes
    ----------
    greater, tied : (n_filters, n_targets) int32
        Candidates, other than the answer, that score strictly better and the same. Where there are
        pools, as many rows follow for their members under each filter.
    candidates : (n_filters, n_targets) int32
        Number of candidates, the answer included.
    """

    greater: np.ndarray
    tied: np.ndarray
    candidates: np.ndarray


class Ranking(NamedTuple):
    """All that is kept of the scores of some queries.

    Attributes
    ----------
    counts : Competitors
    tops : Tops
        The best candidates under the first filter.
    looked_up : (n,) float
        Scores of the entities that were asked for.
    """

    counts: Competitors
    tops: Tops
    looked_up: np.ndarray


def count_competitors(
    scores: np.ndarray, targets: Ragged, excluded: Sequence[Ragged], **options
) -> Competitors:
    """Count the candidates that beat and tie each target; see `rank` for all parameters."""
    return rank(scores, targets, excluded, **options).counts


def rank(
    scores: np.ndarray,
    targets: Ragged,
    excluded: Sequence[Ragged],
    *,
    depth: int = 0,
    wanted: Ragged | None = None,
    rows: np.ndarray | None = None,
    query_ids: Sequence[str] | None = None,
    candidates: np.ndarray | None = None,
    pools: Pools | None = None,
    tie_atol: float = 0.0,
    chunk_bytes: int = CHUNK_BYTES,
) -> Ranking:
    """Count competitors, keep the best candidates and look scores up, in one pass over the scores.

    Parameters
    ----------
    scores : (n_rows, n_entities) array of real numbers
        Higher is better; infinities are legal. May be memory-mapped: pages that have been read are
        given back. float16 is ranked as float32, integers as float64.
    targets : Ragged of n_queries rows
        The entities to rank.
    excluded : sequence of Ragged of n_queries rows
        One per filter: entities that do not compete. A target never competes with itself and is a
        candidate of its own ranking, whether it is listed here or not; another target of the same
        query competes unless it is listed.
    depth : int
        How many of the best candidates under the first filter to keep; without any their numbers
        above thresholds are not counted either.
    wanted : Ragged of n_queries rows, optional
        Entities whose scores are to be looked up.
    rows : (n_queries,) int, optional
        Row of `scores` of each query; by default they are in the same order. A query without a
        row, -1, has scores of minus infinity, and all its candidates are ahead of its targets.
    query_ids : sequence of str, optional
        For messages.
    candidates : (n,) int, optional
        The entities that compete, ascending; all by default. A target needs not be one of them.
    pools : Pools, optional
        Candidates of each query among which its targets are ranked beside. A target needs not be
        one of them.
    tie_atol : float
        Scores this close to the target's, as double precision has the two ends, count as tied.
    chunk_bytes : int
        Scores to hold at a time. No result depends on it.

    Raises
    ------
    InputError
        If the score of a candidate is NaN, or the arrays do not fit together.
    """
    scores = _rankable(scores)
    if not 0 <= tie_atol < np.inf:
        raise InputError(f"tie_atol must be a finite number from 0, not {tie_atol!r}")
    if depth < 0 or not excluded:
        raise InputError("ranks: a depth from 0 and at least one filter are needed")
    n_queries = len(targets.offsets) - 1
    rows = np.arange(n_queries) if rows is None else np.asarray(rows)
    wanted = (
        Ragged(np.zeros(n_queries + 1, np.int64), targets.values[:0]) if wanted is None else wanted
    )
    _check(scores, targets, [*excluded, wanted], rows)
    _check_competition(scores.shape[1], n_queries, candidates, pools)
    columns = None
    if candidates is not None:
        columns, strangers = columns_of(candidates, targets)
        targets = renumbered(targets, columns)
        excluded = [renumbered(ids, columns) for ids in excluded]
        excluded = with_strangers(excluded, strangers)
        pools = None if pools is None else _among(pools, candidates, columns)
    n_columns = scores.shape[1] if columns is None else len(columns)
    groups = _grouped(targets, pools, n_columns)
    kinds = [*excluded] + [members_of(ids, pools, n_columns) for ids in excluded if pools]
    starts, ids = _stacked(kinds)
    answers = targets.offsets.astype(np.int64), targets.values.astype(np.int32)
    counts = Competitors(*np.empty((3, len(kinds), len(targets.values)), np.int32))
    dtype = np.result_type(scores.dtype, np.float32)
    tops = empty_tops(excluded[0], n_columns, depth, dtype)
    looked_up = np.empty(len(wanted.values), dtype)
    margin = np.array([tie_atol], np.float64 if tie_atol else dtype)
    asked = wanted.offsets.astype(np.int64), wanted.values.astype(np.int32), looked_up
    for first, *chunk in _chunks(scores, rows, columns, dtype, chunk_bytes):
        bad = rank_rows(
            *chunk,
            first,
            answers,
            (starts, ids),
            groups,
            margin,
            counts,
            (*tops.ids, *tops[1:]),
            asked,
        )
        if bad >= 0:
            name = f"row {rows[bad]}" if query_ids is None else query_ids[bad]
            raise InputError(f"scores of query {name} hold a NaN; every entity needs a number")
    if columns is not None:
        tops.ids.values[:] = columns[tops.ids.values]
    unscored = np.repeat(rows < 0, targets.lengths())
    counts.greater[:, unscored] += counts.tied[:, unscored]
    counts.tied[:, unscored] = 0
    return Ranking(counts, tops, looked_up)


def _among(pools: Pools, candidates: np.ndarray, columns: np.ndarray) -> Pools:
    """Of the pools those members that are candidates, as places in the columns."""
    kept = selected(pools.members, np.isin(pools.members.values, candidates))
    return pools._replace(members=renumbered(kept, columns))


def _grouped(targets: Ragged, pools: Pools | None, n_columns: int) -> tuple[np.ndarray, ...]:
    """Offsets and ids of the pools, the pool of each query, and whether targets are in theirs."""
    if pools is None:
        return (*np.zeros((2, 1), np.int64), np.zeros(1, np.int32), np.zeros(1, bool))
    of_query = np.asarray(pools.of_query, np.int64)
    offsets, members = pools.members.offsets.astype(np.int64), pools.members.values
    return offsets, of_query, members.astype(np.int32), is_member(targets, pools, n_columns)


def _chunks(scores, rows: np.ndarray, columns: np.ndarray | None, dtype, chunk_bytes: int):
    """Scores of some queries at a time: the first one's number, and what `rank_rows` takes."""
    step = max(1, chunk_bytes // max(1, scores.shape[1] * dtype.itemsize))
    for first in range(0, len(rows), step):
        whole, places = scores, rows[first : first + step]
        if scores.dtype != dtype or columns is not None or places.min(initial=0) < 0:
            whole = _rows_of(scores, places, dtype)
            places = np.arange(len(places))
        chunk = whole if columns is None else np.ascontiguousarray(whole[:, columns])
        chunk = _read_only(chunk)
        yield first, chunk, bits_of(chunk), _read_only(whole), places
        release(scores)


def _rows_of(scores: np.ndarray, places: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of some rows; the row -1 is minus infinity throughout."""
    chunk = np.full((len(places), scores.shape[1]), -np.inf, dtype)
    chunk[places >= 0] = scores[places[places >= 0]]
    return chunk


def _read_only(scores: np.ndarray) -> np.ndarray:
    """A plain view; mapped and ordinary arrays then share one compiled kernel."""
    view = np.asarray(scores).view()
    view.flags.writeable = False
    return view


def _rankable(scores: np.ndarray) -> np.ndarray:
    scores = np.asanyarray(scores)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf" or scores.dtype.itemsize > 8:
        raise InputError(
            f"scores must be a real matrix (queries, entities), not {scores.dtype} {scores.shape}"
        )
    if scores.dtype.kind in "biu":
        scores = scores.astype(np.float64)
    return scores if scores.flags.c_contiguous else np.ascontiguousarray(scores)


def _check(scores, targets: Ragged, excluded: Sequence[Ragged], rows: np.ndarray) -> None:
    n_rows, n_entities = scores.shape
    for ids in (targets, *excluded):
        if len(ids.offsets) != len(rows) + 1:
            raise InputError(f"answers: {len(ids.offsets) - 1} rows for {len(rows)} queries")
        _check_ids("answers", ids, n_entities)
    if rows.dtype.kind not in "iu" and len(rows):
        raise InputError(f"rows must be whole numbers, not {rows.dtype}")
    if len(rows) and not -1 <= rows.min() <= rows.max() < n_rows:
        raise InputError(f"scores: {n_rows} rows are too few for {len(rows)} queries")


def _check_competition(
    n_entities: int, n_queries: int, candidates: np.ndarray | None, pools: Pools | None
) -> None:
    if candidates is not None:
        every = np.array([0, len(candidates)], np.int64)
        _check_ids("candidates", Ragged(every, np.asarray(candidates)), n_entities)
    if pools is not None:
        _check_ids("pools", pools.members, n_entities)
        chosen, n_pools = np.asarray(pools.of_query), len(pools.members.offsets) - 1
        if len(chosen) != n_queries or not np.isin(chosen, np.arange(n_pools)).all():
            raise InputError(f"pools: expected one of {n_pools} for each of {n_queries} queries")


def _check_ids(what: str, ids: Ragged, n_entities: int) -> None:
    """Refuse rows of anything but different ids of entities that ascend."""
    offsets, values = ids.offsets, ids.values
    if offsets[0] or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise InputError(f"{what}: offsets must go from 0 up to the number of ids")
    if values.dtype.kind not in "iu" and len(values):
        raise InputError(f"{what}: ids must be whole numbers, not {values.dtype}")
    if len(values) and not 0 <= values.min() <= values.max() < n_entities:
        raise InputError(f"{what}: an id lies outside of the {n_entities} scored entities")
    if not is_ascending(ids):
        raise InputError(f"{what}: the ids of a row must ascend, each of them once")


def _stacked(excluded: Sequence[Ragged]) -> tuple[np.ndarray, np.ndarray]:
    """Several `Ragged` as offsets (n_filters, n_queries + 1) into one array of ids."""
    sizes = np.cumsum([0, *(len(ids.values) for ids in excluded)])
    starts = [ids.offsets + size for ids, size in zip(excluded, sizes[:-1], strict=True)]
    values = np.concatenate([ids.values for ids in excluded])
    return np.array(starts, np.int64), values.astype(np.int32)
