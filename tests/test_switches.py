"""Protocol switches: filters, candidates, missing queries, averaging, and what they move."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assemble_report import assemble_report
from clqa.averages import answer_average
from clqa.competitions import competition_parts, competitions
from clqa.diffs import METRICS_KEYS
from clqa.errors import InputError
from clqa.filters import FILTERS
from clqa.fingerprints import fingerprint
from clqa.formulas import parse
from clqa.graphs import make_graph, write_graph
from clqa.keyed_tables import read_keyed_table
from clqa.metrics import defined_scores, score_parts
from clqa.predictions import open_predictions, write_predictions
from clqa.query_sets import (
    Answers,
    AnswerTable,
    Queries,
    describe_queries,
    query_ids,
    write_answers,
    write_queries,
)
from clqa.ragged import ragged
from clqa.ranks import count_competitors, rank
from clqa.reports import Row
from clqa.scores import query_scores
from clqa.seeds import with_means
from clqa.switches import COLUMNS, readings, switch_table
from clqa.tables import read_table
from clqa.typed_candidates import Pools, free_ends, typed_pools
from rank_answers import rank_answers
from reference_ranks import competitors
from score_answers import score_answers
from synthetic_runs import _answers, _counts, configuration, write_run

# Filters


def test_without_a_filter_an_easy_answer_costs_a_rank():
    """Reciprocal ranks 1/2 and 1, from scores .9, .8, .1, easy answer 0 and hard answer 1."""
    sets = [ragged([ids]) for ids in ([0], [1], [])]
    excluded = [FILTERS[name](*sets) for name in ("none", "observed-and-full")]
    found = count_competitors(np.array([[0.9, 0.8, 0.1]]), sets[1], excluded)
    assert (1 + found.greater[:, 0]).tolist() == [2, 1]
    assert found.candidates[:, 0].tolist() == [3, 2]


def test_without_a_filter_hard_answers_compete_with_each_other():
    hard, nothing = ragged([[0, 1, 2]]), ragged([[]])
    found = count_competitors(
        np.array([[0.3, 0.2, 0.1, 0.0]]), hard, [FILTERS["none"](nothing, hard, nothing)]
    )
    assert found.greater.tolist() == [[0, 1, 2]]


def test_metrics_of_queries_have_no_value_without_a_filter():
    rules = competitions(["full-only", "none"], ["all", "typed"])
    found = defined_scores(["mrr", "ndcg@10"], ["pessimistic"], rules)
    assert [rule for name, _, rule in found if name == "mrr"] == rules
    assert [rule for name, _, rule in found if name == "ndcg@10"] == rules[:2]


# Candidates


def test_a_competition_is_named_by_its_filter_and_candidates():
    names = competitions(["full-only"], ["all", "typed"])
    assert names == ["full-only", "full-only,typed"]
    assert [competition_parts(name) for name in names] == [
        ("full-only", "all"),
        ("full-only", "typed"),
    ]
    assert score_parts("mrr[expected,full-only,typed]") == ("mrr", "expected", "full-only,typed")
    with pytest.raises(InputError, match="expected metric"):
        score_parts("mrr[expected,full-only,other]")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("r1(s1,e1)&r2(e1,f)", [(1, 2)]),
        ("r1(s1,f)&!r2(s2,f)", [(0, 2), (1, 2)]),
        ("r1(f,s1)|r2(s2,f)", [(0, 0), (1, 2)]),
        ("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", [(1, 2), (2, 2)]),
    ],
)
def test_types_come_from_the_atoms_with_the_free_variable(formula, expected):
    assert free_ends(parse(formula)) == expected


def typed_graph(restricted=False):
    """Relation 0 has the train tails 1 and 2, relation 1 the train tail 3; 5 is a tail in test."""
    triples = {
        "train": [[0, 0, 1], [0, 0, 2], [1, 1, 3]],
        "valid": [[0, 0, 4]],
        "test": [[0, 0, 5]],
    }
    triples = {part: np.array(rows, np.int32) for part, rows in triples.items()}
    return make_graph(triples, np.array([-1, -1]), 6, "v" * 64, restricted=restricted)


def test_typed_candidates_are_the_train_tails_of_the_last_relations():
    relations = np.array([[0, 1], [1, 0], [0, 0], [0, 1]])
    chain = typed_pools(parse("r1(s1,e1)&r2(e1,f)"), relations, typed_graph(), "test")
    of = [chain.members.row(pool).tolist() for pool in chain.of_query]
    assert of == [[3], [1, 2], [1, 2], [3]]
    meet = typed_pools(parse("r1(s1,f)&r2(s2,f)"), relations, typed_graph(), "test")
    assert [meet.members.row(pool).tolist() for pool in meet.of_query] == [
        [1, 2, 3],
        [1, 2, 3],
        [1, 2],
        [1, 2, 3],
    ]


def test_where_candidates_are_restricted_types_come_from_what_is_observed():
    pools = typed_pools(parse("r1(s1,f)"), np.array([[0]]), typed_graph(restricted=True), "test")
    assert pools.members.row(0).tolist() == [1, 2, 4]


@st.composite
def pooled_batches(draw):
    n, n_queries = draw(st.integers(1, 10)), draw(st.integers(1, 5))
    ids = st.sets(st.integers(0, n - 1))
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    scores = draw(st.lists(row, min_size=n_queries, max_size=n_queries))
    pools = draw(st.lists(ids, min_size=1, max_size=3))
    of_query = [draw(st.integers(0, len(pools) - 1)) for _ in scores]
    hard, *excluded = ([draw(ids) for _ in scores] for _ in range(3))
    return scores, pools, of_query, hard, excluded, draw(st.none() | ids)


@settings(max_examples=150, deadline=None)
@given(pooled_batches(), st.sampled_from([1, 1 << 20]))
def test_counts_among_pools_equal_those_of_sets(batch, chunk_bytes):
    scores, pools, of_query, hard, excluded, chosen = batch
    found = count_competitors(
        np.array(scores, np.float32),
        ragged(hard),
        [ragged(part) for part in excluded],
        candidates=None if chosen is None else np.array(sorted(chosen), np.int64),
        pools=Pools(np.array(of_query), ragged(pools)),
        chunk_bytes=chunk_bytes,
    )
    everyone = set(range(len(scores[0]))) if chosen is None else chosen
    for kind, (is_typed, part) in enumerate(itertools.product((False, True), excluded)):
        wanted = []
        for query, row in enumerate(scores):
            inside = everyone & pools[of_query[query]] if is_typed else everyone
            outside = set(range(len(row))) - inside
            wanted += [
                competitors(row, outside | part[query], target) for target in sorted(hard[query])
            ]
        assert list(zip(*(count[kind].tolist() for count in found), strict=True)) == wanted


# Queries that a dump lacks


def test_all_candidates_are_ahead_of_the_answers_of_a_query_without_scores():
    hard = ragged([[1], [0, 2]])
    found = rank(
        np.array([[0.1, 0.9, 0.5]]), hard, [hard], rows=np.array([0, -1]), wanted=hard, depth=1
    )
    assert found.counts.greater.tolist() == [[0, 1, 1]]
    assert found.counts.tied.tolist() == [[0, 0, 0]]
    assert found.counts.candidates.tolist() == [[3, 2, 2]]
    assert found.looked_up.tolist() == [0.9, -np.inf, -np.inf]


def answers_of(ids):
    sets = [ragged([[]] * len(ids)), ragged([[0]] * len(ids)), ragged([[]] * len(ids))]
    part = Answers(np.array(ids, object), *sets, np.ones(len(ids), np.uint8))
    facts = {"vocabulary": "v", "graph": "g", "queries": "q", "n_entities": 2}
    return AnswerTable({"1p": part}, {**facts, "formulas": {"1p": "r1(s1,f)"}})


def test_a_dump_may_lack_queries_only_under_a_policy_that_says_so(tmp_path):
    paths = tmp_path / "a.npy", tmp_path / "a.json"
    sidecar = {"query_ids": ["b"], "n_entities": 2, "vocabulary": "v"}
    write_predictions(*paths, [np.zeros((1, 2), np.float32)], sidecar)
    with pytest.raises(InputError, match="query a: missing"):
        open_predictions(*paths, answers_of(["a", "b"]))
    for policy in ("worst", "skip"):
        opened = open_predictions(*paths, answers_of(["a", "b"]), policy)
        assert opened.rows.tolist() == [-1, 0]
        assert opened.missing == {"missing": policy, "lacking": ["a"]}
    with pytest.raises(InputError, match="no policy 'zero'; known are error, worst, skip"):
        open_predictions(*paths, answers_of(["a", "b"]), "zero")
    with pytest.raises(InputError, match="query b: not asked"):
        open_predictions(*paths, answers_of(["a"]), "worst")


def test_a_skipped_query_has_a_row_without_scores():
    ranks = pa.table(
        {
            "query_id": ["a", "b"],
            "answer": np.array([0, 0], np.int32),
            "filter": pa.array(["full-only"] * 2).dictionary_encode(),
            "greater": np.array([1, 0], np.int32),
            "tied": np.array([0, 0], np.int32),
        }
    )
    asked = (["mrr", "ndcg@1"], ["pessimistic"], ["full-only"])
    found = query_scores(ranks, answers_of(["a", "b"]), *asked, skipped=["a"])
    assert found["query_id"].to_pylist() == ["a", "b"]
    assert found["mrr[pessimistic,full-only]"].to_pylist() == [None, 1.0]
    assert found["ndcg@1[pessimistic,full-only]"].to_pylist() == [None, 1.0]


# Averages over answers


def test_answers_weigh_the_same_whatever_their_query():
    average = answer_average([1.0, (1 / 2 + 1 / 4) / 2, None], [1, 2, 0])
    assert average.value == pytest.approx((1 + 1 / 2 + 1 / 4) / 3, abs=1e-15)
    assert average[1:] == (2, 3, 1, ())


def test_a_shape_without_answers_has_no_average_over_them():
    assert answer_average([None], [0]).value is None
    assert answer_average([], []).value is None


# Reports

FULL = {
    "filters": ["observed-and-full", "none"],
    "candidates": ["all", "typed"],
    "averaging": ["query", "answer"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    given = write_run(tmp_path_factory.mktemp("results"), configuration() | FULL)
    assemble_report(**given)
    return given


def table_of(path, keys=METRICS_KEYS):
    table = read_keyed_table(path, keys)
    names = (*table.keys, *table.columns)
    return [dict(zip(names, (*key, *row), strict=True)) for key, row in table.rows.items()]


def test_every_combination_of_switches_has_a_fingerprint_of_its_own(made):
    rows = [
        row
        for row in table_of(made["path_to_metrics"])
        if (row["model"], row["shape"], row["metric"], row["stratum"])
        == ("walker", "1p", "mrr", "")
    ]
    switches = ("ties", "filter", "candidates", "averaging")
    settings_ = {tuple(row[name] for name in switches) for row in rows}
    assert len(settings_) == len(rows) == 3 * 2 * 2 * 2
    assert len({row["fingerprint"] for row in rows}) == len(rows)


@pytest.mark.parametrize("policy", ["worst", "skip"])
def test_the_policy_on_missing_queries_changes_the_fingerprint(made, policy):
    manifest = json.loads(made["path_to_manifest"].read_text())
    for name, protocol in manifest["fingerprints"].items():
        assert protocol["missing"] == "error"
        assert fingerprint(protocol | {"missing": policy}) != name


def test_wide_tables_have_numbers_of_the_first_candidates_and_averaging_alone(made):
    """Each number is that of the row with the primary protocol: fingerprints never mix."""
    rows = {
        (row["model"], row["group"] or row["shape"]): row["value"]
        for row in table_of(made["path_to_metrics"])
        if (row["metric"], row["ties"], row["filter"], row["candidates"], row["averaging"])
        == ("mrr", "pessimistic", "observed-and-full", "all:50", "answers>query>shape>group")
        and not row["stratum"]
    }
    header, *lines = (made["path_to_tables"] / "mrr-toy-test.tsv").read_text().splitlines()
    names = header.split("\t")
    for line in lines:
        cells = dict(zip(names, line.split("\t"), strict=True))
        for name in names[5:]:
            assert cells[name] == rows[cells["model"], name]


def test_the_mean_of_a_shape_over_answers_is_that_of_all_its_hard_answers(made):
    answers = [row for row in _answers("toy-test", ["2p"], 6, {}) if row["hard"]]
    ranks = [_counts(answer, "walker") for answer in answers]
    values = [
        1 / (1 + g + t) for greater, tied in ranks for g, t in zip(greater, tied, strict=True)
    ]
    (row,) = (
        row
        for row in table_of(made["path_to_metrics"])
        if (row["model"], row["shape"], row["metric"], row["ties"], row["filter"])
        == ("walker", "2p", "mrr", "pessimistic", "none")
        and (row["candidates"], row["averaging"]) == ("all:50", "answers>shape>group")
    )
    assert float(row["value"]) == pytest.approx(sum(values) / len(values), abs=1e-14)
    assert int(row["n_answers"]) == len(values)


def some_row(value, **changes):
    primary = {
        "queries": "q",
        "model": "m",
        "metric": "mrr",
        "ties": "pessimistic",
        "filter": "full-only",
        "candidates": "all:9",
        "averaging": "answers>query>shape>group",
    }
    return Row(**dict.fromkeys(Row._fields, "") | primary | {"value": value} | changes)


def test_the_table_of_switches_sets_one_switch_at_a_time():
    rows = [
        some_row(0.5, group="EPFO"),
        some_row(0.75, group="EPFO", ties="optimistic"),
        some_row(0.25, group="EPFO", filter="none"),
        some_row(0.125, group="EPFO", filter="none", ties="optimistic"),
        some_row(0.5, group="EPFO", stratum="links=1", ties="optimistic"),
        some_row(None, group="EPFO", candidates="typed of all:9"),
        some_row(0.0, group="EPFO", metric="hits@1", ties="optimistic"),
    ]
    table = switch_table(rows, {"q": {}}, "mrr")
    found = [dict(zip(COLUMNS, row, strict=True)) for row in table.rows]
    assert [(r["switch"], r["from"], r["to"], r["delta"]) for r in found] == [
        ("ties", "pessimistic", "optimistic", 0.25),
        ("filter", "full-only", "none", -0.25),
        ("candidates", "all:9", "typed of all:9", None),
    ]


def test_of_a_model_with_several_seeds_the_means_are_set_side_by_side():
    pairs = [("net.seed0", "0", 0.2, 0.3), ("net.seed1", "1", 0.4, 0.9)]
    rows = [
        some_row(value, group="EPFO", model=model, seed=seed, ties=ties)
        for model, seed, *values in pairs
        for ties, value in zip(("pessimistic", "optimistic"), values, strict=True)
    ]
    rows = with_means(rows, {model: "net" for model, *_ in pairs})
    (row,) = switch_table(rows, {"q": {}}, "mrr").rows
    assert row[1:6] == ("net", "mrr", "ties", "pessimistic", "optimistic")
    assert row[7:10] == pytest.approx((0.3, 0.6, 0.3))


PNI = parse("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)")
FIT = parse("r3(s2,f)&r1(s1,e1)&!r2(e1,f)")


def test_two_readings_of_one_shape_are_a_switch():
    shapes = {"fit": FIT, "pni": PNI, "2in": parse("r1(s1,f)&!r2(s2,f)")}
    assert readings(shapes) == [("pni", "fit")]
    rows = [
        some_row(0.5, shape="fit", pni="exists-not"),
        some_row(0.25, shape="pni", pni="not-exists"),
    ]
    (row,) = switch_table(rows, {"q": shapes}, "mrr").rows
    assert row[3:10] == ("pni", "pni not-exists", "fit exists-not", "", 0.25, 0.5, 0.25)


def test_the_report_has_a_row_for_each_group_model_and_other_setting(made):
    keys = ("queries", "model", "metric", "group", "switch", "from", "to")
    rows = table_of(made["path_to_tables"] / "switches.tsv", keys)
    settings_ = 2 + 1 + 1 + 1  # ties, filters, candidates and averages beside the first
    groups = {row["group"] for row in rows}
    assert {"EPFO", "negation"} <= groups
    assert len(rows) == settings_ * len(groups) * 4


# From a dump to scores


@pytest.mark.parametrize(("policy", "value"), [("worst", 1 / 3), ("skip", None)])
def test_switches_from_a_dump_to_scores(tmp_path, policy, value):
    """One query of relation 0, whose candidates by type are 1, 2 and its hard answer 5.

    The second query is missing: of its answers, 5 alone is hard, and 2 others are by type.
    """
    graph, text = typed_graph(), "r1(s1,f)"
    write_graph(tmp_path / "graph.npz", graph)
    (tmp_path / "relations.tsv").write_text("0\ta\n1\tb\n")
    anchors, relations = np.array([[0], [3]], np.int32), np.array([[0], [0]], np.int32)
    ids = query_ids(graph.hash, parse(text), anchors, relations)
    metadata = describe_queries(graph, "test", {"1p": text}, ids)
    queries = Queries(ids, anchors, relations)
    write_queries(tmp_path / "queries", {"1p": queries}, metadata, source="sampled")
    sets = [ragged([[4], []]), ragged([[5], [5]]), ragged([[], []])]
    answers = Answers(ids, *sets, np.ones(2, np.uint8))
    write_answers(tmp_path / "answers", {"1p": answers}, metadata)
    sidecar = {"query_ids": [ids[0]], "n_entities": 6, "vocabulary": graph.vocabulary}
    dump = tmp_path / "m.npy", tmp_path / "m.json"
    write_predictions(*dump, [np.array([[0.9, 0.8, 0.1, 0.7, 0.6, 0.5]])], sidecar)
    rank_answers(
        *dump,
        tmp_path / "answers",
        tmp_path / "ranks",
        tmp_path / "tops",
        3,
        candidates=["all", "typed"],
        missing=policy,
        path_to_queries=tmp_path / "queries",
        path_to_graph=tmp_path / "graph.npz",
    )
    rules = competitions(["observed-and-full", "none"], ["all", "typed"])
    score_answers(
        [tmp_path / "ranks"],
        [tmp_path / "answers"],
        [tmp_path / "queries"],
        tmp_path / "graph.npz",
        tmp_path / "relations.tsv",
        tmp_path / "scores",
        ["mrr"],
        ["pessimistic"],
        rules,
        [],
    )
    table, about = read_table(tmp_path / "scores")
    found = [table[f"mrr[pessimistic,{rule}]"].to_pylist() for rule in rules]
    assert [row[0] for row in found] == [1 / 4, 1 / 2, 1 / 5, 1 / 2]
    assert found[1][1] == found[3][1] == value
    assert about["missing"] == policy
    assert about["lacking"] == [ids[1]]
