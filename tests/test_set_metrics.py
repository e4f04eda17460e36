"""Predicted sets: F-beta, precision and recall, slices, ceilings."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_sets as reference
from clqa.ceilings import ceiling, losses, oracle_counts
from clqa.errors import InputError
from clqa.ragged import Ragged, ragged
from clqa.set_metrics import Counts, f_beta, set_counts, set_summary, slice_report
from clqa.truths import true_answers

BETAS = (0.5, 1.0, 2.0, 0.1, 3.7)
TRUE = [{1, 2, 3}, set(), {4}]
PREDICTED = [{1}, set(), {4, 9}]

some_sets = st.sets(st.integers(0, 8), max_size=6)
some_queries = st.lists(st.tuples(some_sets, some_sets), min_size=1, max_size=8)


def value(predicted, true, **options):
    return float(f_beta(set_counts(ragged([predicted]), ragged([true])), **options)[0])


def summary(predicted, true, **options):
    return set_summary(set_counts(ragged(predicted), ragged(true)), **options)


@pytest.mark.parametrize(
    ("predicted", "true", "wanted"),
    [
        ({1}, {1, 2, 3}, 0.7142857),
        ({1, 9}, {1}, 0.5555556),
        (set(), set(), 1),
        ({1}, set(), 0),
        (set(), {1}, 0),
        ({2}, {1}, 0),
    ],
)
def test_f_of_one_half(predicted, true, wanted):
    assert value(predicted, true) == pytest.approx(wanted, abs=5e-8)


@pytest.mark.parametrize(("beta", "wanted"), [(1, 0.5), (2, 5 / 13), (0.5, 5 / 7)])
def test_beta_weighs_recall_against_precision(beta, wanted):
    assert value({1}, {1, 2, 3}, beta=beta) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("beta", [1e-200, 1e200])
def test_extreme_betas_become_precision_and_recall(beta):
    assert value({1, 2}, {2, 3, 4}, beta=beta) == pytest.approx(0.5 if beta < 1 else 1 / 3)


def test_a_query_without_answers_counts_in_the_mean():
    assert summary(PREDICTED, TRUE).f_beta == pytest.approx(0.7566138, abs=5e-8)


def test_a_needless_prediction_loses_a_query_without_answers():
    found = summary([{1}, {7}, {4, 9}], TRUE)
    assert found.f_beta == pytest.approx(0.4232804, abs=5e-8)
    assert (found.precision, found.recall) == (0.5, 0.5)
    assert (found.n, found.right, found.predicted, found.true) == (3, 2, 4, 4)
    assert found.predictions_per_query == 4 / 3


def test_the_summary_of_no_queries_is_zero():
    assert set(summary([], [])) == {0}


def test_precision_of_no_predictions_and_recall_of_no_answers_are_zero():
    found = summary([set(), set()], [set(), set()])
    assert (found.f_beta, found.precision, found.recall) == (1, 0, 0)


def test_the_value_of_two_empty_sets_can_be_zero():
    assert value(set(), set(), empty_value=0.0) == 0
    assert summary(PREDICTED, TRUE, empty_value=0.0).f_beta == pytest.approx(0.4232804, abs=5e-8)


@pytest.mark.parametrize("beta", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_beta_is_a_positive_number(beta):
    with pytest.raises(InputError, match=r"^beta must be a finite number above 0"):
        value({1}, {1}, beta=beta)


def test_sets_of_other_queries_are_refused():
    with pytest.raises(InputError, match="2 rows for 3 true sets"):
        set_counts(ragged(PREDICTED[:2]), ragged(TRUE))


@pytest.mark.parametrize(
    ("values", "text"), [([1, 1], "ascend"), ([2, 1], "ascend"), ([-1, 2], "0")]
)
def test_ids_ascend_from_zero(values, text):
    rows = Ragged(np.array([0, 2]), np.array(values, np.int32))
    for sets in ((rows, ragged([[1]])), (ragged([[1]]), rows)):
        with pytest.raises(InputError, match=text):
            set_counts(*sets)


@given(some_queries, st.sampled_from(BETAS))
def test_f_beta_equals_its_definition(queries, beta):
    predicted, true = zip(*queries, strict=True)
    found = f_beta(set_counts(ragged(predicted), ragged(true)), beta).tolist()
    wanted = [float(reference.f_beta(p, t, beta)) for p, t in queries]
    assert found == pytest.approx(wanted, rel=1e-15, abs=0)
    assert summary(predicted, true, beta=beta).f_beta == pytest.approx(
        float(reference.macro(predicted, true, beta)), rel=1e-14, abs=0
    )


@given(some_queries, st.sampled_from(BETAS))
def test_f_beta_is_one_for_equal_sets_only_and_never_more(queries, beta):
    predicted, true = zip(*queries, strict=True)
    found = f_beta(set_counts(ragged(predicted), ragged(true)), beta)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found == 1).tolist() == [p == t for p, t in queries]


@given(some_queries, st.randoms())
def test_neither_the_order_of_queries_nor_the_numbers_of_entities_matter(queries, random):
    predicted, true = zip(*queries, strict=True)
    names = random.sample(range(100), 9)
    shuffled = random.sample(queries, len(queries))
    renamed = [[{names[e] for e in row} for row in rows] for rows in zip(*shuffled, strict=True)]
    assert summary(*renamed) == summary(predicted, true)


@given(some_queries)
def test_a_query_has_the_same_counts_in_every_batch(queries):
    together = np.array(set_counts(*map(ragged, zip(*queries, strict=True)))).T.tolist()
    assert together == [[len(p & t), len(p), len(t)] for p, t in queries]


@given(some_queries)
def test_pooled_precision_and_recall_equal_those_of_all_pairs(queries):
    found = summary(*zip(*queries, strict=True))
    right, predicted, true = (
        sum(len(row) for row in rows)
        for rows in ([p & t for p, t in queries], *zip(*queries, strict=True))
    )
    assert found.precision == (float(Fraction(right, predicted)) if predicted else 0)
    assert found.recall == (float(Fraction(right, true)) if true else 0)


# Slices.


def test_slices_are_sorted_by_the_text_of_their_key():
    counts = set_counts(ragged(PREDICTED), ragged(TRUE))
    assert [*slice_report(counts, [10, 9, None])] == ["10", "9", "?"]
    assert [*slice_report(counts, ["b", "a", "b"])] == ["a", "b"]


def test_a_missing_key_is_a_slice_of_its_own():
    report = slice_report(set_counts(ragged(PREDICTED), ragged(TRUE)), ["2p", None, float("nan")])
    assert {key: line.n for key, line in report.items()} == {"2p": 1, "?": 2}
    assert report["2p"].f_beta == pytest.approx(5 / 7)
    assert report["?"].f_beta == pytest.approx((1 + 5 / 9) / 2)


@given(some_queries, st.data())
def test_each_slice_is_the_summary_of_its_queries(queries, data):
    keys = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(queries), max_size=len(queries)))
    report = slice_report(set_counts(*map(ragged, zip(*queries, strict=True))), keys)
    for key, line in report.items():
        members = [query for query, own in zip(queries, keys, strict=True) if own == key]
        assert line == summary(*zip(*members, strict=True))
    assert sum(line.n for line in report.values()) == len(queries)


def test_every_query_needs_a_key():
    with pytest.raises(InputError, match="2 keys for 3 queries"):
        slice_report(set_counts(ragged(PREDICTED), ragged(TRUE)), ["a", "b"])


# Ceilings.

CANDIDATES = [{1, 2, 8}, {5}, {9}]


def test_the_oracle_takes_the_true_answers_among_the_candidates():
    counts = oracle_counts(ragged(CANDIDATES), ragged(TRUE))
    assert f_beta(counts).tolist() == pytest.approx([0.9090909, 1, 0], abs=5e-8)


def test_a_ceiling():
    found = ceiling(ragged(CANDIDATES), ragged(TRUE))
    assert found.oracle == pytest.approx(0.6363636, abs=5e-8)
    assert (found.pair_recall, found.all_match_rate) == (0.5, 0)
    assert (found.true_pairs, found.retrieved) == (4, 2)


def test_queries_without_answers_are_left_out_of_recall_but_not_of_the_oracle():
    found = ceiling(ragged([{1}, {5}]), ragged([{1}, set()]))
    assert (found.oracle, found.pair_recall, found.all_match_rate) == (1, 1, 1)


def test_the_ceiling_of_nothing_is_zero():
    assert set(ceiling(ragged([]), ragged([]))) == {0}
    assert ceiling(ragged([{1}]), ragged([set()])) == (1, 0, 0, 0, 0)


@given(st.lists(st.tuples(some_sets, some_sets, some_sets), min_size=1, max_size=6))
def test_no_prediction_from_the_candidates_beats_the_oracle(queries):
    predicted = [p & c for p, c, _ in queries]
    _, candidates, true = map(ragged, zip(*queries, strict=True))
    counts = set_counts(ragged(predicted), true)
    lost = losses(counts, candidates, true)
    found = ceiling(candidates, true)
    assert min(lost.values()) >= 0
    assert found.oracle - lost["scorer"] == pytest.approx(set_summary(counts).f_beta)
    assert found.oracle + lost["candidates"] == pytest.approx(1)
    asked = [(c, t) for _, c, t in queries if t]
    if asked:
        assert found.all_match_rate == sum(t <= c for c, t in asked) / len(asked)
        assert found.pair_recall == sum(len(t & c) for c, t in asked) / found.true_pairs


# What is true.

EASY, HARD, RETRACTED = [{3, 5, 8}, {1}], [{6}, {2, 7}], [{8}, set()]


def test_all_answers_are_the_easy_ones_without_the_retracted_and_the_hard_ones():
    sets = true_answers(*map(ragged, (EASY, HARD, RETRACTED)), "full")
    assert [sets.row(i).tolist() for i in range(2)] == [[3, 5, 6], [1, 2, 7]]


def test_only_hard_answers_are_true_by_choice():
    assert true_answers(*map(ragged, (EASY, HARD, RETRACTED)), "hard").row(0).tolist() == [6]


def test_an_unknown_truth_is_refused_with_those_that_are_known():
    with pytest.raises(InputError, match="known are full, hard"):
        true_answers(ragged([]), ragged([]), ragged([]), "all")


def test_twenty_thousand_queries_a_second():
    random = np.random.default_rng(0)
    n, sizes = 20_000, (30, 60)
    true, predicted = (
        Ragged(
            np.arange(n + 1) * size,
            np.sort(
                random.permuted(np.tile(np.arange(200, dtype=np.int32), (n, 1)), axis=1)[:, :size],
                axis=1,
            ).ravel(),
        )
        for size in sizes
    )
    start = time.perf_counter()
    counts = set_counts(predicted, true)
    set_summary(counts)
    slice_report(counts, ["2p", "3p"] * (n // 2))
    assert time.perf_counter() - start < 1


def test_counts_can_be_taken_apart():
    counts = Counts(*np.array([[1, 2], [3, 4], [5, 6]]))
    assert np.array(counts.take(np.array([1]))).tolist() == [[2], [4], [6]]
