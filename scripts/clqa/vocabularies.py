"""Ids of entities and relations: numbered by a rule, or read from a published dictionary.

Labels are `pyarrow.LargeStringArray`s in the order of their ids: opaque strings that hold neither
tab nor newline, kept out of Python objects since there may be tens of millions.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.errors import InputError, abridged, damaged
from clqa.files import replacing
from clqa.pickles import read_pickle
from clqa.triples import read_fields

PICKLES = (".pkl", ".pickle")
NUMBER = r"^(0|[1-9][0-9]{0,17})$"
CHUNK = 1 << 18  # labels


def label_array(labels: list[str]) -> pa.Array:
    """Labels as an array."""
    encoded = [label.encode() for label in labels]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(labels), buffers)


def taken(labels: pa.Array, positions: np.ndarray) -> pa.Array:
    """The labels at some positions."""
    positions = np.ascontiguousarray(positions, np.int64)
    return labels.take(
        pa.Array.from_buffers(pa.int64(), len(positions), [None, pa.py_buffer(positions)])
    )


def sorted_terms(codes: np.ndarray, terms: pa.Array) -> np.ndarray:
    """Distinct codes in the order of their terms by code point."""
    used = np.zeros(len(terms), dtype=bool)
    used[codes] = True
    order = np.from_dlpack(pc.sort_indices(terms)).astype(np.int64)
    return order[used[order]]


def terms_by_first_appearance(codes: np.ndarray, terms: pa.Array) -> np.ndarray:
    """Distinct codes in the order in which they first appear (numbering of BetaE)."""
    first = np.full(len(terms), len(codes), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    order = np.argsort(first, kind="stable")
    return order[first[order] < len(codes)]


ORDERS = {"sorted": sorted_terms, "first-appearance": terms_by_first_appearance}


def ids_of_terms(order: np.ndarray, n_terms: int) -> np.ndarray:
    """Id of each term when ids are given out in `order`; -1 for the others.

    Parameters
    ----------
    order : (n,) int64
        Distinct positions of terms.

    Returns
    -------
    (n_terms,) int32
    """
    ids = np.full(n_terms, -1, np.int32)
    ids[order] = np.arange(len(order), dtype=np.int32)
    return ids


def given_ids(terms: pa.Array, labels: pa.Array, fields: str) -> np.ndarray:
    """Id of each term by a dictionary; -1 for terms that it does not have.

    Parameters
    ----------
    labels
        Of the dictionary, in the order of its ids.
    fields : str
        Whether the terms are `labels`, or the `ids` themselves as decimal numbers.

    Returns
    -------
    (n_terms,) int32
    """
    if fields == "labels":
        found = pc.index_in(terms, value_set=labels)
        return _or_minus_one(found.is_valid(), found.drop_null()).astype(np.int32)
    numbers = numbers_of(terms)
    return np.where(numbers < len(labels), numbers, -1).astype(np.int32)


def numbers_of(terms: pa.Array) -> np.ndarray:
    """Terms as int64; -1 for what is not a plain decimal number."""
    is_number = pc.match_substring_regex(terms, NUMBER)
    return _or_minus_one(is_number, terms.filter(is_number).cast(pa.int64()))


def _or_minus_one(is_set: pa.Array, values: pa.Array) -> np.ndarray:
    """The values where `is_set`, in their order, and -1 elsewhere."""
    filled = np.full(len(is_set), -1, np.int64)
    filled[np.from_dlpack(is_set.cast(pa.uint8())) == 1] = np.from_dlpack(values)
    return filled


def read_labels(
    path: str | os.PathLike, name: str | None = None, key: str | None = None
) -> pa.Array:
    """Labels in the order of their ids from a published dictionary.

    A pickle (`.pkl`) holds a dict from id to label, or from label to id; any other file has lines
    of an id, a tab and a label, in any order.

    Parameters
    ----------
    name : str, optional
        What messages call the file.
    key : str, optional
        Of a pickle that is a dict of such dicts, which of them to read.

    Raises
    ------
    InputError
        If the ids are not 0, 1, 2, … each once, or two of them have the same label.
    """
    name = name or Path(path).name
    if Path(path).suffix in PICKLES:
        ids, labels = _from_pickle(path, name, key)
    else:
        fields = read_fields({"": path}, n_fields=2, names={"": name})
        ids = numbers_of(taken(fields.terms, fields.codes[""][:, 0]))
        labels = taken(fields.terms, fields.codes[""][:, 1])
    return labels_by_id(ids, labels, name)


def labels_by_id(ids: np.ndarray, labels: pa.Array, name: str) -> pa.Array:
    """Labels in the order of their ids; `name` is what messages call the dictionary.

    Raises
    ------
    InputError
        If the ids are not 0, 1, 2, … each once, or two of them have the same label.
    """
    order = np.argsort(ids, kind="stable")
    wrong = np.flatnonzero(ids[order] != np.arange(len(ids)))
    if len(wrong):
        raise InputError(
            f"{name}: ids must be 0 to {len(ids) - 1}, each once; "
            f"{wrong[0]} is missing, there twice, or not a plain number"
        )
    labels = taken(labels, order)
    if len(labels.unique()) != len(labels):
        counts = labels.value_counts()
        double = next(one.as_py() for one in counts if one["counts"].as_py() > 1)
        raise InputError(
            f"{name}: {double['counts']} ids have the label {abridged(double['values'])}"
        )
    return labels


def _from_pickle(
    path: str | os.PathLike, name: str, key: str | None
) -> tuple[np.ndarray, pa.Array]:
    content = read_pickle(path, name)
    if key is not None:
        if not isinstance(content, dict) or key not in content:
            known = ", ".join(map(repr, content)) if isinstance(content, dict) else "no dict"
            raise InputError(f"{name}: has no dictionary {abridged(key)} (it has: {known[:200]})")
        content = content[key]
    pairs = list(content.items()) if isinstance(content, dict) else [("", "")]
    if pairs and isinstance(pairs[0][0], str):
        pairs = [(id_, label) for label, id_ in pairs]
    return ids_and_labels(pairs, name)


def ids_and_labels(pairs: list[tuple[int, str]], name: str) -> tuple[np.ndarray, pa.Array]:
    """Pairs of a dictionary as two arrays, once they are known to be ids and labels."""
    for id_, label in pairs:
        if type(id_) is not int or abs(id_) >= 1 << 63 or not isinstance(label, str):
            raise InputError(
                f"{name}: expected a dict of ids and labels, "
                f"found {abridged(id_)}: {abridged(label)}"
            )
        if "\t" in label or "\n" in label:
            raise InputError(
                f"{name}: the label {abridged(label)} of id {id_} holds a tab or a newline"
            )
    ids = np.array([id_ for id_, _ in pairs], dtype=np.int64)
    try:
        return ids, label_array([label for _, label in pairs])
    except UnicodeEncodeError as error:
        raise InputError(f"{name}: the label {abridged(error.object)} is no text") from None


def write_labels(path: str | os.PathLike, labels: pa.Array) -> None:
    """Write lines of an id, a tab and a label."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        for start, chunk in _chunks(labels):
            lines = (f"{number}\t{label}\n" for number, label in enumerate(chunk, start))
            stream.write("".join(lines).encode())


