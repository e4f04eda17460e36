"""Scores 1 for the answers that the known triples give and 0 for all else.

No hard answer can be among them: they tie with everything that is no answer, which shows what a
tie policy makes of a method that cannot predict.
"""

import numpy as np

from clqa.adjacencies import graph_view
from clqa.answers import answer_sets

INFERENCE_GRAPHS = ("observed", "train")


def scores(graph, queries) -> np.ndarray:
    view = graph_view(graph, tuple(graph.triples))
    found = answer_sets(queries.plan, view, queries.anchors, queries.relations)
    reached = np.zeros((len(queries.query_ids), graph.n_entities), dtype=np.float32)
    reached[np.repeat(np.arange(len(reached)), found.lengths()), found.values] = 1.0
    return reached
