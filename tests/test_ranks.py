"""Counting competitors: the kernels against sets, and what the definitions say of small cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa import row_counts
from clqa.errors import InputError
from clqa.filters import FILTERS
from clqa.ragged import Ragged, ragged
from clqa.ranks import count_competitors, rank
from clqa.ties import ranks
from clqa.tops import tops_of
from clqa.typed_candidates import Pools
from reference_ranks import competitors


def counts(scores, hard, excluded=(), **options):
    """Per hard answer of one query (greater, tied, candidates)."""
    excluded = ragged([{*excluded, *hard}])
    found = count_competitors(np.array([scores]), ragged([hard]), [excluded], **options)
    return [tuple(map(int, column)) for column in zip(*(part[0] for part in found), strict=True)]


def under_filters(scores, easy, hard, retracted=()):
    """Counts of one query's first hard answer by filter."""
    sets = [ragged([ids]) for ids in (easy, hard, retracted)]
    excluded = [rule(*sets) for rule in FILTERS.values()]
    found = count_competitors(np.array([scores]), sets[1], excluded)
    return {name: tuple(int(part[kind, 0]) for part in found) for kind, name in enumerate(FILTERS)}


def test_an_easy_answer_that_scores_better_does_not_compete():
    assert counts([0.9, 0.5, 0.1, 0.2, 0.7], hard=[1], excluded=[0]) == [(1, 0, 4)]


def test_candidates_with_the_same_score_are_tied():
    assert counts([0.5, 0.5, 0.5, 0.2], hard=[0]) == [(0, 2, 4)]


def test_entities_outside_of_the_candidates_are_excluded_like_answers():
    scores = [0.8, 0.5, 0.5, 0.5, 0.2, 0.5]
    assert counts(scores, hard=[1, 2], excluded=[0, 5]) == [(0, 1, 3), (0, 1, 3)]


def test_entities_past_the_end_do_not_compete_when_excluded():
    assert counts([0, 0.3, 0, 0, 0, 0], hard=[5], excluded=[3, 4]) == [(1, 2, 4)]


def test_entities_past_the_end_compete_when_scores_are_padded_with_zero():
    assert counts([0, 0.3, 0, 0, 0, 0], hard=[5]) == [(1, 4, 6)]


def test_a_missing_score_of_zero_loses_to_positive_scores():
    assert counts([0.1, 0.3, 0.2, 0, 0, 0], hard=[5], excluded=[3, 4]) == [(3, 0, 4)]


def test_constant_scores_tie_with_all_candidates():
    assert counts(np.zeros(100), hard=[7]) == [(0, 99, 100)]


def test_a_retracted_answer_does_not_compete_under_observed_and_full():
    found = under_filters([0.1, 0.9, 0.2, 0.5], easy=[1], hard=[3], retracted=[1])
    assert found["observed-and-full"] == (0, 0, 3)


def test_a_retracted_answer_competes_under_full_only():
    found = under_filters([0.1, 0.9, 0.2, 0.5], easy=[1], hard=[3], retracted=[1])
    assert found["full-only"] == (1, 0, 4)


def test_filters_agree_where_nothing_is_retracted():
    found = under_filters([0.4, 0.9, 0.2, 0.5, 0.3], easy=[1, 2], hard=[0, 3])
    assert found["observed-and-full"] == found["full-only"]


def test_all_candidates_at_minus_infinity_tie():
    minus = -np.inf
    assert counts([minus] * 6, hard=[2], excluded=[1, 3, 5]) == [(0, 2, 3)]
    assert counts([minus] * 6, hard=[2], candidates=np.array([0, 2, 4])) == [(0, 2, 3)]


def test_infinities_are_ordered_like_numbers():
    scores = [np.inf, 1.0, -np.inf, np.inf, 2.0]
    assert counts(scores, hard=[0, 2], excluded=[]) == [(0, 1, 4), (3, 0, 4)]


def test_known_answers_of_all_graphs_are_filtered_for_a_test_query():
    scores = [0.95, 0.90, 0.85, 0.80, 0.75, 0.70]
    assert counts(scores, hard=[4], excluded=[0, 1, 2]) == [(1, 0, 3)]


def test_forgetting_valid_answers_costs_ranks():
    scores = [0.95, 0.90, 0.85, 0.80, 0.75, 0.70]
    assert counts(scores, hard=[4], excluded=[0]) == [(3, 0, 5)]


