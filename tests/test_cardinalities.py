"""Sizes of answer sets, and easy answers against hard ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_sets as reference
from clqa.answers import SplitAnswers
from clqa.cardinalities import easy_before_hard, rank_correlation, size_error, true_sizes
from clqa.errors import InputError
from clqa.ragged import Ragged

some_scores = st.lists(st.sampled_from([0.1, 0.2, 0.3, -np.inf, np.inf]), max_size=5)


def rows_of(lists):
    """Answers numbered in the order of their scores, and the scores."""
    offsets = np.cumsum([0, *map(len, lists)])
    values = [place for row in lists for place in range(len(row))]
    scores = np.array([score for row in lists for score in row], np.float64)
    return scores, Ragged(offsets, np.array(values, np.int32))


def auroc(easy, hard):
    return easy_before_hard(*rows_of(easy), *rows_of(hard))


def test_the_size_error():
    assert size_error([3, 10], [4, 8]) == (0.25, 2, 0)


def test_a_query_without_answers_is_skipped_and_counted():
    assert size_error([3, 5, 10], [4, 0, 8]) == (0.25, 2, 1)


def test_the_size_error_of_no_answers_is_undefined():
    assert size_error([3], [0]) == (None, 0, 1)


def test_the_true_size_has_two_readings():
    sets = (Ragged(np.array([0, n]), np.arange(n, dtype=np.int32)) for n in (3, 1, 1))
    answers = SplitAnswers(*sets)
    assert true_sizes(answers).tolist() == [3]
    assert true_sizes(answers, "easy-and-hard").tolist() == [4]
    with pytest.raises(InputError, match="known are full, easy-and-hard"):
        true_sizes(answers, "all")


@pytest.mark.parametrize("sizes", [([1, 2], [1]), ([np.nan], [1]), ([np.inf], [1])])
def test_sizes_are_finite_and_aligned(sizes):
    with pytest.raises(InputError, match=r"^sizes: "):
        size_error(*sizes)


def test_rank_correlation_takes_average_ranks_of_ties():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    assert rank_correlation([1, 5, 5, 9], [1, 2, 3, 4]) == pytest.approx(0.9486833, abs=5e-8)


@pytest.mark.parametrize(("sizes", "wanted"), [([1, 2, 9], 1), ([9, 2, 1], -1)])
def test_rank_correlation_of_the_same_and_of_the_reversed_order(sizes, wanted):
    assert rank_correlation(sizes, [1, 3, 4]) == pytest.approx(wanted)


@pytest.mark.parametrize("sizes", [([], []), ([1], [2]), ([1, 1], [1, 2]), ([1, 2], [3, 3])])
def test_rank_correlation_of_constant_sizes_is_undefined(sizes):
    assert rank_correlation(*sizes) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_rank_correlation_is_that_of_the_ranks(pairs):
    ranks = [np.array(reference.average_ranks(list(side))) for side in zip(*pairs, strict=True)]
    x, y = (side - sum(side) / len(side) for side in ranks)
    found = rank_correlation(*zip(*pairs, strict=True))
    if not (x * x).sum() * (y * y).sum():
        assert found is None
    else:
        wanted = float((x * y).sum()) / float((x * x).sum() * (y * y).sum()) ** 0.5
        assert found == pytest.approx(wanted, abs=1e-12)


def test_easy_answers_against_hard_ones_by_rank():
    easy, hard = [[0, 3]], [[1, 5]]
    negated = [[-rank for rank in row] for row in easy], [[-rank for rank in row] for row in hard]
    assert auroc(*negated) == [0.75]


def test_ties_count_as_one_half():
    assert auroc([[0.5, 0.5]], [[0.5, 0.2]]) == [0.75]


def test_a_query_of_one_class_is_undefined_and_leaves_its_neighbours_alone():
    assert auroc([[0.9], [], [0.1], [0.1]], [[0.1], [0.5], [], [0.9]]) == [1, None, None, 0]


@given(st.lists(st.tuples(some_scores, some_scores), max_size=5))
def test_easy_before_hard_is_the_share_of_pairs(queries):
    easy, hard = [e for e, _ in queries], [h for _, h in queries]
    wanted = [reference.easy_before_hard(*query) for query in queries]
    assert auroc(easy, hard) == [None if value is None else float(value) for value in wanted]


def test_scores_of_answers_are_numbers():
    with pytest.raises(InputError, match="a score is NaN"):
        auroc([[np.nan]], [[0.1]])


def test_easy_and_hard_answers_are_of_the_same_queries():
    with pytest.raises(InputError, match="1 rows of easy ones, 2 of hard ones"):
        auroc([[0.1]], [[0.1], [0.2]])
