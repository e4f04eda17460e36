"""Link predictors: embeddings of a graph on disk, and the scores of all entities as answers.

A predictor has a vector for each entity and each relation of its graph. Heads are scored as tails
of the reciprocal relation: the inverse, where the graph has one, and otherwise a relation of the
predictor's own, whose vector follows those of the graph's relations.
"""

import json
import os
from typing import NamedTuple

import numpy as np

from clqa.array_files import read_arrays, write_arrays
from clqa.embeddings import MODELS, tail_scores
from clqa.errors import InputError, damaged, placed
from clqa.graphs import Graph

# Rows of a product, at most, and what their number is a multiple of: BLAS has no rest to treat by
# itself, and the scores of a row are the same bits whatever rows come with it. As it multiplies
# small matrices in ways of their own, rows of few numbers are multiplied so many at a time always.
BLOCK, _TILE = 512, 64
_SMALL = 2**16


class Predictor(NamedTuple):
    """A link predictor of a graph.

    Attributes
    ----------
    model : str
        A name in `clqa.embeddings.MODELS`.
    entities : (n_entities, d) float32
    relations : (n_relations + number of relations without an inverse, e) float32
    reciprocal : (n_relations,) int32
        For each relation the one whose tails are its heads.
    settings : dict
        What it was made with.
    graph, vocabulary : str
        Hashes of its graph, as in `clqa.graphs.Graph`.
    fitted : dict of dict of float
        For names in `clqa.calibrations.CALIBRATIONS` the parameters fitted on the valid triples.
    """

    model: str
    entities: np.ndarray
    relations: np.ndarray
    reciprocal: np.ndarray
    settings: dict
    graph: str
    vocabulary: str
    fitted: dict


def scores(
    predictor: Predictor,
    entities: np.ndarray,
    relations: np.ndarray,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Scores (n, n_entities) float32 of every entity as t in r(h, t), higher is better.

    Parameters
    ----------
    entities, relations : (n,) int
        The heads h and the relations r. For the heads of given tails t pass these, with
        `predictor.reciprocal[relations]`.
    out : (n, n_entities) float32, optional
        Where to write them.
    """
    entities, relations = np.asarray(entities), np.asarray(relations)
    found = np.empty((len(entities), len(predictor.entities)), np.float32) if out is None else out
    model = MODELS[predictor.model]
    step = BLOCK if predictor.entities.size > _SMALL else _TILE
    for first in range(0, len(entities), step):
        part = slice(first, first + step)
        queries = model.queries(
            predictor.entities[entities[part]], predictor.relations[relations[part]]
        )
        n_queries = len(queries)
        if n_queries % _TILE == 0:
            tail_scores(model, queries, predictor.entities, out=found[part])
            continue
        padded = np.zeros((-(-n_queries // _TILE) * _TILE, queries.shape[1]), np.float32)
        padded[:n_queries] = queries
        found[part] = tail_scores(model, padded, predictor.entities)[:n_queries]
    return found


def reciprocal_relations(inverse: np.ndarray) -> np.ndarray:
    """For each relation the one whose tails are its heads; new ones follow the graph's."""
    reciprocal = np.array(inverse, np.int32)
    missing = np.flatnonzero(reciprocal < 0)
    reciprocal[missing] = len(reciprocal) + np.arange(len(missing))
    return reciprocal


def n_reciprocal(inverse: np.ndarray) -> int:
    """Number of relations of a predictor, those without an inverse in the graph twice."""
    return len(inverse) + int((np.asarray(inverse) < 0).sum())


def make_predictor(
    model: str,
    entities: np.ndarray,
    relations: np.ndarray,
    settings: dict,
    graph: Graph,
    fitted: dict | None = None,
) -> Predictor:
    """Embeddings as a predictor of a graph.

    Raises
    ------
    InputError
        If there is no such model, the sizes are not those of the graph and of each other, or a
        number is not finite.
    """
    if model not in MODELS:
        raise InputError(f"no model {model!r}; known are {', '.join(MODELS)}")
    arrays = {"entities": entities, "relations": relations}
    sizes = {"entities": graph.n_entities, "relations": n_reciprocal(graph.inverse)}
    for name, array in arrays.items():
        if array.ndim != 2 or array.dtype.kind != "f":
            raise InputError(
                f"embeddings of {name}: {array.dtype} {array.shape}; expected a matrix of numbers"
            )
        if len(array) != sizes[name]:
            raise InputError(
                f"embeddings of {name}: {len(array)} rows; expected {sizes[name]}, one for each of "
                f"the graph's {name}" + (" and reciprocal ones" if name == "relations" else "")
            )
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
        if len(bad):
            raise InputError(
                f"embeddings of {name}: row {bad[0]} holds a number that is not finite; "
                "embeddings of a training that has diverged are of no use"
            )
    _check_widths(model, entities.shape[1], relations.shape[1])
    arrays = [np.ascontiguousarray(array, np.float32) for array in arrays.values()]
    reciprocal = reciprocal_relations(graph.inverse)
    hashes = graph.hash, graph.vocabulary
    return Predictor(model, *arrays, reciprocal, settings, *hashes, fitted or {})


def _check_widths(name: str, entity_width: int, relation_width: int) -> None:
    model = MODELS[name]
    rank = entity_width // model.entity_width(1)
    expected = model.entity_width(rank), model.relation_width(rank)
    if (entity_width, relation_width) != expected or not rank:
        raise InputError(
            f"embeddings: {entity_width} columns for entities and {relation_width} for relations; "
            f"{name} of rank {max(rank, 1)} has {model.entity_width(max(rank, 1))} and "
            f"{model.relation_width(max(rank, 1))}"
        )


def write_predictor(path: str | os.PathLike, predictor: Predictor) -> None:
    """Write a predictor; the same bytes for the same one."""
    texts = {
        "model": predictor.model,
        "graph": predictor.graph,
        "vocabulary": predictor.vocabulary,
        "settings": json.dumps(predictor.settings, sort_keys=True),
        "fitted": json.dumps(predictor.fitted, sort_keys=True),
    }
    arrays = {"entities": predictor.entities, "relations": predictor.relations}
    write_arrays(path, arrays, texts)


def open_predictor(path: str | os.PathLike, graph: Graph) -> Predictor:
    """Read a predictor of a graph.

    Raises
    ------
    InputError
        If the file is missing, cut short or changed, or is of another graph.
    """
    try:
        arrays, texts = read_arrays(path)
        model, of_graph, vocabulary = (texts[name] for name in ("model", "graph", "vocabulary"))
        parts = arrays["entities"], arrays["relations"], json.loads(texts["settings"])
        fitted = json.loads(texts["fitted"])
    except Exception as error:  # whatever a damaged file makes its reader say
        what = f"not a readable predictor ({error or type(error).__name__})"
        raise damaged(path, what, "train_predictor") from error
    if of_graph != graph.hash:
        labels = "the same" if vocabulary == graph.vocabulary else "other"
        raise InputError(
            f"{path}: predictor of another graph (hash {of_graph[:12]} with {labels} labels; "
            f"expected {graph.hash[:12]}); train one on this graph"
        )
    with placed(path):
        return make_predictor(model, *parts, graph, fitted)
