"""The whole test set of WN18RR-QA: our answers and links against the published files."""

import json
import lzma

import numpy as np
import pytest

from clqa.adjacencies import split_view
from clqa.answers import missing_links, split_answers
from clqa.formulas import parse
from clqa.graphs import SPLITS, make_graph
from clqa.pickles import read_pickle
from clqa.plans import plan
from test_formulas import SHAPES

STRUCTURES = {
    ("e", ("r",)): "1p",
    ("e", ("r", "r")): "2p",
    ("e", ("r", "r", "r")): "3p",
    (("e", ("r",)), ("e", ("r",))): "2i",
    (("e", ("r",)), ("e", ("r",)), ("e", ("r",))): "3i",
    (("e", ("r", "r")), ("e", ("r",))): "pi",
    ((("e", ("r",)), ("e", ("r",))), ("r",)): "ip",
    (("e", ("r",)), ("e", ("r", "n"))): "2in",
    (("e", ("r",)), ("e", ("r",)), ("e", ("r", "n"))): "3in",
    ((("e", ("r",)), ("e", ("r", "n"))), ("r",)): "inp",
    (("e", ("r", "r")), ("e", ("r", "n"))): "pin",
    (("e", ("r", "r", "n")), ("e", ("r",))): "pni",
    (("e", ("r",)), ("e", ("r",)), ("u",)): "2u",
    ((("e", ("r",)), ("e", ("r",)), ("u",)), ("r",)): "up",
}

# Hard answers by the fewest missing links, and retracted answers of all queries (facts of the set).
LINKS = {
    "1p": {1: 5848},
    "2p": {1: 4875, 2: 91},
    "3p": {1: 9506, 2: 236},
    "2i": {1: 1208, 2: 9},
    "3i": {1: 972, 2: 42},
    "pi": {1: 2341, 2: 1373, 3: 48},
    "ip": {1: 6762, 2: 211, 3: 4},
    "2in": {1: 3530},
    "3in": {1: 1538, 2: 20},
    "inp": {1: 8028, 2: 97},
    "pin": {1: 9262, 2: 61},
    "pni": {1: 4184},
    "2u": {1: 4451},
    "up": {1: 7775, 2: 67},
}
RETRACTED = {"2in": 1044, "3in": 1007, "inp": 28159, "pin": 1266, "pni": 1557}


def unpacked(path, folder):
    target = folder / path.stem
    target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


@pytest.fixture(scope="module")
def view(data):
    folder = data / "kg" / "wn18rr-betae"
    triples = {}
    for split in SPLITS:
        with lzma.open(folder / f"{split}.txt.xz", "rt") as lines:
            triples[split] = np.loadtxt(lines, np.int32)
    return split_view(make_graph(triples, np.arange(22) ^ 1, 40_559, "given"), "test")


@pytest.fixture(scope="module")
def published(data, tmp_path_factory):
    """Grounded queries by shape, with easy and hard answers by query."""
    folder, target = data / "queries" / "wn18rr-qa-test", tmp_path_factory.mktemp("published")
    queries, easy, hard = (
        read_pickle(unpacked(folder / f"test-{name}.pkl.xz", target))
        for name in ("queries", "easy-answers", "hard-answers")
    )
    return {STRUCTURES[key]: sorted(rows, key=repr) for key, rows in queries.items()}, easy, hard


def grounding(query):
    """Entities and relations of a nested tuple in reading order; signs below 0 are operators."""
    if isinstance(query, int):
        return [query], []
    if all(isinstance(part, int) for part in query):
        return [], [part for part in query if part >= 0]
    parts = [grounding(part) for part in query]
    anchors, relations = ([i for part in parts for i in part[kind]] for kind in (0, 1))
    return anchors, relations


@pytest.mark.parametrize("shape", LINKS)
def test_answers_and_links_equal_the_published_set(shape, view, published, data):
    queries, easy, hard = published
    batch, steps = queries[shape], plan(parse(SHAPES[shape]))
    anchors, relations = map(np.array, zip(*map(grounding, batch), strict=True))
    found = split_answers(steps, view, anchors, relations)
    for place, query in enumerate(batch):
        assert found.easy.row(place).tolist() == sorted(easy[query])
        assert found.hard.row(place).tolist() == sorted(hard[query])
    manifest = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    golden = next(e for e in manifest["entries"] if e["name"] == "wn18rr-qa-test")["golden"][shape]
    assert golden["queries"] == len(batch)
    assert golden["sum_easy"] == len(found.easy.values)
    assert golden["sum_hard"] == len(found.hard.values)
    assert golden["max_hard"] == found.hard.lengths().max()
    assert golden["queries_without_easy"] == (found.easy.lengths() == 0).sum()
    assert RETRACTED.get(shape, 0) == len(found.retracted.values)
    links = missing_links(steps, view, anchors, relations, found.hard)
    assert dict(zip(*np.unique(links, return_counts=True), strict=True)) == LINKS[shape]


def test_the_published_set_has_18356_queries_of_14_shapes(published):
    assert sum(map(len, published[0].values())) == 18_356
    assert set(published[0]) == set(LINKS)
