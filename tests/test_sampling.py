"""Sampled queries keep every rule, judged by set-based references; determinism; shortfalls."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clqa.sampling
import reference_answers
from clqa.errors import InputError
from clqa.files import read_sealed
from clqa.formulas import parse, symbols
from clqa.graphs import FULL, OBSERVED, make_graph, write_graph
from clqa.judgements import REASONS, Rules
from clqa.plans import groups, plan
from clqa.query_sets import query_ids, read_queries
from clqa.sampling import all_one_atom_queries, sample_queries, sampling_ground
from clqa.walks import DRAWS
from sample_queries import sample_queries as stage
from strategies import edges, values_of
from test_answers import graph_of

PATH, FORK, NEGATION = "r1(s1,e1)&r2(e1,f)", "r1(s1,f)&r2(s2,f)", "r1(s1,f)&!r2(s2,f)"
SHAPES = [
    PATH,
    FORK,
    NEGATION,
    "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
    "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)",
    "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
    "r1(s1,e1)&!r2(e1,f)&r3(s2,f)",
    "!(!r1(s1,f)&!r2(s2,f))",
    "r1(s1,f)&r2(e1,f)",
    "r1(f,e1)&r2(s1,e1)",
    "r1(s1,f)&r2(s2,f)&r3(s3,f)",
    "r1(s1,e1)&r2(e1,f)&r3(s2,f)",
    "r1(s1,f)|!r2(s2,f)",
    "!r1(s1,f)",
]


def random_graph(seed, n_entities=7, n_forward=2, n_edges=22):
    """A small graph with inverse relations and edges in all three splits."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, [n_entities, n_forward, n_entities], (n_edges, 3))
    both = np.concatenate([rows, rows[:, ::-1] + [0, n_forward, 0]])
    split = np.tile(rng.integers(0, 4, n_edges), 2)
    triples = {
        name: both[np.isin(split, codes)]
        for name, codes in (("train", (0, 1)), ("valid", (2,)), ("test", (3,)))
    }
    inverse = np.roll(np.arange(2 * n_forward), n_forward)
    return make_graph(triples, inverse, n_entities, "vocabulary")


def sampled(graph, text, count=30, tries=3000, split="test", stream=(0, "q"), **options):
    rules = Rules(**options)
    ground = sampling_ground(graph, split)
    return sample_queries(ground, parse(text), count, rules, tries, stream)


def judged(graph, split, formula, anchors, relations):
    """Easy, hard and retracted answers and the fewest missing links, by the references."""
    values, entities = values_of(formula, anchors, relations), range(graph.n_entities)
    observed, full = edges(graph, OBSERVED[split]), edges(graph, FULL[split])
    a = reference_answers.answers(formula, values, observed, entities)
    b = reference_answers.answers(formula, values, full, entities)
    links = reference_answers.links(formula, values, observed, full, entities)
    return a, b - a, a - b, min((links[t] for t in b - a), default=None)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(SHAPES),
    st.sampled_from(["valid", "test"]),
    st.sampled_from(DRAWS),
    st.sampled_from([1, 2, None]),
    st.sampled_from([1, 3, None]),
    st.sampled_from([1, None]),
    st.integers(1, 2),
)
def test_every_sampled_query_keeps_the_rules(
    seed, text, split, draw, max_hard, max_easy, max_retracted, min_links
):
    graph, formula = random_graph(seed), parse(text)
    min_links = min(min_links, max(1, plan(formula).most_links))
    caps = {"max_hard": max_hard, "max_easy": max_easy, "max_retracted": max_retracted}
    found = sampled(graph, text, tries=400, split=split, draw=draw, min_links=min_links, **caps)
    ids = query_ids("g", formula, found.anchors, found.relations)
    assert len(set(ids)) == len(ids)
    for anchors, relations in zip(found.anchors, found.relations, strict=True):
        easy, hard, retracted, links = judged(graph, split, formula, anchors, relations)
        assert hard
        for answers, cap in zip((hard, easy, retracted), caps.values(), strict=True):
            assert cap is None or len(answers) <= cap
        assert retracted or "negation" not in groups(formula)
        assert links >= min_links or links == 0 == min_links - 1
        atoms = list(zip(anchors, relations, strict=False))
        if len(anchors) == len(relations) and "!" not in text:
            assert len(set(atoms)) == len(atoms)


