"""The set machine: programs of `clqa.plans` run query by query over an `Adjacency`.

A set gives a value to every entity: explicit pairs (id, value) in no fixed order, and one default
value for all other entities, so that a complement costs nothing until somebody lists it. Values
are bytes with 0 for "not in the set", in one of two algebras:

* `BOOLEAN`: bit 1 for the observed and bit 2 for the full graph, so that one run answers a query on the
  observed and on the full graph; join is `|`, meet is `&`.
* `COST`: 255 minus the smallest number of missing links with which the full graph gives the
  entity; join is `max`, meet adds the costs. Complements are taken on the full graph.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from clqa.graphs import PLACE_MASK, RELATION_SHIFT
from clqa.plans import (
    ANCHOR,
    COMPLEMENT,
    EVERYTHING,
    HOP,
    INTERSECT,
    PROJECT,
    PROJECT_NEGATED,
    stack_depth,
)

BOOLEAN, COST = 0, 1
FREE_OF_COST = 255

# Columns of a slot: where a set lies (pool, tails, heads), its first place and length, the value
# of all other entities, whether explicit values are to be complemented, whether its ids ascend,
# and which region of the pool is its own.
_SOURCE, _START, _LENGTH, _DEFAULT, _FLIP, _SORTED, _REGION = range(7)
_POOL, _TAILS, _HEADS = 0, 1, 2


class Scratch(NamedTuple):
    """Working memory of one thread; all dense arrays are zero between steps."""

    ids: np.ndarray
    values: np.ndarray
    dense: np.ndarray
    mark: np.ndarray
    words: np.ndarray
    slots: np.ndarray


def scratch(n_entities: int, *programs: np.ndarray) -> Scratch:
    """Working memory for programs over a graph; pages are touched only as sets grow."""
    depth = max(stack_depth(steps) for steps in programs)
    # A negated projection lists two sets, one behind the other, in one region.
    widest = 2 if any(PROJECT_NEGATED in steps[:, 0] for steps in programs) else 1
    size = (depth + 2) * widest * (n_entities + 1)
    slots = np.zeros((depth + 2, 7), np.int64)
    slots[:, _REGION] = np.arange(depth + 2)
    return Scratch(
        ids=np.empty(size, np.int32),
        values=np.empty(size, np.uint8),
        dense=np.zeros(n_entities + 1, np.uint8),
        mark=np.zeros(n_entities + 1, np.uint8),
        words=np.zeros(n_entities // 64 + 1, np.uint64),
        slots=slots,
    )


@njit(cache=True)
def _join(a, b, mode):
    a, b = np.int64(a), np.int64(b)
    return a | b if mode == 0 else max(a, b)


@njit(cache=True)
def _meet(a, b, mode):
    a, b = np.int64(a), np.int64(b)
    return a & b if mode == 0 else max(a + b - 255, 0)


@njit(cache=True)
def _flipped(value, mode):
    value = np.int64(value)
    return value ^ 3 if mode == 0 else (255 if value == 0 else 0)


@njit(cache=True)
def find_row(adjacency, entity, relation):
    """First and past-the-last place of the edges of (entity, relation); equal if it has none."""
    one, entity, relation = np.uint64(1), np.uint64(entity), np.uint64(relation)
    if not adjacency.entities[entity, 1] >> (relation & np.uint64(63)) & one:
        return np.uint64(0), np.uint64(0)
    low = adjacency.entities[entity, 0]
    size = adjacency.entities[entity + one, 0] - low
    past = (relation + one) << np.uint64(RELATION_SHIFT)
    while size > one:
        half = size >> one
        low += half * np.uint64(adjacency.rows[low + half] < past)
        size -= half
    row = adjacency.rows[low]
    if row >> np.uint64(RELATION_SHIFT) == relation:
        mask = np.uint64(PLACE_MASK)
        return row & mask, adjacency.rows[low + one] & mask
    return np.uint64(0), np.uint64(0)


@njit(cache=True)
def _place(packed, shift, start, length, wanted):
    """Place of the id `wanted` among ascending ones, kept from bit `shift` on, or -1."""
    low, size, one = np.uint64(start), np.uint64(length), np.uint64(1)
    past = (np.uint64(wanted) + one) << np.uint64(shift)
    while size > one:
        half = size >> one
        low += half * np.uint64(packed[low + half] < past)
        size -= half
    if size == one and packed[low] >> shift == wanted:
        return np.int64(low)
    return np.int64(-1)


@njit(cache=True)
def _edges_of(view, source):
    return view.heads.edges if source == _HEADS else view.tails.edges


@njit(cache=True)
def _element(work, edges, source, i, flip, mode):
    """Id and value of the element at place i of a set."""
    if source == _POOL:
        t, value = np.uint64(work.ids[i]), np.int64(work.values[i])
    else:
        edge = np.uint64(edges[i])
        t, value = edge >> np.uint64(1), _edge_value(edge, mode)
    return t, _flipped(value, mode) if flip else value


@njit(cache=True)
def _edge_value(edge, mode):
    """An edge is in the full graph, and in the observed one, or free of cost, if its bit is set."""
    return np.int64((2 if mode == 0 else 254) | (edge & np.uint64(1)))


@njit(cache=True)
def _store(work, slot, start, end, default, ascending):
    """Make the spare region, filled from `start` to `end`, the content of a slot."""
    slots = work.slots
    spare = slots.shape[0] - 1
    region = slots[slot, _REGION]
    slots[slot, _REGION] = slots[spare, _REGION]
    slots[spare, _REGION] = region
    slots[slot, _SOURCE] = _POOL
    slots[slot, _START] = start
    slots[slot, _LENGTH] = end - start
    slots[slot, _DEFAULT] = default
    slots[slot, _FLIP] = 0
    slots[slot, _SORTED] = ascending


@njit(cache=True)
def _spare_start(work):
    regions = work.slots.shape[0]
    return work.slots[regions - 1, _REGION] * (work.ids.shape[0] // regions)


@njit(cache=True)
def _extent(work, slot):
    """Source, first place, past-the-last place and flip of a set."""
    slots = work.slots
    start = slots[slot, _START]
    return slots[slot, _SOURCE], start, start + slots[slot, _LENGTH], slots[slot, _FLIP]


@njit(cache=True)
def _hop(view, work, slot, relation, reverse, entity):
    if reverse:
        start, end = find_row(view.heads, entity, relation)
    else:
        start, end = find_row(view.tails, entity, relation)
    slots = work.slots
    slots[slot, _SOURCE] = _HEADS if reverse else _TAILS
    slots[slot, _START] = np.int64(start)
    slots[slot, _LENGTH] = np.int64(end - start)
    slots[slot, _DEFAULT] = 0
    slots[slot, _FLIP] = 0
    slots[slot, _SORTED] = 1


@njit(cache=True)
def _list_all(view, work, slot, mode):
    """Make a set with a default explicit for every entity."""
    source, start, end, flip = _extent(work, slot)
    edges = _edges_of(view, source)
    out = _spare_start(work)
    for v in range(view.n_entities):
        work.ids[out + v] = v
        work.values[out + v] = work.slots[slot, _DEFAULT]
    for i in range(start, end):
        t, value = _element(work, edges, source, i, flip, mode)
        work.values[np.uint64(out) + t] = value
    _store(work, slot, out, out + view.n_entities, np.int64(0), np.int64(1))


@njit(cache=True)
def _project(view, work, slot, relation, reverse, mode):
    if work.slots[slot, _DEFAULT] != 0:
        _list_all(view, work, slot, mode)
    adjacency = view.heads if reverse else view.tails
    source, start, stop, flip = _extent(work, slot)
    inner = _edges_of(view, source)
    out = _spare_start(work)
    ids, dense, edges, one = work.ids, work.dense, adjacency.edges, np.uint64(1)
    end = np.uint64(out)
    for i in range(start, stop):
        v, value = _element(work, inner, source, i, flip, mode)
        first, last = find_row(adjacency, v, relation)
        if mode == 0:
            for j in range(first, last):
                edge = np.uint64(edges[j])
                t = edge >> one
                met = np.uint8(value & (np.int64(2) | np.int64(edge & one)))
                old = dense[t]
                ids[end] = t
                dense[t] = old | met
                end += np.uint64((old == 0) & (met != 0))
        else:
            for j in range(first, last):
                edge = np.uint64(edges[j])
                t = edge >> one
                met = np.uint8(_meet(value, _edge_value(edge, mode), mode))
                old = dense[t]
                ids[end] = t
                dense[t] = max(old, met)
                end += np.uint64((old == 0) & (met != 0))
    _gather(work, out, np.int64(end))
    _store(work, slot, out, np.int64(end), np.int64(0), np.int64(stop - start == 1))


@njit(cache=True)
def _gather(work, out, end):
    """Read the values of the listed ids back from the dense array and clear it."""
    for i in range(np.uint64(out), np.uint64(end)):
        t = np.uint64(work.ids[i])
        work.values[i] = work.dense[t]
        work.dense[t] = 0


@njit(cache=True)
def _linked_to_all(view, work, adjacency, relation, slot, threshold, mode, out):
    """List at `out` the entities linked to every member of a set; return their end, -1 for all.

    In `BOOLEAN` the members and edges are those that hold the bit `threshold`, in `COST` members
    are those of at least that value.
    """
    source, start, stop, flip = _extent(work, slot)
    inner = _edges_of(view, source)
    end = np.int64(-1)
    for i in range(start, stop):
        v, value = _element(work, inner, source, i, flip, mode)
        if (value & threshold == 0) if mode == 0 else (value < threshold):
            continue
        first, last = find_row(adjacency, v, relation)
        if end < 0:
            end = out
            for j in range(first, last):
                edge = np.uint64(adjacency.edges[j])
                if mode == 1 or _edge_value(edge, mode) & threshold:
                    work.ids[end] = edge >> np.uint64(1)
                    end += 1
        else:
            kept = out
            for k in range(out, end):
                j = _place(adjacency.edges, 1, first, last - first, work.ids[k])
                if j >= 0 and (
                    mode == 1 or _edge_value(np.uint64(adjacency.edges[j]), mode) & threshold
                ):
                    work.ids[kept] = work.ids[k]
                    kept += 1
            end = kept
        if end == out:
            break
    return end


@njit(cache=True)
def _project_negated(view, work, slot, relation, reverse, mode):
    """Entities that some member is not linked to: level by level the complement of 'all'."""
    if work.slots[slot, _DEFAULT] != 0:
        _list_all(view, work, slot, mode)
    adjacency = view.heads if reverse else view.tails
    out = _spare_start(work)
    listed, default = out, np.int64(0)
    for level in range(2 if mode == 0 else 256 - _least_value(view, work, slot, mode)):
        threshold = 1 << level if mode == 0 else 255 - level
        end = _linked_to_all(view, work, adjacency, relation, slot, threshold, mode, listed)
        if end >= 0:
            listed = _note_level(work, default, threshold, mode, out, listed, end)
            default = _join(default, threshold, mode)
    for i in range(out, listed):
        t = work.ids[i]
        work.values[i] = work.dense[t]
        work.dense[t] = 0
        work.mark[t] = 0
    _store(work, slot, out, listed, default, np.int64(0))


@njit(cache=True)
def _least_value(view, work, slot, mode):
    """Smallest value of a member of a set; 256 if it has none."""
    source, start, stop, flip = _extent(work, slot)
    edges = _edges_of(view, source)
    least = np.int64(256)
    for i in range(start, stop):
        _, value = _element(work, edges, source, i, flip, mode)
        if 0 < value < least:
            least = value
    return least


@njit(cache=True)
def _note_level(work, default, threshold, mode, out, listed, end):
    """Give every entity outside the ids from `listed` to `end` the value of the level.

    Ids that are new are listed, with what the levels before gave to all. Returns their end.
    """
    for k in range(listed, end):
        work.mark[work.ids[k]] |= 2
    for k in range(out, listed):
        t = work.ids[k]
        if work.mark[t] & 2 == 0:
            work.dense[t] = _join(work.dense[t], threshold, mode)
    kept = listed
    for k in range(listed, end):
        t = work.ids[k]
        if work.mark[t] & 1 == 0:
            work.dense[t] = default
            work.ids[kept] = t
            kept += 1
        work.mark[t] = 1
    return kept


@njit(cache=True)
def _scatter(view, work, slot, mode):
    """Write a set into the dense arrays."""
    source, start, stop, flip = _extent(work, slot)
    edges = _edges_of(view, source)
    for i in range(start, stop):
        t, value = _element(work, edges, source, i, flip, mode)
        work.dense[t] = value
        work.mark[t] = 1


@njit(cache=True)
def _clear(view, work, slot, mode):
    """Take a set out of the dense arrays."""
    source, start, stop, flip = _extent(work, slot)
    edges = _edges_of(view, source)
    for i in range(start, stop):
        t, _ = _element(work, edges, source, i, flip, mode)
        work.dense[t] = 0
        work.mark[t] = 0


@njit(cache=True)
def _intersect(view, work, a, b, mode):
    """Meet of two sets, stored in slot `a`."""
    slots = work.slots
    if slots[a, _DEFAULT] != 0 and slots[b, _DEFAULT] != 0:
        _merge(view, work, a, b, mode, True)
        return
    walked, probed = a, b
    if slots[a, _DEFAULT] != 0:
        walked, probed = b, a
    elif slots[b, _DEFAULT] == 0:
        smaller = a if slots[a, _LENGTH] <= slots[b, _LENGTH] else b
        larger = a + b - smaller
        walked, probed = (smaller, larger) if slots[larger, _SORTED] else (larger, smaller)
    _probe(view, work, walked, probed, a, mode)


@njit(cache=True)
def _probe(view, work, walked, probed, target, mode):
    """Meet of a set with default 0, walked, and another one, looked up; stored in `target`."""
    slots = work.slots
    source, start, stop, flip = _extent(work, walked)
    edges = _edges_of(view, source)
    other_source, other_start, other_stop, other_flip = _extent(work, probed)
    other_edges, other_default = _edges_of(view, other_source), slots[probed, _DEFAULT]
    other_length = other_stop - other_start
    steps = 2
    while (1 << steps) < other_length:
        steps += 1
    search = (
        other_source != _POOL
        and (stop - start) * steps < 2 * other_length + (stop - start)
    )
    if not search:
        _scatter(view, work, probed, mode)
    out = _spare_start(work)
    end = np.uint64(out)
    for i in range(start, stop):
        t, value = _element(work, edges, source, i, flip, mode)
        met = other_default
        if search:
            place = _place(other_edges, 1, other_start, other_length, t)
            if place >= 0:
                met = _element(work, other_edges, other_source, place, other_flip, mode)[1]
        elif work.mark[t]:
            met = np.int64(work.dense[t])
        met = _meet(value, met, mode)
        work.ids[end] = t
        work.values[end] = met
        end += np.uint64(met != 0)
    if not search:
        _clear(view, work, probed, mode)
    _store(work, target, out, np.int64(end), np.int64(0), slots[walked, _SORTED])


@njit(cache=True)
def _unite(view, work, a, b, mode):
    """Join of two sets, stored in slot `a`."""
    slots = work.slots
    if slots[a, _DEFAULT] != 0 or slots[b, _DEFAULT] != 0:
        _merge(view, work, a, b, mode, False)
        return
    out = _spare_start(work)
    end = np.uint64(out)
    for slot in (a, b):
        source, start, stop, flip = _extent(work, slot)
        edges = _edges_of(view, source)
        for i in range(start, stop):
            t, value = _element(work, edges, source, i, flip, mode)
            old = work.dense[t]
            work.ids[end] = t
            work.dense[t] = _join(old, value, mode)
            end += np.uint64((old == 0) & (value != 0))
    _gather(work, out, np.int64(end))
    _store(work, a, out, np.int64(end), np.int64(0), np.int64(0))


@njit(cache=True)
def _merge(view, work, a, b, mode, meet):
    """Meet or join of two sets with any defaults, stored in slot `a`."""
    slots = work.slots
    default_a, default_b = slots[a, _DEFAULT], slots[b, _DEFAULT]
    default = _meet(default_a, default_b, mode) if meet else _join(default_a, default_b, mode)
    _scatter(view, work, b, mode)
    out = _spare_start(work)
    end = out
    source, start, stop, flip = _extent(work, a)
    edges = _edges_of(view, source)
    for i in range(start, stop):
        t, mine = _element(work, edges, source, i, flip, mode)
        other = default_b
        if work.mark[t]:
            other = np.int64(work.dense[t])
            work.mark[t] = 3
        value = _meet(mine, other, mode) if meet else _join(mine, other, mode)
        work.ids[end] = t
        work.values[end] = value
        end += value != default
    source, start, stop, flip = _extent(work, b)
    edges = _edges_of(view, source)
    for i in range(start, stop):
        t, other = _element(work, edges, source, i, flip, mode)
        if work.mark[t] == 1:
            value = _meet(default_a, other, mode) if meet else _join(default_a, other, mode)
            work.ids[end] = t
            work.values[end] = value
            end += value != default
    _clear(view, work, b, mode)
    _store(work, a, out, end, default, np.int64(0))


@njit(cache=True)
def _fold(view, work, base, count, mode, meet):
    """Fold the sets from slot `base` on into `base`; meets begin with the smallest sets."""
    slots = work.slots
    for done in range(1, count):
        if meet and done == 1:
            _swap(slots, base, _smallest(slots, base, base + count))
        if meet:
            _swap(slots, base + done, _smallest(slots, base + done, base + count))
            _intersect(view, work, base, base + done, mode)
        else:
            _unite(view, work, base, base + done, mode)


@njit(cache=True)
def _smallest(slots, first, last):
    best = first
    for slot in range(first + 1, last):
        sparse = slots[slot, _DEFAULT] == 0
        best_sparse = slots[best, _DEFAULT] == 0
        if sparse > best_sparse or (
            sparse == best_sparse and slots[slot, _LENGTH] < slots[best, _LENGTH]
        ):
            best = slot
    return best


@njit(cache=True)
def _swap(slots, a, b):
    if a != b:
        for column in range(slots.shape[1]):
            kept = slots[a, column]
            slots[a, column] = slots[b, column]
            slots[b, column] = kept


@njit(cache=True)
def evaluate(view, work, steps, anchors, relations, mode):
    """Run a program for one query; the result is left in slot 0.

    Parameters
    ----------
    view : View
    steps : (n_steps, 3) int32
    anchors, relations : 1-d int32
    """
    slots = work.slots
    top = np.int64(-1)
    for k in range(steps.shape[0]):
        step, argument = steps[k, 0], np.int64(steps[k, 1])
        reverse = argument < 0
        if step == HOP:
            top += 1
            relation = relations[-1 - argument if reverse else argument]
            _hop(view, work, top, relation, reverse, anchors[steps[k, 2]])
        elif step == PROJECT:
            relation = relations[-1 - argument if reverse else argument]
            _project(view, work, top, relation, reverse, mode)
        elif step == PROJECT_NEGATED:
            relation = relations[-1 - argument if reverse else argument]
            _project_negated(view, work, top, relation, reverse, mode)
        elif step == COMPLEMENT:
            slots[top, _FLIP] ^= 1
            slots[top, _DEFAULT] = _flipped(slots[top, _DEFAULT], mode)
        elif step == ANCHOR or step == EVERYTHING:
            top += 1
            one = np.int64(3 if mode == 0 else 255)
            out = _spare_start(work)
            size = np.int64(step == ANCHOR)
            if size:
                work.ids[out] = anchors[argument]
                work.values[out] = one
            _store(work, top, out, out + size, one * (1 - size), np.int64(1))
        else:
            top -= argument - 1
            _fold(view, work, top, argument, mode, step == INTERSECT)


@njit(cache=True)
def collect(view, work, mask, wanted, out, end, mode):
    """Append to `out`, from place `end` on, the ids whose value in slot 0 is `wanted` in `mask`.

    The ids ascend. `out` needs room for them all. Returns the new end.
    """
    slots, result = work.slots, np.int64(0)
    if slots[result, _DEFAULT] & mask == wanted:
        _list_all(view, work, result, mode)
    source, start, stop, flip = _extent(work, result)
    edges = _edges_of(view, source)
    first, place = end, np.uint64(end)
    for i in range(start, stop):
        t, value = _element(work, edges, source, i, flip, mode)
        out[place] = t
        place += np.uint64(value & mask == wanted)
    end = np.int64(place)
    if not slots[result, _SORTED]:
        _sort(out, first, end, work.words)
    return end


@njit(cache=True)
def tally(view, work, counts, mode):
    """Count the entities by their value in slot 0, with the default's; for `BOOLEAN` only.

    Parameters
    ----------
    counts : (4,) int64
        Overwritten: entities in neither graph's answers, in the observed graph's only, in the full
        graph's only, in both.
    """
    result = np.int64(0)
    source, start, stop, flip = _extent(work, result)
    edges = _edges_of(view, source)
    counts[:] = 0
    for i in range(start, stop):
        counts[np.uint64(_element(work, edges, source, i, flip, mode)[1])] += 1
    counts[work.slots[result, _DEFAULT]] += view.n_entities - (stop - start)


@njit(cache=True)
def look_up(view, work, wanted, out, mode):
    """Write into `out` the values that slot 0 gives to the ids `wanted`."""
    result = np.int64(0)
    _scatter(view, work, result, mode)
    for i in range(len(wanted)):
        t = wanted[i]
        out[i] = work.dense[t] if work.mark[t] else work.slots[result, _DEFAULT]
    _clear(view, work, result, mode)


@njit(cache=True)
def _sort(ids, first, last, words):
    """Sort distinct ids in place: by insertion if few, else by setting and reading bits."""
    size = last - first
    if size <= 16:
        for i in range(first + 1, last):
            held = ids[i]
            j = i - 1
            while j >= first and ids[j] > held:
                ids[j + 1] = ids[j]
                j -= 1
            ids[j + 1] = held
    elif size * 8 > len(words):
        _sort_by_bits(ids, first, last, words)
    else:
        ids[first:last].sort()


_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_PLACES = np.zeros(64, np.int32)
for _place_of_bit in range(64):
    _product = (int(_DE_BRUIJN) << _place_of_bit) & (2**64 - 1)
    _BIT_PLACES[_product >> 58] = _place_of_bit


@njit(cache=True)
def _sort_by_bits(ids, first, last, words):
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(first, last):
        t = np.uint64(ids[i])
        words[t >> six] |= one << (t & low_bits)
    end = np.uint64(first)
    for w in range(len(words)):
        word = words[w]
        while word != np.uint64(0):
            lowest = word & (~word + one)
            place = (lowest * _DE_BRUIJN) >> np.uint64(58)
            ids[end] = (w << 6) + _BIT_PLACES[place]
            end += one
            word ^= lowest
        words[w] = np.uint64(0)
