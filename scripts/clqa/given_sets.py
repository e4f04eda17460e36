"""Degrees that a graph gives to its entities, as sets: where all of a vector are 0 or 1."""

from collections.abc import Collection

import numpy as np

from clqa.errors import InputError

UNFIT = 2


def crisp(degrees: np.ndarray) -> np.ndarray:
    """Degrees (n_vectors, n_entities) as uint8: 0, 1, or `UNFIT` for any other."""
    found = np.full(degrees.shape, UNFIT, np.uint8)
    found[degrees == 0] = 0
    found[degrees == 1] = 1
    return found


def check_vectors(numbers: Collection[int], n_vectors: int) -> None:
    """Raise `InputError` unless the graph has the vectors of a formula."""
    for number in numbers:
        if number > n_vectors:
            names = ", ".join(f"d{known}" for known in range(1, n_vectors + 1)) or "none"
            raise InputError(
                f"d{number}: the graph gives no such degrees (it has {names}); add files.d{number} "
                "to its entry in the catalogue"
            )


def check_crisp(numbers: Collection[int], given: np.ndarray) -> None:
    """Raise `InputError` unless vectors of a view are there and hold 0 and 1 alone."""
    check_vectors(numbers, len(given))
    for number in numbers:
        unfit = np.flatnonzero(given[number - 1] == UNFIT)
        if len(unfit):
            raise InputError(
                f"d{number}: the entity of id {unfit[0]} has a degree other than 0 and 1, as "
                f"{len(unfit)} in all do; crisp answers need degrees of 0 and 1"
            )
