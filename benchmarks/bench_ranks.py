"""How fast hard answers are ranked, against the naive way and against the machine's limits.

Run as `python benchmarks/bench_ranks.py`. One core; scores are drawn evenly, which no shortcut of
the kernels helps with. The first columns give the work; `reads` and `compares` are the shares of
what the machine can do at best when it only reads the scores, or only compares scores in cache with
a cut.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from clqa import ranks
from clqa.ragged import Ragged
from clqa.ranks import count_competitors

N_ENTITIES = 14_505
# Hard answers, easy answers, queries, type of the scores, goal in queries per second.
CASES = [
    (12, 80, 3000, np.float32, 30_000),
    (90, 80, 1500, np.float32, 3_500),
    (12, 80, 1500, np.float64, None),
    (90, 80, 1500, np.float64, None),
    (12, 3000, 1500, np.float32, None),
    (500, 500, 500, np.float32, None),
]


def made_up_queries(n_hard, n_easy, n_queries, dtype):
    """Scores, hard answers, and all answers under two filters, one with fewer easy ones."""
    drawn = np.random.default_rng(0)
    scores = drawn.random((n_queries, N_ENTITIES), dtype=np.float32).astype(dtype)
    order = np.argsort(drawn.random((n_queries, N_ENTITIES), dtype=np.float32), axis=1)

    def first(size):
        ids = np.sort(order[:, :size], axis=1).astype(np.int32)
        return Ragged(np.arange(n_queries + 1) * size, ids.ravel())

    return scores, first(n_hard), [first(n_hard + n_easy), first(n_hard + n_easy // 3)]


def naive(scores, targets, excluded):
    """Greater and tied by one pass of numpy over the row per answer and filter."""
    for query, row in enumerate(scores):
        for filtered in excluded:
            candidate = np.ones(len(row), dtype=bool)
            candidate[filtered.row(query)] = False
            others = row[candidate]
            for target in targets.row(query):
                yield int((others > row[target]).sum()), int((others == row[target]).sum())


def seconds(function, repeats=3):
    """Shortest time of a few runs, after one that may compile."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def limits(dtype):
    """Bytes read, and scores compared in cache, per second."""
    large = np.ones(2**28 // np.dtype(dtype).itemsize, dtype)
    small, cuts = np.ones(4096, dtype), np.linspace(0, 1, 4096).astype(dtype)
    n_compares = 2 * small.size * cuts.size
    return (
        large.nbytes / seconds(large.max),
        n_compares / seconds(lambda: ranks._counts_by_comparing(small, cuts)),
    )


def main():
    head = ("hard", "easy", "scores", "queries/s", "goal", "naive", "times", "reads", "compares")
    print(("{:>5} {:>5} {:>8} {:>10} {:>7} {:>7} {:>6} {:>6} {:>9}").format(*head))
    best = {dtype: limits(dtype) for dtype in (np.float32, np.float64)}
    for n_hard, n_easy, n_queries, dtype, goal in CASES:
        scores, hard, excluded = made_up_queries(n_hard, n_easy, n_queries, dtype)
        ours = n_queries / seconds(lambda: count_competitors(scores, hard, excluded))  # noqa: B023
        some = slice(0, max(1, 200 // n_hard))
        n_some = len(scores[some])
        slow = n_some / seconds(lambda: list(naive(scores[some], hard, excluded)), 1)  # noqa: B023
        read, compared = best[dtype]
        shares = ours * scores[0].nbytes / read, ours * 2 * n_hard * N_ENTITIES / compared
        print(
            f"{n_hard:>5} {n_easy:>5} {np.dtype(dtype).name:>8} {ours:>10,.0f} {goal or '':>7}"
            f" {slow:>7,.0f} {ours / slow:>6.0f} {shares[0]:>6.0%} {shares[1]:>9.0%}"
        )
    scores = np.random.default_rng(0).random((1, 1_000_000), dtype=np.float32)
    hard = Ragged(np.array([0, 5000]), np.arange(0, 1_000_000, 200, dtype=np.int32))
    taken = seconds(lambda: count_competitors(scores, hard, [hard, hard]))
    print(f"\n5,000 hard answers among 1,000,000 entities: {taken * 1000:.0f} ms")


if __name__ == "__main__":
    main()
