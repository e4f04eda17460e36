"""Elimination of variables: the order in which a conjunction is answered.

Given degrees, constants and existential leaves first give each variable its domain. Then a table of
partial bindings starts from the smallest domain and grows by one variable at a time, the one that
promises the fewest bindings next; an atom is applied as soon as both its ends are bound, a negated
one too; a variable that no open atom needs is dropped, and equal bindings become one.
"""

import numpy as np

from clqa.adjacencies import ROW_SHIFT, relation_rows, row_extent
from clqa.bindings import ASK, KEEP, NOTHING, ONE, SOME, extend, full_value, grown
from clqa.join_plans import HEAD, NEGATED, RELATION, TAIL, VECTOR
from clqa.kernels import kernel

# Finding the edges of a binding costs as much as reading so many.
_LOOK_UP = 16
_MANY = np.iinfo(np.int64).max


@kernel
def solve(view, desk, source, target, query, arity, mode, limit, tried):
    """The bindings of the free variables of a conjunction.

    Domains may be given in `desk.factors` before; afterwards none is left.

    Returns
    -------
    source, target : Table
        The bindings are the first `n` rows of `source`.
    n, tried : int64
        `tried` counts on; if it is above `limit`, there is no result.
    """
    desk.done[:] = False
    desk.bound[:] = False
    desk.gone[:] = False
    n_variables = arity
    for a in range(len(query.atoms)):
        n_variables = max(n_variables, query.atoms[a, HEAD] + 1, query.atoms[a, TAIL] + 1)
    _apply_given(view, desk, query, mode)
    n = np.int64(1)
    for v in range(n_variables):
        source, target, n, tried = _apply_constants(
            view, desk, source, n, target, query, v, arity, n_variables, mode, limit, tried
        )
    while n > 0 and tried <= limit:
        leaf, stem, forward = _cheapest_leaf(view, desk, query, arity, n_variables)
        if leaf < 0:
            break
        source, n = _take_factor(desk, source, leaf if forward else stem)
        source, target, n, tried = _step(
            view, desk, source, n, target, query, stem if forward else leaf,
            arity, n_variables, mode, limit, tried,
        )  # fmt: skip
        desk.gone[leaf] = True
        _set_factor(desk, source, n, stem)
    while n > 0 and tried <= limit:
        v = _out_of_reach(view, desk, query, n_variables, mode)
        if v < 0:
            source, target, n, tried = _grow(
                view, desk, source, target, query, arity, n_variables, mode, limit, tried
            )
            break
        source, target, n, tried = _apply_constants(
            view, desk, source, n, target, query, v, arity, n_variables, mode, limit, tried
        )
    for v in range(n_variables):
        _clear_factor(desk, v)
    return source, target, n, tried


@kernel
def _clear_factor(desk, v):
    for i in range(desk.sizes[v]):
        desk.factors[v, desk.members[v, i]] = NOTHING
    desk.sizes[v] = -1


@kernel
def _set_factor(desk, source, n, v):
    """Make a table of one variable its domain."""
    _clear_factor(desk, v)
    for i in range(n):
        t = source.rows[i, v]
        desk.members[v, i] = t
        desk.factors[v, t] = source.values[i]
    desk.sizes[v] = n
    desk.bound[:] = False


@kernel
def _take_factor(desk, source, v):
    """Make the domain of a variable a table."""
    n = desk.sizes[v]
    while n > len(source.values):
        source = grown(source, False, 0)
    for i in range(n):
        t = desk.members[v, i]
        source.rows[i] = 0
        source.rows[i, v] = t
        source.values[i] = desk.factors[v, t]
    _clear_factor(desk, v)
    desk.bound[v] = True
    return source, n


@kernel
def _apply_given(view, desk, query, mode):
    """Restrict the domains of variables by the atoms of vectors."""
    for a in range(len(query.atoms)):
        if query.atoms[a, VECTOR] < 0:
            continue
        desk.done[a] = True
        v, degrees = np.int64(query.atoms[a, HEAD]), view.given[query.atoms[a, VECTOR]]
        is_everything = desk.sizes[v] < 0
        size = np.int64(0)
        for i in range(view.n_entities if is_everything else desk.sizes[v]):
            t = np.int64(i) if is_everything else np.int64(desk.members[v, i])
            if degrees[t] == query.atoms[a, NEGATED]:
                desk.factors[v, t] = NOTHING
                continue
            if is_everything:
                desk.factors[v, t] = full_value(mode)
            desk.members[v, size] = t
            size += 1
        desk.sizes[v] = size


