"""Partial bindings of variables, each with a value: how a table of them grows by one variable.

Values are words of 64 bits in one of two algebras; alternatives unite by `|` in both.

* `BOOLEAN`: bit 1 for the observed and bit 2 for the full graph. A conjunction is `&`.
* `MARKINGS`: bit m says that some witness has the marking m, as in `clqa.markings`. A missing edge
  shifts the word by what its atom says; a conjunction adds every marking of one word to every
  marking of the other. Where all atoms shift by 1, markings are numbers of missing edges.
"""

from typing import NamedTuple

import numpy as np

from clqa.adjacencies import find_row
from clqa.bits import lowest_one
from clqa.join_plans import HEAD, NEGATED, RELATION, TAIL
from clqa.kernels import inlined, kernel
from clqa.row_tables import row_slot
from clqa.sets import lower_place

BOOLEAN, MARKINGS = 0, 1
NOTHING = np.uint64(0)

# What becomes of the new variable and the others: all are kept; the new one is only asked whether
# it has a value; one variable is kept, which is not the new one alone or follows others that are
# dropped; several are kept, and some are dropped.
KEEP, ASK, ONE, SOME = range(4)

# So many values are tried together.
BLOCK = 256
SEARCH_COST = 8


class Table(NamedTuple):
    """Distinct partial bindings; it is replaced by a larger one where it is full.

    Attributes
    ----------
    rows : (room, n_variables) int32
        Entity of each variable, 0 for those that are not bound.
    values : (room,) uint64
    slots : (a power of 2,) int64
        Hash table of rows, -1 for gaps; empty between steps.
    places : (room,) int64
        Where each row is in the hash table.
    """

    rows: np.ndarray
    values: np.ndarray
    slots: np.ndarray
    places: np.ndarray


class Desk(NamedTuple):
    """Working memory of one thread, for one query at a time.

    Attributes
    ----------
    factors : (n_variables, n_entities) uint64
        What each variable's domain gives to its members; 0 for all others.
    members : (n_variables, n_entities) int32
    sizes : (n_variables,) int64
        Members of each domain, -1 where every entity may be a value.
    sums : (n_entities,) uint64
        Zero between steps.
    bound, done, gone : bool
        Which variables the table has, which atoms hold in it, which variables are eliminated.
    links : (n_atoms, 3) int64
        Atoms that a step applies, whether the new variable is their head, and their other term.
    spans : (n_atoms, 2) int64
        Where the edges of each begin and end.
    ids, values : (BLOCK,) int64 and uint64
        What is tried for the new variable.
    """

    factors: np.ndarray
    members: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray
    bound: np.ndarray
    done: np.ndarray
    gone: np.ndarray
    links: np.ndarray
    spans: np.ndarray
    ids: np.ndarray
    values: np.ndarray


class Query(NamedTuple):
    """One conjunction of one query.

    Attributes
    ----------
    atoms : (n_atoms, 6) int32
        See `clqa.join_plans`.
    shifts : (n_atoms,) uint64
        By what a missing edge of each atom shifts a word, in `MARKINGS`.
    anchors, relations : 1-d int32
    """

    atoms: np.ndarray
    shifts: np.ndarray
    anchors: np.ndarray
    relations: np.ndarray


def table(n_variables: int, room: int = 1 << 10) -> Table:
    return Table(
        np.zeros((room, n_variables), np.int32),
        np.zeros(room, np.uint64),
        np.full(2 * room, -1, np.int64),
        np.zeros(room, np.int64),
    )


def desk(n_variables: int, n_atoms: int, n_entities: int) -> Desk:
    """Working memory; pages are touched only as domains grow."""
    return Desk(
        factors=np.zeros((n_variables, n_entities), np.uint64),
        members=np.empty((n_variables, n_entities), np.int32),
        sizes=np.full(n_variables, -1, np.int64),
        sums=np.zeros(n_entities, np.uint64),
        bound=np.zeros(n_variables, np.bool_),
        done=np.zeros(n_atoms, np.bool_),
        gone=np.zeros(n_variables, np.bool_),
        links=np.zeros((n_atoms, 3), np.int64),
        spans=np.zeros((n_atoms, 2), np.int64),
        ids=np.zeros(BLOCK, np.int64),
        values=np.zeros(BLOCK, np.uint64),
    )


@inlined
def full_value(mode):
    """The value of what is true at no cost."""
    return np.uint64(3 if mode == BOOLEAN else 1)


