"""Sets on a stack: where the set machine keeps them, and how they are read and written.

A set gives a value to every entity: explicit pairs (id, value) in no fixed order, and one default
value for all other entities, so that a complement costs nothing until somebody lists it. Values
are bytes with 0 for "not in the set", in one of two algebras:

* `BOOLEAN`: bit 1 for the observed and bit 2 for the full graph, so that one run answers a query
  on both; join is `|`, meet is `&`.
* `COST`: 255 minus the smallest number of missing links with which the full graph gives the
  entity; join is `max`, meet adds the costs. Complements are taken on the full graph.
"""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import find_row
from clqa.bits import count_ones, lowest_one
from clqa.kernels import inlined, kernel
from clqa.programs import PROJECT_NEGATED, stack_depth

BOOLEAN, COST = 0, 1
FREE_OF_COST = 255

# Columns of a slot: where a set lies (pool, tails, heads), its first place and length, the value
# of all other entities, whether explicit values are to be complemented, whether its ids ascend,
# and which region of the pool is its own.
SOURCE, START, LENGTH, DEFAULT, FLIP, SORTED, REGION = range(7)
POOL, TAILS, HEADS = 0, 1, 2

# So many bits are read from each word of a bitmap without asking whether they are set.
USUAL_BITS = 4


class Scratch(NamedTuple):
    """Working memory of one thread; `dense`, `mark` and `words` are zero between steps."""

    ids: np.ndarray
    values: np.ndarray
    dense: np.ndarray
    mark: np.ndarray
    rows: np.ndarray
    words: np.ndarray
    slots: np.ndarray


