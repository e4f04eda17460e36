"""Why an entity is an answer: the best assignment of the existential variables, recovered.

Degrees are found from the leaves of a plan to its root; a witness goes back from the root, and at
each projection takes the intermediate that leads to the entity best.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.fuzzy_answers import Search, best_members
from clqa.trees import (
    Anchor,
    Complement,
    Everything,
    Imply,
    Intersect,
    Node,
    Project,
    Unite,
    Vector,
)

# Kinds of witnesses whose degrees are not those of links, in words that an entity follows.
CONDITIONS = {
    "refutation": "what is negated fails for",
    "given": "the graph's own degree of",
    "implied": "the implication holds for",
}


class Link(NamedTuple):
    """A link that a witness uses, or one whose absence it uses if `negated`."""

    head: int
    relation: int
    tail: int
    negated: bool
    degree: float


class Witness(NamedTuple):
    """Why an entity is in the set of a node of a plan.

    Attributes
    ----------
    kind : str
        `anchor`; `everything`; `given` (by a vector of the graph); `via` (an intermediate, the
        witness in `parts`, is linked to the entity); `all` (each part holds); `any` (the part of
        highest degree, or all above 0 where a disjunction is more than its best part);
        `refutation` (what is negated has no witness of its own); `implied`.
    entity : int
    degree : float
    link : Link or None
        Of `via`; its degree is after negation.
    parts : tuple of Witness
    """

    kind: str
    entity: int
    degree: float
    link: Link | None = None
    parts: tuple["Witness", ...] = ()


def best_witness(
    node: Node, entity: int, search: Search, degrees_of: Callable[[Node], np.ndarray]
) -> Witness:
    """The witness of highest degree; of equal intermediates that of lowest id.

    Parameters
    ----------
    search : Search
        One query; the beam is that by which degrees were found.
    degrees_of : function of a node
        Degrees (n_entities,) by the method that is to be explained.

    Raises
    ------
    InputError
        If the degree of the entity is 0.
    """
    degree = float(degrees_of(node)[entity])
    if degree <= 0:
        raise InputError(f"entity {entity} has degree 0: there is nothing to explain")

    def of(child):
        return best_witness(child, entity, search, degrees_of)

    match node:
        case Anchor():
            return Witness("anchor", entity, degree)
        case Everything():
            return Witness("everything", entity, degree)
        case Vector():
            return Witness("given", entity, degree)
        case Complement():
            return Witness("refutation", entity, degree)
        case Imply((_, conclusion)):
            parts = (of(conclusion),) if degrees_of(conclusion)[entity] > 0 else ()
            return Witness("implied", entity, degree, parts=parts)
        case Intersect(children):
            return Witness("all", entity, degree, parts=tuple(map(of, children)))
        case Unite(children):
            held = [degrees_of(child)[entity] for child in children]
            chosen = [int(np.argmax(held))] if search.algebra.selects else np.flatnonzero(held)
            return Witness("any", entity, degree, parts=tuple(of(children[i]) for i in chosen))
        case Project():
            return _via(node, entity, degree, search, degrees_of)


def _via(node: Project, entity, degree, search, degrees_of) -> Witness:
    members = best_members(degrees_of(node.inner)[None], search.beam)
    relation = int(search.relations[0, node.relation])
    followed = search.links.reciprocal[relation] if node.reverse else relation
    rows = search.links.rows(members.entities, np.full(len(members.entities), followed))
    held = rows[:, entity]
    held = search.algebra.negate(held) if node.negated else held
    best = int(np.argmax(search.algebra.conjoin(members.degrees, held)))
    middle = int(members.entities[best])
    ends = (entity, relation, middle) if node.reverse else (middle, relation, entity)
    link = Link(*ends, node.negated, float(held[best]))
    inner = best_witness(node.inner, middle, search, degrees_of)
    return Witness("via", entity, degree, link, (inner,))


def links_of(witness: Witness) -> Iterator[Link]:
    """The links of a witness, from the answer to the anchors."""
    if witness.link is not None:
        yield witness.link
    for part in witness.parts:
        yield from links_of(part)


def conditions_of(witness: Witness) -> Iterator[Witness]:
    """The parts of a witness that count for its degree without a link of their own."""
    if witness.kind in CONDITIONS:
        yield witness
    for part in witness.parts:
        yield from conditions_of(part)


def link_status(link: Link, observed: set, full: set) -> str:
    """`observed`, `missing` (an edge of the full graph alone) or `predicted`, of a link.

    Parameters
    ----------
    observed, full : set of (head, relation, tail)
    """
    edge = link[:3]
    return "observed" if edge in observed else "missing" if edge in full else "predicted"
