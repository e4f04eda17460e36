"""Look-ups in values that ascend."""

import numpy as np


def places_among(values: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where values are in `known`, whose values ascend, and whether they are.

    Returns
    -------
    places : (n,) int64
        Of those that are not there, where they would be put in.
    are_there : (n,) bool
    """
    places = np.searchsorted(known, values)
    are_there = places < len(known)
    are_there[are_there] = known[places[are_there]] == values[are_there]
    return places, are_there


def is_among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which of the values (n,) are in `known`, whose values ascend."""
    return places_among(values, known)[1]
