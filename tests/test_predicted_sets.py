"""Answer sets made from rows of scores, and from lists of the best candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import reference_sets as reference
from clqa.errors import InputError
from clqa.predicted_sets import CUTS, best_sets, in_order, sets_reaching
from clqa.ragged import ragged
from clqa.set_metrics import f_beta, set_counts
from clqa.tops import (
    ScoredAnswers,
    count_bounds,
    listed_best_sets,
    listed_sets_reaching,
    tops_of,
    without,
)

N_ENTITIES = 7
LEVELS = [0.0, 0.25, 0.5, 0.75, 1.0, -np.inf]
some_scores = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 5), st.just(N_ENTITIES)), elements=st.sampled_from(LEVELS)
)


def rows(sets):
    return [set(sets.row(i).tolist()) for i in range(len(sets.offsets) - 1)]


def some_answers(data, n, least=0):
    entity = st.integers(0, N_ENTITIES - 1)
    return data.draw(st.lists(st.sets(entity, min_size=least, max_size=4), min_size=n, max_size=n))


def test_scores_that_equal_the_threshold_are_in():
    assert rows(sets_reaching(np.array([[0, 0.6, 0.5, 0]]), 0.5)) == [{1, 2}]


def test_no_entity_is_in_where_none_reaches_the_threshold():
    assert rows(sets_reaching(np.zeros((2, 3)), 0.5)) == [set(), set()]


def test_a_threshold_of_zero_is_obeyed():
    assert rows(sets_reaching(np.array([[0, -0.1, 0.2]]), 0.0)) == [{0, 2}]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.7])
def test_the_threshold_has_the_precision_of_the_scores(dtype, threshold):
    scores = np.array([[threshold, threshold - 0.01]], dtype)
    assert rows(sets_reaching(scores, threshold)) == [{0}]


def test_every_query_may_have_its_threshold():
    scores = np.array([[0.1, 0.9], [0.1, 0.9], [0.1, 0.9]])
    assert rows(sets_reaching(scores, np.array([0.5, -np.inf, np.inf]))) == [{1}, {0, 1}, set()]


@pytest.mark.parametrize("kind", [np.int32, bool, np.float64])
def test_the_type_of_the_scores_does_not_matter(kind):
    assert rows(sets_reaching(np.array([[1, 0, 1]], kind), 0.5)) == [{0, 2}]


def test_a_single_candidate():
    assert rows(best_sets(np.array([[0.3]]), 1)) == rows(sets_reaching(np.array([[0.3]]), 0.3))


def test_a_score_that_is_nan_is_refused_by_query():
    scores = np.array([[0.1, 0.2], [np.nan, 0.2]])
    with pytest.raises(InputError, match="query b hold a NaN"):
        sets_reaching(scores, 0.1, query_ids=["a", "b"])
    with pytest.raises(InputError, match="query row 1 hold a NaN"):
        best_sets(scores, 1)


def test_a_threshold_that_is_nan_is_refused():
    with pytest.raises(InputError, match="a threshold is NaN"):
        sets_reaching(np.zeros((1, 2)), np.nan)


def test_thresholds_of_other_queries_are_refused():
    with pytest.raises(InputError, match="for 2 queries"):
        sets_reaching(np.zeros((2, 2)), np.zeros(3))


@pytest.mark.parametrize("scores", [np.zeros(3), np.array([["a"]])])
def test_scores_are_a_matrix_of_numbers(scores):
    with pytest.raises(InputError, match="must be a real matrix"):
        sets_reaching(scores, 0)


@pytest.mark.parametrize(
    ("ties", "wanted"), [("smallest-ids", {0, 1}), ("all", {0, 1, 3}), ("none", {0})]
)
def test_ties_at_the_cut_follow_the_policy(ties, wanted):
    assert rows(best_sets(np.array([[0.9, 0.5, 0.1, 0.5]]), 2, ties)) == [wanted]


@pytest.mark.parametrize("ties", CUTS)
def test_ties_that_fit_are_in_under_every_policy(ties):
    assert rows(best_sets(np.array([[0.9, 0.5, 0.1, 0.5]]), 3, ties)) == [{0, 1, 3}]


@pytest.mark.parametrize("m", [0, -1, 2.5, "10 ", True])
def test_the_number_of_the_best_is_whole_and_positive(m):
    with pytest.raises(InputError, match=r"^m must be a whole number"):
        best_sets(np.zeros((1, 3)), m)


def test_an_unknown_policy_is_refused_with_those_that_are_known():
    with pytest.raises(InputError, match="known are smallest-ids, all, none"):
        best_sets(np.zeros((1, 3)), 2, "random")


@given(some_scores, st.sampled_from(LEVELS))
def test_sets_at_a_threshold_equal_their_definition(scores, threshold):
    assert rows(sets_reaching(scores, threshold)) == reference.reaching(scores, threshold)


@given(some_scores, st.integers(1, 9), st.sampled_from(CUTS))
def test_sets_of_the_best_equal_their_definition(scores, m, ties):
    assert rows(best_sets(scores, m, ties)) == reference.best(scores.tolist(), m, ties)


@given(some_scores, st.sampled_from(LEVELS), st.sampled_from(LEVELS))
def test_a_lower_threshold_gives_a_larger_set(scores, one, other):
    low, high = (rows(sets_reaching(scores, t)) for t in sorted((one, other)))
    assert all(h <= w for h, w in zip(high, low, strict=True))


@given(some_scores)
def test_sets_are_listed_by_score_then_id(scores):
    listed = in_order(sets_reaching(scores, -np.inf), scores).reshape(scores.shape)
    for row, order in zip(scores.tolist(), listed.tolist(), strict=True):
        assert order == sorted(range(N_ENTITIES), key=lambda e, row=row: (-row[e], e))


def test_no_result_depends_on_the_size_of_a_chunk(monkeypatch):
    scores = np.random.default_rng(0).random((50, 40)).astype(np.float32)
    whole = rows(sets_reaching(scores, 0.7)), rows(best_sets(scores, 3))
    monkeypatch.setattr("clqa.predicted_sets.CHUNK_BYTES", 500)
    assert (rows(sets_reaching(scores, 0.7)), rows(best_sets(scores, 3))) == whole


# Lists of the best candidates.


@given(some_scores, st.integers(1, 9), st.sampled_from(LEVELS))
def test_lists_give_the_sets_of_the_scores_or_refuse(scores, m, threshold):
    tops, wanted = tops_of(scores, m), reference.reaching(scores, threshold)
    proven = [m >= N_ENTITIES or sorted(row)[-m] < threshold for row in scores.tolist()]
    if all(proven):
        assert rows(listed_sets_reaching(tops, threshold)) == wanted
    else:
        with pytest.raises(InputError, match=rf"^query q{proven.index(False)}: its list ends"):
            listed_sets_reaching(tops, threshold, [f"q{i}" for i in range(len(scores))])


@given(some_scores, st.integers(1, 9), st.integers(1, 9), st.sampled_from(CUTS))
def test_lists_give_the_best_of_the_scores_or_refuse(scores, kept, m, ties):
    tops = tops_of(scores, kept)
    try:
        found = rows(listed_best_sets(tops, m, ties))
    except InputError:
        assert kept < N_ENTITIES
        assert kept < m or (ties != "smallest-ids" and m < N_ENTITIES)
    else:
        assert found == reference.best(scores.tolist(), m, ties)


def test_a_list_that_ends_in_a_tie_cannot_tell_all_that_tie():
    scores = np.array([[0.9, 0.5, 0.5, 0.5, 0.1]])
    assert rows(listed_best_sets(tops_of(scores, 2), 2)) == [{0, 1}]
    with pytest.raises(InputError, match="cut before the best 2 and their ties"):
        listed_best_sets(tops_of(scores, 2), 2, "all")


@given(some_scores, st.integers(1, 9), st.sampled_from(LEVELS), st.data())
def test_lists_without_known_answers_give_the_sets_without_them(scores, m, threshold, data):
    known = some_answers(data, len(scores))
    tops = without(tops_of(scores, m), ragged(known))
    wanted = [p - k for p, k in zip(reference.reaching(scores, threshold), known, strict=True)]
    try:
        assert rows(listed_sets_reaching(tops, threshold)) == wanted
    except InputError:
        assert any(m < N_ENTITIES and sorted(row)[-m] >= threshold for row in scores.tolist())


@given(some_scores, st.integers(1, 9), st.sampled_from([0.1, *LEVELS]), st.data())
def test_counts_from_lists_enclose_those_of_the_scores(scores, m, threshold, data):
    grid = data.draw(st.lists(st.sampled_from(LEVELS[:5]), max_size=3))
    known = some_answers(data, len(scores))
    true = [t - k for t, k in zip(some_answers(data, len(scores)), known, strict=True)]
    of = [
        ScoredAnswers(
            sets.offsets, scores[np.repeat(np.arange(len(scores)), sets.lengths()), sets.values]
        )
        for sets in map(ragged, (true, known))
    ]
    fewest, most = count_bounds(tops_of(scores, m, grid), of[0], threshold, of[1])
    judged = [p - k for p, k in zip(reference.reaching(scores, threshold), known, strict=True)]
    exact = set_counts(ragged(judged), ragged(true))
    assert fewest.right.tolist() == most.right.tolist() == exact.right.tolist()
    assert fewest.true.tolist() == exact.true.tolist()
    assert (fewest.predicted <= exact.predicted).all()
    assert (exact.predicted <= most.predicted).all()
    assert (f_beta(most) <= f_beta(exact)).all()
    assert (f_beta(exact) <= f_beta(fewest)).all()
    if threshold in grid or m >= N_ENTITIES:
        assert fewest.predicted.tolist() == most.predicted.tolist()


def test_counts_from_a_cut_list_are_bounded_by_the_grid():
    scores = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]])
    true = ScoredAnswers(np.array([0, 1]), np.array([0.6]))
    fewest, most = count_bounds(tops_of(scores, 2, [0.35, 0.65]), true, 0.45)
    assert (fewest.predicted.tolist(), most.predicted.tolist()) == ([3], [6])


@given(some_scores, st.integers(1, 9), st.data())
def test_each_query_can_have_a_threshold_of_its_own(scores, m, data):
    some = st.sampled_from([-np.inf, 0.1, 0.45, *LEVELS, np.inf])
    thresholds = np.array([data.draw(some) for _ in scores])
    true = ragged(some_answers(data, len(scores)))
    own = scores[np.repeat(np.arange(len(scores)), true.lengths()), true.values]
    own = ScoredAnswers(true.offsets, own)
    tops = tops_of(scores, m, LEVELS[1:4])
    for kind, found in enumerate(count_bounds(tops, own, thresholds)):
        for row, threshold in enumerate(thresholds):
            alone = count_bounds(tops, own, threshold)[kind]
            assert [part[row] for part in found] == [part[row] for part in alone]
