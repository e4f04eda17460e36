"""Query sets written in published layouts and read back."""

import json
import pickle

import numpy as np
import pytest

import print_queries
from clqa.graphs import SPLITS, read_graph
from clqa.pickles import read_pickle
from clqa.query_sets import PER_ANSWER, read_answers, read_queries, write_answers
from clqa.tables import read_table
from export_queries import main
from published_files import SHAPES, imported, write_small_graph
from sample_queries import sample_queries
from split_answers import split_answers

EPFO = ["1p", "2p", "3p", "2i", "3i", "ip", "pi", "2u", "up"]
NEGATION = ["2in", "inp", "pni"]
DICTIONARIES = {"entities": "id2ent.pkl", "relations": "id2rel.pkl"}
BETA_E = {
    "queries": "test-queries.pkl",
    "easy": "test-easy-answers.pkl",
    "hard": "test-hard-answers.pkl",
}
KEYS = dict(zip(EPFO, ["1c", "2c", "3c", "2i", "3i", "ic", "ci", "2u", "uc"], strict=True))


# Labels that readers take for other things than text, or for the end of one.
HOSTILE = (
    ["nan", "007", '"quoted" \\ text', "名前 \u2028 é", "null", " spaces, and, commas "],
    ["+true", "-true", "+1e5", "-1e5"],
)


@pytest.fixture
def sampled(tmp_path):
    return write_results(tmp_path)


@pytest.fixture
def hostile(tmp_path):
    return write_results(tmp_path, labels=HOSTILE)


def write_results(tmp_path, **options):
    """Results of a sampled query set, in two shards, with shapes that not all layouts have."""
    graph = tmp_path / "results" / "graphs" / "toy"
    graph.mkdir(parents=True)
    random = np.random.default_rng(0)
    edges = sorted(
        {(int(h), 2 * int(r), int(t)) for h, r, t in random.integers(0, [6, 2, 6], (22, 3))}
    )
    write_small_graph(graph, edges[::2], edges[1::4], edges[3::4], **options)
    sampling = {"count": 4, "tries": 300, "exhaustive": False, "negation": "any"}
    for shard, shapes in (("one", EPFO), ("two", [*NEGATION, "pni-exists"])):
        queries = tmp_path / "results" / "queries" / "toy-test" / f"{shard}.parquet"
        answers = tmp_path / "results" / "answers" / "toy-test" / f"{shard}.parquet"
        formulas = {shape: SHAPES[shape] for shape in shapes}
        sample_queries(
            graph / "graph.npz", queries, queries.with_suffix(".json"), formulas, sampling,
            "test", 0, "toy-test",
        )  # fmt: skip
        split_answers(graph / "graph.npz", queries, answers, "test")
    return tmp_path


def exported(folder, layout, *options):
    arguments = ["toy-test", "--graph", "toy", "--layout", layout, "--to", str(folder / "out")]
    arguments += options
    assert main([*arguments, "--results", str(folder / "results")]) == 0
    return folder / "out"


def assert_same_tables(folder, out, files, shapes, layout, **options):
    graph = folder / "results" / "graphs" / "toy"
    again = folder / "again"
    again.mkdir()
    imported(again, out, files, shapes, layout=layout, graph=graph, **options)
    split_answers(graph / "graph.npz", again / "queries.parquet", again / "answers.parquet", "test")
    found = read_queries(again / "queries.parquet").shapes
    answers = read_answers(again / "answers.parquet").shapes
    published, _ = read_table(again / "published.parquet")
    assert len(published) == sum(len(rows.query_ids) for rows in found.values())
    n_compared = 0
    for shard in ("one", "two"):
        own = read_queries(folder / "results" / "queries" / "toy-test" / f"{shard}.parquet").shapes
        split = read_answers(folder / "results" / "answers" / "toy-test" / f"{shard}.parquet")
        for shape in set(own) & set(shapes):
            n_compared += len(own[shape].query_ids)
            for one, other in zip(own[shape], found[shape], strict=True):
                assert np.array_equal(one, other)
            for one, other in zip(split.shapes[shape][1:4], answers[shape][1:4], strict=True):
                assert np.array_equal(one.offsets, other.offsets)
                assert np.array_equal(one.values, other.values)
    assert n_compared > 20


