"""How numbers are rounded, and only where they are shown: half to even, on their decimal digits."""

from decimal import ROUND_HALF_EVEN, Decimal

STATEMENT = "rounded half to even, from the stored value"


def rounded(value: float, decimals: int, scale: int = 1) -> Decimal:
    """`value * scale` with so many decimals; a half goes to the even digit.

    The digits taken are those `repr` shows, so that 0.1225 as points is 12.25 and becomes 12.2.
    """
    exact = Decimal(repr(float(value))) * scale
    result = exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN)
    return abs(result) if result == 0 else result


def points(value: float, decimals: int = 1) -> Decimal:
    """A share in points, that is times 100."""
    return rounded(value, decimals, scale=100)
