"""How well a predictor ranks the missing end of a triple, in both directions."""

import numpy as np

from clqa.graphs import Graph, candidates
from clqa.link_queries import LinkQueries, link_queries, picked, tails_of
from clqa.predictors import Predictor, scores
from clqa.ranks import rank
from clqa.ties import POLICIES, expected_hits, expected_reciprocals, ranks

HITS = (1, 3, 10)
_CHUNK_BYTES = 2**26


def link_ranks(predictor: Predictor, graph: Graph, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Per triple of a split and direction, how many other entities score higher, and the same.

    Tails on the full graph of the split do not compete, as under `observed-and-full`. Of an
    inductive graph those entities compete that do for queries.
    """
    asked = link_queries(graph, (split,))
    known = link_queries(graph, graph.full(split))
    among = candidates(graph, split)
    step = max(1, _CHUNK_BYTES // (4 * graph.n_entities))
    greater, tied = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for first in range(0, len(asked.heads), step):
        part = picked(asked, np.arange(first, min(first + step, len(asked.heads))))
        counts = _counts(predictor, part, known, among)
        greater.append(counts.greater[0])
        tied.append(counts.tied[0])
    return np.concatenate(greater), np.concatenate(tied)


def _counts(predictor, part: LinkQueries, known: LinkQueries, among):
    excluded = [tails_of(known, part.heads, part.relations)]
    found = scores(predictor, part.heads, part.relations)
    return rank(found, part.tails, excluded, candidates=among).counts


def link_metrics(greater: np.ndarray, tied: np.ndarray) -> dict[str, dict[str, float]]:
    """Means over triples and directions, for each tie policy; empty where there are none."""
    if not len(greater):
        return {}
    return {policy: _means(greater, tied, policy) for policy in POLICIES}


def _means(greater, tied, policy):
    if policy == "expected":
        reciprocals = expected_reciprocals(greater, tied)
        hits = {f"hits@{k}": expected_hits(greater, tied, k) for k in HITS}
    else:
        places = ranks(greater, tied, policy)
        reciprocals = 1 / places
        hits = {f"hits@{k}": places <= k for k in HITS}
    return {name: float(np.mean(values)) for name, values in {"mrr": reciprocals, **hits}.items()}


def link_mrr(predictor: Predictor, graph: Graph, split: str) -> float:
    """Filtered mean reciprocal rank, a tied entity counted as ahead."""
    greater, tied = link_ranks(predictor, graph, split)
    return float(np.mean(1 / ranks(greater, tied, POLICIES[0]))) if len(greater) else 0.0
