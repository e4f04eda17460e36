"""Scores as degrees, and parameters that are fitted on valid triples."""

import math

import numpy as np
import pytest

from clqa.calibrations import (
    CALIBRATIONS,
    calibration,
    fitted_parameters,
)
from clqa.errors import InputError
from clqa.graphs import Graph, make_graph
from clqa.link_queries import link_queries
from clqa.predictors import make_predictor
from clqa.ragged import ragged

ROW = np.array([[0.0, math.log(2), math.log(5)]], np.float32)
ONE, NONE = ragged([[0]]), ragged([[]])


def test_sigmoid():
    assert calibration("sigmoid")(ROW, ONE)[0] == pytest.approx([1 / 2, 2 / 3, 5 / 6])
    halved = calibration("sigmoid")(ROW, ONE, temperature=0.5)
    assert halved[0] == pytest.approx([1 / 2, 4 / 5, 25 / 26])


def test_affine():
    found = calibration("affine")(ROW, ONE, factor=2.0, bias=math.log(3))
    assert found[0] == pytest.approx([3 / 4, 12 / 13, 75 / 76])


def test_softmax_times_the_number_of_train_tails():
    soften = calibration("softmax")
    assert soften(ROW, ONE)[0] == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    assert soften(ROW, NONE)[0] == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    assert soften(ROW, ragged([[0, 2]]))[0] == pytest.approx([2 / 8, 4 / 8, 0.9999])
    assert soften(ROW, ONE, threshold=0.2)[0] == pytest.approx([0, 2 / 8, 5 / 8])
    assert soften(ROW, ONE, temperature=0.5)[0] == pytest.approx([1 / 30, 4 / 30, 25 / 30])


def test_softmax_by_which_train_tails_are_certain_on_average():
    soften = calibration("softmax-observed")
    assert soften(ROW, NONE)[0] == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    assert soften(ROW, ragged([[2]]))[0] == pytest.approx([1 / 5, 2 / 5, 0.999])
    assert soften(ROW, ragged([[1, 2]]))[0] == pytest.approx([2 / 7, 4 / 7, 0.999])
    assert soften(ROW, ragged([[1, 2]]), ceiling=1.0)[0] == pytest.approx([2 / 7, 4 / 7, 1])
    assert soften(ROW, ragged([[2]]), threshold=0.3)[0] == pytest.approx([0, 2 / 5, 0.999])
    assert soften(ROW, ragged([[2]]), temperature=0.5)[0] == pytest.approx([1 / 25, 4 / 25, 0.999])


def test_train_tails_without_any_share_make_no_degree_undefined():
    rows = np.array([[1e4, 1e4, -1e4]], np.float32)
    assert calibration("softmax-observed")(rows, ragged([[2]]))[0].tolist() == pytest.approx(
        [0.999, 0.999, 0]
    )


def test_min_max():
    rows, tails = np.array([[1, 2, 5], [3, 3, 3]], np.float32), ragged([[0], [0]])
    assert np.allclose(calibration("min-max")(rows, tails), [[0, 1 / 4, 1], [0, 0, 0]])
    assert calibration("min-max")(rows, tails, ceiling=0.9)[0] == pytest.approx([0, 0.225, 0.9])


CEILINGS = {"softmax": 0.9999, "softmax-observed": 0.999}


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_degrees_are_in_the_order_of_scores_and_from_0_to_1(name):
    rows = np.random.default_rng(0).normal(0, 20, (4, 50)).astype(np.float32)
    found = calibration(name)(rows, ragged([[], [0], range(5), range(50)]))
    assert found.dtype == np.float32
    assert found.min() >= 0
    assert found.max() <= 1
    for row, degrees in zip(rows, found, strict=True):
        assert (np.diff(degrees[np.argsort(row)]) >= 0).all()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("sigmoid", {"temperature": 0}, "temperature must be a number above 0, not 0"),
        ("softmax", {"temperature": 0.0}, "temperature must be a number above 0"),
        ("softmax", {"temperature": math.nan}, "temperature must be a number above 0"),
        ("sigmoid", {"temperature": math.inf}, "temperature must be a number above 0"),
        ("affine", {"factor": -1.0}, "factor must be a number above 0"),
        ("affine", {"bias": math.inf}, "bias must be a finite number"),
    ],
)
def test_parameters_without_meaning_are_refused(name, settings, message):
    with pytest.raises(InputError, match=message):
        calibration(name)(ROW, ONE, **settings)


def test_an_unknown_calibration_is_refused():
    with pytest.raises(InputError, match=r"unknown calibration softmx \(did you mean softmax\?\)"):
        calibration("softmx")


