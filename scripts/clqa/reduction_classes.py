"""Classes of hard answers by what must be predicted for them, as the +H benchmarks have them.

Gregucci et al. (2025) sort the hard answers of a shape by the markings of their witnesses (see
`clqa.markings`): a class is a list of markings, an answer is in the first class of which it has a
marking. The branches of a union count as if both had to hold: an answer that one branch alone
gives, because no edge of the full graph makes the other one true, is in no class.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View
from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import And, Formula, Not, Or, joined, negation_normal, parse, symbols, to_text
from clqa.markings import marking_families, marking_plan
from clqa.ragged import Ragged

NO_CLASS = -1


def _by_number(*names: str) -> dict[str, list[str]]:
    """Classes by the number of missing edges, from one to all atoms."""
    markings = ["".join(m) for m in itertools.product("01", repeat=len(names))]
    return {
        name: [marking for marking in markings if marking.count("1") == number]
        for number, name in enumerate(names, start=1)
    }


# Per shape the classes in order of priority; a marking has one digit for each positive atom, in the
# order of the formula, 1 for a missing edge. The last class is that of full inference. No
# hard answer is in `0p`, in `1p` of a union of two atoms, or in `pos-exist` of a single atom: with
# such edges the observed graph gives the answer.
RELEASED = {
    "r1(s1,e1)&r2(e1,f)": _by_number("1p", "2p"),
    "r1(s1,e1)&r2(e1,e2)&r3(e2,f)": _by_number("1p", "2p", "3p"),
    "r1(s1,e1)&r2(e1,e2)&r3(e2,e3)&r4(e3,f)": _by_number("1p", "2p", "3p", "4p"),
    "r1(s1,f)&r2(s2,f)": _by_number("1p", "2i"),
    "r1(s1,f)&r2(s2,f)&r3(s3,f)": _by_number("1p", "2i", "3i"),
    "r1(s1,f)&r2(s2,f)&r3(s3,f)&r4(s4,f)": _by_number("1p", "2i", "3i", "4i"),
    "r1(s1,e1)&r2(e1,f)&r3(s2,f)": {
        "1p": ["100", "010", "001"],
        "2i": ["011", "101"],
        "2p": ["110"],
        "pi": ["111"],
    },
    "r1(s1,e1)&r2(s2,e1)&r3(e1,f)": {
        "1p": ["100", "010", "001"],
        "2i": ["110"],
        "2p": ["101", "011"],
        "ip": ["111"],
    },
    "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)": {
        "0p": ["010", "100"],
        "1p": ["001", "101", "011"],
        "2u": ["110"],
        "up": ["111"],
    },
    "r1(s1,f)|r2(s2,f)": {"1p": ["01", "10"], "2u": ["11"]},
    "r1(s1,f)&!r2(s2,f)": {"pos-exist": ["0"], "pos-only-miss": ["1"]},
    "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)": {"pos-exist": ["0"], "pos-only-miss": ["1"]},
    "r1(s1,f)&r2(s2,f)&!r3(s3,f)": {"pos-exist": ["01", "10"], "pos-only-miss": ["11"]},
    "r1(s1,e1)&r2(e1,f)&!r3(s2,f)": {"pos-exist": ["01", "10"], "pos-only-miss": ["11"]},
    "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)": {"pos-exist": ["01", "10"], "pos-only-miss": ["11"]},
}


class ClassTable(NamedTuple):
    """The classes of a shape.

    Attributes
    ----------
    names : tuple of str
        In order of priority; the last one is full inference.
    families : (n_classes,) uint64
        Markings of each class, as in `clqa.markings`.
    possible : (n_classes,) bool
        Whether a hard answer can be in the class: not if, with every of its markings, the edges
        that are observed make the formula true.
    conjoined : Formula
        The formula whose witnesses are marked: in negation normal form, unions as conjunctions.
    """

    names: tuple[str, ...]
    families: np.ndarray
    possible: np.ndarray
    conjoined: Formula


def class_table(formula: Formula) -> ClassTable:
    """The released classes of a shape, however its formula is written.

    Raises
    ------
    InputError
        If the release has no classes for the shape.
    """
    table = find_class_table(formula)
    if table is None:
        raise InputError(f"formula '{to_text(formula)}': the +H benchmarks have no classes for it")
    return table


def find_class_table(formula: Formula) -> ClassTable | None:
    """The released classes of a shape, or none if the release has no such shape."""
    normal = negation_normal(formula)
    text, orders = canonical(normal)
    if text not in _tables():
        return None
    table_orders, classes = _tables()[text]
    conjoined = _conjoined(normal)
    # The column of the table's formula for each column of this one.
    theirs = dict(zip(orders[0].tolist(), table_orders[0].tolist(), strict=True))
    n_constants = len(symbols(normal, "s"))
    columns = [theirs[n_constants + place] for place in marking_plan(conjoined).positive]
    digits = [sorted(columns).index(column) for column in columns]
    families = [
        sum(1 << sum((m[digit] == "1") << i for i, digit in enumerate(digits)) for m in markings)
        for markings in classes.values()
    ]
    possible = [
        any(family >> m & 1 and not _holds(normal, m) for m in range(1 << len(columns)))
        for family in families
    ]
    return ClassTable(
        tuple(classes), np.array(families, np.uint64), np.array(possible, bool), conjoined
    )


def _holds(normal: Formula, marking: int) -> bool:
    """Whether the atoms outside a marking, and all negated parts, make the formula true."""
    numbers = itertools.count()

    def holds(part: Formula) -> bool:
        match part:
            case And(parts) | Or(parts):
                # All of them, since every atom takes a number.
                found = [holds(inner) for inner in parts]
                return all(found) if isinstance(part, And) else any(found)
            case Not():
                return True
        return not marking >> next(numbers) & 1

    return holds(normal)


@functools.cache
def _tables() -> dict[str, tuple[np.ndarray, dict[str, list[str]]]]:
    """Symmetries and classes by canonical formula."""
    tables = {}
    for written, classes in RELEASED.items():
        text, orders = canonical(negation_normal(parse(written)))
        tables[text] = orders, classes
    return tables


def _conjoined(formula: Formula) -> Formula:
    """A negation normal form with a conjunction in place of every disjunction outside negations."""
    match formula:
        case And(parts) | Or(parts):
            return joined(And, [_conjoined(part) for part in parts])
        case _:
            return formula


def released_classes(
    formula: Formula, view: View, anchors: np.ndarray, relations: np.ndarray, hard: Ragged
) -> np.ndarray:
    """Class of each hard answer, by its place in the names of `class_table(formula)`.

    Returns
    -------
    classes : (len(hard.values),) int8
        `NO_CLASS` for an answer that is in none.

    Raises
    ------
    InputError
        If the release has no classes for the shape.
    """
    table = class_table(formula)
    families = marking_families(marking_plan(table.conjoined), view, anchors, relations, hard)
    return first_classes(table, families)


def first_classes(table: ClassTable, families: np.ndarray) -> np.ndarray:
    """The first class of which each family has a marking, (n,) int8."""
    classes = np.full(len(families), NO_CLASS, np.int8)
    for place in reversed(range(len(table.names))):
        classes[families & table.families[place] != 0] = place
    return classes
