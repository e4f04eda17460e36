"""Speed and memory of sampling and answering queries, on one core.

    python benchmarks/bench_queries.py [folder of published data] [--count 20000]

Each figure stands beside a set-based reference of a few lines, timed in the same run on some of the
same queries, and beside the memory bandwidth that the machine reaches when it reads an array.
"""

import argparse
import lzma
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import numpy as np
import yaml

from clqa.adjacencies import graph_view, split_view
from clqa.answers import answer_sets, missing_links, split_answers
from clqa.formulas import parse
from clqa.graphs import SPLITS, make_graph, read_graph, write_graph
from clqa.judgements import Rules
from clqa.plans import plan
from clqa.query_sets import (
    Answers,
    Queries,
    describe_queries,
    query_ids,
    write_answers,
    write_queries,
)
from clqa.sampling import sample_queries, sampling_ground
from clqa.trees import Anchor, Complement, Everything, Intersect, Project

SHAPES = yaml.safe_load((ROOT / "config" / "shapes.yaml").read_text(encoding="utf-8"))
SAMPLED = ("2p", "3p", "2i", "3i", "ip", "pi", "2u", "up", "2in", "3in", "inp", "pin", "pni")
GRAPHS = ("fb15k-237-betae", "nell995-betae")
NAIVE = 200


def load(data: Path, name: str):
    folder = data / "kg" / name
    sizes = {}
    for kind in ("id2ent", "id2rel"):
        with lzma.open(folder / f"{kind}.tsv.xz", "rt") as lines:
            sizes[kind] = sum(1 for _ in lines)
    triples = {}
    for split in SPLITS:
        with lzma.open(folder / f"{split}.txt.xz", "rt") as lines:
            triples[split] = np.loadtxt(lines, np.int32)
    return make_graph(triples, np.arange(sizes["id2rel"]) ^ 1, sizes["id2ent"], name)


def naive_answers(node, anchors, relations, tails, heads, everyone):
    """Answers as Python sets, operator by operator."""
    if isinstance(node, Anchor):
        return {anchors[node.constant]}
    if isinstance(node, Everything):
        return everyone
    if isinstance(node, Project):
        near = heads if node.reverse else tails
        inner = naive_answers(node.inner, anchors, relations, tails, heads, everyone)
        return set().union(*(near[v, relations[node.relation]] for v in inner))
    if isinstance(node, Complement):
        return everyone - naive_answers(node.inner, anchors, relations, tails, heads, everyone)
    sets = [
        naive_answers(child, anchors, relations, tails, heads, everyone) for child in node.children
    ]
    return set.intersection(*sets) if isinstance(node, Intersect) else set.union(*sets)


def neighbours(graph):
    tails, heads = defaultdict(set), defaultdict(set)
    for split in SPLITS:
        for h, r, t in graph.triples[split].tolist():
            tails[h, r].add(t)
            heads[t, r].add(h)
    return tails, heads


def timed(function, *arguments, **options):
    """Result and CPU seconds of a call; whatever has to be compiled is compiled before."""
    start = time.process_time()
    result = function(*arguments, **options)
    return result, time.process_time() - start


def best_of(function, *arguments, times=4):
    """Result and least CPU seconds; each result is freed before the next, as in a long run."""
    least = float("inf")
    for _ in range(times):
        result = None
        result, seconds = timed(function, *arguments)
        least = min(least, seconds)
    return result, least


def read_bandwidth() -> float:
    """Bytes per second of summing an array far larger than the caches."""
    array = np.ones(32 * 2**20)
    return array.nbytes / best_of(array.sum, times=5)[1]


def write_all(folder, graph, shape, found, answers, links):
    """What the stages write of sampled queries: ids and two tables."""
    formula = parse(SHAPES[shape])
    ids = query_ids(graph.hash, formula, found.anchors, found.relations)
    metadata = describe_queries(graph, "test", {shape: SHAPES[shape]}, ids)
    queries = {shape: Queries(ids, found.anchors, found.relations)}
    write_queries(folder / "queries.parquet", queries, metadata, "sampled")
    write_answers(folder / "answers.parquet", {shape: Answers(ids, *answers, links)}, metadata)


