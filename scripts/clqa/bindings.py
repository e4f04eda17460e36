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
from clqa.randomness import mixed
from clqa.sets import find_place

BOOLEAN, MARKINGS = 0, 1
NOTHING = np.uint64(0)

# What becomes of the new variable and the others: all are kept; the new one is only asked whether
# it has a value; one variable is kept, which is not the new one alone or follows others that are
# dropped; several are kept, and some are dropped.
KEEP, ASK, ONE, SOME = range(4)


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
    links : (n_atoms,) int64
    spans : (n_atoms, 2) int64
        Atoms that a step applies, and where the edges of each begin and end.
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


class Query(NamedTuple):
    """One conjunction of one query.

    Attributes
    ----------
    atoms : (n_atoms, 5) int32
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
        links=np.zeros(n_atoms, np.int64),
        spans=np.zeros((n_atoms, 2), np.int64),
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
def grown(full, is_hashed):
    """The table with twice the room."""
    room, width = full.rows.shape
    wider = Table(
        np.zeros((2 * room, width), np.int32),
        np.zeros(2 * room, np.uint64),
        np.full(4 * room, -1, np.int64),
        np.zeros(2 * room, np.int64),
    )
    wider.rows[:room] = full.rows
    wider.values[:room] = full.values
    if is_hashed:
        for i in range(room):
            place = _slot(wider, wider.rows[i])
            wider.slots[place] = i
            wider.places[i] = place
    return wider


@inlined
def _slot(held, row):
    """Place of a row in the hash table, or of the gap where it belongs."""
    mask = np.uint64(len(held.slots) - 1)
    hashed = np.uint64(0)
    for entity in row:
        hashed = mixed(hashed + np.uint64(entity) + np.uint64(0x9E3779B97F4A7C15))
    place = hashed & mask
    while held.slots[place] >= 0:
        other = held.rows[held.slots[place]]
        same = True
        for j in range(len(row)):
            if other[j] != row[j]:
                same = False
                break
        if same:
            break
        place = (place + np.uint64(1)) & mask
    return place


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
                desk.links[n_links] = a
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
    atoms, tails, heads, members = query.atoms, view.tails, view.heads, desk.members
    n_links, n_positive = choose_links(desk, atoms, v)
    size = desk.sizes[v]
    tried = end = np.int64(0)
    one = np.uint64(1)
    row = np.zeros(source.rows.shape[1], np.int32)
    for i in range(n):
        value, asked = source.values[i], NOTHING
        least, shortest = size, np.int64(-1)
        for k in range(n_links):
            a = desk.links[k]
            reverse = atoms[a, HEAD] == v
            other = atoms[a, TAIL] if reverse else atoms[a, HEAD]
            entity = query.anchors[-1 - other] if other < 0 else source.rows[i, other]
            relation = query.relations[atoms[a, RELATION]]
            first, last = find_row(heads if reverse else tails, entity, relation)
            desk.spans[k, 0], desk.spans[k, 1] = np.int64(first), np.int64(last)
            length = np.int64(last) - np.int64(first)
            if k < n_positive and (least < 0 or length < least):
                least, shortest = length, k
        tried += least
        if tried > room:
            break
        shift, begin, edges = NOTHING, np.int64(0), tails.edges
        if shortest >= 0:
            a, begin = desk.links[shortest], desk.spans[shortest, 0]
            shift = query.shifts[a]
            if atoms[a, HEAD] == v:
                edges = heads.edges
        for j in range(begin, begin + least):
            if shortest >= 0:
                edge = np.uint64(edges[j])
                x = np.int64(edge >> one)
                found = over_edge(value, edge & one, shift, mode)
            else:
                x, found = np.int64(members[v, j]), value
            if size >= 0:
                factor = desk.factors[v, x]
                if factor == NOTHING:
                    continue
                found = met(factor, found, mode)
            for k in range(n_links):
                if k != shortest and found != NOTHING:
                    found = _tested(tails, heads, desk, query, k, k < n_positive, v, x, found, mode)
            if found == NOTHING:
                continue
            if kind == ASK:
                asked |= found
                if mode == BOOLEAN and asked == value:
                    break
            elif kind == ONE:
                t = x if kept[0] == v else np.int64(source.rows[i, kept[0]])
                if desk.sums[t] == NOTHING:
                    if end == len(target.values):
                        target = grown(target, False)
                    target.rows[end, 0] = t
                    end += 1
                desk.sums[t] |= found
            else:
                if end == len(target.values):
                    target = grown(target, kind == SOME)
                if kind == KEEP:
                    target.rows[end] = source.rows[i]
                    target.rows[end, v] = x
                    target.values[end] = found
                    end += 1
                    continue
                for w in kept:
                    row[w] = x if w == v else source.rows[i, w]
                place = _slot(target, row)
                held = target.slots[place]
                if held >= 0:
                    target.values[held] |= found
                else:
                    target.rows[end] = row
                    target.values[end] = found
                    target.slots[place] = end
                    target.places[end] = place
                    end += 1
        if kind == ASK and asked != NOTHING:
            source.rows[end] = source.rows[i]
            source.values[end] = asked
            end += 1
    if kind == ONE:
        for i in range(end):
            t = target.rows[i, 0]
            target.values[i] = desk.sums[t]
            desk.sums[t] = NOTHING
            target.rows[i] = 0
            target.rows[i, kept[0]] = t
    elif kind == SOME:
        for i in range(end):
            target.slots[target.places[i]] = -1
    return target, end, tried


@inlined
def _tested(tails, heads, desk, query, k, is_positive, v, x, value, mode):
    """The value of a binding of `v` after one more atom."""
    a = desk.links[k]
    edges = heads.edges if query.atoms[a, HEAD] == v else tails.edges
    first, last = desk.spans[k, 0], desk.spans[k, 1]
    place = find_place(edges, 1, first, last - first, x)
    if place < 0:
        return NOTHING if is_positive else value
    observed = np.uint64(edges[place]) & np.uint64(1)
    if is_positive:
        return over_edge(value, observed, query.shifts[a], mode)
    return over_no_edge(value, observed, mode)
