"""Sampling of queries whose atoms are no tree: groundings in batches, and the rules over arrays.

The rules are those of `clqa.judgements`, with the same reasons. Attempt i has its own random
stream, so that batches do not matter. A query with k free variables may have k times `max_hard`
hard tuples.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.adjacencies import View
from clqa.answers import answer_sets, missing_links, split_answers
from clqa.canonical_forms import canonical
from clqa.degeneracies import makes_round_trip, repeats_branches
from clqa.errors import InputError
from clqa.formulas import Formula, to_text
from clqa.graph_walks import Pairs, draw_groundings, plan_graph_walk
from clqa.join_plans import JoinPlan
from clqa.judgements import REASONS, Rules, cap
from clqa.plans import has_negation, without_negations
from clqa.query_sets import canonical_groundings
from clqa.randomness import stream_key
from clqa.walks import GROUNDED

# Attempts made at a time, and of those the groundings answered at a time.
_BATCH = 1 << 12
_ANSWERED = 1 << 7


class Drawn(NamedTuple):
    """Accepted groundings, attempts made, and attempts rejected by reason."""

    anchors: np.ndarray
    relations: np.ndarray
    tries: int
    rejections: dict[str, int]


class _Trial(NamedTuple):
    """What an attempt is judged by."""

    formula: Formula
    shape: JoinPlan
    view: View
    inverse: np.ndarray
    rules: Rules
    changes: bool
    orders: np.ndarray


def sample_graphs(
    formula: Formula,
    shape: JoinPlan,
    view: View,
    pairs: Pairs,
    inverse: np.ndarray,
    rules: Rules,
    count: int,
    tries: int,
    stream: tuple,
    progress: Callable[[int], None],
    patience: int,
) -> Drawn:
    """Draw up to `count` queries; arguments are as of `clqa.sampling.sample_queries`.

    Raises
    ------
    InputError
        If an option is asked for that only trees of sets have.
    """
    if rules.draw != "answers":
        raise InputError(
            f"sampling option draw: {rules.draw}, but '{to_text(formula)}' is no tree of sets; "
            "its queries are drawn from answers"
        )
    text, orders = canonical(formula)
    most = None if rules.max_hard is None else rules.max_hard * shape.arity
    rules = rules._replace(max_hard=most)
    trial = _Trial(formula, shape, view, inverse, rules, has_negation(shape), orders)
    walk, key = plan_graph_walk(formula, pairs), stream_key(*stream, text)
    rejections = dict.fromkeys(REASONS, 0)
    known: set[bytes] = set()
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    done = latest = 0
    while len(kept) < count and done < min(tries, latest + patience):
        batch = min(_BATCH, tries - done, latest + patience - done)
        anchors = np.zeros((batch, shape.n_constants), np.int32)
        relations = np.zeros((batch, shape.n_relations), np.int32)
        ends = np.empty(batch, np.int64)
        draw_groundings(walk, key, done, ends, anchors, relations)
        for first in range(0, batch, _ANSWERED):
            part = slice(first, min(first + _ANSWERED, batch))
            seen = _judge(trial, known, kept, count, ends[part], anchors[part], relations[part])
            for reason in seen:
                if reason is not None:
                    rejections[reason] += 1
            done += len(seen)
            if None in seen:
                latest = done - seen[::-1].index(None)
            if len(kept) == count or done >= latest + patience:
                break
        progress(len(kept))
    rows = [np.array([row[side] for row in kept], np.int32) for side in (0, 1)]
    return Drawn(
        rows[0].reshape(-1, shape.n_constants),
        rows[1].reshape(-1, shape.n_relations),
        done,
        rejections,
    )


def _judge(trial: _Trial, known, kept, count, ends, anchors, relations) -> list[str | None]:
    """Why each attempt is rejected, or None; ends with the one that fills the count."""
    reasons = _seen_in_grounding(trial, ends, anchors, relations)
    keys = canonical_groundings(trial.orders, anchors, relations)
    if not trial.rules.unordered:
        keys = np.concatenate([anchors, relations], axis=1)[:, trial.orders[0]]
    names = [row.tobytes() for row in np.ascontiguousarray(keys)]
    rows = [i for i, name in enumerate(names) if reasons[i] is None and name not in known]
    for i, reason in zip(
        rows, _seen_in_answers(trial, anchors[rows], relations[rows]), strict=True
    ):
        reasons[i] = reason
    for i, name in enumerate(names):
        if reasons[i] is None and name in known:
            reasons[i] = "duplicate_query"
        if reasons[i] is None:
            known.add(name)
            kept.append((anchors[i].copy(), relations[i].copy()))
            if len(kept) == count:
                return reasons[: i + 1]
    return reasons


def _seen_in_grounding(trial: _Trial, ends, anchors, relations) -> list[str | None]:
    formula, rules = trial.formula, trial.rules
    masks = {"dead_end": ends != GROUNDED}
    if rules.inverse_undo != "allowed":
        in_chain = rules.inverse_undo == "chain"
        masks["round_trip"] = makes_round_trip(formula, relations, trial.inverse, in_chain)
    if rules.distinct_branches:
        masks["duplicate_branches"] = repeats_branches(formula, anchors, relations)
    return _first_reasons(masks, len(ends))


def _first_reasons(masks: dict[str, np.ndarray], n: int) -> list[str | None]:
    reasons: list[str | None] = [None] * n
    for reason, mask in masks.items():
        for i in np.flatnonzero(mask):
            reasons[i] = reasons[i] or reason
    return reasons


def _seen_in_answers(trial: _Trial, anchors, relations) -> list[str | None]:
    """Why groundings are rejected after they are answered on both graphs."""
    rules, rows = trial.rules, (trial.view, anchors, relations)
    if not len(anchors):
        return []
    found = split_answers(trial.shape, *rows)
    easy, hard, retracted = (sets.lengths() for sets in found)
    n_full = easy - retracted + hard
    masks = {
        "no_hard_answers": (hard == 0) & rules.require_hard,
        "no_answers": n_full == 0,
        "too_many_hard": hard > cap(rules.max_hard),
        "too_many_easy": easy > cap(rules.max_easy),
        "too_many_retracted": retracted > cap(rules.max_retracted),
    }
    if trial.changes and rules.negation == "must_retract":
        masks["negation_retracts_nothing"] = retracted == 0
    open_ = ~np.logical_or.reduce(list(masks.values()))
    if rules.min_links > 1 and open_.any():
        fewest = missing_links(trial.shape, *rows, found.hard).astype(np.int64)
        few = np.zeros(len(anchors), bool)
        np.logical_or.at(few, np.repeat(np.arange(len(anchors)), hard), fewest < rules.min_links)
        masks["too_few_links"] = few
    if trial.changes and rules.negation == "must_change" and open_.any():
        plain = without_negations(trial.shape)
        same = np.zeros(len(anchors), bool)
        without = answer_sets(plain, trial.view, anchors[open_], relations[open_])
        same[open_] = without.lengths() == n_full[open_]
        masks["negation_changes_nothing"] = same
    return _first_reasons(masks, len(anchors))
