"""Ranking holds a bounded part of the scores, whatever the size of the dump."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")

START = """
import sys
from types import SimpleNamespace
import numpy as np
from clqa import predictions
from clqa.ragged import ragged
from clqa.ranks import count_competitors

def peak(reset=False):
    if reset:
        open("/proc/self/clear_refs", "w").write("5")
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024

# So that neither compiling nor importing counts.
count_competitors(np.zeros((1, 2), np.float32), ragged([[0]]), [ragged([[0]])])
"""

DUMP = """
predictions.CHUNK_BYTES = 2**20
n, n_entities = 40, 400_000
ids = [str(i) for i in range(n)]
facts = {"vocabulary": "v", "graph": "g", "queries": "q", "n_entities": n_entities}
paths = [sys.argv[1] + "/all.npy", sys.argv[1] + "/all.json"]
blocks = (np.full((1, n_entities), i, np.float32) for i in range(n))
predictions.write_predictions(*paths, blocks, {"query_ids": ids, **facts})
hard = ragged([[0, 1]] * n)
before = peak(reset=True)
table = SimpleNamespace(shapes={"1p": SimpleNamespace(query_ids=ids)}, metadata=facts)
opened = predictions.open_predictions(*paths, table)
count_competitors(opened.scores, hard, [hard], rows=opened.rows, chunk_bytes=2**20)
print(peak() - before)
"""

MANY_ANSWERS = """
scores = np.random.default_rng(0).random((1, 1_000_000), dtype=np.float32)
hard = ragged([range(0, 1_000_000, 200)])
before = peak(reset=True)
count_competitors(scores, hard, [hard, hard])
print(peak() - before)
"""


def growth(script, *arguments):
    """MiB by which the peak memory of a fresh process grows in the measured part."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", START + script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return float(done.stdout)


def test_a_dump_is_read_in_chunks(tmp_path):
    assert growth(DUMP, tmp_path) < 20  # of 61 in the dump


def test_five_thousand_answers_among_a_million_entities_need_no_matrix():
    assert growth(MANY_ANSWERS) < 100  # 20,000 as a matrix of answers and entities
