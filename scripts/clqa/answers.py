"""Crisp answers of batches of queries, split into easy, hard and retracted, and their links."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View
from clqa.errors import InputError
from clqa.evaluation import evaluate
from clqa.given_sets import check_crisp
from clqa.join_plans import JoinPlan
from clqa.joins import join_answers, join_markings
from clqa.kernels import kernel
from clqa.plans import Plan
from clqa.ragged import Ragged
from clqa.sets import (
    BOOLEAN,
    COST,
    FREE_OF_COST,
    USUAL_BITS,
    Scratch,
    collect,
    look_up,
    scratch,
)

# Which ids a batch collects: (mask, wanted) on the bits 1 (observed graph) and 2 (full graph).
_ON_FULL = np.array([[2, 2]], np.uint8)
_EASY_HARD_RETRACTED = np.array([[1, 1], [3, 2], [3, 1]], np.uint8)
_CHUNK = 1 << 20


class SplitAnswers(NamedTuple):
    """Answers of n queries on the observed and the full graph of a split.

    Attributes
    ----------
    easy : Ragged
        Answers on the observed graph, retracted ones included, as published files have it.
    hard : Ragged
        Answers on the full graph only.
    retracted : Ragged
        Answers on the observed graph only; they exist only under negation.
    """

    easy: Ragged
    hard: Ragged
    retracted: Ragged


def answer_sets(
    plan: Plan | JoinPlan,
    view: View,
    anchors: np.ndarray,
    relations: np.ndarray,
    max_bindings: int | None = None,
) -> Ragged:
    """Answers on the full graph of a view by exhaustive traversal.

    Parameters
    ----------
    plan : Plan or JoinPlan
    view : View
        For the answers on one graph, `adjacencies.graph_view(graph, splits)`.
    anchors : (n, n_constants) int
    relations : (n, n_relations) int
    max_bindings : int, optional
        Partial bindings that may be tried for a query, where it takes joins.

    Returns
    -------
    answers : Ragged
        Entities, or tuples of them where there are several free variables, in the order of the
        variables' numbers.

    Raises
    ------
    InputError
        If ids are not of this graph, or a query needs more partial bindings.
    """
    return _collected(plan, view, anchors, relations, _ON_FULL, max_bindings)[0]


def split_answers(
    plan: Plan | JoinPlan,
    view: View,
    anchors: np.ndarray,
    relations: np.ndarray,
    max_bindings: int | None = None,
) -> SplitAnswers:
    """Answers on the observed and the full graph of a view in one traversal of both."""
    selections = _EASY_HARD_RETRACTED
    return SplitAnswers(*_collected(plan, view, anchors, relations, selections, max_bindings))


def missing_links(
    plan: Plan | JoinPlan, view: View, anchors: np.ndarray, relations: np.ndarray, hard: Ragged
) -> np.ndarray:
    """Smallest number of edges outside the observed graph with which each hard answer is found.

    The plan is evaluated min-plus on the full graph: an edge costs 0 if observed and 1 if missing,
    a conjunction adds, alternatives take the cheapest; a negated branch must fail on the full
    graph and costs nothing.

    Returns
    -------
    links : (len(hard.values),) uint8
        Aligned with `hard.values`.
    """
    anchors, relations = _checked(plan, view, anchors, relations)
    if isinstance(plan, JoinPlan):
        found = join_markings(plan, view, anchors, relations, hard, are_numbers=True)
        fewest = np.bitwise_count((found & (~found + np.uint64(1))) - np.uint64(1))
        return np.where(found == 0, FREE_OF_COST, fewest).astype(np.uint8)
    work = scratch(view.n_entities, plan.normal_program)
    values = np.empty(len(hard.values), np.uint8)
    _look_up_batch(view, work, plan.normal_program, anchors, relations, *hard, values, COST)
    return FREE_OF_COST - values


def selected_answers(found: SplitAnswers, selected: Ragged) -> SplitAnswers:
    """The answers where only some hard ones are asked for, as the +H benchmarks have it.

    All other answers on the full graph are easy, hard ones too; what only the observed graph gives
    is no answer.

    Raises
    ------
    InputError
        If an answer that is asked for is not hard.
    """
    (hard, asked), _ = _coded([found.hard, selected])
    if not np.isin(asked, hard).all():
        raise InputError(
            "an answer is selected that is no hard answer; sample or import its queries again"
        )
    return released_answers(found, selected)


def released_answers(
    found: SplitAnswers, selected: Ragged, filtered: Ragged | None = None
) -> SplitAnswers:
    """The answers where a release tells which hard ones are asked for.

    What it asks for and is no hard answer is left out.

    Parameters
    ----------
    filtered : Ragged, optional
        What it takes for easy. By default that is every other answer on the full graph. Those of
        them that the full graph does not give are retracted.
    """
    every = [*found, selected, *([] if filtered is None else [filtered])]
    (easy, hard, retracted, asked, *others), decode = _coded(every)
    asked = np.intersect1d(asked, hard)
    full = np.union1d(np.setdiff1d(easy, retracted), hard)
    taken = others[0] if others else full
    kept = np.setdiff1d(taken, asked)
    return SplitAnswers(*map(decode, (kept, asked, np.setdiff1d(kept, full))))


def _coded(sets: list[Ragged]) -> tuple[list[np.ndarray], Callable[[np.ndarray], Ragged]]:
    """Row and value, or tuple, of each element in one number, and the way back.

    The numbers ascend as the elements do.
    """
    n_rows = len(sets[0].offsets) - 1
    values = np.concatenate([rows.values for rows in sets])
    if values.ndim == 1:
        kinds, places = np.arange(values.max(initial=0) + 1, dtype=np.int32), values
    else:
        kinds, places = np.unique(values, axis=0, return_inverse=True)
    rows = [np.repeat(np.arange(n_rows), one.lengths()) for one in sets]
    codes = np.concatenate(rows) * max(len(kinds), 1) + places.reshape(-1)

    def decode(keys: np.ndarray) -> Ragged:
        offsets = np.searchsorted(keys, np.arange(n_rows + 1) * max(len(kinds), 1))
        return Ragged(offsets.astype(np.int64), kinds[keys % max(len(kinds), 1)])

    return np.split(codes, np.cumsum([len(one.values) for one in sets])[:-1]), decode


def _checked(
    plan: Plan | JoinPlan, view: View, anchors, relations
) -> tuple[np.ndarray, np.ndarray]:
    """Anchors and relations as the kernels need them; what the graph lacks is refused."""
    check_crisp(plan.given, view.given)
    n_relations = len(view.tails.relations) - 1
    found = []
    for name, columns, width, most in (
        ("anchors", anchors, plan.n_constants, view.n_entities),
        ("relations", relations, plan.n_relations, n_relations),
    ):
        rows = as_rows(columns)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise InputError(f"{name}: expected {width} columns, found the shape {rows.shape}")
        if rows.size and (rows.min() < 0 or rows.max() >= most):
            wrong = rows[(rows < 0) | (rows >= most)][0]
            raise InputError(f"{name}: the id {wrong} is not below {most}; not of this graph")
        found.append(rows)
    if len(found[0]) != len(found[1]):
        raise InputError(f"{len(found[0])} rows of anchors but {len(found[1])} of relations")
    return found[0], found[1]


def as_rows(columns: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(columns, dtype=np.int32)


def _collected(plan, view, anchors, relations, selections, max_bindings) -> list[Ragged]:
    anchors, relations = _checked(plan, view, anchors, relations)
    if isinstance(plan, JoinPlan):
        return _joined(plan, view, anchors, relations, selections, max_bindings)
    work = scratch(view.n_entities, plan.program)
    n_queries, n_sets = len(anchors), len(selections)
    room = max(_CHUNK, 2 * (view.n_entities + USUAL_BITS))
    offsets = np.zeros((n_sets, n_queries + 1), np.int64)
    buffers = np.empty((n_sets, room), np.int32)
    chunks: list[list[np.ndarray]] = [[np.empty(0, np.int32)] for _ in selections]
    done = 0
    while done < n_queries:
        base = offsets[:, done].copy()
        done = _collect_batch(
            view,
            work,
            plan.program,
            anchors,
            relations,
            selections,
            buffers,
            offsets,
            done,
            BOOLEAN,
        )
        for kept, buffer, size in zip(chunks, buffers, offsets[:, done] - base, strict=True):
            kept.append(buffer[:size].copy())
    return [Ragged(o, np.concatenate(c)) for o, c in zip(offsets, chunks, strict=True)]


def _joined(plan, view, anchors, relations, selections, max_bindings) -> list[Ragged]:
    """As `_collected`, by joins."""
    nothing = np.empty((0, plan.arity), np.int32)
    lengths: list[list[np.ndarray]] = [[np.zeros(1, np.int64)] for _ in selections]
    chunks: list[list[np.ndarray]] = [[nothing] for _ in selections]
    for found, values in join_answers(plan, view, anchors, relations, max_bindings):
        for k, (mask, wanted) in enumerate(selections):
            chosen = values & mask == wanted
            before = np.append(0, np.cumsum(chosen))
            lengths[k].append(np.diff(before[found.offsets]))
            chunks[k].append(found.values[chosen])
    return [
        Ragged(
            np.cumsum(np.concatenate(sizes)),
            np.concatenate(rows).reshape((-1, plan.arity) if plan.arity > 1 else -1),
        )
        for sizes, rows in zip(lengths, chunks, strict=True)
    ]


@kernel
def _collect_batch(
    view, work: Scratch, steps, anchors, relations, selections, buffers, offsets, first, mode
):
    """Answer queries from `first` on until the buffers might overflow; return the next query."""
    room = buffers.shape[1] - view.n_entities - USUAL_BITS
    filled = np.zeros(len(selections), np.int64)
    for q in range(first, len(anchors)):
        for k in range(len(selections)):
            if filled[k] > room:
                return q
        evaluate(view, work, steps, anchors[q], relations[q], mode)
        for k in range(len(selections)):
            mask, wanted = selections[k, 0], selections[k, 1]
            end = collect(view, work, mask, wanted, buffers[k], filled[k], mode)
            offsets[k, q + 1] = offsets[k, q] + end - filled[k]
            filled[k] = end
    return len(anchors)


@kernel
def _look_up_batch(view, work, steps, anchors, relations, offsets, wanted, values, mode):
    for q in range(len(anchors)):
        first, last = offsets[q], offsets[q + 1]
        if last > first:
            evaluate(view, work, steps, anchors[q], relations[q], mode)
            look_up(view, work, wanted[first:last], values[first:last], mode)
