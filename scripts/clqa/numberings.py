"""From the fields of triple files to ids: one vocabulary for all splits, the unseen counted."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.errors import InputError, abridged
from clqa.triples import Fields
from clqa.vocabularies import ORDERS, given_ids, ids_of_terms, label_array, numbers_of, taken

SHOWN = 10  # labels named in messages and summaries
_MOST_GAPS = 10  # numbers up to the largest id for each id that is used


class Numbered(NamedTuple):
    """Triples as ids, line by line as they were read.

    Attributes
    ----------
    triples : dict of (n, 3) int32
        Head, relation, tail per split; repetitions are still there.
    entities, relations : pyarrow.LargeStringArray
        Labels in the order of the ids.
    """

    triples: dict[str, np.ndarray]
    entities: pa.Array
    relations: pa.Array


class Unseen(NamedTuple):
    """What valid and test have that train does not.

    Attributes
    ----------
    entities, relations : pyarrow.LargeStringArray
        Labels, in the order in which they first appear.
    lines : dict of (n_lines,) bool
        Per split, the lines that hold any of them.
    counts : dict of dict
        Per split, the numbers of unseen `entities` and `relations`.
    """

    entities: pa.Array
    relations: pa.Array
    lines: dict[str, np.ndarray]
    counts: dict[str, dict[str, int]]


def in_order(fields: Fields, columns: list[str]) -> Fields:
    """The fields as head, relation, tail, whatever the order of the columns in the files."""
    order = [columns.index(name) for name in ("head", "relation", "tail")]
    return fields._replace(codes={split: codes[:, order] for split, codes in fields.codes.items()})


def unseen_in_train(fields: Fields) -> Unseen:
    """Find the entities and relations that only other splits than train have.

    Parameters
    ----------
    fields
        In the order head, relation, tail.
    """
    train = fields.codes["train"]
    is_seen = np.zeros((2, len(fields.terms)), dtype=bool)  # as an entity, as a relation
    is_seen[0, train[:, [0, 2]]] = True
    is_seen[1, train[:, 1]] = True
    lines, counts, found = {}, {}, {"entities": [train[:0, 0]], "relations": [train[:0, 1]]}
    for split, rows in fields.codes.items():
        strange = ~np.stack(
            [is_seen[0, rows[:, 0]], is_seen[1, rows[:, 1]], is_seen[0, rows[:, 2]]], axis=1
        )
        lines[split] = strange.any(axis=1)
        codes = {
            "entities": rows[:, [0, 2]][strange[:, [0, 2]]],
            "relations": rows[:, 1][strange[:, 1]],
        }
        counts[split] = {kind: len(np.unique(values)) for kind, values in codes.items()}
        for kind, values in codes.items():
            found[kind].append(values)
    labels = (_distinct(np.concatenate(values), fields.terms) for values in found.values())
    return Unseen(*labels, lines, counts)


def refuse_unseen(unseen: Unseen) -> None:
    """Raise `InputError`, naming them, if there are entities or relations that train lacks."""
    found = [
        _listed(kind, labels)
        for kind, labels in (("entities", unseen.entities), ("relations", unseen.relations))
        if len(labels)
    ]
    if found:
        raise InputError(
            f"valid or test has {' and '.join(found)} that train does not have; "
            "set unseen: keep or unseen: drop"
        )


def without(lines: dict[str, np.ndarray], rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Rows per split without the given lines; splits that `lines` does not name stay whole."""
    return {s: values[~lines[s]] if s in lines else values for s, values in rows.items()}


def _distinct(codes: np.ndarray, terms: pa.Array) -> pa.Array:
    return taken(terms, ORDERS["first-appearance"](codes, terms))


def _listed(kind: str, labels: pa.Array) -> str:
    shown = labels[:SHOWN].to_pylist()
    more = ", …" if len(labels) > SHOWN else ""
    return f"{len(labels)} {kind} ({', '.join(shown)}{more})"


def numbered(fields: Fields, rule: str) -> Numbered:
    """Number entities and relations by `sorted` labels or by `first-appearance`.

    The order of appearance is that of the files train, valid, test, of their lines, and of head
    before tail.
    """
    rows = np.concatenate(list(fields.codes.values()))
    orders = [ORDERS[rule](codes, fields.terms) for codes in (rows[:, [0, 2]].ravel(), rows[:, 1])]
    entities, relations = (ids_of_terms(order, len(fields.terms)) for order in orders)
    return Numbered(
        _looked_up(fields, entities, relations), *(taken(fields.terms, order) for order in orders)
    )


