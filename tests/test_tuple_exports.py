"""Query sets of all kinds of graphs, with one to three free variables, written and read back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from audit_queries import audit_queries
from clqa.errors import InputError
from clqa.tables import read_table
from export_queries import main
from published_files import imported, write_small_graph
from sample_queries import sample_queries
from split_answers import split_answers

# By their number of free variables: a tree, parallel atoms, cycles, a leaf, negations, a union.
KINDS = {
    1: {
        "2in": "r1(s1,f)&!r2(s2,f)",
        "2m": "r1(s1,e1)&r2(e1,f)&r3(e1,f)",
        "2nm": "r1(s1,e1)&r2(e1,f)&!r3(e1,f)",
        "2il": "r1(s1,f)&r2(e1,f)",
        "3c": "r1(s1,e1)&r2(e1,f)&r3(s2,e2)&r4(e2,f)&r5(e1,e2)",
    },
    2: {
        "chain": "r1(s1,f1)&r2(f1,f2)",
        "backwards": "r1(s1,f2)&r2(f2,f1)",
        "names": "r1(s1,f9)&r2(e1,f10)&r3(f9,f10)",
        "multi": "r1(s1,f1)&r2(f1,f2)&r3(f1,f2)",
        "cycle": "r1(s1,e1)&r2(e1,f1)&r3(f1,f2)&r4(e1,f2)",
        "negated": "r1(s1,f1)&r2(f1,f2)&!r3(s2,f2)",
        "negated-link": "r1(s1,f1)&r2(f1,f2)&!r3(f1,f2)",
        "union": "(r1(s1,f1)|r2(s2,f1))&r3(f1,f2)",
    },
    3: {"triples": "r1(s1,f1)&r2(f1,f2)&r3(f2,f3)"},
}
SHAPES = {shape: text for shapes in KINDS.values() for shape, text in shapes.items()}
LAYOUTS = {
    "efok-json": ({"index": "kgindex.json"}, "efok-json", {}),
    "json-lines": ({"queries": "test.jsonl"}, "neutral", {}),
    "labels": ({"queries": "test.jsonl"}, "neutral", {"fields": "labels"}),
    "neutral": ({}, "neutral", {}),
}


def draw(folder, graph, k):
    """Sample the shapes of k free variables, and split their answers."""
    queries, answers = (folder / kind / "toy" / f"{k}.parquet" for kind in ("queries", "answers"))
    sampling = {"count": 6, "tries": 300, "exhaustive": False, "negation": "any"}
    report = queries.with_suffix(".json")
    sample_queries(graph, queries, report, KINDS[k], sampling, "test", 0, "toy")
    split_answers(graph, queries, answers, "test")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results of a query set, sharded by free variables, and what all layouts make of it."""
    folder = tmp_path_factory.mktemp("tuples")
    graph = folder / "graphs" / "toy"
    graph.mkdir(parents=True)
    random = np.random.default_rng(0)
    drawn = random.integers(0, [6, 2, 6], (22, 3))
    edges = sorted({(int(h), 2 * int(r), int(t)) for h, r, t in drawn})
    write_small_graph(graph, edges[::2], edges[1::4], edges[3::4])
    for k in KINDS:
        draw(folder, graph / "graph.npz", k)
    for name, (_, layout, options) in LAYOUTS.items():
        arguments = ["toy", "--graph", "toy", "--results", str(folder), "--to", str(folder / name)]
        written = layout if name == layout else "json-lines"
        fields = [f"--{key}={value}" for key, value in options.items()]
        assert main([*arguments, "--layout", written, *fields]) == 0
    return folder


def again(made, folder, name, k):
    """Import the shapes of k free variables, split their answers."""
    files, layout, options = LAYOUTS[name]
    if name == "efok-json":
        places = {shape: f"test_type{n:04d}_EFOX_qaa.json" for n, shape in enumerate(SHAPES)}
        files = files | {shape: places[shape] for shape in KINDS[k]}
    if name == "neutral":
        files = {role: f"test-{k}-{role}.parquet" for role in ("queries", "answers")}
    graph = made / "graphs" / "toy"
    imported(folder, made / name, files, KINDS[k], layout=layout, graph=graph, **options)
    queries, answers = folder / "queries.parquet", folder / "answers.parquet"
    split_answers(graph / "graph.npz", queries, answers, "test")


@pytest.mark.parametrize("k", KINDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_tables_come_back_as_they_were(made, tmp_path, name, k):
    again(made, tmp_path, name, k)
    for kind in ("queries", "answers"):
        (own, about), (found, of_found) = (
            read_table(path)
            for path in (made / kind / "toy" / f"{k}.parquet", tmp_path / f"{kind}.parquet")
        )
        kept = [column for column in own.column_names if column != "source"]
        assert found.select(kept).equals(own.select(kept))
        assert of_found == about
        assert set(own["shape"].to_pylist()) == {*KINDS[k]}


def test_another_hash_seed_gives_the_same_bytes(made, tmp_path):
    code = "import sys; from pathlib import Path; import test_tuple_exports as t; "
    code += "[t.draw(Path(sys.argv[1]), sys.argv[2], k) for k in (1, 2)]"
    tests = Path(__file__).parent
    path = os.pathsep.join([str(tests), str(tests.parent / "scripts")])
    command = [sys.executable, "-c", code, str(tmp_path), str(made / "graphs/toy/graph.npz")]
    own = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": path}
    subprocess.run(command, env=own, check=True)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(found) == 6
    for path in found:
        assert path.read_bytes() == (made / path.relative_to(tmp_path)).read_bytes()


@pytest.mark.parametrize("k", KINDS)
def test_published_answers_of_tuples_are_audited(made, tmp_path, k):
    again(made, tmp_path, "efok-json", k)
    graph = made / "graphs" / "toy"
    paths = [[tmp_path / f"{name}.parquet"] for name in ("queries", "answers", "published")]
    labels = (graph / "entities.tsv", graph / "relations.tsv")
    audit_queries(*paths, graph / "graph.npz", *labels, tmp_path / "audit.json", "test", "toy")
    audit = json.loads((tmp_path / "audit.json").read_text())
    assert (audit["clean"], audit["differing"]) == (True, 0)
    table, _ = read_table(tmp_path / "published.parquet")
    tuples = sum(map(len, table["hard"].to_pylist())) / k
    assert tuples == sum(
        sum(one["reductions"]["links"].values()) for one in audit["shapes"].values()
    )


def test_a_query_that_takes_too_many_bindings_is_named(made, tmp_path):
    graph, queries = made / "graphs" / "toy" / "graph.npz", made / "queries" / "toy" / "2.parquet"
    with pytest.raises(
        InputError, match=r"shape chain, query [0-9a-f]+: .* at most 1 may"
    ) as caught:
        split_answers(graph, queries, tmp_path / "answers.parquet", "test", max_bindings=1)
    named = str(caught.value).split("query ")[1].split(":")[0]
    assert named in read_table(queries)[0]["query_id"].to_pylist()
    assert not (tmp_path / "answers.parquet").exists()
