"""Plans: a formula with one free variable as a tree of set operators, and as kernel programs.

The plan follows the formula as it is written, with no rewriting into a normal form, so that every
algebra of truth values can be evaluated on it. Each existential variable is eliminated by one
projection; a formula whose variables form a cycle or share several atoms, or which has several free
variables, is no tree of sets and is planned as joins (`clqa.join_plans`).
"""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.formulas import (
    And,
    Atom,
    Formula,
    Given,
    Implies,
    Not,
    Or,
    atoms,
    free_in_parts,
    joined,
    negation_normal,
    symbols,
    to_text,
    variables,
    vectors,
)
from clqa.join_plans import NEGATED, VECTOR, JoinPlan, check_atoms, join_plan, without_negated_atoms
from clqa.programs import COMPLEMENT, PROJECT_NEGATED, program
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
    is_negated,
    walk,
)


class Plan(NamedTuple):
    """How a shape is evaluated.

    Attributes
    ----------
    root : Node
        Its columns are those of a query's anchors and relations, in the order in which the
        symbols first appear in the formula.
    n_constants, n_relations : int
    program : (n_steps, 3) int32
        Postfix code of `root` for `clqa.evaluation`.
    normal_program : (n_steps, 3) int32
        The same for the negation normal form, on which costs are defined.
    positive_program : (n_steps, 3) int32
        The same with every negated branch left out.
    most_links : int
        Positive atoms of the formula, of the longest alternative where there are some: no answer
        needs more missing links.
    given : tuple of int
        Vectors whose degrees the formula asks for.
    """

    root: Node
    n_constants: int
    n_relations: int
    program: np.ndarray
    normal_program: np.ndarray
    positive_program: np.ndarray
    most_links: int
    given: tuple[int, ...] = ()


_MOST_OPENED = 256  # alternatives of disjunctions that are opened, in all


class _Columns(NamedTuple):
    constants: dict[str, int]
    relations: dict[str, int]
    opened: Iterator[int]  # counts the alternatives that were opened


@functools.lru_cache(maxsize=4096)
def plan(formula: Formula) -> Plan | JoinPlan:
    """Compile a formula: as a tree of set operators if it is one, else as joins.

    Raises
    ------
    InputError
        If it is neither, uses a constant twice, or has an atom of constants alone; the message
        says where.
    """
    check_atoms(formula)
    try:
        return tree_plan(formula)
    except InputError:
        return join_plan(formula)


def tree_plan(formula: Formula) -> Plan:
    """Compile a formula with one free variable as a tree of set operators.

    Raises
    ------
    InputError
        If the formula has not exactly one free variable, holds grounded ids, or is not a tree of
        set operators.
    """
    free = symbols(formula, "f")
    if len(free) != 1:
        raise _unfit(formula, f"has {len(free)} free variables instead of one")
    columns = _columns(formula)
    root = _solve(formula, free[0], columns)
    normal = _solve(negation_normal(formula), free[0], columns)
    return Plan(
        root=root,
        n_constants=len(columns.constants),
        n_relations=len(columns.relations),
        program=program(root),
        normal_program=program(normal),
        positive_program=program(_without_negations(normal)),
        most_links=_most_links(normal),
        given=vectors(formula),
    )


def _columns(formula: Formula) -> _Columns:
    return _Columns(
        {name: place for place, name in enumerate(symbols(formula, "s"))},
        {name: place for place, name in enumerate(symbols(formula, "r"))},
        itertools.count(1),
    )


def _unfit(formula: Formula, why: str) -> InputError:
    return InputError(f"formula '{to_text(formula)}' {why}; it cannot be planned as set operators")


def _solve(
    formula: Formula, target: str, columns: _Columns, outer: frozenset[str] = frozenset()
) -> Node:
    """The set of values of `target`; every other variable is bound inside the formula.

    Those of `outer` are bound around it, and not within a negation that holds all of them.
    """
    match formula:
        case Not(inner) if outer.isdisjoint(variables(inner)):
            return Complement(_solve(inner, target, columns))
        case Implies((Not(condition), conclusion) as parts):
            if not (outer | _shared(parts) - {target}).isdisjoint(variables(condition)):
                raise _unfit(formula, "has a condition that binds a variable of what is around it")
            condition = Complement(_solve(condition, target, columns))
            return Imply((condition, _solve(conclusion, target, columns, outer)))
        case Or(parts):
            # That some value makes a part true means that some part is true for some value.
            shared = outer | _shared(parts) - {target}
            return Unite(tuple(_solve(part, target, columns, shared) for part in parts))
        case And(parts):
            return _solve_conjunction(parts, target, columns, outer)
        case _:
            return _solve_conjunction((formula,), target, columns, outer)


