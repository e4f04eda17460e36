"""JSON files of EFOk-CQA and FIT: how they are read, what is refused, what is written."""

import json

import pytest

from clqa.errors import InputError
from clqa.formulas import parse
from clqa.layouts.efok_json import _tuples
from clqa.published_sets import read_published
from clqa.query_sets import read_answers, read_queries
from clqa.readings import binds_under_negation
from published_files import ENTITIES, RELATIONS, imported, write_small_graph
from split_answers import split_answers

# likes (0, 1 its inverse) and knows (2, 3): 0 likes 3 and, by the test triples, 5; 1 knows 4 ...
TRAIN = [(0, 0, 3), (1, 2, 4), (3, 2, 4), (2, 0, 4)]
TEST = [(0, 0, 5), (5, 2, 2)]
ONE = {"r1(s1,f)": [[{"s1": 0, "r1": 0}, {"f": [[3]]}, {"f": [[5]]}]]}
# All that can reach f, by any likes, and that 1 knows: an existential variable at the end.
LEAF = "(r1(s1,f1))&(r2(e1,f1))"


@pytest.fixture
def small(tmp_path):
    write_small_graph(tmp_path, TRAIN, test=TEST)
    return tmp_path


def write(small, **contents):
    folder = small / "release"
    folder.mkdir(exist_ok=True)
    for role, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"test_{role}_EFOX_qaa.json").write_text(text)
    return {role: f"test_{role}_EFOX_qaa.json" for role in contents}


def read(small, files, shapes, **options):
    imported(small, small / "release", files, shapes, layout="efok-json", **options)
    return read_queries(small / "queries.parquet").shapes


def refusal(small, files, shapes=("1p",), **options):
    with pytest.raises(InputError) as caught:
        read(small, files, shapes, **options)
    assert "\n" not in str(caught.value)
    assert not list(small.glob("*.parquet"))
    return str(caught.value)


def published(small, shape, arity=1):
    sets = read_published(small / "published.parquet")[shape]
    answer = int if arity == 1 else tuple
    return {name: [sorted(map(answer, rows.row(0).tolist()))] for name, rows in sets.items()}


def test_a_file_becomes_tables(small):
    rows = read(small, write(small, type0000=ONE), ["1p"])["1p"]
    assert (rows.anchors.tolist(), rows.relations.tolist()) == ([[0]], [[0]])
    assert published(small, "1p") == {"easy": [[3]], "hard": [[5]]}


def test_symbols_are_taken_by_their_names_and_not_by_their_places(small):
    # Read as 2p, whose formula names r1 first: 0 -likes-> 5 -knows-> 2.
    content = {
        "(r7(e2,f1))&(r3(s4,e2))": [[{"r7": 2, "s4": 0, "r3": 0}, {"f1": [[4]]}, {"f1": [[2]]}]]
    }
    rows = read(small, write(small, type0001=content), ["2p"])["2p"]
    assert (rows.anchors.tolist(), rows.relations.tolist()) == ([[0]], [[0, 2]])


def test_answers_of_one_variable_may_be_plain_ids(small):
    content = {"r1(s1,f)": [[{"s1": 0, "r1": 0}, {"f": [3]}, {"f": [5]}]]}
    read(small, write(small, type0000=content), ["1p"])
    assert published(small, "1p") == {"easy": [[3]], "hard": [[5]]}


def test_an_empty_object_has_no_answers(small):
    content = {"r1(s1,f)": [[{"s1": 5, "r1": 2}, {}, {"f": [2]}]]}
    read(small, write(small, type0000=content), ["1p"])
    assert published(small, "1p") == {"easy": [[]], "hard": [[2]]}


def test_train_queries_have_all_answers_in_one_list(small):
    content = {"r1(s1,f)": [[{"s1": 0, "r1": 0}, {"f": [[3]]}, []]]}
    read(small, write(small, train=content), ["1p"], split="train")
    assert published(small, "1p") == {"full": [[3]]}


