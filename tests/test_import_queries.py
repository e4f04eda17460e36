"""Published files of three layouts on their way to tables of queries."""

import json
import os
import pickle

import numpy as np
import pytest

from clqa.adjacencies import split_view
from clqa.answers import split_answers
from clqa.errors import InputError
from clqa.files import read_sealed
from clqa.formulas import parse
from clqa.inventories import readable, sampling_table, without_zeros
from clqa.plans import plan
from clqa.published_sets import read_published
from clqa.query_sets import read_queries
from published_files import ENTITIES, RELATIONS, SHAPES, imported, write_pickles, write_small_graph

ONE = ("e", ("r",))
TWO_IN = (ONE, ("e", ("r", "n")))
# Of the query (0, (0,)): entity 3 is easy, 5 is hard.
TRAIN, TEST = [(0, 0, 3), (1, 2, 4)], [(0, 0, 5)]
QUERY = (0, (0,))


@pytest.fixture
def small(tmp_path):
    write_small_graph(tmp_path, TRAIN, test=TEST)
    return tmp_path


def release(folder, **others):
    contents = {"queries": {ONE: {QUERY}}, "easy": {QUERY: {3}}, "hard": {QUERY: {5}}}
    return write_pickles(folder / "release", **(contents | others))


def refusal(small, files, shapes=("1p",), **options):
    with pytest.raises(InputError) as caught:
        imported(small, small / "release", files, shapes, **options)
    assert "\n" not in str(caught.value)
    assert not (small / "queries.parquet").exists()
    assert not (small / "published.parquet").exists()
    return str(caught.value)


def test_a_release_becomes_tables(small):
    imported(small, small / "release", release(small), ["1p"])
    table = read_queries(small / "queries.parquet")
    assert table.shapes["1p"].anchors.tolist() == [[0]]
    assert table.shapes["1p"].relations.tolist() == [[0]]
    sets = read_published(small / "published.parquet")["1p"]
    assert {name: rows.values.tolist() for name, rows in sets.items()} == {"easy": [3], "hard": [5]}
    report = read_sealed(small / "report.json")
    assert (report["1p"]["requested"], report["1p"]["accepted"]) == (1, 1)


def test_tp_fn_and_fp_are_easy_hard_and_retracted(small):
    query = ((0, (0,)), (1, (2, -2)))
    files = write_pickles(
        small / "release",
        queries={TWO_IN: {query}},
        tp={query: {3, 5, 4}},
        fn={query: {2}},
        fp={query: {4}},
    )
    imported(small, small / "release", files, ["2in"])
    sets = read_published(small / "published.parquet")["2in"]
    assert sets["easy"].values.tolist() == [3, 4, 5]
    assert sets["hard"].values.tolist() == [2]
    assert sets["retracted"].values.tolist() == [4]


NINE = [f"entity {number}" for number in range(9)]
UNLIKED = ((0, (0,)), (1, (2, -2)))


def of_nine(folder, tp, fn, fp):
    """A graph with 3, 5 and 8 observed, and 6 and what takes 8 away in the test triples."""
    train, test = [(0, 0, 3), (0, 0, 5), (0, 0, 8), (1, 0, 2)], [(0, 0, 6), (1, 2, 8)]
    graph = write_small_graph(folder, train, test=test, labels=(NINE, RELATIONS))
    sets = {"tp": {UNLIKED: tp}, "fn": {UNLIKED: fn}, "fp": {UNLIKED: fp}}
    return graph, write_pickles(folder / "release", queries={TWO_IN: {UNLIKED}}, **sets)


def test_tp_fn_and_fp_are_what_the_graphs_say_they_are(tmp_path):
    graph, files = of_nine(tmp_path, {3, 5, 8}, {6}, {8})
    imported(tmp_path, tmp_path / "release", files, ["2in"])
    sets = read_published(tmp_path / "published.parquet")["2in"]
    queries = read_queries(tmp_path / "queries.parquet").shapes["2in"]
    formula, view = parse(SHAPES["2in"]), split_view(graph, "test")
    own = split_answers(plan(formula), view, queries.anchors, queries.relations)
    for answers in (sets, own._asdict()):
        easy, hard, retracted = (
            set(answers[name].values.tolist()) for name in ("easy", "hard", "retracted")
        )
        assert (easy - retracted, hard, retracted) == ({3, 5}, {6}, {8})
        assert (easy | hard) - retracted == {3, 5, 6}


