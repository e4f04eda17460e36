"""Mean numbers of hard answers of sampled queries beside those published for BetaE's sets.

    python benchmarks/compare_with_betae.py [folder of published data] [--count 5000] [--seed 0]

Queries are drawn as BetaE draws them (`config/README.md`, `sampling`, with its defaults): an answer
evenly among all entities, relations evenly among the distinct types that enter it, predecessors
evenly among that type's heads; at most 100 hard and 100 retracted answers. The published averages
of FB15k-237 and NELL995 are those of third parties; the sets themselves are not in the data. Those
of WN18RR-QA, which has no caps, are counted in its files.

FB15k-237, 5,000 queries per shape: published mean, ours, acceptance per try.

    2p 17.3 16.5 .43   2i  6.9  5.8 .30   2u 19.6 17.6 .45   2in 16.3 14.4 .084  pni 18.2 16.0 .14
    3p 24.3 22.5 .51   3i  4.5  4.1 .25   up 24.3 22.6 .60   3in 13.4 12.0 .044
    ip 17.7 15.5 .48   pi 10.4 10.4 .44   1p  1.7  1.7 .14   inp 19.5 18.3 .055  pin 21.7 20.0 .18

All lie within 16 %, and none above. The mean depends on how many queries are asked for, since no
query is taken twice: the few that have many answers are found early. Of 2i on FB15k-237 the first
1,000 have 7.0 hard answers each, 5,000 have 5.8 and 20,000 have 4.0 (published, of 5,000: 6.9); of
3i 5,000 have 4.1 and 20,000 have 3.6 (4.5). So numbers compare only at the size of the published
sets, which is the default here.

BetaE's sets hold queries again with their like branches in another order (WN18RR-QA has 361 of
1,000 in 3in and 86 in 2i, as an audit tells), which are one query here; this is also why 3in runs
short there. Drawn with such repetitions, 5,000 queries of 2i on FB15k-237 have 6.6 hard answers
and of 3i 4.3; ip, 2u and the shapes without like branches stay as they are. Starting from relations
or edges in place of answers leads away: 2i has 4.3 or 5.5 of 2,000 queries (6.6 from answers), 2p
11.7 or 16.2 (17.6). What is left, 4 to 12 % for the other shapes, we cannot tell: script and seed
of the published sets are not known. The averages of NELL995 are met less well: ours are higher by
up to 37 % for shapes with a hop to the answer, lower by up to 19 % for 2i and 3i.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import numpy as np
from bench_queries import SHAPES, load

from clqa.answers import split_answers
from clqa.formulas import parse
from clqa.graphs import Graph
from clqa.judgements import Rules
from clqa.pickles import read_pickle
from clqa.plans import plan
from clqa.sampling import (
    Ground,
    Sampled,
    all_one_atom_queries,
    is_one_atom,
    sample_queries,
    sampling_ground,
)
from test_published_queries import STRUCTURES, unpacked

ORDER = ["1p", "2p", "3p", "2i", "3i", "ip", "pi", "2u", "up", "2in", "3in", "inp", "pin", "pni"]
FB15K_237 = (1.7, 17.3, 24.3, 6.9, 4.5, 17.7, 10.4, 19.6, 24.3, 16.3, 13.4, 19.5, 21.7, 18.2)
NELL995 = (1.6, 14.9, 17.5, 5.7, 6.0, 17.4, 11.9, 14.9, 19.0, 12.9, 11.1, 12.9, 16.0, 13.0)


class Benchmark(NamedTuple):
    """A published test set: its graph, its size per shape, its rules, and its mean hard answers."""

    graph: str
    count: int
    rules: Rules
    published: Callable[[Path], dict[str, float]]


def wn18rr_qa(data: Path) -> dict[str, float]:
    """Mean numbers of hard answers, counted in the published files."""
    folder = data / "queries" / "wn18rr-qa-test"
    with tempfile.TemporaryDirectory() as temporary:
        paths = [
            unpacked(folder / f"test-{name}.pkl.xz", Path(temporary))
            for name in ("queries", "hard-answers")
        ]
        queries, hard = map(read_pickle, paths)
    means = {
        STRUCTURES[structure]: sum(len(hard[query]) for query in rows) / len(rows)
        for structure, rows in queries.items()
    }
    return {shape: means[shape] for shape in ORDER}


BENCHMARKS = {
    "FB15k-237": Benchmark(
        "fb15k-237-betae", 5000, Rules(), lambda _: dict(zip(ORDER, FB15K_237, strict=True))
    ),
    "NELL995": Benchmark(
        "nell995-betae", 4000, Rules(), lambda _: dict(zip(ORDER, NELL995, strict=True))
    ),
    "WN18RR-QA": Benchmark(
        "wn18rr-betae", 1000, Rules(max_hard=None, max_retracted=None), wn18rr_qa
    ),
}


def drawn(ground: Ground, shape: str, count: int, rules: Rules, seed: int) -> Sampled:
    formula = parse(SHAPES[shape])
    if is_one_atom(formula):
        return all_one_atom_queries(ground, formula, rules)
    return sample_queries(ground, formula, count, rules, 1000 * count, (seed, "betae"))


def rows(
    graph: Graph, published: dict[str, float], count: int, rules: Rules, seed: int
) -> Iterator[tuple]:
    """Shape, queries found, accepted per try, published mean, ours, and its standard error."""
    ground = sampling_ground(graph, "test")
    for shape, mean in published.items():
        found = drawn(ground, shape, count, rules, seed)
        steps = plan(parse(SHAPES[shape]))
        answers = split_answers(steps, ground.both, found.anchors, found.relations)
        n_hard = answers.hard.lengths()
        n = len(n_hard)
        yield shape, n, n / found.tries, mean, n_hard.mean(), n_hard.std() / np.sqrt(n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--count", type=int, help="queries per shape in place of the published")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no published data in {arguments.data}")
    for name, one in BENCHMARKS.items():
        count = arguments.count or one.count
        graph = load(arguments.data, one.graph)
        print(f"\n{name}, {count} queries per shape\nshape  found  per try | published   ours")
        published = one.published(arguments.data)
        for row in rows(graph, published, count, one.rules, arguments.seed):
            shape, n, rate, mean, own, error = row
            print(
                f"{shape:5} {n:6} {rate:8.4f} | {mean:9.1f} {own:6.2f} ± {error:4.2f} "
                f"({own / mean - 1:+.0%})"
            )


if __name__ == "__main__":
    main()
