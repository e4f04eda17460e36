"""Lists of ids per query from files of any origin, made ready to be scored.

Ids are text or whole numbers, as queries are; a file may not mix them, since nobody can tell
whether 7 and "7" are the same.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clqa.errors import InputError, abridged
from clqa.ragged import Ragged
from clqa.retrieved_lists import by_score

KINDS = {str: "text", int: "whole numbers"}
WITHOUT_EXPECTED = ("refuse", "count", "drop")
WITHOUT_RETURNED = ("refuse", "count")


class Entry(NamedTuple):
    """What a file says of one query.

    Attributes
    ----------
    place : str
        File and line, for messages.
    query : str or int
    expected, returned : list of str or int, or None
        None where the file has no such entry, which is not the same as an empty list.
    scores : list of float, or None
    """

    place: str
    query: str | int
    expected: list | None
    returned: list | None
    scores: list | None = None


class Lists(NamedTuple):
    """Lists of n queries, ids numbered from 0.

    Attributes
    ----------
    queries : list of n str or int
    returned, expected : Ragged of n rows
        In the order of the file, not sorted.
    scores : (len(returned.values),) float64 or None
    ids : list
        The id of each number.
    n_known : int or None
        Ids from it on are not in the universe, if there is one.
    n_without_expected, n_without_returned, n_left_out : int
        Queries without an entry; those left out are not among the n.
    """

    queries: list
    returned: Ragged
    expected: Ragged
    scores: np.ndarray | None
    ids: list
    n_known: int | None
    n_without_expected: int
    n_without_returned: int
    n_left_out: int


def with_queries(entries: Sequence[Entry], path: str, asked: Sequence) -> list[Entry]:
    """The entries in the order of a list of queries; a query without an entry gets an empty one.

    Raises
    ------
    InputError
        If an entry is of a query that the list lacks.
    """
    _check_kinds(entries, None)
    wanted = set(asked)
    for entry in entries:
        if entry.query not in wanted:
            raise InputError(
                f"{entry.place}: query {abridged(entry.query)} is not listed in {path}"
            )
    known = {entry.query: entry for entry in entries}
    return [known.get(query) or Entry(path, query, None, None) for query in asked]


def numbered_lists(
    entries: Sequence[Entry],
    *,
    universe: Sequence | None = None,
    without_expected: str = "refuse",
    without_returned: str = "refuse",
    ranks: str = "check",
) -> Lists:
    """Check entries, apply the policies on missing ones, and number the ids.

    Parameters
    ----------
    entries : sequence of Entry
    universe : sequence of str or int, optional
        All ids that there are.
    without_expected : {"refuse", "count", "drop"}
        Queries with no entry of expected ids: an error, taken as expecting nothing, or left out.
    without_returned : {"refuse", "count"}
        Queries with no entry of returned ids: an error, or taken as returning nothing.
    ranks : {"check", "ignore"}
        Whether scores must follow the order of a list, or make it.
    """
    _check_kinds(entries, universe)
    n_without = [sum(getattr(e, key) is None for e in entries) for key in ("expected", "returned")]
    kept = [entry for entry in entries if _counts(entry, without_expected, without_returned)]
    scores = _scores(kept)
    lists = [[entry.returned or [] for entry in kept], [entry.expected or [] for entry in kept]]
    (returned, expected), ids = _numbered(lists, universe)
    if scores is not None and ranks == "ignore":
        order = by_score(returned, scores)
        returned, scores = returned._replace(values=returned.values[order]), scores[order]
    return Lists(
        [entry.query for entry in kept],
        returned,
        expected,
        scores,
        ids,
        None if universe is None else len(set(universe)),
        *n_without,
        len(entries) - len(kept),
    )


def _counts(entry: Entry, without_expected: str, without_returned: str) -> bool:
    """Whether an entry is to be scored."""
    name = f"{entry.place}: query {abridged(entry.query)}"
    if entry.expected is None and without_expected != "count":
        if without_expected == "drop":
            return False
        raise InputError(f"{name} has no entry of expected ids; see --without-expected")
    if entry.returned is None and without_returned == "refuse":
        raise InputError(f"{name} has no entry of returned ids; see --without-returned")
    return True


def _check_kinds(entries: Iterable[Entry], universe: Sequence | None) -> None:
    """Queries are of one kind, and so are ids; no query has two entries."""
    places: dict = {}
    kind_of_queries = kind_of_ids = None
    if universe is not None:
        kind_of_ids = _kind(universe, "the universe", None)
    for entry in entries:
        kind_of_queries = _kind([entry.query], f"{entry.place}: query", kind_of_queries)
        if entry.query in places:
            first = places[entry.query]
            name = f"{entry.place}: query {abridged(entry.query)}"
            raise InputError(f"{name} again; it is in {first}, too")
        places[entry.query] = entry.place
        for key in ("expected", "returned"):
            ids = getattr(entry, key)
            if ids is not None:
                kind_of_ids = _kind(ids, f"{entry.place}: {key}", kind_of_ids)


def _kind(values: Sequence, what: str, wanted: type | None) -> type | None:
    """The one type of some ids, which is the wanted one if there is any."""
    for kind in set(map(type, values)):
        if kind not in KINDS:
            wrong = next(value for value in values if type(value) is kind)
            raise InputError(f"{what}: {abridged(wrong)} is no id; ids are text or whole numbers")
        if wanted not in (None, kind):
            raise InputError(f"{what}: {KINDS[kind]} among {KINDS[wanted]}; write all alike")
        wanted = kind
    try:
        pa.array(values)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{what}: ids must be UTF-8 text or whole numbers of 64 bits ({error})"
        ) from None
    return wanted


def _scores(entries: Iterable[Entry]) -> np.ndarray | None:
    """All scores, one for each returned id, or None where no entry has any."""
    listed = [entry for entry in entries if entry.returned]
    given = [entry for entry in listed if entry.scores is not None]
    if not given:
        return None
    for entry in listed:
        if entry.scores is None:
            raise InputError(f"{entry.place}: no scores, where {given[0].place} has some")
        if len(entry.scores) != len(entry.returned):
            sizes = f"{len(entry.scores)} scores for {len(entry.returned)} returned ids"
            raise InputError(f"{entry.place}: {sizes}")
        for kind in set(map(type, entry.scores)) - {float, int}:
            wrong = next(score for score in entry.scores if type(score) is kind)
            raise InputError(f"{entry.place}: {abridged(wrong)} is no score; scores are numbers")
        if any(score != score for score in entry.scores):
            raise InputError(f"{entry.place}: a score is NaN; every returned id needs a number")
    try:
        return np.array([score for entry in listed for score in entry.scores], np.float64)
    except OverflowError as error:
        raise InputError("scores must be within the range of 64-bit floats") from error


def _numbered(lists: Sequence[list[list]], universe: Sequence | None) -> tuple[list[Ragged], list]:
    """Rows of ids as rows of numbers; those of the universe come first."""
    flat = list(dict.fromkeys(universe or ()))
    starts = [len(flat)]
    for rows in lists:
        flat.extend(value for row in rows for value in row)
        starts.append(len(flat))
    coded = pa.array(flat, None if flat else pa.string()).dictionary_encode()
    numbers = coded.indices.to_numpy()
    found = []
    for rows, first, last in zip(lists, starts[:-1], starts[1:], strict=True):
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        found.append(Ragged(offsets, numbers[first:last]))
    return found, coded.dictionary.to_pylist()
