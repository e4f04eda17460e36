"""Sets of answers per query from pairs of texts, all over the same queries and the same numbers."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.errors import InputError
from clqa.operating_points import ScoredPairs
from clqa.pair_files import Pairs
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, selected


class ScoredSets(NamedTuple):
    """Answers of each query by number, and their scores where there are some.

    Attributes
    ----------
    sets : Ragged of n_queries rows
    scores : (len(sets.values),) float64 or None
    """

    sets: Ragged
    scores: np.ndarray | None


def queries_of(files: Iterable[Pairs]) -> pa.Array:
    """Every query that occurs, each once."""
    return pc.unique(pa.concat_arrays([pa.array([], pa.string()), *(f.queries for f in files)]))


def in_text_order(ids: pa.Array) -> pa.Array:
    """Ids by code point, so that no result depends on the order of files."""
    return ids.take(pc.sort_indices(ids))


def vocabulary_of(files: Iterable[Pairs]) -> pa.Array:
    """Every answer that occurs; its place is its number."""
    return pc.unique(pa.concat_arrays([pa.array([], pa.string()), *(f.answers for f in files)]))


def scored_sets(pairs: Pairs, ids: pa.Array, vocabulary: pa.Array, path_to_ids: str) -> ScoredSets:
    """The pairs as one set per query of `ids`; a query without pairs has an empty set.

    Raises
    ------
    InputError
        If a pair is about a query that is not among the ids.
    """
    rows = pc.index_in(pairs.queries, ids)
    if rows.null_count:
        lost = pc.unique(pairs.queries.filter(pc.is_null(rows)))
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise InputError(
            f"{path_to_ids}: lacks the query {lost[0]}{more}, which {pairs.path} has pairs for;"
            " list every query that is evaluated"
        )
    rows = rows.to_numpy(zero_copy_only=False).astype(np.int64)
    values = pc.index_in(pairs.answers, vocabulary).to_numpy(zero_copy_only=False)
    order = np.lexsort((values, rows))
    lengths = np.bincount(rows, minlength=len(ids))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scores = None if pairs.scores is None else pairs.scores[order]
    return ScoredSets(Ragged(offsets, values[order].astype(np.int32)), scores)


def reaching(predictions: ScoredSets, threshold: float | None) -> Ragged:
    """The predictions whose score is at least the threshold; without a threshold all of them."""
    if threshold is None:
        return predictions.sets
    return selected(predictions.sets, predictions.scores >= threshold)


def scored_pairs(predictions: ScoredSets, truth: Ragged) -> ScoredPairs:
    """Each prediction with its score, and whether it is true."""
    sets = predictions.sets
    return ScoredPairs(sets.offsets, predictions.scores, is_shared(sets, truth), truth.lengths())
