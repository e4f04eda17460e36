"""Predicted sets judged by the letter of the definitions, query by query, in exact numbers."""

from fractions import Fraction


def f_beta(predicted, true, beta):
    """F-beta of two sets of one query."""
    if not true:
        return Fraction(not predicted)
    right = len(predicted & true)
    if not predicted or not right:
        return Fraction(0)
    square = Fraction(beta) ** 2
    return (1 + square) * right / (square * len(true) + len(predicted))


def macro(predicted, true, beta):
    """Mean over queries of two lists of sets."""
    values = [f_beta(p, t, beta) for p, t in zip(predicted, true, strict=True)]
    return sum(values) / len(values)


def pooled(predicted, true, beta):
    """F-beta of the pairs of all queries."""
    pairs = [{(q, e) for q, row in enumerate(rows) for e in row} for rows in (predicted, true)]
    return f_beta(*pairs, beta)


def reaching(scores, threshold):
    """Entities of each row of scores from a threshold on."""
    return [{e for e, s in enumerate(row) if s >= threshold} for row in scores]


def best(scores, m, ties):
    """The best m entities of each row of scores."""
    found = []
    for row in scores:
        ranked = sorted(range(len(row)), key=lambda e: (-row[e], e))
        kept, rest = set(ranked[:m]), set(ranked[m:])
        border = {e for e in kept if any(row[e] == row[other] for other in rest)}
        if ties == "all":
            kept |= {e for e in rest if any(row[e] == row[other] for other in border)}
        found.append(kept - border if ties == "none" else kept)
    return found


def easy_before_hard(easy, hard):
    """Share of the pairs of an easy and a hard score in which the easy one is larger."""
    pairs = [(e > h) + Fraction(e == h, 2) for e in easy for h in hard]
    return sum(pairs) / len(pairs) if pairs else None


def average_ranks(values):
    """Rank of each value from the lowest on; ties share the mean of their places."""
    return [
        Fraction(2 * sum(other < value for other in values) + values.count(value) + 1, 2)
        for value in values
    ]
