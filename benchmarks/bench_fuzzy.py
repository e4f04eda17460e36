"""Speed and memory of fuzzy query answering over the links of a predictor, on one core.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_fuzzy.py [folder of published data] [--count 64]

ComplEx of rank 1000 with random embeddings on FB15k-237 (14,505 entities), whose scores of a row
have the standard deviation 5, which makes about as few strong links as training does. What a search
takes is set beside the time that its products of matrices alone take, in blocks of the same size.
Times are those of the processor, and the products are timed anew before each line.
`qto` is timed with intermediates above a degree only, and again with the rows that it has kept.
"""

import argparse
import os
import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]

import numpy as np
from bench_queries import SHAPES, load

from clqa.algebras import algebra
from clqa.formulas import parse
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.judgements import Rules
from clqa.optimal_answers import Optimization, optimal_degrees
from clqa.plans import plan
from clqa.predicted_links import predicted_links
from clqa.predictors import make_predictor, n_reciprocal, scores
from clqa.sampling import sample_queries, sampling_ground
from clqa.sparse_rows import SparseRows

RANK, DEVIATION, BEAM = 1000, 5.0, 64
BLOCK = 64  # rows of a product in clqa.predictors


def made_up_predictor(graph):
    """ComplEx with random embeddings, whose scores have the given standard deviation."""
    drawn = np.random.default_rng(0)
    entities = drawn.standard_normal((graph.n_entities, 2 * RANK), np.float32)
    relations = drawn.standard_normal((n_reciprocal(graph.inverse), 2 * RANK), np.float32)
    relations *= np.float32(DEVIATION / np.sqrt(4 * RANK))
    return make_predictor("complex", entities, relations, {}, graph)


def seconds(function, *arguments):
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def product_seconds(predictor, n_rows=1024):
    """Time of the multiplications that one row of scores needs."""
    queries = np.ones((BLOCK, predictor.entities.shape[1]), np.float32)
    out = np.empty((BLOCK, len(predictor.entities)), np.float32)
    np.matmul(queries, predictor.entities.T, out=out)
    start = time.process_time()
    for _ in range(n_rows // BLOCK):
        np.matmul(queries, predictor.entities.T, out=out)
    return (time.process_time() - start) / n_rows


def counting(links):
    """The links, and how many rows of them are computed."""
    counted = [0]

    def rows(entities, relations):
        counted[0] += len(entities)
        return links.rows(entities, relations)

    return links._replace(rows=rows, kept={}), counted


def queries_of(ground, shape, count):
    found = sample_queries(ground, parse(SHAPES[shape]), count, Rules(), 1000 * count, (0, shape))
    return plan(parse(SHAPES[shape])).root, found.anchors, found.relations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("CLQA_DATA", "../shared/data"))
    parser.add_argument("--count", type=int, default=64)
    options = parser.parse_args()
    graph = load(Path(options.data), "fb15k-237-betae")
    ground = sampling_ground(graph, "test")
    visible = graph._replace(triples={"train": graph.triples["train"]})
    predictor = made_up_predictor(graph)
    row = product_seconds(predictor)
    _, whole = seconds(scores, predictor, np.arange(512), np.zeros(512, np.int64))
    print(f"a row of scores: {row * 1000:.2f} ms in products, {whole / 512 * 1000:.2f} ms in all")
    head = ("method", "shape", "queries", "rows", "s/query", "products", "times")
    print(("{:<16} {:<5} {:>7} {:>8} {:>8} {:>9} {:>6}").format(*head))

    for shape in ("2p", "3p", "ip", "inp"):
        for kind in ("sigmoid", "softmax"):
            node, anchors, relations = queries_of(ground, shape, options.count)
            links, counted = counting(predicted_links(predictor, visible, {"kind": kind}, True))
            search = Search(links, algebra("product"), anchors, relations, BEAM)
            row = product_seconds(predictor)
            _, taken = seconds(answer_degrees, node, search)
            print_line(f"fuzzy {kind}", shape, len(anchors), counted[0], row, taken)
    for shape in ("2p", "3p"):
        for least in (0.1, 0.01):
            node, anchors, relations = queries_of(ground, shape, options.count)
            settings = {"kind": "softmax", "threshold": 0.0002}
            links, counted = counting(predicted_links(predictor, visible, settings, True))
            task = Optimization(SparseRows(links), anchors, relations, 3.0, least)
            row = product_seconds(predictor)
            _, taken = seconds(optimal_degrees, node, task)
            n_rows = counted[0]
            print_line(f"qto {least}", shape, len(anchors), n_rows, row, taken)
            _, taken = seconds(optimal_degrees, node, task)
            print_line(f"qto {least} again", shape, len(anchors), counted[0] - n_rows, row, taken)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\npeak memory {peak / 2**20:.2f} GB")


def print_line(name, shape, n_queries, n_rows, row, taken):
    needed = n_rows * row
    times = f"{taken / needed:.2f}" if n_rows else ""
    print(
        f"{name:<16} {shape:<5} {n_queries:>7} {n_rows:>8} {taken / n_queries:>8.4f}"
        f" {needed / n_queries:>9.4f} {times:>6}",
        flush=True,
    )


if __name__ == "__main__":
    main()
