"""Numbers of one subject that were measured by two protocols, paired with each other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.aligned_tables import joint_codes, key_of
from clqa.content_tables import PROTOCOL, SUBJECT
from clqa.fingerprints import differing_fields


class Side(NamedTuple):
    """One metrics table.

    Attributes
    ----------
    table : Table
    rows : (n,) int64
        Rows whose key the other side lacks.
    protocols : dict or None
        By fingerprint, as a manifest spells them out.
    """

    table: pa.Table
    rows: np.ndarray
    protocols: dict | None


class Clashes(NamedTuple):
    """Rows of the two tables that are of one subject, and all fields in which protocols differ."""

    old: np.ndarray
    new: np.ndarray
    fields: set[str]


def clashes(old: Side, new: Side) -> Clashes:
    """Pair the rows of each subject, closest protocols first."""
    sides = (old, new)
    parts = [side.table.select([*SUBJECT, *PROTOCOL]).take(side.rows) for side in sides]
    subjects = joint_codes(*parts, SUBJECT)
    kinds = joint_codes(*parts, PROTOCOL)
    examples = [dict(zip(*np.unique(kind, return_index=True), strict=True)) for kind in kinds]
    distances: dict[tuple[int, int], tuple] = {}
    pairings: dict[tuple, list] = {}
    found: tuple[list, list, set] = ([], [], set())

    def fields(one: int, other: int) -> tuple:
        if (one, other) not in distances:
            rows = [
                int(side.rows[places[kind]])
                for side, places, kind in zip(sides, examples, (one, other), strict=True)
            ]
            protocols = named_protocols(old, rows[0], new, rows[1])
            distances[one, other] = differing_fields(*protocols) or ("fingerprint",)
        return distances[one, other]

    alone, several = _groups(*subjects)
    for rows, places, out in zip(alone, sides, found, strict=False):
        out.extend(places.rows[rows].tolist())
    words = np.stack([kind[rows] for kind, rows in zip(kinds, alone, strict=True)], axis=1)
    for one, other in np.unique(words, axis=0).tolist():
        found[2].update(fields(one, other))
    for own, others in several:
        words = tuple(kinds[0][own].tolist()), tuple(kinds[1][others].tolist())
        if words not in pairings:
            pairings[words] = list(_closest(*words, fields))
        for one, other in pairings[words]:
            found[0].append(old.rows[own[one]])
            found[1].append(new.rows[others[other]])
            found[2].update(fields(words[0][one], words[1][other]))
    return Clashes(np.array(found[0], np.int64), np.array(found[1], np.int64), found[2])


def _groups(
    old: np.ndarray, new: np.ndarray
) -> tuple[list[np.ndarray], list[tuple[np.ndarray, ...]]]:
    """Places of the rows of each subject that both sides have: of one row on each, of several."""
    orders = [np.argsort(side, kind="stable") for side in (old, new)]
    names = np.intersect1d(old, new)
    spans = [
        np.searchsorted(side[order], [names, names + 1])
        for side, order in zip((old, new), orders, strict=True)
    ]
    is_alone = np.all([high - low == 1 for low, high in spans], axis=0)
    alone = [order[low[is_alone]] for order, (low, _) in zip(orders, spans, strict=True)]
    several = [
        tuple(order[low[n] : high[n]] for order, (low, high) in zip(orders, spans, strict=True))
        for n in np.flatnonzero(~is_alone)
    ]
    return alone, several


def _closest(old: tuple, new: tuple, fields) -> Iterator[tuple[int, int]]:
    """Pairs of places, each used once; those that differ least come first."""
    possible = sorted(
        (len(fields(one, other)), fields(one, other), n, m)
        for n, one in enumerate(old)
        for m, other in enumerate(new)
    )
    taken = set()
    for _, _, n, m in possible:
        if not taken & {("old", n), ("new", m)}:
            taken |= {("old", n), ("new", m)}
            yield n, m


def named_protocols(old: Side, row: int, new: Side, other: int) -> list[dict]:
    """The protocols of two rows: as the manifests spell them out, else as the columns show them."""
    shown = [key_of(side.table, PROTOCOL, n) for side, n in ((old, row), (new, other))]
    known = [
        (side.protocols or {}).get(one["fingerprint"])
        for side, one in zip((old, new), shown, strict=True)
    ]
    return known if all(known) else shown
