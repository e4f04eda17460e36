"""Bad files of every layout: one line that names them, nothing left behind, other shapes go on."""

import itertools
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from clqa.adjacencies import split_view
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import make_graph
from clqa.published_sets import Batch
from clqa.ragged import ragged
from clqa.releases import check_against_graph
from plus_h_release import STRUCTURES
from published_files import ENTITIES, RELATIONS, SHAPES, imported, write_small_graph

ONE, TWO = STRUCTURES["1p"][0], STRUCTURES["2p"][0]
# Of the queries (0, (0,)) and (0, (0, 2)): entities 3 and 4 are easy, 5 and 2 are hard.
TRAIN, TEST = [(0, 0, 3), (3, 2, 4)], [(0, 0, 5), (3, 2, 2)]
Q1, Q2 = (0, (0,)), (0, (0, 2))
EASY, HARD = {Q1: {3}, Q2: {4}}, {Q1: {5}, Q2: {2}}
LAYOUTS = ("beta-e", "query2box", "neutral", "plus-h", "ultra-query")


def release(layout: str, queries=(Q1, Q2), easy=None, hard=None) -> dict[str, object]:
    """Content of the files of a release by name; a query is of 1p, the other one of 2p."""
    one, two = queries
    easy, hard = easy or {one: {3}, two: {4}}, hard or {one: {5}, two: {2}}
    by_structure = {ONE: {one}, TWO: {two}}
    if layout == "query2box":
        full = {query: set(easy[query]) | set(hard[query]) for query in queries}
        keys = {"1c": one, "2c": two}
        return {
            name + end: {(query,): content[query]}
            for name, query in keys.items()
            for end, content in (("", full), ("_hard", hard))
        }
    if layout == "neutral":
        return {"queries": [line("1p", one, easy, hard), line("2p", two, easy, hard)]}
    if layout == "ultra-query":
        easy, hard = ({ONE: {one: rows[one]}, TWO: {two: rows[two]}} for rows in (easy, hard))
    content = {"queries": by_structure, "easy": easy, "hard": hard}
    if layout == "plus-h":
        content["reductions/2p/1p/test-hard-answers"] = {two: hard[two]}
    return content


def line(shape: str, query: tuple, easy: dict, hard: dict) -> dict:
    anchors, relations = [query[0]], list(query[1])
    sets = {"easy": sorted(easy[query], key=str), "hard": sorted(hard[query], key=str)}
    return {"formula": SHAPES[shape], "anchors": anchors, "relations": relations, **sets}


def write(folder: Path, layout: str, content: dict[str, object]) -> dict[str, str]:
    """Write a release; give its files by role."""
    shutil.rmtree(folder, ignore_errors=True)
    files = {}
    for name, part in content.items():
        ending = "jsonl" if layout == "neutral" else "pkl"
        path = folder / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if layout == "neutral":
            path.write_text("".join(json.dumps(row) + "\n" for row in part))
        else:
            path.write_bytes(pickle.dumps(part, protocol=4))
        role = name.split("/")[0]
        files[role] = "reductions/" if role == "reductions" else path.name
    return files


@pytest.fixture
def small(tmp_path):
    write_small_graph(tmp_path, TRAIN, test=TEST)
    return tmp_path


def run(small, layout, files, source=None, **options):
    source = source or small / "release"
    imported(small, source, files, ["1p", "2p"], layout=layout, **options)
    return json.loads((small / "report.json").read_text())


def refusal(small, layout, files, **options) -> str:
    with pytest.raises(InputError) as caught:
        run(small, layout, files, **options)
    text = str(caught.value)
    assert "\n" not in text
    left = {path.name for path in small.iterdir()} - {"release", "release.zip", "source"}
    assert left <= {"graph.npz", "entities.tsv", "relations.tsv", "receipt.json"}
    return text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_good_release_is_read(small, layout):
    report = run(small, layout, write(small / "release", layout, release(layout)))
    assert [report[shape]["accepted"] for shape in ("1p", "2p")] == [1, 1]


