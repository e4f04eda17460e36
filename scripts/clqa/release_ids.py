"""Ids of a published release in terms of a graph's own, by their labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.errors import InputError
from clqa.inverses import SUFFIXES
from clqa.json_objects import read_object
from clqa.vocabularies import (
    given_ids,
    ids_and_labels,
    label_array,
    labels_by_id,
    read_labels,
    taken,
)

SHOWN = 3


class ReleaseIds(NamedTuple):
    """For each id of a release the id in the graph.

    Attributes
    ----------
    entities : (n_entities,) int32
    relations : (n_relations,) int32
    """

    entities: np.ndarray
    relations: np.ndarray

    @property
    def bound(self) -> int:
        """No entity of the release has this id, or a larger one, in the graph."""
        return int(self.entities.max(initial=-1)) + 1

    def as_released(self, entity: int) -> int:
        """The id that the release has for an entity of the graph."""
        return int(np.flatnonzero(self.entities == entity)[0])


def own_ids(n_entities: int, n_relations: int) -> ReleaseIds:
    """Of a release that uses the graph's ids."""
    return ReleaseIds(np.arange(n_entities, dtype=np.int32), np.arange(n_relations, dtype=np.int32))


def release_ids(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    labels: tuple[pa.Array, pa.Array],
    keys: Mapping[str, str | None] | None = None,
    is_part: bool = False,
) -> ReleaseIds:
    """Look the labels of a release's dictionaries up among those of the graph.

    Parameters
    ----------
    files, names : by role; `entities` and `relations` are the dictionaries of the release, or
        `index` both in one
    labels : of the entities and of the relations of the graph
    keys : by role, of a pickle with several dictionaries which one
    is_part : bool
        Whether the release may know fewer entities, as one of a split of an inductive graph does.

    Raises
    ------
    InputError
        If the release was made for another list of entities or relations.
    """
    found = []
    for role, own in zip(("entities", "relations"), labels, strict=True):
        release, name = _dictionary(role, files, names, keys or {})
        if len(own) != len(release) and not is_part:
            raise InputError(
                f"{name}: {len(release):,} {role}, but the graph has {len(own):,}: the "
                "queries were made on another list, and ids cannot be shifted onto this one; "
                "use the graph of the same release"
            )
        ids = given_ids(release, own, "labels")
        if role == "relations" and (ids < 0).any():
            ids = given_ids(_directed(release), _directed(own), "labels")
        if (ids < 0).any():
            unknown = taken(release, np.flatnonzero(ids < 0))
            raise InputError(
                f"{name}: {len(unknown):,} of its {len(release):,} {role} are not in the "
                f"graph ({', '.join(unknown[:SHOWN].to_pylist())}, …): it is of another graph"
            )
        found.append(ids)
    return ReleaseIds(*found)


def _dictionary(role: str, files: Mapping[str, Path], names: Mapping[str, str], keys: Mapping):
    """Labels of the release's entities or relations, and the name of the file that has them."""
    if "index" not in files:
        return read_labels(files[role], names[role], keys.get(role)), names[role]
    name = names["index"]
    pairs = read_object(files["index"], name).get(role[0])
    if not isinstance(pairs, dict):
        raise InputError(f"{name}: expected an object of {role} and their ids under {role[0]!r}")
    turned = [(id_, label) for label, id_ in pairs.items()]
    return labels_by_id(*ids_and_labels(turned, name), name), name


def _directed(labels: pa.Array) -> pa.Array:
    """Labels of relations as `+x` and `-x`, whichever way the inverse ones are marked."""
    names = labels.to_pylist()
    if all(name.startswith(("+", "-")) for name in names):
        return labels
    ends = [next((end for end in SUFFIXES if name.endswith(end)), "") for name in names]
    marked = (
        f"-{name.removesuffix(end)}" if end else f"+{name}"
        for name, end in zip(names, ends, strict=True)
    )
    return label_array(list(marked))