def test_a_full_inference_query_may_be_drawn_over_observed_edges():
    # 5 needs both missing edges from 0; the missing edge from 3 retracts 2. A walk finds this query
    # only from 2, whose edges are observed.
    graph = graph_of(6, 3, train=[[0, 0, 1], [1, 2, 2]], test=[[3, 1, 1], [0, 0, 4], [4, 2, 5]])
    found = sampled(graph, "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)", tries=5000, min_links=2)
    assert found.anchors.tolist() == [[0, 3]]
    assert found.relations.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("text", [PATH, FORK, NEGATION])
@pytest.mark.parametrize("seed", range(3))
def test_sampling_finds_exactly_the_valid_queries_of_a_small_graph(text, seed):
    graph, formula = random_graph(seed, n_entities=5, n_edges=12), parse(text)
    valid = set()
    sizes = [(len(symbols(formula, kind)), n) for kind, n in (("s", 5), ("r", 4))]
    ids = [itertools.product(range(n), repeat=size) for size, n in sizes]
    for anchors, relations in itertools.product(*map(list, ids)):
        _, hard, retracted, _ = judged(graph, "test", formula, anchors, relations)
        if not hard or (text == NEGATION and not retracted):
            continue
        if text == PATH and graph.inverse[relations[0]] == relations[1]:
            continue
        atoms = list(zip(anchors, relations, strict=False))
        if text == FORK and atoms[0] == atoms[1]:
            continue
        valid.add(tuple(sorted(atoms)) if text == FORK else (anchors, relations))
    found = sampled(graph, text, count=len(valid) + 1, tries=60_000)
    rows = [(tuple(a), tuple(r)) for a, r in zip(found.anchors, found.relations, strict=True)]
    if text == FORK:
        rows = [tuple(sorted(zip(a, r, strict=True))) for a, r in rows]
    assert len(rows) == len(set(rows))
    assert set(rows) <= valid
    # A negated branch is drawn from the answer itself, so some valid queries cannot be drawn.
    assert text == NEGATION or set(rows) == valid


CHAIN = graph_of(4, 2, train=[[0, 0, 1], [1, 0, 2], [2, 1, 3]])


@pytest.mark.parametrize(
    ("text", "count"), [("r1(s1,f)", 3), (PATH, 2), ("r1(s1,e1)&r2(e1,e2)&r3(e2,f)", 1)]
)
def test_sampling_ends_and_reports_what_is_missing(text, count):
    found = sampled(CHAIN, text, count=50, tries=5000, split="train")
    assert len(found.anchors) == count
    assert found.tries == 5000
    assert sum(found.rejections.values()) == 5000 - count
    assert set(found.rejections) == set(REASONS)


def test_the_stage_reports_what_is_missing(tmp_path):
    paths = [tmp_path / name for name in ("graph.npz", "queries.parquet", "report.json")]
    write_graph(paths[0], CHAIN)
    shapes = {"1p": "r1(s1,f)", "2p": PATH, "3p": "r1(s1,e1)&r2(e1,e2)&r3(e2,f)"}
    sampling = {**Rules()._asdict(), "count": 50, "tries": 40, "exhaustive": False, "quotas": None}
    stage(*paths, shapes, sampling, "train", 0, "chain")
    report = json.loads(paths[2].read_text())
    assert [report[shape]["short"] for shape in shapes] == [47, 48, 49]
    found = read_queries(paths[1]).shapes["2p"]
    rows = {(int(a[0]), *map(int, r)) for a, r in zip(found.anchors, found.relations, strict=True)}
    assert rows == {(0, 0, 0), (1, 0, 1)}