def test_test_answers_compete_for_a_valid_query():
    assert counts([0.9, 0.8, 0.7, 0.6], hard=[3], excluded=[0]) == [(2, 0, 3)]


def test_test_answers_can_be_filtered_for_a_valid_query():
    assert counts([0.9, 0.8, 0.7, 0.6], hard=[3], excluded=[0, 1]) == [(1, 0, 2)]


def test_better_and_tied_candidates_are_told_apart():
    assert counts([5, 7, 5, 5, 2, 5], hard=[2]) == [(1, 3, 6)]


def test_tied_hard_answers_do_not_hurt_each_other():
    assert counts([0.9, 0.5, 0.5, 0.5, 0.1], hard=[1, 2]) == [(1, 1, 4), (1, 1, 4)]


@pytest.mark.parametrize(
    ("scores", "hard", "wanted"),
    [
        ([5, 7, 5, 5, 2, 5], [2], (2, 3.5, 5)),
        ([5, 7, 5, 5, 2], [2], (2, 3, 4)),
        ([0.9, 0.5, 0.5, 0.5, 0.1], [1, 2], (2, 2.5, 3)),
    ],
)
def test_tied_scores_have_a_rank_for_each_policy(scores, hard, wanted):
    found = count_competitors(np.array([scores]), ragged([hard]), [ragged([hard])])
    for ties, place in zip(("optimistic", "realistic", "pessimistic"), wanted, strict=True):
        assert ranks(found.greater[0], found.tied[0], ties).tolist() == [place] * len(hard)


def test_an_answer_does_not_compete_with_itself():
    assert counts([0.9, 0.5, 0.4], hard=[0]) == [(0, 0, 3)]


def test_a_target_that_is_not_listed_as_excluded_competes_all_the_same():
    found = count_competitors(np.array([[3.0, 2.0, 1.0]]), ragged([[1]]), [ragged([[]])])
    assert [int(part[0, 0]) for part in found] == [1, 0, 3]


def test_another_target_competes_unless_it_is_excluded():
    found = count_competitors(np.array([[3.0, 2.0, 1.0]]), ragged([[0, 1]]), [ragged([[1]])])
    assert found.greater.tolist() == [[0, 1]]


def test_an_answer_that_the_list_of_the_best_lacks_has_exact_ranks():
    scores, hard = np.array([[0.9, 0.5, 0.5, 0.5, 0.1]]), ragged([[3]])
    listed = tops_of(scores, 2, [0.5])
    assert (listed.entities.tolist(), listed.floor.tolist()) == ([0, 1], [0.5])
    n_above = int((listed.scores > listed.floor).sum())
    assert (n_above, listed.reaching.item() - n_above) == (1, 3)
    found = rank(scores, hard, [hard], depth=2).counts
    both = [ranks(found.greater[0], found.tied[0], t).item() for t in ("optimistic", "pessimistic")]
    assert both == [2, 4]


def test_scores_that_differ_in_the_last_bit_do_not_tie():
    assert counts([0.30000000000000004, 0.3], hard=[1]) == [(1, 0, 2)]


def test_a_tolerance_makes_close_scores_tie():
    assert counts([0.30000000000000004, 0.3], hard=[1], tie_atol=1e-9) == [(0, 1, 2)]


def test_a_tolerance_of_zero_is_obeyed():
    assert counts([0.30000000000000004, 0.3], hard=[1], tie_atol=0.0) == [(1, 0, 2)]


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_must_be_finite_and_not_negative(tolerance):
    with pytest.raises(InputError, match="tie_atol"):
        counts([0.1, 0.2], hard=[1], tie_atol=tolerance)


@pytest.mark.parametrize("dtype", [int, np.int8, bool, np.float16, np.float32, np.float64])
def test_number_types_do_not_change_counts(dtype):
    assert counts(np.array([1, 0, 1], dtype=dtype), hard=[0]) == [(0, 1, 3)]


def test_a_list_of_scores_is_ranked_like_an_array():
    targets, nothing = ragged([[0], [1]]), ragged([[], []])
    found = count_competitors([[1, 0, 1], [2, 1, 0]], targets, [nothing])
    assert [part[0].tolist() for part in found] == [[0, 1], [1, 0], [3, 3]]


