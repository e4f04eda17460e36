"""Groups of shapes that are averaged together, all of them from the formulas.

Beside the groups of `clqa.plans.groups`, query sets with a shape that has several free variables, a
cycle or parallel edges have those by which EFOk-CQA (Yin et al., 2023) tells its shapes apart: by
the number of free variables (`f=2`), of constants (`c=3`) and of existentials (`e=1`), and by the
graph: `graph=cyclic` with a cycle of different nodes, `graph=multi` with parallel edges,
`graph=SDAG` with neither; and all four together as a cell of its tables, `f=2 c=3 e=1 graph=SDAG`.
"""

import functools
import itertools

from clqa import metrics
from clqa.abstract_graphs import AbstractGraph, has_cycle, has_parallel_edges
from clqa.formulas import Formula, atoms, symbols
from clqa.plans import groups

HEADLINE = ("EPFO", "negation")  # in this order


@functools.lru_cache(maxsize=4096)
def arity(formula: Formula) -> int:
    """Number of free variables."""
    return len(symbols(formula, "f"))


def members_of_groups(
    shapes: dict[str, Formula], metric: str = "tie_rate"
) -> dict[str, tuple[str, ...]]:
    """Shapes of each group that has any, those of the headline first, cells last.

    Shapes whose number of free variables a metric is not for are left out.
    """
    told_apart = any(is_general(formula) for formula in shapes.values())
    belongs = {
        shape: (*_groups(formula), *(structure(formula) if told_apart else ()))
        for shape, formula in shapes.items()
        if metrics.fits(metric, arity(formula))
    }
    found = {group for names in belongs.values() for group in names}
    order = sorted(found, key=_order)
    return {group: tuple(shape for shape in belongs if group in belongs[shape]) for group in order}


def _order(group: str) -> tuple:
    return (*(group != first for first in HEADLINE), group.count("="), group)


def is_cell(group: str) -> bool:
    """Whether a group has the shapes that are alike in all four ways."""
    return group.count("=") > 1


_groups = functools.lru_cache(maxsize=4096)(groups)


@functools.lru_cache(maxsize=4096)
def structure(formula: Formula) -> tuple[str, ...]:
    """Names of the groups of a shape by its numbers of symbols and by its graph."""
    numbers = (
        f"{name}={len(symbols(formula, kind))}" for name, kind in zip("fce", "fse", strict=True)
    )
    names = (*numbers, f"graph={graph_class(formula)}")
    return (*names, " ".join(names))


def is_general(formula: Formula) -> bool:
    """Whether a shape is beyond trees with one free variable."""
    return arity(formula) > 1 or graph_class(formula) != "SDAG"


@functools.lru_cache(maxsize=4096)
def graph_class(formula: Formula) -> str:
    """`cyclic`, `multi` or `SDAG`, after EFOk-CQA; a shape with both has parallel edges."""
    kinds = [symbols(formula, kind) for kind in "efs"]
    place = {name: number for number, name in enumerate(itertools.chain(*kinds))}
    edges = (sorted((place[atom.head], place[atom.tail])) for atom in atoms(formula))
    graph = AbstractGraph(*map(len, kinds), tuple(sorted((a, b, False) for a, b in edges)))
    if has_parallel_edges(graph):
        return "multi"
    return "cyclic" if has_cycle(graph) else "SDAG"