IN_A_PROCESS_OF_ITS_OWN = """
import sys
from clqa.judgements import Rules
from sample_queries import sample_queries

shapes = {"2p": "r1(s1,e1)&r2(e1,f)", "2i": "r1(s1,f)&r2(s2,f)", "2in": "r1(s1,f)&!r2(s2,f)"}
sampling = {**Rules()._asdict(), "count": 12, "tries": 100, "exhaustive": False, "quotas": None}
sample_queries(*sys.argv[1:], shapes, sampling, "test", 0, "q")
"""


def test_hash_seeds_and_threads_do_not_change_a_byte(tmp_path):
    write_graph(tmp_path / "graph.npz", random_graph(12, n_entities=20, n_edges=90))
    scripts = str(Path(clqa.sampling.__file__).parents[1])
    found = []
    for seed, threads in zip("0123", "1414", strict=True):
        paths = [tmp_path / f"{seed}.parquet", tmp_path / f"{seed}.json"]
        settings_ = {"PYTHONHASHSEED": seed, "PYTHONPATH": scripts}
        settings_ |= {f"{kind}_NUM_THREADS": threads for kind in ("NUMBA", "OMP", "OPENBLAS")}
        command = [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN, tmp_path / "graph.npz", *paths]
        subprocess.run(command, env={**os.environ, **settings_}, check=True)
        found.append([path.read_bytes() for path in paths])
    report = read_sealed(tmp_path / "0.json")
    assert [about["accepted"] for about in report.values()] == [12, 12, 12]
    assert found == [found[0]] * 4


STAR = graph_of(
    400,
    1,
    train=[[0, 0, tail] for tail in range(1, 200)],
    test=[[0, 0, tail] for tail in range(200, 400)],
)


@pytest.mark.parametrize("batch", [7, 1 << 14])
def test_a_hopeless_shape_is_given_up(monkeypatch, batch):
    """The one query of a star has more hard answers than are allowed."""
    monkeypatch.setattr(clqa.sampling, "_BATCH", batch)
    rules, ground = Rules(max_hard=100), sampling_ground(STAR, "test")
    found = sample_queries(ground, parse("r1(s1,f)"), 300, rules, 300_000, (0, "q"), patience=500)
    assert (len(found.anchors), found.tries) == (0, 500)
    assert sum(found.rejections.values()) == 500


@pytest.mark.parametrize("batch", [7, 1 << 14])
def test_patience_starts_anew_with_every_query(monkeypatch, batch):
    monkeypatch.setattr(clqa.sampling, "_BATCH", batch)
    graph = random_graph(1)
    ground, asked = sampling_ground(graph, "test"), (parse(FORK), 10**4, Rules(), 10**6, (0, "q"))
    found = sample_queries(ground, *asked, patience=3000)
    until = sample_queries(ground, asked[0], len(found.anchors), *asked[2:])
    assert len(found.anchors) > 5
    assert found.tries == until.tries + 3000
    assert found.anchors.tolist() == until.anchors.tolist()


def test_the_stage_names_the_query_set_and_shape_of_a_wrong_option(tmp_path):
    paths = [tmp_path / name for name in ("graph.npz", "queries.parquet", "report.json")]
    write_graph(paths[0], CHAIN)
    options = {"count": 5, "tries": 5, "exhaustive": False, "quotas": None, "min_links": 3}
    with pytest.raises(InputError, match="query set chain, shape 2p: sampling option min_links"):
        stage(*paths, {"2p": PATH}, {**Rules()._asdict(), **options}, "train", 0, "chain")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.npz"]


def test_the_stage_gives_up_after_a_twentieth_of_all_tries(tmp_path):
    paths = [tmp_path / name for name in ("graph.npz", "queries.parquet", "report.json")]
    write_graph(paths[0], STAR)
    for count, tries, expected in ((300, 100, 2000), (1000, 100, 5000), (5, 100, 500)):
        options = {"count": count, "tries": tries, "exhaustive": False, "quotas": None}
        stage(*paths, {"1p": "r1(s1,f)"}, {**Rules()._asdict(), **options}, "test", 0, "star")
        report = json.loads(paths[2].read_text())["1p"]
        assert (report["tries"], report["short"]) == (expected, count)


def test_counts_below_a_hundred_are_met():
    assert len(sampled(random_graph(1), FORK, count=7).anchors) == 7