def test_beta_e_comes_back_as_the_same_tables(sampled, capsys):
    out = exported(sampled, "beta-e")
    assert "left out pni-exists: formula" in capsys.readouterr().err
    assert_same_tables(sampled, out, DICTIONARIES | BETA_E, EPFO + NEGATION, "beta-e")


def test_beta_e_has_every_file_of_its_loaders_as_plain_objects(sampled):
    out = exported(sampled, "beta-e")
    names = {path.name for path in out.iterdir()}
    answers = {
        f"{split}-{kind}-answers.pkl" for split in ("valid", "test") for kind in ("easy", "hard")
    }
    queries = {f"{split}-queries.pkl" for split in ("train", "valid", "test")}
    others = {"train-answers.pkl", "stats.txt", "train.txt", "valid.txt", "test.txt"}
    dictionaries = {f"{name}.pkl" for name in ("id2ent", "ent2id", "id2rel", "rel2id")}
    assert names == answers | queries | others | dictionaries
    assert read_pickle(out / "train-queries.pkl") == read_pickle(out / "train-answers.pkl") == {}
    content = (out / "test-queries.pkl").read_bytes()
    assert content[:2] == b"\x80\x04"
    table = pickle.loads(content)
    assert type(table) is dict
    assert {type(rows) for rows in table.values()} == {set}
    assert (out / "stats.txt").read_text() == "numentity: 6\nnumrelations: 4\n"


def test_query2box_comes_back_as_the_same_tables(sampled, capsys):
    out = exported(sampled, "query2box")
    assert "left out 2in: the Query2Box layout has no such shape" in capsys.readouterr().err
    files = {key: f"test_ans_{key}.pkl" for key in KEYS.values()}
    files |= {f"{key}_hard": f"test_ans_{key}_hard.pkl" for key in KEYS.values()}
    files |= {"entities": "ind2ent.pkl", "relations": "ind2rel.pkl"}
    assert_same_tables(sampled, out, files, EPFO, "query2box")


def test_query2box_lists_are_written_as_published(sampled):
    out = exported(sampled, "query2box")
    for shape, task in (("2p", "2-chain"), ("ip", "inter-chain")):
        listed = read_pickle(out / f"test_triples_{KEYS[shape]}.pkl")
        known = read_pickle(out / f"test_ans_{KEYS[shape]}.pkl")
        assert listed[0][-1] == task
        query = (listed[0][0][:-1],) if shape == "2p" else listed[0][:-2]
        assert query in known


def test_the_neutral_layout_has_all_shapes(sampled):
    out = exported(sampled, "neutral")
    files = {"queries": "test-queries.parquet", "answers": "test-answers.parquet"}
    assert_same_tables(sampled, out, files, [*EPFO, *NEGATION, "pni-exists"], "neutral")


def test_json_lines_have_all_shapes(sampled):
    out = exported(sampled, "json-lines")
    first = json.loads((out / "test.jsonl").read_text().splitlines()[0])
    assert list(first) == ["shape", "formula", "anchors", "relations", "easy", "hard", "retracted"]
    files = {"queries": "test.jsonl"}
    assert_same_tables(sampled, out, files, [*EPFO, *NEGATION, "pni-exists"], "neutral")


def test_what_code_for_a_layout_cannot_rank_is_left_out(sampled, capsys):
    for path in (sampled / "results" / "answers" / "toy-test").glob("*.parquet"):
        table = read_answers(path)
        for shape, rows in table.shapes.items():
            if shape == "2i":
                none = rows.hard._replace(
                    offsets=rows.hard.offsets * 0, values=rows.hard.values[:0]
                )
                about = {name: getattr(rows, name)[:0] for name in PER_ANSWER}
                table.shapes[shape] = rows._replace(hard=none, **about)
        write_answers(path, table.shapes, table.metadata)
    exported(sampled, "beta-e")
    assert "left out 2i: 4 queries have no hard answer" in capsys.readouterr().err


def test_a_query_set_that_is_not_there_is_named(tmp_path, capsys):
    arguments = ["none", "--graph", "toy", "--layout", "neutral", "--to", str(tmp_path / "out")]
    graph = tmp_path / "results" / "graphs" / "toy"
    graph.mkdir(parents=True)
    assert main([*arguments, "--results", str(tmp_path / "results")]) == 1
    assert "run the workflow for none first" in capsys.readouterr().err


