"""What is counted of the scores of queries with several free variables.

Each variable has a ranking of its own. Every value that it takes in a known answer is ranked in it:
among all candidates but the other known values, as the filters have it, and, under the filter
`none`, among all. With the number of those candidates that tie and have lower ids every metric of
tuples follows (`clqa.tuple_metrics`), and the scores are needed no more.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.competitions import RAW
from clqa.errors import InputError
from clqa.filters import FILTERS
from clqa.kernels import kernel
from clqa.predictions import release
from clqa.ragged import Ragged
from clqa.ragged_sets import numbered, places_of, row_numbers, selected, union
from clqa.ranks import Competitors, rank
from clqa.tuples import Marginals, combined, marginal_mask, marginals


class Known(NamedTuple):
    """Known answers of the queries of one shape; tuples are places in `tuples.values`.

    Attributes
    ----------
    tuples : Ragged of (n_tuples, k)
        Easy and hard ones.
    marginals : Marginals
        The values that each variable takes in them.
    easy, hard, true : Ragged
        Of n_queries rows. True are the answers on the full graph: hard ones, and the easy ones
        that are not retracted.
    excluded : dict of Ragged
        For each filter, without that of the test graph, the tuples that do not compete.
    """

    tuples: Ragged
    marginals: Marginals
    easy: Ragged
    hard: Ragged
    true: Ragged
    excluded: dict[str, Ragged]

    @property
    def arity(self) -> int:
        return self.tuples.values.shape[1]

    @property
    def n_queries(self) -> int:
        return len(self.hard.offsets) - 1


class ValueCounts(NamedTuple):
    """What is counted for the values of known answers.

    Attributes
    ----------
    known : Known
    counts : Competitors
        (n_filters, n_values), in the order of `known.marginals.values`.
    lower : (n_values,) int32
        Of all candidates, those that tie and have lower ids.
    """

    known: Known
    counts: Competitors
    lower: np.ndarray


def known_answers(easy: Ragged, hard: Ragged, retracted: Ragged) -> Known:
    """Easy and hard answers as numbers, and what each filter takes out."""
    every, sets = numbered([easy, hard, retracted])
    excluded = {name: _placed(rule(*sets), every) for name, rule in FILTERS.items()}
    return Known(
        tuples=every,
        marginals=marginals(every),
        easy=_placed(sets[0], every),
        hard=_placed(sets[1], every),
        true=excluded["full-only"],
        excluded=excluded,
    )


def _placed(numbers: Ragged, every: Ragged) -> Ragged:
    return Ragged(numbers.offsets, places_of(numbers, every))


def values_in(chosen: Ragged, known: Known) -> Ragged:
    """The values of each variable in some tuples; rows as in `Known.marginals`."""
    return selected(known.marginals.values, marginal_mask(chosen.values, known.marginals))


def count_values(
    scores: np.ndarray,
    known: Known,
    rows: np.ndarray | None = None,
    axes: Sequence[int] | None = None,
    on_test: Ragged | None = None,
    query_ids: Sequence[str] | None = None,
    candidates: np.ndarray | None = None,
) -> ValueCounts:
    """Count what competes with each value of each variable in a known answer.

    Parameters
    ----------
    scores : (n_rows, k, n_entities) array
        May be memory-mapped.
    rows : (n_queries,) int, optional
        Row of the scores of each query, -1 for one that is missing; by default in the same order.
    axes : (k,) int, optional
        Place of each variable in the second axis.
    on_test : Ragged of tuples, optional
        Answers on the full graph of test, which make a further filter.
    query_ids, candidates : see `clqa.ranks.rank`
    """
    arity = known.arity
    if scores.ndim != 3 or scores.shape[1] != arity:
        raise InputError(f"scores {scores.shape} of queries with {arity} free variables")
    rows = np.arange(known.n_queries) if rows is None else rows
    axes = np.arange(arity) if axes is None else np.asarray(axes, np.int64)
    of_rows = np.where(rows[:, None] < 0, -1, rows[:, None] * arity + axes).reshape(-1)
    matrix = scores.reshape(-1, scores.shape[-1])
    excluded = [values_in(tuples, known) for tuples in known.excluded.values()]
    if on_test is not None:
        every = known.excluded["observed-and-full"]
        sets = (Ragged(every.offsets, known.tuples.values[every.values]), on_test)
        excluded.append(marginals(combined(union, *sets)).values)
    targets = known.marginals.values
    names = None if query_ids is None else np.repeat(query_ids, arity)
    options = {"rows": of_rows, "query_ids": names, "candidates": candidates}
    counts = rank(matrix, targets, excluded, **options).counts
    is_tied = counts.tied[list(known.excluded).index(RAW)] > 0
    return ValueCounts(known, counts, count_lower(matrix, of_rows, targets, is_tied, candidates))


def count_lower(
    scores: np.ndarray,
    rows: np.ndarray,
    targets: Ragged,
    is_tied: np.ndarray,
    candidates: np.ndarray | None = None,
) -> np.ndarray:
    """Candidates with lower ids that score the same as each target that is known to tie."""
    n_entities = scores.shape[1]
    members = np.arange(n_entities) if candidates is None else np.asarray(candidates)
    lower = np.zeros(len(targets.values), np.int32)
    starts = targets.offsets
    for query in np.flatnonzero(_any_in_rows(is_tied, starts)):
        first, last = starts[query], starts[query + 1]
        row = np.asarray(scores[rows[query]])
        row = row.astype(np.float32) if row.dtype == np.float16 else row
        cuts = np.unique(row[targets.values[first:last][is_tied[first:last]]])
        _fill_lower(row, cuts, members, targets.values[first:last], lower[first:last])
        if query % 1000 == 0:
            release(scores)
    release(scores)
    return np.where(is_tied, lower, 0).astype(np.int32)


def _any_in_rows(mask: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return np.diff(np.concatenate([[0], np.cumsum(mask)])[offsets]) > 0


@kernel
def _fill_lower(row, cuts, members, targets, lower):
    """Count, for targets that ascend, the members before them that have their score."""
    seen = np.zeros(cuts.size + 1, np.int32)
    cursor = 0
    for place in range(members.size + 1):
        while cursor < targets.size and (
            place == members.size or targets[cursor] <= members[place]
        ):
            lower[cursor] = seen[_place(cuts, row[targets[cursor]])]
            cursor += 1
        if place < members.size and cursor < targets.size:
            seen[_place(cuts, row[members[place]])] += 1


@kernel
def _place(cuts, score):
    """Place of the score among the ascending cuts; behind the last where it is none of them."""
    low, size = 0, cuts.size
    while size > 1:
        half = size // 2
        low += half * (cuts[low + half] <= score)
        size -= half
    return low if cuts[low] == score else cuts.size


def is_new(known: Known) -> np.ndarray:
    """Which values are hard ones of their variable: in hard answers and in no easy one."""
    hard, easy = (marginal_mask(one.values, known.marginals) for one in (known.hard, known.easy))
    return hard & ~easy


def defined_variables(known: Known) -> np.ndarray:
    """How many variables of each query have hard values, (n_queries,) int64."""
    owners = row_numbers(known.marginals.values)[is_new(known)]
    have = np.zeros(known.n_queries * known.arity, bool)
    have[owners] = True
    return have.reshape(-1, known.arity).sum(axis=1)
