"""Sampling by reduction class: as many hard answers of each class, as in the +H benchmarks.

The classes of a shape are filled one after another, full inference first. For each class, queries
are drawn with as many steps over missing edges as its markings have; one that gives an answer of
the class is accepted, and its answers of all classes that are still open are asked for.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.answers import split_answers
from clqa.formulas import Formula
from clqa.judgements import REASONS, Rules
from clqa.plans import plan
from clqa.ragged import Ragged, ragged
from clqa.randomness import stream_key
from clqa.reduction_classes import ClassTable, class_table, released_classes
from clqa.sampling import (
    Attempts,
    Ground,
    Sampled,
    attempt_batch,
    empty_state,
    plan_attempts,
    reasons,
)

# Attempts made at a time: few at first, since a class can be full soon.
_FIRST_BATCH, _BATCH = 1 << 8, 1 << 14


class Quotas(NamedTuple):
    """How many answers are asked for; see `config/README.md` for the words of each option."""

    answers: int = 10_000
    max_share: float = 0.2
    share_from: float = 0.1


class ClassSample(NamedTuple):
    """Queries with the hard answers that are asked for.

    Attributes
    ----------
    queries : Sampled
    selected : Ragged
    filled : dict
        Number of answers by class.
    """

    queries: Sampled
    selected: Ragged
    filled: dict[str, int]


class _Chosen(NamedTuple):
    """What was accepted so far; `open` is how many answers each class still takes."""

    open: np.ndarray
    keys: set[bytes]
    rows: list[tuple[np.ndarray, np.ndarray]]
    selected: list[np.ndarray]
    uses: Counter


def sample_by_class(
    ground: Ground,
    formula: Formula,
    quotas: Quotas,
    rules: Rules,
    tries: int,
    stream: tuple,
    progress: Callable[[int], None] = lambda n_answers: None,
    patience: int | None = None,
) -> ClassSample:
    """Draw queries until every class of the shape has its answers.

    Parameters
    ----------
    tries : int
        Attempts for each class after which it stays as it is.
    stream, progress, patience
        As for `clqa.sampling.sample_queries`; progress is told the number of answers, and patience
        is had with each class.

    Raises
    ------
    InputError
        If the release has no classes for the shape, or an option has an unknown value.
    """
    table = class_table(formula)
    wanted = quotas.answers * table.possible.astype(np.int64)
    chosen = _Chosen(wanted.copy(), set(), [], [], Counter())
    rejections = Counter(dict.fromkeys([*REASONS, "adds_nothing", "too_frequent"], 0))
    total = 0
    for target in np.flatnonzero(table.possible)[::-1]:
        share = _missing_share(table, target)
        own = (*stream, table.names[target])
        attempts = plan_attempts(ground, formula, rules, own, share)
        judge = _Selection(ground, formula, quotas, int(wanted.sum()), target, int(attempts.key))
        limits = tries, tries if patience is None else patience
        total += _fill(attempts, judge, chosen, limits, rejections, progress)
    filled = dict(zip(table.names, (wanted - chosen.open).tolist(), strict=True))
    shape = plan(formula)
    anchors = np.array([row[0] for row in chosen.rows], np.int32)
    relations = np.array([row[1] for row in chosen.rows], np.int32)
    queries = Sampled(
        anchors.reshape(-1, shape.n_constants),
        relations.reshape(-1, shape.n_relations),
        total,
        dict(rejections),
    )
    return ClassSample(queries, ragged(chosen.selected), filled)


def _missing_share(table: ClassTable, target: int) -> float:
    """Mean share of missing edges over the markings of a class."""
    markings = [m for m in range(64) if int(table.families[target]) >> m & 1]
    n_atoms = max(int(family).bit_length() - 1 for family in table.families).bit_length()
    return sum(m.bit_count() for m in markings) / (len(markings) * n_atoms)


class _Selection(NamedTuple):
    """What decides whether a query is accepted for the class `target`."""

    ground: Ground
    formula: Formula
    quotas: Quotas
    n_wanted: int
    target: int
    key: int


def _fill(attempts: Attempts, judge: _Selection, chosen: _Chosen, limits, rejections, progress):
    """Accept queries until the target class is full; return the number of attempts.

    `limits` are those on all attempts, and on attempts since a query was accepted.
    """
    (tries, patience), done, latest, seen = limits, 0, 0, set()
    while chosen.open[judge.target] and done < min(tries, latest + patience):
        batch = min(max(_FIRST_BATCH, done), _BATCH, tries - done)
        state = empty_state(attempts, batch)
        n_drawn, ended = attempt_batch(attempts, state, done, batch, 0)
        n_rows = len(chosen.rows)
        n_used = _select(judge, chosen, state, n_drawn, seen, rejections)
        if not chosen.open[judge.target]:
            # Attempts after the last query that was looked at do not count.
            state = empty_state(attempts, n_used)
            _, ended = attempt_batch(attempts, state, done, batch, 0)
        rejections.update(reasons(state))
        done = ended
        latest = done if len(chosen.rows) > n_rows else latest
        progress(judge.n_wanted - int(chosen.open.sum()))
    return done


def _select(judge: _Selection, chosen: _Chosen, state, n_drawn, seen, rejections) -> int:
    """Look at drawn queries until the target class is full; return how many were looked at."""
    view, formula = judge.ground.both, judge.formula
    anchors, relations = state.anchors[:n_drawn], state.relations[:n_drawn]
    hard = split_answers(plan(formula), view, anchors, relations).hard
    classes = released_classes(formula, view, anchors, relations, hard)
    for q in range(n_drawn):
        key = state.keys[q].tobytes()
        if key in seen or key in chosen.keys:
            rejections["duplicate_query"] += 1
            continue
        seen.add(key)
        own = slice(*hard.offsets[q : q + 2])
        picked = _picked(judge.key, chosen.open, hard.values[own], classes[own], key)
        if not (classes[own] == judge.target).any():
            rejections["adds_nothing"] += 1
        elif not _note_uses(judge, chosen, anchors[q], relations[q], len(picked)):
            rejections["too_frequent"] += 1
        else:
            chosen.keys.add(key)
            chosen.rows.append((anchors[q].copy(), relations[q].copy()))
            chosen.selected.append(hard.values[own][picked])
            np.subtract.at(chosen.open, classes[own][picked], 1)
            if not chosen.open[judge.target]:
                return q + 1
    return n_drawn


def _picked(stream: int, open_: np.ndarray, ids: np.ndarray, classes: np.ndarray, key: bytes):
    """Places of the answers that open classes take; a random part where not all are needed."""
    places = []
    for number in np.unique(classes[classes >= 0]):
        own = np.flatnonzero(classes == number)
        if len(own) > open_[number]:
            lots = [stream_key(stream, key.hex(), int(t)) for t in ids[own]]
            own = own[np.argsort(lots, kind="stable")[: open_[number]]]
        places.append(own)
    return np.sort(np.concatenate([np.empty(0, np.int64), *places]))


def _note_uses(judge: _Selection, chosen: _Chosen, anchors, relations, n_new: int) -> bool:
    """Count the answers of a query for its anchors and relations, unless one has too many."""
    inverse = judge.ground.graph.inverse[relations]
    merged = np.where(inverse >= 0, np.minimum(relations, inverse), relations)
    used = {("anchor", int(v)) for v in anchors} | {("relation", int(r)) for r in merged}
    total = judge.n_wanted - int(chosen.open.sum()) + n_new
    if total > judge.quotas.share_from * judge.n_wanted:
        most = judge.quotas.max_share * total
        if any(chosen.uses[name] + n_new > most for name in used):
            return False
    chosen.uses.update(dict.fromkeys(used, n_new))
    return True
