"""Every graph of the catalogue: a sound entry, checksums, and facts that hold."""

import json
import lzma
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from build_graph import build_graph
from clqa import graph_entries
from clqa.checksums import mismatch
from clqa.configs import read_catalogue, read_yaml, validated
from clqa.downloads import drop_path
from clqa.errors import InputError
from clqa.graph_entries import archive_of, complete_entry, files_of
from clqa.graph_sources import EMBEDDED
from clqa.graphs import read_graph
from download_graph import download_graph

ROOT = Path(__file__).resolve().parents[1]
SPLITS = ("train", "valid", "test")
FILES = {split: f"{split}.tsv" for split in SPLITS}
SCHEMA = read_yaml(ROOT / "workflow/schemas/graphs.schema.yaml")
ENTRIES = read_catalogue("graphs", [str(ROOT / "config")], SCHEMA).entries
EMBEDDED_GRAPHS = [name for name, one in ENTRIES.items() if one["source"]["kind"] == "embedded"]
PUBLISHED_GRAPHS = {
    "FB15k-237": "fb15k-237-betae",
    "FB15k-237-raw": "fb15k-237",
    "NELL995": "nell995-betae",
    "WN18RR": "wn18rr",
    "umls": "umls",
    "kinships": "kinships",
    "nations": "nations",
}


def build(entry, graph, folder, catalogue=ROOT / "config"):
    download_graph(folder / "source", entry, graph, catalogue, folder / "downloads")
    names = ("graph.npz", "entities.tsv", "relations.tsv", "summary.json")
    build_graph(folder / "source", entry, graph, *(folder / name for name in names))
    return json.loads((folder / "summary.json").read_text())


def test_the_catalogue_has_the_graphs_of_the_field():
    assert {"umls", "kinships", "nations", "FB15k", "FB15k-237", "NELL995"} <= ENTRIES.keys()
    assert {"WN18RR", "WN18RR-QA", "FB15k-237-raw"} <= ENTRIES.keys()
    assert {"FB15k-237+H", "NELL995+H", "ICEWS18+H"} <= ENTRIES.keys()


@pytest.mark.parametrize("graph", ENTRIES)
def test_the_keys_of_an_entry_go_together(graph):
    entry = complete_entry(graph, ENTRIES[graph])
    assert {*SPLITS} <= files_of(entry).keys()


@pytest.mark.parametrize("graph", ENTRIES)
def test_an_entry_has_facts_or_says_why_not(graph):
    facts = ENTRIES[graph]["facts"]
    assert facts.get("unknown") or {"entities", "relations", "triples"} <= facts.keys()


@pytest.mark.parametrize("graph", ENTRIES)
def test_every_file_of_an_entry_is_covered_by_a_checksum(graph):
    entry = ENTRIES[graph]
    archive = archive_of(entry)
    # Of this one archive no checksum is published; the receipt records what came.
    is_open = archive is not None and archive.name == "WikiTopics_QE.zip" and archive.unknown
    covered = archive is not None and (archive.is_pinned or is_open)
    assert covered or all(item.is_pinned for item in files_of(entry).values())


@pytest.mark.parametrize("graph", EMBEDDED_GRAPHS)
def test_an_embedded_graph_is_what_its_facts_say(graph, tmp_path):
    facts = ENTRIES[graph]["facts"]
    summary = build(ENTRIES[graph], graph, tmp_path)
    assert summary["entities"] == facts["entities"]
    assert summary["relations"] == facts["relations"]
    for split in SPLITS:
        path = EMBEDDED / ENTRIES[graph]["source"]["folder"] / f"{split}.txt"
        lines = [line.split("\t") for line in path.read_text().splitlines()]
        assert facts["first"][split] == lines[0]
        assert facts["last"][split] == lines[-1]
        assert facts["triples"][split] == len({tuple(line) for line in lines})


def test_the_licence_of_the_embedded_graphs_lies_beside_them():
    assert "MIT License" in (EMBEDDED / "LICENSE").read_text()
    assert "PyKEEN Project Team" in (EMBEDDED / "AUTHORS.md").read_text()
    assert "pykeen-1.11.1" in (EMBEDDED / "README.md").read_text()


@pytest.mark.parametrize("graph", PUBLISHED_GRAPHS)
def test_checksums_and_facts_are_those_of_the_published_files(data, graph):
    manifest = json.loads((data / "manifest.json").read_text())
    name = PUBLISHED_GRAPHS[graph]
    known = next(entry for entry in manifest["entries"] if entry["name"] == name)
    half = 2 if known["inverse_triples_included"] else 1
    facts = ENTRIES[graph]["facts"]
    assert facts["entities"] == known["entities"]
    assert facts["relations"] == known["relations"] // half
    for split in SPLITS:
        item, file = files_of(ENTRIES[graph])[split], known["files"][f"kg/{name}/{split}.txt.xz"]
        assert (item.sha256, item.size) == (file["sha256"], file["bytes"])
        assert facts["triples"][split] == known["splits"][split]["distinct"] // half