def drawn_graph(n_valid=4000, n_entities=40, temperature=3.0):
    """A predictor with random vectors, and valid triples drawn by its softmax at a temperature."""
    random = np.random.default_rng(0)
    entities, relations = random.normal(0, 1, (n_entities, 4)), np.ones((2, 4))
    logits = 3 * entities @ entities.T
    chances = np.exp(logits / temperature)
    chances /= chances.sum(axis=1, keepdims=True)
    heads = random.integers(0, n_entities, n_valid)
    tails = [random.choice(n_entities, p=chances[h]) for h in heads]
    none = np.empty((0, 3), np.int32)
    valid = np.stack([heads, np.zeros_like(heads), tails], axis=1)
    graph = make_graph(
        {"train": none, "valid": valid, "test": none}, np.array([-1]), n_entities, ""
    )
    return make_predictor("distmult", entities * math.sqrt(3), relations, {}, graph), graph


def test_fitted_parameters_have_no_better_neighbour():
    predictor, graph = drawn_graph()
    fitted = fitted_parameters(predictor, graph)
    asked = link_queries(graph, ("valid",))
    found = predictor.entities[asked.heads] @ predictor.entities.T
    owners = np.repeat(np.arange(len(found)), asked.tails.lengths())
    truth = np.zeros(found.shape, bool)
    truth[owners, asked.tails.values] = True

    def entropy(degrees):
        return -np.where(truth, np.log(degrees), np.log1p(-degrees)).mean()

    def soft(temperature):
        shares = np.exp(found / temperature)
        return entropy(shares / shares.sum(axis=1, keepdims=True))

    def logistic(values):
        return np.log1p(np.exp(np.where(truth, -values, values))).mean()

    best = fitted["softmax"]["temperature"]
    assert soft(best) <= min(soft(best * 1.05), soft(best / 1.05))
    best = fitted["sigmoid"]["temperature"]
    assert logistic(found / best) <= min(logistic(found / best / c) for c in (1.05, 1 / 1.05))
    factor, bias = fitted["affine"]["factor"], fitted["affine"]["bias"]
    least = logistic(factor * found + bias)
    for c, b in ((1.05, 0), (1 / 1.05, 0), (1, 0.1), (1, -0.1)):
        assert least <= logistic(factor * c * found + bias + b) + 1e-9


def changed(graph: Graph, n_entities=40, **parts) -> Graph:
    return make_graph({**graph.triples, **parts}, graph.inverse, n_entities, "")


def test_test_triples_do_not_move_what_is_fitted_and_without_valid_ones_there_is_nothing():
    predictor, graph = drawn_graph(300)
    other = changed(graph, test=graph.triples["valid"][:5])
    assert fitted_parameters(predictor, other) == fitted_parameters(predictor, graph)
    assert fitted_parameters(predictor, changed(graph, valid=graph.triples["test"])) == {}


def with_a_certain_tail(graph):
    """Entity 39 is a train tail of every question, of relation 0 and of its reciprocal one."""
    valid = graph.triples["valid"]
    valid = valid[(valid[:, [0, 2]] < 39).all(axis=1)]
    train = [(h, 0, t) for h, t in [*((h, 39) for h in range(40)), *((39, h) for h in range(39))]]
    return changed(graph, train=np.array(train), valid=valid)


@pytest.mark.parametrize("name", ["sigmoid", "affine"])
def test_train_tails_do_not_move_what_is_fitted_to_single_scores(name):
    predictor, graph = drawn_graph(300)
    known = with_a_certain_tail(graph)
    without = changed(graph, n_entities=39, valid=known.triples["valid"])
    cut = make_predictor("distmult", predictor.entities[:39], predictor.relations, {}, without)
    fitted = fitted_parameters(cut, without)[name]
    assert fitted_parameters(predictor, known)[name] == pytest.approx(fitted, rel=1e-3)


@pytest.mark.parametrize("name", ["softmax", "softmax-observed"])
def test_a_temperature_is_fitted_to_whole_rows_and_judged_by_links_that_are_not_in_train(name):
    predictor, graph = drawn_graph(2000)
    graph = with_a_certain_tail(graph)
    asked = link_queries(graph, ("valid",))
    found = (predictor.entities[asked.heads] @ predictor.entities.T).astype(float)
    truth = np.zeros(found.shape, bool)
    truth[np.repeat(np.arange(len(found)), asked.tails.lengths()), asked.tails.values] = True

    def loss(temperature):
        shares = np.exp(found / temperature)
        whole = shares.sum(axis=1) if name == "softmax" else shares[:, 39]
        degrees = np.minimum(shares / whole[:, None], CEILINGS[name])
        return -np.where(truth, np.log(degrees), np.log1p(-degrees))[:, :39].sum()

    best = fitted_parameters(predictor, graph)[name]["temperature"]
    assert loss(best) <= min(loss(best * 1.05), loss(best / 1.05))


@pytest.mark.parametrize("name", ["softmax", "softmax-observed"])
def test_what_is_no_number_stays_none(name):
    scores = np.array([[1, np.nan, 2, 0], [1, 3, 2, 0]], np.float32)
    degrees = calibration(name)(scores, ragged([[0], [0]]), threshold=0.01)
    assert np.isnan(degrees[0, 1])
    assert np.isfinite(degrees[1]).all()
