"""Scores 1 for the answers on the full graph and 0 for all else: every metric must be perfect.

Of several free variables each has a score of 1 for what it is in some answer. So all metrics but
those of the joint ranking are perfect under every tie policy, and these under optimistic ties.
"""

import numpy as np

from clqa.models import degrees

INFERENCE_GRAPHS = ("answers",)


def scores(graph, queries) -> np.ndarray:
    return degrees(queries, queries.answers, graph.n_entities)