@pytest.mark.parametrize(
    ("graph", "folder"),
    [
        ("WN18RR", "kg/wn18rr"),
        ("WN18RR-QA", "queries/wn18rr-qa-test"),
        ("FB15k-237-raw", "kg/fb15k-237"),
    ],
)
def test_an_entry_builds_from_local_files_under_its_checksums(data, tmp_path, graph, folder):
    summary = build(ENTRIES[graph] | {"local": str(data / folder)}, graph, tmp_path)
    assert summary["entities"] == ENTRIES[graph]["facts"]["entities"]


def test_published_files_put_by_hand_make_the_graph_without_network(data, tmp_path):
    """Each file of WN18RR-QA where a failed download would say to put it."""
    entry = ENTRIES["WN18RR-QA"]
    for item in files_of(entry).values():
        path = drop_path(item, tmp_path / "downloads")
        path.parent.mkdir(parents=True)
        source = data / "queries/wn18rr-qa-test" / f"{item.name}.xz"
        path.write_bytes(lzma.decompress(source.read_bytes()))
        assert mismatch(path, item) is None
    assert build(entry, "WN18RR-QA", tmp_path)["relations_with_inverses"] == 22


FIVE_LINES = """
my-graph:
  source: { kind: path, folder: data/my }
  files: { train: train.tsv, valid: valid.tsv, test: test.tsv }
"""


def test_a_graph_of_ones_own_takes_five_lines(tmp_path):
    assert len(FIVE_LINES.strip().splitlines()) <= 5
    (tmp_path / "graphs.yaml").write_text(FIVE_LINES)
    (tmp_path / "data/my").mkdir(parents=True)
    for split, text in zip(SPLITS, ("b\tr\ta\n", "a\tr\tc\n", "c\tr\tb\n"), strict=True):
        (tmp_path / f"data/my/{split}.tsv").write_text(text)
    catalogue = read_catalogue("graphs", [str(tmp_path)], SCHEMA)
    entry, folder = catalogue.entries["my-graph"], catalogue.folders["my-graph"]
    summary = build(entry, "my-graph", tmp_path / "out", folder)
    assert (summary["entities"], summary["relations_with_inverses"]) == (3, 2)
    graph = read_graph(tmp_path / "out/graph.npz")
    assert graph.triples["train"].tolist() == [[0, 1, 1], [1, 0, 0]]
    assert np.array_equal(graph.inverse, [1, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colums": ["head"]}, "unknown key colums"),
        ({"ids": "alphabetical"}, "unknown value alphabetical.*known: sorted, first-appearance"),
        ({"inverses": True}, "known: add, stored, offset, none"),
        ({"files": FILES | {"train": {"path": "a", "sha": "b"}}}, "unknown key sha"),
        ({"files": FILES | {"train": {"path": "a", "sha256": "b"}}}, "64 hexadecimal digits"),
        ({"files": FILES | {"tain": "a"}}, "unknown value tain.*known: train, valid, test"),
        ({"files": {"train": "a", "valid": "b"}}, "the key test is missing"),
        ({"source": {"kind": "ftp"}}, "unknown value ftp.*known: embedded, path, package, urls"),
        ({"source": {"kind": "path"}}, "the key folder is missing"),
        ({"columns": ["head", "head", "tail"]}, "columns"),
        ({"facts": {"n_entities": 3}}, "unknown key n_entities"),
    ],
)
def test_the_schema_refuses_what_it_does_not_know(change, message):
    entry = yaml.safe_load(FIVE_LINES)["my-graph"]
    with pytest.raises(InputError, match=f"g.*({message})"):
        validated({"g": entry | change}, SCHEMA, "graphs.yaml")


def test_the_schema_is_a_schema_and_describes_every_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    undescribed = [path for path, part in parts(SCHEMA) if "description" not in part]
    assert not undescribed
    closed = [path for path, part in objects(SCHEMA) if "additionalProperties" not in part]
    assert not closed


def parts(schema, path=""):
    """All keys that a schema lets in, with what it says of them."""
    for key, part in schema.get("properties", {}).items():
        referred = SCHEMA["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
        yield f"{path}.{key}", referred | part
        yield from parts(part, f"{path}.{key}")
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], f"{path}.{key}")
    for key, part in schema.get("$defs", {}).items():
        yield from parts(part, key)


def objects(schema):
    return [(path, part) for path, part in parts(schema) if part.get("type") == "object"]


def test_the_defaults_of_the_schema_are_those_of_the_code():
    properties = SCHEMA["additionalProperties"]["properties"]
    defaults = {key: part["default"] for key, part in properties.items() if "default" in part}
    assert defaults == graph_entries.DEFAULTS