@kernel
def _apply_constants(
    view, desk, source, n, target, query, v, arity, n_variables, mode, limit, tried
):
    """Restrict the domain of a variable by its atoms with constants."""
    is_positive = is_negative = False
    for a in range(len(query.atoms)):
        head, tail = query.atoms[a, HEAD], query.atoms[a, TAIL]
        if (head == v and tail < 0) or (tail == v and head < 0):
            is_positive |= query.atoms[a, NEGATED] == 0
            is_negative |= query.atoms[a, NEGATED] == 1
    if n == 0 or tried > limit or not (is_positive or (is_negative and desk.sizes[v] >= 0)):
        return source, target, n, tried
    source.rows[0] = 0
    source.values[0] = full_value(mode)
    source, target, n, tried = _step(
        view, desk, source, 1, target, query, v, arity, n_variables, mode, limit, tried
    )
    _set_factor(desk, source, n, v)
    return source, target, n, tried


@kernel
def _step(view, desk, source, n, target, query, v, arity, n_variables, mode, limit, tried):
    """Bind `v`, drop what is no longer needed, and note both; the result is in `source`."""
    kept, n_kept, n_dropped = np.empty(n_variables, np.int64), 0, 0
    for w in range(n_variables):
        if w == v or desk.bound[w]:
            is_open = w < arity
            for a in range(len(query.atoms)):
                head, tail = query.atoms[a, HEAD], query.atoms[a, TAIL]
                if not desk.done[a] and w in (head, tail):
                    other = tail if head == w else head
                    is_open |= other >= 0 and other != v and not desk.bound[other]
            if is_open:
                kept[n_kept] = w
                n_kept += 1
            n_dropped += not is_open
    kind = SOME
    if n_dropped == 0:
        kind = KEEP
    elif n_dropped == 1 and not (kept[:n_kept] == v).any():
        kind = ASK
    elif n_kept == 1:
        kind = ONE
    target, n, new = extend(
        view, desk, source, n, target, query, v, kind, kept[:n_kept], mode, limit - tried
    )
    for a in range(len(query.atoms)):
        head, tail = query.atoms[a, HEAD], query.atoms[a, TAIL]
        if v in (head, tail):
            other = tail if head == v else head
            desk.done[a] |= other < 0 or desk.bound[other]
    desk.bound[v] = True
    _clear_factor(desk, v)
    for w in range(n_variables):
        if desk.bound[w] and not (kept[:n_kept] == w).any():
            desk.bound[w] = False
            desk.gone[w] = True
    if kind == ASK:
        return source, target, n, tried + new
    return target, source, n, tried + new


@kernel
def degree(view, query, a, v):
    """Mean number of values of `v` for a value of the other end of an atom that has some."""
    adjacency = view.heads if query.atoms[a, HEAD] == v else view.tails
    first, last = relation_rows(adjacency, query.relations[query.atoms[a, RELATION]])
    if first == last:
        return 0.0
    begin, end = row_extent(adjacency, first, last - first)
    return np.float64(end - begin) / np.float64(last - first)


@kernel
def _cheapest_leaf(view, desk, query, arity, n_variables):
    """An existential variable that only one other one is linked to, that one, and whether the
    leaf's domain is projected to it, rather than each of its values asked for one of the leaf's.
    """
    best, found = np.inf, (np.int64(-1), np.int64(-1), False)
    for v in range(arity, n_variables):
        stem, alone, fan_out, fan_in, is_linked = np.int64(-1), True, np.inf, np.inf, False
        for a in range(len(query.atoms)):
            head, tail = query.atoms[a, HEAD], query.atoms[a, TAIL]
            other = tail if head == v else head
            if desk.done[a] or v not in (head, tail) or other < 0:
                continue
            alone &= stem < 0 or stem == other
            stem = np.int64(other)
            if query.atoms[a, NEGATED] == 0:
                is_linked = True
                fan_out = min(fan_out, degree(view, query, a, other))
                fan_in = min(fan_in, degree(view, query, a, v))
        if desk.gone[v] or stem < 0 or not alone:
            continue
        if desk.sizes[v] >= 0 and is_linked and desk.sizes[v] * (_LOOK_UP + fan_out) < best:
            best, found = desk.sizes[v] * (_LOOK_UP + fan_out), (np.int64(v), stem, True)
        if desk.sizes[v] >= 0:
            fan_in = min(fan_in, np.float64(desk.sizes[v]))
        if desk.sizes[stem] >= 0 and desk.sizes[stem] * (_LOOK_UP + fan_in) < best:
            best, found = desk.sizes[stem] * (_LOOK_UP + fan_in), (np.int64(v), stem, False)
    return found


