"""What is kept of a row of scores: its best candidates, and how many reach each threshold.

With these and the scores of the answers, sets of answers at any threshold, retrieval lists and
calibration need no predictions any more.
"""

from typing import NamedTuple

import numpy as np

from clqa.kernels import kernel
from clqa.ragged import Ragged

# Candidates are counted at these scores, if all scores of a row are degrees from 0 to 1.
THRESHOLDS = np.arange(101) / 100
# A row is cut into so many lanes per entity that may be kept, whose maxima are looked at first.
_LANES_PER_KEPT = 2
# If more than so many candidates per kept one reach a threshold, lanes tell a better one.
_MANY = 4
_BLOCK = 512


class Tops(NamedTuple):
    """The best candidates of each query; answers of the query are no candidates.

    Attributes
    ----------
    ids : Ragged of int32
        By score, descending; equal scores by id.
    scores : (len(ids.values),) float
    reaching : (n_queries, 101) int32
        Candidates with at least each score of `THRESHOLDS`, rounded to the type of the scores; -1
        where a score of the row is no degree.
    """

    ids: Ragged
    scores: np.ndarray
    reaching: np.ndarray


def empty_tops(answers: Ragged, n_entities: int, depth: int, dtype: np.dtype) -> Tops:
    """Room for the `depth` best candidates, or all if there are fewer, of each query."""
    sizes = np.minimum(n_entities - answers.lengths(), depth)
    n_counted = len(THRESHOLDS) if depth else 0
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ids = Ragged(offsets, np.empty(offsets[-1], np.int32))
    reaching = np.empty((len(sizes), n_counted), np.int32)
    return Tops(ids, np.empty(offsets[-1], dtype), reaching)


@kernel
def fill_tops(scores, rows, start, starts, answers, offsets, ids, best, reaching):
    """Fill the queries from `start`, one per row; scores hold no NaN."""
    # Room for whole words of 8.
    mask = np.zeros((scores.shape[1] + 7) // 8 * 8, np.uint8)
    kept = np.empty(scores.shape[1], np.int32)
    for query in range(start, start + rows.size):
        row = scores[rows[query - start]]
        known = answers[starts[query] : starts[query + 1]]
        first, last = offsets[query], offsets[query + 1]
        _fill_reaching(row, known, reaching[query])
        if last > first:
            least = _least(row, known, last - first, reaching[query])
            size = _contenders(row, known, least, mask, kept)
            _fill_best(row, kept[:size], ids[first:last], best[first:last])


@kernel
def _least(row, known, depth, reaching):
    """A score that the best `depth` candidates reach, and not many others if it can be helped."""
    place = len(THRESHOLDS) - 1
    while place >= 0 and reaching[place] < depth:
        place -= 1
    if place >= 0 and reaching[place] <= _MANY * depth:
        return row.dtype.type(place) / row.dtype.type(100)
    n_lanes = _LANES_PER_KEPT * (depth + known.size)
    if n_lanes >= row.size:
        return row.dtype.type(-np.inf)
    # So many lanes hold a score of at least this, at most one for each answer by it.
    place = n_lanes - depth - known.size
    return np.partition(_highest_by_lane(row, n_lanes), place)[place]


@kernel
def _contenders(row, known, least, mask, kept):
    """List in `kept`, by id, the candidates that reach a score; return their number."""
    for entity in range(np.uint32(row.size)):
        mask[entity] = row[entity] >= least
    words = mask.view(np.uint64)
    size = cursor = 0
    for word in range(words.size):
        if words[word] == 0:
            continue
        for entity in range(8 * word, 8 * word + 8):
            if mask[entity]:
                while cursor < known.size and known[cursor] < entity:
                    cursor += 1
                if cursor == known.size or known[cursor] != entity:
                    kept[size] = entity
                    size += 1
    return size


@kernel
def _highest_by_lane(row, n_lanes):
    """Highest score of every lane: the entities whose ids leave one remainder.

    What a row has beyond the last whole lane counts for none, which can only lower a maximum.
    """
    highest = row[:n_lanes].copy()
    for start in range(n_lanes, row.size // n_lanes * n_lanes, n_lanes):
        for lane in range(np.uint32(n_lanes)):
            score = row[np.uint32(start) + lane]
            highest[lane] = score if score > highest[lane] else highest[lane]
    return highest


@kernel
def _fill_best(row, kept, ids, best):
    """Put the best of the candidates `kept`, which ascend, into `ids` in their order."""
    depth = ids.size
    scores = row[kept]
    place = scores.size - depth
    last = np.partition(scores, place)[place]
    room = depth - np.count_nonzero(scores > last)
    size = 0
    for k in range(kept.size):
        if scores[k] > last or (scores[k] == last and room > 0):
            room -= scores[k] == last
            ids[size] = kept[k]
            best[size] = scores[k]
            size += 1
    order = np.argsort(-best, kind="mergesort")
    ids[:] = ids[order]
    best[:] = best[order]


@kernel
def _fill_reaching(row, known, reaching):
    """Count the candidates with at least each threshold, or write -1 if a score is no degree."""
    n_odd = np.int32(0)
    for entity in range(row.size):
        n_odd = np.int32(n_odd + ((row[entity] < 0) | (row[entity] > 1)))
    if n_odd > 0:
        reaching[:] = -1
        return
    places = np.empty(_BLOCK, np.int32)
    # Four histograms in turn, since adding twice in a row to one place would wait for memory.
    bins = np.zeros(4 * len(THRESHOLDS), np.int32)
    for start in range(0, row.size, _BLOCK):
        block = row[start : start + _BLOCK]
        locate(block, places)
        for k in range(np.uint32(block.size)):
            bins[np.uint32(4 * places[k]) + (k & np.uint32(3))] += 1
    for k in range(known.size):
        locate(row[known[k] : known[k] + 1], places)
        bins[4 * places[0]] -= 1
    total = np.int32(0)
    for place in range(len(THRESHOLDS) - 1, -1, -1):
        total += bins[4 * place : 4 * place + 4].sum()
        reaching[place] = total


@kernel
def locate(block, places):
    """Write the place in `THRESHOLDS` of the highest one that each degree reaches."""
    scale, nudge = block.dtype.type(100), block.dtype.type(1e-4)
    for k in range(np.uint32(block.size)):
        # Never too low, and too high by one at most; the quotient is the threshold as rounded.
        place = np.int32(block[k] * scale + nudge)
        places[k] = place - np.int32(block[k] < block.dtype.type(place) / scale)
