"""Joins: the answers of batches of queries whose formulas are no trees of sets."""

from collections.abc import Iterator

import numpy as np

from clqa.adjacencies import View
from clqa.bindings import BOOLEAN, MARKINGS, NOTHING, Query, desk, full_value, grown, table
from clqa.eliminations import solve
from clqa.errors import InputError
from clqa.join_plans import NEGATED, PLACE, JoinPlan
from clqa.kernels import kernel
from clqa.ragged import Ragged

_CHUNK = 1 << 18
NO_CAP = np.iinfo(np.int64).max


class TooManyBindingsError(InputError):
    """A query takes more partial bindings than it may.

    Attributes
    ----------
    query : int
        Its place in the batch.
    reason : str
        The message without the query.
    """

    def __init__(self, query: int, tried: int, limit: int) -> None:
        self.query = query
        self.reason = (
            f"{tried} partial bindings and not done, but at most {limit} may be tried; raise the "
            "limit or leave the query out"
        )
        super().__init__(f"query {query}: {self.reason}")


def join_answers(
    plan: JoinPlan, view: View, anchors: np.ndarray, relations: np.ndarray, most: int | None
) -> Iterator[tuple[Ragged, np.ndarray]]:
    """Answers of queries on the two graphs of a view, some queries at a time.

    Parameters
    ----------
    anchors, relations : 2-d int32
    most : int or None
        Partial bindings that may be tried for one query.

    Yields
    ------
    found : Ragged
        Values are (n, arity), ascending for each query.
    values : (n,) uint64
        Bit 1 for an answer on the observed graph, bit 2 for one on the full graph.

    Raises
    ------
    InputError
        If a query needs more partial bindings.
    """
    nothing = Ragged(np.zeros(1, np.int64), np.empty((0, plan.arity), np.int32))
    shifts = np.zeros(len(plan.atoms), np.uint64)
    yield from _batches(plan, view, anchors, relations, shifts, nothing, BOOLEAN, most)


def join_markings(
    plan: JoinPlan,
    view: View,
    anchors: np.ndarray,
    relations: np.ndarray,
    wanted: Ragged,
    are_numbers: bool,
    most: int | None = None,
) -> np.ndarray:
    """Families of some tuples, by query, (len(wanted.values),) uint64.

    Bit m is set if some witness has the marking m; or, if `are_numbers`, m missing edges. 0 for
    what is no answer on the full graph.
    """
    positive = plan.atoms[:, NEGATED] == 0
    shifts = positive.astype(np.uint64)
    if not are_numbers:
        shifts <<= np.maximum(plan.atoms[:, PLACE], 0).astype(np.uint64)
    tuples = Ragged(wanted.offsets, wanted.values.reshape(-1, plan.arity))
    out, done = np.zeros(len(tuples.values), np.uint64), 0
    for found, values in _batches(plan, view, anchors, relations, shifts, tuples, MARKINGS, most):
        n = len(found.offsets) - 1
        for q in range(n):
            own = slice(*tuples.offsets[done + q : done + q + 2])
            part = slice(*found.offsets[q : q + 2])
            look_up(found.values[part], values[part], tuples.values[own], out[own])
        done += n
    return out


def _batches(plan, view, anchors, relations, shifts, wanted, mode, most):
    n_variables = plan.n_variables
    room = desk(n_variables, len(plan.atoms), view.n_entities)
    tables = table(n_variables), table(n_variables)
    done, limit = 0, NO_CAP if most is None else most
    while done < len(anchors):
        out = table(plan.arity)
        offsets, *tables, out, tried = _answer_batch(
            view, room, *tables, out, plan.atoms, plan.starts, shifts, anchors, relations,
            wanted.offsets, wanted.values, done, _CHUNK, limit, mode,
        )  # fmt: skip
        if tried > limit:
            raise TooManyBindingsError(done + len(offsets) - 1, tried, limit)
        end = offsets[-1]
        yield Ragged(offsets, out.rows[:end].copy()), out.values[:end].copy()
        done += len(offsets) - 1


