"""Lists of answers as releases have them, brought to the ids of a graph."""

import logging
from collections.abc import Sequence
from itertools import chain

import numpy as np

from clqa.errors import InputError, abridged
from clqa.ragged import Ragged
from clqa.ragged_sets import numbered
from clqa.release_ids import ReleaseIds

log = logging.getLogger(__name__)


def answer_rows(
    rows: list, file: str, shape: str, queries: Sequence, ids: ReleaseIds, arity: int = 1
) -> Ragged:
    """Answers in the graph's ids, ascending within each query; tuples where `arity` is above 1.

    A tuple that a query has twice counts once, and a warning says so; of ids that is an error.

    Parameters
    ----------
    rows : list of collections of int, or of sequences of so many int
    queries : as the file writes them, for messages
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    offsets = np.concatenate([[0], np.cumsum(lengths)])

    def refusal(answer: int, why: str) -> InputError:
        query = queries[np.searchsorted(offsets, answer, side="right") - 1]
        return InputError(f"{file}, {shape}, query {abridged(query)}: {why}")

    flat = answers = list(chain.from_iterable(rows))
    if arity > 1:
        for place, one in enumerate(answers):
            if type(one) not in (list, tuple) or len(one) != arity:
                raise refusal(place, f"answers must be lists of {arity} ids, found {abridged(one)}")
        flat = list(chain.from_iterable(answers))
    if not set(map(type, flat)) <= {int}:
        wrong = next(place for place, one in enumerate(flat) if type(one) is not int)
        raise refusal(wrong // arity, "answers must be ids (int)")
    values, most = _values(flat, len(ids.entities)), len(ids.entities) - 1
    outside = np.flatnonzero((values < 0) | (values > most))
    if len(outside):
        why = f"answer {flat[outside[0]]}: ids are 0 to {most}"
        raise refusal(outside[0] // arity, why)
    if arity > 1:
        found = numbered([Ragged(offsets, ids.entities[values].reshape(-1, arity))])[0]
        if len(found.values) < len(answers):
            repeated = len(answers) - len(found.values)
            log.warning("%s, %s: %d repeated answers count once", file, shape, repeated)
        return found
    keys = np.repeat(np.arange(len(rows)), lengths) * np.int64(ids.bound) + ids.entities[values]
    keys.sort()
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        entity = ids.as_released(keys[twice[0]] % ids.bound)
        raise refusal(twice[0], f"the answer {entity} is there twice")
    return Ragged(offsets, (keys % max(ids.bound, 1)).astype(np.int32))


def _values(ids: list[int], n_ids: int) -> np.ndarray:
    """The ids as an array, with -1 for those that are too large for one."""
    try:
        return np.array(ids, np.int64)
    except OverflowError:
        return np.array([one if 0 <= one < n_ids else -1 for one in ids], np.int64)