def _shared(parts: tuple[Formula, ...]) -> frozenset[str]:
    """Variables that several parts have."""
    counts = Counter(name for part in parts for name in set(variables(part)))
    return frozenset(name for name, number in counts.items() if number > 1)


def _solve_conjunction(
    parts: tuple[Formula, ...],
    target: str,
    columns: _Columns,
    outer: frozenset[str] = frozenset(),
) -> Node:
    whole = And(parts)
    inside = dict(zip(parts, free_in_parts(whole, outer | {target}), strict=True))
    for part in parts:
        if isinstance(part, Atom):
            inside[part] = frozenset(variables(part))
    branches = []
    for group in _linked_groups(parts, inside, target):
        if all(inside[part] <= {target} for part in group):
            branches.extend(_solve_single(part, target, columns) for part in group)
        else:
            branches.append(_solve_group(group, inside, target, columns, outer))
    return branches[0] if len(branches) == 1 else Intersect(tuple(branches))


def _linked_groups(parts, inside, target) -> list[list[Formula]]:
    """Parts grouped by the variables, other than `target`, that link them; in order of writing."""
    groups: list[tuple[set[str], list[Formula]]] = []
    for part in parts:
        links, members = set(inside[part]) - {target}, [part]
        for other in [group for group in groups if group[0] & links]:
            groups.remove(other)
            links |= other[0]
            members = other[1] + members
        groups.append((links, members))
    order = {id(part): place for place, part in enumerate(parts)}
    groups.sort(key=lambda group: min(order[id(part)] for part in group[1]))
    return [members for _, members in groups]


def _solve_single(part: Formula, target: str, columns: _Columns) -> Node:
    """A part that speaks of `target` alone."""
    if not isinstance(part, Atom):
        return _solve(part, target, columns)
    if isinstance(part, Given):
        return Vector(int(part.relation[1:]))
    if target not in (part.head, part.tail):
        raise _unfit(part, "says nothing of a variable")
    if part.head == part.tail:
        raise _unfit(part, "is a loop from a variable to itself")
    other = part.tail if part.head == target else part.head
    return _project(Anchor(_column(columns.constants, other)), part, target, columns)


def _project(inner: Node, atom: Atom, target: str, columns: _Columns, negated=False) -> Project:
    relation = _column(columns.relations, atom.relation)
    return Project(inner, relation, reverse=atom.head == target, negated=negated)


def _column(columns: dict[str, int], symbol) -> int:
    if symbol not in columns:
        raise InputError(f"grounded id {symbol} in a formula: a plan needs symbols (s1, r1, ...)")
    return columns[symbol]


def _solve_group(group, inside, target, columns, outer) -> Node:
    """Parts that other variables link: solve for the one beside `target`, then project."""
    linking = [part for part in group if target in inside[part]]
    if not linking:
        raise _unfit(And(tuple(group)), f"holds a part that is not linked to '{target}'")
    if len(linking) > 1:
        raise _unfit(And(tuple(group)), "has a cycle or parallel atoms")
    link = linking[0]
    rest = tuple(part for part in group if part is not link)
    atom = link.inner if isinstance(link, Not) else link
    if not isinstance(atom, Atom):
        whole = _distributed(link, rest, frozenset(inside[link]), columns.opened)
        return _solve(whole, target, columns, outer)
    nearest = atom.tail if atom.head == target else atom.head
    if nearest == target:
        raise _unfit(link, "is a loop from a variable to itself")
    inner = _solve_conjunction(rest, nearest, columns, outer - {nearest}) if rest else Everything()
    return _project(inner, atom, target, columns, negated=isinstance(link, Not))


