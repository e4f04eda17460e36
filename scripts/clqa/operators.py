"""The operators of the set machine: project, its negated form, meet and join of two sets."""

import numpy as np

from clqa.adjacencies import ROW_SHIFT, find_row, relation_rows, row_extent, row_of
from clqa.kernels import inlined, kernel
from clqa.sets import (
    DEFAULT,
    LENGTH,
    POOL,
    SORTED,
    SOURCE,
    clear,
    edge_value,
    edges_of,
    element,
    extent,
    find_place,
    gather,
    join,
    list_all,
    lower_place,
    meet,
    scatter,
    spare_start,
    store,
)

# Passing over so many rows of a relation costs about as much as looking one up.
ROWS_PER_LOOK_UP = 16


@inlined
def project(view, work, slot, relation, reverse, mode):
    if work.slots[slot, DEFAULT] != 0:
        list_all(view, work, slot, mode)
    adjacency = view.heads if reverse else view.tails
    n_rows = _find_rows(view, work, adjacency, relation, slot, mode)
    out = spare_start(work)
    ids, dense, edges, one = work.ids, work.dense, adjacency.edges, np.uint64(1)
    end = np.uint64(out)
    for k in range(n_rows):
        row, value = _unpacked(work.rows[k])
        first, last = row_extent(adjacency, row, one)
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
                met = np.uint8(meet(value, edge_value(edge, mode), mode))
                old = dense[t]
                ids[end] = t
                dense[t] = max(old, met)
                end += np.uint64((old == 0) & (met != 0))
    gather(work, out, np.int64(end))
    store(work, slot, out, np.int64(end), np.int64(0), np.int64(n_rows <= 1))


@inlined
def _find_rows(view, work, adjacency, relation, slot, mode):
    """List in `work.rows` the rows that members of a set have in a relation, with their values.

    Either each member is looked up among the rows, or each row among the members, whichever is
    less work. Returns how many rows there are.
    """
    source, start, stop, flip = extent(work, slot)
    inner = edges_of(view, source)
    first, last = relation_rows(adjacency, relation)
    size = stop - start
    end = np.uint64(0)
    if np.int64(last - first) < ROWS_PER_LOOK_UP * size:
        for i in range(start, stop):
            v, value = element(work, inner, source, i, flip, mode)
            work.mark[v] = value
        for row in range(first, last):
            value = work.mark[adjacency.rows[row] >> np.uint64(ROW_SHIFT)]
            work.rows[end] = row << np.uint64(8) | np.uint64(value)
            end += np.uint64(value != 0)
        for i in range(start, stop):
            work.mark[element(work, inner, source, i, flip, mode)[0]] = 0
    else:
        for i in range(start, stop):
            v, value = element(work, inner, source, i, flip, mode)
            row, found = row_of(adjacency, v, relation)
            work.rows[end] = row << np.uint64(8) | np.uint64(value)
            end += found & np.uint64(value != 0)
    return np.int64(end)


@inlined
def _unpacked(packed):
    return packed >> np.uint64(8), np.int64(packed & np.uint64(255))


@kernel
def _linked_to_all(view, work, adjacency, relation, slot, threshold, mode, out):
    """List at `out` the entities linked to every member of a set; return their end, -1 for all.

    In `BOOLEAN` the members and edges are those that hold the bit `threshold`, in `COST` members
    are those of at least that value.
    """
    source, start, stop, flip = extent(work, slot)
    inner = edges_of(view, source)
    end = np.int64(-1)
    for i in range(start, stop):
        v, value = element(work, inner, source, i, flip, mode)
        if (value & threshold == 0) if mode == 0 else (value < threshold):
            continue
        first, last = find_row(adjacency, v, relation)
        if end < 0:
            end = out
            for j in range(first, last):
                edge = np.uint64(adjacency.edges[j])
                if mode == 1 or edge_value(edge, mode) & threshold:
                    work.ids[end] = edge >> np.uint64(1)
                    end += 1
        else:
            kept = out
            for k in range(out, end):
                j = find_place(adjacency.edges, 1, first, last - first, work.ids[k])
                if j >= 0 and (
                    mode == 1 or edge_value(np.uint64(adjacency.edges[j]), mode) & threshold
                ):
                    work.ids[kept] = work.ids[k]
                    kept += 1
            end = kept
        if end == out:
            break
    return end


