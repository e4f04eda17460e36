"""Reductions: which atoms of a query must be predicted for an answer to be found."""

import numpy as np

from clqa.adjacencies import View
from clqa.formulas import Formula
from clqa.markings import MOST_ATOMS, marking_families, marking_plan
from clqa.ragged import Ragged

# Markings, as bits of a family, without atom i.
_WITHOUT = [
    sum(1 << marking for marking in range(1 << MOST_ATOMS) if not marking >> atom & 1)
    for atom in range(MOST_ATOMS)
]
# Markings, as bits of a family, by their number of atoms.
_BY_SIZE = [
    sum(1 << marking for marking in range(1 << MOST_ATOMS) if marking.bit_count() == size)
    for size in range(MOST_ATOMS + 1)
]


def minimal_missing_subsets(
    formula: Formula, view: View, anchors: np.ndarray, relations: np.ndarray, hard: Ragged
) -> np.ndarray:
    """For each hard answer the smallest sets of atoms that have to be predicted.

    An answer is found without a set of missing edges only if some witness does not need them: the
    sets are the minimal markings over all witnesses. An answer that is found by one missing link
    has a set of one atom, whatever other ways there are.

    Returns
    -------
    subsets : (len(hard.values),) uint64
        Bit m is set if m is such a set; bit i of m stands for the positive atom i, in the order in
        which they stand in the formula.
    """
    families = marking_families(marking_plan(formula), view, anchors, relations, hard)
    return minimal(families)


def minimal(families: np.ndarray) -> np.ndarray:
    """The markings of each family, (n,) uint64, that hold no other one of it."""
    reached = families
    for atom in range(MOST_ATOMS):
        reached = reached | _with_atom(reached, atom)
    larger = np.zeros_like(families)
    for atom in range(MOST_ATOMS):
        larger |= _with_atom(reached, atom)
    return families & ~larger


def _with_atom(families: np.ndarray, atom: int) -> np.ndarray:
    """The markings without an atom, with the atom."""
    return (families & np.uint64(_WITHOUT[atom])) << np.uint64(1 << atom)


def fewest(families: np.ndarray) -> np.ndarray:
    """Size of the smallest marking of each family, (n,) uint8."""
    sizes = np.zeros(len(families), np.uint8)
    open_ = families != 0
    for mask in _BY_SIZE:
        open_ = open_ & (families & np.uint64(mask) == 0)
        sizes += open_
    return sizes