def test_all_queries_of_one_atom_are_listed():
    found = all_one_atom_queries(sampling_ground(CHAIN, "train"), parse("r1(s1,f)"), Rules())
    assert found.anchors.ravel().tolist() == [0, 1, 2]
    assert found.relations.ravel().tolist() == [0, 0, 1]


@pytest.mark.parametrize("text", ["r1(s1,f)", "r1(f,s1)"])
@pytest.mark.parametrize("cap", [1, 2, None])
def test_the_list_of_one_atom_queries_equals_the_definition(text, cap):
    graph, formula = random_graph(4), parse(text)
    expected = []
    for anchor, relation in itertools.product(range(7), range(4)):
        _, hard, _, _ = judged(graph, "test", formula, [anchor], [relation])
        if hard and (cap is None or len(hard) <= cap):
            expected.append((anchor, relation))
    found = all_one_atom_queries(sampling_ground(graph, "test"), formula, Rules(max_hard=cap))
    rows = zip(found.anchors.ravel().tolist(), found.relations.ravel().tolist(), strict=True)
    assert list(rows) == expected


def test_listed_queries_cannot_need_more_links_than_one():
    ground = sampling_ground(CHAIN, "train")
    with pytest.raises(InputError, match=r"min_links: 2, but answers of .* need 1 links at most"):
        all_one_atom_queries(ground, parse("r1(s1,f)"), Rules(min_links=2))


def test_queries_without_hard_answers_may_be_asked_for_together_with_links():
    options = {"require_hard": False, "min_links": 2, "negation": "any"}
    assert len(sampled(random_graph(1), PATH, **options).anchors)


@pytest.mark.parametrize("draw", ["relations", "edges"])
@pytest.mark.parametrize("text", ["r1(s1,e1)&r2(f,e1)", "r1(f,s1)"])
def test_a_drawn_edge_leads_to_an_answer_when_walked_from_its_head(draw, text):
    graph, formula = random_graph(3), parse(text)
    found = sampled(graph, text, draw=draw, split="train", tries=500, require_hard=False)
    assert len(found.anchors)
    for anchors, relations in zip(found.anchors, found.relations, strict=True):
        _, hard, _, _ = judged(graph, "train", formula, anchors, relations)
        assert hard
        assert len(relations) == 1 or relations[0] != relations[1]


def test_a_longer_shape_is_not_listed_in_full():
    with pytest.raises(InputError, match="one atom"):
        all_one_atom_queries(sampling_ground(CHAIN, "train"), parse(PATH), Rules())


# a-r->b, c-r->b, a-s->d with inverses: a b c d = 0 1 2 3, r s r' s' = 0 1 2 3.
ROUND_TRIPS = make_graph(
    {
        "train": np.array(
            [[0, 0, 1], [2, 0, 1], [0, 1, 3], [1, 2, 0], [1, 2, 2], [3, 3, 0]], dtype=np.int32
        ),
        "valid": np.empty((0, 3)),
        "test": np.empty((0, 3)),
    },
    np.array([2, 3, 0, 1]),
    4,
    "vocabulary",
)


def test_a_step_and_its_inverse_are_no_query():
    found = sampled(ROUND_TRIPS, PATH, count=50, tries=5000, split="train")
    rows = {(int(a[0]), *map(int, r)) for a, r in zip(found.anchors, found.relations, strict=True)}
    assert rows == {(1, 2, 1), (3, 3, 0)}


def test_round_trips_can_be_allowed():
    found = sampled(ROUND_TRIPS, PATH, count=50, tries=5000, split="train", inverse_undo="allowed")
    assert len(found.anchors) == 7


def test_an_outer_hop_may_undo_an_inner_branch_unless_banned_everywhere():
    text = "r1(s1,e1)&r2(s2,e1)&r3(e1,f)"
    graph = random_graph(3)

    def undoes(**options):
        found = sampled(graph, text, count=200, tries=20_000, max_hard=None, **options)
        return [r for r in found.relations if graph.inverse[r[2]] in r[:2]]

    assert undoes()
    assert not undoes(inverse_undo="everywhere")


