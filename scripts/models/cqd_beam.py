"""Scores an entity by the best of many assignments that are extended step by step: CQD-Beam.

Arakelyan et al. (2021), "Complex Query Answering with Neural Link Predictors". Each assignment goes
on with its own best tails (`beam`), so that after the second hop there are as many as beam times
beam. `algebra` is `product` or `goedel` (the t-norm of the minimum).
"""

from typing import Literal

import numpy as np

from clqa.algebras import algebra as algebra_of
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.predicted_links import open_links

__all__ = ["INFERENCE_GRAPHS", "open_links", "scores"]

INFERENCE_GRAPHS = ("train", "observed")


def scores(
    graph, queries, links, algebra: Literal["product", "goedel"] = "product", beam: int = 32
) -> np.ndarray:
    logic = algebra_of(algebra, "standard")
    search = Search(links, logic, queries.anchors, queries.relations, beam, branching=True)
    return answer_degrees(queries.plan.root, search)