def _distributed(
    link: Formula, rest: tuple[Formula, ...], free: frozenset[str], opened: Iterator[int]
) -> Formula:
    """`link & rest` with the link opened, where it speaks of several variables at once."""
    if isinstance(link, Not):
        opened = negation_normal(link, free)
        if opened == link:
            raise _unfit(link, "negates an existential variable together with an outer one")
        return joined(And, [opened, *rest])
    if isinstance(link, Implies):
        raise _unfit(link, "implies something of several variables")
    if isinstance(link, Or):
        if any(next(opened) > _MOST_OPENED for _ in link.parts):
            raise _unfit(link, f"has more than {_MOST_OPENED} alternatives")
        return Or(tuple(joined(And, [part, *rest]) for part in link.parts))
    return joined(And, [link, *rest])


def _without_negations(node: Node) -> Node:
    """The plan of a negation normal form with its negated branches left out."""
    match node:
        case Intersect(children) | Unite(children):
            kept = [_without_negations(c) for c in children if not is_negated(c)]
            if len(kept) > 1:
                return type(node)(tuple(kept))
            return kept[0] if kept else Everything()
        case Complement() | Project(_, _, _, True):
            return Everything()
        case Project(inner, relation, reverse, False):
            return Project(_without_negations(inner), relation, reverse)
        case _:
            return node


def _most_links(node: Node) -> int:
    match node:
        case Project(inner, _, _, negated):
            return _most_links(inner) + (not negated)
        case Intersect(children):
            return sum(map(_most_links, children))
        case Unite(children):
            return max(map(_most_links, children))
        case _:
            return 0


GROUP_NAMES = ("EPFO", "negation", "chain", "intersection", "union", "conjunctive")


def groups(formula: Formula) -> tuple[str, ...]:
    """Families that a shape belongs to, from its formula in negation normal form.

    `EPFO` (no negation) or `negation`; `union` and `intersection` (such an operator occurs);
    `chain` (projections only); `conjunctive` (neither union nor negation).
    """
    normal = negation_normal(formula)
    parts = list(_parts(normal))
    negation = any(isinstance(part, Not) for part in parts)
    union = any(isinstance(part, Or) for part in parts)
    shape = plan(normal)
    if isinstance(shape, Plan):
        intersection = any(isinstance(node, Intersect) for node in walk(shape.root))
    else:
        # A chain of atoms that keeps a variable on the way intersects nothing.
        ends = variables(normal)
        intersection = shape.n_constants + len(ends) != len(list(atoms(normal))) + 1 or any(
            count > 2 for count in ends.values()
        )
    chain = not (negation or union or intersection)
    holds = (not negation, negation, chain, intersection, union, not (negation or union))
    return tuple(name for name, held in zip(GROUP_NAMES, holds, strict=True) if held)


def _parts(formula: Formula):
    yield formula
    match formula:
        case Not(inner):
            yield from _parts(inner)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _parts(part)


def has_negation(shape: Plan | JoinPlan) -> bool:
    """Whether the negation normal form of the formula has a negated branch."""
    if isinstance(shape, JoinPlan):
        return bool(shape.atoms[:, NEGATED].any())
    return bool(np.isin(shape.normal_program[:, 0], (COMPLEMENT, PROJECT_NEGATED)).any())


def can_retract(shape: Plan | JoinPlan) -> bool:
    """Whether a negated part holds an atom of a relation: what is given is the same everywhere."""
    if isinstance(shape, JoinPlan):
        return bool((shape.atoms[shape.atoms[:, VECTOR] < 0, NEGATED] == 1).any())
    return _negates_link(shape.root, False)


def _negates_link(node: Node, odd: bool) -> bool:
    match node:
        case Project(inner, _, _, negated):
            return odd ^ negated or _negates_link(inner, odd)
        case Complement(inner):
            return _negates_link(inner, not odd)
        case Intersect(children) | Unite(children):
            return any(_negates_link(child, odd) for child in children)
    return False


def without_negations(shape: Plan | JoinPlan) -> Plan | JoinPlan:
    """A plan for `answers.answer_sets` with all negated branches left out."""
    if isinstance(shape, JoinPlan):
        return without_negated_atoms(shape)
    return shape._replace(program=shape.positive_program)