def test_one_file_may_have_several_formulas(small):
    leaf = [[{"s1": 1, "r1": 2, "r2": 0}, {"f1": [[4]]}, {"f1": [[5]]}]]
    files = write(small, all=ONE | {LEAF: leaf, "r1(s1,f1)&r2(e1,f1)&r3(e1,f1)": []})
    shapes = {"2il": "r1(s1,f)&r2(e1,f)", "1p": "r1(s1,f)"}
    found = read(small, files, shapes)
    assert {name: rows.relations.tolist() for name, rows in found.items()} == {
        "2il": [[2, 0]],
        "1p": [[0]],
    }


def test_an_existential_leaf_is_answered(small):
    leaf = [[{"s1": 1, "r1": 2, "r2": 0}, {"f1": [[4]]}, {"f1": [[5]]}]]
    read(small, write(small, type0001={LEAF: leaf}), {"2il": "r1(s1,f)&r2(e1,f)"})
    split_answers(small / "graph.npz", small / "queries.parquet", small / "answers.parquet", "test")
    # 1 knows 4 alone, and 2 likes 4.
    answers = read_answers(small / "answers.parquet").shapes["2il"]
    assert (answers.easy.values.tolist(), answers.hard.values.tolist()) == ([4], [])


def test_labels_of_the_index_decide_what_ids_mean(small):
    index = {
        "e": {label: 5 - own for own, label in enumerate(ENTITIES)},
        "r": {label: 3 - own for own, label in enumerate(RELATIONS)},
    }
    content = {"r1(s1,f)": [[{"s1": 5, "r1": 3}, {"f": [[2]]}, {"f": [[0]]}]]}
    read(small, write(small, type0000=content, index=index), ["1p"])
    assert published(small, "1p") == {"easy": [[3]], "hard": [[5]]}


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ({"e": {}}, "test_index_EFOX_qaa.json: 0 entities, but the graph has 6"),
        ({"e": ["a"]}, "expected an object of entities and their ids under 'e'"),
        ({"e": {"a": "0"}}, "expected a dict of ids and labels, found '0': 'a'"),
        ({"e": {"a": 0, "b": 0}}, "ids must be 0 to 1, each once"),
    ],
)
def test_an_index_of_something_else_is_refused(small, index, words):
    assert words in refusal(small, write(small, type0000=ONE, index=index))


PAIRS = "(r1(s1,f1))&(r2(f1,f2))"
CYCLE = "r1(s1,e1)&r2(e1,f)&r3(e1,f)"


def test_pairs_become_tables(small):
    # 0 likes 3, who knows 4, and by the test triples 5, who knows 2.
    query = [{"s1": 0, "r1": 0, "r2": 2}, {"f1_f2": [[3, 4]]}, {"f2_f1": [[2, 5]]}]
    rows = read(small, write(small, type0001={PAIRS: [query]}), {"chain": PAIRS})["chain"]
    assert (rows.anchors.tolist(), rows.relations.tolist()) == ([[0]], [[0, 2]])
    assert published(small, "chain", 2) == {"easy": [[(3, 4)]], "hard": [[(5, 2)]]}


def test_a_pair_that_is_there_twice_counts_once(small, caplog):
    pairs = [[5, 2], [5, 2]]
    query = [{"s1": 0, "r1": 0, "r2": 2}, {"f1_f2": [[3, 4]]}, {"f1_f2": pairs}]
    read(small, write(small, type0001={PAIRS: [query]}), {"chain": PAIRS})
    assert published(small, "chain", 2)["hard"] == [[(5, 2)]]
    assert "test_type0001_EFOX_qaa.json, chain: 1 repeated answers count once" in caplog.text


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ([{"f1_f2": [[3, 4]]}, {"f1_f2": [[3, 4]]}], "the answer [3, 4] is both hard and easy"),
        ([{"f1_f2": [[3, 4]]}, {"f1_f2": [[5, 6]]}], "answer 6: ids are 0 to 5"),
        ([{"f1_f2": [[3, 4]]}, {"f1_f2": [[5]]}], "hard answers must be ids for f1, f2"),
        ([{"f1_f2": [[3, 4]]}, {"f1": [[5, 2]]}], "an object of hard answers under 'f1_f2'"),
        ([{"f1_f2": [[5, 2]]}, {"f1_f2": [[3, 4]]}], "the two sets are swapped"),
    ],
)
def test_bad_pairs_are_named(small, sets, words):
    query = [{"s1": 0, "r1": 0, "r2": 2}, *sets]
    assert words in refusal(small, write(small, type0001={PAIRS: [query]}), {"chain": PAIRS})


