"""Scores an entity by the best assignment of the existential variables, found exactly: QTO.

Bai et al. (2023), "Answering Complex Logical Queries on Knowledge Graphs via Query Computation Tree
Optimization". To be exact about what they did, links are calibrated by `softmax` with a threshold
and are `hybrid`. `negation_scale` multiplies the links of a negation. Of each query at least the
`exact` best answers of a degree below 1 are exact, and with 0 all are.
"""

import numpy as np

from clqa.optimal_answers import Optimization, best_degrees
from clqa.predicted_links import open_links
from clqa.sparse_rows import SparseRows

__all__ = ["INFERENCE_GRAPHS", "open_links", "scores"]

INFERENCE_GRAPHS = ("train", "observed")


def scores(graph, queries, links, negation_scale: float = 1.0, exact: int = 0) -> np.ndarray:
    rows = links.kept.setdefault("rows", SparseRows(links))
    task = Optimization(rows, queries.anchors, queries.relations, negation_scale)
    return best_degrees(queries.plan.root, task, exact)
