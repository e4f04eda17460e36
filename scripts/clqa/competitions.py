"""Who competes with a hard answer: a filter and a set of candidates, under one name.

A filter takes known answers out of the candidates (`clqa.filters`); the set of candidates says who
is there at all. Under `all`, which a name leaves out, that is every entity, or those that the split
of an inductive graph observes; under `typed` those of them that the train triples have as answers
to the last relations of the query (`clqa.typed_candidates`).
"""

import itertools
from collections.abc import Iterable

CANDIDATES = ("all", "typed")
# Under this filter the other hard answers compete, and nothing can be said of whole rankings.
RAW = "none"
# Under this one the answers on the full graph of test do not compete either.
WITH_TEST = "observed-and-full-and-test"


def competition(filter_name: str, candidates: str) -> str:
    """A name such as `observed-and-full` or `observed-and-full,typed`."""
    return filter_name if candidates == CANDIDATES[0] else f"{filter_name},{candidates}"


def competition_parts(name: str) -> tuple[str, str]:
    """Filter and candidates of a name."""
    filter_name, _, candidates = name.partition(",")
    return filter_name, candidates or CANDIDATES[0]


def competitions(filters: Iterable[str], candidates: Iterable[str]) -> list[str]:
    """All pairs, that of the first filter and the first candidates first."""
    return [competition(*pair) for pair in itertools.product(filters, candidates)]
