"""Lists of returned ids held against lists of expected ones, many queries at once.

The definitions are those of klieo-eval (1.0.0): a window is the first k returned ids; precision
divides its hits by k, recall by the number of expected ids, NDCG by the gain of min(expected, k)
hits at the top. What a list may hold twice, or hold that nobody knows, is said by policies:

* `refuse`: the first such list is an error;
* `count`: it counts as it stands: a duplicate among the returned is one more item (one more hit
  where it is expected, so that recall may pass 1), a duplicate among the expected one more to find,
  an unknown id one that nothing equals but itself;
* `drop`: the later of two equal ids is left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.kernels import kernel
from clqa.ragged import Ragged
from clqa.tie_blocks import Blocks, blocks_of_lists

DUPLICATES = ("refuse", "count", "drop")
UNKNOWN = ("refuse", "count")


class Called(NamedTuple):
    """Names of queries, and of ids, for messages; without names of ids they are their own."""

    queries: Sequence
    ids: Sequence | None = None


def list_blocks(
    returned: Ragged,
    expected: Ragged,
    *,
    scores: np.ndarray | None = None,
    duplicates: str = "refuse",
    expected_duplicates: str = "refuse",
    n_known: int | None = None,
    unknown: str = "refuse",
    names: Sequence | None = None,
    ids: Sequence | None = None,
) -> Blocks:
    """Rankings of the returned ids, in which the expected ones are relevant.

    Parameters
    ----------
    returned : Ragged of n_queries rows
        Ids from 0, the first place first.
    expected : Ragged of n_queries rows
        Ids in any order.
    scores : (len(returned.values),) array of real numbers, optional
        Scores of the returned ids, which do not rise along a list. Equal scores are ties.
    duplicates, expected_duplicates : {"refuse", "count", "drop"}
    n_known : int, optional
        Ids from it on are unknown.
    unknown : {"refuse", "count"}
    names, ids : sequence, optional
        How queries and ids are called in messages.

    Raises
    ------
    InputError
        If a list holds what a policy refuses, or the arrays do not fit together.
    """
    n_ids = _check_ids(returned, expected)
    called = Called(range(len(returned.offsets) - 1) if names is None else names, ids)
    if scores is not None:
        scores = checked_scores(returned, scores, called)
    for lists, policy, what, option in (
        (returned, duplicates, "returned", "--duplicates"),
        (expected, expected_duplicates, "expected", "--expected-duplicates"),
    ):
        _policy(policy, DUPLICATES, "duplicates")
        if policy == "refuse":
            _refuse(lists, repeated(lists, n_ids), called, f"is {what} twice; see {option}")
        if n_known is not None and _policy(unknown, UNKNOWN, "unknown") == "refuse":
            text = f"is {what} and not in the universe; see --unknown"
            _refuse(lists, lists.values >= n_known, called, text)
    if duplicates == "drop":
        kept = ~repeated(returned, n_ids)
        returned, scores = _kept(returned, kept), None if scores is None else scores[kept]
    if expected_duplicates == "drop":
        expected = _kept(expected, ~repeated(expected, n_ids))
    relevant = _members(*returned, *expected, n_ids)
    joined = np.zeros(len(returned.values), bool)
    if scores is not None:
        joined[1:] = scores[1:] == scores[:-1]
    return blocks_of_lists(returned.offsets, relevant, joined, expected.lengths())


def repeated(lists: Ragged, n_ids: int) -> np.ndarray:
    """Whether each id stood in its list before, (len(values),) bool."""
    return _repeated(*lists, n_ids)


def by_score(lists: Ragged, scores: np.ndarray) -> np.ndarray:
    """Order in which each list's scores fall; equal scores keep their order."""
    owner = np.repeat(np.arange(len(lists.offsets) - 1), lists.lengths())
    return np.lexsort((-np.asarray(scores, np.float64), owner))


def checked_scores(returned: Ragged, scores: np.ndarray, called: Called) -> np.ndarray:
    """Scores that are numbers, one for each id, and do not rise along a list."""
    scores = np.asarray(scores)
    if scores.dtype.kind not in "biuf" or scores.shape != returned.values.shape:
        raise InputError(
            f"scores must be {len(returned.values)} real numbers, one for each returned id, not"
            f" {scores.dtype} {scores.shape}"
        )
    if scores.dtype.kind == "f":
        _refuse(returned, np.isnan(scores), called, "has the score NaN")
    rises = np.zeros(len(scores), bool)
    rises[1:] = scores[1:] > scores[:-1]
    rises[returned.offsets[:-1][returned.lengths() > 0]] = False
    _refuse(returned, rises, called, "has a higher score than the one before it")
    return scores


def _check_ids(returned: Ragged, expected: Ragged) -> int:
    """Smallest number above every id."""
    if len(returned.offsets) != len(expected.offsets):
        n_returned, n_expected = len(returned.offsets) - 1, len(expected.offsets) - 1
        raise InputError(f"{n_returned} lists of returned ids for {n_expected} of expected ones")
    for lists in (returned, expected):
        if lists.values.dtype.kind not in "iu" or lists.values.min(initial=0) < 0:
            raise InputError("ids must be whole numbers from 0")
    return int(max(lists.values.max(initial=-1) for lists in (returned, expected))) + 1


def _policy(name: str, known: tuple[str, ...], key: str) -> str:
    if name not in known:
        raise InputError(f"{key}: no policy {name!r}; known are {', '.join(known)}")
    return name


def _refuse(lists: Ragged, wrong: np.ndarray, called: Called, what: str) -> None:
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        query = int(np.searchsorted(lists.offsets, place, side="right")) - 1
        inside = place - lists.offsets[query] + 1
        name = lists.values[place] if called.ids is None else called.ids[lists.values[place]]
        raise InputError(f"query {called.queries[query]}: {name} at place {inside} {what}")


def _kept(lists: Ragged, kept: np.ndarray) -> Ragged:
    counts = np.concatenate([[0], np.cumsum(kept)])
    return Ragged(counts[lists.offsets], lists.values[kept])


@kernel
def _repeated(offsets, values, n_ids):
    last = np.full(n_ids, -1, np.int64)
    again = np.zeros(values.size, np.bool_)
    for row in range(offsets.size - 1):
        for place in range(offsets[row], offsets[row + 1]):
            again[place] = last[values[place]] == row
            last[values[place]] = row
    return again


@kernel
def _members(offsets, values, expected_offsets, expected_values, n_ids):
    """Whether each id is in the row of the same number of the expected ones."""
    last = np.full(n_ids, -1, np.int64)
    found = np.zeros(values.size, np.bool_)
    for row in range(offsets.size - 1):
        for place in range(expected_offsets[row], expected_offsets[row + 1]):
            last[expected_values[place]] = row
        for place in range(offsets[row], offsets[row + 1]):
            found[place] = last[values[place]] == row
    return found