def test_an_answer_in_tp_and_fn_of_a_larger_graph_is_named(tmp_path):
    _, files = of_nine(tmp_path, {3, 5}, {5, 6}, set())
    text = refusal(tmp_path, files, ["2in"])
    assert text.startswith(f"fn.pkl and tp.pkl, 2in, query {UNLIKED}: the answer 5 is both hard")


def test_an_answer_both_easy_and_hard_is_refused(small):
    text = refusal(small, release(small, easy={QUERY: {3, 5}}, hard={QUERY: {5, 4}}))
    assert text.startswith("hard.pkl and easy.pkl, 1p, query (0, (0,)): the answer 5 is both")


def test_an_overlapping_answer_is_named_as_the_release_numbers_it(small):
    shifted = {(number + 1) % 6: label for number, label in enumerate(ENTITIES)}
    query = (1, (0,))
    files = release(
        small,
        entities=shifted,
        relations=dict(enumerate(RELATIONS)),
        queries={ONE: {query}},
        easy={query: {4, 0}},
        hard={query: {0}},
    )
    assert "query (1, (0,)): the answer 0 is both hard and easy" in refusal(small, files)


def test_a_retracted_answer_must_be_an_easy_one(small):
    assert "retracted, but not among the easy" in refusal(small, release(small, fp={QUERY: {1}}))


def test_a_query_without_hard_answers_is_refused(small):
    text = refusal(small, release(small, hard={}))
    assert "hard.pkl, 1p, query (0, (0,)): has no hard answer; are the files swapped?" in text


def test_swapped_easy_and_hard_files_are_told_from_the_graph(small):
    text = refusal(small, release(small, easy={QUERY: {5}}, hard={QUERY: {3}}))
    assert text.startswith("easy.pkl and hard.pkl, 1p, query (0, (0,)) and those after it: ")
    assert "; the two files are swapped (" in text


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"queries": {ONE: {(0, (0, 1))}}}, "queries.pkl, 1p, query (0, (0, 1)): it does not have"),
        ({"queries": {ONE: {(6, (0,))}}, "easy": {(6, (0,)): {3}}}, "entity ids must be 0 to 5"),
        ({"queries": {ONE: {(0, (4,))}}}, "query (0, (4,)): relation ids must be 0 to 3"),
        ({"hard": {QUERY: {6}}}, "hard.pkl, 1p, query (0, (0,)): answer 6: ids are 0 to 5"),
        ({"hard": {QUERY: {"5"}}}, "hard.pkl, 1p, query (0, (0,)): answers must be ids"),
        ({"queries": {("e", "r"): {QUERY}}}, "queries.pkl: ('e', 'r') is not a query structure"),
        ({"queries": [QUERY]}, "queries.pkl: expected a dict, found a list"),
        ({"queries": {TWO_IN: set()}}, "queries.pkl, 1p: no queries of this structure"),
    ],
)
def test_what_is_malformed_is_named_with_file_shape_and_query(small, others, expected):
    assert expected in refusal(small, release(small, **others))


def test_a_bad_shape_can_be_skipped_and_the_report_says_so(small):
    query = ((0, (0,)), (1, (2, -1)))
    files = release(small, queries={ONE: {QUERY}, TWO_IN: {query}})
    imported(small, small / "release", files, ["1p", "2in"], on_bad_shape="skip", counts={"2in": 1})
    report = read_sealed(small / "report.json")
    assert (report["1p"]["accepted"], report["2in"]["accepted"], report["2in"]["short"]) == (
        1,
        0,
        1,
    )
    assert "expected -2" in report["2in"]["skipped"]
    paths = {("toy", "all"): small / "report.json"}
    table = sampling_table(paths, ["toy"], ["1p", "2in"])
    reasons = [row[table.columns.index("skipped")] for row in table.rows]
    assert reasons == ["", report["2in"]["skipped"]]
    assert readable(without_zeros(table)).rows[1][-1] == reasons[1]
    assert "on_bad_shape: skip" in refusal_of_one(small, files)


