"""What an audit finds, on small sets by hand and on published ones."""

import json

import numpy as np
import pytest

from audit_queries import audit_queries
from build_graph import build_graph
from clqa.answer_sizes import implied_cap
from clqa.configs import read_yaml
from clqa.errors import InputError
from clqa.formulas import parse, to_text
from clqa.graph_summaries import split_counts
from clqa.query_sets import read_answers
from clqa.readings import other_reading
from conftest import ROOT
from download_graph import download_graph
from published_files import imported, write_pickles, write_small_graph
from split_answers import split_answers

GRAPHS = read_yaml(ROOT / "config" / "graphs.yaml")
SETS = read_yaml(ROOT / "config" / "query_sets.yaml")
ONE = ("e", ("r",))


def audited(folder, split="test", graph=None, is_published=True):
    graph = graph or folder
    paths = [folder / f"{name}.parquet" for name in ("queries", "answers", "published")]
    split_answers(graph / "graph.npz", paths[0], paths[1], split)
    audit_queries(
        *([path] for path in paths[:2]),
        paths[2:] if is_published else [],
        graph / "graph.npz",
        graph / "entities.tsv",
        graph / "relations.tsv",
        folder / "audit.json",
        split,
        "toy",
    )
    return json.loads((folder / "audit.json").read_text(encoding="utf-8"))


def audit_of(tmp_path, shape, structure, queries, easy, hard):
    """The audit of one shape; answers are by query in the order of `queries`."""
    files = write_pickles(
        tmp_path / "release",
        queries={structure: set(queries)},
        easy=dict(zip(queries, easy, strict=True)),
        hard=dict(zip(queries, hard, strict=True)),
    )
    imported(tmp_path, tmp_path / "release", files, [shape])
    return audited(tmp_path)["shapes"][shape]


def test_labels_of_another_graph_are_refused(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 3)], test=[(0, 0, 5)])
    labels = (tmp_path / "relations.tsv").read_text().replace("likes", "dislikes")
    audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[{3}], hard=[{5}])
    (tmp_path / "relations.tsv").write_text(labels)
    with pytest.raises(InputError, match="labels are not those of the graph"):
        audited(tmp_path)


def test_missing_and_extra_answers_are_counted_and_spelt_out(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 3), (0, 0, 4)], test=[(0, 0, 5)])
    found = audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[{3, 1}], hard=[{5}])
    assert found["differing"] == 1
    assert found["sets"]["easy"] == {
        "published": 2, "recomputed": 2, "missing": 1, "extra": 1, "queries": 1
    }  # fmt: skip
    assert found["sets"]["hard"]["queries"] == 0
    [example] = found["examples"]
    assert example["anchors"] == ["entity 0"]
    assert example["relations"] == ["+likes"]
    assert example["differences"]["easy"] == {
        "missing": {"answers": 1, "first": ["entity 4"]},
        "extra": {"answers": 1, "first": ["entity 1"]},
    }


def test_a_triple_of_two_splits_makes_no_hard_answer(tmp_path):
    graph = write_small_graph(tmp_path, [(0, 0, 1)], test=[(0, 0, 1), (0, 0, 2)])
    counts = split_counts(graph, np.array([True, False, True, False]))
    assert counts["test"]["triples_in_earlier_splits"] == {"train": 1, "valid": 0}
    found = audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[set()], hard=[{1, 2}])
    assert read_answers(tmp_path / "answers.parquet").shapes["1p"].hard.values.tolist() == [2]
    assert found["sets"]["hard"]["extra"] == 1
    assert found["how"]["observed_answers_counted_as_hard"] == 1