@kernel
def project_negated(view, work, slot, relation, reverse, mode):
    """Entities that some member is not linked to: level by level the complement of 'all'."""
    if work.slots[slot, DEFAULT] != 0:
        list_all(view, work, slot, mode)
    adjacency = view.heads if reverse else view.tails
    out = spare_start(work)
    listed, default = out, np.int64(0)
    for level in range(2 if mode == 0 else 256 - _least_value(view, work, slot, mode)):
        threshold = 1 << level if mode == 0 else 255 - level
        end = _linked_to_all(view, work, adjacency, relation, slot, threshold, mode, listed)
        if end >= 0:
            listed = _note_level(work, default, threshold, mode, out, listed, end)
            default = join(default, threshold, mode)
    for i in range(out, listed):
        t = work.ids[i]
        work.values[i] = work.dense[t]
        work.dense[t] = 0
        work.mark[t] = 0
    store(work, slot, out, listed, default, np.int64(0))


@kernel
def _least_value(view, work, slot, mode):
    """Smallest value of a member of a set; 256 if it has none."""
    source, start, stop, flip = extent(work, slot)
    edges = edges_of(view, source)
    least = np.int64(256)
    for i in range(start, stop):
        _, value = element(work, edges, source, i, flip, mode)
        if 0 < value < least:
            least = value
    return least


@kernel
def _note_level(work, default, threshold, mode, out, listed, end):
    """Give every entity outside the ids from `listed` to `end` the value of the level.

    Ids that are new are listed, with what the levels before gave to all. Returns their end.
    """
    for k in range(listed, end):
        work.mark[work.ids[k]] |= 2
    for k in range(out, listed):
        t = work.ids[k]
        if work.mark[t] & 2 == 0:
            work.dense[t] = join(work.dense[t], threshold, mode)
    kept = listed
    for k in range(listed, end):
        t = work.ids[k]
        if work.mark[t] & 1 == 0:
            work.dense[t] = default
            work.ids[kept] = t
            kept += 1
        work.mark[t] = 1
    return kept


@inlined
def intersect(view, work, a, b, mode):
    """Meet of two sets, stored in slot `a`."""
    slots = work.slots
    if slots[a, DEFAULT] != 0 and slots[b, DEFAULT] != 0:
        _merge(view, work, a, b, mode, True)
        return
    walked, probed = a, b
    both_sparse = slots[a, DEFAULT] == 0 and slots[b, DEFAULT] == 0
    if slots[a, DEFAULT] != 0 or (both_sparse and slots[a, LENGTH] > slots[b, LENGTH]):
        walked, probed = b, a
    is_row = slots[probed, SOURCE] != POOL
    if (
        is_row
        and slots[probed, LENGTH] > 0
        and _is_search_cheaper(slots[walked, LENGTH], slots[probed, LENGTH])
    ):
        _probe_by_search(view, work, walked, probed, a, mode)
        return
    if both_sparse:
        walked, probed = probed, walked
    _probe(view, work, walked, probed, a, mode)


@inlined
def _is_search_cheaper(n_walked, n_probed):
    """Whether so many binary searches cost less than writing the other set down and clearing it."""
    steps = 2
    while (1 << steps) < n_probed:
        steps += 1
    return n_walked * (steps + 2) < n_probed