@pytest.mark.parametrize("role", ["entities", "relations"])
def test_labels_of_another_graph_are_refused(small, role):
    rows = [{"formula": "r1(s1,f)", "anchors": ["entity 0"], "relations": ["+likes"], "hard": []}]
    files = write(small / "release", "neutral", {"queries": rows})
    path = small / f"{role}.tsv"
    first, second, *rest = path.read_text().splitlines()
    words = first.split("\t")[1], second.split("\t")[1]
    path.write_text("\n".join([f"0\t{words[1]}", f"1\t{words[0]}", *rest]) + "\n")
    text = refusal(small, "neutral", files, fields="labels")
    assert "the labels are not those of the graph; delete it and run again" in text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_swapped_easy_and_hard_answers_are_told(small, layout):
    content = release(layout, easy=HARD, hard=EASY)
    if layout == "query2box":
        content = {"1c": {(Q1,): {5}}, "1c_hard": {(Q1,): {3, 5}}, "2c_hard": {(Q2,): {2}}}
    content.pop("reductions/2p/1p/test-hard-answers", None)
    text = refusal(small, layout, write(small / "release", layout, content))
    assert "swapped" in text
    assert "1p, query" in text


def test_nothing_is_swapped_where_neither_set_has_an_answer():
    graph = make_graph(
        {"train": np.array([[0, 0, 1]]), "valid": np.empty((0, 3)), "test": np.array([[1, 0, 2]])},
        np.array([-1], np.int32),
        3,
        "0" * 64,
    )
    formula, view = parse(SHAPES["1p"]), split_view(graph, "test")
    anchors, relations = np.array([[2], [0]], np.int32), np.zeros((2, 1), np.int32)

    def check(n, easy, hard):
        sets = {"easy": ragged(easy), "hard": ragged(hard)}
        names = {"easy": "easy.pkl", "hard": "hard.pkl"}
        rows = Batch(anchors[:n], relations[:n], sets, queries=["one", "other"], files=names)
        check_against_graph("1p", formula, rows, view)

    check(1, [[]], [[]])
    check(2, [[], [1]], [[], []])
    with pytest.raises(InputError, match="the two files are swapped"):
        check(2, [[], []], [[], [1]])


# What is wrong with the query of 2p or its answers, and what is said of it.
BAD = {
    "structure": ({"queries": (Q1, (0, (0, 2, 2)))}, ("2p", "(0, 2, 2)")),
    "anchor": ({"queries": (Q1, (6, (0, 2)))}, ("2p", "entity ids must be 0 to 5")),
    "relation": ({"queries": (Q1, (0, (0, 4)))}, ("2p", "relation ids must be 0 to 3")),
    "negative": ({"queries": (Q1, (0, (0, -5)))}, ("2p",)),
    "huge": ({"queries": (Q1, (2**70, (0, 2)))}, ("2p",)),
    "answer": ({"hard": HARD | {Q2: {6}}}, ("2p", "answer 6: ids are 0 to 5")),
    "text": ({"hard": HARD | {Q2: {"2"}}}, ("2p", "ids")),
    "none": ({"hard": HARD | {Q2: set()}}, ("2p", "has no hard answer")),
    "both": ({"easy": EASY | {Q2: {4, 2}}}, ("2p", "is both hard and easy")),
}


# What a layout cannot say, or may say.
NOT_BAD = {("query2box", "both"), ("neutral", "none")}


@pytest.mark.parametrize(
    ("layout", "kind"), [pair for pair in itertools.product(LAYOUTS, BAD) if pair not in NOT_BAD]
)
def test_a_bad_shape_is_told_and_leaves_the_other_alone(small, layout, kind):
    changes, expected = BAD[kind]
    content = release(layout, **changes)
    if kind == "structure" and layout == "neutral":
        content["queries"][1]["formula"] = SHAPES["2p"]
        expected = ("2p", "expected 2 ids as relations")
    files = write(small / "release", layout, content)
    text = refusal(small, layout, files)
    for part in expected:
        assert part in text
    assert any(Path(name).stem in text for name in files.values()), text
    report = run(small, layout, files, on_bad_shape="skip")
    assert (report["1p"]["accepted"], report["2p"]["accepted"]) == (1, 0)
    assert "skipped" not in report["1p"]
    assert expected[-1] in report["2p"]["skipped"]


