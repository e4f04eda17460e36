"""Link predictors: scores by their definitions, and files that are what they say."""

import numpy as np
import pytest

from clqa.array_files import write_arrays
from clqa.embeddings import MODELS
from clqa.errors import InputError
from clqa.graphs import Graph, make_graph
from clqa.predictors import make_predictor, open_predictor, scores, write_predictor
from reference_links import score

N_ENTITIES = 9
# Relation 1 is the inverse of 0; 2 has none, so that the predictor has a relation 3 for it.
TRAIN = [(0, 0, 1), (1, 1, 0), (2, 2, 3)]


def graph_of(train=TRAIN, n_entities=N_ENTITIES) -> Graph:
    none = np.empty((0, 3), np.int32)
    parts = {"train": np.array(train), "valid": none, "test": none}
    return make_graph(parts, np.array([1, 0, -1]), n_entities, "labels")


def drawn(model: str, rank=4, n_entities=N_ENTITIES, seed=0):
    """Vectors of entities and relations."""
    random, made = np.random.default_rng(seed), MODELS[model]
    return (
        random.standard_normal((n_entities, made.entity_width(rank))),
        random.standard_normal((4, made.relation_width(rank))),
    )


@pytest.mark.parametrize("model", MODELS)
def test_scores_are_those_of_the_definition(model):
    entities, relations = drawn(model)
    predictor = make_predictor(model, entities, relations, {}, graph_of())
    heads, asked = np.array([0, 5, 8, 5]), np.array([0, 3, 2, 1])
    expected = [
        [score(model, entities[h], relations[r], t) for t in entities]
        for h, r in zip(heads, asked, strict=True)
    ]
    found = scores(predictor, heads, asked)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_turned_relations_score_the_turned_triple(model):
    entities, relations = drawn(model)
    turned = MODELS[model].turned(relations)
    for h, r, t in [(0, 1, 2), (3, 2, 3)]:
        straight = score(model, entities[h], relations[r], entities[t])
        assert score(model, entities[t], turned[r], entities[h]) == pytest.approx(straight)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_entities", [5, 14, 300, 1500])
def test_scores_of_a_row_do_not_depend_on_the_others(model, n_entities):
    random = np.random.default_rng(1)
    arrays = drawn(model, rank=33, n_entities=n_entities)
    predictor = make_predictor(model, *arrays, {}, graph_of(n_entities=n_entities))
    heads, asked = random.integers(0, n_entities, 550), random.integers(0, 4, 550)
    together = scores(predictor, heads, asked)
    order = random.permutation(550)
    assert np.array_equal(scores(predictor, heads[order], asked[order]), together[order])
    for place in (0, 63, 64, 255, 256, 549):
        alone = scores(predictor, heads[place : place + 1], asked[place : place + 1])
        assert np.array_equal(alone[0], together[place])


def test_reciprocal_relations_are_the_inverse_or_follow_the_graphs():
    predictor = make_predictor("distmult", *drawn("distmult"), {}, graph_of())
    assert predictor.reciprocal.tolist() == [1, 0, 3]


def written(tmp_path):
    path = tmp_path / "p.npz"
    predictor = make_predictor("complex", *drawn("complex"), {"rank": 4}, graph_of())
    write_predictor(path, predictor._replace(fitted={"softmax": {"temperature": 0.5}}))
    return path


def test_a_predictor_is_read_as_it_was_written(tmp_path):
    entities, relations = drawn("complex")
    read = open_predictor(written(tmp_path), graph_of())
    assert np.array_equal(read.entities, entities.astype(np.float32))
    assert np.array_equal(read.relations, relations.astype(np.float32))
    assert (read.model, read.settings) == ("complex", {"rank": 4})
    assert read.fitted == {"softmax": {"temperature": 0.5}}


def test_the_same_predictor_is_written_as_the_same_bytes(tmp_path):
    first = written(tmp_path).read_bytes()
    assert written(tmp_path).read_bytes() == first


def test_a_predictor_of_another_graph_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"p\.npz: predictor of another graph .*the same labels"):
        open_predictor(written(tmp_path), graph_of([*TRAIN, (0, 2, 0)]))


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_predictor_that_is_cut_is_refused(tmp_path, share):
    path = written(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(InputError, match=r"p\.npz: not a readable predictor .*train_predictor"):
        open_predictor(path, graph_of())


def test_a_changed_number_is_refused(tmp_path):
    path = written(tmp_path)
    arrays = np.load(path)
    changed = {name: np.array(arrays[name]) for name in arrays.files}
    changed["entities"][0, 0] += 1
    np.savez(path, **changed)
    with pytest.raises(InputError, match="sha256"):
        open_predictor(path, graph_of())


def test_a_file_of_other_arrays_is_refused(tmp_path):
    write_arrays(tmp_path / "p.npz", {"entities": np.zeros((2, 2))}, {"model": "complex"})
    with pytest.raises(InputError, match="not a readable predictor"):
        open_predictor(tmp_path / "p.npz", graph_of())


def refused(model, entities, relations) -> str:
    with pytest.raises(InputError) as caught:
        make_predictor(model, entities, relations, {}, graph_of())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_embeddings_that_do_not_fit_are_refused():
    entities, relations = drawn("complex")
    assert "entities: 8 rows; expected 9" in refused("complex", entities[:-1], relations)
    assert "relations: 3 rows; expected 4" in refused("complex", entities, relations[:-1])
    assert "complex of rank 4 has 8 and 8" in refused("complex", entities, relations[:, :6])
    assert "rescal of rank 8 has 8 and 64" in refused("rescal", entities, relations)
    assert "no model 'conve'; known are complex" in refused("conve", entities, relations)
    assert "entities: row 3 holds a number that is not finite" in refused(
        "complex", np.where(np.arange(9)[:, None] == 3, np.nan, entities), relations
    )