def test_retracted_answers_are_told_whether_easy_has_them(tmp_path):
    # 3 and 4 are liked by 0; that 1 knows 4 comes with the test edges: 4 is retracted, 5 hard.
    write_small_graph(tmp_path, [(0, 0, 3), (0, 0, 4)], test=[(0, 0, 5), (1, 2, 4)])
    query, structure = ((0, (0,)), (1, (2, -2))), (ONE, ("e", ("r", "n")))
    found = audit_of(tmp_path, "2in", structure, [query], easy=[{3, 4}], hard=[{5}])
    assert found["differing"] == 0
    assert found["how"]["retracted_answers_counted_as_easy"] == 1
    found = audit_of(tmp_path, "2in", structure, [query], easy=[{3}], hard=[{5}])
    assert found["differing"] == 1
    assert found["how"]["retracted_answers_counted_as_easy"] == 0
    assert found["how"]["retracted_answers_left_out_of_easy"] == 1


def test_the_other_reading_of_pni_is_recognised(tmp_path):
    # 0 likes 1 and 2, 1 likes 3; 5 knows 3, and 4 by the test edges.
    edges = [(0, 0, 1), (0, 0, 2), (1, 0, 3), (5, 2, 3)]
    write_small_graph(tmp_path, edges, test=[(5, 2, 4)])
    query, structure = ((0, (0, 0, -2)), (5, (2,))), (("e", ("r", "r", "n")), ONE)
    found = audit_of(tmp_path, "pni", structure, [query], easy=[set()], hard=[{4}])
    assert found["differing"] == 0
    found = audit_of(tmp_path, "pni", structure, [query], easy=[{3}], hard=[{4}])
    assert found["how"]["queries_of_another_reading"] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", "r1(s1,e1)&!r2(e1,f)&r3(s2,f)"), ("r1(s1,f)", None)],
)
def test_readings_turn_into_each_other(one, other):
    assert other_reading(parse(one)) == (None if other is None else parse(other))
    if other is not None:
        assert to_text(other_reading(parse(other))) == one


def test_degenerate_queries_are_counted(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 3)], test=[(0, 0, 5), (1, 0, 5)])
    twice = ((0, (0,)), (0, (0,)))
    turned = [((0, (0,)), (1, (0,))), ((1, (0,)), (0, (0,)))]
    found = audit_of(
        tmp_path, "2i", (ONE, ONE), [twice, *turned], easy=[{3}, set(), set()], hard=[{5}] * 3
    )
    assert found["differing"] == 0
    assert found["degenerate"]["duplicate_branches"] == 1
    assert found["degenerate"]["same_query_again"] == 1
    there = (0, (0, 1))
    found = audit_of(tmp_path, "2p", ("e", ("r", "r")), [there], easy=[{0}], hard=[{1}])
    assert found["degenerate"]["round_trips_in_a_chain"] == 1
    idle = ((0, (0,)), (4, (2, -2)))
    found = audit_of(tmp_path, "2in", (ONE, ("e", ("r", "n"))), [idle], easy=[{3}], hard=[{5}])
    assert found["degenerate"]["idle_negations"] == 1


def test_hard_answers_are_counted_by_what_must_be_predicted(tmp_path):
    # From 0 by two likes: 3 by one missing link, the first or the second; 4 takes both.
    write_small_graph(
        tmp_path,
        [(0, 0, 1), (2, 0, 3)],
        test=[(1, 0, 3), (0, 0, 2), (0, 0, 5), (5, 0, 4)],
    )
    found = audit_of(tmp_path, "2p", ("e", ("r", "r")), [(0, (0, 0))], easy=[set()], hard=[{3, 4}])
    assert found["reductions"] == {
        "links": {"1": 1, "2": 1},
        "classes": {"1p": 1, "2p": 1, "none": 0},
        "subsets": {"1 or 2": 1, "1+2": 1},
    }


def test_an_answer_in_no_class_and_a_shape_without_classes_are_told(tmp_path):
    write_small_graph(tmp_path, [(1, 2, 4)], test=[(0, 0, 3)])
    structure = (ONE, ONE, ("u",))
    query = ((0, (0,)), (1, (2,)), (-1,))
    found = audit_of(tmp_path, "2u", structure, [query], easy=[{4}], hard=[{3}])["reductions"]
    assert found["classes"] == {"2u": 0, "none": 1}
    assert found["subsets"] == {"1": 1}
    found = audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[set()], hard=[{3}])["reductions"]
    assert found["classes"] is None