@pytest.mark.parametrize("others", [["1p", "2in"], ["2in", "1p"]])
def test_a_bad_inp_of_three_shapes_is_named_and_the_others_go_on_without_it(small, others):
    """A query of inp lacks the relation of its last link."""
    two_in, inp = ((0, (0,)), (1, (2, -2))), (((0, (0,)), (1, (2, -2))),)
    structure = (TWO_IN, ("r",))
    contents = {
        "queries": {ONE: {QUERY}, TWO_IN: {two_in}, structure: {inp}},
        "easy": {QUERY: {3}, two_in: {3}, inp: {3}},
        "hard": {QUERY: {5}, two_in: {5}, inp: {5}},
    }
    files = release(small, **contents)
    text = refusal(small, files, [*others, "inp"])
    assert text.startswith("queries.pkl, inp, query (((0, (0,)), (1, (2, -2))),): ")
    assert "1p" not in text
    assert "2in" not in text

    imported(small, small / "release", files, [*others, "inp"], on_bad_shape="skip")
    skipped = read_sealed(small / "report.json")
    assert [shape for shape, about in skipped.items() if "skipped" in about] == ["inp"]
    assert skipped["inp"]["accepted"] == 0

    imported(small, small / "release", files, others)
    report = read_sealed(small / "report.json")
    assert {shape: about["accepted"] for shape, about in report.items()} == {"1p": 1, "2in": 1}
    assert report == {shape: skipped[shape] for shape in others}


def refusal_of_one(small, files):
    with pytest.raises(InputError) as caught:
        imported(small, small / "release", files, ["1p", "2in"])
    return str(caught.value)


def test_another_number_of_queries_than_declared_is_refused(small):
    assert "1p: 1 queries, expected 2" in refusal(small, release(small), counts={"1p": 2})


def test_ids_are_mapped_by_label(small):
    order = [5, 4, 3, 2, 1, 0]
    names = ["likes", "likes_reverse", "knows", "knows_reverse"]
    files = release(
        small,
        entities={id_: ENTITIES[own] for id_, own in enumerate(order)},
        relations=dict(enumerate(reversed(names))),
        queries={ONE: {(5, (3,))}},
        easy={(5, (3,)): {2}},
        hard={(5, (3,)): {0}},
    )
    imported(small, small / "release", files, ["1p"])
    rows = read_queries(small / "queries.parquet").shapes["1p"]
    assert (rows.anchors.tolist(), rows.relations.tolist()) == ([[0]], [[0]])
    sets = read_published(small / "published.parquet")["1p"]
    assert (sets["easy"].values.tolist(), sets["hard"].values.tolist()) == ([3], [5])


def test_another_list_of_entities_is_refused_and_not_shifted(small):
    more = dict(enumerate([*ENTITIES, "one more"]))
    relations = dict(enumerate(RELATIONS))
    text = refusal(small, release(small, entities=more, relations=relations))
    assert "entities.pkl: 7 entities, but the graph has 6" in text
    assert "cannot be shifted" in text
    other = dict(enumerate([*ENTITIES[:5], "another"]))
    text = refusal(small, release(small, entities=other, relations=relations))
    assert "1 of its 6 entities are not in the graph (another" in text


def test_a_pickle_that_would_run_something_is_refused(small):
    class Command:
        def __reduce__(self):
            return os.system, (f"touch {small}/ran",)

    files = release(small)
    (small / "release" / "queries.pkl").write_bytes(pickle.dumps({ONE: Command()}))
    assert "posix.system, which is refused" in refusal(small, files)
    assert not (small / "ran").exists()


def test_a_pickle_cut_short_is_refused(small):
    files = release(small)
    path = small / "release" / "hard.pkl"
    path.write_bytes(path.read_bytes()[:-3])
    assert "hard.pkl: cut short, damaged" in refusal(small, files)


@pytest.mark.parametrize("has_full", [True, False])
def test_query2box_files_may_lack_all_answers(small, has_full):
    key = ((0, (0,)),)
    contents = {"1c_hard": {key: {5}}} | ({"1c": {key: {3, 5}}} if has_full else {})
    files = write_pickles(small / "release", **contents)
    imported(small, small / "release", files, ["1p"], layout="query2box")
    sets = read_published(small / "published.parquet")["1p"]
    assert sorted(sets) == (["full", "hard"] if has_full else ["hard"])


def test_swapped_query2box_files_are_refused(small):
    key = ((0, (0,)),)
    files = write_pickles(small / "release", **{"1c": {key: {5}}, "1c_hard": {key: {3, 5}}})
    text = refusal(small, files, layout="query2box")
    assert "1c_hard.pkl and 1c.pkl, 1p" in text
    assert "swapped" in text


