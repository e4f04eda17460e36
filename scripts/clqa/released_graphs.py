"""The abstract query graphs that the released generator of EFOk-CQA gives, defects and all.

It starts from a list of graphs of variables that lacks some, adds parallel edges and constants, and
keeps one negated form of each graph only, since it compares graphs without their signs. Its 741
rows hold 552 classes (`clqa.abstract_graphs` has all 1907).
"""

import itertools
from collections.abc import Iterator

from clqa.abstract_graphs import (
    PUBLISHED,
    AbstractGraph,
    attached,
    canonical_graph,
    is_admissible,
    is_grounded,
    negated,
)

# Links between variables, existentials first, that it starts from, by number of existentials and
# free variables: trees, and graphs with one edge more.
_BASES = {
    (0, 1): [()],
    (1, 1): [((0, 1),)],
    (2, 1): [
        ((0, 1), (0, 2)),
        ((0, 1), (1, 2)),
        ((0, 1), (0, 2), (1, 2)),
    ],
    (0, 2): [((0, 1),)],
    (1, 2): [
        ((0, 1), (0, 2)),
        ((0, 1), (1, 2)),
        ((0, 1), (0, 2), (1, 2)),
    ],
    (2, 2): [
        ((0, 1), (0, 2), (0, 3)),
        ((0, 1), (0, 2), (2, 3)),
        ((0, 1), (1, 2), (2, 3)),
        ((0, 1), (0, 2), (0, 3), (1, 2)),
        ((0, 1), (0, 2), (1, 2), (1, 3)),
        ((0, 1), (0, 2), (0, 3), (2, 3)),
        ((0, 1), (0, 2), (1, 2), (2, 3)),
    ],
}


def released_graphs() -> Iterator[AbstractGraph]:
    """The 741 rows, duplicates included, in the order of the generator's loops."""
    for (n_existentials, n_free), bases in _BASES.items():
        for base in bases:
            for graph in _with_constants(n_existentials, n_free, base):
                yield graph
                yield from _first_negated(graph)


def _with_constants(n_existentials, n_free, base) -> Iterator[AbstractGraph]:
    n_variables = n_existentials + n_free
    surplus = PUBLISHED.surplus - (len(base) - (n_variables - 1))
    seen = set()
    for n_parallel in range(surplus + 1):
        for doubled in itertools.combinations(base, n_parallel):
            for n_constants in range(
                1, min(PUBLISHED.constants, PUBLISHED.nodes - n_variables) + 1
            ):
                for ends in itertools.combinations_with_replacement(
                    range(n_variables), n_constants
                ):
                    graph = attached(n_existentials, n_free, base + doubled, ends)
                    same = canonical_graph(graph)
                    if len(graph.edges) > PUBLISHED.edges or same in seen:
                        continue
                    seen.add(same)
                    if is_admissible(graph, PUBLISHED.distance):
                        yield graph


def _first_negated(graph: AbstractGraph) -> list[AbstractGraph]:
    """The first negated form that holds, if there is one; the others look the same to it."""
    places = range(len(graph.edges))
    forms = (negated(graph, (place,)) for place in places)
    return list(itertools.islice(filter(is_grounded, forms), 1))
