"""Retrieval metrics straight from their definitions: one ranked list, loops and fractions.

A ranking is a list of flags, the first place first: is the item there relevant?
"""

import itertools
import math
from fractions import Fraction


def found(flags, k):
    return sum(flags[:k])


def first_hit(flags, k):
    """1-based place of the first relevant item in the window, or None."""
    for place, flag in enumerate(flags[:k], 1):
        if flag:
            return place
    return None


def gain(flags):
    return math.fsum(flag / math.log2(place + 2) for place, flag in enumerate(flags))


METRICS = {
    "precision": lambda flags, n, k: Fraction(found(flags, k), k),
    "recall": lambda flags, n, k: Fraction(found(flags, k), n) if n else 0,
    "capped_recall": lambda flags, n, k: Fraction(found(flags, k), min(n, k)) if n else 0,
    "ndcg": lambda flags, n, k: gain(flags[:k]) / gain([True] * min(n, k)) if n else 0,
    "hit_rate": lambda flags, n, k: int(first_hit(flags, k) is not None),
    "first_hit_mrr": lambda flags, n, k: (
        Fraction(1, first_hit(flags, k) or 0) if any(flags[:k]) else 0
    ),
    "retrieval_accuracy": lambda flags, n, k: Fraction(found(flags, n), n) if n else 0,
}


def rankings(scored):
    """All rankings that (score, is relevant) pairs allow, equally likely."""
    scores = sorted({score for score, _ in scored}, reverse=True)
    groups = [[flag for score, flag in scored if score == one] for one in scores]
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [flag for order in orders for flag in order]


def values(name, scored, n_expected, k):
    """Value of a metric by tie policy; the best and the worst order are found by trying all."""
    every = [METRICS[name](flags, n_expected, k) for flags in rankings(scored)]
    mean = (
        math.fsum(every) / len(every) if name == "ndcg" else sum(map(Fraction, every)) / len(every)
    )
    return {"pessimistic": min(every), "optimistic": max(every), "expected": mean}
