"""Formulas as nested set operators, as EFO-1-QA writes them (Wang, Yin and Song, 2021).

`(p,(i,(n,(p,(e))),(p,(e))))` is a projection of an intersection of a complement and a set. The
operators are `e` (an entity), `p` (projection), `i` and `u` of two sets, `n` (complement) and, in
derived forms, `d` (difference), `I` and `U` (of several sets) and `D` (the first set without all
others). The nine normal forms of the benchmark are rewritings of one original form.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from clqa.errors import InputError
from clqa.formulas import And, Atom, Formula, Not, Or, joined

_TOKEN = re.compile(r"\s*([A-Za-z]\w*|[(),])")
_DEEPEST = 50
# Least and largest number of arguments of each operator.
_ARITIES = {
    "e": (0, 0),
    "p": (1, 1),
    "n": (1, 1),
    "i": (2, 2),
    "u": (2, 2),
    "d": (2, 2),
    "I": (2, 99),
    "U": (2, 99),
    "D": (2, 99),
}


class Operator(NamedTuple):
    """A set operator with its arguments.

    Attributes
    ----------
    sign : str
    parts : tuple of Operator
    number : int
        Which entity an `e`, or which relation a `p` stands for, from 1 on in the order of writing;
        copies that a rewriting makes keep it. 0 for the other operators.
    """

    sign: str
    parts: tuple["Operator", ...] = ()
    number: int = 0


def parse(text: str) -> Operator:
    """Read an operator string.

    Raises
    ------
    InputError
        If the text is no operator string; the message quotes it and says what is wrong.
    """
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != "".join(text.split()):
        raise InputError(f"operator string '{text}': only operators, brackets and commas expected")
    depths = itertools.accumulate((token == "(") - (token == ")") for token in tokens)
    if max(depths, default=0) > _DEEPEST:
        raise InputError(f"operator string '{text[:40]}…': more than {_DEEPEST} in each other")
    numbers = {"e": itertools.count(1), "p": itertools.count(1)}
    found, rest = _parse(text, tokens, numbers)
    if rest:
        raise InputError(f"operator string '{text}': expected the end, found '{rest[0]}'")
    return found


def _parse(text: str, tokens: list[str], numbers: dict) -> tuple[Operator, list[str]]:
    tokens = _skip("(", text, tokens)
    if not tokens or tokens[0] not in _ARITIES:
        found = f"'{tokens[0]}'" if tokens else "the end"
        known = ", ".join(_ARITIES)
        raise InputError(f"operator string '{text}': expected one of {known}, found {found}")
    sign, tokens = tokens[0], tokens[1:]
    number = next(numbers[sign]) if sign in numbers else 0
    parts = []
    while tokens and tokens[0] == ",":
        part, tokens = _parse(text, tokens[1:], numbers)
        parts.append(part)
    least, most = _ARITIES[sign]
    if not least <= len(parts) <= most:
        raise InputError(f"operator string '{text}': '{sign}' with {len(parts)} arguments")
    return Operator(sign, tuple(parts), number), _skip(")", text, tokens)


def _skip(sign: str, text: str, tokens: list[str]) -> list[str]:
    if not tokens or tokens[0] != sign:
        found = f"'{tokens[0]}'" if tokens else "the end"
        raise InputError(f"operator string '{text}': expected '{sign}', found {found}")
    return tokens[1:]


def to_text(operator: Operator) -> str:
    """The operator string, without the numbers."""
    return f"({','.join([operator.sign, *map(to_text, operator.parts)])})"


def in_order(operator: Operator) -> Operator:
    """The operators with arguments that may stand in any order in that of their texts."""
    return _rebuilt(operator, [in_order(part) for part in operator.parts])


def to_formula(operator: Operator) -> Formula:
    """The formula that the operators spell, with the numbers as those of constants and relations.

    Raises
    ------
    InputError
        If an entity stands anywhere but under a projection.
    """
    fresh = (f"e{number}" for number in itertools.count(1))
    return _formula(operator, "f", fresh)


def _formula(operator: Operator, target: str, fresh: Iterator[str]) -> Formula:
    sign, parts, number = operator
    if sign == "e":
        raise InputError("operator string: an entity (e) has to stand under a projection (p)")
    if sign == "p":
        (inner,) = parts
        if inner.sign == "e":
            return Atom(f"r{number}", f"s{inner.number}", target)
        middle = next(fresh)
        return joined(And, [_formula(inner, middle, fresh), Atom(f"r{number}", middle, target)])
    found = [_formula(part, target, fresh) for part in parts]
    if sign == "n":
        return Not(found[0])
    if sign in "dD":
        return joined(And, [found[0], *map(Not, found[1:])])
    return joined(And if sign in "iI" else Or, found)


def _ordered(sign: str, parts) -> Operator:
    """An operator whose arguments may stand in any order, in that of their texts."""
    return Operator(sign, tuple(sorted(parts, key=to_text)))


def _negated(operator: Operator) -> Operator:
    return operator.parts[0] if operator.sign == "n" else Operator("n", (operator,))


def _rebuilt(operator: Operator, parts) -> Operator:
    if operator.sign in "iuIU":
        return _ordered(operator.sign, parts)
    return operator._replace(parts=tuple(parts))


def without_unions(operator: Operator) -> Operator:
    """Unions as complements of intersections of complements."""
    parts = [without_unions(part) for part in operator.parts]
    if operator.sign != "u":
        return _rebuilt(operator, parts)
    negated = [Operator("n", (part,)) for part in parts]
    return Operator("n", (_ordered("i", negated),))


def disjunctive(operator: Operator) -> Operator:
    """A union of branches without unions; complements stand on projections."""
    return _nested("u", _branches(operator))


def _branches(operator: Operator) -> list[Operator]:
    sign, parts, _ = operator
    if sign == "u":
        return [branch for part in parts for branch in _branches(part)]
    if sign == "p":
        return [operator._replace(parts=(branch,)) for branch in _branches(parts[0])]
    if sign == "i":
        combinations = itertools.product(*map(_branches, parts))
        return [_ordered("i", combination) for combination in combinations]
    if sign == "n":
        return _negated_branches(parts[0])
    return [operator]


def _negated_branches(operator: Operator) -> list[Operator]:
    sign, parts, _ = operator
    if sign == "i":
        return [branch for part in parts for branch in _branches(_negated(part))]
    if sign == "u":
        return _branches(_ordered("i", map(_negated, parts)))
    if sign == "n":
        return _branches(parts[0])
    branches = _branches(operator)
    if len(branches) == 1:
        return [Operator("n", (branches[0],))]
    return _branches(_nested("i", map(_negated, branches)))


def _nested(sign: str, parts) -> Operator:
    """Several arguments as a chain of operators of two."""
    first, *others = parts
    return _ordered(sign, [first, _nested(sign, others)]) if others else first


def with_differences(operator: Operator) -> Operator:
    """Intersections with a complement as differences."""
    parts = [with_differences(part) for part in operator.parts]
    if operator.sign == "i":
        negated = [part for part in parts if part.sign == "n"]
        others = [part for part in parts if part.sign != "n"]
        if len(negated) == len(others) == 1:
            return Operator("d", (others[0], negated[0].parts[0]))
    return _rebuilt(operator, parts)


def _several(operator: Operator, signs: str) -> Operator:
    """Nested operators of a kind as one operator of several arguments, where there are three."""
    parts = [_several(part, signs) for part in operator.parts]
    if operator.sign not in signs:
        return _rebuilt(operator, parts)
    flat = []
    for part in parts:
        same = part.sign in (operator.sign, operator.sign.upper())
        flat.extend(part.parts if same else [part])
    return _ordered(operator.sign.upper() if len(flat) > 2 else operator.sign, flat)


def _several_differences(operator: Operator, chained: bool) -> Operator:
    """Intersections with complements as differences, of several sets or chained ones of two."""
    parts = [_several_differences(part, chained) for part in operator.parts]
    kept = [part for part in parts if part.sign != "n"]
    if operator.sign not in "iI" or len(kept) in (0, len(parts)):
        return _rebuilt(operator, parts)
    removed = sorted((part.parts[0] for part in parts if part.sign == "n"), key=to_text)
    minuend = kept[0] if len(kept) == 1 else _ordered("I" if len(kept) > 2 else "i", kept)
    if not chained:
        return Operator("D", (minuend, *removed))
    for part in removed:
        minuend = Operator("D", (minuend, part))
    return minuend


def _multiple(operator: Operator) -> Operator:
    return _several(disjunctive(operator), "iu")


# The normal forms by their column in the published lists.
FORMS: dict[str, Callable[[Operator], Operator]] = {
    "original": lambda operator: operator,
    "DeMorgan": without_unions,
    "DeMorgan+MultiI": lambda operator: _several(without_unions(operator), "i"),
    "DNF": disjunctive,
    "diff": with_differences,
    "DNF+diff": lambda operator: with_differences(disjunctive(operator)),
    "DNF+MultiIU": _multiple,
    "DNF+MultiIUD": lambda operator: _several_differences(_multiple(operator), chained=False),
    "DNF+MultiIUd": lambda operator: _several_differences(_multiple(operator), chained=True),
}
