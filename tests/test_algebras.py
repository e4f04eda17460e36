"""Algebras of truth degrees: the laws that define them, and where they differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clqa.algebras import ALGEBRAS, NEGATIONS, algebra, clamped
from clqa.errors import InputError

every_algebra = pytest.mark.parametrize("name", ALGEBRAS)
every_negation = pytest.mark.parametrize("negation", NEGATIONS)
# Eighths and other degrees; sums and products of them are off by rounding at most.
degrees = st.integers(0, 64).map(lambda n: n / 64) | st.floats(0, 1)
ROUNDING = 1e-12


@every_algebra
@given(degrees, degrees, degrees)
def test_both_operations_are_commutative_and_associative(name, a, b, c):
    for operation in algebra(name)[:2]:
        assert operation(a, b) == operation(b, a)
        left, right = operation(operation(a, b), c), operation(a, operation(b, c))
        assert left == pytest.approx(right, abs=ROUNDING)


@every_algebra
@given(degrees, degrees, degrees)
def test_both_operations_are_monotone(name, a, b, c):
    for operation in algebra(name)[:2]:
        assert operation(min(a, b), c) <= operation(max(a, b), c) + ROUNDING


@every_algebra
@given(degrees)
def test_one_and_zero_are_neutral_and_zero_annihilates(name, a):
    conjoin, disjoin = algebra(name)[:2]
    assert conjoin(a, 1.0) == pytest.approx(a, abs=ROUNDING)
    assert disjoin(a, 0.0) == a
    assert conjoin(a, 0.0) == 0
    assert disjoin(a, 1.0) == pytest.approx(1, abs=ROUNDING)


@every_algebra
@given(degrees, degrees)
def test_a_residuum_is_the_greatest_degree_whose_conjunction_stays_below(name, a, b):
    found = algebra(name)
    top = found.residuum(a, b)
    assert found.conjoin(a, top) <= b + ROUNDING
    if top < 1:
        above = min(1, top + 1e-6)
        assert found.conjoin(a, above) > b or a * 1e-6 < ROUNDING


@every_algebra
@given(degrees, degrees, degrees)
def test_a_residuum_bounds_exactly_what_may_be_conjoined(name, a, b, c):
    found = algebra(name)
    if c <= found.residuum(a, b) - ROUNDING:
        assert found.conjoin(a, c) <= b + ROUNDING
    if found.conjoin(a, c) <= b - ROUNDING:
        assert c <= found.residuum(a, b) + ROUNDING


@every_algebra
@given(degrees, degrees)
def test_de_morgans_laws_hold_under_residuated_negation(name, a, b):
    found = algebra(name, "residuated")
    negate = found.negate
    # Products so small that they are rounded to 0 are no counter-example.
    if 0 < a < 1e-150 or 0 < b < 1e-150:
        return
    both = negate(found.conjoin(a, b)), negate(found.disjoin(a, b))
    assert both[0] == pytest.approx(found.disjoin(negate(a), negate(b)), abs=ROUNDING)
    assert both[1] == pytest.approx(found.conjoin(negate(a), negate(b)), abs=ROUNDING)


@pytest.mark.parametrize("name", ["goedel", "product", "lukasiewicz"])
@given(degrees, degrees)
def test_de_morgans_laws_hold_under_standard_negation_where_the_operations_are_dual(name, a, b):
    found = algebra(name, "standard")
    left = found.negate(found.conjoin(a, b))
    right = found.disjoin(found.negate(a), found.negate(b))
    assert left == pytest.approx(right, abs=ROUNDING)


def test_viterbi_has_no_dual_operations_under_standard_negation():
    found = algebra("viterbi", "standard")
    assert found.negate(found.conjoin(0.5, 0.5)) == 0.75
    assert found.disjoin(found.negate(0.5), found.negate(0.5)) == 0.5


@every_algebra
@given(degrees)
def test_residuated_negation_is_the_residuum_towards_zero(name, a):
    found = algebra(name, "residuated")
    assert found.negate(a) == pytest.approx(found.residuum(a, 0.0), abs=ROUNDING)


@every_algebra
def test_residuated_double_negation_is_the_identity_only_in_lukasiewicz(name):
    negate = algebra(name, "residuated").negate
    assert (negate(negate(0.25)) == 0.25) == (name == "lukasiewicz")


@every_algebra
@given(degrees)
def test_standard_double_negation_is_the_identity(name, a):
    negate = algebra(name, "standard").negate
    assert negate(negate(a)) == pytest.approx(a, abs=ROUNDING)


@pytest.mark.parametrize("name", ["goedel", "viterbi"])
@given(degrees, degrees, degrees)
def test_conjunction_distributes_over_a_disjunction_that_selects(name, a, b, c):
    conjoin, disjoin = algebra(name)[:2]
    assert conjoin(a, disjoin(b, c)) == disjoin(conjoin(a, b), conjoin(a, c))


@pytest.mark.parametrize(
    ("name", "whole", "parts"), [("lukasiewicz", 0.5, 0.0), ("product", 0.375, 0.4375)]
)
def test_conjunction_does_not_distribute_in_the_other_algebras(name, whole, parts):
    conjoin, disjoin = algebra(name)[:2]
    assert conjoin(0.5, disjoin(0.5, 0.5)) == whole
    assert disjoin(conjoin(0.5, 0.5), conjoin(0.5, 0.5)) == parts


@every_algebra
@given(degrees, degrees)
def test_an_algebra_knows_whether_a_disjunction_selects(name, a, b):
    found = algebra(name)
    selected = found.disjoin(a, b) in (a, b)
    assert selected or not found.selects


@every_algebra
def test_only_in_goedel_conjunction_is_idempotent(name):
    assert (algebra(name).conjoin(0.25, 0.25) == 0.25) == (name == "goedel")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("goedel", 0.25), ("product", 0.5), ("lukasiewicz", 0.75), ("viterbi", 0.5)],
)
def test_residua_of_a_half_towards_a_quarter(name, wanted):
    assert algebra(name).residuum(0.5, 0.25) == wanted


@every_negation
@every_algebra
def test_on_zero_and_one_every_algebra_is_two_valued_logic(name, negation):
    found = algebra(name, negation)
    a, b = np.array([0, 0, 1, 1], np.float32), np.array([0, 1, 0, 1], np.float32)
    assert found.conjoin(a, b).tolist() == [0, 0, 0, 1]
    assert found.disjoin(a, b).tolist() == [0, 1, 1, 1]
    assert found.residuum(a, b).tolist() == [1, 1, 0, 1]
    assert found.negate(a).tolist() == [1, 1, 0, 0]


@every_negation
@every_algebra
def test_degrees_keep_their_type(name, negation):
    found = algebra(name, negation)
    a, b = np.array([0.5, 0], np.float32), np.array([0.25, 1], np.float32)
    for operation in found[:3]:
        assert operation(a, b).dtype == np.float32
    assert found.negate(a).dtype == np.float32


@every_algebra
def test_a_conjunction_may_replace_its_operand(name):
    a, b = np.array([0.75, 0.5]), np.array([0.5, 0.25])
    wanted = algebra(name).conjoin(a, b).tolist()
    algebra(name).conjoin(a, b, out=a)
    assert a.tolist() == wanted


def test_degrees_from_outside_are_clamped():
    values = np.array([np.nan, np.inf, -np.inf, -1, 0.25, 2])
    assert clamped(values).tolist() == [0, 0, 0, 0, 0.25, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("godel",), "no algebra 'godel'; known are goedel, product, lukasiewicz, viterbi"),
        (("product", "strict"), "no negation 'strict'; known are standard, residuated"),
    ],
)
def test_an_unknown_algebra_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        algebra(*arguments)
