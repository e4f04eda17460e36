"""A small +H release of random queries, made from the definitions in the layout of the real one."""

import itertools
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np

import reference_answers
from clqa.formulas import parse, symbols
from clqa.graphs import FULL, OBSERVED
from clqa.reduction_classes import RELEASED
from published_files import ENTITIES, RELATIONS, SHAPES, write_small_graph
from strategies import edges, values_of
from test_reduction_classes import expected_classes

N_ENTITIES = len(ENTITIES)
_P, _N = ("e", ("r",)), ("e", ("r", "n"))
# Structure of each shape, and a query of it from constants and relations in the formula's order.
STRUCTURES = {
    "1p": (_P, lambda e, r: (e[0], (r[0],))),
    "2p": (("e", ("r", "r")), lambda e, r: (e[0], (r[0], r[1]))),
    "3p": (("e", ("r", "r", "r")), lambda e, r: (e[0], tuple(r))),
    "4p": (("e", ("r", "r", "r", "r")), lambda e, r: (e[0], tuple(r))),
    "2i": ((_P, _P), lambda e, r: tuple((a, (b,)) for a, b in zip(e, r, strict=True))),
    "3i": ((_P, _P, _P), lambda e, r: tuple((a, (b,)) for a, b in zip(e, r, strict=True))),
    "4i": ((_P, _P, _P, _P), lambda e, r: tuple((a, (b,)) for a, b in zip(e, r, strict=True))),
    "pi": ((("e", ("r", "r")), _P), lambda e, r: ((e[0], (r[0], r[1])), (e[1], (r[2],)))),
    "ip": (((_P, _P), ("r",)), lambda e, r: (((e[0], (r[0],)), (e[1], (r[1],))), (r[2],))),
    "2u": ((_P, _P, ("u",)), lambda e, r: ((e[0], (r[0],)), (e[1], (r[1],)), (-1,))),
    "up": (
        ((_P, _P, ("u",)), ("r",)),
        lambda e, r: (((e[0], (r[0],)), (e[1], (r[1],)), (-1,)), (r[2],)),
    ),
    "2in": ((_P, _N), lambda e, r: ((e[0], (r[0],)), (e[1], (r[1], -2)))),
    "3in": ((_P, _P, _N), lambda e, r: ((e[0], (r[0],)), (e[1], (r[1],)), (e[2], (r[2], -2)))),
    "inp": (((_P, _N), ("r",)), lambda e, r: (((e[0], (r[0],)), (e[1], (r[1], -2))), (r[2],))),
    "pin": ((("e", ("r", "r")), _N), lambda e, r: ((e[0], (r[0], r[1])), (e[1], (r[2], -2)))),
    "pni": (
        (("e", ("r", "r", "n")), _P),
        lambda e, r: ((e[0], (r[0], r[1], -2)), (e[1], (r[2],))),
    ),
}
# In the released files of these the easy answers are those on the observed graph.
FILTERED_WRONGLY = ("2in", "pni")


def small_graph(folder: Path):
    """A graph of few entities in which every shape has queries with hard answers."""
    drawn = np.random.default_rng(3)
    rows = {(int(h), 2 * int(r), int(t)) for h, r, t in drawn.integers(0, [6, 2, 6], (26, 3))}
    rows = sorted(rows)
    drawn.shuffle(rows)
    rows = [tuple(map(int, row)) for row in rows]
    return write_small_graph(folder, rows[:11], rows[11:14], rows[14:])


def queries_of(shape: str, graph, n_queries: int = 6) -> dict[tuple, dict]:
    """By query: its answers on both graphs, those that are asked for, and their classes."""
    formula, drawn = parse(SHAPES[shape]), np.random.default_rng(len(shape))
    observed, full = edges(graph, OBSERVED["test"]), edges(graph, FULL["test"])
    found = {}
    n_constants, n_relations = (len(symbols(formula, kind)) for kind in "sr")
    while len(found) < n_queries:
        anchors = drawn.integers(0, N_ENTITIES, n_constants).tolist()
        relations = drawn.integers(0, len(RELATIONS), n_relations).tolist()
        values = values_of(formula, anchors, relations)
        easy, every = (
            reference_answers.answers(formula, values, edges_, range(N_ENTITIES))
            for edges_ in (observed, full)
        )
        hard = every - easy
        # BetaE, whose queries these are, asks for a retracted answer as well.
        if hard and (easy - every or shape not in FILTERED_WRONGLY):
            keep_all = shape in (*FILTERED_WRONGLY, "1p")
            query = STRUCTURES[shape][1](anchors, relations)
            found[query] = {
                "observed": easy,
                "full": every,
                "hard": hard if keep_all else set(sorted(hard)[: 1 + len(hard) // 2]),
                "classes": classes_of(shape, anchors, relations, observed, full),
            }
    return found


def classes_of(shape, anchors, relations, observed, full) -> dict[int, str]:
    """Name of the class of each hard answer that is in one."""
    if shape == "1p":
        return {}
    text = SHAPES[shape]
    numbers = expected_classes(text, anchors, relations, observed, full, range(N_ENTITIES))
    names = list(RELEASED[text])
    return {answer: names[number] for answer, number in numbers.items() if number >= 0}


def write_release(folder: Path, shapes: dict[str, dict], name: str = "FB15k-237+H") -> Path:
    """Write the benchmark of some shapes beneath `new_benchmarks`; give its folder."""
    target = folder / "iscqa-compl-benchmarks" / "new_benchmarks" / name
    queries, easy, hard = defaultdict(set), defaultdict(set), defaultdict(set)
    for shape, rows in shapes.items():
        queries[STRUCTURES[shape][0]] |= set(rows)
        for query, one in rows.items():
            hard[query] = one["hard"]
            wrong = shape in FILTERED_WRONGLY
            easy[query] = one["observed"] if wrong else one["full"] - one["hard"]
        if shape != "1p":
            write_reductions(target / "test-query-reduction" / shape, shape, rows)
    dump(target / "test-queries.pkl", queries)
    dump(target / "test-easy-answers.pkl", easy)
    dump(target / "test-hard-answers.pkl", hard)
    dump(target / "id2ent.pkl", dict(enumerate(ENTITIES)))
    dump(target / "id2rel.pkl", dict(enumerate(RELATIONS)))
    return target


def write_reductions(folder: Path, shape: str, rows: dict[tuple, dict]) -> None:
    structure = STRUCTURES[shape][0]
    names = sorted(set(itertools.chain(*(one["classes"].values() for one in rows.values()))))
    for name in ["all", *names]:
        hard = defaultdict(set)
        for query, one in rows.items():
            every = one["full"] - one["observed"]
            kept = every if name == "all" else {t for t, c in one["classes"].items() if c == name}
            if kept:
                hard[query] = kept
        easy = {query: rows[query]["full"] - hard[query] for query in list(hard)}
        dump(folder / name / "test-queries.pkl", defaultdict(set, {structure: set(hard)}))
        dump(folder / name / "test-easy-answers.pkl", defaultdict(set, easy))
        dump(folder / name / "test-hard-answers.pkl", hard)


def dump(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=4))


FILES = {
    "entities": "new_benchmarks/FB15k*237*H/id2ent.pkl",
    "relations": "new_benchmarks/FB15k*237*H/id2rel.pkl",
    "queries": "new_benchmarks/FB15k*237*H/test-queries.pkl",
    "easy": "new_benchmarks/FB15k*237*H/test-easy-answers.pkl",
    "hard": "new_benchmarks/FB15k*237*H/test-hard-answers.pkl",
    "reductions": "new_benchmarks/FB15k*237*H/test-query-reduction/",
}