@inlined
def over_edge(value, observed, shift, mode):
    if mode == BOOLEAN:
        return value & (np.uint64(2) | observed)
    return value if observed else value << shift


@inlined
def over_no_edge(value, observed, mode):
    """An edge is there that must not be."""
    return value & np.uint64(1 - observed) if mode == BOOLEAN else NOTHING


@inlined
def met(one, other, mode):
    if mode == BOOLEAN:
        return one & other
    found = NOTHING
    while other != NOTHING:
        found |= one << lowest_one(other)
        other &= other - np.uint64(1)
    return found


@kernel
def grown(full, is_hashed, end):
    """The table with twice the room, at least `BLOCK` more; its first `end` rows are kept."""
    room, width = full.rows.shape
    wider = Table(
        np.zeros((2 * room, width), np.int32),
        np.zeros(2 * room, np.uint64),
        np.full(4 * room, -1, np.int64),
        np.zeros(2 * room, np.int64),
    )
    wider.rows[:end] = full.rows[:end]
    wider.values[:end] = full.values[:end]
    if is_hashed:
        for i in range(end):
            place = row_slot(wider.slots, wider.rows, wider.rows[i])
            wider.slots[place] = i
            wider.places[i] = place
    return wider


@kernel
def choose_links(desk, atoms, v):
    """List the open atoms between `v` and what is bound, positive ones first; count them."""
    n_links = n_positive = np.int64(0)
    for sign in range(2):
        for a in range(len(atoms)):
            if desk.done[a] or atoms[a, NEGATED] != sign:
                continue
            head, tail = atoms[a, HEAD], atoms[a, TAIL]
            if v not in (head, tail):
                continue
            other = tail if head == v else head
            if other < 0 or desk.bound[other]:
                desk.links[n_links, 0] = a
                desk.links[n_links, 1] = head == v
                desk.links[n_links, 2] = other
                n_links += 1
        if sign == 0:
            n_positive = n_links
    return n_links, n_positive


@kernel
def extend(view, desk, source, n, target, query, v, kind, kept, mode, room):
    """Bind one more variable in every row of a table, by all open atoms that it has with the rest.

    Parameters
    ----------
    source, target : Table
        The first `n` rows of `source` are read. `target` is filled, or with `ASK` the source.
    query : Query
    kept : (n_kept,) int64
        The variables that remain, for `ONE` and `SOME`.
    room : int
        Partial bindings that may be tried.

    Returns
    -------
    target : Table
    end : int64
        Its number of rows.
    tried : int64
        Partial bindings tried. If they are more than `room`, the table is of no use.
    """
    n_links, n_positive = choose_links(desk, query.atoms, v)
    # Records are taken apart before the loops: to hand them over costs more than the lines inside.
    tails, heads, anchors, shifts = view.tails, view.heads, query.anchors, query.shifts
    tail_edges, head_edges = tails.edges, heads.edges
    relations = query.relations[query.atoms[:, RELATION]]
    rows, in_values, sums, size = source.rows, source.values, desk.sums, desk.sizes[v]
    members, factors = desk.members[v], desk.factors[v]
    links, spans, ids, values = desk.links, desk.spans, desk.ids, desk.values
    out_rows, out_values = target.rows, target.values
    tried = end = np.int64(0)
    width, key = rows.shape[1], np.int64(-1) if len(kept) == 0 else kept[0]
    for i in range(n):
        least, shortest = size, np.int64(-1)
        for k in range(n_links):
            a, other = links[k, 0], links[k, 2]
            entity = anchors[-1 - other] if other < 0 else rows[i, other]
            if links[k, 1]:
                first, last = find_row(heads, entity, relations[a])
            else:
                first, last = find_row(tails, entity, relations[a])
            spans[k, 0], spans[k, 1] = np.int64(first), np.int64(last)
            length = np.int64(last) - np.int64(first)
            # Edges are read in less time than members are searched for among them.
            most = SEARCH_COST * least if shortest < 0 else least
            if k < n_positive and (least < 0 or length < most):
                least, shortest = length, np.int64(k)
        tried += least
        if tried > room:
            break
        value, asked = in_values[i], NOTHING
        for begin in range(0, least, BLOCK):
            n_block = min(least - begin, BLOCK)
            if shortest >= 0:
                a, first = links[shortest, 0], spans[shortest, 0] + begin
                edges = head_edges if links[shortest, 1] else tail_edges
                _read_edges(edges, first, n_block, value, shifts[a], ids, values, mode)
            else:
                for j in range(n_block):
                    ids[j] = members[begin + j]
                    values[j] = value
            if size >= 0:
                n_block = _meet_factor(factors, ids, values, n_block, mode)
            for k in range(n_links):
                if k != shortest and n_block > 0:
                    edges = head_edges if links[k, 1] else tail_edges
                    first, last = spans[k, 0], spans[k, 1]
                    if k < n_positive:
                        shift = shifts[links[k, 0]]
                        n_block = _follow(edges, first, last, shift, ids, values, n_block, mode)
                    else:
                        n_block = _avoid(edges, first, last, ids, values, n_block, mode)
            if kind == ASK:
                for j in range(n_block):
                    asked |= values[j]
                if mode == BOOLEAN and asked == value:
                    break
                continue
            if end + n_block >= len(out_values):
                target = grown(target, kind == SOME, end)
                out_rows, out_values = target.rows, target.values
            if kind == ONE:
                for j in range(n_block):
                    t = np.int64(ids[j]) if key == v else np.int64(rows[i, key])
                    out_rows[end, 0] = t
                    end += sums[t] == NOTHING
                    sums[t] |= values[j]
            elif kind == KEEP:
                for j in range(n_block):
                    for w in range(width):
                        out_rows[end, w] = rows[i, w]
                    out_rows[end, v] = ids[j]
                    out_values[end] = values[j]
                    end += 1
            else:
                end = _unite(target, rows[i], kept, v, ids, values, n_block, end)
        if kind == ASK and asked != NOTHING:
            for w in range(width):
                rows[end, w] = rows[i, w]
            in_values[end] = asked
            end += 1
    if kind == ONE:
        for i in range(end):
            t = out_rows[i, 0]
            out_values[i] = sums[t]
            sums[t] = NOTHING
            out_rows[i, :] = 0
            out_rows[i, key] = t
    elif kind == SOME:
        for i in range(end):
            target.slots[target.places[i]] = -1
    return target, end, tried