def test_columns_first_storage_does_not_change_counts():
    scores = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    targets, nothing = ragged([[1], [2], [0]]), ragged([[], [], []])
    found = count_competitors(scores, targets, [nothing])
    assert found.greater.tolist() == [[2, 1, 3]]


@pytest.mark.parametrize(("dtype", "tied"), [(np.float16, 2), (np.float32, 0)])
def test_half_precision_makes_ties(dtype, tied):
    scores = np.array([0.70001, 0.70002, 0.70030], dtype=dtype)
    assert counts(scores, hard=[0])[0][1] == tied


def test_half_precision_infinities_stay_infinite():
    assert counts(np.array([np.inf, 65504, -np.inf], np.float16), hard=[1]) == [(1, 0, 3)]


def test_a_query_without_hard_answers_leaves_its_neighbours_alone():
    scores = np.array([[3.0, 2.0, 1.0]] * 3)
    hard = ragged([[1], [], [2]])
    found = count_competitors(scores, hard, [hard])
    assert found.greater.tolist() == [[1, 2]]


def test_a_single_candidate_that_is_the_answer_is_first():
    assert counts([0.3], hard=[0]) == [(0, 0, 1)]


def test_nan_is_refused_by_the_name_of_its_query():
    scores = np.array([[1.0, 2.0], [np.nan, 1.0]])
    hard = ragged([[0], [1]])
    with pytest.raises(InputError, match="query b hold a NaN"):
        count_competitors(scores, hard, [hard], query_ids=["a", "b"])


def test_nan_is_refused_even_where_nothing_is_ranked():
    with pytest.raises(InputError, match="row 0 hold a NaN"):
        count_competitors(np.array([[np.nan, 1.0]]), ragged([[]]), [ragged([[]])])


def test_nan_in_half_precision_is_refused():
    scores = np.array([[1, 2], [3, np.nan]], np.float16)
    with pytest.raises(InputError, match="row 1 hold a NaN"):
        count_competitors(scores, ragged([[0], [0]]), [ragged([[], []])], chunk_bytes=1)


