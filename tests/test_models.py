"""Answering methods: the contract that each keeps, and what each of ours scores."""

import itertools
import math
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.algebras import ALGEBRAS, NEGATIONS
from clqa.calibrations import CALIBRATIONS
from clqa.configs import read_yaml, validated
from clqa.errors import InputError
from clqa.filters import FILTERS, full_only
from clqa.formulas import parse
from clqa.graphs import OBSERVED, make_graph
from clqa.metrics import METRICS, metric
from clqa.models import (
    QueryBatch,
    batches,
    inference_graph,
    load_method,
    own_settings,
    takes_links,
    visible_parts,
)
from clqa.plans import plan
from clqa.predicted_links import predicted_links
from clqa.predictors import make_predictor, n_reciprocal
from clqa.ragged import ragged
from clqa.ranks import count_competitors
from clqa.retrieval import query_values
from clqa.tie_blocks import blocks_of_counts
from clqa.ties import POLICIES
from strategies import edges, graphs, groundings, values_of

ROOT = Path(__file__).parents[1]
SCHEMA = read_yaml(ROOT / "workflow" / "schemas" / "models.schema.yaml")
MODELS = validated(read_yaml(ROOT / "config" / "models.yaml"), SCHEMA, "models.yaml")
METHODS = sorted(path.stem for path in (ROOT / "scripts" / "models").glob("[!_]*.py"))
METRIC_IDS = [name.replace("@K", "@1") for name in METRICS if METRICS[name].values is not None]
# Those under which no answer competes with a hard one.
CLEAN = [name for name in FILTERS if name != "none"]
FORMULAS = [
    "r1(s1,f)",
    "r1(s1,e1)&r2(e1,f)",
    "r1(s1,f)&!r2(s2,f)",
    "r1(s1,e1)&!r2(e1,f)&r3(s2,f)",
    "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
    "!(!r1(s1,f)&!r2(f,s2))",
]


def toy_graph(train=(), valid=(), test=(), n_entities=6, n_relations=3):
    splits = {"train": train, "valid": valid, "test": test}
    triples = {name: np.array(rows, np.int32).reshape(-1, 3) for name, rows in splits.items()}
    return make_graph(triples, np.full(n_relations, -1), n_entities, "vocabulary")


def batch_of(text, anchors, relations, answers=None):
    ids = np.array([f"query {i}" for i in range(len(anchors))])
    rows = [np.array(part, np.int32) for part in (anchors, relations)]
    return QueryBatch(plan(parse(text)), ids, *rows, answers, parse(text))


def some_queries(text, n_queries=23, n_entities=6, n_relations=3):
    """A batch of random groundings, with random sets as answers."""
    drawn = np.random.default_rng(3)
    shape = plan(parse(text))
    answers = [np.flatnonzero(drawn.random(n_entities) < 0.4) for _ in range(n_queries)]
    return batch_of(
        text,
        drawn.integers(0, n_entities, (n_queries, shape.n_constants)),
        drawn.integers(0, n_relations, (n_queries, shape.n_relations)),
        ragged(answers),
    )


def some_graph():
    drawn = np.random.default_rng(4)
    sizes = {"train": 30, "valid": 8, "test": 8}
    columns = (6, 3, 6)
    return toy_graph(
        **{
            split: np.stack([drawn.integers(0, most, size) for most in columns], axis=1)
            for split, size in sizes.items()
        }
    )


def scores(method, graph, queries, split="test", **options):
    """Scores of a method that sees of the graph what it may see."""
    module = load_method(method, options)
    splits = visible_parts(inference_graph(module, options), graph, split)
    visible = graph._replace(triples={name: graph.triples[name] for name in splits})
    own = own_settings(options)
    if takes_links(module):
        settings = options["calibration"], options.get("hybrid", False)
        own["links"] = predicted_links(some_predictor(graph), visible, *settings)
    return module.scores(visible, queries, **own)


def some_predictor(graph):
    """Random embeddings of a graph."""
    drawn = np.random.default_rng(8)
    n_vectors = graph.n_entities, n_reciprocal(graph.inverse)
    vectors = [2 * drawn.standard_normal((n, 8), np.float32) for n in n_vectors]
    return make_predictor("complex", *vectors, {}, graph)


def registered(model, graph, queries, **options):
    entry = MODELS[model]
    return scores(entry["method"], graph, queries, **entry["settings"], **options)


# The contract, for every entry of the catalogue.