def numbered_by(
    fields: Fields, entities: pa.Array, relations: pa.Array, kind: str, names: dict[str, str]
) -> Numbered:
    """Number entities and relations as published dictionaries have them.

    Parameters
    ----------
    entities, relations
        Labels in the order of the given ids.
    kind : str
        Whether the fields are `labels` or `ids`.
    names : dict
        What messages call the files.

    Raises
    ------
    InputError
        Names the file and the line with a field that the dictionary does not have.
    """
    of_entity = given_ids(fields.terms, entities, kind)
    of_relation = given_ids(fields.terms, relations, kind)
    triples = _looked_up(fields, of_entity, of_relation)
    _check_looked_up(fields, triples, (entities, relations), kind, names)
    return Numbered(triples, entities, relations)


def _check_looked_up(fields: Fields, triples, dictionaries, kind: str, names) -> None:
    entities, relations = dictionaries
    for split, rows in triples.items():
        line, column = np.divmod((rows < 0).argmax(), 3) if len(rows) else (0, 0)
        if len(rows) and rows[line, column] < 0:
            term = fields.terms[int(fields.codes[split][line, column])].as_py()
            role = "relations" if column == 1 else "entities"
            labels = relations if column == 1 else entities
            expected = (
                f"an id from 0 to {len(labels) - 1}" if kind == "ids" else "one of its labels"
            )
            raise InputError(
                f"{names[split]}:{line + 1}: {abridged(term)} is not in {names[role]}; "
                f"expected {expected}"
            )


def in_labels(
    fields: Fields,
    dictionaries: tuple[pa.Array, pa.Array, pa.Array],
    apart: tuple[str, ...],
    names: dict[str, str],
) -> tuple[Fields, pa.Array]:
    """Fields that are ids, as labels, where some files have entity ids of their own.

    Parameters
    ----------
    dictionaries : labels of entities, of the entities of the files `apart`, and of relations

    Returns
    -------
    fields : Fields
    entities : pyarrow.LargeStringArray
        All labels: those of the first dictionary, then what only the second one has.
    """
    entities, others, relations = dictionaries
    known = given_ids(others, entities, "labels")
    union = label_array(entities.to_pylist() + taken(others, np.flatnonzero(known < 0)).to_pylist())
    codes = {}
    for part, rows in fields.codes.items():
        own = others if part in apart else entities
        one = fields._replace(codes={part: rows})
        called = {**names, "entities": names["test_entities" if part in apart else "entities"]}
        found = numbered_by(one, own, relations, "ids", called).triples[part]
        in_union = given_ids(own, union, "labels")
        codes[part] = found + np.array([0, len(union), 0], np.int32)
        codes[part][:, [0, 2]] = in_union[found[:, [0, 2]]]
    terms = label_array(union.to_pylist() + relations.to_pylist())
    return Fields(codes, terms), union


def counted(fields: Fields, kind: str, names: dict[str, str]) -> pa.Array:
    """Labels for fields that are whole numbers: the numbers from 0 to the largest.

    Parameters
    ----------
    kind : {"entities", "relations"}

    Raises
    ------
    InputError
        If a field is no such number, or the largest is far beyond what is used.
    """
    columns = [0, 2] if kind == "entities" else [1]
    numbers = numbers_of(fields.terms)
    used = np.zeros(len(numbers), bool)
    for part, rows in fields.codes.items():
        wrong = np.flatnonzero((numbers[rows[:, columns]] < 0).any(axis=1))
        if len(wrong):
            raise InputError(f"{names[part]}:{wrong[0] + 1}: expected whole numbers as {kind}")
        used[rows[:, columns]] = True
    size = int(numbers[used].max(initial=-1)) + 1
    if size > _MOST_GAPS * (used.sum() + SHOWN):
        raise InputError(
            f"ids: numbers, but the {kind} go up to {size - 1} with {used.sum()} different ones; "
            "use labels, or ids: given with dictionaries"
        )
    return label_array([str(number) for number in range(size)])


def _looked_up(
    fields: Fields, of_entity: np.ndarray, of_relation: np.ndarray
) -> dict[str, np.ndarray]:
    return {
        split: np.stack(
            [of_entity[codes[:, 0]], of_relation[codes[:, 1]], of_entity[codes[:, 2]]], axis=1
        )
        for split, codes in fields.codes.items()
    }
