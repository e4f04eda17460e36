"""How fast all scores of a dump are computed, against the machine's limits, and in what memory.

Run as `python benchmarks/bench_scores.py`. One core, measured as processor time; each case has a
process of its own. A dump of 14,505 entities is mapped and ranked; then each query has its scores
under every tie policy, its 100 best candidates and its F0.5 at a threshold. The scores are drawn
evenly, which no shortcut of the kernels helps with. The bytes of the dump are taken in at a share
of the bandwidth of the machine's memory (`memory`), of the rate at which calls of `read` fetch them
and each is looked at once (`reads`, the goal), and of the same where the dump is mapped, as it is
when it is ranked, and never copied (`maps`). `peak` is resident memory with Python and all
libraries. The mapped dump itself never counts for more than a chunk, since its pages are given
back.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from clqa.kept_scores import judged, kept_scores
from clqa.metrics import defined_scores
from clqa.predictions import release
from clqa.query_sets import Answers, AnswerTable
from clqa.ragged import Ragged, part_of
from clqa.ranks import CHUNK_BYTES, rank
from clqa.rule_outcomes import outcome
from clqa.scores import count_scores
from clqa.set_metrics import f_beta
from clqa.set_rules import set_rule
from clqa.ties import POLICIES
from clqa.top_tables import QueryTops

N_ENTITIES, DEPTH = 14_505, 100
METRICS = ["mrr", "mr", "hits@1", "hits@3", "hits@10"]
METRICS += ["precision@10", "recall@10", "ndcg@10", "hit_rate@10"]
FILTER = "observed-and-full"
# Hard answers, easy answers, queries, and the goals: queries per second, and share of reading.
CASES = [
    (12, 80, 2500, 20_000, None),
    (12, 80, 7500, 20_000, None),
    (1, 4, 5000, None, 0.25),
    (3, 10, 5000, None, 0.25),
    (90, 80, 2500, None, None),
]
_BATCH = 5000


def made_up_answers(n_hard, n_easy, n_queries):
    """Easy and hard answers of each query, apart from each other."""
    drawn = np.random.default_rng(0)
    size = n_hard + n_easy
    ids = (np.arange(size) * (N_ENTITIES // size) + drawn.integers(0, 50, (n_queries, 1))).astype(
        np.int32
    )
    is_hard = np.zeros((n_queries, size), bool)
    is_hard[:, :n_hard] = True
    drawn.permuted(is_hard, axis=1, out=is_hard)

    def rows(mask):
        n = int(mask[0].sum()) if n_queries else 0
        return Ragged(np.arange(n_queries + 1, dtype=np.int64) * n, ids[mask])

    nothing = Ragged(np.zeros(n_queries + 1, np.int64), np.empty(0, np.int32))
    hard, easy = rows(is_hard), rows(~is_hard)
    names = np.array([f"q{number}" for number in range(n_queries)], object)
    answers = Answers(names, easy, hard, nothing, np.ones(len(hard.values), np.uint8))
    return answers, rows(np.ones_like(is_hard))


def write_dump(path, n_queries):
    """Write scores as dumps are written: mapped files that were filled by stores read slower."""
    drawn = np.random.default_rng(1)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_queries, N_ENTITIES)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, n_queries, 500):
            n = min(500, n_queries - first)
            file.write(drawn.random((n, N_ENTITIES), "f4").data)


def score(scores, answers, all_answers):
    """All that is asked for of a dump; the seconds of the pass over it, and of the rest."""
    seconds = np.zeros(2)
    for first in range(0, len(scores), _BATCH):
        part = slice(first, first + _BATCH)
        batch = answers._replace(
            query_ids=answers.query_ids[part],
            **{
                name: part_of(getattr(answers, name), part.start, part.stop)
                for name in ("easy", "hard", "retracted")
            },
        )
        rows = np.arange(len(scores))[part]
        seconds += score_batch(scores, rows, batch, part_of(all_answers, part.start, part.stop))
    return seconds


def score_batch(scores, rows, answers, all_answers):
    start = time.process_time()
    ranking = rank(scores, answers.hard, [all_answers], depth=DEPTH, wanted=all_answers, rows=rows)
    passed = time.process_time()
    counts = {FILTER: (ranking.counts.greater[0], ranking.counts.tied[0])}
    values = count_scores(answers.hard.offsets, counts, defined_scores(METRICS, POLICIES, [FILTER]))
    others = N_ENTITIES - all_answers.lengths()
    tops = ranking.tops
    own = QueryTops(others, tops.ids, tops.scores, ranking.looked_up, tops.reaching)
    table = AnswerTable({"1p": answers}, {"n_entities": N_ENTITIES})
    kept = judged(kept_scores(table, {"1p": own}), "full")
    found = outcome(set_rule("threshold@0.9"), kept, None, DEPTH)
    values["f0.5"] = f_beta(found.fewest, 0.5)
    assert all(len(one) == len(rows) for one in values.values())
    return np.array([passed - start, time.process_time() - passed])


def seconds_of_reading(path):
    """Processor time in which the bytes are read into a buffer, chunk by chunk, and looked at."""
    buffer = np.empty(CHUNK_BYTES // 4, np.uint32)
    start = time.process_time()
    with open(path, "rb", buffering=0) as file:
        while size := file.readinto(buffer):
            np.bitwise_or.reduce(buffer[: size // 4])
    return time.process_time() - start


def seconds_of_mapping(path):
    """Processor time in which the bytes of the mapped dump are looked at, chunk by chunk."""
    scores = np.load(path, mmap_mode="r")
    step = CHUNK_BYTES // scores[0].nbytes
    start = time.process_time()
    for first in range(0, len(scores), step):
        np.bitwise_or.reduce(scores[first : first + step].view(np.uint32), axis=None)
        release(scores)
    return time.process_time() - start


def peak_memory():
    """Largest resident memory of this process so far in MB, as Linux counts it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6


