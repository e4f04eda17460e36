"""Speed and memory of fuzzy query answering over the links of a predictor, on one core.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_fuzzy.py [folder of published data]
        [--count 64] [--optimal 5000] [--exact 10 100]
        [--predictor results/predictors/FB15k-237/complex-medium.npz]

ComplEx on FB15k-237 (14,505 entities). Without a predictor its embeddings are random, of rank 1000,
and the scores of a row have the standard deviation 5, which makes about as few strong links as
training does, but without any order in them. What a search takes is set beside the time that its
products of matrices alone take, in blocks of the same size: `share` is their part of it. Times are
those of the processor, and the products are timed anew before each line.

`fuzzy` has a beam of 64, and is timed at rank 1000: the embeddings of a trained predictor are
widened with zeros, which changes no score and makes products cost the same. `qto` takes a predictor
as it is. It is asked for as many exact answers of a query as its name says, of all queries in the
order and in batches as a run has them, beginning with no row at all (rows are shared by queries
with the same relations), and of the first query by itself. BetaE's sets have 5,000 of a shape.
"""

import argparse
import functools
import json
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
from clqa.array_files import read_arrays
from clqa.formulas import parse
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.judgements import Rules
from clqa.optimal_answers import Optimization, best_degrees
from clqa.plans import plan
from clqa.predicted_links import predicted_links
from clqa.predictors import BLOCK, make_predictor, n_reciprocal, scores
from clqa.sampling import sample_queries, sampling_ground
from clqa.sparse_rows import SparseRows

RANK, DEVIATION, BEAM = 1000, 5.0, 64
BATCH = 2**26 // (4 * 14505)  # queries of a batch in predict_answers


def made_up_predictor(graph):
    """ComplEx with random embeddings, whose scores have the given standard deviation."""
    drawn = np.random.default_rng(0)
    entities = drawn.standard_normal((graph.n_entities, 2 * RANK), np.float32)
    relations = drawn.standard_normal((n_reciprocal(graph.inverse), 2 * RANK), np.float32)
    relations *= np.float32(DEVIATION / np.sqrt(4 * RANK))
    return make_predictor("complex", entities, relations, {}, graph)


def trained_predictor(path, graph, rank=0):
    """ComplEx from a file, whose vectors get columns of zeros if the rank is higher than theirs."""
    arrays, texts = read_arrays(path)
    wide = []
    for array in (arrays["entities"], arrays["relations"]):
        half = array.shape[1] // 2
        made = np.zeros((len(array), 2, max(rank, half)), np.float32)
        made[:, :, :half] = array.reshape(-1, 2, half)
        wide.append(made.reshape(len(array), -1))
    return make_predictor("complex", *wide, {}, graph, json.loads(texts["fitted"]))


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

    def tiles(entities, relations):
        counted[0] += len(entities)
        return links.tiles(entities, relations)

    return links._replace(tiles=tiles, kept={}), counted


def queries_of(ground, shape, count):
    """Queries in the order in which the workflow asks them."""
    found = sample_queries(ground, parse(SHAPES[shape]), count, Rules(), 1000 * count, (0, shape))
    order = np.lexsort(found.relations.T)
    return plan(parse(SHAPES[shape])).root, found.anchors[order], found.relations[order]


def optimal(node, links, anchors, relations, exact):
    """As `qto` answers the batches of a run."""
    rows = SparseRows(links)
    for first in range(0, len(anchors), BATCH):
        part = slice(first, first + BATCH)
        best_degrees(node, Optimization(rows, anchors[part], relations[part], 3.0), exact)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("CLQA_DATA", "../shared/data"))
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--optimal", type=int, default=5000, help="queries for qto")
    parser.add_argument("--exact", type=int, nargs="+", default=[10], help="answers of qto")
    parser.add_argument("--predictor", help="a trained ComplEx of FB15k-237")
    options = parser.parse_args()
    graph = load(Path(options.data), "fb15k-237-betae")
    ground = sampling_ground(graph, "test")
    visible = graph._replace(triples={"train": graph.triples["train"]})
    path = options.predictor
    predictor = trained_predictor(path, graph, RANK) if path else made_up_predictor(graph)
    row = product_seconds(predictor)
    _, whole = seconds(scores, predictor, np.arange(512), np.zeros(512, np.int64))
    print(f"a row of scores: {row * 1000:.2f} ms in products, {whole / 512 * 1000:.2f} ms in all")
    head = ("method", "shape", "queries", "rows/query", "s/query", "products", "times", "share")
    print(("{:<16} {:<5} {:>7} {:>10} {:>8} {:>9} {:>6} {:>6}").format(*head))

    def line(name, shape, function, settings, count):
        node, anchors, relations = queries_of(ground, shape, count)
        links, counted = counting(predicted_links(predictor, visible, settings, True))
        row = product_seconds(predictor)
        _, taken = seconds(function, node, links, anchors, relations)
        n_queries, needed = len(anchors), counted[0] * row
        print(
            f"{name:<16} {shape:<5} {n_queries:>7} {counted[0] / n_queries:>10.1f}"
            f" {taken / n_queries:>8.4f} {needed / n_queries:>9.4f} {taken / needed:>6.2f}"
            f" {needed / taken:>6.0%}",
            flush=True,
        )

    def fuzzy(node, links, anchors, relations):
        answer_degrees(node, Search(links, algebra("product"), anchors, relations, BEAM))

    for shape in ("2p", "3p", "ip", "inp"):
        for kind in ("sigmoid", "softmax"):
            line(f"fuzzy {kind}", shape, fuzzy, {"kind": kind}, options.count)
    predictor = trained_predictor(path, graph) if path else predictor
    settings = {"kind": "softmax", "threshold": 0.0002}
    node, *asked = queries_of(ground, "2p", 1)
    optimal(node, predicted_links(predictor, visible, settings), *asked, 1)  # compiles
    for shape in ("2p", "3p"):
        for exact in options.exact:
            search = functools.partial(optimal, exact=exact)
            line(f"qto {exact} first", shape, search, settings, 1)
            line(f"qto {exact}", shape, search, settings, options.optimal)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\npeak memory {peak / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
