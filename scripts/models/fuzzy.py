"""Scores an entity by its degree as an answer, in fuzzy logic over the links of a predictor.

The best intermediates of each projection are followed (`beam`); with as many as there are entities
the degree is the highest over all assignments of the existential variables.
"""

import numpy as np

from clqa.algebras import algebra as algebra_of
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.predicted_links import open_links

__all__ = ["INFERENCE_GRAPHS", "open_links", "scores"]

INFERENCE_GRAPHS = ("train", "observed")


def scores(
    graph, queries, links, algebra: str, negation: str = "standard", beam: int = 128
) -> np.ndarray:
    logic = algebra_of(algebra, negation)
    search = Search(links, logic, queries.anchors, queries.relations, beam)
    return answer_degrees(queries.plan.root, search)
