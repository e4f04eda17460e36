"""Speed and memory of sampling and answering queries that take joins, on one core.

    python benchmarks/bench_joins.py graph.npz [--count 3000]

The rates stand beside those of the public implementation of EFOk-CQA (Yin et al., 2023), times
1,000. At most 100 hard answers, or pairs, are allowed.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts")]

from clqa.answers import missing_links, split_answers
from clqa.formulas import parse, symbols
from clqa.graphs import read_graph
from clqa.judgements import Rules
from clqa.plans import plan
from clqa.sampling import sample_queries, sampling_ground

# Queries per second wanted, by shape.
WANTED = {
    "r1(s1,e1)&r2(e1,f)&r3(s2,e2)&r4(e2,f)&r5(e1,e2)": 1000,
    "r1(s1,e1)&r2(e1,f)&r3(e1,f)&r4(s2,f)": 6100,
    "r1(s1,f1)&r2(f1,f2)": 2600,
    "r1(s1,f1)&r2(f1,f2)&r3(s2,f2)": 9700,
    "r1(s1,e1)&r2(e1,f1)&r3(f1,f2)&r4(e1,f2)": 270,
    "r1(s1,e1)&r2(e1,f)&!r3(e1,f)": 0,
    "r1(s1,f1)&r2(f1,f2)&!r3(s2,f2)": 0,
}


def timed(function, *arguments):
    """Result and CPU seconds of a call."""
    start = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graph", type=Path, help="a graph that the rule build_graph has made")
    parser.add_argument("--count", type=int, default=3000, help="queries per shape")
    arguments = parser.parse_args()
    graph = read_graph(arguments.graph)
    ground, seconds = timed(sampling_ground, graph, "test")
    print(f"{graph.n_entities} entities; laid out for sampling in {seconds:.2f} s, one core")
    print("accepted per try | sampled answered  links   both wanted (queries per second) | shape")
    for text, wanted in WANTED.items():
        bench_shape(ground, text, arguments.count, wanted)
    status = Path("/proc/self/status").read_text()
    print("peak memory", next(x.split(maxsplit=1)[1] for x in status.splitlines() if "VmHWM" in x))


def bench_shape(ground, text: str, count: int, wanted: int) -> None:
    formula = parse(text)
    shape, rules = plan(formula), Rules(max_hard=100 // len(symbols(formula, "f")))
    for n in (1, count):  # the first run compiles
        found, sampling = timed(sample_queries, ground, formula, n, rules, 1000 * n, (0, "bench"))
        rows = (shape, ground.both, found.anchors, found.relations)
        answers, answering = timed(split_answers, *rows)
        _, linking = timed(missing_links, *rows, answers.hard)
    n = len(found.anchors)
    print(
        f"{n:8} {n / found.tries:7.3f} | {n / sampling:7,.0f} {n / answering:8,.0f} "
        f"{n / linking:6,.0f} {n / (sampling + answering):6,.0f} {wanted:6,} | {text}"
    )


if __name__ == "__main__":
    main()
