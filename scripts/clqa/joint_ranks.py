"""Ranks of tuples as EFOk-CQA (Yin et al., 2023) pairs the rankings of their variables.

With 0-based ranks p1, ..., pk of its entities a tuple has the place that it takes when all tuples
are listed by their sum of ranks, then by p1, then by p2 and so on. For two variables that is
Cantor's pairing S (S + 1) / 2 + p1 with S = p1 + p2. Known answers that come before it are taken
out. The published estimate lists tuples of ranks without end; the exact place counts those alone
whose ranks are below the number of candidates.

A place needs an order of the entities, and so of ties. Under `by-id` lower ids come first. Under
`optimistic` the entities of the tuple that is ranked come first among those that they tie with, and
under `pessimistic` last; the others stay in the order of their ids. So every rank is one of a real
order, starts at 1, and no two answers share a place.

A perfect model need not have ranks of 1 here: of the tuples of entities that are in some answers
those that are no answers compete. The answers {(a, b), (c, d)} have ranks 1 and 4 at best, since
(a, d), (c, b) and (a, x), with x third, are listed before (c, d) (1 and 3 if there is no third
entity, by the exact place); {(a, b), (a, c)} have ranks 1 and 1, and {(a, b), (c, b)}
ranks 1 and 2, as (a, ·) is listed before (c, b). Where there is one answer its best rank is 1.
"""

from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel
from clqa.ties import BY_ID

POLICIES = ("pessimistic", "optimistic", BY_ID)
_SAFE = 2**62


class Standing(NamedTuple):
    """Where entities stand among all candidates, answers or not; arrays have a place for each.

    Attributes
    ----------
    ids : int32
    greater, tied, lower : int64
        Other candidates that score better, that score the same, and those of the latter that have
        lower ids.
    candidates : int64
        Number of candidates, the entity included.
    """

    ids: np.ndarray
    greater: np.ndarray
    tied: np.ndarray
    lower: np.ndarray
    candidates: np.ndarray


class Places(NamedTuple):
    """Where the hard tuples stand, (n_hard, k) 0-based ranks, and how many known ones before."""

    ranks: np.ndarray
    before: np.ndarray
    candidates: np.ndarray

    def joint_ranks(self, exact: bool = False) -> np.ndarray:
        """Joint rank of each tuple, int64; float64 where ranks may exceed 2^62.

        Parameters
        ----------
        exact : bool
            Whether tuples of ranks that no entity has are left out.
        """
        n = self.candidates if exact else None
        return places_of_ranks(self.ranks, n) + 1 - self.before


def joint_places(
    standing: Standing,
    hard: tuple[np.ndarray, np.ndarray],
    known: tuple[np.ndarray, np.ndarray],
    ties: str,
) -> Places:
    """Place the hard tuples of all queries in the rankings of their variables.

    Parameters
    ----------
    hard, known : offsets (n_queries + 1,) and tuples (n, k)
        The tuples to rank and those that do not compete, as places in the arrays of `standing`. A
        tuple may be in both.
    ties : str
        Of `POLICIES`.
    """
    if ties not in POLICIES:
        raise InputError(f"ties: joint ranks have no {ties} order; known are {', '.join(POLICIES)}")
    shift = {"pessimistic": standing.tied, "optimistic": 0, BY_ID: standing.lower}[ties]
    own = (standing.greater + shift)[hard[1]]
    in_order = (standing.greater + standing.lower)[known[1]]
    moves = (standing.tied[hard[1]] > 0).any(axis=1) & (ties != BY_ID)
    before = np.zeros(len(own), np.int64)
    keys = [places_of_ranks(rows) for rows in (own, in_order)]
    # Places that are no longer exact give no order.
    is_slow = moves | any(one.dtype != np.int64 for one in keys)
    _count_before(hard[0], known[0], is_slow, *keys, before)
    # Entities that tie have the same two numbers, and no others of their query have.
    blocks = standing.greater * (standing.candidates.max(initial=0) + 1) + standing.tied
    of_known, of_hard = (
        (blocks[places], standing.ids[places].astype(np.int64)) for places in (known[1], hard[1])
    )
    of_hard[0][~moves] = -1
    late = ties == "pessimistic"
    _count_one_by_one(hard[0], known[0], is_slow, own, in_order, *of_hard, *of_known, late, before)
    return Places(own, before, standing.candidates[hard[1]].max(axis=1, initial=1))


