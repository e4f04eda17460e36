"""Candidates of the right type: entities that train triples have as answers to the last relations.

Of `r1(s1,e1)&r2(e1,f)` these are the tails of r2, of `r1(f,s1)` the heads of r1. Where several
atoms hold the free variable, negated ones too, it is the union over them. In link prediction this
is the local closed-world assumption of type constraints (Krompass et al., 2015).
"""

from typing import NamedTuple

import numpy as np

from clqa.ascending import is_among
from clqa.formulas import Formula, atoms, symbols
from clqa.graphs import Graph
from clqa.ragged import Ragged, ragged
from clqa.ragged_sets import row_keys, row_numbers, selected

_HEAD, _TAIL = 0, 2  # columns of triples


class Pools(NamedTuple):
    """Sets of candidates that queries share.

    Attributes
    ----------
    of_query : (n_queries,) int64
        The pool of each query.
    members : Ragged of n_pools rows
        The entities of each pool.
    """

    of_query: np.ndarray
    members: Ragged


def typed_pools(formula: Formula, relations: np.ndarray, graph: Graph, split: str) -> Pools:
    """The candidates of queries of one shape.

    Parameters
    ----------
    relations : (n_queries, n_relations) int
        As in `clqa.query_sets.Queries`.
    graph, split :
        Types come from the train triples; where a graph restricts the candidates of a split to the
        entities that it observes, from what it observes.
    """
    ends = free_ends(formula)
    parts = graph.observed[split] if graph.restricted else ()
    triples = np.concatenate([graph.triples[part] for part in parts or ("train",)])
    kinds, of_query = np.unique(
        relations[:, [column for column, _ in ends]], axis=0, return_inverse=True
    )
    found = {}
    for kind in kinds:
        for relation, (_, end) in zip(kind.tolist(), ends, strict=True):
            if (relation, end) not in found:
                found[relation, end] = np.unique(triples[triples[:, 1] == relation, end])
    members = (
        np.unique(np.concatenate([found[r, end] for r, (_, end) in zip(kind, ends, strict=True)]))
        for kind in kinds.tolist()
    )
    return Pools(of_query.reshape(-1).astype(np.int64), ragged(members))


def free_ends(formula: Formula) -> list[tuple[int, int]]:
    """Column of the relation of each atom with the free variable, and where in triples that is."""
    names, free = symbols(formula, "r"), set(symbols(formula, "f"))
    found = set()
    for atom in atoms(formula):
        for term, end in ((atom.head, _HEAD), (atom.tail, _TAIL)):
            if term in free:
                found.add((names.index(atom.relation), end))
    return sorted(found)


def is_member(rows: Ragged, pools: Pools, n_ids: int) -> np.ndarray:
    """For each id in the rows of the queries whether it is in the pool of its query."""
    keys = pools.of_query[row_numbers(rows)] * np.int64(n_ids) + rows.values
    known = row_keys(pools.members, n_ids)
    return is_among(keys, known)


def members_of(rows: Ragged, pools: Pools, n_ids: int) -> Ragged:
    """Of the rows of the queries those ids that are in the pools."""
    return selected(rows, is_member(rows, pools, n_ids))
