"""Trees of set operators: what a plan consists of."""

from typing import NamedTuple


class Anchor(NamedTuple):
    """The set that holds one constant: column `constant` of a query's anchors."""

    constant: int


class Everything(NamedTuple):
    """The set of all entities."""


class Vector(NamedTuple):
    """The fuzzy set whose degrees the graph gives by its vector `number`, from 1 on."""

    number: int


class Project(NamedTuple):
    """Entities linked to some member of `inner` by column `relation` of a query's relations.

    The members are heads and the result tails, or the other way round if `reverse`; if `negated`,
    the result are the entities that some member is *not* linked to.
    """

    inner: "Node"
    relation: int
    reverse: bool = False
    negated: bool = False


class Intersect(NamedTuple):
    children: tuple["Node", ...]


class Unite(NamedTuple):
    children: tuple["Node", ...]


class Imply(Unite):
    """The union of the complement of a condition and a conclusion: the residuum in fuzzy logic."""


class Complement(NamedTuple):
    """All entities of the graph's vocabulary that are not in `inner`."""

    inner: "Node"


Node = Anchor | Everything | Vector | Project | Intersect | Unite | Complement


def is_negated(node: Node) -> bool:
    return isinstance(node, Complement) or (isinstance(node, Project) and node.negated)


def branches(node: Intersect | Unite) -> list[Node]:
    """The children with a projection: with a single one, what is given leaves a chain a chain."""
    return [child for child in node.children if any(isinstance(x, Project) for x in walk(child))]


def walk(node: Node):
    """The node and all below it, each before its children."""
    yield node
    match node:
        case Project(inner, _, _, _) | Complement(inner):
            yield from walk(inner)
        case Intersect(children) | Unite(children):
            for child in children:
                yield from walk(child)
