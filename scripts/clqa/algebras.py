"""Algebras of truth degrees from 0 to 1: how parts of a formula make the degree of the whole.

An algebra has a t-norm for conjunction, a co-norm for disjunction and the residuum of the t-norm
for implication, the greatest c with `conjoin(a, c) <= b`. Negation is either the residuated one,
the residuum towards 0, or the standard one, 1 - a, which CQD, QTO and GNN-QE use with the product.
On the degrees 0 and 1 every algebra is two-valued logic. All functions take arrays of one
floating-point type, or numbers, and broadcast.

Hajek (1998), Metamathematics of Fuzzy Logic. Viterbi is the semiring of most probable paths: the
product with the maximum.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError


class Algebra(NamedTuple):
    """Operations on degrees.

    Attributes
    ----------
    conjoin, disjoin, residuum : function of two degrees
        `conjoin` takes the keyword `out`, an array that may be one of its operands.
    negate : function of a degree
    selects : bool
        Whether a disjunction always has the degree of one of its parts.
    """

    conjoin: Callable
    disjoin: Callable
    residuum: Callable
    negate: Callable
    selects: bool


def standard_negation(a):
    return 1 - a


def crisp_negation(a):
    """The residuum towards 0 of a t-norm without zero divisors."""
    return np.equal(a, 0).astype(np.asarray(a).dtype)


def _bounded_difference(a, b, out=None):
    total = np.add(a, b, out=out)
    total = np.subtract(total, 1, out=out)
    return np.maximum(total, 0, out=out)


def _bounded_sum(a, b):
    return np.minimum(a + b, 1)


def _either(a, b):
    return a + b - a * b


def _goedel_residuum(a, b):
    return np.where(np.less_equal(a, b), np.ones_like(b), b)


def _goguen_residuum(a, b):
    quotient = np.true_divide(b, np.where(np.less_equal(a, b), np.ones_like(a), a))
    return np.where(np.less_equal(a, b), np.ones_like(b), quotient)


def _lukasiewicz_residuum(a, b):
    return np.minimum(1, 1 - a + b)


_RESIDUATED = {
    "goedel": Algebra(np.minimum, np.maximum, _goedel_residuum, crisp_negation, True),
    "product": Algebra(np.multiply, _either, _goguen_residuum, crisp_negation, False),
    "lukasiewicz": Algebra(
        _bounded_difference, _bounded_sum, _lukasiewicz_residuum, standard_negation, False
    ),
    "viterbi": Algebra(np.multiply, np.maximum, _goguen_residuum, crisp_negation, True),
}
ALGEBRAS = tuple(_RESIDUATED)
NEGATIONS = ("standard", "residuated")


def algebra(name: str, negation: str = "standard") -> Algebra:
    """An algebra by name, with the negation that is asked for.

    Raises
    ------
    InputError
        If there is no such algebra or negation.
    """
    if name not in ALGEBRAS:
        raise InputError(f"no algebra {name!r}; known are {', '.join(ALGEBRAS)}")
    if negation not in NEGATIONS:
        raise InputError(f"no negation {negation!r}; known are {', '.join(NEGATIONS)}")
    found = _RESIDUATED[name]
    return found if negation == "residuated" else found._replace(negate=standard_negation)


def clamped(values: np.ndarray) -> np.ndarray:
    """Values as degrees, float32: what is not finite becomes 0, the rest is cut at 0 and 1."""
    values = np.asarray(values, np.float32)
    return np.clip(np.where(np.isfinite(values), values, 0), 0, 1)
