"""Scores drawn evenly from [0, 1), as the level of pure chance.

The draw of a query hangs on the seed and the query id alone, and on the variable where there are
several free ones: they key a counter-based generator (Philox), so that neither the order nor the
number of the queries matters.
"""

import hashlib

import numpy as np

from clqa.models import score_shape

INFERENCE_GRAPHS = ()


def scores(graph, queries, seed: int) -> np.ndarray:
    drawn = np.empty(score_shape(queries, graph.n_entities), dtype=np.float32)
    for rows, query_id in zip(drawn, queries.query_ids, strict=True):
        if rows.ndim == 1:
            rows[:] = _evenly(f"{seed} {query_id}", graph.n_entities)
            continue
        for row, variable in zip(rows, queries.variables, strict=True):
            row[:] = _evenly(f"{seed} {query_id} {variable}", graph.n_entities)
    return drawn


def _evenly(text: str, size: int) -> np.ndarray:
    """Multiples of 2^-24, which float32 holds exactly, from 24 bits of the generator each."""
    key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u8")
    words = np.random.Philox(key=key).random_raw((size + 1) // 2)
    halves = np.stack([words & 0xFFFFFFFF, words >> 32], axis=1).reshape(-1)[:size]
    return (halves >> 8).astype(np.float32) * np.float32(2.0**-24)
