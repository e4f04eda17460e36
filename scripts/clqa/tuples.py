"""Answers of queries with several free variables: tuples of entities, and what each variable takes.

The columns of a tuple are the free variables of the formula in the order of `free_variables`.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from clqa.formulas import Formula, symbols
from clqa.ragged import Ragged
from clqa.ragged_sets import row_numbers


class Marginals(NamedTuple):
    """The values that each variable takes in some tuples.

    Attributes
    ----------
    values : Ragged of n_queries * k rows
        Row q * k + j has the values of variable j in the tuples of query q.
    places : (n_tuples, k) int64
        Where in `values.values` the values of each tuple are.
    """

    values: Ragged
    places: np.ndarray


def free_variables(formula: Formula) -> tuple[str, ...]:
    """The free variables by their numbers: f (or f1) first, then f2 and so on."""
    return tuple(sorted(symbols(formula, "f"), key=lambda name: int(name[1:] or 0)))


def ragged_tuples(rows: Iterable[Iterable[Sequence[int]]], arity: int) -> Ragged:
    """Rows of tuples as a `Ragged`, sorted and each of them once; warns of repeated ones."""
    given = [list(row) for row in rows]
    rows = [sorted({tuple(one) for one in row}) for row in given]
    n_repeated = sum(map(len, given)) - sum(map(len, rows))
    if n_repeated:
        warnings.warn(f"{n_repeated} repeated answers count once", stacklevel=2)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    values = np.array([one for row in rows for one in row], np.int32)
    return Ragged(offsets, values.reshape(-1, arity))


def numbered(sets: Sequence[Ragged]) -> tuple[Ragged, list[Ragged]]:
    """Every tuple of some sets once, and the sets with numbers in place of the tuples.

    A tuple's number is its place among those of its query, so that what is known of rows of ids
    (`clqa.filters`) holds for rows of numbers.
    """
    n_queries = len(sets[0].offsets) - 1
    rows = np.concatenate([row_numbers(one) for one in sets])
    tuples = np.concatenate([one.values for one in sets])
    order = np.lexsort((*tuples.T[::-1], rows))
    rows, tuples = rows[order], tuples[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (tuples[1:] != tuples[:-1]).any(axis=1)
    offsets = np.searchsorted(rows[is_new], np.arange(n_queries + 1)).astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_new) - 1
    ends = np.cumsum([len(one.values) for one in sets])[:-1]
    numbers = [
        Ragged(one.offsets, (part - offsets[row_numbers(one)]).astype(np.int32))
        for one, part in zip(sets, np.split(places, ends), strict=True)
    ]
    return Ragged(offsets, tuples[is_new]), numbers


def places_of(numbers: Ragged, every: Ragged) -> np.ndarray:
    """Where in `every.values` the tuples of some numbers are."""
    return every.offsets[row_numbers(numbers)] + numbers.values


def marginals(tuples: Ragged) -> Marginals:
    """The values of each variable, ascending and each of them once."""
    n_queries, arity = len(tuples.offsets) - 1, tuples.values.shape[1]
    rows = row_numbers(tuples)[:, None] * arity + np.arange(arity)
    keys, places = np.unique((rows << 32) | tuples.values, return_inverse=True)
    starts = np.arange(n_queries * arity + 1, dtype=np.int64) << 32
    values = (keys & (2**32 - 1)).astype(np.int32)
    found = Ragged(np.searchsorted(keys, starts).astype(np.int64), values)
    return Marginals(found, places.reshape(tuples.values.shape).astype(np.int64))


def marginal_mask(chosen: np.ndarray, every: Marginals) -> np.ndarray:
    """Which of the values occur in some of the tuples, whose places are given."""
    mask = np.zeros(len(every.values.values), bool)
    mask[every.places[chosen]] = True
    return mask
