"""Candidates that are fewer than all entities, as the inductive benchmarks have them.

The entities that compete for the answers of a split are carried by its table of answers, as text in
its metadata, and rank their hard answers alone; what a model scores is not affected.
"""

import base64
from collections.abc import Sequence

import numpy as np

from clqa.ascending import places_among
from clqa.ragged import Ragged
from clqa.ragged_sets import selected, union

KEY = "candidate_bits"


def described(candidates: np.ndarray | None, n_entities: int) -> dict:
    """Metadata of a table that has these candidates; nothing where all entities compete."""
    if candidates is None:
        return {}
    bits = np.zeros(n_entities, bool)
    bits[candidates] = True
    text = base64.b64encode(np.packbits(bits).tobytes()).decode("ascii")
    return {"candidates": f"observed:{len(candidates)}", KEY: text}


def split_off(metadata: dict) -> tuple[dict, np.ndarray | None]:
    """Metadata without the list of candidates, and that list, ascending; None for all."""
    if KEY not in metadata:
        return metadata, None
    rest = {key: value for key, value in metadata.items() if key != KEY}
    bits = np.unpackbits(np.frombuffer(base64.b64decode(metadata[KEY]), np.uint8))
    return rest, np.flatnonzero(bits).astype(np.int32)


def columns_of(candidates: np.ndarray, targets: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """Columns of scores that matter, ascending, and the places in them of no candidates.

    A target that is no candidate is ranked all the same: it competes for itself only.
    """
    strangers = np.setdiff1d(targets.values, candidates)
    columns = np.union1d(candidates, strangers).astype(np.int64)
    return columns, np.searchsorted(columns, strangers)


def renumbered(rows: Ragged, columns: np.ndarray) -> Ragged:
    """Ids as places in the columns; those outside of them are left out."""
    places, inside = places_among(rows.values, columns)
    kept = selected(rows, inside)
    return Ragged(kept.offsets, places[inside].astype(np.int32))


def with_strangers(excluded: Sequence[Ragged], strangers: np.ndarray) -> list[Ragged]:
    """Excluded ids of each query, and the places that are no candidates, in every row."""
    if not len(strangers):
        return list(excluded)
    found = []
    for rows in excluded:
        n_rows = len(rows.offsets) - 1
        other = selected(rows, ~np.isin(rows.values, strangers))
        offsets = np.arange(n_rows + 1, dtype=np.int64) * len(strangers)
        every = Ragged(offsets, np.tile(strangers, n_rows).astype(np.int32))
        found.append(union(other, every))
    return found
