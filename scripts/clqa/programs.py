"""Plans as postfix code for the set machine (`clqa.evaluation`)."""

import numpy as np

from clqa.trees import (
    Anchor,
    Complement,
    Everything,
    Intersect,
    Node,
    Project,
    Unite,
    Vector,
    is_negated,
)

# Steps of a program, one row (step, argument, argument) each; sets are kept on a stack.
ANCHOR, HOP, PROJECT, PROJECT_NEGATED, INTERSECT, UNITE, COMPLEMENT, EVERYTHING, GIVEN = range(9)


def program(root: Node) -> np.ndarray:
    """Postfix code, (n_steps, 3) int32.

    HOP relation constant and PROJECT relation 0 push the neighbours of a constant, or replace the
    top set by its neighbours; a relation column c that is walked in reverse is written -1 - c.
    INTERSECT and UNITE replace the top n sets by one, with n as first argument. GIVEN pushes the
    set of a vector, by its place among those of the graph.
    """
    steps = []
    _emit(root, steps)
    return np.array(steps, dtype=np.int32).reshape(-1, 3)


def _emit(node: Node, steps: list) -> None:
    match node:
        case Anchor(constant):
            steps.append((ANCHOR, constant, 0))
        case Everything():
            steps.append((EVERYTHING, 0, 0))
        case Vector(number):
            steps.append((GIVEN, number - 1, 0))
        case Project(Anchor(constant), relation, reverse, False):
            steps.append((HOP, -1 - relation if reverse else relation, constant))
        case Project(inner, relation, reverse, negated):
            _emit(inner, steps)
            step = PROJECT_NEGATED if negated else PROJECT
            steps.append((step, -1 - relation if reverse else relation, 0))
        case Complement(inner):
            _emit(inner, steps)
            steps.append((COMPLEMENT, 0, 0))
        case Intersect(children) | Unite(children):
            for child in sorted(children, key=is_negated):
                _emit(child, steps)
            step = INTERSECT if isinstance(node, Intersect) else UNITE
            steps.append((step, len(children), 0))


def stack_depth(steps: np.ndarray) -> int:
    """Most sets that a program keeps at once."""
    height = highest = 0
    for step, argument, _ in steps:
        if step in (INTERSECT, UNITE):
            height -= int(argument) - 1
        elif step in (ANCHOR, HOP, EVERYTHING, GIVEN):
            height += 1
        highest = max(highest, height)
    return highest