@inlined
def _probe(view, work, walked, probed, target, mode):
    """Meet of a set with default 0 and another one, which is written down to be looked up."""
    default = work.slots[probed, DEFAULT]
    source, start, stop, flip = extent(work, probed)
    edges = edges_of(view, source)
    for i in range(start, stop):
        t, value = element(work, edges, source, i, flip, mode)
        work.dense[t] = value ^ default
    out = spare_start(work)
    end = np.uint64(out)
    source, start, stop, flip = extent(work, walked)
    edges = edges_of(view, source)
    for i in range(start, stop):
        t, value = element(work, edges, source, i, flip, mode)
        met = meet(value, np.int64(work.dense[t]) ^ default, mode)
        work.ids[end] = t
        work.values[end] = met
        end += np.uint64(met != 0)
    source, start, stop, flip = extent(work, probed)
    edges = edges_of(view, source)
    for i in range(start, stop):
        work.dense[element(work, edges, source, i, flip, mode)[0]] = 0
    ascending = work.slots[walked, SORTED]
    store(work, target, out, np.int64(end), np.int64(0), ascending)


@inlined
def _probe_by_search(view, work, walked, probed, target, mode):
    """Meet of a small set with default 0 and a row of the graph, whose ids ascend."""
    slots = work.slots
    row_source, row_start, row_stop, row_flip = extent(work, probed)
    row_edges = edges_of(view, row_source)
    out = spare_start(work)
    end = np.uint64(out)
    source, start, stop, flip = extent(work, walked)
    edges = edges_of(view, source)
    default, n_row = slots[probed, DEFAULT], row_stop - row_start
    for i in range(start, stop):
        t, value = element(work, edges, source, i, flip, mode)
        place = lower_place(row_edges, 1, row_start, n_row, t)
        found, there = element(work, row_edges, row_source, place, row_flip, mode)
        met = meet(value, there if found == t else default, mode)
        work.ids[end] = t
        work.values[end] = met
        end += np.uint64(met != 0)
    ascending = slots[walked, SORTED]
    store(work, target, out, np.int64(end), np.int64(0), ascending)


@kernel
def unite(view, work, a, b, mode):
    """Join of two sets, stored in slot `a`."""
    slots = work.slots
    if slots[a, DEFAULT] != 0 or slots[b, DEFAULT] != 0:
        _merge(view, work, a, b, mode, False)
        return
    out = spare_start(work)
    end = np.uint64(out)
    for slot in (a, b):
        source, start, stop, flip = extent(work, slot)
        edges = edges_of(view, source)
        for i in range(start, stop):
            t, value = element(work, edges, source, i, flip, mode)
            old = work.dense[t]
            work.ids[end] = t
            work.dense[t] = join(old, value, mode)
            end += np.uint64((old == 0) & (value != 0))
    gather(work, out, np.int64(end))
    store(work, a, out, np.int64(end), np.int64(0), np.int64(0))


@kernel
def _merge(view, work, a, b, mode, conjunction):
    """Meet or join of two sets with any defaults, stored in slot `a`."""
    slots = work.slots
    default_a, default_b = slots[a, DEFAULT], slots[b, DEFAULT]
    default = meet(default_a, default_b, mode) if conjunction else join(default_a, default_b, mode)
    scatter(view, work, b, mode)
    out = spare_start(work)
    end = out
    source, start, stop, flip = extent(work, a)
    edges = edges_of(view, source)
    for i in range(start, stop):
        t, mine = element(work, edges, source, i, flip, mode)
        other = default_b
        if work.mark[t]:
            other = np.int64(work.dense[t])
            work.mark[t] = 3
        value = meet(mine, other, mode) if conjunction else join(mine, other, mode)
        work.ids[end] = t
        work.values[end] = value
        end += value != default
    source, start, stop, flip = extent(work, b)
    edges = edges_of(view, source)
    for i in range(start, stop):
        t, other = element(work, edges, source, i, flip, mode)
        if work.mark[t] == 1:
            value = meet(default_a, other, mode) if conjunction else join(default_a, other, mode)
            work.ids[end] = t
            work.values[end] = value
            end += value != default
    clear(view, work, b, mode)
    store(work, a, out, end, default, np.int64(0))