def test_a_formula_without_a_plan_is_left_out_and_the_others_go_on(small):
    text, words = "r1(s1,e1)&r2(e2,f)", "nothing links e1 to f"
    query = [{"s1": 0, "r1": 0, "r2": 2}, {"f": [[4]]}, {"f": [[2]]}]
    files, shapes = write(small, type0000=ONE, type0001={text: [query]}), {"1p": "r1(s1,f)"}
    shapes["other"] = text
    assert words in refusal(small, files, shapes)
    assert len(read(small, files, shapes, on_bad_shape="skip")["1p"].anchors) == 1
    assert words in json.loads((small / "report.json").read_text())["other"]["skipped"]


def test_parallel_atoms_are_read(small):
    query = [{"s1": 0, "r1": 0, "r2": 2, "r3": 1}, {"f": [[4]]}, {"f": [[2]]}]
    found = read(small, write(small, type0000=ONE, type0001={CYCLE: [query]}), {"2m": CYCLE})
    assert found["2m"].anchors.tolist() == [[0]]
    assert found["2m"].relations.tolist() == [[0, 2, 1]]


def test_pairs_are_read_in_the_order_of_the_variables():
    assert _tuples({"f1_f2": [[3, 4], [5, 2]]}, ["f1", "f2"], "", "easy") == [(3, 4), (5, 2)]
    assert _tuples({"f2_f1": [[4, 3]]}, ["f1", "f2"], "", "easy") == [(3, 4)]
    for wrong in ({"f2": [[3, 4]]}, {"f1_f2": [[3]]}, {"f1_f2": [3]}, {"f1_f2": [[3, "4"]]}):
        with pytest.raises(InputError):
            _tuples(wrong, ["f1", "f2"], "place", "easy")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ([{"s1": 0}, {"f": [3]}, {"f": [5]}], "its grounding is not one of r1(s1,f) (r1)"),
        ([{"s1": 0, "r1": 0, "r2": 0}, {"f": [3]}, {"f": [5]}], "not one of r1(s1,f) (r2)"),
        ([{"s1": 6, "r1": 0}, {"f": [3]}, {"f": [5]}], "entity ids must be 0 to 5"),
        ([{"s1": 0, "r1": -1}, {"f": [3]}, {"f": [5]}], "relation ids must be 0 to 3"),
        ([{"s1": 2**40, "r1": 0}, {"f": [3]}, {"f": [5]}], "expected ids (whole numbers)"),
        ([{"s1": True, "r1": 0}, {"f": [3]}, {"f": [5]}], "expected ids (whole numbers)"),
        ([{"s1": 0, "r1": 0}, {"f": [3]}, {"f": [6]}], "answer 6: ids are 0 to 5"),
        ([{"s1": 0, "r1": 0}, {"f": [3]}, {"f": [2**70]}], "ids are 0 to 5"),
        ([{"s1": 0, "r1": 0}, {"f": [3]}, {"f": [[5, 4]]}], "hard answers must be ids for f"),
        ([{"s1": 0, "r1": 0}, {"f1": [3]}, {"f1": [5]}], "an object of easy answers under 'f'"),
        ([{"s1": 0, "r1": 0}, {"f": [3, 5]}, {"f": [5]}], "the answer 5 is both hard and easy"),
        ([{"s1": 0, "r1": 0}, {"f": [3]}, {"f": []}], "has no hard answer; are the files swapped?"),
        ([{"s1": 0, "r1": 0}, {"f": [3]}], "expected a list of a grounding, easy and hard"),
        ([{"s1": 0, "r1": 0}, {"f": [3]}, []], "other sets of answers than the first query"),
    ],
)
def test_a_bad_query_is_named(small, query, words):
    first = [{"s1": 1, "r1": 2}, {"f": [4]}, {"f": [5]}]
    text = refusal(small, write(small, type0000={"r1(s1,f)": [first, query]}))
    assert text.startswith("test_type0000_EFOX_qaa.json")
    assert "1p, query 1: " in text
    assert words in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps(ONE)[:-4], "cut short, damaged, or not JSON"),
        ("[" * 100_000, "cut short, damaged, or not JSON"),
        ("[]", "expected a JSON object, found a list"),
        ('{"r1(s1,f)": 3}', "r1(s1,f): expected a list of queries"),
        ('{"r1(s1;f)": []}', "column 6: expected a formula sign, but found ';'"),
        (
            '{"r1(s1,f)": [], "r2(s9,f1)": []}',
            "one formula in two ways, as r1(s1,f) and as r2(s9,f1)",
        ),
        ('{"r1(s1,f)": [], "r1(s1,f)": []}', "the key 'r1(s1,f)' is there twice"),
        ("{}", "no file has queries of r1(s1,f)"),
    ],
)
def test_a_bad_file_is_named(small, content, words):
    text = refusal(small, write(small, type0000=content))
    assert text.startswith("1p: ")
    assert words in text