def test_json_lines_are_read_by_formula(small):
    folder = small / "release"
    folder.mkdir()
    line = {"formula": "r1(s1,f)", "anchors": [0], "relations": [0], "easy": [3], "hard": [5]}
    (folder / "own.jsonl").write_text(json.dumps(line) + "\n")
    imported(small, folder, {"queries": "own.jsonl"}, ["1p"], layout="neutral")
    assert len(read_queries(small / "queries.parquet").shapes["1p"].anchors) == 1
    (folder / "own.jsonl").write_text('{"formula": "r1(s1,f)"}\n')
    with pytest.raises(InputError, match=r"own.jsonl:1: expected JSON"):
        imported(small, folder, {"queries": "own.jsonl"}, ["1p"], layout="neutral")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"hard"', '"hrad"', "own.jsonl:1: unknown key 'hrad'; known: shape, formula, anchors"),
        ('"easy": [3]', '"easy": [3], "easy": [4]', "own.jsonl:1: the key 'easy' is there twice"),
        ("[5]}", '[{"a": 1, "a": 2}]}', "own.jsonl:1: the key 'a' is there twice"),
    ],
)
def test_a_strange_or_repeated_key_of_json_lines_is_refused(small, old, new, words):
    folder = small / "release"
    folder.mkdir()
    line = {"formula": "r1(s1,f)", "anchors": [0], "relations": [0], "easy": [3], "hard": [5]}
    assert old in json.dumps(line)
    (folder / "own.jsonl").write_text(json.dumps(line).replace(old, new) + "\n")
    text = refusal(small, {"queries": "own.jsonl"}, layout="neutral")
    assert words in text


LINE = {
    "formula": "r1(s1,f)",
    "anchors": ["entity 0"],
    "relations": ["+likes"],
    "easy": ["entity 3"],
    "hard": ["entity 5"],
}


def test_json_lines_may_have_labels_in_place_of_ids(small):
    folder = small / "release"
    folder.mkdir()
    (folder / "own.jsonl").write_text(json.dumps(LINE) + "\n")
    files = {"queries": "own.jsonl"}
    imported(small, folder, files, ["1p"], layout="neutral", fields="labels")
    rows = read_queries(small / "queries.parquet").shapes["1p"]
    assert (rows.anchors.tolist(), rows.relations.tolist()) == ([[0]], [[0]])
    sets = read_published(small / "published.parquet")["1p"]
    assert (sets["easy"].values.tolist(), sets["hard"].values.tolist()) == ([3], [5])


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"anchors": ["entity 00"]}, "own.jsonl:2: anchors: no entity has the label 'entity 00'"),
        ({"hard": ["entity 5", 5]}, "own.jsonl:2: hard: no entity has the label 5"),
        ({"relations": ["entity 0"]}, "own.jsonl:2: relations: no relation has the label"),
        ({"easy": ["\ud800"]}, r"own.jsonl:2: easy: no entity has the label '\ud800'"),
        ({"easy": [["entity 0"]]}, "own.jsonl:2: easy: no entity has the label ['entity 0']"),
        ({"formula": "r1(s1;f)"}, "own.jsonl:2: formula 'r1(s1^;f)', column 6"),
    ],
)
def test_a_label_that_nothing_has_is_named(small, others, expected):
    folder = small / "release"
    folder.mkdir()
    lines = [LINE, LINE | {"anchors": ["entity 1"]} | others]
    (folder / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = {"queries": "own.jsonl"}
    assert expected in refusal(small, files, layout="neutral", fields="labels")


def test_swapped_lists_of_lines_are_named_with_their_file(small):
    folder = small / "release"
    folder.mkdir()
    line = LINE | {"easy": LINE["hard"], "hard": LINE["easy"]}
    (folder / "own.jsonl").write_text(json.dumps(line) + "\n")
    text = refusal(small, {"queries": "own.jsonl"}, layout="neutral", fields="labels")
    assert text.startswith("own.jsonl, 1p, query 'line 1' and those after it: ")
    assert "; the two sets are swapped (" in text


def test_lines_that_are_no_text_are_named(small):
    folder = small / "release"
    folder.mkdir()
    (folder / "own.jsonl").write_bytes(json.dumps(LINE).encode() + b"\n\xff\xfe\n")
    text = refusal(small, {"queries": "own.jsonl"}, layout="neutral", fields="labels")
    assert "own.jsonl:2: expected JSON with formula" in text


def test_rows_are_in_the_order_of_the_answers_file(small):
    queries = [(entity, (0,)) for entity in (1, 0, 2)]
    files = release(
        small,
        queries={ONE: set(queries)},
        easy={query: set() for query in sorted(queries)},
        hard={query: {5 - query[0]} for query in queries},
    )
    imported(small, small / "release", files, ["1p"])
    rows = read_queries(small / "queries.parquet").shapes["1p"]
    assert rows.anchors.tolist() == [[1], [0], [2]]
    hard = read_published(small / "published.parquet")["1p"]["hard"]
    assert np.array_equal(hard.values, [4, 5, 3])
