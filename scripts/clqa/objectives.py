"""What training minimises, and its gradients.

The loss of a triple (h, r, t) is -log softmax of its tail's score among all entities (1-vs-all,
Lacroix et al., 2018), and where it is asked for, -log softmax of its relation's score among all
relations (Chen et al., 2021); N3 adds the cubes of the moduli of the three vectors. Triples with
one head and relation share a row of scores, which is computed once for all of them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.embeddings import Model, tail_scores
from clqa.kernels import kernel
from clqa.link_queries import LinkQueries
from clqa.ragged import part_of
from clqa.training_states import Vectors

# Scores that are held at a time, and those that stay in cache while they are read several times.
CHUNK_BYTES = 2**27
_TILE_BYTES = 2**19


class Objective(NamedTuple):
    """What is minimised: the weights of N3 and of the task to find the relation."""

    regularization: float = 0.0
    relation_weight: float = 0.0


def loss_and_gradients(
    model: Model,
    vectors: Vectors,
    batch: LinkQueries,
    objective: Objective,
    gradients: Vectors,
    spread: Callable = map,
    chunk_bytes: int = CHUNK_BYTES,
) -> float:
    """Sum of the losses of the triples of a batch; their gradients overwrite `gradients`.

    Parameters
    ----------
    spread : function
        Like `map`; may work at several places of the sequence at a time.
    chunk_bytes : int
        Scores to hold at a time.
    """
    gradients.relations[:] = 0
    heads, relations = vectors.entities[batch.heads], vectors.relations[batch.relations]
    queries = model.queries(heads, relations)
    loss, slopes = _tail_losses(
        model, queries, vectors.entities, batch, gradients, spread, chunk_bytes
    )
    add_rows(gradients.entities, batch.heads, model.by_heads(relations, slopes))
    add_rows(gradients.relations, batch.relations, model.by_relations(heads, slopes))
    if objective.relation_weight:
        loss += _relation_losses(
            model, vectors, batch, objective.relation_weight, gradients, spread
        )
    if objective.regularization:
        loss += _norms(model, vectors, batch, objective.regularization, gradients)
    return loss


def _tail_losses(model, queries, entities, batch, gradients, spread, chunk_bytes):
    """Sum of the losses; writes the gradient by tails, gives that by the query vectors."""
    step = max(1, chunk_bytes // (4 * len(entities)))
    scale = np.float32(2 if model.is_distance else 1)
    slopes, loss = np.empty_like(queries), 0.0
    by_tails = gradients.entities
    for first in range(0, len(queries), step):
        part = slice(first, first + step)
        scores = tail_scores(model, queries[part], entities)
        tails = part_of(batch.tails, first, first + step)
        loss += softmax_losses(scores, tails.lengths(), tails.values, spread)
        np.matmul(scores, entities, out=slopes[part])
        if first:
            by_tails += scores.T @ queries[part]
        else:
            np.matmul(scores.T, queries[part], out=by_tails)
        if model.is_distance:
            by_tails -= scores.sum(axis=0)[:, None] * entities
    by_tails *= scale
    return loss, slopes * scale


def softmax_losses(scores: np.ndarray, lengths: np.ndarray, targets: np.ndarray, spread) -> float:
    """Sum of -log softmax over the targets of each row; scores become the gradient by them.

    Parameters
    ----------
    scores : (n, m) float32
    lengths : (n,) int
        Number of targets of each row.
    targets : (sum of lengths,) int
        Columns, each once for a row.
    """
    owners = np.repeat(np.arange(len(scores)), lengths)
    reached = scores[owners, targets].astype(np.float64).sum()
    step = max(1, _TILE_BYTES // (4 * scores.shape[1]))
    weights = lengths.astype(np.float32)

    def soften(first):
        tile, weight = scores[first : first + step], weights[first : first + step]
        top = tile.max(axis=1, keepdims=True)
        tile -= top
        np.exp(tile, out=tile)
        total = tile.sum(axis=1)
        tile *= (weight / total)[:, None]
        return float(weight.astype(np.float64) @ (top[:, 0] + np.log(total.astype(np.float64))))

    loss = sum(spread(soften, range(0, len(scores), step)))
    scores[owners, targets] -= 1
    return loss - float(reached)


def _relation_losses(model, vectors, batch, weight, gradients, spread):
    """Losses of finding the relation of head and tail, by the same scores."""
    lengths = batch.tails.lengths()
    places, relations = np.repeat(batch.heads, lengths), np.repeat(batch.relations, lengths)
    heads, tails = vectors.entities[places], vectors.entities[batch.tails.values]
    factors = model.by_relations(heads, tails)
    scores = factors @ vectors.relations.T
    loss = softmax_losses(scores, np.ones(len(scores), np.int64), relations, spread)
    scores *= np.float32(weight)
    mixed = scores @ vectors.relations
    gradients.relations[:] += scores.T @ factors
    add_rows(gradients.entities, places, model.by_heads(mixed, tails))
    add_rows(gradients.entities, batch.tails.values, model.queries(heads, mixed))
    return weight * loss


def _norms(model, vectors, batch, weight, gradients):
    """N3 of the three vectors of each triple."""
    lengths = batch.tails.lengths()
    n_entities, n_relations = len(vectors.entities), len(vectors.relations)
    times = np.bincount(batch.heads, lengths, n_entities)
    times += np.bincount(batch.tails.values, minlength=n_entities)
    loss = _norm(model, vectors.entities, times, weight, gradients.entities)
    times = np.bincount(batch.relations, lengths, n_relations)
    return loss + _norm(model, vectors.relations, times, weight, gradients.relations)


def _norm(model, vectors, times, weight, gradients):
    rows = np.flatnonzero(times)
    chosen, times = vectors[rows], times[rows]
    sizes = np.abs(chosen)
    if model.is_complex:
        half = chosen.shape[1] // 2
        moduli = np.sqrt(chosen[:, :half] ** 2 + chosen[:, half:] ** 2)
        sizes = np.concatenate([moduli, moduli], axis=1)
    factor = (weight * times).astype(np.float32)[:, None]
    gradients[rows] += 3 * factor * sizes * chosen
    own = sizes[:, : sizes.shape[1] // 2] if model.is_complex else sizes
    return float(weight * (times @ (own**3).sum(axis=1, dtype=np.float64)))


@kernel
def add_rows(target, places, rows):
    """Add each row to the row of `target` at its place, one after the other."""
    for row in range(places.size):
        place = places[row]
        for column in range(rows.shape[1]):
            target[place, column] += rows[row, column]