def test_every_method_stands_in_the_catalogue():
    assert set(METHODS) >= {entry["method"] for entry in MODELS.values()}
    assert {"oracle", "constant", "random", "popularity", "traversal"} <= set(MODELS)


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_scores_every_entity_for_every_query(model, text):
    found = registered(model, some_graph(), some_queries(text))
    assert found.shape == (23, 6)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_scores_a_query_the_same_in_every_batch(model, size, text):
    graph, queries = some_graph(), some_queries(text)
    parts = batches(queries, graph.n_entities, chunk_bytes=size * 4 * graph.n_entities)
    found = [registered(model, graph, part) for part in parts]
    assert len(found) == math.ceil(23 / size)
    assert np.concatenate(found).tolist() == registered(model, graph, queries).tolist()


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_scores_a_query_the_same_in_every_order(model, text):
    graph, queries = some_graph(), some_queries(text)
    order = np.random.default_rng(5).permutation(23)
    answers = ragged([queries.answers.row(i) for i in order])
    rows = (part[order] for part in queries[1:4])
    shuffled = QueryBatch(queries.plan, *rows, answers, queries.formula)
    found = registered(model, graph, shuffled)
    assert found.tolist() == registered(model, graph, queries)[order].tolist()


@pytest.mark.parametrize("model", [name for name in MODELS if name != "oracle"])
def test_no_model_but_the_oracle_needs_answers(model):
    queries = some_queries("r1(s1,f)")
    blind = registered(model, some_graph(), queries._replace(answers=None))
    assert blind.tolist() == registered(model, some_graph(), queries).tolist()


@pytest.mark.parametrize("model", MODELS)
def test_no_model_sees_test_triples(model):
    graph, queries = some_graph(), some_queries("r1(s1,e1)&r2(e1,f)")
    without = graph._replace(triples={**graph.triples, "test": graph.triples["test"][:0]})
    assert (
        registered(model, graph, queries).tolist() == registered(model, without, queries).tolist()
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_refuses_a_setting_that_it_does_not_have(method):
    with pytest.raises(InputError, match=f"settings of method {method}: unknown key 'depht'"):
        load_method(method, {"depht": 3})


@pytest.mark.parametrize("model", MODELS)
def test_every_model_refuses_an_inference_graph_that_it_does_not_have(model):
    method, options = MODELS[model]["method"], MODELS[model]["settings"]
    options = {**options, "inference_graph": "full"}
    with pytest.raises(InputError, match=f"method {method}: inference_graph 'full'"):
        inference_graph(load_method(method, options), options)


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match=r"scripts/models/orcale\.py"):
        load_method("orcale", {})


def test_a_missing_setting_is_named():
    with pytest.raises(InputError, match="settings of method random: the key seed is missing"):
        load_method("random", {})


@pytest.mark.parametrize("split", OBSERVED)
def test_the_observed_graph_is_that_of_the_easy_answers(split):
    assert visible_parts("observed", some_graph(), split) == OBSERVED[split]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"method": "random", "seed": 0}, "a: unknown key seed"),
        ({"method": "../random"}, "a.method: '../random' is not allowed"),
        ({"method": 3}, "a.method: expected text"),
        ({"method": "fuzzy", "settings": {"algebra": "godel"}}, "settings.algebra: unknown value"),
        (
            {"method": "fuzzy", "settings": {"beam": 0}},
            "a.settings.beam: 0 is less than the minimum of 1",
        ),
        (
            {"method": "qto", "settings": {"calibration": {"kind": "sigmod"}}},
            "a.settings.calibration.kind: unknown value sigmod",
        ),
        (
            {"method": "qto", "settings": {"calibration": {"kind": "sigmoid", "temperature": 0}}},
            "a.settings.calibration.temperature: 0 is",
        ),
        (
            {"method": "qto", "settings": {"calibration": {}}},
            "calibration: the key kind is missing",
        ),
    ],
)
def test_a_catalogue_entry_that_does_not_fit_is_refused(entry, message):
    with pytest.raises(InputError) as caught:
        validated({"a": entry}, SCHEMA, "models.yaml")
    assert message in str(caught.value)


def test_the_schema_names_the_algebras_and_calibrations_that_there_are():
    known = SCHEMA["additionalProperties"]["properties"]["settings"]["properties"]
    assert tuple(known["algebra"]["enum"]) == ALGEBRAS
    assert tuple(known["negation"]["enum"]) == NEGATIONS
    calibrations = dict(known["calibration"]["properties"])
    kinds = calibrations.pop("kind")["enum"]
    assert kinds == list(CALIBRATIONS)
    parameters = [list(signature(CALIBRATIONS[kind]).parameters)[2:] for kind in kinds]
    assert calibrations.keys() == {*itertools.chain(*parameters)}


