"""Ranks, metrics and averages straight from their definitions: sets, loops and fractions."""

from fractions import Fraction

POLICIES = ("pessimistic", "optimistic", "realistic", "expected")


def competitors(scores, excluded, target, tie_atol=0.0):
    """(greater, tied, candidates) of one target among one query's scores."""
    candidates = {e for e in range(len(scores)) if e == target or e not in excluded}
    others = candidates - {target}
    tied = {
        e
        for e in others
        if scores[e] == scores[target] or abs(scores[e] - scores[target]) <= tie_atol
    }
    greater = {e for e in others if scores[e] > scores[target]} - tied
    return len(greater), len(tied), len(candidates)


def places(greater, tied):
    """The equally likely places of the target when ties are in random order."""
    return range(greater + 1, greater + tied + 2)


def rank(greater, tied, ties):
    """Rank under a policy that has ranks."""
    first, last = places(greater, tied)[0], places(greater, tied)[-1]
    return {
        "optimistic": Fraction(first),
        "pessimistic": Fraction(last),
        "realistic": Fraction(first + last, 2),
    }[ties]


def value(of_rank, greater, tied, ties):
    """Value of a metric, given as a function of a rank, under any policy."""
    if ties == "expected":
        values = [Fraction(of_rank(Fraction(place))) for place in places(greater, tied)]
        return sum(values) / len(values)
    return Fraction(of_rank(rank(greater, tied, ties)))


def of_rank(metric_id):
    """A metric of the catalogue as a function of a rank."""
    if metric_id == "mrr":
        return lambda rank: 1 / rank
    if metric_id == "mr":
        return lambda rank: rank
    k = int(metric_id.removeprefix("hits@"))
    return lambda rank: int(rank <= k)
