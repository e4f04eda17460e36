"""Links of a predictor: calibrated, with known edges, and exact ones under every method."""

import importlib

import numpy as np
import pytest

from clqa.adjacencies import graph_view
from clqa.answers import answer_sets
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import make_graph
from clqa.link_degrees import weighted_links
from clqa.models import QueryBatch, degrees
from clqa.plans import plan
from clqa.predicted_links import open_links, predicted_links
from clqa.predictors import make_predictor, scores, write_predictor

N_ENTITIES, N_RELATIONS = 7, 3
METHODS = {
    "fuzzy": [
        {"algebra": name, "negation": negation, "beam": N_ENTITIES}
        for name in ("goedel", "product", "lukasiewicz", "viterbi")
        for negation in ("standard", "residuated")
    ],
    "qto": [{"negation_scale": 1.0}, {"negation_scale": 6.0}, {"exact": 2}],
    "cqd_beam": [{"algebra": name, "beam": N_ENTITIES} for name in ("product", "goedel")],
    "fit": [
        {"algebra": name, "beam": N_ENTITIES, "enumerated": N_ENTITIES}
        for name in ("product", "goedel")
    ],
}
SHAPES = [
    "r1(s1,f)",
    "r1(s1,e1)&r2(e1,f)",
    "r1(s1,e1)&r2(e1,e2)&r3(e2,f)",
    "r1(s1,f)&r2(s2,f)&r3(f,s3)",
    "r1(s1,e1)&r2(s2,e1)&r3(e1,f)",
    "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
    "r1(s1,f)&!r2(s2,f)",
    "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)",
    "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
    "r1(s1,e1)&!r2(e1,f)&r3(s2,f)",
    "r1(s1,f)&r2(e1,f)",
]


def random_graph(inverse=(-1, -1, -1)):
    drawn = np.random.default_rng(1)
    rows = [drawn.integers(0, most, 50) for most in (N_ENTITIES, N_RELATIONS, N_ENTITIES)]
    train = np.stack(rows, axis=1).astype(np.int32)
    triples = {"train": train[:30], "valid": train[30:40], "test": train[40:]}
    return make_graph(triples, np.array(inverse), N_ENTITIES, "vocabulary")


def random_predictor(graph, fitted=None):
    drawn = np.random.default_rng(2)
    entities = drawn.standard_normal((N_ENTITIES, 4), np.float32)
    relations = drawn.standard_normal((2 * N_RELATIONS, 4), np.float32)
    return make_predictor("distmult", entities, relations, {}, graph, fitted)


def every_link():
    pairs = np.stack(np.meshgrid(np.arange(N_ENTITIES), np.arange(2 * N_RELATIONS)), -1)
    return pairs.reshape(-1, 2).T


# Every method over exact links.


def exact_links(graph):
    """Links that are certain where the graph has an edge, and excluded elsewhere."""
    weights = np.zeros((N_RELATIONS, N_ENTITIES, N_ENTITIES))
    heads, relations, tails = np.concatenate(list(graph.triples.values())).T
    weights[relations, heads, tails] = 1
    return weighted_links(weights)


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize(
    ("method", "settings"), [(name, s) for name in METHODS for s in METHODS[name]]
)
def test_over_exact_links_every_method_scores_answers_1_and_all_else_0(method, settings, text):
    graph, shape, drawn = random_graph(), plan(parse(text)), np.random.default_rng(3)
    anchors = drawn.integers(0, N_ENTITIES, (20, shape.n_constants)).astype(np.int32)
    relations = drawn.integers(0, N_RELATIONS, (20, shape.n_relations)).astype(np.int32)
    batch = QueryBatch(shape, np.arange(20).astype(str), anchors, relations)
    module = importlib.import_module(f"models.{method}")
    found = module.scores(graph, batch, links=exact_links(graph), **settings)
    answers = answer_sets(shape, graph_view(graph, tuple(graph.triples)), anchors, relations)
    wanted = np.zeros((20, N_ENTITIES))
    wanted[np.repeat(np.arange(20), answers.lengths()), answers.values] = 1
    assert found.dtype == np.float32
    assert found.tolist() == wanted.tolist()
    assert 0 < wanted.sum() < wanted.size


@pytest.mark.parametrize(
    "text",
    [
        "r1(s1,e1)&r2(e1,f)&r3(e1,f)",
        "r1(s1,e1)&r2(e1,f)&!r3(f,e1)",
        "r1(s1,e1)&r2(e1,e2)&r3(e2,f)&r1(f,e1)",
        "r1(s1,f1)&r2(f1,f2)&r3(f2,s2)",
        "r1(s1,f1)&(r2(f1,e1)|r3(f1,e1))&r4(e1,f2)&r5(f2,f1)",
    ],
)
def test_over_exact_links_fit_scores_what_a_variable_is_in_some_answer_1(text):
    graph, formula, drawn = random_graph(), parse(text), np.random.default_rng(3)
    shape = plan(formula)
    anchors = drawn.integers(0, N_ENTITIES, (20, shape.n_constants)).astype(np.int32)
    relations = drawn.integers(0, N_RELATIONS, (20, shape.n_relations)).astype(np.int32)
    batch = QueryBatch(shape, np.arange(20).astype(str), anchors, relations, None, formula)
    module = importlib.import_module("models.fit")
    found = module.scores(graph, batch, exact_links(graph), beam=7, enumerated=7)
    answers = answer_sets(shape, graph_view(graph, tuple(graph.triples)), anchors, relations)
    wanted = degrees(batch, answers, N_ENTITIES)
    assert found.dtype == np.float32
    assert found.tolist() == wanted.tolist()
    assert 0 < wanted.sum() < wanted.size