@kernel
def _answer_batch(
    view, desk, source, target, out, atoms, starts, shifts, anchors, relations,
    offsets, wanted, first, chunk, limit, mode,
):  # fmt: skip
    """Answer queries from `first` on until there are many answers."""
    ends = [np.int64(0)]
    end, tried = np.int64(0), np.int64(0)
    for q in range(first, len(anchors)):
        if end > chunk:
            break
        tried = np.int64(0)
        is_asked = mode == BOOLEAN or offsets[q] < offsets[q + 1]
        if is_asked:
            own = wanted[offsets[q] : offsets[q + 1]] if mode != BOOLEAN else wanted
            source, target, out, end, tried = answer_query(
                view, desk, source, target, out, end, atoms, starts, shifts, anchors[q],
                relations[q], own, limit, mode, True,
            )  # fmt: skip
            if tried > limit:
                return np.array(ends), source, target, out, tried
        ends.append(end)
    return np.array(ends), source, target, out, tried


@kernel
def answer_query(
    view, desk, source, target, out, end, atoms, starts, shifts, anchors, relations,
    wanted, limit, mode, ordered,
):  # fmt: skip
    """Append the answers of one query to `out`, in order if asked for or if from alternatives.

    In `MARKINGS` only values of the tuples `wanted` are looked at.
    """
    begin, tried = end, np.int64(0)
    for c in range(len(starts) - 1):
        part = slice(starts[c], starts[c + 1])
        query = Query(atoms[part], shifts[part], anchors, relations)
        if mode != BOOLEAN:
            restrict(desk, wanted, mode)
        source, target, n, tried = solve(
            view, desk, source, target, query, out.rows.shape[1], mode, limit, tried
        )
        while end + n > len(out.values):
            out = grown(out, False, end)
        for i in range(n):
            for w in range(out.rows.shape[1]):
                out.rows[end + i, w] = source.rows[i, w]
            out.values[end + i] = source.values[i]
        end += n
    if (ordered or len(starts) > 2) and tried <= limit:
        end = _in_order(out, begin, end, view.n_entities)
    return source, target, out, end, tried


@kernel
def restrict(desk, tuples, mode):
    """Let the free variables have only the values of some tuples."""
    for w in range(tuples.shape[1]):
        size = np.int64(0)
        for t in tuples[:, w]:
            if desk.factors[w, t] == NOTHING:
                desk.factors[w, t] = full_value(mode)
                desk.members[w, size] = t
                size += 1
        desk.sizes[w] = size


@kernel
def _in_order(out, begin, end, n_entities):
    """Sort the rows from `begin` to `end` and unite equal ones; return the new end."""
    arity, bits = out.rows.shape[1], 1
    while (1 << bits) < n_entities:
        bits += 1
    if end - begin < 2:
        return end
    if arity * bits < 63:
        keys = np.zeros(end - begin, np.int64)
        for i in range(end - begin):
            for w in range(arity):
                keys[i] = keys[i] << bits | out.rows[begin + i, w]
        order = np.argsort(keys)
    else:
        order = np.arange(end - begin)
        for w in range(arity - 1, -1, -1):
            order = order[np.argsort(out.rows[begin:end, w][order], kind="mergesort")]
    rows, values = out.rows[begin:end][order], out.values[begin:end][order]
    last = begin - 1
    for i in range(len(rows)):
        if last >= begin and (rows[i] == out.rows[last]).all():
            out.values[last] |= values[i]
        else:
            last += 1
            out.rows[last] = rows[i]
            out.values[last] = values[i]
    return last + 1


@kernel
def look_up(rows, values, wanted, out):
    """Copy the values of wanted tuples from those that were found; both ascend."""
    i = 0
    for j in range(len(wanted)):
        while i < len(rows):
            order = 0
            for w in range(wanted.shape[1]):
                if order == 0:
                    order = np.sign(np.int64(rows[i, w]) - np.int64(wanted[j, w]))
            if order >= 0:
                if order == 0:
                    out[j] = values[i]
                break
            i += 1
