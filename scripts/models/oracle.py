"""Scores 1 for the answers on the full graph and 0 for all else: every metric must be perfect."""

import numpy as np

INFERENCE_GRAPHS = ("answers",)


def scores(graph, queries) -> np.ndarray:
    known = np.zeros((len(queries.query_ids), graph.n_entities), dtype=np.float32)
    known[np.repeat(np.arange(len(known)), queries.answers.lengths()), queries.answers.values] = 1.0
    return known