def test_the_two_readings_of_pni_are_two_formulas():
    weights = np.zeros((3, 4, 4))
    weights[0, 0, [1, 2]], weights[1, 1, 3], weights[2, 0, 3] = 1, 1, 1
    anchors, relations = np.array([[0, 0]]), np.array([[0, 1, 2]])
    for text, wanted in [("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", 0), (SHAPES[9], 1)]:
        batch = QueryBatch(plan(parse(text)), np.array(["q"]), anchors, relations)
        for method in METHODS:
            module = importlib.import_module(f"models.{method}")
            found = module.scores(None, batch, links=weighted_links(weights), **METHODS[method][1])
            assert found[0].tolist() == [0, 0, 0, wanted]


# Degrees of a predictor.


def test_links_are_calibrated_scores():
    graph, (heads, relations) = random_graph(), every_link()
    predictor = random_predictor(graph)
    links = predicted_links(predictor, graph, {"kind": "sigmoid", "temperature": 2})
    wanted = 1 / (1 + np.exp(-scores(predictor, heads, relations).astype(float) / 2))
    assert links.rows(heads, relations) == pytest.approx(wanted, abs=1e-6)


def test_fitted_parameters_are_taken_where_none_are_given():
    graph, (heads, relations) = random_graph(), every_link()
    predictor = random_predictor(graph, {"sigmoid": {"temperature": 3.0}})
    rows = {
        name: predicted_links(predictor, graph, {"kind": "sigmoid"} | given).rows(heads, relations)
        for name, given in [("fitted", {}), ("3", {"temperature": 3.0}), ("1", {"temperature": 1})]
    }
    assert rows["fitted"].tolist() == rows["3"].tolist() != rows["1"].tolist()


def test_a_softmax_row_sums_to_the_number_of_train_tails():
    graph, (heads, relations) = random_graph(), every_link()
    settings = {"kind": "softmax", "ceiling": 1.0, "temperature": 50.0}
    rows = predicted_links(random_predictor(graph), graph, settings).rows(heads, relations)
    train = {tuple(row) for row in graph.triples["train"].tolist()}
    for row, head, relation in zip(rows, heads, relations, strict=True):
        if relation < N_RELATIONS:
            edges = [(head, relation, tail) for tail in range(N_ENTITIES)]
        else:
            edges = [(tail, relation - N_RELATIONS, head) for tail in range(N_ENTITIES)]
        assert row.sum() == pytest.approx(max(1, sum(edge in train for edge in edges)), rel=1e-5)


@pytest.mark.parametrize("kind", ["softmax", "softmax-observed", "min-max"])
def test_scores_that_overflow_are_refused(kind):
    graph, (heads, relations) = random_graph(), every_link()
    predictor = random_predictor(graph)
    large = predictor._replace(entities=predictor.entities * np.float32(1e25))
    links = predicted_links(large, graph, {"kind": kind})
    with np.errstate(all="ignore"), pytest.raises(InputError, match="vectors are too large"):
        links.rows(heads, relations)


@pytest.mark.parametrize("parts", [("train",), ("train", "valid")])
def test_hybrid_links_are_certain_where_the_loaded_triples_have_an_edge(parts):
    graph, (heads, relations) = random_graph(), every_link()
    predictor, settings = random_predictor(graph), {"kind": "sigmoid"}
    visible = graph._replace(triples={part: graph.triples[part] for part in parts})
    plain = predicted_links(predictor, visible, settings).rows(heads, relations)
    hybrid = predicted_links(predictor, visible, settings, hybrid=True).rows(heads, relations)
    known = {tuple(row) for part in parts for row in graph.triples[part].tolist()}
    for number, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        for tail in range(N_ENTITIES):
            ahead = (head, relation, tail), (tail, relation - N_RELATIONS, head)
            is_known = ahead[int(relation >= N_RELATIONS)] in known
            assert hybrid[number, tail] == (1 if is_known else plain[number, tail])


def test_in_a_graph_with_inverses_they_are_the_reciprocal_relations():
    graph = random_graph((1, 0, -1))
    drawn = np.random.default_rng(2)
    vectors = [drawn.standard_normal((n, 4), np.float32) for n in (N_ENTITIES, 4)]
    links = predicted_links(
        make_predictor("distmult", *vectors, {}, graph), graph, {"kind": "sigmoid"}
    )
    assert links.reciprocal.tolist() == [1, 0, 3]


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ({"kind": "sigmoid", "temperature": 0.0}, "temperature must be a number above 0, not 0.0"),
        ({"kind": "sigmod"}, "unknown calibration sigmod"),
        ({"kind": "sigmoid", "threshold": 0.1}, "settings.calibration: sigmoid has no parameter"),
        ({"kind": "min-max", "bias": 0.1}, "min-max has no parameter bias; it has ceiling"),
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(calibration, message):
    graph = random_graph()
    with pytest.raises(InputError, match=message):
        predicted_links(random_predictor(graph), graph, calibration)


def test_a_predictor_of_another_graph_is_refused(tmp_path):
    graph = random_graph()
    write_predictor(tmp_path / "p.npz", random_predictor(graph))
    other = random_graph((1, 0, -1))
    assert open_links(tmp_path / "p.npz", graph, {"kind": "sigmoid"}).n_entities == N_ENTITIES
    with pytest.raises(InputError, match="predictor of another graph"):
        open_links(tmp_path / "p.npz", other, {"kind": "sigmoid"})