def test_a_shape_without_queries_is_refused_unless_that_is_expected(small):
    files = write(small, type0000='{"r1(s1,f)": []}')
    assert "1p: the release has a place for its queries, but none are there" in refusal(
        small, files
    )
    imported(small, small / "release", files, ["1p"], layout="efok-json", counts={"1p": 0})
    assert read_queries(small / "queries.parquet").shapes["1p"].query_ids.tolist() == []


def test_a_web_page_is_refused_before_anything_is_read(small):
    text = refusal(small, write(small, type0000="<html><body>"))
    assert "test_type0000_EFOX_qaa.json: a web page, not data" in text


def test_swapped_answers_are_told_from_the_graph(small):
    content = {"r1(s1,f)": [[{"s1": 0, "r1": 0}, {"f": [5]}, {"f": [3]}]]}
    assert "swapped" in refusal(small, write(small, type0000=content))


def test_a_file_that_is_a_shapes_own_must_have_its_queries(small):
    shapes = {"type0000": "r1(s1,e1)&r2(e1,f)"}
    text = refusal(small, write(small, type0000=ONE), shapes)
    assert "type0000: its queries are of r1(s1,f), not of r1(s1,e1)&r2(e1,f)" in text


def test_a_variable_that_only_a_negation_speaks_of_is_refused(small):
    # Some e1 has no edge to f1 (this layout); that none has one is what the formula says here.
    text = "(r1(s1,f1))&(!r2(e1,f1))"
    query = [{"s1": 0, "r1": 0, "r2": 2}, {"f1": [[3]]}, {"f1": [[5]]}]
    found = refusal(small, write(small, type0002={text: [query]}), {"own": text})
    assert "own: formula 'r1(s1,f1)&!r2(e1,f1)' has an existential variable that only" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", True),
        ("r1(s1,e1)&!r2(e1,f)&r3(s2,f)", False),
        ("!(!r1(s1,e1)&!r2(s2,e1))&r3(e1,f)", False),
        ("r1(s1,f)&!(r2(s2,f)&(r3(s3,f)|r4(e1,f)))", True),
        ("!!r1(e1,f)", True),
    ],
)
def test_where_a_negation_binds_a_variable(text, expected):
    assert binds_under_negation(parse(text)) == expected