def bandwidth():
    """Bytes of memory read per second."""
    large = np.ones(2**28, np.uint8).view(np.uint64)
    times = []
    for _ in range(5):
        start = time.process_time()
        np.bitwise_or.reduce(large)
        times.append(time.process_time() - start)
    return large.nbytes / min(times)


def measure(path, n_hard, n_easy, n_queries):
    """Print the shortest times of reading, mapping, the pass and the rest, and the peak in MB."""
    made = made_up_answers(n_hard, n_easy, 2)
    score(np.zeros((2, N_ENTITIES), np.float32), *made)  # compiles
    made = made_up_answers(n_hard, n_easy, n_queries)
    times = np.array([score(np.load(path, mmap_mode="r"), *made) for _ in range(3)])
    peak = peak_memory()
    reading = min(seconds_of_reading(path) for _ in range(5))
    mapping = min(seconds_of_mapping(path) for _ in range(5))
    print(reading, mapping, *times[times.sum(axis=1).argmin()], peak)


def measured(path, *case):
    """What `measure` prints in a process of its own."""
    command = [sys.executable, __file__, path, *map(str, case)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return map(float, done.stdout.split())


def main():
    head = (
        "hard",
        "easy",
        "queries",
        "queries/s",
        "goal",
        "pass",
        "memory",
        "reads",
        "goal",
        "maps",
        "peak",
    )
    form = "{:>5} {:>5} {:>8} {:>10} {:>7} {:>7} {:>7} {:>6} {:>5} {:>5} {:>7}"
    print(form.format(*head))
    most = bandwidth()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/dump.npy"
        for n_hard, n_easy, n_queries, goal, share in CASES:
            write_dump(path, n_queries)
            reading, mapping, passed, rest, peak = measured(path, n_hard, n_easy, n_queries)
            n_bytes, seconds = 4 * N_ENTITIES * n_queries, passed + rest
            print(
                f"{n_hard:>5} {n_easy:>5} {n_queries:>8,} {n_queries / seconds:>10,.0f}"
                f" {goal or '':>7} {passed / seconds:>7.0%} {n_bytes / seconds / most:>7.0%}"
                f" {reading / seconds:>6.0%} {share or '':>5} {mapping / seconds:>5.0%}"
                f" {peak:>4.0f} MB"
            )


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main()
