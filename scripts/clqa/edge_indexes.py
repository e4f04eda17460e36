"""Edges of a graph to be looked up one at a time, in the little memory of a few arrays."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from clqa.formulas import Formula, vectors
from clqa.graphs import Graph


class Ends:
    """The other ends of edges by (entity, relation), read like a dict of ascending lists."""

    def __init__(self, entities: np.ndarray, relations: np.ndarray, ends: np.ndarray):
        """Arrays that are sorted by entity, then relation, then end, without twins."""
        self._n_relations = int(relations.max(initial=-1)) + 1
        self._keys = entities.astype(np.int64) * self._n_relations + relations
        self._ends = ends

    def get(self, key: tuple[int, int], default=()) -> list[int] | tuple:
        """The ends of a pair of an entity and a relation; `default` where there are none."""
        entity, relation = key
        if not 0 <= relation < self._n_relations:
            return default
        place = entity * self._n_relations + relation
        first, last = np.searchsorted(self._keys, [place, place + 1])
        return self._ends[first:last].tolist() if first < last else default


class EdgeSet:
    """Edges as a set of (head, relation, tail), which come in ascending order."""

    def __init__(self, rows: np.ndarray):
        """Rows (n, 3) that are sorted, without twins."""
        self._rows = rows
        self._tails = Ends(*rows.T)

    def __contains__(self, edge: tuple[int, int, int]) -> bool:
        head, relation, tail = edge
        tails = self._tails.get((head, relation))
        place = bisect_left(tails, tail)
        return place < len(tails) and tails[place] == tail

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return (tuple(row.tolist()) for row in self._rows)


class Edges(NamedTuple):
    """Edges as a set, tails by (head, relation), and heads by (tail, relation)."""

    known: EdgeSet
    tails: Ends
    heads: Ends


def indexed_edges(parts: Iterable[np.ndarray], relations: Collection[int]) -> Edges:
    """The edges of some relations.

    Parameters
    ----------
    parts : arrays (n, 3) of head, relation and tail
    """
    rows = np.concatenate([one[np.isin(one[:, 1], [*relations])] for one in parts])
    rows = rows[np.lexsort(rows.T[::-1])]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    rows = rows[is_new]
    heads, kinds, tails = rows[np.lexsort((rows[:, 0], rows[:, 1], rows[:, 2]))].T
    return Edges(EdgeSet(rows), Ends(*rows.T), Ends(tails, kinds, heads))


def graph_edges(
    graph: Graph, split: str, relations: Collection[int], numbers: Iterable[int]
) -> tuple[Edges, EdgeSet]:
    """The edges of the full graph of a split that have some relations, and the observed ones.

    What a vector of the graph says of an entity is an edge to itself, of a relation of its own.

    Parameters
    ----------
    numbers : of the vectors that are asked for
    """
    numbers = [*numbers]
    given = [_loops(number, graph) for number in numbers]
    relations = {*relations, *(_relation_of(number, graph) for number in numbers)}
    full, observed = (
        indexed_edges([*given, *(graph.triples[part] for part in parts)], relations)
        for parts in (graph.full(split), graph.observed[split])
    )
    return full, observed.known


def vector_ids(formula: Formula, graph: Graph) -> dict[str, int]:
    """The relations by which `graph_edges` has the vectors that a formula asks for."""
    return {f"d{number}": _relation_of(number, graph) for number in vectors(formula)}


def _relation_of(number: int, graph: Graph) -> int:
    return graph.n_relations + number - 1


def _loops(number: int, graph: Graph) -> np.ndarray:
    """The entities of degree 1 in a vector, as edges to themselves."""
    members = np.flatnonzero(graph.degrees[number - 1] == 1)
    return np.column_stack([members, np.full_like(members, _relation_of(number, graph)), members])
