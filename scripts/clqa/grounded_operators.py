"""Operators with ids: the queries of EFO-1-QA, which are JSON, and when two of them are the same.

An operator of `clqa.operator_strings` whose numbers are ids of entities (`e`) and relations (`p`).
"""

import json

from clqa.errors import InputError
from clqa.operator_strings import Operator

_MOST = 2**31 - 1
_DEEPEST = 50
# Least number of arguments of the operators on sets.
_LEAST = {"n": 1, "d": 2, "D": 2, "i": 2, "u": 2, "I": 2, "U": 2}


def grounded_operator(cell: str) -> Operator:
    """The operators that a cell has as JSON; the numbers of `e` and `p` are ids.

    Raises
    ------
    InputError
        Says what is wrong with the cell.
    """
    try:
        content = json.loads(cell)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"expected operators as JSON ({reason})") from None
    return _operator(content, _DEEPEST)


def _operator(content: object, depth: int) -> Operator:
    if not depth:
        raise InputError(f"more than {_DEEPEST} operators in each other")
    if not isinstance(content, dict) or content.keys() != {"o", "a"}:
        raise InputError("expected operators as objects of o (its sign) and a (its arguments)")
    sign, arguments = content["o"], content["a"]
    arguments = arguments if isinstance(arguments, list) else [arguments]
    if sign == "e":
        return Operator("e", number=_only_id(arguments))
    if sign == "p" and len(arguments) == 2:
        return Operator("p", (_operator(arguments[1], depth - 1),), _only_id(arguments[0]))
    if not isinstance(sign, str) or sign not in _LEAST:
        raise InputError(f"unknown operator {sign!r} with {len(arguments)} arguments")
    if len(arguments) < _LEAST[sign] or (sign in "nd" and len(arguments) > _LEAST[sign]):
        raise InputError(f"operator '{sign}' with {len(arguments)} arguments")
    if sign in "iuIU":  # capital letters are for three sets and more, whichever the file has
        sign = sign.upper() if len(arguments) > 2 else sign.lower()
    return Operator(sign, tuple(_operator(one, depth - 1) for one in arguments))


def _only_id(ids: object) -> int:
    if not isinstance(ids, list) or len(ids) != 1 or type(ids[0]) is not int:
        raise InputError("expected a list of one id for each e and p")
    if abs(ids[0]) > _MOST:
        raise InputError(f"the id {ids[0]} is too large")
    return ids[0]


def numbers_of(operator: Operator) -> tuple[list[int], list[int]]:
    """Numbers of the entities and of the projections, in the order of writing."""
    found: tuple[list[int], list[int]] = ([], [])
    if operator.sign in "ep":
        found["ep".index(operator.sign)].append(operator.number)
    for part in operator.parts:
        for own, inner in zip(found, numbers_of(part), strict=True):
            own.extend(inner)
    return found


def filled(operator: Operator, entities: list[int], relations: list[int]) -> Operator:
    """The operators with ids in place of the numbers, which count from 1."""
    ids = {"e": entities, "p": relations}.get(operator.sign)
    number = ids[operator.number - 1] if ids else 0
    parts = tuple(filled(part, entities, relations) for part in operator.parts)
    return Operator(operator.sign, parts, number)


def settled(operator: Operator) -> tuple:
    """Nested tuples that are equal for operators alike up to grouping, order and differences.

    `D(a, b, c)` is what `d(d(a, b), c)` is, the intersection of a with the complements of b and c;
    a complement of a complement is none.
    """
    sign, parts, number = operator
    inner = [settled(part) for part in parts]
    if sign in "ep":
        return (sign, number, *inner)
    if sign == "n":
        return _complement(inner[0])
    if sign in "dD":
        sign, inner = "i", [inner[0], *map(_complement, inner[1:])]
    sign = sign.lower()
    flat = [one for part in inner for one in (part[1] if part[0] == sign else [part])]
    return (sign, tuple(sorted(flat)))


def _complement(part: tuple) -> tuple:
    return part[1] if part[0] == "n" else ("n", part)
