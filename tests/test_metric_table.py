"""What all metrics of the table have in common, from scores of entities to values of queries.

Range, best values and definitions are tested metric by metric where the kinds are: of answers in
`test_metrics`, of queries in `test_retrieval`, of tuples in `test_tuple_metrics`.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_metrics
import test_retrieval
import test_tuple_metrics
from clqa.filters import FILTERS
from clqa.metrics import METRICS, is_of_tuples, metric, score_id
from clqa.ragged import ragged
from clqa.ranks import count_competitors
from clqa.scores import count_scores
from clqa.ties import BY_ID
from clqa.tuple_metrics import tuple_values

N_ENTITIES = 6
RULE = "observed-and-full"
NAMES = [*test_metrics.IDS, *test_retrieval.NAMES, *test_tuple_metrics.NAMES]
# By-id ranks hang on ids, as their name says.
CASES = [(name, ties) for name in NAMES for ties in metric(name).policies if ties != BY_ID]


def test_every_metric_of_the_table_is_walked():
    families = {name.partition("@")[0] + "@K" * ("@" in name) for name in NAMES}
    assert families == METRICS.keys()
    assert len(set(NAMES)) == len(NAMES)


def values_of(name, ties, queries):
    """Value of each query, from its scores (k, n_entities) and its easy and hard answers."""
    scores, easy, hard = zip(*queries, strict=True)
    if is_of_tuples(name):
        return tuple_values(name, test_tuple_metrics.ranked(scores, easy, hard), ties)
    sets = [ragged([[value for (value,) in row] for row in rows]) for rows in (easy, hard)]
    nothing = ragged([()] * len(queries))
    excluded = FILTERS[RULE](*sets, nothing)
    found = count_competitors(np.array(scores)[:, 0], sets[1], [excluded])
    counts = {RULE: (found.greater[0], found.tied[0])}
    asked = [(name, ties, RULE)]
    return count_scores(sets[1].offsets, counts, asked)[score_id(name, ties, RULE)]


@st.composite
def queries_for(draw, name, n_hard=4):
    """Scores, easy and hard answers of a query that a metric is for.

    Joint ranks put entities of one score in the order of their ids, and the ranks of the card are
    among all candidates, answers included: their scores are without ties here, whole numbers all.
    """
    k = 2 if is_of_tuples(name) else 1
    row = st.lists(st.integers(0, 3), min_size=N_ENTITIES, max_size=N_ENTITIES)
    if name.startswith(("joint", "card")):
        row = st.permutations(range(N_ENTITIES))
    scores = np.array([draw(row) for _ in range(k)], np.float32)
    answer = st.tuples(*[st.integers(0, N_ENTITIES - 1)] * k)
    n_most = n_hard + 2 * (n_hard > 1)
    answers = draw(st.lists(answer, min_size=1, max_size=n_most, unique=True))
    hard = answers[:n_hard]
    return scores, answers[len(hard) :], hard


def renamed(query, names):
    """The same query where entity i is called `names[i]`."""
    scores, *answers = query
    moved = np.empty_like(scores)
    moved[:, names] = scores
    return moved, *([tuple(names[value] for value in one) for one in rows] for rows in answers)


@pytest.mark.parametrize(("name", "ties"), CASES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_neither_names_of_entities_nor_the_order_of_queries_matter(name, ties, data):
    queries = data.draw(st.lists(queries_for(name), min_size=1, max_size=4))
    names = data.draw(st.permutations(range(N_ENTITIES)))
    order = data.draw(st.permutations(range(len(queries))))
    wanted = values_of(name, ties, queries)[list(order)]
    found = values_of(name, ties, [renamed(queries[place], names) for place in order])
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def raised(query, answer, amount):
    scores, easy, hard = query
    scores = scores.copy()
    for variable, value in enumerate(answer):
        scores[variable, value] += amount
    return scores, easy, hard


@pytest.mark.parametrize(("name", "ties"), CASES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_no_metric_gets_worse_when_an_answer_scores_higher(name, ties, data):
    """Of joint ranks that holds for one answer: values of another one are rivals of its own."""
    query = data.draw(queries_for(name, n_hard=1 if name.startswith("joint") else 4))
    answer = data.draw(st.sampled_from(query[2]))
    ties_nothing = name.startswith(("joint", "card"))
    amount = data.draw(st.sampled_from([0.5, 1.5, 9] if ties_nothing else [0.5, 1, 1.5, 9]))
    before, after = (
        values_of(name, ties, [one])[0] for one in (query, raised(query, answer, amount))
    )
    sign = 1 if metric(name).higher_is_better else -1
    assert np.isnan(before) == np.isnan(after)
    assert np.isnan(before) or sign * after >= sign * before - 1e-12
