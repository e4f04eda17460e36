"""Which entities do not compete with a hard answer: one named rule per convention of the field."""

import numpy as np

from clqa.competitions import RAW
from clqa.ragged import Ragged


def observed_and_full(easy: Ragged, hard: Ragged, retracted: Ragged) -> Ragged:
    """Answers on the observed or on the full graph, as the reference implementation has it."""
    return union(easy, hard)


def full_only(easy: Ragged, hard: Ragged, retracted: Ragged) -> Ragged:
    """Answers on the full graph; a retracted answer is a wrong one and competes."""
    return union(_difference(easy, retracted), hard)


def nothing(easy: Ragged, hard: Ragged, retracted: Ragged) -> Ragged:
    """No answer: easy ones and the other hard ones compete, as in the raw setting."""
    return Ragged(np.zeros_like(hard.offsets), hard.values[:0])


# By name, the default first. Easy answers include the retracted ones. Whose easy answers they are
# is the query set's to say: those of a +H set are `corrected` or as `released`.
FILTERS = {"observed-and-full": observed_and_full, "full-only": full_only, RAW: nothing}


def with_test(easy: Ragged, hard: Ragged, on_test: Ragged) -> Ragged:
    """Answers on the observed or the full graph of the split, or on the full graph of test.

    It is the filter `clqa.competitions.WITH_TEST`, which needs queries to be answered again.
    """
    return union(union(easy, hard), on_test)


def union(left: Ragged, right: Ragged) -> Ragged:
    """What is in either of two sets, row by row."""
    keys = np.concatenate([_keys(left), _keys(right)])
    keys.sort()
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return _rows(keys[first], len(left.offsets) - 1)


def _difference(left: Ragged, right: Ragged) -> Ragged:
    keys, removed = _keys(left), _keys(right)
    places = np.searchsorted(removed, keys)
    found = places < len(removed)
    found[found] = removed[places[found]] == keys[found]
    return _rows(keys[~found], len(left.offsets) - 1)


def _keys(ids: Ragged) -> np.ndarray:
    """Row and id as one ascending number."""
    rows = np.repeat(np.arange(len(ids.offsets) - 1, dtype=np.int64), ids.lengths())
    return (rows << 32) | ids.values


def _rows(keys: np.ndarray, n_rows: int) -> Ragged:
    offsets = np.searchsorted(keys, np.arange(n_rows + 1, dtype=np.int64) << 32)
    return Ragged(offsets.astype(np.int64), (keys & (2**32 - 1)).astype(np.int32))
