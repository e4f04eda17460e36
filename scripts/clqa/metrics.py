"""Ranking metrics as functions of how many candidates beat and tie an answer.

A metric function takes `greater` and `tied`, two integer arrays over answers, and the name of a tie
policy, and gives one float64 value per answer; under `expected` it is the exact expectation over
the order of ties. Averages are taken elsewhere (`clqa.averages`).
"""

import functools
import re
from collections.abc import Callable
from numbers import Integral
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.ties import expected_hits, expected_reciprocals, ranks

# Part of every fingerprint: raised when a definition below changes a value.
VERSION = 1
# There are no more candidates than this.
MOST = 2**31 - 1


class Metric(NamedTuple):
    """A metric and the direction in which it is better.

    Attributes
    ----------
    values : callable
        `values(greater, tied, ties)` gives one float64 per answer.
    higher_is_better : bool
        Such metrics lie in [0, 1]; the others start at 1.
    """

    values: Callable[[np.ndarray, np.ndarray, str], np.ndarray]
    higher_is_better: bool


def reciprocal_ranks(greater: np.ndarray, tied: np.ndarray, ties: str) -> np.ndarray:
    """1 / rank. Its expectation is not the reciprocal of the realistic rank."""
    if ties == "expected":
        return expected_reciprocals(greater, tied)
    return 1.0 / ranks(greater, tied, ties)


def hits(greater: np.ndarray, tied: np.ndarray, ties: str, k: int) -> np.ndarray:
    """1 where the rank is at most `k`, else 0; a realistic rank may be fractional."""
    if ties == "expected":
        return expected_hits(greater, tied, k)
    return (ranks(greater, tied, ties) <= k).astype(np.float64)


# A key that ends in @K stands for one metric per whole number K >= 1.
METRICS = {
    "mrr": Metric(reciprocal_ranks, higher_is_better=True),
    "mr": Metric(ranks, higher_is_better=False),
    "hits@K": Metric(hits, higher_is_better=True),
}


def metric(identifier: str) -> Metric:
    """The metric of an id such as `mrr` or `hits@10`.

    Raises
    ------
    InputError
        If there is no such metric, or K is not a whole number from 1 written plainly.
    """
    name, at, depth = identifier.partition("@") if isinstance(identifier, str) else (None,) * 3
    family = METRICS.get(f"{name}@K" if at else name)
    if family is None:
        raise InputError(f"metrics: no metric {identifier!r}; known are {', '.join(METRICS)}")
    if not at:
        return family
    k = int(depth) if re.fullmatch("[1-9][0-9]{0,18}", depth) else depth
    k = cut_off(k, key=f"metrics: {identifier!r:.40}: K")
    return family._replace(values=functools.partial(family.values, k=k))


def cut_off(k: int, key: str = "k") -> int:
    """`k` itself, if it is a whole number from 1 to `MOST`; else an InputError that names `key`."""
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= MOST:
        raise InputError(f"{key} must be a whole number from 1 to {MOST}, not {k!r:.40}")
    return int(k)


def score_id(metric_id: str, ties: str, filter_name: str) -> str:
    """Name of a score column, such as `mrr[pessimistic,observed-and-full]`."""
    return f"{metric_id}[{ties},{filter_name}]"


def score_parts(identifier: str) -> tuple[str, str, str]:
    """Metric id, tie policy and filter of a score id."""
    match = re.fullmatch(r"([^\[\],]+)\[([^\[\],]+),([^\[\],]+)\]", identifier)
    if match is None:
        raise InputError(f"score {identifier!r}: expected metric[ties,filter]")
    return match[1], match[2], match[3]
