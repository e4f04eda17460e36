"""Lists of returned and of expected ids: the definitions of klieo-eval, and what lists may hold."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.errors import InputError
from clqa.list_scores import list_scores, means
from clqa.ragged import Ragged, ragged
from clqa.ranks import count_competitors
from clqa.retrieved_lists import by_score, list_blocks
from clqa.tie_blocks import blocks_of_counts

ids = st.lists(st.integers(0, 5), max_size=6)
COUNTED = {"duplicates": "count", "expected_duplicates": "count"}
DROPPED = {"duplicates": "drop", "expected_duplicates": "drop"}
FIELDS = ("hit", "reciprocal_rank", "precision", "recall", "capped_recall", "ndcg")


def rows(lists):
    """Rows of ids in the order given."""
    offsets = np.cumsum([0, *map(len, lists)])
    return Ragged(offsets, np.array([value for row in lists for value in row], np.int32))


def scored(returned, expected, *cut_offs, ties="pessimistic", **policies):
    blocks = list_blocks(rows(returned), rows(expected), **policies)
    return list_scores(blocks, cut_offs, ties)


def one(returned, expected, k, **policies):
    """Values of one query at one cut-off."""
    found = scored([returned], [expected], k, **policies)
    return {field: getattr(found, field)[0, 0] for field in ("first_hit", *FIELDS)}


def definition(returned, expected, k):
    """A record of klieo-eval, for lists that may hold an id more than once."""
    window = returned[:k]
    n_hits = sum(value in expected for value in window)
    first = next((place for place, value in enumerate(window, 1) if value in expected), None)
    gain = math.fsum(1 / math.log2(i + 2) for i, value in enumerate(window) if value in expected)
    ideal = math.fsum(1 / math.log2(i + 2) for i in range(min(len(expected), k)))
    return {
        "first_hit": first or 0,
        "hit": float(first is not None),
        "reciprocal_rank": 1 / first if first else 0.0,
        "precision": n_hits / k,
        "recall": n_hits / len(expected) if expected else 0.0,
        "capped_recall": n_hits / min(len(expected), k) if expected else 0.0,
        "ndcg": gain / ideal if expected else 0.0,
    }


# Values.


def test_two_expected_ids_around_another_one():
    found = one([5, 9, 6], [5, 6], 5)
    assert (found["first_hit"], found["reciprocal_rank"]) == (1, 1)
    assert (found["precision"], found["recall"]) == (0.4, 1)
    assert found["ndcg"] == pytest.approx(0.9197208, abs=5e-8)
    assert found["ndcg"] == pytest.approx(1.5 / 1.6309298, abs=5e-8)


def test_one_expected_id_at_place_three():
    found = one([1, 2, 3, 4, 5], [3], 5)
    assert (found["first_hit"], found["ndcg"]) == (3, 0.5)
    assert found["reciprocal_rank"] == 1 / 3


def test_a_window_that_ends_before_the_expected_id_has_nothing():
    assert set(one([1, 2, 3, 4, 5], [3], 2).values()) == {0}


def test_precision_is_divided_by_k_where_fewer_are_returned():
    found = one([0, 1, 2], [0, 2, 3], 5)
    assert found["precision"] == 0.4
    assert found["recall"] == 2 / 3
    assert found["hit"] == 1


@pytest.mark.parametrize(
    ("n_expected", "n_hits", "k", "wanted", "capped"), [(40, 10, 10, 0.25, 1), (3, 1, 1, 1 / 3, 1)]
)
def test_recall_is_not_capped_unless_by_its_name(n_expected, n_hits, k, wanted, capped):
    found = one(list(range(n_hits)), list(range(n_expected)), k)
    assert (found["recall"], found["capped_recall"]) == (wanted, capped)


def test_a_hit_is_any_expected_id():
    found = scored([[1, 3], [6], [7, 8]], [[1, 2], [5], [7, 8]], 2)
    at = means(found)[0]
    assert at.hit_rate == 2 / 3
    assert at.recall == 0.5
    assert found.precision[0].sum() * 2 / 3 == 1.0


@pytest.mark.parametrize("empty", range(4))
def test_an_empty_list_costs_nobody_but_itself(empty):
    returned = [[] if query == empty else [7] for query in range(4)]
    found = scored(returned, [[7]] * 4, 1)
    assert found.precision[0].tolist() == [float(query != empty) for query in range(4)]
    assert means(found)[0].precision == 0.75


def test_a_query_that_expects_nothing_is_in_no_mean_of_ndcg_and_recall():
    found = scored([[1, 2, 3], [1, 2, 3]], [[1, 2], []], 3)
    at = means(found)[0]
    assert (at.ndcg, at.recall) == (1, 1)
    assert (at.n_queries, at.n_expected) == (2, 1)
    assert (at.hit_rate, at.mrr, at.precision) == (1 / 2, 1 / 2, 1 / 3)


def test_means_over_nothing_are_0_by_definition():
    assert means(scored([], [], 3))[0][1:] == (0, 0, 0, 0, 0, 0, 0, 0)
    assert means(scored([[1]], [[]], 3))[0][6:] == (0, 0, 0)


def test_every_cut_off_has_its_values():
    found = scored([[1, 2]], [[1, 2]], 1, 2, 10)
    assert found.cut_offs == (1, 2, 10)
    assert found.recall[:, 0].tolist() == [0.5, 1, 1]
    assert found.precision[:, 0].tolist() == [1, 1, 0.2]


@settings(max_examples=200, deadline=None)
@given(returned=ids, expected=ids, k=st.integers(1, 7))
def test_counted_duplicates_follow_the_published_definition(returned, expected, k):
    found = one(returned, expected, k, **COUNTED)
    assert found == pytest.approx(definition(returned, expected, k), rel=1e-14)


@settings(max_examples=100, deadline=None)
@given(returned=ids, expected=ids, k=st.integers(1, 7))
def test_dropped_duplicates_are_as_if_they_had_not_been_there(returned, expected, k):
    once = list(dict.fromkeys(returned)), list(dict.fromkeys(expected))
    assert one(returned, expected, k, **DROPPED) == one(*once, k)


@settings(max_examples=50, deadline=None)
@given(batch=st.lists(st.tuples(ids, ids), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_names_of_ids_and_order_of_queries_do_not_matter(batch, seed):
    random = np.random.default_rng(seed)
    names, order = random.permutation(6) * 3, random.permutation(len(batch))
    before = scored(*zip(*batch, strict=True), 1, 3, **COUNTED)
    renamed = [[[int(names[i]) for i in row] for row in batch[query]] for query in order]
    after = scored(*zip(*renamed, strict=True), 1, 3, **COUNTED)
    for field in FIELDS:
        assert (getattr(after, field) == getattr(before, field)[:, order]).all()


@settings(max_examples=50, deadline=None)
@given(batch=st.lists(st.tuples(ids, ids), min_size=1, max_size=5))
def test_the_expected_ids_may_come_in_any_order(batch):
    before = scored(*zip(*batch, strict=True), 2, **COUNTED)
    after = scored(*zip(*((row, wanted[::-1]) for row, wanted in batch), strict=True), 2, **COUNTED)
    for field in FIELDS:
        assert (getattr(after, field) == getattr(before, field)).all()


def test_equal_scores_are_ties():
    case = {"scores": np.array([0.9, 0.5, 0.5])}
    found = [
        float(scored([[1, 2, 3]], [[2]], 2, ties=ties, **case).hit[0, 0])
        for ties in ("optimistic", "expected", "pessimistic")
    ]
    assert found == [1, 0.5, 0]


def test_equal_scores_of_two_queries_do_not_tie():
    case = {"scores": np.array([0.5, 0.5])}
    assert scored([[1], [2]], [[2], [2]], 1, **case).hit[0].tolist() == [0, 1]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, bool])
def test_the_type_of_scores_does_not_matter(kind):
    case = {"scores": np.array([1, 1, 0]).astype(kind)}
    assert scored([[1, 2, 3]], [[2]], 1, ties="expected", **case).hit[0, 0] == 0.5


def test_infinite_scores_have_their_order():
    case = {"scores": np.array([np.inf, 0, -np.inf, -np.inf])}
    found = scored([[1, 2, 3, 4]], [[1, 3]], 3, ties="expected", **case)
    assert found.precision[0, 0] == pytest.approx(1.5 / 3)


def test_a_duplicate_that_is_dropped_leaves_no_tie_behind():
    case = {"scores": np.array([2.0, 1.0, 1.0]), "duplicates": "drop"}
    assert scored([[4, 7, 4]], [[7]], 2, **case).first_hit[0, 0] == 2


def test_a_duplicate_that_is_dropped_takes_its_score_along():
    case = {"scores": np.array([2.0, 2.0, 1.0, 1.0]), "duplicates": "drop"}
    found = [
        scored([[4, 4, 7, 8]], [[7]], 3, ties=ties, **case).first_hit[0, 0]
        for ties in ("optimistic", "pessimistic")
    ]
    assert found == [2, 3]


def test_lists_are_put_in_the_order_of_their_scores():
    lists = rows([[1, 2, 3], [], [4, 5]])
    order = by_score(lists, np.array([0.1, 0.3, 0.1, 0.0, 1.0]))
    assert lists.values[order].tolist() == [2, 1, 3, 5, 4]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_counts_of_ranked_answers_give_the_metrics_of_the_whole_ranking(seed):
    random = np.random.default_rng(seed)
    scores = random.integers(0, 4, (5, 9)).astype(np.float32)
    kinds = random.integers(0, 4, (5, 9))  # 0 and 1: no answer, 2: easy, 3: hard
    easy, hard = (ragged(np.flatnonzero(row == kind) for row in kinds) for kind in (2, 3))
    answers = ragged(np.flatnonzero(row > 1) for row in kinds)
    found = count_competitors(scores, hard, [answers])
    of_counts = blocks_of_counts(hard.offsets, found.greater[0], found.tied[0])
    rankings = []
    for query in range(5):
        order = np.argsort(-scores[query], kind="stable")
        rankings.append(order[~np.isin(order, easy.row(query))].tolist())
    listed = np.concatenate([scores[query, row] for query, row in enumerate(rankings)])
    of_lists = list_blocks(rows(rankings), hard, scores=listed)
    for one, other in zip(of_counts, of_lists, strict=True):
        assert one.tolist() == other.tolist()


# What is refused.


@pytest.mark.parametrize(
    ("returned", "expected", "policies", "message"),
    [
        (
            [[1], [2, 3, 2]],
            [[1], [1]],
            {},
            "query 1: 2 at place 3 is returned twice; see --duplicates",
        ),
        ([[1]], [[4, 4]], {}, "query 0: 4 at place 2 is expected twice; see --expected-dup"),
        ([[1, 7]], [[1]], {"n_known": 7}, "7 at place 2 is returned and not in the universe"),
        (
            [[1]],
            [[9]],
            {"n_known": 7},
            "9 at place 1 is expected and not in the universe; see --unk",
        ),
        ([[1]], [[1], [2]], {}, "1 lists of returned ids for 2 of expected ones"),
        ([[-1]], [[1]], {}, "whole numbers from 0"),
        ([[1]], [[1]], {"duplicates": "first"}, "no policy 'first'; known are refuse, count, drop"),
        ([[1]], [[1]], {"n_known": 3, "unknown": "drop"}, "unknown: no policy 'drop'"),
        ([[1]], [[1]], {"scores": [1.0, 2.0]}, "one for each returned id"),
        ([[1]], [[1]], {"scores": ["1"]}, "real numbers"),
        ([[1, 2]], [[1]], {"scores": [1.0, math.nan]}, "query 0: 2 at place 2 has the score NaN"),
        ([[1, 2]], [[1]], {"scores": [1.0, 2.0]}, "2 at place 2 has a higher score than the one"),
    ],
)
def test_bad_lists_are_refused(returned, expected, policies, message):
    with pytest.raises(InputError, match=message):
        scored(returned, expected, 1, **policies)


def test_messages_call_queries_and_ids_by_their_names():
    with pytest.raises(InputError, match="query who: Ada at place 2 is returned twice"):
        scored([[0, 0]], [[0]], 1, names=["who"], ids=["Ada"])


def test_scores_may_rise_from_one_list_to_the_next():
    assert scored([[1], [2]], [[1], [2]], 1, scores=np.array([1, 5])).hit[0].tolist() == [1, 1]


def test_unknown_ids_count_like_any_others_if_so_said():
    found = one([9, 1], [1, 8], 2, n_known=7, unknown="count")
    assert (found["precision"], found["recall"]) == (0.5, 0.5)


@pytest.mark.parametrize("cut_offs", [[0], [-1], [2.5], ["10 "], [True], [3, 3], []])
def test_cut_offs_are_different_whole_numbers_from_one(cut_offs):
    with pytest.raises(InputError, match=r"^k must be"):
        scored([[1]], [[1]], *cut_offs)


def test_realistic_ties_are_refused():
    with pytest.raises(InputError, match="no realistic value"):
        scored([[1]], [[1]], 1, ties="realistic")


def test_expected_ties_have_no_rank_of_the_first_hit():
    assert scored([[1]], [[1]], 1, ties="expected").first_hit is None