@kernel
def _out_of_reach(view, desk, query, n_variables, mode):
    """Give a domain to a variable that positive atoms link to no domain; -1 if there is none."""
    reached = desk.sizes[:n_variables] >= 0
    for _ in range(n_variables):
        for a in range(len(query.atoms)):
            head, tail = query.atoms[a, HEAD], query.atoms[a, TAIL]
            is_link = query.atoms[a, NEGATED] == 0 and head >= 0 and tail >= 0
            if is_link and (reached[head] or reached[tail]):
                reached[head] = reached[tail] = True
    best, fewest, place = np.int64(-1), _MANY, -1
    for a in range(len(query.atoms)):
        if query.atoms[a, NEGATED] or desk.done[a]:
            continue
        for v in query.atoms[a, :RELATION]:
            if not reached[v]:
                adjacency = view.tails if query.atoms[a, HEAD] == v else view.heads
                relation = query.relations[query.atoms[a, RELATION]]
                first, last = relation_rows(adjacency, relation)
                if np.int64(last - first) < fewest:
                    best, fewest, place = np.int64(v), np.int64(last - first), a
    if best >= 0:
        _list_ends(view, desk, query, place, best, mode)
    return best


@kernel
def _list_ends(view, desk, query, a, v, mode):
    """Let the domain of a variable be all entities that an atom's relation has there."""
    adjacency = view.tails if query.atoms[a, HEAD] == v else view.heads
    first, last = relation_rows(adjacency, query.relations[query.atoms[a, RELATION]])
    size = np.int64(0)
    for row in range(first, last):
        t = np.int64(adjacency.rows[row] >> np.uint64(ROW_SHIFT))
        desk.members[v, size] = t
        desk.factors[v, t] = full_value(mode)
        size += 1
    desk.sizes[v] = size


@kernel
def _grow(view, desk, source, target, query, arity, n_variables, mode, limit, tried):
    """Join the domains, from the smallest one on."""
    start = np.int64(-1)
    for v in range(n_variables):
        is_known = desk.sizes[v] >= 0 and not desk.gone[v]
        if is_known and (start < 0 or desk.sizes[v] < desk.sizes[start]):
            start = np.int64(v)
    source, n = _take_factor(desk, source, start)
    while n > 0 and tried <= limit:
        v = _next(view, desk, query, arity, n_variables)
        if v < 0:
            break
        source, target, n, tried = _step(
            view, desk, source, n, target, query, v, arity, n_variables, mode, limit, tried
        )
    return source, target, n, tried


@kernel
def _next(view, desk, query, arity, n_variables):
    """The variable that promises the fewest bindings for each one that there is; -1 at the end."""
    best, found = np.inf, np.int64(-1)
    for v in range(n_variables):
        if desk.bound[v] or desk.gone[v]:
            continue
        promise, closes, is_linked = 1.0, v >= arity, False
        for a in range(len(query.atoms)):
            head, tail = query.atoms[a, HEAD], query.atoms[a, TAIL]
            other = tail if head == v else head
            if desk.done[a] or v not in (head, tail) or other < 0:
                continue
            closes &= desk.bound[other]
            if desk.bound[other] and query.atoms[a, NEGATED] == 0:
                share = degree(view, query, a, v)
                promise *= share / view.n_entities if is_linked else share
                is_linked = True
        if desk.sizes[v] >= 0:
            size = np.float64(desk.sizes[v])
            promise *= size / view.n_entities if is_linked else size
        elif not is_linked:
            continue
        if closes and is_linked:
            promise = -1.0 / (1.0 + promise)
        if promise < best:
            best, found = promise, np.int64(v)
    return found