def test_efok_json_comes_back_as_the_same_tables(sampled, capsys):
    out = exported(sampled, "efok-json")
    assert "left out pni: formula '!(r1(s1,e1)&r2(e1,f))&r3(s2,f)': the layout binds" in (
        capsys.readouterr().err
    )
    shapes = [*EPFO, "2in", "inp", "pni-exists"]
    files = {shape: f"test_type{place:04d}_EFOX_qaa.json" for place, shape in enumerate(shapes)}
    assert_same_tables(sampled, out, files | {"index": "kgindex.json"}, shapes, "efok-json")


def test_efok_json_has_the_files_of_its_loaders(sampled):
    out = exported(sampled, "efok-json")
    types = (out / "types.csv").read_text().splitlines()
    assert types[:3] == [
        ",formula_id,formula,f_num,e_num,c_num,edge_num,cyclic,multi,shape",
        '0,type0000,"r1(s1,f1)",1,0,1,1,False,False,1p',
        '1,type0001,"(r1(s1,e1))&(r2(e1,f1))",1,1,1,1,False,False,2p',
    ]
    (text, queries), *others = json.loads((out / "test_type0008_EFOX_qaa.json").read_text()).items()
    assert (text, others) == ("((r1(s1,e1))|(r2(s2,e1)))&(r3(e1,f1))", [])
    own = read_queries(sampled / "results/queries/toy-test/one.parquet").shapes["up"]
    grounding, easy, hard = queries[0]
    assert grounding == {
        **dict(zip(("s1", "s2"), own.anchors[0].tolist(), strict=True)),
        **dict(zip(("r1", "r2", "r3"), own.relations[0].tolist(), strict=True)),
    }
    assert list(easy) == list(hard) == ["f1"]
    assert all(len(answer) == 1 for answer in hard["f1"])
    index = json.loads((out / "kgindex.json").read_text())
    assert index["e"]["entity 5"] == 5
    assert index["r"] == {"+likes": 0, "-likes": 1, "+knows": 2, "-knows": 3}
    edges = [set((out / f"{split}_kg.tsv").read_text().split("\n")) for split in SPLITS]
    graph = read_graph(sampled / "results/graphs/toy/graph.npz")
    assert edges[0] < edges[1] < edges[2]
    assert len(edges[2]) - 1 == len(
        {tuple(row) for r in graph.triples.values() for row in r.tolist()}
    )


def test_lines_of_labels_come_back_as_the_same_tables(hostile):
    out = exported(hostile, "json-lines", "--fields", "labels")
    first = json.loads((out / "test.jsonl").read_text().splitlines()[0])
    assert {*first["anchors"], *first["hard"]} <= {*HOSTILE[0]}
    assert {*first["relations"]} <= {*HOSTILE[1]}
    assert [path.name for path in out.iterdir()] == ["test.jsonl"]
    files, shapes = {"queries": "test.jsonl"}, [*EPFO, *NEGATION, "pni-exists"]
    assert_same_tables(hostile, out, files, shapes, "neutral", fields="labels")


@pytest.mark.parametrize("labels", ["0\tx\n1\ty\n", "", "no labels"])
def test_labels_of_another_graph_are_refused(sampled, capsys, labels):
    graph = sampled / "results" / "graphs" / "toy"
    (graph / "entities.tsv").write_text(labels)
    results = ["--graph", "toy", "--results", str(sampled / "results")]
    arguments = ["--layout", "json-lines", "--to", str(sampled / "out")]
    assert main(["toy-test", *results, *arguments]) == 1
    exported = capsys.readouterr().err
    assert print_queries.main(["toy-test", *results]) == 1
    for error in (exported, capsys.readouterr().err):
        assert "entities.tsv" in error
        assert "delete it and run again" in error
        assert len(error.splitlines()) == 1


def test_labels_are_for_json_lines(sampled, capsys):
    with pytest.raises(SystemExit):
        exported(sampled, "beta-e", "--fields", "labels")
    assert "--fields is for the layout json-lines, not for beta-e" in capsys.readouterr().err