def vocabulary_hash(entities: pa.Array, relations: pa.Array) -> str:
    """sha256 over the labels of entities and of relations in the order of their ids."""
    digest = hashlib.sha256()
    for labels in (entities, relations):
        for _, chunk in _chunks(labels):
            digest.update("".join(f"{label}\n" for label in chunk).encode())
        digest.update(b"\t\n")
    return digest.hexdigest()


def graph_labels(
    path_to_entities: str | os.PathLike, path_to_relations: str | os.PathLike, vocabulary: str
) -> tuple[pa.Array, pa.Array]:
    """Labels of the entities and of the relations of the graph that has this vocabulary.

    Raises
    ------
    InputError
        If the files are missing, or are those of another graph.
    """
    paths = path_to_entities, path_to_relations
    for path in paths:
        if not Path(path).is_file():
            raise damaged(path, "no file of labels", "build_graph")
    try:
        labels = tuple(map(read_labels, paths))
    except InputError as error:
        raise damaged(f"{paths[0]}, {paths[1]}", error, "build_graph") from error
    if vocabulary_hash(*labels) != vocabulary:
        what = "the labels are not those of the graph"
        raise damaged(f"{paths[0]}, {paths[1]}", what, "build_graph")
    return labels


def _chunks(labels: pa.Array) -> Iterator[tuple[int, list[str]]]:
    for start in range(0, len(labels), CHUNK):
        yield start, labels[start : start + CHUNK].to_pylist()