@pytest.mark.parametrize(
    ("scores", "targets", "excluded", "message"),
    [
        ([[1.0, 2.0]], [[2]], [[]], "outside"),
        ([[1.0, 2.0]], [[0]], [[-1]], "outside"),
        ([[1.0, 2.0]], [[0], [0]], [[], []], "too few"),
        ([[1.0, 2.0]], [[0]], [[], []], "rows for 1 queries"),
        ([[1.0, 2.0]], [[0]], [[1, 1]], "ascend"),
        ([1.0, 2.0], [[0]], [[]], "real matrix"),
        ([["a", "b"]], [[0]], [[]], "real matrix"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(scores, targets, excluded, message):
    with pytest.raises(InputError, match=message):
        count_competitors(np.array(scores), ragged(targets), [ragged(excluded)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": -1}, "a depth from 0"),
        ({"rows": np.array([0.9])}, "whole numbers, not float64"),
        ({"candidates": np.array([-1, 0])}, "candidates: an id lies outside"),
        ({"candidates": np.array([0, 3])}, "candidates: an id lies outside"),
        ({"candidates": np.array([1, 0])}, "candidates: the ids of a row must ascend"),
        ({"pools": Pools(np.array([1]), ragged([[0, 1]]))}, "pools: expected one of 1"),
        ({"pools": Pools(np.array([0]), ragged([[0, 3]]))}, "pools: an id lies outside"),
        ({"pools": Pools(np.array([0]), ragged([[0, 0]]))}, "pools: the ids of a row must ascend"),
        ({"wanted": Ragged(np.array([0, 1]), np.array([1.7]))}, "whole numbers, not float64"),
        ({"wanted": Ragged(np.array([0, 2]), np.array([2, 1], np.uint32))}, "must ascend"),
        ({"wanted": Ragged(np.array([1, 1]), np.array([1]))}, "offsets must go from 0"),
        ({"excluded": []}, "at least one filter"),
    ],
)
def test_competitions_that_do_not_fit_are_refused(options, message):
    given = {"excluded": [ragged([[]])], **options}
    with pytest.raises(InputError, match=message):
        rank(np.array([[1.0, 2.0, 3.0]]), ragged([[0]]), **given)


def test_longer_numbers_than_doubles_are_refused():
    with pytest.raises(InputError, match="real matrix"):
        counts(np.array([1, 2], np.longdouble), hard=[1])


def test_a_tolerance_leaves_the_counts_above_thresholds_alone():
    scores = np.array([[0.7, 0.1, 0.4]], np.float32)
    none = ragged([[]])
    found = rank(scores, none, [none], depth=1, tie_atol=0.01).tops.reaching[0]
    assert found[[10, 40, 41, 70, 71]].tolist() == [3, 2, 1, 1, 0]


def test_rows_may_be_taken_in_another_order():
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    hard = ragged([[0], [1]])
    found = count_competitors(scores, hard, [hard], rows=np.array([1, 0]))
    assert found.greater.tolist() == [[2, 1]]


def test_the_scores_are_left_as_they_are():
    scores = np.array([[3.0, 2.0, 1.0]])
    counts(scores[0], hard=[1])
    assert scores.flags.writeable
    assert scores.tolist() == [[3.0, 2.0, 1.0]]


few_values = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.25, 0.5, 1.0, np.inf])


@st.composite
def ranked_batches(draw):
    """Scores with many ties, targets and two excluded sets per query."""
    n_entities = draw(st.integers(1, 12))
    n_queries = draw(st.integers(1, 4))
    row = st.lists(few_values, min_size=n_entities, max_size=n_entities)
    scores = draw(st.lists(row, min_size=n_queries, max_size=n_queries))
    subset = st.lists(st.integers(0, n_entities - 1), unique=True)
    sets = [draw(st.lists(subset, min_size=n_queries, max_size=n_queries)) for _ in ("t", "x", "y")]
    return scores, *sets


@settings(max_examples=300, deadline=None)
@given(
    ranked_batches(),
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.sampled_from([1, 100, 10**6]),
    st.sampled_from([0.0, 0.25, 0.3]),
)
def test_counts_equal_those_of_sets(batch, dtype, chunk_bytes, tie_atol):
    scores, targets, *excluded = batch
    found = count_competitors(
        np.array(scores, dtype),
        ragged(targets),
        [ragged(part) for part in excluded],
        chunk_bytes=chunk_bytes,
        tie_atol=tie_atol,
    )
    for kind, part in enumerate(excluded):
        wanted = [
            competitors(scores[query], set(part[query]), target, tie_atol)
            for query in range(len(scores))
            for target in sorted(targets[query])
        ]
        assert list(zip(*(count[kind].tolist() for count in found), strict=True)) == wanted


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 300),
    st.sampled_from([3, 50, 10**6]),
    st.sampled_from([np.float32, np.float64]),
)
def test_comparing_and_locating_count_the_same(seed, n_cuts, n_values, dtype):
    drawn = np.random.default_rng(seed)
    row = drawn.integers(0, n_values, 1500).astype(dtype)
    row[drawn.integers(0, 1500, 20)] = drawn.choice([np.inf, -np.inf], 20)
    cuts = np.unique(drawn.choice(row, n_cuts))
    compared = row_counts._counts_by_comparing(row, cuts)
    located = row_counts._counts_by_locating(row, cuts)
    assert [part.tolist() for part in compared] == [part.tolist() for part in located]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_hard", [40, 500])
def test_many_hard_answers_are_counted_like_few(dtype, n_hard):
    drawn = np.random.default_rng(5)
    scores = drawn.integers(0, 700, 2000).astype(dtype)
    hard = sorted(drawn.choice(2000, n_hard, replace=False).tolist())
    easy = set(drawn.choice(2000, 300, replace=False).tolist()) - set(hard)
    wanted = [competitors(scores.tolist(), easy | set(hard), target) for target in hard]
    assert counts(scores, hard, easy) == wanted


def test_a_batch_is_counted_like_its_queries_one_by_one():
    drawn = np.random.default_rng(6)
    scores = drawn.integers(0, 9, (20, 30)).astype(np.float32)
    hard = [drawn.choice(30, drawn.integers(0, 6), replace=False) for _ in range(20)]
    together = count_competitors(scores, ragged(hard), [ragged(hard)])
    alone = [
        count_competitors(scores[i : i + 1], ragged(hard[i : i + 1]), [ragged(hard[i : i + 1])])
        for i in range(20)
    ]
    for name in together._fields:
        joined = np.concatenate([getattr(part, name) for part in alone], axis=1)
        assert joined.tolist() == getattr(together, name).tolist()
