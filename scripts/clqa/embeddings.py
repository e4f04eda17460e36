"""Models of a link as products of vectors: how they score all tails at once, and the gradients.

A model turns head and relation into a query vector q(h, r), and scores every tail t by it: by
<q, t>, or by -|q - t|^2 if it is a model of distances. Both are one matrix product for many heads
and relations. The score of a bilinear model is linear in h, r and t alike.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Model(NamedTuple):
    """How a model combines vectors.

    Attributes
    ----------
    queries : function of heads (n, d) and relations (n, e)
        The query vectors (n, d).
    by_heads : function of relations and the gradient (n, d) by the query vectors
        The gradient by the heads. It does not depend on them, as queries are linear in each.
    by_relations : function of heads and the gradient by the query vectors
        The gradient by the relations, likewise.
    turned : function of relations
        The relations whose scores of (t, h) are those of (h, t).
    entity_width, relation_width : function of the rank
        The numbers d and e of columns.
    is_distance : bool
        Whether tails are scored by the negative squared distance.
    is_complex : bool
        Whether the first half of the columns are real and the second half imaginary parts.
    """

    queries: Callable
    by_heads: Callable
    by_relations: Callable
    turned: Callable
    entity_width: Callable[[int], int]
    relation_width: Callable[[int], int]
    is_distance: bool = False
    is_complex: bool = False


def tail_scores(model: Model, queries: np.ndarray, entities: np.ndarray, out=None) -> np.ndarray:
    """Scores (n, n_entities) of all entities as tails, float32 for float32 vectors."""
    scores = np.matmul(queries, entities.T, out=out)
    if model.is_distance:
        scores *= 2
        scores -= np.square(entities).sum(axis=1)
        scores -= np.square(queries).sum(axis=1)[:, None]
    return scores


def _complex_queries(heads, relations):
    (a, b), (c, d) = _parts(heads), _parts(relations)
    return np.concatenate([a * c - b * d, a * d + b * c], axis=1)


def _complex_by_factor(others, slopes):
    """The slopes times the conjugates: heads and relations have the same part in a query."""
    (a, b), (x, y) = _parts(others), _parts(slopes)
    return np.concatenate([x * a + y * b, y * a - x * b], axis=1)


def _parts(vectors):
    half = vectors.shape[1] // 2
    return vectors[:, :half], vectors[:, half:]


def _matrix_queries(heads, relations):
    return np.matmul(heads[:, None], _matrices(relations, heads))[:, 0]


def _matrix_by_heads(relations, slopes):
    return np.matmul(_matrices(relations, slopes), slopes[:, :, None])[:, :, 0]


def _matrix_by_relations(heads, slopes):
    return (heads[:, :, None] * slopes[:, None]).reshape(len(heads), -1)


def _matrices(relations, like):
    return relations.reshape(len(like), like.shape[1], like.shape[1])


def _slopes(others, slopes):
    return slopes


def _conjugate(relations):
    real, imaginary = _parts(relations)
    return np.concatenate([real, -imaginary], axis=1)


def _transposed(relations):
    rank = math.isqrt(relations.shape[1])
    return relations.reshape(-1, rank, rank).transpose(0, 2, 1).reshape(relations.shape)


def _rank(rank):
    return rank


def _twice(rank):
    return 2 * rank


def _square(rank):
    return rank * rank


# Trouillon et al. (2016), Yang et al. (2015), Nickel et al. (2011), Bordes et al. (2013). TransE
# is the variant with the squared Euclidean distance.
MODELS = {
    "complex": Model(
        _complex_queries,
        _complex_by_factor,
        _complex_by_factor,
        _conjugate,
        _twice,
        _twice,
        is_complex=True,
    ),
    "distmult": Model(np.multiply, np.multiply, np.multiply, np.copy, _rank, _rank),
    "rescal": Model(
        _matrix_queries, _matrix_by_heads, _matrix_by_relations, _transposed, _rank, _square
    ),
    "transe": Model(np.add, _slopes, _slopes, np.negative, _rank, _rank, is_distance=True),
}
