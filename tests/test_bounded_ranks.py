"""Ranks from lists that are cut, against all scores that the other entities may have."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clqa.bounded_ranks import bounded_ranking
from clqa.outside_lists import UNKNOWN, Lists
from clqa.ragged import Ragged, ragged
from clqa.ranks import count_competitors
from clqa.typed_candidates import Pools
from reference_ranks import competitors, rank

POLICIES = ("optimistic", "pessimistic", "realistic")


def top_lists(rows, k, is_said=True):
    """The `k` best of each row by score and id, and how many tie with the last of them."""
    listed, scores, tied = [], [], []
    for row in np.asarray(rows, float):
        best = np.sort(np.lexsort((np.arange(len(row)), -row))[:k])
        listed.append(best)
        scores.append(row[best])
        is_known = is_said and k > 0
        tied.append(np.sum(row == row[best].min()) if is_known else UNKNOWN)
    values = np.concatenate([np.empty(0), *scores])
    return Lists(ragged(listed), values, np.array(tied, np.int64))


def bounds(lists, n_entities, targets, excluded, depth=0, **options):
    """Rankings of the best and the worst assignment."""
    n = len(lists.tied)
    options = {"wanted": targets, "is_missing": np.zeros(n, bool), **options}
    asked = lists, n_entities, targets, excluded
    return [bounded_ranking(*asked, bound, depth=depth, **options) for bound in ("best", "worst")]


def counts(ranking, kind=0, place=0):
    return int(ranking.counts.greater[kind, place]), int(ranking.counts.tied[kind, place])


def test_an_answer_that_ties_with_the_end_of_its_list_is_not_missing():
    lists = top_lists([[0.9, 0.5, 0.5, 0.5, 0.1]], 2)
    assert (lists.listed.values.tolist(), lists.tied.tolist()) == ([0, 1], [3])
    best, worst = bounds(lists, 5, ragged([[3]]), [ragged([[3]])])
    greater, tied = counts(best)
    assert (greater, tied) == (1, 2)
    assert (rank(greater, tied, "optimistic"), rank(greater, tied, "pessimistic")) == (2, 4)
    # Two of the three entities that are not listed score the cut; it may be the third.
    assert counts(worst) == (4, 0)


def test_a_list_decides_where_all_others_tie_with_its_end():
    lists = top_lists([[0.9, 0.5, 0.5, 0.5]], 2)
    best, worst = bounds(lists, 4, ragged([[3]]), [ragged([[3]])])
    assert counts(best) == counts(worst) == (1, 2)


def test_what_is_above_the_cut_is_exact_without_any_counts():
    lists = top_lists([[0.9, 0.7, 0.5, 0.2, 0.1]], 3, is_said=False)
    best, worst = bounds(lists, 5, ragged([[1]]), [ragged([[1]])])
    assert counts(best) == counts(worst) == (1, 0)


@st.composite
def cases(draw):
    """Scores of a query, the length of its list, and who competes."""
    n = draw(st.integers(1, 6))
    scores = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n))
    ids = st.sets(st.integers(0, n - 1))
    pools = draw(st.tuples(st.none() | ids, st.none() | ids))
    return (
        scores,
        draw(st.integers(0, n)),
        draw(ids),
        draw(st.integers(0, n - 1)),
        draw(st.booleans()),
        *pools,
    )


def worlds(scores, listed, tied):
    """All scores up to their order that agree with a list; the cut is kept, lower ones are new."""
    others = [e for e in range(len(scores)) if e not in listed]
    cut = min((scores[e] for e in listed), default=np.inf)
    seen = sum(scores[e] == cut for e in listed)
    lower = [-1.0 - place for place in range(len(others))]
    for values in itertools.product([cut, *lower], repeat=len(others)):
        if tied == UNKNOWN or seen + values.count(cut) == tied:
            world = list(scores)
            for entity, value in zip(others, values, strict=True):
                world[entity] = value
            yield world


@given(cases())
def test_bounds_are_reached_and_never_passed(case):
    scores, k, away, target, is_said, candidates, pool = case
    n = len(scores)
    lists = top_lists([scores], k, is_said)
    options = {}
    if candidates is not None:
        options["candidates"] = np.array(sorted(candidates), int)
    if pool is not None:
        options["pools"] = Pools(np.zeros(1, int), ragged([pool]))
    found = bounds(lists, n, ragged([[target]]), [ragged([away])], **options)
    inside = [set(range(n)) if candidates is None else candidates]
    inside += [] if pool is None else [inside[0] & pool]
    every = [*worlds(scores, set(lists.listed.values.tolist()), lists.tied[0])]
    for kind, members in enumerate(inside):
        excluded = away | (set(range(n)) - members)
        possible = [competitors(world, excluded, target) for world in every]
        for ties in POLICIES:
            reached = [rank(*one[:2], ties) for one in possible]
            assert rank(*counts(found[0], kind), ties) == min(reached)
            assert rank(*counts(found[1], kind), ties) == max(reached)
        assert found[0].counts.candidates[kind, 0] == possible[0][2]


@given(st.integers(0, 2**32 - 1), st.sampled_from([True, False]))
def test_whole_lists_have_the_ranks_of_whole_rows(seed, is_said):
    drawn = np.random.default_rng(seed)
    rows = drawn.integers(0, 4, (5, 7)).astype(float)
    targets, away = (
        ragged([drawn.permutation(7)[: drawn.integers(0, 4)] for _ in rows]) for _ in "ab"
    )
    excluded = [away, targets]
    whole = count_competitors(rows, targets, excluded)
    for found in bounds(top_lists(rows, 7, is_said), 7, targets, excluded):
        for name in whole._fields:
            assert getattr(found.counts, name).tolist() == getattr(whole, name).tolist()


@given(st.integers(0, 2**32 - 1))
def test_kept_candidates_are_the_first_of_the_whole_row(seed):
    drawn = np.random.default_rng(seed)
    row = drawn.integers(0, 5, 8).astype(float)
    answers = ragged([drawn.permutation(8)[:2]])
    lists = top_lists([row], int(drawn.integers(1, 9)))
    best, _ = bounds(lists, 8, answers, [answers], depth=4)
    others = [e for e in range(8) if e not in answers.values]
    order = sorted(others, key=lambda e: (-row[e], e))[:4]
    kept = best.tops.ids.values.tolist()
    assert kept == order[: len(kept)]
    assert best.tops.scores.tolist() == row[kept].tolist()


def test_looked_up_scores_are_what_is_possible():
    lists = top_lists([[0.9, 0.5, 0.5, 0.1]], 2)
    wanted = ragged([[0, 1, 2, 3]])
    best, worst = bounds(lists, 4, wanted, [wanted])
    assert best.looked_up.tolist() == [0.9, 0.5, 0.5, 0.5]
    assert worst.looked_up.tolist() == [0.9, 0.5, -np.inf, -np.inf]


@pytest.mark.parametrize("place", [0, 1])
def test_a_query_without_a_list_comes_last(place):
    lists = top_lists([[0.9, 0.5, 0.5, 0.1]], 0)
    found = bounds(lists, 4, ragged([[2]]), [ragged([[0, 2]])], is_missing=np.array([True]))
    assert counts(found[place]) == (2, 0)


def test_no_queries_are_legal():
    nothing = Lists(Ragged(np.zeros(1, int), np.empty(0, np.int32)), np.empty(0), np.empty(0, int))
    for found in bounds(nothing, 4, ragged([]), [ragged([])], depth=3):
        assert found.counts.greater.shape == (1, 0)
