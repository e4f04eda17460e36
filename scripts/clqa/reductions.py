"""Reductions: which atoms of a query must be predicted for an answer to be found."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View
from clqa.answers import missing_links
from clqa.formulas import Formula, negation_normal
from clqa.markings import MOST_ATOMS, marking_families, marking_plan, positive_atoms
from clqa.plans import plan
from clqa.query_sets import Answers
from clqa.ragged import Ragged
from clqa.reduction_classes import NO_CLASS, find_class_table, first_classes, released_classes

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


class Reductions(NamedTuple):
    """What has to be predicted for each of n hard answers.

    Attributes
    ----------
    links : (n,) uint8
        Smallest number of missing links.
    subsets : (n,) uint64
        As of `minimal_missing_subsets`; 0 for shapes of more than six positive atoms.
    classes : (n,) int8
        As of `reduction_classes.released_classes`; `NO_CLASS` for shapes that the release lacks.
    """

    links: np.ndarray
    subsets: np.ndarray
    classes: np.ndarray


def answer_reductions(
    formula: Formula, view: View, anchors: np.ndarray, relations: np.ndarray, hard: Ragged
) -> Reductions:
    """Everything about the reductions of hard answers, with one evaluation for most shapes."""
    rows = (view, anchors, relations, hard)
    classes = np.full(len(hard.values), NO_CLASS, np.int8)
    if sum(positive_atoms(formula)) > MOST_ATOMS:
        nothing = np.zeros(len(hard.values), np.uint64)
        return Reductions(missing_links(plan(formula), *rows), nothing, classes)
    families = marking_families(marking_plan(formula), *rows)
    table = find_class_table(formula)
    if table is not None and table.conjoined == negation_normal(formula):
        classes = first_classes(table, families)
    elif table is not None:
        classes = released_classes(formula, *rows)
    return Reductions(fewest(families), minimal(families), classes)


def reduction_counts(formula: Formula, found: Answers) -> dict[str, dict[str, int] | None]:
    """Number of hard answers by missing links, by class, and by minimal sets of atoms.

    Returns
    -------
    dict
        `links` by number; `classes` by name, with `none` for those in no class, or None for shapes
        without classes; `subsets` by the names of `subset_names`.
    """
    table = find_class_table(formula)
    classes = None
    if table is not None:
        places = np.flatnonzero(table.possible)
        classes = {table.names[place]: int((found.classes == place).sum()) for place in places}
        classes["none"] = len(found.classes) - sum(classes.values())
    kinds, n_of_kind = np.unique(found.subsets, return_counts=True)
    subsets = dict(zip(subset_names(kinds), n_of_kind.tolist(), strict=True))
    numbers, n_of_number = np.unique(found.links, return_counts=True)
    links = dict(zip(map(str, numbers.tolist()), n_of_number.tolist(), strict=True))
    return {"links": links, "classes": classes, "subsets": subsets}


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


def subset_names(subsets: np.ndarray) -> Iterator[str]:
    """What minimal sets say, such as `1 or 2+3`: either atom 1, or atoms 2 and 3 are needed.

    Atoms are the positive ones of the formula, counted from 1; `?` stands for unknown sets.
    """
    for family in subsets.tolist():
        markings = sorted((m for m in range(64) if family >> m & 1), key=_atoms_of)
        yield " or ".join("+".join(map(str, _atoms_of(m))) for m in markings) or "?"


def _atoms_of(marking: int) -> list[int]:
    return [atom + 1 for atom in range(MOST_ATOMS) if marking >> atom & 1]


def fewest(families: np.ndarray) -> np.ndarray:
    """Size of the smallest marking of each family, (n,) uint8."""
    sizes = np.zeros(len(families), np.uint8)
    open_ = families != 0
    for mask in _BY_SIZE:
        open_ = open_ & (families & np.uint64(mask) == 0)
        sizes += open_
    return sizes
