"""From a dump to scores per query, on a query set that can be reckoned by hand."""

import numpy as np
import pyarrow as pa
import pytest

from clqa.errors import InputError
from clqa.query_sets import Answers, AnswerTable, set_hash
from clqa.ragged import ragged
from clqa.scores import merged_metadata, query_scores
from clqa.strata import strata

METRICS = ["mrr", "hits@1"]
TIES = ["pessimistic", "optimistic"]
FILTERS = ["observed-and-full", "full-only"]


def answers(ids, easy, hard, retracted, links):
    sets = [ragged(rows) for rows in (easy, hard, retracted)]
    return Answers(np.array(ids, object), *sets, np.array(links, np.uint8))


# Query a has hard answers 1 and 2 at ranks 2 and 4; b has 3, alone at the top but for a tie under
# the second filter; c has none.
ANSWERS = AnswerTable(
    {
        "1p": answers(["a", "c"], [[0], [4]], [[1, 2], []], [[], []], [1, 2]),
        "2p": answers(["b"], [[0]], [[3]], [[0]], [1]),
    },
    {"formulas": {"1p": "r1(s1,f)", "2p": "r1(s1,e1)&r2(e1,f)"}},
)
RANKS = pa.table(
    {
        "query_id": ["a", "a", "b"] * 2,
        "answer": np.array([1, 2, 3] * 2, np.int32),
        "filter": pa.array(["observed-and-full"] * 3 + ["full-only"] * 3).dictionary_encode(),
        "greater": np.array([1, 3, 0] * 2, np.int32),
        "tied": np.array([0, 0, 0, 0, 0, 1], np.int32),
    }
)


def scored(**changes):
    names = {"metrics": METRICS, "ties": TIES, "filters": FILTERS, **changes}
    names.setdefault("strata", strata(["links"], ANSWERS))
    return query_scores(RANKS, ANSWERS, **names).to_pylist()


def row(query_id, stratum=""):
    return next(r for r in scored() if (r["query_id"], r["stratum"]) == (query_id, stratum))


def test_every_query_has_a_row_over_all_its_answers():
    rows = [(r["query_id"], r["shape"]) for r in scored() if not r["stratum"]]
    assert rows == [("a", "1p"), ("c", "1p"), ("b", "2p")]


def test_a_score_is_the_mean_over_the_answers_of_a_query():
    assert row("a")["mrr[pessimistic,observed-and-full]"] == (1 / 2 + 1 / 4) / 2


def test_ties_cost_under_the_pessimistic_policy():
    assert row("b")["mrr[pessimistic,full-only]"] == 0.5


def test_ties_cost_nothing_under_the_optimistic_policy():
    assert row("b")["mrr[optimistic,full-only]"] == 1.0


def test_filters_are_kept_apart():
    assert row("b")["hits@1[pessimistic,observed-and-full]"] == 1.0
    assert row("b")["hits@1[pessimistic,full-only]"] == 0.0


def test_the_tie_rate_is_the_share_of_answers_with_ties():
    found = [row("b")[f"tie_rate[{rule}]"] for rule in FILTERS]
    assert found == [0.0, 1.0]


def test_a_query_without_hard_answers_has_no_scores():
    found = {value for name, value in row("c").items() if name.endswith("]")}
    assert found == {None}


def test_rows_tell_the_number_of_answers():
    assert [(row(q)["n_easy"], row(q)["n_hard"]) for q in "abc"] == [(1, 2), (1, 1), (1, 0)]


def test_answers_are_also_scored_by_their_missing_links():
    assert row("a", "links=2")["mrr[pessimistic,observed-and-full]"] == 1 / 4


def test_a_stratum_has_the_queries_that_have_such_answers():
    rows = [(r["query_id"], r["stratum"], r["n_hard"]) for r in scored() if r["stratum"]]
    assert rows == [("a", "links=1", 1), ("b", "links=1", 1), ("a", "links=2", 1)]