def test_like_branches_may_be_allowed():
    graph = random_graph(2)
    same = sampled(graph, FORK, count=100, tries=20_000, distinct_branches=False)
    pairs = zip(same.anchors, same.relations, strict=True)
    assert any(a[0] == a[1] and r[0] == r[1] for a, r in pairs)


def test_the_orders_of_like_branches_are_one_query_or_several():
    """With all queries drawn, those in any order are twice as many, and none is there twice."""
    graph = random_graph(2)

    def drawn(**options):
        found = sampled(graph, FORK, count=100_000, tries=3_000_000, **options)
        rows = zip(found.anchors.tolist(), found.relations.tolist(), strict=True)
        return [tuple(zip(*row, strict=True)) for row in rows]

    once, both = drawn(), drawn(unordered=False)
    assert len(set(once)) == len(once) > 20
    assert len({frozenset(branches) for branches in once}) == len(once)
    assert set(both) == {order for a, b in once for order in ((a, b), (b, a))}
    assert len(both) == 2 * len(once)


def test_a_negation_that_changes_nothing_is_refused_on_request():
    graph, formula = random_graph(5), parse(NEGATION)
    found = sampled(graph, NEGATION, count=60, tries=20_000, negation="must_change")
    assert len(found.anchors)
    entities, full = range(graph.n_entities), edges(graph, FULL["test"])
    for anchors, relations in zip(found.anchors, found.relations, strict=True):
        values = values_of(formula, anchors, relations)
        with_negation = reference_answers.answers(formula, values, full, entities)
        without = reference_answers.answers(parse("r1(s1,f)"), values, full, entities)
        assert with_negation != without


def test_queries_do_not_depend_on_the_batch(monkeypatch):
    graph = random_graph(6)
    expected = sampled(graph, PATH, count=15)
    monkeypatch.setattr(clqa.sampling, "_BATCH", 7)
    found = sampled(graph, PATH, count=15)
    assert found.anchors.tolist() == expected.anchors.tolist()
    assert found.relations.tolist() == expected.relations.tolist()
    assert found.tries == expected.tries


def test_fewer_queries_are_the_first_of_more():
    graph = random_graph(7)
    few, many = sampled(graph, PATH, count=5), sampled(graph, PATH, count=12)
    assert few.relations.tolist() == many.relations[:5].tolist()


def test_another_seed_gives_other_queries():
    graph = random_graph(8, n_entities=40, n_edges=300)
    one, other = sampled(graph, PATH, stream=(0, "q")), sampled(graph, PATH, stream=(1, "q"))
    assert one.anchors.tolist() != other.anchors.tolist()


def test_the_name_of_a_shape_and_of_its_symbols_does_not_matter():
    graph = random_graph(9)
    one = sampled(graph, PATH)
    other = sampled(graph, "r7(s3,e5)&r2(e5,f)")
    assert one.anchors.tolist() == other.anchors.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"draw": "entities"}, "draw: 'entities' is not one of answers, relations, edges"),
        ({"negation": "maybe"}, "negation: 'maybe' is not one of"),
        ({"min_links": 3}, "min_links: 3, but answers of .* need 2 links at most"),
    ],
)
def test_unknown_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        sampled(CHAIN, PATH, **options)


def test_drawing_by_relations_meets_rare_relations_as_often_as_common_ones():
    common = [[h, 0, t] for h in range(200) for t in (200, 201)]
    graph = graph_of(204, 2, train=[*common, [202, 1, 203]])
    options = {"count": 1000, "tries": 1000, "split": "train", "distinct_branches": False}
    text = "r1(s1,f)&r2(s2,f)"
    found = sampled(graph, text, draw="relations", **options)
    # Half of all attempts start from the one edge of the rare relation: all but one repeat it.
    assert 400 < found.rejections["duplicate_query"] < 600
    assert any((found.relations == 1).all(axis=1))


def test_an_empty_graph_gives_no_queries():
    found = sampled(graph_of(3, 1), PATH, tries=10)
    assert len(found.anchors) == 0
    assert found.rejections["dead_end"] == 10
