"""What a tie costs: ranks and expectations as pure functions of two counts per answer.

`greater` is the number of candidates that score strictly better than an answer, `tied` the number
of other candidates with the same score. Both come from `clqa.ranks`.
"""

import numpy as np

from clqa.errors import InputError

# The primary policy first. `expected` is the exact expectation of a metric over the order of ties.
POLICIES = ("pessimistic", "optimistic", "realistic", "expected")
# Lower ids first, for what needs one order of all entities (`clqa.joint_ranks`) and that alone.
BY_ID = "by-id"

_DIRECT = 64


def tie_policy(name: str) -> str:
    """The name itself, if there is such a policy."""
    if name not in POLICIES:
        raise InputError(f"ties: no policy {name!r}; known are {', '.join(POLICIES)}")
    return name


def ranks(greater: np.ndarray, tied: np.ndarray, ties: str) -> np.ndarray:
    """Rank of each answer, float64, starting at 1.

    A tied candidate counts as ahead (`pessimistic`), as behind (`optimistic`) or as half of each
    (`realistic`, which is also the mean rank under `expected`).
    """
    share = {"pessimistic": 1.0, "optimistic": 0.0, "realistic": 0.5, "expected": 0.5}
    tied = np.asarray(tied, dtype=np.float64)
    return np.asarray(greater, dtype=np.float64) + 1.0 + share[tie_policy(ties)] * tied


def expected_hits(greater: np.ndarray, tied: np.ndarray, k: int) -> np.ndarray:
    """Probability that an answer is among the first `k` when ties are in random order."""
    places = np.asarray(tied, dtype=np.int64) + 1
    return np.clip(k - np.asarray(greater, dtype=np.int64), 0, places) / places


def expected_reciprocals(greater: np.ndarray, tied: np.ndarray) -> np.ndarray:
    """Mean of 1/r over the places r = greater + 1, ..., greater + tied + 1 that an answer may take.

    That is (H(greater + tied + 1) - H(greater)) / (tied + 1) with harmonic numbers H. Up to
    64 ties are summed term by term, so that no ties give exactly 1 / (greater + 1).
    """
    greater = np.asarray(greater, dtype=np.int64)
    tied = np.asarray(tied, dtype=np.int64)
    total = np.zeros(greater.shape)
    for place in range(1, min(int(tied.max(initial=0)), _DIRECT) + 2):
        total += np.where(tied + 1 >= place, 1.0 / (greater + place), 0.0)
    many = tied > _DIRECT
    if many.any():
        first = greater[many] + _DIRECT + 1
        total[many] += _harmonic_difference(first, greater[many] + tied[many] + 1)
    return total / (tied + 1)


def _harmonic_difference(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """H(high) - H(low) for high >= low >= 64, to the last digits of a double.

    DeTemple's expansion (1991), H(n) = log(m) + gamma + 1/(24 m^2) - 7/(960 m^4) + 31/(8064 m^6)
    - ... with m = n + 1/2; the first term left out is below 2e-17.
    """
    total = np.log1p((high - low) / (low + 0.5))
    for power, factor in ((-2.0, 1 / 24), (-4.0, -7 / 960), (-6.0, 31 / 8064)):
        total += factor * ((high + 0.5) ** power - (low + 0.5) ** power)
    return total