class Foreign:
    """A class of which pickles are to be refused, whatever it does."""

    def __reduce__(self):
        return print, ("run",)


PICKLED = [layout for layout in LAYOUTS if layout != "neutral"]


@pytest.mark.parametrize("layout", PICKLED)
def test_a_pickle_of_foreign_classes_is_refused_and_not_run(small, layout, capsys):
    for name in release(layout):
        files = write(small / "release", layout, release(layout) | {name: {ONE: Foreign()}})
        text = refusal(small, layout, files)
        assert "asks for builtins.print, which is refused" in text
        assert f"{name.split('/', 1)[-1]}.pkl" in text
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_web_page_in_place_of_a_file_is_told(small, layout):
    for name in release(layout):
        files = write(small / "release", layout, release(layout))
        ending = "jsonl" if layout == "neutral" else "pkl"
        path = small / "release" / f"{name}.{ending}"
        path.write_text("<!DOCTYPE html><html>404</html>")
        text = refusal(small, layout, files)
        assert "a web page, not data" in text
        assert path.name in text
        assert not (small / "source").exists()


def test_a_web_page_takes_its_own_shape_alone(small):
    files = write(small / "release", "query2box", release("query2box"))
    (small / "release" / files["2c_hard"]).write_text("<!DOCTYPE html><html>404</html>")
    report = run(small, "query2box", files, on_bad_shape="skip", counts={"2p": 1})
    assert [report[shape]["accepted"] for shape in ("1p", "2p")] == [1, 0]
    assert "a web page, not data" in report["2p"]["skipped"]


def zipped(small, strange: str | None = None) -> Path:
    with zipfile.ZipFile(small / "release.zip", "w") as archive:
        for path in sorted((small / "release").rglob("*.*")):
            archive.write(path, path.relative_to(small).as_posix())
        if strange:
            archive.writestr(strange, "x")
    return small / "release.zip"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_zip_is_read_whole_or_not_at_all(small, layout):
    files = write(small / "release", layout, release(layout))
    archive = zipped(small)
    assert run(small, layout, files, source=archive)["1p"]["accepted"] == 1
    for name in ("queries.parquet", "published.parquet", "report.json", "receipt.json"):
        (small / name).unlink()
    shutil.rmtree(small / "source")
    archive.write_bytes(archive.read_bytes()[:-40])
    text = refusal(small, layout, files, source=archive)
    assert "release.zip: cut short or damaged" in text
    assert not (small / "source").exists()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("path", ["../outside", "/tmp/outside", "release/../../outside", "C:\\x"])
def test_a_zip_with_paths_that_leave_the_folder_is_refused(small, layout, path):
    files = write(small / "release", layout, release(layout))
    text = refusal(small, layout, files, source=zipped(small, path))
    assert "release.zip: refused, the path" in text
    assert not (small.parent / "outside").exists()
    assert not (small / "source").exists()


@pytest.mark.parametrize("layout", PICKLED)
def test_a_release_on_another_list_of_entities_is_refused_and_not_shifted(small, layout):
    # As 14,541 entities of FB15k-237 as released, against the 14,505 of BetaE.
    content = release(layout) | {
        "entities": dict(enumerate([*ENTITIES, "one more", "another"])),
        "relations": dict(enumerate(RELATIONS)),
    }
    text = refusal(small, layout, write(small / "release", layout, content))
    assert text.startswith("entities.pkl: 8 entities, but the graph has 6")
    assert "cannot be shifted" in text
    content["entities"] = dict(enumerate([*ENTITIES[:4], "one more", "another"]))
    text = refusal(small, layout, write(small / "release", layout, content))
    assert "2 of its 6 entities are not in the graph (one more, another, …)" in text
