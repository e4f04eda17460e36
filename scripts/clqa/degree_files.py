"""Files of the degrees that a graph gives to its entities: lines of a label, a tab and a degree."""

import os
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.errors import InputError, abridged
from clqa.graphs import NO_DEGREES
from clqa.triples import read_fields
from clqa.vocabularies import given_ids, taken

_NUMBER = r"^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"


def read_vectors(
    paths: Mapping[str, str | os.PathLike],
    names: Mapping[str, str],
    entities: pa.Array,
    defaults: Mapping[str, float],
) -> np.ndarray:
    """Degrees (n_vectors, n_entities) float32, in the order of the files.

    Parameters
    ----------
    names : dict
        What messages call the files.
    entities :
        Labels in the order of the ids.
    defaults : dict
        For each vector the degree of the entities that its file leaves out; 0 where not given.

    Raises
    ------
    InputError
        Names the file and the line that has no entity of the graph, one that stood before, or no
        number from 0 to 1.
    """
    rows = [
        _read(path, names[vector], entities, defaults.get(vector, 0.0))
        for vector, path in paths.items()
    ]
    return np.stack(rows) if rows else NO_DEGREES


def _read(path, name: str, entities: pa.Array, default: float) -> np.ndarray:
    codes, terms = read_fields({"": path}, n_fields=2, names={"": name})
    codes = codes[""]
    ids = given_ids(terms, entities, "labels")[codes[:, 0]]
    degrees = _degrees(terms)[codes[:, 1]]
    again = np.ones(len(ids), bool)
    again[np.unique(ids, return_index=True)[1]] = False
    wrong = np.flatnonzero((ids < 0) | again | ~(degrees <= 1))
    if len(wrong):
        line = wrong[0]
        label, degree = (abridged(text) for text in taken(terms, codes[line]).to_pylist())
        if ids[line] < 0:
            why = f"the graph has no entity {label}"
        elif again[line]:
            why = f"the entity {label} stands before, too; each may stand once"
        else:
            why = f"expected a degree from 0 to 1, found {degree}"
        raise InputError(f"{name}:{line + 1}: {why}")
    row = np.full(len(entities), default, np.float32)
    row[ids] = degrees
    return row


def _degrees(terms: pa.Array) -> np.ndarray:
    """Terms as numbers, NaN for those that are none."""
    found = np.full(len(terms), np.nan)
    is_number = pc.match_substring_regex(terms, _NUMBER)
    places = np.flatnonzero(np.from_dlpack(is_number.cast(pa.uint8())))
    found[places] = np.from_dlpack(terms.filter(is_number).cast(pa.float64()))
    return found
