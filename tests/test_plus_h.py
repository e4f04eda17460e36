"""The layout of the +H benchmarks: a selection of hard answers, their classes, two filters."""

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from clqa.errors import InputError
from clqa.filters import FILTERS
from clqa.formulas import parse, symbols
from clqa.published_sets import read_classes, read_published
from clqa.query_sets import read_answers, read_queries
from clqa.ranks import count_competitors
from plus_h_release import (
    FILES,
    FILTERED_WRONGLY,
    STRUCTURES,
    dump,
    queries_of,
    small_graph,
    write_release,
)
from published_files import SHAPES, imported
from split_answers import split_answers
from test_audit_queries import audited

ALL_SHAPES = tuple(STRUCTURES)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A graph, the queries of all shapes by the definitions, and the folder of their release."""
    folder = tmp_path_factory.mktemp("plus-h")
    graph = small_graph(folder)
    shapes = {shape: queries_of(shape, graph) for shape in ALL_SHAPES}
    write_release(folder, shapes)
    return folder, shapes


@pytest.fixture
def release(made, tmp_path):
    """A copy of the graph and the release that a test may change."""
    folder, shapes = made
    for path in folder.iterdir():
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, tmp_path / path.name)
    return tmp_path, shapes


def run(folder, shapes=ALL_SHAPES, source=None, **options):
    source = source or folder / "iscqa-compl-benchmarks"
    imported(folder, source, FILES, shapes, layout="plus-h", **options)
    split_answers(folder / "graph.npz", folder / "queries.parquet", folder / "answers", "test")
    return read_answers(folder / "answers").shapes


def benchmark(folder) -> Path:
    return folder / "iscqa-compl-benchmarks" / "new_benchmarks" / "FB15k-237+H"


def in_order(folder, shape):
    """The published queries of the rows of a table, from its anchors and relations."""
    rows = read_queries(folder / "queries.parquet").shapes[shape]
    return [
        STRUCTURES[shape][1](a, r)
        for a, r in zip(rows.anchors.tolist(), rows.relations.tolist(), strict=True)
    ]


def rows_of(ragged):
    return [set(ragged.row(place).tolist()) for place in range(len(ragged.offsets) - 1)]


@pytest.mark.parametrize("filter_", ["corrected", "released"])
def test_all_sixteen_shapes_come_with_the_answers_of_each_filter(release, filter_):
    folder, shapes = release
    found = run(folder, filter=filter_)
    assert list(found) == list(ALL_SHAPES)
    n_false = 0
    for shape, answers in found.items():
        known = [shapes[shape][query] for query in in_order(folder, shape)]
        assert len(known) == 6
        assert rows_of(answers.hard) == [one["hard"] for one in known]
        if filter_ == "released" and shape in FILTERED_WRONGLY:
            assert rows_of(answers.easy) == [one["observed"] for one in known]
            false = [one["observed"] - one["full"] for one in known]
            assert rows_of(answers.retracted) == false
            n_false += sum(map(len, false))
        else:
            assert rows_of(answers.easy) == [one["full"] - one["hard"] for one in known]
            assert not len(answers.retracted.values)
    assert (n_false > 0) == (filter_ == "released")
    metadata = read_answers(folder / "answers").metadata
    assert metadata["easy"] == f"plus-h-{filter_}"


def test_the_classes_of_hard_answers_are_kept_as_published(release):
    folder, shapes = release
    run(folder)
    classes, sets = (read(folder / "published.parquet") for read in (read_classes, read_published))
    assert set(classes) == set(ALL_SHAPES) - {"1p"}
    several = 0
    for shape, one in classes.items():
        hard, place = sets[shape]["hard"], 0
        for query, row in zip(in_order(folder, shape), rows_of(hard), strict=True):
            names = [one.names[c] if c >= 0 else None for c in one.codes[place : place + len(row)]]
            known = shapes[shape][query]["classes"]
            assert names == [known.get(answer) for answer in sorted(row)]
            place += len(row)
        several += len(set(one.codes.tolist())) > 1
    assert several > 5


@pytest.mark.parametrize("filter_", ["corrected", "released"])
def test_the_audit_of_a_true_release_finds_the_wrong_filters_alone(release, filter_):
    folder, shapes = release
    run(folder, filter=filter_)
    found = audited(folder)["shapes"]
    for shape, one in found.items():
        known = shapes[shape].values()
        assert (one["sets"]["hard"]["extra"], one["sets"]["hard"]["missing"]) == (0, 0)
        extra = sum(len(o["observed"] - o["full"]) for o in known)
        left_out = sum(len(o["full"] - o["hard"] - o["observed"]) for o in known)
        expected = (left_out, extra) if shape in FILTERED_WRONGLY else (0, 0)
        easy = one["sets"]["easy"]
        assert (easy["missing"], easy["extra"]) == expected, shape
        if shape != "1p":
            assert one["sets"]["full"]["queries"] == 0
            assert one["classes"]["differing"] == 0
            n_classed = sum(len(o["hard"] & o["classes"].keys()) for o in known)
            assert one["classes"]["answers"] == n_classed
    assert any(found[shape]["sets"]["easy"]["extra"] for shape in FILTERED_WRONGLY)


def test_answers_of_another_class_than_the_graphs_are_counted(release):
    folder, _ = release
    one, other = (
        benchmark(folder) / "test-query-reduction" / "2p" / name / "test-hard-answers.pkl"
        for name in ("1p", "2p")
    )
    contents = [pickle.loads(path.read_bytes()) for path in (one, other)]
    dump(one, contents[1])
    dump(other, contents[0])
    run(folder, ["2p"])
    found = audited(folder)["shapes"]["2p"]["classes"]
    assert found["differing"] == found["answers"] > 0
    assert found["differing_share"] == 1
    assert set(found["pairs"]) == {"1p>2p", "2p>1p"}


def test_the_reductions_may_be_lacking_as_in_icews18(release):
    folder, _ = release
    shutil.rmtree(benchmark(folder) / "test-query-reduction")
    files = {role: path for role, path in FILES.items() if role != "reductions"}
    imported(folder, folder / "iscqa-compl-benchmarks", files, ["2p"], layout="plus-h")
    assert read_classes(folder / "published.parquet") == {}
    assert "full" not in read_published(folder / "published.parquet")["2p"]
    with pytest.raises(InputError, match=r"reduction/: no files beneath it, needed as reductions"):
        run(folder, ["2p"])


def zipped(folder, name="release.zip"):
    source = folder / "iscqa-compl-benchmarks"
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path in sorted(source.rglob("*.pkl")):
            archive.write(path, path.relative_to(folder).as_posix())
    return folder / name


@pytest.mark.parametrize("name", ["FB15k-237+H", "FB15k237+H"])
def test_the_folder_is_found_by_its_pattern_in_an_archive(release, name):
    folder, _ = release
    benchmark(folder).rename(benchmark(folder).with_name(name))
    found = run(folder, ["2p", "2in"], source=zipped(folder))
    assert len(read_classes(folder / "published.parquet")["2p"].names) == 2
    assert found["2in"].hard.offsets[-1] > 0


@pytest.mark.parametrize("in_archive", [True, False])
def test_two_folders_that_fit_are_refused(release, in_archive):
    folder, _ = release
    shutil.copytree(benchmark(folder), benchmark(folder).with_name("FB15k237+H"))
    source = zipped(folder) if in_archive else None
    with pytest.raises(InputError, match=r"fits"):
        run(folder, ["2p"], source=source)
    assert not (folder / "queries.parquet").exists()


def test_files_beneath_the_reductions_with_strange_names_are_passed_over(release):
    folder, _ = release
    reductions = benchmark(folder) / "test-query-reduction"
    for name in ("2p/1p/readme.txt", "2p/a b/test-hard-answers.pkl", "9z/1p/test-hard-answers.pkl"):
        dump(reductions / name, "nothing")
    run(folder, ["2p"])
    assert set(read_classes(folder / "published.parquet")["2p"].names) == {"1p", "2p"}


def test_all_answers_are_compared_only_where_all_queries_have_them(release):
    folder, _ = release
    path = benchmark(folder) / "test-query-reduction" / "2p" / "all" / "test-hard-answers.pkl"
    content = pickle.loads(path.read_bytes())
    content.pop(next(iter(content)))
    dump(path, content)
    run(folder, ["2p", "3p"])
    published = read_published(folder / "published.parquet")
    assert ["full" in published[shape] for shape in ("2p", "3p")] == [False, True]


def test_what_an_archiver_adds_is_no_second_folder(release):
    folder, _ = release
    archive = zipped(folder)
    inside = "iscqa-compl-benchmarks/new_benchmarks/FB15k-237+H/test-query-reduction/2p/1p"
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(f"__MACOSX/{inside}/._test-hard-answers.pkl", b"\0")
    run(folder, ["2p"], source=archive)
    assert set(read_classes(folder / "published.parquet")["2p"].names) == {"1p", "2p"}


def break_class(content_of):
    """Change the class 2p of the shape 2p."""

    def change(folder, shapes):
        query = next(iter(q for q, one in shapes["2p"].items() if "2p" in one["classes"].values()))
        path = benchmark(folder) / "test-query-reduction" / "2p" / "2p" / "test-hard-answers.pkl"
        dump(path, content_of(query, shapes["2p"][query]))

    return change


@pytest.mark.parametrize(
    ("content_of", "expected"),
    [
        (lambda query, one: {query: {99}}, "answer 99: ids are 0 to 5"),
        (lambda query, one: {query: {"5"}}, "answers must be ids"),
        (lambda query, one: {query: 5}, "has int for answers"),
        (lambda query, one: [query], "expected a dict, found a list"),
        (lambda query, one: {query: np.int64(5)}, "which is refused"),
    ],
)
def test_a_bad_class_takes_down_its_shape_alone(release, content_of, expected):
    folder, shapes = release
    break_class(content_of)(folder, shapes)
    with pytest.raises(InputError) as caught:
        run(folder, ["2p", "3p"])
    assert "\n" not in str(caught.value)
    assert "2p/2p/test-hard-answers.pkl" in str(caught.value)
    assert expected in str(caught.value)
    assert not (folder / "queries.parquet").exists()
    found = run(folder, ["2p", "3p"], on_bad_shape="skip")
    assert (len(found["2p"].query_ids), len(found["3p"].query_ids)) == (0, 6)
    report = json.loads((folder / "report.json").read_text())
    assert expected in report["2p"]["skipped"]
    assert "skipped" not in report["3p"]


def test_an_answer_in_two_classes_is_refused(release):
    folder, _ = release
    reductions = benchmark(folder) / "test-query-reduction" / "2p"
    shutil.copytree(reductions / "1p", reductions / "3x")
    with pytest.raises(InputError, match=r"3x/test-hard-answers.pkl, 2p, query .* class 1p, too"):
        run(folder, ["2p"])


def test_swapped_easy_and_hard_files_are_told(release):
    folder, shapes = release
    easy, hard = (benchmark(folder) / f"test-{kind}-answers.pkl" for kind in ("easy", "hard"))
    contents = easy.read_bytes(), hard.read_bytes()
    easy.write_bytes(contents[1])
    hard.write_bytes(contents[0])
    shutil.rmtree(benchmark(folder) / "test-query-reduction")
    files = {role: path for role, path in FILES.items() if role != "reductions"}
    told = []
    for shape in ("2p", "ip", "pi", "2i", "2u"):
        with pytest.raises(InputError) as caught:
            imported(folder, folder / "iscqa-compl-benchmarks", files, [shape], layout="plus-h")
        text, known = str(caught.value), shapes[shape]
        if any(one["full"] == one["hard"] for one in known.values()):
            assert "test-hard-answers.pkl" in text
            assert "has no hard answer; are the files swapped?" in text
            continue
        both = "test-easy-answers.pkl and test-hard-answers.pkl"
        assert any(f"{both}, {shape}, query {query} and those" in text for query in known), text
        assert "; the two files are swapped (" in text
        told.append(shape)
    assert told


def test_a_hard_answer_that_the_graph_does_not_give_is_not_asked_for(release):
    folder, shapes = release
    path = benchmark(folder) / "test-hard-answers.pkl"
    content = pickle.loads(path.read_bytes())
    query, one = next((q, o) for q, o in shapes["2in"].items() if len(o["full"]) < 6)
    false = next(iter(set(range(6)) - one["full"] - one["observed"]))
    content[query] = content[query] | {false}
    dump(path, content)
    shutil.rmtree(benchmark(folder) / "test-query-reduction" / "2in")
    found = run(folder, ["2in"])
    place = in_order(folder, "2in").index(query)
    assert rows_of(found["2in"].hard)[place] == one["hard"]
    assert audited(folder)["shapes"]["2in"]["sets"]["hard"]["extra"] == 1


def test_what_the_filters_do_to_a_rank(release):
    # Entities that the released filter takes out wrongly stand before the answer under the other.
    folder, shapes = release
    greater = {}
    for filter_ in ("corrected", "released"):
        answers = run(folder, ["2in"], filter=filter_)["2in"]
        scores = np.zeros((len(answers.query_ids), 6))
        for row, query in zip(scores, in_order(folder, "2in"), strict=True):
            one = shapes["2in"][query]
            row[list(one["hard"])] = 0.5
            row[list(one["observed"] - one["full"])] = 1
        rule = FILTERS["observed-and-full"](answers.easy, answers.hard, answers.retracted)
        greater[filter_] = count_competitors(scores, answers.hard, [rule]).greater[0]
        known = [shapes["2in"][query] for query in in_order(folder, "2in")]
    assert greater["released"].tolist() == [0] * len(greater["released"])
    expected = [len(o["observed"] - o["full"]) for o in known for _ in o["hard"]]
    assert greater["corrected"].tolist() == expected
    assert max(expected) > 0


def test_shapes_have_the_symbols_of_their_formulas():
    for shape, (structure, write) in STRUCTURES.items():
        formula = parse(SHAPES[shape])
        letters = str(structure)
        assert letters.count("'e'") == len(symbols(formula, "s"))
        assert letters.count("'r'") == len(symbols(formula, "r"))
        assert write(list(range(4)), list(range(4)))
