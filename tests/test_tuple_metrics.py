"""Metrics of tuples: the published examples, then the definitions on random queries."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_tuples as reference
from clqa.errors import InputError
from clqa.filters import FILTERS
from clqa.joint_ranks import Standing
from clqa.metrics import METRICS, metric
from clqa.ties import POLICIES
from clqa.tuple_counts import count_values, defined_variables, known_answers
from clqa.tuple_metrics import Ranked, tuple_values
from clqa.tuples import ragged_tuples

NAMES = [
    name.replace("@K", f"@{k}")
    for name, found in METRICS.items()
    if found.of_tuples
    for k in ((1, 3, 10) if "@" in name else "-")
]
RELEASED = [name for name in NAMES if name.startswith("efok_released")]
RULE = "observed-and-full"


def ranked(scores, easy, hard, retracted=None, rule=RULE, **options):
    """The counts of some queries; `scores` is (n_queries, k, n_entities)."""
    scores = np.asarray(scores)
    n, k = scores.shape[:2]
    sets = [ragged_tuples(rows, k) for rows in (easy, hard, retracted or [()] * n)]
    known, counts, lower = count_values(scores, known_answers(*sets), **options)
    kind, raw = (list(FILTERS).index(name) for name in (rule, "none"))
    ids = known.marginals.values.values
    columns = [column.astype(np.int64) for column in (counts.greater, counts.tied)]
    standing = Standing(ids, *(column[raw] for column in columns), lower, counts.candidates[raw])
    return Ranked(known, *(column[kind] for column in columns), standing, rule, {})


def value(name, scores, easy, hard, ties="pessimistic", **options):
    return float(tuple_values(name, ranked([scores], [easy], [hard], **options), ties)[0])


def of_orders(*orders):
    """Scores from the entities of each variable by rank."""
    return np.array([[-order.index(e) for e in range(len(order))] for order in orders], np.float32)


# domain E8.9 and E8.10
PUBLISHED = of_orders([3, 0, 1, 5, 2, 4], [0, 4, 2, 1, 3, 5])
NEAR = {
    **{"marginal_mrr": 0.5, "marginal_hits@10": 1, "multiply_hits@1": 0, "multiply_hits@3": 1},
    **{"multiply_mrr": 0.5, "joint_mrr": 0.116883, "joint_hits@10": 0.5},
}
FAR = {
    **{"marginal_mrr": 0.458333, "marginal_hits@1": 0, "marginal_hits@3": 1, "marginal_hits@10": 1},
    **{"multiply_mrr": 0.454124, "joint_mrr": 0.0577957},
    **{"efok_released_marginal_mrr": 0.208333, "efok_released_marginal_hits@1": 0.25},
    **{"efok_released_marginal_hits@3": 0.5, "efok_released_marginal_hits@10": 1.5},
}


@pytest.mark.parametrize(("name", "wanted"), NEAR.items())
def test_the_first_published_example(name, wanted):
    found = value(name, PUBLISHED, easy=[(0, 4)], hard=[(1, 2), (0, 2)])
    assert found == pytest.approx(wanted, abs=5e-7)


@pytest.mark.parametrize(("name", "wanted"), FAR.items())
def test_the_second_published_example(name, wanted):
    found = value(name, PUBLISHED, easy=[(0, 4)], hard=[(1, 2), (2, 1)])
    assert found == pytest.approx(wanted, abs=5e-7)


CARD = of_orders([0, 2, 1, *range(3, 13)], [*range(1, 12), 0, 12])


@pytest.mark.parametrize(
    ("name", "wanted"), [("card_marginal", 0.375), ("card_multiply", 0), ("card_joint", 0)]
)
def test_the_example_of_the_card(name, wanted):
    assert value(name, CARD, easy=[(0, 0)], hard=[(1, 0)]) == pytest.approx(wanted)


@pytest.mark.parametrize(("name", "wanted"), [("card_marginal", 2 / 3), ("card_multiply", 1)])
def test_the_example_of_the_card_with_one_variable(name, wanted):
    assert value(name, CARD[:1], easy=[(0,)], hard=[(1,)]) == pytest.approx(wanted)


def test_the_card_asks_for_the_true_values_alone():
    scores = of_orders([0, 1, 2, 3], [0, 1, 2, 3])
    answers = {"easy": [(2, 2)], "hard": [(0, 0)]}
    assert value("card_joint", scores, **answers) == 0
    assert value("card_joint", scores, **answers, retracted=[[(2, 2)]]) == 1


@pytest.mark.parametrize(
    ("scores", "ties", "wanted"),
    [
        ([2, 2, 1, 0], "pessimistic", 1),
        ([2, 2, 2, 0], "pessimistic", 0),
        ([2, 2, 2, 0], "optimistic", 1),
        ([2, 0, 1, 0], "optimistic", 0),
    ],
)
def test_the_set_of_the_card_is_cut_after_as_many_as_are_true(scores, ties, wanted):
    answers = {"easy": [(0, 0)], "hard": [(1, 0)]}
    assert value("card_joint", [scores, [9, 1, 2, 3]], **answers, ties=ties) == wanted


def test_a_repeated_answer_counts_once():
    scores = of_orders([3, 0, 1, 2, 4, 5, 6], [6, 4, 2, 1, 3, 5, 0])
    one = ranked([scores], [[]], [[(0, 6), (2, 5)]])
    with pytest.warns(UserWarning, match="1 repeated answers count once"):
        other = ranked([scores], [[]], [[(0, 6), (0, 6), (2, 5)]])
    for name in NAMES:
        assert tuple_values(name, one, "optimistic") == tuple_values(name, other, "optimistic")


@pytest.mark.parametrize("name", NAMES)
def test_renaming_the_variables_changes_joint_metrics_alone(name):
    easy, hard = [(0, 4)], [(1, 2), (0, 2), (5, 1)]
    one = value(name, PUBLISHED, easy, hard)
    other = value(name, PUBLISHED[::-1], *([t[::-1] for t in rows] for rows in (easy, hard)))
    assert (one == other) or name.startswith(("joint", "efok_released"))


def test_answers_of_easy_values_have_no_marginal_metrics():
    easy, hard = [(0, 1), (2, 3)], [(0, 3)]
    found = ranked([PUBLISHED], [easy], [hard])
    assert defined_variables(found.known).tolist() == [0]
    undefined = {n for n in NAMES if math.isnan(tuple_values(n, found, "pessimistic")[0])}
    assert undefined == {n for n in NAMES if "marginal" in n and not n.startswith("card")}


def test_queries_without_hard_answers_have_no_value():
    found = ranked([PUBLISHED, PUBLISHED], [[(0, 1)], []], [[], [(1, 1)]])
    for name in NAMES:
        assert np.isnan(tuple_values(name, found, "pessimistic")).tolist() == [True, False]


def test_variables_without_hard_values_are_left_out_of_the_mean():
    easy, hard = [(0, 4)], [(0, 2)]
    found = ranked([PUBLISHED], [easy], [hard])
    assert defined_variables(found.known).tolist() == [1]
    assert value("marginal_mrr", PUBLISHED, easy, hard) == 0.5
    assert value("efok_released_marginal_mrr", PUBLISHED, easy, hard) == 0.5


def test_joint_metrics_have_no_mean_over_orders():
    for ties, name in itertools.product(("realistic", "expected"), ("joint_mrr", "joint_hits@3")):
        assert math.isnan(value(name, PUBLISHED, [], [(1, 1)], ties))


def test_the_released_evaluation_has_no_other_k():
    with pytest.raises(InputError, match="K of 1, 3 and 10"):
        metric("efok_released_marginal_hits@5")


@st.composite
def queries(draw, n=5, arities=(1, 2, 3), ties=True):
    """Scores, easy, hard and retracted answers of one query."""
    k = draw(st.sampled_from(arities))
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n) if ties else st.permutations(range(n))
    scores = np.array([draw(row) for _ in range(k)], np.float32)
    one = st.tuples(*[st.integers(0, n - 1)] * k)
    every = draw(st.lists(one, min_size=1, max_size=8, unique=True))
    n_hard = draw(st.integers(1, len(every)))
    hard, easy = every[:n_hard], every[n_hard:]
    return scores, easy, hard, easy[: draw(st.integers(0, len(easy)))]


def excluded(rule, easy, hard, retracted):
    return {
        "observed-and-full": {*easy, *hard},
        "full-only": {*easy, *hard} - {*retracted},
        "none": set(),
    }[rule]


def expectations(case, rule, of_rank):
    """Value of each known value of each variable under each policy, from all places it may take."""
    scores, easy, hard, retracted = case
    found = []
    for j, row in enumerate(scores):
        out = reference.projection(excluded(rule, easy, hard, retracted), j)
        found.append({})
        for x in reference.projection({*easy, *hard}, j):
            others = [row[e] for e in range(len(row)) if e != x and e not in out]
            first = sum(s > row[x] for s in others) + 1
            last = first + sum(s == row[x] for s in others)
            places = [of_rank(place) for place in range(first, last + 1)]
            found[j][x] = {
                "optimistic": places[0],
                "pessimistic": places[-1],
                "realistic": of_rank(Fraction(first + last, 2)),
                "expected": sum(places) / len(places),
            }
    return found


@given(queries(), st.sampled_from(list(FILTERS)), st.sampled_from(POLICIES))
def test_marginal_and_multiply_metrics_follow_their_definitions(case, rule, ties):
    scores, easy, hard, retracted = case
    root = 1 / len(scores)
    one = ranked([scores], [easy], [hard], [retracted], rule)
    for name, of_rank, of_root in (
        ("mrr", lambda r: 1 / float(r), lambda r: float(r) ** -root),
        ("hits@1", lambda r: int(r <= 1), None),
        ("hits@3", lambda r: int(r <= 3), None),
    ):
        values = expectations(case, rule, of_rank)
        new = [
            reference.projection(hard, j) - reference.projection(easy, j)
            for j in range(len(scores))
        ]
        parts = [
            sum(values[j][x][ties] for x in one_new) / len(one_new)
            for j, one_new in enumerate(new)
            if one_new
        ]
        found = float(tuple_values(f"marginal_{name}", one, ties)[0])
        assert found == pytest.approx(sum(parts) / len(parts)) if parts else math.isnan(found)
        values = expectations(case, rule, of_root or of_rank)
        wanted = [math.prod(values[j][x][ties] for j, x in enumerate(t)) for t in hard]
        found = float(tuple_values(f"multiply_{name}", one, ties)[0])
        assert found == pytest.approx(sum(wanted) / len(wanted))


@given(
    queries(),
    st.sampled_from(list(FILTERS)),
    st.sampled_from(("pessimistic", "by-id")),
    st.booleans(),
)
def test_joint_metrics_follow_their_definition(case, rule, ties, exact):
    scores, easy, hard, retracted = case
    one = ranked([scores], [easy], [hard], [retracted], rule)
    known = excluded(rule, easy, hard, retracted)
    found = [reference.joint_rank(scores, t, known, ties, exact) for t in hard]
    name = "joint_exact" if exact else "joint"
    assert tuple_values(f"{name}_mrr", one, ties)[0] == pytest.approx(
        np.mean([1 / r for r in found])
    )
    for k in (1, 3, 10):
        wanted = np.mean([r <= k for r in found])
        assert tuple_values(f"{name}_hits@{k}", one, ties)[0] == pytest.approx(wanted)


@given(queries(ties=False))
def test_card_metrics_follow_their_definition(case):
    scores, easy, hard, retracted = case
    true = {*easy, *hard} - {*retracted}
    mrr, near, equal = [], [], []
    for j, row in enumerate(scores):
        order, gold = reference.order_of(row), reference.projection(true, j)
        places = [order.index(x) + 1 for x in gold]
        mrr.append(sum(1 / place for place in places) / len(places))
        near.append(sum(place <= 10 for place in places) / len(places))
        equal.append({*order[: len(gold)]} == gold)
    one = ranked([scores], [easy], [hard], [retracted])
    wanted = {"marginal": np.mean(mrr), "multiply": math.prod(near), "joint": all(equal)}
    for name, number in wanted.items():
        assert tuple_values(f"card_{name}", one, "optimistic")[0] == pytest.approx(float(number))


@given(queries(arities=(1,)), st.sampled_from(list(FILTERS)), st.sampled_from(POLICIES))
def test_with_one_variable_all_are_the_plain_metrics(case, rule, ties):
    """Values of a variable are hard answers then; those of `none` are ranked among all."""
    scores, easy, hard, retracted = case
    one = ranked([scores], [easy], [hard], [retracted], rule)
    for name in ("mrr", "hits@1", "hits@3"):
        of_answer = metric(name).values
        places = one.known.marginals.places[one.known.hard.values, 0]
        wanted = of_answer(one.greater[places], one.tied[places], ties).mean()
        families = ["marginal", "multiply", *["joint", "joint_exact"] * (ties in POLICIES[:2])]
        for family in families:
            assert tuple_values(f"{family}_{name}", one, ties)[0] == pytest.approx(wanted)


@given(queries(), st.sampled_from(NAMES), st.sampled_from(list(FILTERS)), st.sampled_from(POLICIES))
def test_values_lie_between_0_and_the_most(case, name, rule, ties):
    if ties not in metric(name).policies:
        return
    scores, easy, hard, retracted = case
    found = tuple_values(name, ranked([scores], [easy], [hard], [retracted], rule), ties)[0]
    assert 0 <= found <= metric(name).most or (metric(name).has_gaps and math.isnan(found))


@given(queries())
def test_a_perfect_model_has_1_in_all_metrics_but_the_released_ones(case):
    """It ties all values of a variable that are in answers, and the optimist puts each first."""
    scores, easy, hard, _ = case
    scores[:] = 0
    for j, x in itertools.chain.from_iterable(enumerate(t) for t in {*easy, *hard}):
        scores[j, x] = 1
    one = ranked([scores], [easy], [hard])
    for name in NAMES:
        assert (
            name in RELEASED
            or tuple_values(name, one, "optimistic")[0] in (1.0,)
            or (metric(name).has_gaps and not defined_variables(one.known)[0])
        )
        if name.startswith(("marginal", "multiply")):
            found = {float(tuple_values(name, one, ties)[0]) for ties in POLICIES}
            assert found == {1.0} or all(map(math.isnan, found))


def test_a_perfect_model_has_other_values_in_the_released_metrics():
    scores = of_orders([0, 1, 2], [1, 0, 2])
    found = {name: value(name, scores, easy=[], hard=[(0, 1)]) for name in RELEASED}
    assert found == {
        "efok_released_marginal_mrr": 0.5,
        "efok_released_marginal_hits@1": 1.0,
        "efok_released_marginal_hits@3": 1.0,
        "efok_released_marginal_hits@10": 1.5,
    }


@given(st.lists(queries(arities=(2,)), min_size=1, max_size=4), st.sampled_from(NAMES))
def test_a_query_does_not_depend_on_its_neighbours(cases, name):
    ties = metric(name).policies[0]
    alone = [value(name, *case[:3], retracted=[case[3]], ties=ties) for case in cases]
    rows = ([case[part] for case in cases] for part in range(4))
    np.testing.assert_array_equal(tuple_values(name, ranked(*rows), ties), alone)


@given(queries(n=6), st.data())
def test_other_candidates_than_the_given_ones_do_not_compete(case, data):
    scores, easy, hard, retracted = case
    listed = data.draw(st.sets(st.integers(0, 5), min_size=1)) | {
        x for t in (*easy, *hard) for x in t
    }
    kept = np.array(sorted(listed))
    place = {int(x): i for i, x in enumerate(kept)}
    renamed = [[tuple(place[x] for x in t) for t in rows] for rows in (easy, hard, retracted)]
    one = ranked([scores], [easy], [hard], [retracted], candidates=kept)
    other = ranked([scores[:, kept]], *([rows] for rows in renamed))
    for name in NAMES:
        for ties in metric(name).policies:
            np.testing.assert_array_equal(
                tuple_values(name, one, ties), tuple_values(name, other, ties)
            )


def test_a_missing_query_has_the_last_ranks():
    rows = np.array([0, -1])
    found = ranked([PUBLISHED, PUBLISHED], [[], []], [[(0, 1)], [(0, 1)]], rows=rows)
    assert tuple_values("marginal_mrr", found, "optimistic").tolist() == [3 / 8, 1 / 6]
    assert tuple_values("joint_exact_mrr", found, "optimistic")[1] == 1 / 36