# Oracle.


def oracle_counts(rule):
    """Counts of the oracle for random answers, and the offsets of the hard ones."""
    drawn = np.random.default_rng(9)
    classes = drawn.integers(0, 4, (40, 6))  # 0: no answer, 1: easy, 2: retracted, 3: hard
    easy = ragged([np.flatnonzero((row == 1) | (row == 2)) for row in classes])
    retracted = ragged([np.flatnonzero(row == 2) for row in classes])
    hard = ragged([np.flatnonzero(row == 3) for row in classes])
    full = full_only(easy, hard, retracted)
    queries = batch_of("r1(s1,f)", [[0]] * 40, [[0]] * 40, full)
    found = scores("oracle", some_graph(), queries)
    counts = count_competitors(found, hard, [FILTERS[rule](easy, hard, retracted)])
    return counts.greater[0], counts.tied[0], hard.offsets


@pytest.mark.parametrize("ties", POLICIES)
@pytest.mark.parametrize("rule", CLEAN)
@pytest.mark.parametrize("metric_id", METRIC_IDS)
def test_the_oracle_is_perfect(metric_id, rule, ties):
    greater, tied, _ = oracle_counts(rule)
    assert (metric(metric_id).values(greater, tied, ties) == 1.0).all()


@pytest.mark.parametrize("rule", CLEAN)
@pytest.mark.parametrize("metric_id", ["recall@6", "ndcg@6", "hit_rate@1", "first_hit_mrr"])
def test_the_oracle_finds_all_hard_answers_first(metric_id, rule):
    greater, tied, offsets = oracle_counts(rule)
    values = query_values(metric_id, blocks_of_counts(offsets, greater, tied), "pessimistic")
    assert (values[np.diff(offsets) > 0] == 1.0).all()


# Constant.


def test_the_constant_model_gives_the_same_score_to_all():
    found = scores("constant", some_graph(), some_queries("r1(s1,f)"))
    assert np.unique(found).tolist() == [0.0]


def test_the_value_of_the_constant_model_can_be_set():
    found = scores("constant", some_graph(), some_queries("r1(s1,f)"), value=0.25)
    assert np.unique(found).tolist() == [0.25]


# Random.


def random_values(metric_id, n_entities=50, n_queries=4000):
    """Metric of one hard answer per query among entities that are no answers."""
    graph = toy_graph(n_entities=n_entities)
    queries = batch_of("r1(s1,f)", [[0]] * n_queries, [[0]] * n_queries)
    hard = ragged([[i % n_entities] for i in range(n_queries)])
    counts = count_competitors(scores("random", graph, queries, seed=0), hard, [hard])
    return metric(metric_id).values(counts.greater[0], counts.tied[0], "expected")


@pytest.mark.parametrize(
    ("metric_id", "of_rank"),
    [
        ("mrr", lambda rank: 1 / rank),
        ("mr", lambda rank: rank),
        ("hits@1", lambda rank: float(rank <= 1)),
        ("hits@3", lambda rank: float(rank <= 3)),
        ("hits@10", lambda rank: float(rank <= 10)),
    ],
)
def test_random_scores_have_the_mean_of_evenly_drawn_ranks(metric_id, of_rank):
    values = [of_rank(rank) for rank in range(1, 51)]
    mean = sum(values) / 50
    variance = sum((value - mean) ** 2 for value in values) / 50
    found = random_values(metric_id)
    assert abs(found.mean() - mean) < 4 * math.sqrt(variance / len(found))


def test_random_scores_of_ten_entities_have_a_mean_reciprocal_rank_of_h10_over_ten():
    found = random_values("mrr", n_entities=10)
    variance = sum(1 / i**2 for i in range(1, 11)) / 10 - 0.292897**2
    assert abs(found.mean() - 0.292897) < 4 * math.sqrt(variance / len(found))


def test_random_scores_of_ten_entities_put_three_in_ten_answers_among_the_first_three():
    found = random_values("hits@3", n_entities=10)
    assert abs(found.mean() - 0.3) < 4 * math.sqrt(0.3 * 0.7 / len(found))


def test_random_scores_lie_evenly_between_zero_and_one():
    graph, queries = toy_graph(n_entities=20001), batch_of("r1(s1,f)", [[0]], [[0]])
    counted = np.histogram(scores("random", graph, queries, seed=1), 10, range=(0, 1))[0]
    chi_square = ((counted - 2000.1) ** 2 / 2000.1).sum()
    assert counted.sum() == 20001
    assert chi_square < 27.9  # 99.9 % of the distribution with 9 degrees of freedom