def bench_graph(data: Path, name: str, count: int, bandwidth: float) -> None:
    graph = load(data, name)
    view, full = split_view(graph, "test"), graph_view(graph, SPLITS)
    ground, seconds = timed(sampling_ground, graph, "test")
    tails, heads = neighbours(graph)
    everyone = set(range(graph.n_entities))
    print(
        f"\n{name}: {graph.n_entities} entities, {len(full.tails.edges)} edges, one core; "
        f"laid out for sampling in {seconds:.2f} s"
    )
    print(
        "shape accepted  per try | sampled  + answers, files |    one graph  two graphs"
        "     links | x naive  of read limit    (queries per second)"
    )
    for shape in SAMPLED:
        formula = parse(SHAPES[shape])
        steps = plan(formula)
        sample_queries(ground, formula, 1, Rules(), 100, ("warm", name))
        found, seconds = timed(
            sample_queries, ground, formula, count, Rules(), 1000 * count, (0, name)
        )
        n = len(found.anchors)
        queries = (found.anchors, found.relations)
        answers, one = best_of(answer_sets, steps, full, *queries)
        sets, both = best_of(split_answers, steps, view, *queries)
        links, costs = best_of(missing_links, steps, view, *queries, sets.hard)
        with tempfile.TemporaryDirectory() as folder:
            arguments = (Path(folder), graph, shape, found, sets, links)
            _, output = best_of(write_all, *arguments)
        few = [column[:NAIVE].tolist() for column in queries]
        _, slow = timed(
            lambda steps=steps, few=few: [
                naive_answers(steps.root, a, r, tails, heads, everyone)
                for a, r in zip(*few, strict=True)
            ]
        )
        moved = answers.values.nbytes / one / bandwidth
        print(
            f"{shape:5} {n:8} {n / found.tries:8.3f} | {n / seconds:8,.0f} "
            f"{n / (seconds + both + output):18,.0f} | {n / one:12,.0f} {n / both:11,.0f} "
            f"{n / costs:9,.0f} | {slow / len(few[0]) / (one / n):7.1f} {moved:8.1%}"
        )


def bench_published(data: Path) -> None:
    """Both graphs of the whole WN18RR-QA test set."""
    from clqa.pickles import read_pickle
    from test_published_queries import STRUCTURES, grounding, unpacked

    view = split_view(load(data, "wn18rr-betae"), "test")
    path = data / "queries" / "wn18rr-qa-test" / "test-queries.pkl.xz"
    with tempfile.TemporaryDirectory() as folder:
        queries = read_pickle(unpacked(path, Path(folder)))
    batches = []
    for key, rows in queries.items():
        anchors, relations = map(np.array, zip(*map(grounding, rows), strict=True))
        batches.append((plan(parse(SHAPES[STRUCTURES[key]])), view, anchors, relations))

    def answer_all():
        return [split_answers(*batch) for batch in batches]

    _, seconds = best_of(answer_all)
    n = sum(len(batch[2]) for batch in batches)
    print(f"\nWN18RR-QA test: {n} queries of {len(batches)} shapes on both graphs: {seconds:.2f} s")


def peak_of_sampling(path_to_graph: str) -> None:
    """Sample one shape in a process of its own and print its peak memory."""
    graph = read_graph(path_to_graph)
    ground = sampling_ground(graph, "test")
    sample_queries(ground, parse(SHAPES["inp"]), 5000, Rules(), 10**6, (0, "peak"))
    status = Path("/proc/self/status").read_text()
    print(next(line.split(maxsplit=1)[1] for line in status.splitlines() if "VmHWM" in line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--count", type=int, default=20_000, help="queries per shape")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        peak_of_sampling(arguments.peak)
        return
    if not arguments.data.is_dir():
        parser.error(f"no published data in {arguments.data}")
    bandwidth = read_bandwidth()
    print(f"read bandwidth {bandwidth / 1e9:.1f} GB/s")
    for name in GRAPHS:
        bench_graph(arguments.data, name, arguments.count, bandwidth)
    bench_published(arguments.data)
    for name in GRAPHS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.npz"
            write_graph(path, load(arguments.data, name))
            command = [sys.executable, __file__, "--peak", str(path)]
            found = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"peak memory of sampling inp on {name}: {found.stdout.strip()}")


if __name__ == "__main__":
    main()
