"""Embeddings from files: their order, their inverse relations, and what is refused."""

import numpy as np
import pytest

from clqa.embedding_files import read_matrix
from clqa.embeddings import MODELS
from clqa.errors import InputError
from clqa.graphs import make_graph, read_graph, write_graph
from clqa.predictors import open_predictor, scores
from clqa.vocabularies import label_array, vocabulary_hash, write_labels
from import_predictor import import_predictor
from reference_links import score

ENTITIES = ["ant", "bee", "cat"]
RELATIONS = ["eats", "sees", "eats^-1", "likes"]
INVERSE = [2, -1, 0, -1]


@pytest.fixture
def folder(tmp_path):
    parts = {"train": [(0, 0, 1), (1, 2, 0), (2, 1, 1)], "valid": [(0, 3, 2)], "test": []}
    parts = {name: np.array(rows, np.int32).reshape(-1, 3) for name, rows in parts.items()}
    labels = label_array(ENTITIES), label_array(RELATIONS)
    write_graph(
        tmp_path / "graph.npz", make_graph(parts, np.array(INVERSE), 3, vocabulary_hash(*labels))
    )
    write_labels(tmp_path / "entities.tsv", labels[0])
    write_labels(tmp_path / "relations.tsv", labels[1])
    return tmp_path


def vectors(model="complex", n_relations=3, rank=2):
    random, made = np.random.default_rng(0), MODELS[model]
    return (
        random.standard_normal((3, made.entity_width(rank))),
        random.standard_normal((n_relations, made.relation_width(rank))),
    )


def imported(folder, entities, relations, model="complex", reciprocal="derived", **labels):
    """The predictor of these matrices, whose rows have the given labels."""
    np.save(folder / "e.npy", entities)
    np.savez(folder / "r.npz", weights=relations)
    for key, names in labels.items():
        write_labels(folder / f"{key}.tsv", label_array(names))
    matrices = {"entities": {"path": "e.npy"}, "relations": {"path": "r.npz", "array": "weights"}}
    import_predictor(
        folder / "graph.npz",
        folder / "entities.tsv",
        folder / "relations.tsv",
        folder / "e.npy",
        folder / "r.npz",
        folder / "p.npz",
        folder / "p.json",
        {"model": model, "imported": {**matrices, "reciprocal": reciprocal}},
        "outside",
        **{f"path_to_{key}": folder / f"{key}.tsv" for key in labels},
    )
    return open_predictor(folder / "p.npz", read_graph(folder / "graph.npz"))


@pytest.mark.parametrize("model", MODELS)
def test_derived_inverses_score_the_turned_triple(folder, model):
    entities, relations = vectors(model)  # of eats, sees, likes
    predictor = imported(folder, entities, relations, model)
    for relation, row in ((0, 0), (1, 1), (3, 2)):
        for h, t in ((0, 1), (2, 1)):
            expected = score(model, entities[h], relations[row], entities[t])
            found = scores(predictor, np.array([h]), np.array([relation]))[0, t]
            turned = predictor.reciprocal[[relation]]
            assert found == pytest.approx(expected, rel=1e-5)
            assert scores(predictor, np.array([t]), turned)[0, h] == pytest.approx(found, rel=1e-5)


def test_rows_are_put_into_the_graphs_order_by_label(folder):
    entities, relations = vectors()
    names = {"entity_labels": ["cat", "ant", "bee"], "relation_labels": ["likes", "eats", "sees"]}
    predictor = imported(folder, entities, relations, **names)
    assert np.array_equal(predictor.entities, entities[[1, 2, 0]].astype(np.float32))
    kept = relations[[1, 2, 0]].astype(np.float32)
    assert np.array_equal(predictor.relations[[0, 1, 3]], kept)


@pytest.mark.parametrize("labelled", [False, True])
def test_a_second_half_holds_the_inverses(folder, labelled):
    entities, relations = vectors(n_relations=6)
    names = {"relation_labels": ["eats", "sees", "likes"]} if labelled else {}
    predictor = imported(folder, entities, relations, reciprocal="second-half", **names)
    # eats, sees, inverse of eats, likes; then the reciprocal ones of sees and likes.
    expected = relations[[0, 1, 3, 2, 4, 5]].astype(np.float32)
    assert np.array_equal(predictor.relations, expected)


def test_stored_inverses_have_rows_of_their_own(folder):
    entities, relations = vectors(n_relations=4)
    predictor = imported(folder, entities, relations, reciprocal="stored")
    assert np.array_equal(predictor.relations[:4], relations.astype(np.float32))


def refused(folder, *arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        imported(folder, *arguments, **options)
    assert "\n" not in str(caught.value)
    assert not (folder / "p.npz").exists()
    return str(caught.value)


def test_sizes_that_are_not_the_graphs_are_refused(folder):
    entities, relations = vectors()
    assert "entities: 2 rows; expected 3" in refused(folder, entities[:2], relations)
    assert "r.npz: vectors of 2 relations; expected 3" in refused(folder, entities, relations[:2])
    assert "complex of rank 2 has 4 and 4" in refused(folder, entities, relations[:, :2])
    assert "(3,); expected a matrix" in refused(folder, entities[:, 0], relations)


def test_labels_that_are_not_the_graphs_are_refused(folder):
    entities, relations = vectors()
    names = {"entity_labels": ["cat", "ant", "dog"]}
    assert "has no label 'bee', which the graph has" in refused(
        folder, entities, relations, **names
    )
    names = {"entity_labels": ["cat", "ant"]}
    assert "2 labels; expected 3, one for each" in refused(folder, entities, relations, **names)


def test_a_weight_that_is_no_number_is_refused(folder):
    pair = vectors()
    pair[1][1, 0] = np.nan
    assert "predictor outside: embeddings of relations: row 1" in refused(folder, *pair)


def test_files_of_other_kinds_are_refused_and_nothing_of_them_is_run(folder):
    _, relations = vectors()
    assert "e.npy: not readable (" in refused(folder, np.empty((3, 4), object), relations)
    np.savez(folder / "w.npz", x=relations)
    with pytest.raises(InputError, match="array is weights; the file has x"):
        read_matrix(folder / "w.npz", "weights")
    content = (folder / "w.npz").read_bytes()
    (folder / "w.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"w\.npz: not readable"):
        read_matrix(folder / "w.npz", "x")
    (folder / "w.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"w\.txt: expected \.npy, \.npz or \.pt"):
        read_matrix(folder / "w.txt")