def scratch(n_entities: int, *programs: np.ndarray) -> Scratch:
    """Working memory for programs over a graph; pages are touched only as sets grow."""
    depth = max(stack_depth(steps) for steps in programs)
    # A negated projection lists two sets, one behind the other, in one region.
    widest = 2 if any(PROJECT_NEGATED in steps[:, 0] for steps in programs) else 1
    size = (depth + 2) * widest * (n_entities + 1)
    slots = np.zeros((depth + 2, 7), np.int64)
    slots[:, REGION] = np.arange(depth + 2)
    return Scratch(
        ids=np.empty(size, np.int32),
        values=np.empty(size, np.uint8),
        dense=np.zeros(n_entities + 1, np.uint8),
        mark=np.zeros(n_entities + 1, np.uint8),
        rows=np.empty(n_entities + 1, np.uint64),
        words=np.zeros(n_entities // 64 + 1, np.uint64),
        slots=slots,
    )


@inlined
def join(a, b, mode):
    a, b = np.int64(a), np.int64(b)
    return a | b if mode == 0 else max(a, b)


@inlined
def meet(a, b, mode):
    a, b = np.int64(a), np.int64(b)
    return a & b if mode == 0 else max(a + b - 255, 0)


@inlined
def flipped(value, mode):
    value = np.int64(value)
    return value ^ 3 if mode == 0 else (255 if value == 0 else 0)


@inlined
def lower_place(packed, shift, start, length, wanted):
    """Place of the last of some ascending ids, kept from bit `shift` on, that is at most `wanted`.

    The first place if there is none. The steps depend on the length alone, and no branch on the
    ids, so that the memory of several searches is waited for at the same time.
    """
    low, size, one = np.uint64(start), np.uint64(length), np.uint64(1)
    past = (np.uint64(wanted) + one) << np.uint64(shift)
    while size > one:
        half = size >> one
        low += half * np.uint64(packed[low + half] < past)
        size -= half
    return low


@inlined
def find_place(packed, shift, start, length, wanted):
    """Place of the id `wanted` among ascending ones, kept from bit `shift` on, or -1."""
    place = lower_place(packed, shift, start, length, wanted)
    if length > 0 and np.uint64(packed[place]) >> np.uint64(shift) == np.uint64(wanted):
        return np.int64(place)
    return np.int64(-1)


@inlined
def edges_of(view, source):
    return view.heads.edges if source == HEADS else view.tails.edges


@inlined
def element(work, edges, source, i, flip, mode):
    """Id and value of the element at place i of a set."""
    if source == POOL:
        t, value = np.uint64(work.ids[i]), np.int64(work.values[i])
    else:
        edge = np.uint64(edges[i])
        t, value = edge >> np.uint64(1), edge_value(edge, mode)
    return t, flipped(value, mode) if flip else value


@inlined
def edge_value(edge, mode):
    """An edge is in the full graph, and in the observed one, or free of cost, if its bit is set."""
    return np.int64((2 if mode == 0 else 254) | (edge & np.uint64(1)))


@inlined
def store(work, slot, start, end, default, ascending):
    """Make the spare region, filled from `start` to `end`, the content of a slot."""
    slots = work.slots
    spare = slots.shape[0] - 1
    region = slots[slot, REGION]
    slots[slot, REGION] = slots[spare, REGION]
    slots[spare, REGION] = region
    slots[slot, SOURCE] = POOL
    slots[slot, START] = start
    slots[slot, LENGTH] = end - start
    slots[slot, DEFAULT] = default
    slots[slot, FLIP] = 0
    slots[slot, SORTED] = ascending


@inlined
def spare_start(work):
    regions = work.slots.shape[0]
    return work.slots[regions - 1, REGION] * (work.ids.shape[0] // regions)


@inlined
def extent(work, slot):
    """Source, first place, past-the-last place and flip of a set."""
    slots = work.slots
    start = slots[slot, START]
    return slots[slot, SOURCE], start, start + slots[slot, LENGTH], slots[slot, FLIP]


@inlined
def hop(view, work, slot, relation, reverse, entity):
    if reverse:
        start, end = find_row(view.heads, entity, relation)
    else:
        start, end = find_row(view.tails, entity, relation)
    slots = work.slots
    slots[slot, SOURCE] = HEADS if reverse else TAILS
    slots[slot, START] = np.int64(start)
    slots[slot, LENGTH] = np.int64(end - start)
    slots[slot, DEFAULT] = 0
    slots[slot, FLIP] = 0
    slots[slot, SORTED] = 1


@kernel
def give(view, work, slot, number, mode):
    """The entities of degree 1 in a vector, which both graphs know."""
    out = spare_start(work)
    end = np.uint64(out)
    for t in range(view.n_entities):
        work.ids[end] = t
        work.values[end] = 3 if mode == 0 else 255
        end += np.uint64(view.given[number, t])
    store(work, slot, out, np.int64(end), np.int64(0), np.int64(1))


@kernel
def list_all(view, work, slot, mode):
    """Make a set with a default explicit for every entity."""
    source, start, end, flip = extent(work, slot)
    edges = edges_of(view, source)
    out = spare_start(work)
    for v in range(view.n_entities):
        work.ids[out + v] = v
        work.values[out + v] = work.slots[slot, DEFAULT]
    for i in range(start, end):
        t, value = element(work, edges, source, i, flip, mode)
        work.values[np.uint64(out) + t] = value
    store(work, slot, out, out + view.n_entities, np.int64(0), np.int64(1))


@inlined
def gather(work, out, end):
    """Read the values of the listed ids back from the dense array and clear it."""
    for i in range(np.uint64(out), np.uint64(end)):
        t = np.uint64(work.ids[i])
        work.values[i] = work.dense[t]
        work.dense[t] = 0


@kernel
def scatter(view, work, slot, mode):
    """Write a set into the dense arrays."""
    source, start, stop, flip = extent(work, slot)
    edges = edges_of(view, source)
    for i in range(start, stop):
        t, value = element(work, edges, source, i, flip, mode)
        work.dense[t] = value
        work.mark[t] = 1


@kernel
def clear(view, work, slot, mode):
    """Take a set out of the dense arrays."""
    source, start, stop, flip = extent(work, slot)
    edges = edges_of(view, source)
    for i in range(start, stop):
        t, _ = element(work, edges, source, i, flip, mode)
        work.dense[t] = 0
        work.mark[t] = 0


@kernel
def collect(view, work, mask, wanted, out, end, mode):
    """Append to `out`, from place `end` on, the ids whose value in slot 0 is `wanted` in `mask`.

    The ids ascend. `out` needs room for them all and for `USUAL_BITS` more, which may be written
    over. Returns the new end.
    """
    slots, result = work.slots, np.int64(0)
    if slots[result, DEFAULT] & mask == wanted:
        list_all(view, work, result, mode)
    source, start, stop, flip = extent(work, result)
    if not slots[result, SORTED] and (stop - start) * 8 > len(work.words):
        return _collect_by_bits(view, work, mask, wanted, out, end, mode)
    edges = edges_of(view, source)
    first, place = end, np.uint64(end)
    for i in range(start, stop):
        t, value = element(work, edges, source, i, flip, mode)
        out[place] = t
        place += np.uint64(value & mask == wanted)
    end = np.int64(place)
    if not slots[result, SORTED]:
        _sort(out, first, end)
    return end


@kernel
def _collect_by_bits(view, work, mask, wanted, out, end, mode):
    """As `collect`, for a large set in no order: one bit per id is set, then the bits are read."""
    source, start, stop, flip = extent(work, np.int64(0))
    edges, words, six = edges_of(view, source), work.words, np.uint64(6)
    for i in range(start, stop):
        t, value = element(work, edges, source, i, flip, mode)
        words[t >> six] |= np.uint64(value & mask == wanted) << (t & np.uint64(63))
    filled = np.uint64(0)
    for w in range(np.uint64(len(words))):
        work.rows[filled] = w
        filled += np.uint64(words[w] != 0)
    place, one, usual = np.uint64(end), np.uint64(1), np.uint64(USUAL_BITS)
    for k in range(filled):
        w = work.rows[k]
        word, base = words[w], w << six
        words[w] = np.uint64(0)
        last = place + count_ones(word)
        # The usual number of ids is written whatever the true one: a branch would be mispredicted.
        for i in range(usual):
            out[place + i] = base + lowest_one(word)
            word &= word - one
        for i in range(place + usual, last):
            out[i] = base + lowest_one(word)
            word &= word - one
        place = last
    return np.int64(place)


@kernel
def tally(view, work, counts, mode):
    """Count the entities by their value in slot 0, with the default's; for `BOOLEAN` only.

    Parameters
    ----------
    counts : (4,) int64
        Overwritten: entities in neither graph's answers, in the observed graph's only, in the full
        graph's only, in both.
    """
    result = np.int64(0)
    source, start, stop, flip = extent(work, result)
    edges = edges_of(view, source)
    observed = full = both = np.int64(0)
    for i in range(start, stop):
        value = element(work, edges, source, i, flip, mode)[1]
        observed += value & 1
        full += value >> 1
        both += value & value >> 1
    counts[1], counts[2], counts[3] = observed - both, full - both, both
    counts[0] = stop - start - counts[1:].sum()
    counts[work.slots[result, DEFAULT]] += view.n_entities - (stop - start)


@kernel
def look_up(view, work, wanted, out, mode):
    """Write into `out` the values that slot 0 gives to the ids `wanted`."""
    result = np.int64(0)
    scatter(view, work, result, mode)
    for i in range(len(wanted)):
        t = wanted[i]
        out[i] = work.dense[t] if work.mark[t] else work.slots[result, DEFAULT]
    clear(view, work, result, mode)


@kernel
def _sort(ids, first, last):
    """Sort a few distinct ids in place, by insertion if very few."""
    if last - first > 16:
        ids[first:last].sort()
        return
    for i in range(first + 1, last):
        held = ids[i]
        j = i - 1
        while j >= first and ids[j] > held:
            ids[j + 1] = ids[j]
            j -= 1
        ids[j + 1] = held