def test_sampled_queries_are_audited_without_a_verdict(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 3)], test=[(0, 0, 5)])
    audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[{3}], hard=[{5}])
    found = audited(tmp_path, is_published=False)
    assert found["queries"] == 1
    assert not {"clean", "differing", "unverified"} & found.keys()
    assert not {"differing", "how", "sets"} & found["shapes"]["1p"].keys()
    assert found["shapes"]["1p"]["sizes"]["hard"]["largest"] == 1


def test_published_tp_fn_and_fp_are_compared_under_their_names(tmp_path):
    # 0 likes 3, 4 and 5, then 1, too; that 2 knows 5 comes with the test edges.
    write_small_graph(tmp_path, [(0, 0, 3), (0, 0, 4), (0, 0, 5)], test=[(0, 0, 1), (2, 2, 5)])
    query, structure = ((0, (0,)), (2, (2, -2))), (ONE, ("e", ("r", "n")))
    answers = {"tp": {3, 4, 5}, "fn": {1}, "fp": {5}}
    files = write_pickles(
        tmp_path / "release",
        queries={structure: {query}},
        **{name: {query: ids} for name, ids in answers.items()},
    )
    imported(tmp_path, tmp_path / "release", files, ["2in"])
    found = audited(tmp_path)
    assert found["clean"]
    assert found["shapes"]["2in"]["published"] == ["easy", "hard", "retracted"]


def test_a_skipped_shape_is_named_and_the_others_are_audited(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 3)], test=[(0, 0, 5)])
    two_in = (ONE, ("e", ("r", "n")))
    one, bad = (0, (0,)), ((0, (0,)), (1, (2, -1)))
    files = write_pickles(
        tmp_path / "release",
        queries={ONE: {one}, two_in: {bad}},
        easy={one: {3}, bad: {3}},
        hard={one: {5}, bad: {5}},
    )
    imported(tmp_path, tmp_path / "release", files, ["1p", "2in"], on_bad_shape="skip")
    found = audited(tmp_path)
    assert list(found["skipped"]) == ["2in"]
    assert list(found["shapes"]) == ["1p"]
    assert found["differing"] == 0
    assert not found["clean"]


def test_a_triple_of_train_that_test_repeats_makes_no_hard_answer(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 1)], test=[(0, 0, 1), (0, 0, 2)])
    found = audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[set()], hard=[{1, 2}])
    assert found["sets"]["hard"]["extra"] == 1
    assert found["sets"]["easy"]["missing"] == 1
    assert found["sizes"]["hard"]["largest"] == 1
    found = audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[{1}], hard=[{2}])
    assert found["differing"] == 0


def test_queries_of_another_vocabulary_or_split_are_refused(tmp_path):
    write_small_graph(tmp_path, [(0, 0, 3)], test=[(0, 0, 5)])
    audit_of(tmp_path, "1p", ONE, [(0, (0,))], easy=[{3}], hard=[{5}])
    paths = [tmp_path / f"{name}.parquet" for name in ("queries", "answers", "published")]
    (tmp_path / "other").mkdir()
    write_small_graph(tmp_path / "other", [(0, 0, 3)], test=[(0, 0, 4)])
    for folder, split in ((tmp_path / "other", "test"), (tmp_path, "valid")):
        with pytest.raises(InputError, match=r"queries\.parquet: not asked of the graph"):
            audit_queries(
                *([path] for path in paths),
                folder / "graph.npz",
                folder / "entities.tsv",
                folder / "relations.tsv",
                tmp_path / "audit.json",
                split,
                "toy",
            )


