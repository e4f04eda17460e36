"""Scores an entity by its best assignment in formulas of any shape, cycles and parallel atoms: FIT.

Yin et al. (2024), "Rethinking Complex Queries on Knowledge Graphs with Neural Link Predictors". A
formula that is a tree of sets is answered as by `fuzzy`, by the `beam` best intermediates of each
projection. In all others variables are eliminated one after another: of each the `beam` best values
are followed, and of one that is cut out of a cycle the `enumerated` best and those of degree 1. Of
several free variables each is scored by the best values of the others.
"""

import numpy as np

from clqa.algebras import algebra as algebra_of
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.join_degrees import Elimination, join_degrees
from clqa.models import score_shape
from clqa.plans import Plan
from clqa.predicted_links import open_links
from clqa.sparse_rows import SparseRows

__all__ = ["INFERENCE_GRAPHS", "NEEDS_TREES", "open_links", "scores"]

INFERENCE_GRAPHS = ("train", "observed")
NEEDS_TREES = False


def scores(
    graph, queries, links, algebra: str = "product", beam: int = 128, enumerated: int = 10
) -> np.ndarray:
    logic = algebra_of(algebra, "standard")
    asked = queries.anchors, queries.relations
    if isinstance(queries.plan, Plan):
        return answer_degrees(queries.plan.root, Search(links, logic, *asked, beam))
    rows = links.kept.setdefault("rows", SparseRows(links))
    found = join_degrees(queries.plan, *asked, Elimination(rows, logic, beam, enumerated))
    return found.reshape(score_shape(queries, links.n_entities))