@inlined
def _read_edges(edges, first, n, value, shift, ids, values, mode):
    one = np.uint64(1)
    for j in range(n):
        edge = np.uint64(edges[first + j])
        ids[j] = edge >> one
        values[j] = over_edge(value, edge & one, shift, mode)


@inlined
def _meet_factor(factors, ids, values, n, mode):
    """Keep the values that are in a variable's domain; return how many."""
    kept = 0
    for j in range(n):
        factor = factors[ids[j]]
        if factor != NOTHING:
            found = met(factor, values[j], mode)
            ids[kept] = ids[j]
            values[kept] = found
            kept += found != NOTHING
    return kept


@inlined
def _follow(edges, first, last, shift, ids, values, n, mode):
    """Keep the values that one more atom has; return how many."""
    kept, one = 0, np.uint64(1)
    if last == first:
        return kept
    for j in range(n):
        t = np.uint64(ids[j])
        edge = np.uint64(edges[lower_place(edges, 1, first, last - first, t)])
        found = over_edge(values[j], edge & one, shift, mode)
        ids[kept] = ids[j]
        values[kept] = found
        kept += (edge >> one == t) & (found != NOTHING)
    return kept


@inlined
def _avoid(edges, first, last, ids, values, n, mode):
    """Keep the values that a negated atom leaves; return how many."""
    kept, one = 0, np.uint64(1)
    if last == first:
        return n
    for j in range(n):
        t = np.uint64(ids[j])
        edge, found = np.uint64(edges[lower_place(edges, 1, first, last - first, t)]), values[j]
        if edge >> one == t:
            found = over_no_edge(found, edge & one, mode)
        ids[kept] = ids[j]
        values[kept] = found
        kept += found != NOTHING
    return kept


@kernel
def _unite(target, row, kept, v, ids, values, n, end):
    """Add bindings of some of the variables, or join their values to those that are there."""
    for j in range(n):
        target.rows[end, :] = 0
        for w in kept:
            target.rows[end, w] = ids[j] if w == v else row[w]
        place = row_slot(target.slots, target.rows, target.rows[end])
        held = target.slots[place]
        if held >= 0:
            target.values[held] |= values[j]
        else:
            target.values[end] = values[j]
            target.slots[place] = end
            target.places[end] = place
            end += 1
    return end