def test_strata_have_scores_under_the_primary_protocol_alone():
    found = row("b", "links=1")
    assert found["mrr[pessimistic,observed-and-full]"] == 1.0
    assert found["tie_rate[observed-and-full]"] == 0.0
    primary = ("[pessimistic,observed-and-full]", "tie_rate[observed-and-full]")
    others = [name for name in found if name.endswith("]") and not name.endswith(primary)]
    assert {found[name] for name in others} == {None}


def test_metrics_of_queries_stand_beside_those_of_answers():
    """Query a finds its hard answers at the places 2 and 5, b at 1 or, with a tie, at 2."""
    names = ["precision@2", "recall@5", "ndcg@5", "first_hit_mrr", "retrieval_accuracy"]
    rows = {r["query_id"]: r for r in scored(metrics=names, strata=())}
    a = [rows["a"][f"{name}[pessimistic,observed-and-full]"] for name in names]
    ideal = 1 + 1 / np.log2(3)
    assert a == pytest.approx([1 / 2, 1, (1 / np.log2(3) + 1 / np.log2(6)) / ideal, 1 / 2, 1 / 2])
    b = [rows["b"][f"first_hit_mrr[{t},full-only]"] for t in ("pessimistic", "optimistic")]
    assert b == [1 / 2, 1]
    assert not any("ndcg@5[realistic" in name for name in rows["a"])
    assert rows["c"]["ndcg@5[pessimistic,observed-and-full]"] is None


def test_a_metric_of_queries_takes_the_answers_of_a_stratum_alone():
    """Of a, the answer that needs two links has three candidates ahead, the other answer gone."""
    (found,) = (
        r
        for r in scored(metrics=["first_hit_mrr", "recall@3"])
        if (r["query_id"], r["stratum"]) == ("a", "links=2")
    )
    assert found["first_hit_mrr[pessimistic,observed-and-full]"] == 1 / 4
    assert found["recall@3[pessimistic,observed-and-full]"] == 0.0


def test_there_is_one_column_for_each_metric_policy_and_filter():
    found = [name for name in scored()[0] if name.endswith("]")]
    wanted = [f"{m}[{t},{f}]" for m in METRICS for t in TIES for f in FILTERS]
    assert found == [*wanted, *(f"tie_rate[{f}]" for f in FILTERS)]


def test_a_query_set_without_queries_has_scores_without_rows():
    nothing = AnswerTable({"1p": answers([], [], [], [], [])}, {})
    found = query_scores(RANKS.slice(0, 0), nothing, METRICS, TIES, FILTERS)
    assert (found.num_rows, found.num_columns) == (0, 15)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ["mrrr"]}, "no metric 'mrrr'"),
        ({"ties": ["rounded"]}, "no policy 'rounded'"),
        ({"filters": ["raw"]}, "under the filter raw"),
    ],
)
def test_unknown_names_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        scored(**changes)


def test_ranks_of_other_answers_are_refused():
    other = AnswerTable({"2p": ANSWERS.shapes["2p"]}, {})
    with pytest.raises(InputError, match="not of these answers"):
        query_scores(RANKS, other, METRICS, TIES, FILTERS)


def test_ranks_of_other_queries_are_refused():
    swapped = RANKS.set_column(0, "query_id", pa.array(["b", "a", "a"] * 2))
    with pytest.raises(InputError, match="not of these answers"):
        query_scores(swapped, ANSWERS, METRICS, TIES, FILTERS)


def shard(shape, graph="g"):
    return {"graph": graph, "queries": shape, "formulas": {shape: f"formula of {shape}"}}


def test_the_formulas_of_shards_are_put_together():
    merged = merged_metadata([shard("1p"), shard("2p")], ["a", "b"])
    assert merged["formulas"] == {"1p": "formula of 1p", "2p": "formula of 2p"}


def test_the_hash_of_the_query_set_does_not_tell_its_shards():
    assert merged_metadata([shard("1p"), shard("2p")], ["b", "a"])["queries"] == set_hash("ab")


def test_shards_of_different_graphs_are_refused():
    with pytest.raises(InputError, match="shards differ in their graph"):
        merged_metadata([shard("1p"), shard("2p", graph="h")], [])
