"""The query types of EFO-1-QA (Wang, Yin and Song, 2021), enumerated from their grammar.

A type is a tree of projections, intersections and unions over anchors; a complement stands only as
one set of an intersection. Types that differ in the order of the two sets of an intersection or a
union are one type. A projection and a complement are one level deeper than the set they are of; an
intersection and a union are as deep as the deeper of their sets, and two levels at least.
"""

import functools
import itertools
from collections.abc import Iterator

from clqa.operator_strings import Operator, parse, to_text


def operator_types(anchors: int = 3, depth: int = 3) -> list[Operator]:
    """All types with at most so many anchors and levels; 301 with those of the published list."""
    return [
        parse(to_text(tree))
        for n_anchors in range(1, anchors + 1)
        for level in range(1, depth + 1)
        for tree in _sets(n_anchors, level)
    ]


@functools.cache
def _sets(anchors: int, level: int) -> tuple[Operator, ...]:
    """Trees with exactly so many anchors and levels, in order of their text."""
    if level == 0:
        return (Operator("e"),) if anchors == 1 else ()
    found = [Operator("p", (inner,)) for inner in _sets(anchors, level - 1)]
    for first, second in _pairs(anchors, level, level):
        if to_text(first) <= to_text(second):
            found += [Operator("i", (first, second)), Operator("u", (first, second))]
    for first, second in _pairs(anchors, level, level - 1):
        found.append(Operator("i", (first, Operator("n", (second,)))))
    return tuple(sorted(found, key=to_text))


def _pairs(anchors: int, level: int, deepest_second: int) -> Iterator[tuple[Operator, Operator]]:
    """Pairs of sets that make an operator of two sets of this level.

    The second set, that may be complemented, has at most `deepest_second` levels.
    """
    own = level - deepest_second  # what a complement adds
    for first_level in range(1, level + 1):
        for second_level in range(1, deepest_second + 1):
            if max(2, first_level, second_level + own) == level:
                for n_first in range(1, anchors):
                    yield from itertools.product(
                        _sets(n_first, first_level), _sets(anchors - n_first, second_level)
                    )
