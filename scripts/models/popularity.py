"""Scores an entity by how often it ends an edge of those relations that hold the free variable.

The frequency of an entity under a relation is the share of the relation's train triples that it
ends, and under a vector of the graph it is its degree. At a conjunction the frequencies are
multiplied, at a disjunction they are joined as independent chances, 1 - (1 - a)(1 - b). Negated
parts say nothing, and neither does the way to the last hop. Of several free variables each is
scored by its own atoms.
"""

import functools
from typing import NamedTuple

import numpy as np

from clqa.formulas import And, Atom, Formula, Given, Or, symbols, vectors
from clqa.given_sets import check_vectors
from clqa.models import score_shape

INFERENCE_GRAPHS = ("train",)


class _ByRelation(NamedTuple):
    """Triples in order of their relation: r has those from `starts[r]` to `starts[r + 1]`."""

    triples: np.ndarray
    starts: np.ndarray
    n_entities: int
    degrees: np.ndarray


def scores(graph, queries) -> np.ndarray:
    triples = graph.triples["train"]
    triples = triples[np.argsort(triples[:, 1], kind="stable")]
    starts = np.searchsorted(triples[:, 1], np.arange(graph.n_relations + 1))
    check_vectors(vectors(queries.formula), len(graph.degrees))
    edges = _ByRelation(triples, starts, graph.n_entities, graph.degrees)
    names = symbols(queries.formula, "r")
    found = np.ones((len(queries.query_ids), len(queries.variables), graph.n_entities), np.float32)
    for rows, relations in zip(found, queries.relations, strict=True):
        of_symbol = dict(zip(names, relations.tolist(), strict=True))
        for row, variable in zip(rows, queries.variables, strict=True):
            chances = _chances(queries.formula, variable, of_symbol, edges)
            if chances is not None:
                row[:] = chances
    return found.reshape(score_shape(queries, graph.n_entities))


def _chances(
    formula: Formula, variable: str, relations: dict[str, int], edges: _ByRelation
) -> np.ndarray | None:
    """Scores (n_entities,) by a part of the formula; None where it says nothing."""
    match formula:
        case Given(vector, term, _):
            return edges.degrees[int(vector[1:]) - 1] if term == variable else None
        case Atom(relation, head, tail):
            ends = [end for term, end in ((head, True), (tail, False)) if term == variable]
            parts = [_frequencies(relations[relation], end, edges) for end in ends]
            join = np.multiply
        case And(inner) | Or(inner):
            parts = [_chances(part, variable, relations, edges) for part in inner]
            parts = [part for part in parts if part is not None]
            join = np.multiply if isinstance(formula, And) else _either
        case _:
            return None
    return functools.reduce(join, parts) if parts else None


def _frequencies(relation: int, reverse: bool, edges: _ByRelation) -> np.ndarray:
    first, last = edges.starts[relation], edges.starts[relation + 1]
    ends = edges.triples[first:last, 0 if reverse else 2]
    return np.bincount(ends, minlength=edges.n_entities) / max(1, len(ends))


def _either(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left + right - left * right
