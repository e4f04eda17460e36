"""What is kept of a row of scores: its best candidates, and how many reach each threshold.

With these and the scores of the answers, sets of answers at any threshold, retrieval lists and
calibration need no predictions any more.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from clqa.kernels import contracted, kernel, prefetch
from clqa.ragged import Ragged
from clqa.sorted_scores import descending

# Candidates are counted at these scores, if all scores of a row are degrees from 0 to 1.
THRESHOLDS = np.arange(101) / 100
# Pairs of places are counted in a table of so many columns, which is never emptied: of its sums by
# either place, modulo 2**16, those before are taken off, so many words of 8 later at most.
_WIDE, _WORDS = 128, 2**13
_TABLE = len(THRESHOLDS) * _WIDE
N_PAIRS = _TABLE + 2 * _WIDE
# A hundredth in two parts: whole numbers up to 100 times the first are exact in float32, and with
# those times the second they give each threshold as it is rounded, without a division.
_HIGH = 83886 / 2**23
_LOW = float(Fraction(1, 100) - Fraction(83886, 2**23))
# Times 2**(8 b) the highest byte of this is b.
_BYTES = np.uint64(0x0001020304050607)
# A row is cut into so many lanes per entity that may be kept, whose maxima are looked at first.
_LANES_PER_KEPT = 2
# If more than so many candidates per kept one reach a threshold, lanes tell a better one.
_MANY = 4


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
def fill_row(row, answers, are_degrees, places, marked, kept, pairs, coming, ids, best, reaching):
    """Fill what is kept of a row without NaN; `answers` are ascending.

    `places` are those of degrees, with zeros up to a whole word of 8; it is overwritten. `kept`,
    one more than there are entities, and `marked`, one more than words, are room to work in, as is
    `pairs`, (N_PAIRS,) uint16, which is zeros for the first row and left alone from row to row.
    `coming` is the row that is next, whose scores are fetched from memory meanwhile.
    """
    reaching[:] = -1
    if are_degrees:
        _fill_reaching(answers, places, row.size, pairs, coming, reaching)
    depth = ids.size
    if depth:
        place = len(THRESHOLDS) - 1
        while place > 0 and reaching[place] < depth:
            place -= 1
        # Not many others reach the lowest threshold above 0 that the best ones reach: else lanes
        # tell a better one.
        if place == 0 or reaching[place] > _MANY * depth:
            least, place = _least(row, depth + answers.size, depth), 1
            for entity in range(np.uint32(row.size)):
                places[entity] = row[entity] >= least
        for k in range(answers.size):
            places[answers[k]] = 0
        size = _listed(places, place, marked, kept)
        _fill_best(row, kept[:size], ids, best)


@kernel
def _least(row, n_kept, depth):
    """A score that the best `n_kept` entities reach, and not many others if it can be helped."""
    n_lanes = _LANES_PER_KEPT * n_kept
    if n_lanes >= row.size:
        return row.dtype.type(-np.inf)
    # So many lanes hold a score of at least this, at most one for each answer by it.
    return np.partition(_highest_by_lane(row, n_lanes), n_lanes - n_kept)[n_lanes - n_kept]


@kernel
def _listed(places, least, marked, kept):
    """List in `kept` the entities whose place is at least `least`, from 1; return their number.

    Words with such a place are listed in `marked` before.
    """
    words = places.view(np.uint64)
    # Sums of two numbers up to 127 leave the neighbouring bytes alone, and their eighth bit tells.
    addend = np.uint64(128 - least) * np.uint64(0x0101010101010101)
    eighth = np.uint64(0x8080808080808080)
    n_marked = np.uint32(0)
    for word in range(np.uint32(words.size)):
        marked[n_marked] = word
        n_marked = np.uint32(n_marked + np.uint32(((words[word] + addend) & eighth) != 0))
    size, one = np.uint64(0), np.uint64(1)
    for k in range(n_marked):
        word = np.uint32(marked[k])
        marks = ((words[word] + addend) & eighth) >> np.uint64(7)
        while marks:
            lowest = marks & (~marks + one)
            byte = np.uint32((lowest * _BYTES) >> np.uint64(56))
            kept[size] = np.int32(np.uint32(8) * word + byte)
            size += one
            marks ^= lowest
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
    chosen = kept if kept.size <= _MANY * ids.size else _best_of(row, kept, ids.size)
    scores = row[chosen]
    order = descending(scores)
    for place in range(ids.size):
        ids[place] = chosen[order[place]]
        best[place] = scores[order[place]]


@kernel
def _best_of(row, kept, depth):
    """The best `depth` of the candidates `kept`, which ascend; the result ascends, too."""
    scores = row[kept]
    place = scores.size - depth
    last = np.partition(scores, place)[place]
    room = depth - np.count_nonzero(scores > last)
    chosen = np.empty(depth, np.int32)
    size = 0
    for k in range(kept.size):
        if scores[k] > last or (scores[k] == last and room > 0):
            room -= scores[k] == last
            chosen[size] = kept[k]
            size += 1
    return chosen


@kernel
def _fill_reaching(answers, places, n_entities, pairs, coming, reaching):
    """Count the candidates with at least each threshold, from whole words of 8 places."""
    bins = np.zeros(_WIDE, np.int32)
    words = places.view(np.uint64)
    table, before = pairs[:_TABLE], pairs[_TABLE:]
    for start in range(0, words.size, _WORDS):
        _count_pairs(words[start : start + _WORDS], table, coming[8 * start :])
        sums = np.zeros(_WIDE, np.uint16)
        for high in range(len(THRESHOLDS)):
            total = np.uint16(0)
            for low in range(np.uint32(_WIDE)):
                number = table[np.uint32(_WIDE * high) + low]
                total = np.uint16(total + number)
                sums[low] = np.uint16(sums[low] + number)
            bins[high] += np.uint16(total - before[high])
            before[high] = total
        for low in range(_WIDE):
            bins[low] += np.uint16(sums[low] - before[_WIDE + low])
            before[_WIDE + low] = sums[low]
    bins[0] -= np.int32(places.size - n_entities)
    for k in range(answers.size):
        bins[places[answers[k]]] -= 1
    total = np.int32(0)
    for place in range(len(THRESHOLDS) - 1, -1, -1):
        total += bins[place]
        reaching[place] = total


@kernel
def _count_pairs(words, pairs, coming):
    """Add how often each two places stand beside each other in words of 8.

    Additions to memory, one at a time, are what limits counting: there are half as many as places,
    and none for a word that is like the one before. There is time to fetch the row that is next.
    """
    last, run = np.uint64(0), np.uint16(0)
    for place in range(np.uint32(words.size)):
        prefetch(coming, np.intp(8 * place))
        if words[place] != last:
            _add_pairs(last, run, pairs)
            last, run = words[place], np.uint16(0)
        run += np.uint16(1)
    _add_pairs(last, run, pairs)


@kernel
def _add_pairs(word, run, pairs):
    """Places have 7 bits, so that those of a pair are put together as 14."""
    low = word & np.uint64(0x007F007F007F007F)
    both = low | ((word >> np.uint64(1)) & np.uint64(0x3F803F803F803F80))
    for pair in range(np.uint64(4)):
        pairs[(both >> (np.uint64(16) * pair)) & np.uint64(0x3FFF)] += run


def bits_of(scores: np.ndarray) -> np.ndarray:
    """The bits of floating-point numbers as whole numbers, for `locate`."""
    return scores.view(f"u{scores.dtype.itemsize}")


@contracted
def locate(block, bits, places):
    """Write the place in `THRESHOLDS` of the highest one that each degree reaches.

    Returns the number of scores that are no degrees from 0 to 1; places mean nothing if there are
    some.
    """
    scale, nudge = block.dtype.type(100), block.dtype.type(1e-4)
    high, low = block.dtype.type(_HIGH), block.dtype.type(_LOW)
    most = bits.dtype.type(0)
    for k in range(np.uint32(block.size)):
        most = max(most, bits[k])
        # Never too low, and too high by one at most.
        place = np.int32(block[k] * scale + nudge)
        number = block.dtype.type(place)
        places[k] = place - (block[k] < number * high + number * low)
    # Bits of degrees are in the order of the degrees, but for those of -0.
    one = bits.dtype.type(0x3F800000 if bits.itemsize == 4 else 0x3FF0000000000000)
    return 0 if most <= one else _outside(block)


@kernel
def _outside(block):
    n = 0
    for k in range(block.size):
        n += not (block[k] >= 0 and block[k] <= 1)
    return n