def places_of_ranks(ranks: np.ndarray, n: np.ndarray | None = None) -> np.ndarray:
    """Place of each row of ranks, from 0, in the list of all rows of ranks.

    Parameters
    ----------
    ranks : (n_tuples, k) int, from 0
    n : (n_tuples,) int, optional
        The list has rows of ranks below `n` alone.
    """
    ranks = np.asarray(ranks, np.int64)
    arity = ranks.shape[1]
    left = ranks.sum(axis=1)
    most = int(left.max(initial=0)) + arity
    dtype = np.int64 if most**arity < _SAFE else np.float64
    place = _rows_up_to(left - 1, arity, n, dtype)
    for column in range(arity - 1):
        rest = arity - 1 - column
        place = place + _rows_up_to(left, rest, n, dtype)
        left = left - ranks[:, column]
        place = place - _rows_up_to(left, rest, n, dtype)
    return place


def _rows_up_to(total: np.ndarray, arity: int, n: np.ndarray | None, dtype) -> np.ndarray:
    """Number of rows of `arity` ranks, below `n` where it is given, with at most this sum."""
    count = _choose(total + arity, arity, dtype)
    if n is None:
        return count
    sign, ways = 1, 1
    for over in range(1, arity + 1):  # inclusion and exclusion of ranks that are n or more
        sign, ways = -sign, ways * (arity - over + 1) // over
        count = count + sign * ways * _choose(total - over * n + arity, arity, dtype)
    return count


def _choose(n: np.ndarray, k: int, dtype) -> np.ndarray:
    """Binomial coefficients; 0 where n < k."""
    n = np.where(n >= k, n, k - 1).astype(dtype)
    count = np.ones(len(n), dtype)
    for step in range(k):
        count = count * (n - (k - 1) + step)
        count = count // (step + 1) if dtype is np.int64 else count / (step + 1)
    return count


@kernel
def _count_before(hard_offsets, known_offsets, is_slow, own, known, before):
    """Count the known tuples before each hard one that keeps its place in the order of ids."""
    for query in range(hard_offsets.size - 1):
        first, last = hard_offsets[query], hard_offsets[query + 1]
        if first == last or is_slow[first:last].all():
            continue
        keys = np.sort(known[known_offsets[query] : known_offsets[query + 1]])
        for place in range(first, last):
            if not is_slow[place]:
                before[place] = np.searchsorted(keys, own[place])


@kernel
def _count_one_by_one(
    hard_offsets,
    known_offsets,
    is_slow,
    own,
    in_order,
    hard_blocks,
    hard_ids,
    known_blocks,
    known_ids,
    late,
    before,
):
    """The same where entities of a hard tuple may move to one end of those that they tie with."""
    arity = own.shape[1]
    for query in range(hard_offsets.size - 1):
        for place in range(hard_offsets[query], hard_offsets[query + 1]):
            if not is_slow[place]:
                continue
            total = own[place].sum()
            for other in range(known_offsets[query], known_offsets[query + 1]):
                rest, sign = total, 0
                for j in range(arity):
                    rank, wanted = in_order[other, j], own[place, j]
                    if known_blocks[other, j] == hard_blocks[place, j]:
                        difference = known_ids[other, j] - hard_ids[place, j]
                        if difference == 0:
                            rank = wanted
                        elif late:
                            rank -= difference > 0
                        else:
                            rank += difference < 0
                    rest -= rank
                    if sign == 0:
                        sign = (rank > wanted) - (rank < wanted)
                before[place] += rest > 0 or (rest == 0 and sign < 0)