def test_a_bound_is_told_from_a_tail_that_ends_by_itself():
    bounded = np.minimum(np.arange(1, 151), 100)
    assert implied_cap(bounded[bounded <= 100], 1000) == 100
    assert implied_cap(np.array([*range(1, 80), 85, 91, 100]), 1000) is None
    assert implied_cap(np.arange(1, 31), 1000) is None
    assert implied_cap(np.empty(0, np.int64), 1000) is None


def test_the_number_of_entities_is_no_bound_that_queries_were_chosen_by():
    # As on UMLS: 135 entities, and every number of answers up to 133.
    assert implied_cap(np.arange(1, 134), 135) is None
    assert implied_cap(np.arange(1, 134), 266) == 133
    assert implied_cap(np.arange(1, 134), 265) is None


def built(data, tmp_path_factory, name, folder, files=None):
    target = tmp_path_factory.mktemp(name)
    entry = {**GRAPHS[name], "source": {"kind": "path", "folder": str(data / folder)}}
    entry["files"] = {**entry["files"], **(files or {})}
    download_graph(target / "source", entry, name)
    names = ("graph.npz", "entities.tsv", "relations.tsv", "summary.json")
    build_graph(target / "source", entry, name, *(target / name for name in names))
    return target


def published_audit(tmp_path, graph, name, folder):
    entry = SETS[name]
    about = entry["published"]
    imported(
        tmp_path,
        folder,
        about["files"],
        entry["shapes"],
        layout=about["layout"],
        split=entry["split"],
        graph=graph,
        counts=about["counts"],
    )
    return audited(tmp_path, entry["split"], graph)


def test_wn18rr_qa_is_clean_and_has_its_known_totals(data, tmp_path, tmp_path_factory):
    folder = data / "queries" / "wn18rr-qa-test"
    graph = built(data, tmp_path_factory, "WN18RR-QA", folder)
    found = published_audit(tmp_path, graph, "wn18rr-qa-test", folder)
    assert found["clean"]
    assert found["queries"] == 18_356
    links = {shape: one["reductions"]["links"] for shape, one in found["shapes"].items()}
    assert links["pi"] == {"1": 2341, "2": 1373, "3": 48}
    assert links["up"] == {"1": 7775, "2": 67}
    assert found["caps"] == {"easy": None, "hard": None, "retracted": None}
    manifest = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    golden = next(e for e in manifest["entries"] if e["name"] == "wn18rr-qa-test")["golden"]
    for shape, known in golden.items():
        sets = found["shapes"][shape]["sets"]
        assert sets["easy"]["published"] == sets["easy"]["recomputed"] == known["sum_easy"]
        assert sets["hard"]["published"] == sets["hard"]["recomputed"] == known["sum_hard"]
    counted = {
        shape: one["how"]["retracted_answers_counted_as_easy"]
        for shape, one in found["shapes"].items()
        if one["how"]["retracted_answers_counted_as_easy"]
    }
    assert counted == {"2in": 1044, "3in": 1007, "inp": 28159, "pin": 1266, "pni": 1557}


def test_the_one_defect_of_the_query2box_set_is_found(data, tmp_path, tmp_path_factory):
    names = {"entities": "id2ent.tsv", "relations": "id2rel.tsv"}
    graph = built(data, tmp_path_factory, "FB15k-237", "kg/fb15k-237-betae", names)
    folder = data / "queries" / "q2b-fb15k-237"
    found = published_audit(tmp_path, graph, "q2b-fb15k-237-test", folder)
    assert found["queries"] == 62_812
    assert found["differing"] == found["shapes"]["1p"]["differing"] == 210
    full = found["shapes"]["1p"]["sets"]["full"]
    assert (full["missing"], full["extra"], full["queries"]) == (221, 0, 210)
    assert found["shapes"]["1p"]["how"]["missing_answers_that_valid_edges_give"] == 221
    assert all(one["sets"]["hard"]["queries"] == 0 for one in found["shapes"].values())
    assert found["unverified"] == {"ip": ["full"]}
    found = published_audit(tmp_path, graph, "q2b-fb15k-237-valid", folder)
    assert (found["queries"], found["differing"]) == (60_101, 0)
