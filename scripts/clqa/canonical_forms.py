"""Canonical text and symmetries of formulas."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from clqa.errors import InputError
from clqa.formulas import (
    And,
    Atom,
    Formula,
    Not,
    Or,
    all_atoms,
    free_variables,
    renamed,
    symbols,
    to_text,
    without_implications,
)

_MANY_ORDERS = 50_000


@functools.lru_cache(maxsize=4096)
def canonical(formula: Formula) -> tuple[str, np.ndarray]:
    """Canonical text of a formula and its symmetries.

    Two formulas have the same text if and only if they are equal up to the names of their symbols
    and the order of conjuncts and disjuncts; an implication counts as the disjunction that it is.
    Several free variables keep their order, that of their numbers, since answers are tuples in that
    order: no symmetry exchanges two of them.

    Returns
    -------
    text : str
    orders : (n_symmetries, n_constants + n_relations) int64
        Each row lists, for the constants and then the relations in the order of the canonical
        text, their columns in the formula's own order of first appearance (constants first).

    Raises
    ------
    InputError
        If the formula has too many like branches to be put in order.
    """
    formula = without_implications(formula)
    own = symbols(formula, "s") + symbols(formula, "r")
    column = {symbol: place for place, symbol in enumerate(own)}
    best, orders = None, {}
    colours = _colours(formula)
    if _n_orders(formula, colours) > _MANY_ORDERS:
        raise InputError(
            f"formula '{to_text(formula)[:80]}…': too many like branches to order them (more than "
            f"{_MANY_ORDERS} orders); an intersection or union may have 8"
        )
    for ordered in _orders(formula, colours):
        sequence = symbols(ordered, "s") + symbols(ordered, "r")
        text = to_text(renamed(ordered, _fresh_names(ordered)))
        if best is None or text < best:
            best, orders = text, {}
        if text == best:
            orders[tuple(column[symbol] for symbol in sequence)] = None
    return best, np.array(list(orders), dtype=np.int64).reshape(len(orders), len(own))


def _fresh_names(formula: Formula) -> dict[str, str]:
    """Names by order of first appearance, for all but the free variables."""
    names = _free_names(formula)
    for kind in "sre":
        for number, symbol in enumerate(symbols(formula, kind), start=1):
            names[symbol] = f"{kind}{number}"
    return names


def _free_names(formula: Formula) -> dict[str, str]:
    """Names of the free variables: their order, in which answers are written, is kept."""
    free = free_variables(formula)
    if len(free) == 1:
        return {free[0]: "f"}
    return {symbol: f"f{number}" for number, symbol in enumerate(free, start=1)}


def _colours(formula: Formula) -> dict:
    """Refine symbols by where they occur until no further ones can be told apart."""
    colours, free = {}, _free_names(formula)
    for atom in all_atoms(formula):
        for symbol in (atom.relation, atom.head, atom.tail):
            # A vector is what its graph says, and is no other one.
            kind = symbol[0] if isinstance(symbol, str) and symbol[0] != "d" else str(symbol)
            colours[symbol] = free.get(symbol, kind)
    while True:
        places = {symbol: [] for symbol in colours}
        _note_places(formula, colours, "", places)
        refined = {s: repr((colours[s], sorted(places[s]))) for s in colours}
        ranks = {text: f"{rank:04d}" for rank, text in enumerate(sorted(set(refined.values())))}
        if len(ranks) == len(set(colours.values())):
            return colours
        colours = {symbol: ranks[text] for symbol, text in refined.items()}


def _note_places(formula: Formula, colours: dict, path: str, places: dict) -> None:
    path = f"{path}/{_key(formula, colours)}"
    match formula:
        case Atom(relation, head, tail):
            for place, symbol in enumerate((relation, head, tail)):
                places[symbol].append(f"{path}:{place}")
        case Not(inner):
            _note_places(inner, colours, path, places)
        case And(parts) | Or(parts):
            for part in parts:
                _note_places(part, colours, path, places)


def _key(formula: Formula, colours: dict) -> str:
    """Text that is the same for subformulas alike up to symbols of the same colour and order."""
    match formula:
        case Atom(relation, head, tail):
            return f"{colours[relation]}({colours[head]},{colours[tail]})"
        case Not(inner):
            return f"!({_key(inner, colours)})"
        case And(parts) | Or(parts):
            sign = "&" if isinstance(formula, And) else "|"
            return f"({sign.join(sorted(_key(part, colours) for part in parts))})"


def _n_orders(formula: Formula, colours: dict) -> int:
    """How many formulas `_orders` gives."""
    match formula:
        case Atom():
            return 1
        case Not(inner):
            return _n_orders(inner, colours)
        case And(parts) | Or(parts):
            alike = Counter(_key(part, colours) for part in parts).values()
            inside = math.prod(_n_orders(part, colours) for part in parts)
            return math.prod(map(math.factorial, alike)) * inside


def _orders(formula: Formula, colours: dict) -> Iterator[Formula]:
    """The formula with parts sorted by colour, in every order of parts of the same colour."""
    match formula:
        case Atom():
            yield formula
        case Not(inner):
            yield from (Not(ordered) for ordered in _orders(inner, colours))
        case And(parts) | Or(parts):
            keyed = sorted(((_key(part, colours), part) for part in parts), key=lambda kp: kp[0])
            alike = [
                [part for _, part in group]
                for _, group in itertools.groupby(keyed, key=lambda kp: kp[0])
            ]
            for arrangement in itertools.product(*map(itertools.permutations, alike)):
                flat = [part for group in arrangement for part in group]
                for ordered in itertools.product(*(tuple(_orders(p, colours)) for p in flat)):
                    yield type(formula)(ordered)
