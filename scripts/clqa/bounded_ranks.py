"""How many candidates beat and tie each hard answer at least, and at most, where lists are cut.

An entity that is not listed scores at most the *cut*, the lowest score of its list. So what is
known of an answer above the cut is all there is to know. Of the entities that are not listed, T
score the cut (as many as are said to tie there less those listed), or any number where it is not
said; the others score less, and nothing tells how they compare with each other. Of all assignments
of such scores

* the best for an answer that is not listed is to score the cut if any can, and for every answer
  that as few competitors as possible do so beside it;
* the worst is to come last of all, if not all that are not listed score the cut.

Each bound is reached by some assignment, for each answer by one of its own, and under all tie
policies by the same. What is excluded does not compete, but may be among those that score the cut.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from clqa.ascending import places_among
from clqa.outside_entries import BOUNDS
from clqa.outside_lists import UNKNOWN, Lists
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared, row_numbers, selected
from clqa.ranks import Competitors, Ranking
from clqa.top_candidates import THRESHOLDS, Tops
from clqa.typed_candidates import Pools, is_member


class _Cuts(NamedTuple):
    """Lists, and what is known of the end of each.

    Attributes
    ----------
    rows : (n_listed,) int64
        The list of each listed entity.
    scores : (n,) float64
        The cut; infinite where nothing is listed.
    is_at_cut : (n_listed,) bool
    unseen_ties : (n,) int64
        T; -1 where it is not known.
    n_unlisted : (n,) int64
    places : (n_listed + n,) int64
        Of the score of each listed entity, and of each cut, among all scores, higher for higher.
    order : (n_listed,) int64
        The listed entities list by list, ascending by score.
    """

    lists: Lists
    n_entities: int
    rows: np.ndarray
    scores: np.ndarray
    is_at_cut: np.ndarray
    unseen_ties: np.ndarray
    n_unlisted: np.ndarray
    places: np.ndarray
    order: np.ndarray


def _cuts(lists: Lists, n_entities: int) -> _Cuts:
    n, rows = len(lists.tied), row_numbers(lists.listed)
    scores = np.full(n, np.inf)
    np.minimum.at(scores, rows, lists.scores)
    is_at_cut = lists.scores == scores[rows]
    seen = np.bincount(rows[is_at_cut], minlength=n)
    unseen = np.where(lists.tied == UNKNOWN, UNKNOWN, lists.tied - seen)
    n_unlisted = n_entities - lists.listed.lengths()
    values, places = np.unique(np.concatenate([lists.scores, scores]), return_inverse=True)
    order = np.argsort(rows * np.int64(len(values)) + places[: len(rows)], kind="stable")
    return _Cuts(lists, n_entities, rows, scores, is_at_cut, unseen, n_unlisted, places, order)


def bounded_ranking(
    lists: Lists,
    n_entities: int,
    targets: Ragged,
    excluded: Sequence[Ragged],
    bound: str,
    *,
    depth: int,
    wanted: Ragged,
    is_missing: np.ndarray,
    candidates: np.ndarray | None = None,
    pools: Pools | None = None,
) -> Ranking:
    """What `clqa.ranks.rank` gives for whole rows of scores, as a bound of it.

    Parameters
    ----------
    bound : str
        `best` for the fewest competitors ahead of each target, `worst` for the most.
    is_missing : (n_queries,) bool
        Queries without a list: all their candidates are ahead of their targets.
    """
    cuts = _cuts(lists, n_entities)
    everyone = np.arange(n_entities) if candidates is None else candidates
    allowed = np.zeros(n_entities, bool)
    allowed[everyone] = True
    n_queries = len(lists.tied)

    def is_candidate(ids: Ragged) -> np.ndarray:
        return allowed[ids.values]

    kinds = [(is_candidate, np.full(n_queries, len(everyone)))] * bool(excluded)
    if pools is not None:
        members = selected(pools.members, allowed[pools.members.values])
        kept = pools._replace(members=members)

        def is_typed(ids: Ragged) -> np.ndarray:
            return is_member(ids, kept, n_entities)

        kinds.append((is_typed, members.lengths()[pools.of_query]))
    counts = [
        _bounded(cuts, targets, away, inside, sizes, bound, is_missing)
        for inside, sizes in kinds
        for away in excluded
    ]
    found = Competitors(*(np.array(part, np.int32) for part in zip(*counts, strict=True)))
    tops = _tops(cuts, selected(lists.listed, is_candidate(lists.listed)), excluded[0], depth)
    return Ranking(found, tops, _looked_up(cuts, wanted, bound, is_missing))


def _bounded(
    cuts: _Cuts,
    targets: Ragged,
    away: Ragged,
    inside: Callable[[Ragged], np.ndarray],
    sizes: np.ndarray,
    bound: str,
    is_missing: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Greater, tied and candidates of each target under one filter and one set of candidates.

    Parameters
    ----------
    away : Ragged
        What does not compete.
    inside : function of rows of ids
        Whether they are in the set of candidates of their query.
    sizes : (n_queries,) int64
        Its size.
    """
    listed, n = cuts.lists.listed, cuts.n_entities
    owner = row_numbers(targets)
    competes = inside(listed) & ~is_shared(listed, away)
    away = selected(away, inside(away))
    place = _places(targets, listed, n)
    is_listed = place >= 0
    # Whether the target is counted among the candidates of its query that are not away.
    own = inside(targets) & ~is_shared(targets, away)
    others = sizes[owner] - away.lengths()[owner] - own
    above, level = _compared(cuts, competes, owner, place)
    level -= is_listed & own
    n_competing = np.bincount(cuts.rows[competes], minlength=len(sizes))
    unlisted = others - n_competing[owner] + (is_listed & own)
    is_known = cuts.unseen_ties[owner] != UNKNOWN
    ties = cuts.unseen_ties[owner]
    rest = cuts.n_unlisted[owner] - ~is_listed  # others that are not listed, away or not
    at_cut = ~is_listed | np.append(cuts.is_at_cut, False)[place]
    if bound == BOUNDS[0]:
        # Of the ties that a target shares, as many as there is room for fall on what is away.
        joins = ~is_listed & (~is_known | (ties > 0))
        beside = np.where(is_known, ties - joins, 0)
        beside = np.maximum(beside - (rest - unlisted), 0)
        falls = ~is_listed & ~joins
        above = np.where(falls, above + level + beside, above)
        level = np.where(falls, 0, level + at_cut * beside)
    else:
        falls = ~is_listed & (~is_known | (ties <= rest))
        beside = np.minimum(np.where(is_known, ties - ~is_listed, rest), unlisted)
        above = np.where(falls, others, above)
        level = np.where(falls, 0, level + at_cut * beside)
    lost = is_missing[owner]
    return np.where(lost, others, above), np.where(lost, 0, level), others + 1


