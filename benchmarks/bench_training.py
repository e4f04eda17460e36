"""How fast link predictors are trained, against the matrix products that training needs at best.

Run as `OMP_NUM_THREADS=1 python benchmarks/bench_training.py`. Steps are made on a made-up graph of
the size of FB15k-237, and `s/epoch` is for as many questions as that has. `peak` is the rate of a
large square product in the same process, `share` the part of the time of a step that its three
products (scores, gradients by queries and by tails) would take at this rate.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from clqa.embeddings import MODELS
from clqa.graphs import make_graph
from clqa.link_queries import link_queries, picked
from clqa.objectives import Objective, loss_and_gradients
from clqa.optimizers import descend
from clqa.training_states import Vectors

N_ENTITIES, N_RELATIONS, N_TRIPLES, N_QUESTIONS = 14_505, 237, 272_115, 149_689
# Model, rank, questions of a batch, weight of the second task.
CASES = [
    ("complex", 64, 300, 0),
    ("complex", 200, 300, 0),
    ("complex", 500, 300, 0),
    ("complex", 200, 300, 1),
    ("distmult", 400, 300, 0),
    ("rescal", 128, 300, 0),
    ("transe", 400, 300, 0),
]


def made_up_graph():
    """Heads, relations and tails drawn so that few of each are frequent, both directions."""
    random = np.random.default_rng(0)
    sizes = N_ENTITIES, N_RELATIONS, N_ENTITIES
    columns = [(size * random.random(N_TRIPLES) ** 3).astype(np.int32) for size in sizes]
    heads, relations, tails = columns
    turned = np.stack([tails, relations + N_RELATIONS, heads], axis=1)
    train = np.concatenate([np.stack(columns, axis=1), turned])
    none, half = np.empty((0, 3), np.int32), np.arange(N_RELATIONS)
    inverse = np.concatenate([half + N_RELATIONS, half])
    return make_graph({"train": train, "valid": none, "test": none}, inverse, N_ENTITIES, "")


def seconds(function, repeats):
    """Shortest time of a few runs, after one that may compile."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def peak():
    """Multiplications and additions per second of a large product."""
    size = 2048
    square, out = np.ones((size, size), np.float32), np.empty((size, size), np.float32)
    return 2 * size**3 / seconds(lambda: np.matmul(square, square, out=out), 5)


def step(name, rank, batch, weight):
    """A step of descent as training makes it, and the width of its vectors."""
    model, random = MODELS[name], np.random.default_rng(0)
    shapes = (
        (N_ENTITIES, model.entity_width(rank)),
        (2 * N_RELATIONS, model.relation_width(rank)),
    )
    vectors = Vectors(*(random.normal(0, 0.1, shape).astype(np.float32) for shape in shapes))
    gradients, squares = (Vectors(*map(np.zeros_like, vectors)) for _ in range(2))
    objective = Objective(0.01, weight)

    def run():
        loss_and_gradients(model, vectors, batch, objective, gradients)
        for parameter, gradient, memory in zip(vectors, gradients, squares, strict=True):
            descend("adagrad", parameter, gradient, [memory], 1e-6, 1, map)

    return run, shapes[0][1]


def main():
    queries = link_queries(made_up_graph(), ("train",))
    best, n_queries = peak(), len(queries.heads)
    print(f"peak {best / 1e9:.0f} GFLOP/s")
    print(f"{'model':>9} {'rank':>5} {'task':>5} {'ms/step':>8} {'s/epoch':>8} {'share':>6}")
    for name, rank, size, weight in CASES:
        places = np.sort(np.random.default_rng(1).permutation(n_queries)[:size])
        run, width = step(name, rank, picked(queries, places), weight)
        spent = seconds(run, 5)
        needed = 3 * 2 * size * N_ENTITIES * width / best
        epoch = spent * N_QUESTIONS / size
        row = f"{name:>9} {rank:>5} {weight:>5} {1000 * spent:>8.0f} {epoch:>8.1f}"
        print(f"{row} {needed / spent:>6.0%}")


if __name__ == "__main__":
    main()
