"""Queries in words, with quantifiers where they stand, whatever the shape."""

from collections.abc import Mapping

from clqa.formulas import And, Atom, Formula, Given, Implies, Not, Or, bound_at, free_in, symbols


def in_words(formula: Formula, names: Mapping[str, str]) -> str:
    """A question such as `Which f? There is e1 so that (Anna) -likes-> (e1) and ...`.

    Parameters
    ----------
    names : dict
        What stands for each constant and relation.
    """
    free = sorted(symbols(formula, "f"))
    return f"Which {' and '.join(free)}? {_words(formula, frozenset(free), names)}"


def absence_in_words(formula: Formula, names: Mapping[str, str]) -> str:
    """That something does not hold, as in `not [(Anna) -likes-> (Bert)]`.

    Parameters
    ----------
    names : dict
        What stands for each symbol, variables that have a value included; others are bound inside.
    """
    return f"not [{_words(formula, frozenset(names), names)}]"


def _words(formula: Formula, free: frozenset[str], names: Mapping[str, str]) -> str:
    own = sorted(bound_at(formula, free))
    start = f"there is {' and '.join(own)} so that " if own else ""
    inside = free | set(own)
    match formula:
        case Given(vector, variable, _):
            return f"({names.get(variable, variable)}) is {vector}"
        case Atom(relation, head, tail):
            ends = [names.get(end, end) for end in (head, tail)]
            return f"{start}({ends[0]}) -{names[relation]}-> ({ends[1]})"
        case Not(inner):
            return f"not [{_words(inner, free_in(inner, formula, inside), names)}]"
        case Implies((Not(condition), conclusion)):
            parts = [
                _words(part, free_in(part, formula, inside), names)
                for part in (condition, conclusion)
            ]
            return f"{start}if {parts[0]} then {parts[1]}"
        case And(parts) | Or(parts):
            word = " and " if isinstance(formula, And) else " or "
            told = [_part(part, formula, inside, names) for part in parts]
            return start + word.join(told)


def _part(part: Formula, whole: Formula, free: frozenset[str], names: Mapping[str, str]) -> str:
    text = _words(part, free_in(part, whole, free), names)
    return f"[{text}]" if isinstance(part, And | Or) else text