def _places(targets: Ragged, listed: Ragged, n_entities: int) -> np.ndarray:
    """Where in the lists the targets are; -1 for those that are not."""
    keys = row_numbers(targets) * np.int64(n_entities) + targets.values
    known = row_numbers(listed) * np.int64(n_entities) + listed.values
    places, inside = places_among(keys, known)
    return np.where(inside, places, -1)


def _compared(
    cuts: _Cuts, competes: np.ndarray, owner: np.ndarray, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Listed competitors above and level with each target; one not listed is taken for the cut."""
    n_listed, n_places = len(cuts.rows), int(cuts.places.max(initial=0)) + 1
    kept = cuts.order[competes[cuts.order]]
    keys = cuts.rows[kept] * np.int64(n_places) + cuts.places[kept]
    own = owner * np.int64(n_places)
    reached = own + cuts.places[np.where(place >= 0, place, n_listed + owner)]
    reaching = np.searchsorted(keys, reached, "left")
    beyond = np.searchsorted(keys, reached, "right")
    end = np.searchsorted(keys, own + n_places, "left")
    return end - beyond, beyond - reaching


def _tops(cuts: _Cuts, listed: Ragged, answers: Ragged, depth: int) -> Tops:
    """The best listed candidates that are no answers, as far as nothing unlisted is among them."""
    lists = cuts.lists
    is_candidate = is_shared(lists.listed, listed)
    is_open = (cuts.unseen_ties != 0) & (cuts.n_unlisted > 0)
    kept = is_candidate & ~is_shared(lists.listed, answers)
    kept &= ~(cuts.is_at_cut & is_open[cuts.rows])
    rows, ids, scores = cuts.rows[kept], lists.listed.values[kept], lists.scores[kept]
    order = np.lexsort((ids, -scores, rows))
    rows, ids, scores = rows[order], ids[order], scores[order]
    starts = np.searchsorted(rows, np.arange(len(lists.tied)))
    first = np.arange(len(rows)) - starts[rows] < depth
    sizes = np.bincount(rows[first], minlength=len(lists.tied))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    reaching = np.full((len(lists.tied), len(THRESHOLDS) if depth else 0), -1, np.int32)
    return Tops(Ragged(offsets, ids[first].astype(np.int32)), scores[first], reaching)


def _looked_up(cuts: _Cuts, wanted: Ragged, bound: str, is_missing: np.ndarray) -> np.ndarray:
    """Scores of entities; of those that are not listed the highest or the lowest there can be."""
    place, owner = _places(wanted, cuts.lists.listed, cuts.n_entities), row_numbers(wanted)
    ties, cut = cuts.unseen_ties[owner], cuts.scores[owner]
    if bound == BOUNDS[0]:
        unlisted = np.where(ties == 0, np.nextafter(cut, -np.inf), cut)
    else:
        unlisted = np.where(ties == cuts.n_unlisted[owner], cut, -np.inf)
    unlisted = np.where(is_missing[owner], -np.inf, unlisted)
    return np.where(place >= 0, np.append(cuts.lists.scores, 0)[place], unlisted)
