"""Scores, losses and ranks of links by their definitions, one triple at a time."""

import numpy as np


def score(model: str, head, relation, tail) -> float:
    """Score of one link from its three vectors."""
    if model == "complex":
        half = len(head) // 2
        h, r, t = (v[:half] + 1j * v[half:] for v in (head, relation, tail))
        return float((h * r * t.conj()).sum().real)
    if model == "distmult":
        return float((head * relation * tail).sum())
    if model == "rescal":
        return float(head @ relation.reshape(len(head), len(head)) @ tail)
    return -float(((head + relation - tail) ** 2).sum())


def loss(model, entities, relations, triples, regularization, relation_weight) -> float:
    """Sum over triples of the two losses and N3."""
    total = 0.0
    for h, r, t in triples:
        head, relation, tail = entities[h], relations[r], entities[t]
        total -= _log_softmax([score(model, head, relation, other) for other in entities], t)
        if relation_weight:
            found = [score(model, head, other, tail) for other in relations]
            total -= relation_weight * _log_softmax(found, r)
        total += regularization * sum(_cubes(model, v) for v in (head, relation, tail))
    return total


def _log_softmax(found, place) -> float:
    found = np.array(found)
    return found[place] - np.log(np.exp(found).sum())


def _cubes(model, vector) -> float:
    if model == "complex":
        half = len(vector) // 2
        vector = vector[:half] + 1j * vector[half:]
    return float((np.abs(vector) ** 3).sum())


def filtered_ranks(found, asked, known) -> list[int]:
    """Pessimistic ranks of the tails of (h, r, t) in `asked`; `found(h, r)` scores all tails."""
    ranks = []
    for h, r, t in sorted(asked):
        row = found(h, r)
        rivals = [e for e in range(len(row)) if e != t and (h, r, e) not in known]
        ranks.append(1 + sum(row[e] >= row[t] for e in rivals))
    return ranks
