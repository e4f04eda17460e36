"""Inverse relations as data of a graph: added, or stored by the publisher and checked.

The inverse of relation r is a relation that holds between t and h exactly where r holds between
h and t, in every split.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.ascending import is_among
from clqa.errors import InputError, abridged
from clqa.numberings import Numbered
from clqa.triples import triple_keys
from clqa.vocabularies import label_array, taken

ADDED = "^-1"
# How publishers name a relation and its inverse: prefix or suffix of each.
SUFFIXES = ("_reverse", "_inv", ADDED)  # Query2box and NELL995, WikiTopics, this library


class Directed(NamedTuple):
    """Triples in both directions, as far as a graph has inverse relations.

    Attributes
    ----------
    triples : dict of (n, 3) int32
    relations : pyarrow.LargeStringArray
        Labels in the order of the ids, those of inverses included.
    inverse : (n_relations,) int32
        -1 where a relation has none.
    is_forward : (n_relations,) bool
        False for relations that are the inverse of another.
    """

    triples: dict[str, np.ndarray]
    relations: pa.Array
    inverse: np.ndarray
    is_forward: np.ndarray


def with_inverses(numbered: Numbered, rule: str) -> Directed:
    """Treat inverse relations by the rule `add`, `stored`, `offset` or `none` of an entry.

    Raises
    ------
    InputError
        If inverses are to be added to a graph that has them, or said to be stored where their
        names or the triples tell otherwise.
    """
    labels = numbered.relations.to_pylist()
    none = np.full(len(labels), -1, np.int32)
    if rule == "none":
        return Directed(numbered.triples, numbered.relations, none, none < 0)
    if rule == "offset":
        return _stored(numbered, labels, _by_offset(len(labels)))
    paired = named_inverses(labels)
    if rule == "stored":
        return _stored(numbered, labels, paired)
    _refuse_doubling(numbered, labels)
    triples, inverse = added(numbered.triples, none)
    relations = label_array(labels + [label + ADDED for label in labels])
    return Directed(triples, relations, inverse, np.arange(len(inverse)) < len(labels))


def _by_offset(n_relations: int) -> np.ndarray:
    """Pairs of r and r + n / 2, as `named_inverses` gives them."""
    if n_relations % 2:
        raise InputError(
            f"inverses: offset, but there are {n_relations} relations, which is no even number; "
            "give files.relations, a dictionary that has the unused ones, too"
        )
    numbers = np.arange(n_relations, dtype=np.int32)
    half = n_relations // 2
    return np.stack([np.roll(numbers, half), (numbers < half).astype(np.int32)], axis=1)


def _stored(numbered: Numbered, labels: list[str], paired: np.ndarray | None) -> Directed:
    if paired is None:
        raise InputError(
            "inverses: stored, but the labels of the relations do not come in pairs "
            f"(+x and -x, or x with {', '.join(SUFFIXES)}); first labels: {', '.join(labels[:4])}; "
            "set inverses: add or none"
        )
    inverse = np.ascontiguousarray(paired[:, 0])
    lacking = first_unmatched(numbered.triples, inverse, len(numbered.entities))
    if lacking is not None:
        split, row = lacking
        head, tail = taken(numbered.entities, row[[0, 2]]).to_pylist()
        there = f"({head}, {labels[row[1]]}, {tail})"
        missing = f"({tail}, {labels[inverse[row[1]]]}, {head})"
        raise InputError(
            f"inverses: stored, but {split} holds {there} and not {missing}; "
            "add it to the file, or set inverses: add"
        )
    return Directed(numbered.triples, numbered.relations, inverse, paired[:, 1] == 1)


def _refuse_doubling(numbered: Numbered, labels: list[str]) -> None:
    """Raise where a relation has its inverse already, by their names and, in train, the triples."""
    train = numbered.triples["train"]
    for way, pairs in _named_pairs(labels).items():
        for forward, backward in pairs:
            if way == ADDED or _is_turned(train, forward, backward):
                raise InputError(
                    f"inverses: add, but {abridged(labels[forward])} has its inverse "
                    f"{abridged(labels[backward])} already; set inverses: stored, or leave out "
                    "the relations that are inverses"
                )


def _is_turned(rows: np.ndarray, forward: int, backward: int) -> bool:
    """Whether some triples have these relations, and those of one are those of the other turned."""
    one, other = (
        {*map(tuple, rows[rows[:, 1] == r][:, [0, 2]].tolist())} for r in (forward, backward)
    )
    return bool(one) and {(tail, head) for head, tail in one} == other


def named_inverses(labels: list[str]) -> np.ndarray | None:
    """The inverse of each relation by their labels, if one way of naming pairs up all of them.

    Ways: `+x` and `-x` (BetaE), or `x` and x with one of `SUFFIXES`. The first of a pair is taken
    for the forward relation.

    Returns
    -------
    (n_relations, 2) int32 or None
        Column 0 is the inverse, column 1 tells forward relations (1) from their inverses (0).
    """
    for known in _named_pairs(labels).values():
        members = {number for pair in known for number in pair}
        if labels and len(members) == len(labels) == 2 * len(known):
            paired = np.zeros((len(labels), 2), np.int32)
            forward, backward = np.array(known, np.int32).T
            paired[forward, 0], paired[backward, 0] = backward, forward
            paired[forward, 1] = 1
            return paired
    return None


def _named_pairs(labels: list[str]) -> dict[str, list[tuple[int, int]]]:
    """For each marking of inverses, by its prefix or suffix, the ids of the pairs it tells."""
    ids = {label: number for number, label in enumerate(labels)}
    ways = {"-": [(label, "-" + label[1:]) for label in labels if label.startswith("+")]}
    for end in SUFFIXES:
        ways[end] = [(label.removesuffix(end), label) for label in labels if label.endswith(end)]
    return {
        way: [(ids[a], ids[b]) for a, b in pairs if a in ids and b in ids]
        for way, pairs in ways.items()
    }


def first_unmatched(
    triples: dict[str, np.ndarray], inverse: np.ndarray, n_entities: int
) -> tuple[str, np.ndarray] | None:
    """A split and a triple of it whose inverse triple the split does not hold, or none.

    Parameters
    ----------
    triples : dict of (n, 3) int
    inverse : (n_relations,) int32
    """
    for split, rows in triples.items():
        turned = np.stack([rows[:, 2], inverse[rows[:, 1]], rows[:, 0]], axis=1)
        keys = triple_keys({"rows": rows, "turned": turned}, n_entities, len(inverse))
        missing = ~is_among(keys["turned"], np.sort(keys["rows"]))
        if missing.any():
            return split, rows[np.flatnonzero(missing)[0]]
    return None


def added(
    triples: dict[str, np.ndarray], inverse: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Triples and inverses with relation r + n_relations as the inverse of every relation r.

    A graph whose relations all have an inverse is given back as it is.

    Parameters
    ----------
    triples : dict of (n, 3) int32
    inverse : (n_relations,) int32
        -1 where a relation has none.
    """
    if (inverse >= 0).all():
        return triples, inverse
    if (inverse >= 0).any():
        raise InputError("some relations have an inverse and some have none: cannot add inverses")
    n_relations = len(inverse)
    numbers = np.arange(n_relations, dtype=np.int32)
    both = {
        split: np.concatenate([rows, rows[:, ::-1] + np.array([0, n_relations, 0], rows.dtype)])
        for split, rows in triples.items()
    }
    return both, np.concatenate([numbers + n_relations, numbers])
