"""Query structures as nested tuples, the notation of the BetaE and Query2Box pickles.

A structure is written with the letters `e` (entity), `r` (relation), `n` (negation) and `u`
(union). `(sub, (r, …, n, …))` is a chain that starts from an entity or another structure and
projects or complements; a tuple that ends in `('u',)` is the union of its branches; any other tuple
is the intersection of its branches. A query has ids in place of `e` and `r`, -2 for `n` and -1 for
`u` (Ren and Leskovec, 2020).
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError, abridged
from clqa.formulas import And, Atom, Formula, Not, Or, joined, renamed, symbols, to_text
from clqa.plans import tree_plan
from clqa.trees import Anchor, Complement, Intersect, Node, Project, Unite, Vector

Structure = str | tuple
SIGNS = {"u": -1, "n": -2}
UNION = ("u",)
_MOST = 2**31 - 1


class Layout(NamedTuple):
    """How the queries of a formula are written as tuples.

    Attributes
    ----------
    structure : nested tuple of letters
    constants, relations : tuple of int
        For each `e` and each `r`, from left to right, its column in a query's anchors or relations.
    """

    structure: Structure
    constants: tuple[int, ...]
    relations: tuple[int, ...]


class Malformed(NamedTuple):
    """A query that does not fit a structure."""

    query: object
    reason: str


def structure_formula(structure: Structure) -> Formula:
    """The formula of a structure; symbols are numbered from left to right.

    Raises
    ------
    InputError
        If it is not a structure, or complements a single entity, which no formula can say.
    """
    numbers = {kind: itertools.count(1) for kind in "sre"}
    formula = _about(structure, "f", structure, numbers)
    order = {name: f"e{place}" for place, name in enumerate(symbols(formula, "e"), start=1)}
    return renamed(formula, order)


def _about(node: Structure, target: str, whole: Structure, numbers: dict) -> Formula:
    if not isinstance(node, tuple) or not node:
        raise _no_structure(whole, f"{abridged(node)} is not a branch")
    if node[-1] == UNION:
        kind, branches = Or, node[:-1]
    elif len(node) == 2 and _is_steps(node[1]):
        return _chain(node[0], node[1], target, whole, numbers)
    else:
        kind, branches = And, node
    if len(branches) < 2:
        raise _no_structure(whole, f"{abridged(node)} has a single branch")
    return joined(kind, [_about(branch, target, whole, numbers) for branch in branches])


def _is_steps(node: Structure) -> bool:
    return isinstance(node, tuple) and len(node) > 0 and all(step in ("r", "n") for step in node)


def _chain(start: Structure, steps: tuple, target: str, whole: Structure, numbers: dict) -> Formula:
    """The set after the last step, as what holds of `target`."""
    *before, last = steps
    rest = (start, tuple(before)) if before else start
    if last == "n":
        if rest == "e":
            raise _no_structure(whole, "the complement of one entity is no formula")
        return Not(_about(rest, target, whole, numbers))
    if rest == "e":
        entity = f"s{next(numbers['s'])}"
        return Atom(f"r{next(numbers['r'])}", entity, target)
    middle = f"e{next(numbers['e'])}"
    inner = _about(rest, middle, whole, numbers)
    return joined(And, [inner, Atom(f"r{next(numbers['r'])}", middle, target)])


def _no_structure(structure: Structure, why: str) -> InputError:
    return InputError(f"{abridged(structure)} is not a query structure: {why}")


def formula_layout(formula: Formula) -> Layout:
    """How tuples express a formula.

    Raises
    ------
    InputError
        If they cannot: where a relation is read from its tail, or an existential variable is only
        met under a negation.
    """
    constants: list[int] = []
    relations: list[int] = []
    structure = _written(tree_plan(formula).root, formula, constants, relations)
    return Layout(structure, tuple(constants), tuple(relations))


def _written(node: Node, formula: Formula, constants: list, relations: list) -> Structure:
    match node:
        case Project(inner, relation, False, False):
            start = _start(inner, formula, constants, relations)
            relations.append(relation)
            return _continued(start, "r")
        case Complement(inner):
            return _continued(_written(inner, formula, constants, relations), "n")
        case Intersect(children):
            return tuple(_written(child, formula, constants, relations) for child in children)
        case Unite(children):
            return (*(_written(c, formula, constants, relations) for c in children), UNION)
        case Project(_, _, True, _):
            why = "an atom that is read from its tail to its head (use the inverse relation)"
        case Project(_, _, _, True):
            why = "a negated atom of an existential variable"
        case Vector():
            why = "given degrees"
        case _:
            why = "an existential variable that nothing else bounds"
    raise InputError(f"formula '{to_text(formula)}': nested tuples cannot express {why}")


def _start(node: Node, formula: Formula, constants: list, relations: list) -> Structure:
    if isinstance(node, Anchor):
        constants.append(node.constant)
        return "e"
    return _written(node, formula, constants, relations)


def _continued(node: Structure, step: str) -> Structure:
    """The structure with one more step; a chain becomes longer."""
    if node != "e" and len(node) == 2 and _is_steps(node[1]):
        return node[0], (*node[1], step)
    return node, (step,)


def grounded(layout: Layout, anchors: np.ndarray, relations: np.ndarray) -> list[tuple]:
    """Queries as nested tuples of int.

    Parameters
    ----------
    anchors : (n, n_constants) int32
    relations : (n, n_relations) int32
    """
    rows = zip(
        anchors[:, list(layout.constants)].tolist(),
        relations[:, list(layout.relations)].tolist(),
        strict=True,
    )
    return [_filled(layout.structure, {"e": iter(e), "r": iter(r)}) for e, r in rows]


def _filled(node: Structure, ids: dict[str, Iterator[int]]):
    if isinstance(node, str):
        return SIGNS[node] if node in SIGNS else next(ids[node])
    return tuple([_filled(part, ids) for part in node])


def letters(structure: Structure) -> Iterator[str]:
    """The letters of a structure from left to right."""
    if isinstance(structure, str):
        yield structure
    else:
        for part in structure:
            yield from letters(part)


def groundings(
    queries: Iterable[tuple], structure: Structure
) -> tuple[np.ndarray, np.ndarray] | Malformed:
    """Entities and relations of queries from left to right, or the first query that does not fit.

    Returns
    -------
    anchors : (n, number of `e`) int32
    relations : (n, number of `r`) int32
    """
    kinds = np.array(list(letters(structure)))
    queries = list(queries)
    rows = np.empty((len(queries), len(kinds)), np.int64)
    for place, query in enumerate(queries):
        ids: list[int] = []
        if not _fits(query, structure, ids):
            return Malformed(query, f"it does not have the structure {abridged(structure)}")
        rows[place] = ids
    for kind, sign in SIGNS.items():
        wrong = np.flatnonzero((rows[:, kinds == kind] != sign).any(axis=1))
        if len(wrong):
            return Malformed(
                queries[wrong[0]],
                f"expected {sign} where {abridged(structure)} has {abridged(kind)}",
            )
    ids = rows[:, (kinds == "e") | (kinds == "r")]
    wrong = np.flatnonzero((ids < 0).any(axis=1) | (ids > _MOST).any(axis=1))
    if len(wrong):
        return Malformed(queries[wrong[0]], "an id is negative or too large")
    return tuple(rows[:, kinds == kind].astype(np.int32) for kind in "er")


def _fits(query: object, structure: Structure, ids: list[int]) -> bool:
    """Whether a query has this structure; its numbers are appended to `ids`."""
    if isinstance(structure, str):
        ids.append(query)
        return type(query) is int and abs(query) <= 2 * _MOST
    return (
        isinstance(query, tuple)
        and len(query) == len(structure)
        and all(_fits(part, form, ids) for part, form in zip(query, structure, strict=True))
    )


# Structures of the Query2Box files beside those that BetaE gives the same shapes. The letters come
# in the same order; what tells 2i from 2u, and ic from uc, is the name of the file.
_ONE, _TWO = ("e", ("r",)), ("e", ("r", "r"))
QUERY2BOX = {
    "1c": ((_ONE,), _ONE),
    "2c": ((_TWO,), _TWO),
    "3c": ((("e", ("r", "r", "r")),), ("e", ("r", "r", "r"))),
    "2i": ((_ONE, _ONE), (_ONE, _ONE)),
    "3i": ((_ONE, _ONE, _ONE), (_ONE, _ONE, _ONE)),
    "ic": ((_ONE, _ONE, "r"), ((_ONE, _ONE), ("r",))),
    "ci": ((_TWO, _ONE), (_TWO, _ONE)),
    "2u": ((_ONE, _ONE), (_ONE, _ONE, UNION)),
    "uc": ((_ONE, _ONE, "r"), ((_ONE, _ONE, UNION), ("r",))),
}
