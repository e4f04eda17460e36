"""What the best scorer could reach if it may only choose among given candidates.

Definitions are those of the berx library: oracle F0.5 (here F-beta), pair recall and the share of
queries whose true answers are all candidates.
"""

from typing import NamedTuple

import numpy as np

from clqa.averages import mean
from clqa.ragged import Ragged
from clqa.set_metrics import Counts, f_beta, set_counts, set_summary


class Ceiling(NamedTuple):
    """How far candidates cover the true answers.

    Attributes
    ----------
    oracle : float
        Mean F-beta if exactly the true answers among the candidates were predicted; a query without
        true answers is then won. 0 for no queries.
    pair_recall : float
        `retrieved` / `true_pairs`; 0 where there is no true answer.
    true_pairs, retrieved : int
        True answers, and those of them that are candidates.
    all_match_rate : float
        Share of the queries with true answers whose true answers are all candidates; 0 for none.
    """

    oracle: float
    pair_recall: float
    true_pairs: int
    retrieved: int
    all_match_rate: float


def oracle_counts(candidates: Ragged, truth: Ragged) -> Counts:
    """Counts of the prediction of just the true answers among the candidates."""
    found = set_counts(candidates, truth)
    return Counts(found.right, found.right, found.true)


def ceiling(candidates: Ragged, truth: Ragged, beta: float = 0.5) -> Ceiling:
    """Ceilings that candidates impose; rows of both sets are about the same query."""
    counts = oracle_counts(candidates, truth)
    summary = set_summary(counts, beta)
    asked = counts.true > 0
    complete = np.count_nonzero(asked & (counts.right == counts.true))
    return Ceiling(
        oracle=summary.f_beta,
        pair_recall=summary.recall,
        true_pairs=summary.true,
        retrieved=summary.right,
        all_match_rate=complete / np.count_nonzero(asked) if asked.any() else 0.0,
    )


def losses(counts: Counts, candidates: Ragged, truth: Ragged, beta: float = 0.5) -> dict:
    """What is lost on the way from 1 to the mean F-beta of a prediction.

    `candidates` is what no scorer can win back, `scorer` the rest; it is negative where the
    prediction goes beyond the candidates and gains by it.
    """
    oracle = f_beta(oracle_counts(candidates, truth), beta)
    gaps = {"candidates": 1 - oracle, "scorer": oracle - f_beta(counts, beta)}
    return {name: mean(values.tolist()) or 0.0 for name, values in gaps.items()}
