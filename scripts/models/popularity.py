"""Scores an entity by how often it ends an edge of the last relations of the query.

The frequency of an entity under a relation is the share of the relation's train triples that it
ends. At an intersection the frequencies are multiplied, at a union they are joined as independent
chances, 1 - (1 - a)(1 - b). Negated parts say nothing, and neither does the way to the last hop.
"""

import functools
from typing import NamedTuple

import numpy as np

from clqa.trees import Intersect, Node, Project, Unite

INFERENCE_GRAPHS = ("train",)


class _ByRelation(NamedTuple):
    """Triples in order of their relation: r has those from `starts[r]` to `starts[r + 1]`."""

    triples: np.ndarray
    starts: np.ndarray
    n_entities: int


def scores(graph, queries) -> np.ndarray:
    triples = graph.triples["train"]
    triples = triples[np.argsort(triples[:, 1], kind="stable")]
    starts = np.searchsorted(triples[:, 1], np.arange(graph.n_relations + 1))
    edges = _ByRelation(triples, starts, graph.n_entities)
    rows = np.ones((len(queries.query_ids), graph.n_entities), dtype=np.float32)
    for row, relations in zip(rows, queries.relations, strict=True):
        found = _chances(queries.plan.root, relations, edges)
        if found is not None:
            row[:] = found
    return rows


def _chances(node: Node, relations: np.ndarray, edges: _ByRelation) -> np.ndarray | None:
    """Scores (n_entities,) by a node of the plan; None where it says nothing."""
    match node:
        case Project(_, relation, reverse, False):
            return _frequencies(relations[relation], reverse, edges)
        case Intersect(children) | Unite(children):
            parts = [_chances(child, relations, edges) for child in children]
            parts = [part for part in parts if part is not None]
            join = np.multiply if isinstance(node, Intersect) else _either
            return functools.reduce(join, parts) if parts else None
    return None


def _frequencies(relation: int, reverse: bool, edges: _ByRelation) -> np.ndarray:
    first, last = edges.starts[relation], edges.starts[relation + 1]
    ends = edges.triples[first:last, 0 if reverse else 2]
    return np.bincount(ends, minlength=edges.n_entities) / max(1, len(ends))


def _either(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left + right - left * right
