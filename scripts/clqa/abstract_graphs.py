"""Abstract query graphs of EFOk-CQA (Yin et al., 2023), enumerated up to isomorphism.

A graph has existential and free variables, and constants, each of which has one edge, to a
variable. Edges may be negated and may be parallel. An abstract graph stands for the conjunctive
formula with one atom per edge, all of whose relations and constants are open.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clqa.formulas import And, Atom, Formula, Not, joined

# Variables come before constants: existentials, free ones, constants, numbered through.
Edge = tuple[int, int, bool]  # two nodes, the lower first, and whether the edge is negated


class Limits(NamedTuple):
    """Which graphs are enumerated; the defaults are those of the published set.

    Attributes
    ----------
    free, existentials, constants : int
        At most so many of each kind; there is at least one free variable and one constant.
    edges, nodes : int
        At most so many in all.
    surplus : int
        At most so many edges between variables beyond those of a tree.
    parallel : int
        At most so many edges between two variables.
    distance : int
        Every node is at most so many edges away from a free variable.
    negations : int
        At most so many negated edges.
    """

    free: int = 2
    existentials: int = 2
    constants: int = 3
    edges: int = 6
    nodes: int = 6
    surplus: int = 1
    parallel: int = 2
    distance: int = 3
    negations: int = 1


PUBLISHED = Limits()


class AbstractGraph(NamedTuple):
    """A query graph without relations and entities; `edges` are sorted."""

    n_existentials: int
    n_free: int
    n_constants: int
    edges: tuple[Edge, ...]

    @property
    def n_variables(self) -> int:
        return self.n_existentials + self.n_free


def enumerate_graphs(limits: Limits = PUBLISHED) -> Iterator[AbstractGraph]:
    """All classes within the limits, one canonical graph each; positive ones of a cell first."""
    cells = itertools.product(
        range(1, limits.free + 1),
        range(1, limits.constants + 1),
        range(limits.existentials + 1),
    )
    for n_free, n_constants, n_existentials in cells:
        if n_free + n_constants + n_existentials <= limits.nodes:
            yield from _cell(limits, n_existentials, n_free, n_constants)


def _cell(limits: Limits, n_existentials: int, n_free: int, n_constants: int):
    positive = dict.fromkeys(
        canonical_graph(attached(n_existentials, n_free, links, ends))
        for links in _variable_graphs(limits, n_existentials, n_free)
        for ends in _ends(n_existentials + n_free, n_constants)
        if len(links) + n_constants <= limits.edges
    )
    admitted = sorted(graph for graph in positive if is_admissible(graph, limits.distance))
    yield from admitted
    for n_negated in range(1, limits.negations + 1):
        signed = {
            canonical_graph(variant)
            for graph in admitted
            for chosen in itertools.combinations(range(len(graph.edges)), n_negated)
            if is_grounded(variant := negated(graph, chosen))
        }
        yield from sorted(signed)


def _variable_graphs(limits: Limits, n_existentials: int, n_free: int):
    """Connected multigraphs on the variables, as tuples of pairs; every class at least once."""
    n_variables = n_existentials + n_free
    pairs = list(itertools.combinations(range(n_variables), 2))
    for surplus in range(limits.surplus + 1):
        for links in itertools.combinations_with_replacement(pairs, n_variables - 1 + surplus):
            enough = max(Counter(links).values(), default=0) <= limits.parallel
            if enough and len(_reached(links, {0})) == n_variables:
                yield links


def _ends(n_variables: int, n_constants: int) -> Iterator[tuple[int, ...]]:
    """Which variables the constants are linked to; constants are alike."""
    return itertools.combinations_with_replacement(range(n_variables), n_constants)


def attached(
    n_existentials: int, n_free: int, links: Iterable[tuple[int, int]], ends: tuple[int, ...]
) -> AbstractGraph:
    """The positive graph of links between variables, and of constants by the variable they have."""
    n_variables = n_existentials + n_free
    edges = [(a, b, False) for a, b in links]
    edges += [(end, n_variables + place, False) for place, end in enumerate(ends)]
    return AbstractGraph(n_existentials, n_free, len(ends), tuple(sorted(edges)))


def negated(graph: AbstractGraph, chosen: tuple[int, ...]) -> AbstractGraph:
    """The graph with the edges in some places negated."""
    edges = [(a, b, place in chosen) for place, (a, b, _) in enumerate(graph.edges)]
    return graph._replace(edges=tuple(edges))


def canonical_graph(graph: AbstractGraph) -> AbstractGraph:
    """The same graph for all that differ only in the order of their nodes of one kind."""
    n_existentials, n_variables = graph.n_existentials, graph.n_variables
    orders = itertools.product(
        itertools.permutations(range(n_existentials)),
        itertools.permutations(range(n_existentials, n_variables)),
    )
    edges = min(_renumbered(graph, first + second) for first, second in orders)
    return graph._replace(edges=edges)


def _renumbered(graph: AbstractGraph, names: tuple[int, ...]) -> tuple[Edge, ...]:
    """Edges under other numbers of the variables; constants are numbered in order of theirs."""
    n_variables = graph.n_variables
    links, ends = [], []
    for a, b, sign in graph.edges:
        if b < n_variables:
            links.append((*sorted((names[a], names[b])), sign))
        else:
            ends.append((names[a], sign))
    edges = [(a, n_variables + place, sign) for place, (a, sign) in enumerate(sorted(ends))]
    return tuple(sorted(links + edges))


def is_admissible(graph: AbstractGraph, distance: int) -> bool:
    """Whether all nodes are near a free variable, and existential leaves touch one.

    With the free variables taken out, every existential of a part without a constant must be a
    neighbour of a free variable: otherwise it would restrict nothing.
    """
    pairs = [(a, b) for a, b, _ in graph.edges]
    free = set(range(graph.n_existentials, graph.n_variables))
    if len(_reached(pairs, free, distance)) < graph.n_variables + graph.n_constants:
        return False
    beside = _reached(pairs, free, 1)
    rest = [pair for pair in pairs if free.isdisjoint(pair)]
    constants = range(graph.n_variables, graph.n_variables + graph.n_constants)
    held = _reached(rest, set(constants))
    return all(node in held or node in beside for node in range(graph.n_existentials))


def is_grounded(graph: AbstractGraph) -> bool:
    """Whether the positive edges hold every variable, and link a constant to a free variable."""
    pairs = [(a, b) for a, b, sign in graph.edges if not sign]
    touched = {node for pair in pairs for node in pair}
    constants = range(graph.n_variables, graph.n_variables + graph.n_constants)
    reached = _reached(pairs, set(constants) & touched)
    free = range(graph.n_existentials, graph.n_variables)
    return touched >= set(range(graph.n_variables)) and not reached.isdisjoint(free)


def _reached(pairs: Iterable[tuple[int, int]], start: set[int], steps: int = 99) -> set[int]:
    """Nodes at most so many steps away from some others, these included."""
    pairs, found = list(pairs), set(start)
    for _ in range(steps):
        new = {n for pair in pairs if not found.isdisjoint(pair) for n in pair} - found
        if not new:
            break
        found |= new
    return found


def has_parallel_edges(graph: AbstractGraph) -> bool:
    """EFOk-CQA's flag `multi`."""
    return max(Counter((a, b) for a, b, _ in graph.edges).values()) > 1


def has_cycle(graph: AbstractGraph) -> bool:
    """EFOk-CQA's flag `cyclic`: whether the graph without parallel edges has a cycle."""
    pairs = {(a, b) for a, b, _ in graph.edges}
    return len(pairs) >= graph.n_variables + graph.n_constants


def formula_of(graph: AbstractGraph) -> Formula:
    """The formula, whose edges point from constants to existentials to free variables."""
    n_existentials, n_variables = graph.n_existentials, graph.n_variables
    names = [f"e{n}" for n in range(1, n_existentials + 1)]
    names += [f"f{n}" for n in range(1, graph.n_free + 1)] if graph.n_free > 1 else ["f"]
    names += [f"s{n}" for n in range(1, graph.n_constants + 1)]
    ordered = sorted(graph.edges, key=lambda edge: (edge[1] < n_variables, edge))
    parts = []
    for number, (a, b, sign) in enumerate(ordered, start=1):
        head, tail = (b, a) if b >= n_variables else (a, b)
        atom = Atom(f"r{number}", names[head], names[tail])
        parts.append(Not(atom) if sign else atom)
    return joined(And, parts)
