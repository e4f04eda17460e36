"""Why the queries of a report have their answers: what the stage finds, and what the page has."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_answers
from clqa import explained_examples
from clqa.edge_indexes import indexed_edges
from clqa.errors import InputError
from clqa.example_queries import Example
from clqa.explained_examples import explained
from clqa.explanation_files import read_explanations
from clqa.formulas import parse
from clqa.predictors import make_predictor, n_reciprocal, write_predictor
from clqa.shown_explanations import Places, shown_explanations
from explain_examples import explain_examples
from strategies import edges, formulas, graphs, groundings, values_of
from test_explain import ENTITIES, QTO, RELATIONS, SHAPES, make_results

ASKED = ("queries/tiny-test/all.parquet", "answers/tiny-test/all.parquet")


def explanations(results, shape="2p", models=None):
    """The file of the stage for the one query of `make_results`, and its id."""
    graph, query_id, metadata = make_results(results, shape)
    rows = (np.full((n, 2), 0.5, np.float32) for n in (4, n_reciprocal(graph.inverse)))
    predictor = results / "predictors/tiny/bilinear.npz"
    write_predictor(predictor, make_predictor("distmult", *rows, {}, graph))
    path = results / "explanations/run/tiny-test.json"
    models = models or {}
    explain_examples(
        *([results / one] for one in ASKED),
        results / "graphs/tiny/graph.npz",
        path,
        "test",
        list(SHAPES),
        models,
        dict.fromkeys(models, predictor),
    )
    found = read_explanations(path, "tiny-test", metadata["queries"])
    return path, found, query_id


def test_case_99_the_witness_of_fewest_missing_edges_is_kept(tmp_path):
    _, found, query_id = explanations(tmp_path)
    # a -r-> b is observed, b -s-> x is not; the way by c would lack both.
    steps = [[0, 0, 1, 0], [1, 1, 3, 1]]
    assert found["queries"] == {
        query_id: {"why": [{"values": {"e1": 1}, "steps": steps, "absent": []}], "models": []}
    }


def test_a_model_has_its_best_assignment_with_predicted_links(tmp_path):
    models = {"qto": {"method": "qto", "settings": QTO}}
    _, found, query_id = explanations(tmp_path, "2in", models)
    assert found["models"] == ["qto"]
    # Two of three links from a need none from b: 1/4 of a link, and 1 - 1/4 of none.
    assert found["queries"][query_id]["models"] == [
        {
            "degree": 0.1875,
            "links": [[0, 0, 2, 1, 0, 0.25]],
            "rest": [["what is negated fails for", 2, 0.75]],
        }
    ]
    (why,) = found["queries"][query_id]["why"]
    assert why["absent"] == ['not [("s2") -"r2"-> ("f")]']


def test_models_that_would_take_too_long_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(explained_examples, "MOST_DEGREES", 15)
    models = {"qto": {"method": "qto", "settings": QTO}}
    _, found, query_id = explanations(tmp_path, "2in", models)
    # Four intermediates, and a row of four degrees of each.
    assert found["queries"][query_id]["models"] == [None]
    monkeypatch.setattr(explained_examples, "MOST_DEGREES", 16)
    _, found, query_id = explanations(tmp_path / "more", "2in", models)
    assert found["queries"][query_id]["models"] != [None]


def test_a_model_without_links_has_no_assignment(tmp_path):
    models = {"plain": {"method": "popularity", "settings": {}}}
    _, found, query_id = explanations(tmp_path, models=models)
    assert found["queries"][query_id]["models"] == [None]


def test_several_free_variables_are_explained_on_the_graph_alone(tmp_path):
    models = {"qto": {"method": "qto", "settings": QTO}}
    _, found, query_id = explanations(tmp_path, "pairs", models)
    assert [one["steps"] for one in found["queries"][query_id]["why"]] == [
        [[0, 0, 1, 0], [1, 1, 3, 1]],
        [[0, 0, 2, 1], [2, 1, 3, 1]],
    ]
    assert found["queries"][query_id]["models"] == [None]


def test_explanations_of_other_queries_are_refused(tmp_path):
    path, _, _ = explanations(tmp_path)
    with pytest.raises(InputError, match="not about the queries of tiny-test; run the workflow"):
        read_explanations(path, "tiny-test", "0" * 64)
    path.write_text(path.read_text().replace('"e1": 1', '"e1": 2'))
    with pytest.raises(InputError, match="changed since it was written"):
        read_explanations(path, "tiny-test", json.loads(path.read_text())["query_set"])


@settings(max_examples=60)
@given(st.data())
def test_every_hard_answer_has_a_witness_of_its_number_of_missing_links(data):
    graph = data.draw(graphs(max_edges=12))
    formula = data.draw(formulas(depth=2))
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    values = values_of(formula, anchors, relations)
    parts = ("train", "valid")
    observed, full = edges(graph, parts), edges(graph, (*parts, "test"))
    found = reference_answers.links(formula, values, observed, full, range(graph.n_entities))
    hard = [(entity, n) for entity, n in found.items() if n]
    answers, links = [(entity,) for entity, _ in hard], [n for _, n in hard]
    one = Example("s", "q", formula, values, [], answers, 0, len(hard), links)
    told = explained([one], graph, "test", [])["q"]["why"]
    for (_, n), why in zip(hard, told, strict=True):
        assert sum(step[3] for step in why["steps"]) == n
        for head, relation, tail, status in why["steps"]:
            assert (head, relation, tail) in full
            assert ((head, relation, tail) in observed) == (status == 0)


@settings(max_examples=50)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=25))
def test_edges_are_found_as_in_sets(rows):
    found = indexed_edges([np.array(rows, np.int32).reshape(-1, 3)], range(3))
    expected = {row for row in rows if row[1] < 3}
    assert list(found.known) == sorted(expected)
    assert len(found.known) == len(expected)
    for one in range(-1, 6):
        for relation in range(-1, 6):
            tails = sorted(t for h, r, t in expected if (h, r) == (one, relation))
            heads = sorted(h for h, r, t in expected if (t, r) == (one, relation))
            assert [*found.tails.get((one, relation), ())] == tails
            assert [*found.heads.get((one, relation), ())] == heads
            assert all(((one, relation, t) in found.known) == (t in tails) for t in range(6))


def test_the_page_has_labels_in_place_of_ids_and_symbols():
    formula = parse("r1(s1,f)&!r2(s2,f)")
    values = {"s1": 0, "s2": 1, "r1": 0, "r2": 1}
    query = Example("2in", "q", formula, values, [], [(3,)], 0, 1, [1])
    why = {"values": {}, "steps": [[0, 0, 3, 1]], "absent": ['not [("s2") -"r2"-> ("f")]']}
    model = {"degree": 0.5, "links": [[0, 0, 3, 2, 0, 0.5]], "rest": [["is", 1, 0.5]]}
    told = {"queries": {"q": {"why": [why], "models": [model, None]}}}
    places = Places(ENTITIES), Places(RELATIONS)
    found = shown_explanations(query, told, places)
    assert found["why"] == [{"steps": [[0, 0, 1, 1]], "absent": ['not [("b") -"s"-> ("x")]']}]
    assert found["models"] == [
        {"degree": 0.5, "links": [[0, 0, 1, 2, 0, 0.5]], "rest": [["is", 2, 0.5]]},
        None,
    ]
    assert (places[0].labels, places[1].labels) == (["a", "x", "b"], ["r"])


def test_a_vector_of_the_graph_is_named_by_its_number():
    places = Places(RELATIONS)
    assert [places(3), places(0)] == [0, 1]
    assert places.labels == ["d2", "r"]
