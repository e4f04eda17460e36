"""Answers of queries with several free variables: tuples of entities, and what each variable takes.

The columns of a tuple are the free variables of the formula in the order of
`clqa.formulas.free_variables`.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.formulas import free_variables, parse
from clqa.ragged import Ragged
from clqa.ragged_sets import numbered, places_of, row_numbers


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


def common_variables(formulas: Mapping[str, str]) -> tuple[str, ...]:
    """The free variables of the shapes of a shard; a single one is f, whatever its name.

    Raises
    ------
    InputError
        If the shapes have several free variables that differ in their names or number.
    """
    found: dict[tuple[str, ...], str] = {}
    for shape, text in formulas.items():
        names = free_variables(parse(text))
        found.setdefault(names if len(names) > 1 else ("f",), shape)
    if len(found) > 1:
        (some, one), (others, other) = list(found.items())[:2]
        raise InputError(
            f"shapes {one} ({', '.join(some)}) and {other} ({', '.join(others)}) in one shard: name"
            " their free variables alike, or set shards: per-shape"
        )
    return next(iter(found), ("f",))


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


def combined(rule: Callable[..., Ragged], *sets: Ragged) -> Ragged:
    """What a function of sets of ids, such as those of `clqa.filters`, makes of sets of tuples."""
    every, numbers = numbered(sets)
    kept = rule(*numbers)
    return Ragged(kept.offsets, every.values[places_of(kept, every)])


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
