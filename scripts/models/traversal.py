"""Scores 1 for the answers that the known triples give and 0 for all else.

No hard answer can be among them: they tie with everything that is no answer, which shows what a
tie policy makes of a method that cannot predict. Of several free variables each has a score of 1
for what it is in some of these answers, which may be a part of a hard one.
"""

import numpy as np

from clqa.adjacencies import graph_view
from clqa.answers import answer_sets
from clqa.models import degrees

INFERENCE_GRAPHS = ("observed", "train")


def scores(graph, queries) -> np.ndarray:
    view = graph_view(graph, tuple(graph.triples))
    found = answer_sets(queries.plan, view, queries.anchors, queries.relations)
    return degrees(queries, found, graph.n_entities)