def test_random_scores_hang_on_the_seed():
    graph, queries = some_graph(), some_queries("r1(s1,f)")
    found = [scores("random", graph, queries, seed=seed).tolist() for seed in (0, 1)]
    assert found[0] != found[1]


def test_random_scores_hang_on_the_query():
    found = scores("random", some_graph(), some_queries("r1(s1,f)"), seed=0)
    assert len(np.unique(found, axis=0)) == 23


# Popularity: relation 0 ends at 1 three times in four and at 2 once; relation 1 at 2 and at 3.

POPULAR = toy_graph(
    train=[(0, 0, 1), (3, 0, 1), (4, 0, 1), (5, 0, 2), (0, 1, 2), (1, 1, 3)],
    valid=[(0, 2, 5), (1, 0, 5)],
)


@pytest.mark.parametrize(
    ("text", "relations", "wanted"),
    [
        ("r1(s1,f)", [0], [0, 3 / 4, 1 / 4, 0, 0, 0]),
        ("r1(f,s1)", [0], [1 / 4, 0, 0, 1 / 4, 1 / 4, 1 / 4]),
        ("r1(s1,e1)&r2(e1,f)", [1, 0], [0, 3 / 4, 1 / 4, 0, 0, 0]),
        ("r1(s1,f)&r2(s2,f)", [0, 1], [0, 0, 1 / 8, 0, 0, 0]),
        ("r1(s1,f)|r2(s2,f)", [0, 1], [0, 3 / 4, 5 / 8, 1 / 2, 0, 0]),
        ("r1(s1,f)&!r2(s2,f)", [0, 1], [0, 3 / 4, 1 / 4, 0, 0, 0]),
        ("r1(s1,e1)&!r2(e1,f)&r3(s2,f)", [1, 1, 0], [0, 3 / 4, 1 / 4, 0, 0, 0]),
        ("(r1(s1,e1)|r2(s2,e1))&r3(e1,f)", [1, 1, 0], [0, 3 / 4, 1 / 4, 0, 0, 0]),
        ("!r1(s1,f)", [0], [1, 1, 1, 1, 1, 1]),
        ("r1(s1,f)", [2], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_popularity_is_the_frequency_under_the_last_relations(text, relations, wanted):
    n_constants = plan(parse(text)).n_constants
    queries = batch_of(text, [[0] * n_constants], [relations])
    assert scores("popularity", POPULAR, queries)[0].tolist() == wanted


# Traversal.


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(FORMULAS), st.sampled_from(["valid", "test"]))
def test_traversal_scores_exactly_the_answers_on_the_observed_graph(data, text, split):
    graph = data.draw(graphs())
    formula = parse(text)
    anchors, relations = data.draw(groundings(formula))
    found = scores("traversal", graph, batch_of(text, anchors, relations), split)
    known = edges(graph, OBSERVED[split])
    for row, constants, symbols in zip(found, anchors, relations, strict=True):
        values = values_of(formula, constants, symbols)
        wanted = [
            math.isfinite(
                reference_answers.cost(formula, {**values, "f": e}, known, known, range(6))
            )
            for e in range(6)
        ]
        assert row.tolist() == [float(answer) for answer in wanted]


def test_traversal_can_be_kept_to_the_train_triples():
    graph = toy_graph(train=[(0, 0, 1)], valid=[(0, 0, 2)])
    queries = batch_of("r1(s1,f)", [[0]], [[0]])
    found = scores("traversal", graph, queries, inference_graph="train")
    assert found[0].tolist() == [0, 1, 0, 0, 0, 0]


def test_traversal_of_a_test_query_sees_valid_triples():
    graph = toy_graph(train=[(0, 0, 1)], valid=[(0, 0, 2)], test=[(0, 0, 3)])
    queries = batch_of("r1(s1,f)", [[0]], [[0]])
    assert scores("traversal", graph, queries)[0].tolist() == [0, 1, 1, 0, 0, 0]


def test_traversal_of_a_valid_query_does_not_see_valid_triples():
    graph = toy_graph(train=[(0, 0, 1)], valid=[(0, 0, 2)])
    queries = batch_of("r1(s1,f)", [[0]], [[0]])
    assert scores("traversal", graph, queries, split="valid")[0].tolist() == [0, 1, 0, 0, 0, 0]
