"""One vocabulary, declared rules, counts of everything: graphs built from small files by hand."""

import json
import lzma
import pickle
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from build_graph import build_graph
from clqa.errors import InputError
from clqa.graphs import Graph, read_graph
from clqa.inverses import added
from download_graph import download_graph

SPLITS = ("train", "valid", "test")


class Built(NamedTuple):
    graph: Graph
    entities: list[str]
    relations: list[str]
    summary: dict
    folder: Path


def lines_of(path):
    text = path.read_bytes().decode()
    pairs = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    assert [int(number) for number, _ in pairs] == list(range(len(pairs)))
    return [label for _, label in pairs]


def build(folder, files, graph="g", **rules):
    """Build from files (name to text or bytes) written to a folder, through both stages."""
    source = folder / "files"
    source.mkdir(exist_ok=True)
    for name, content in files.items():
        (source / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    roles = {name.partition(".")[0]: name for name in files}
    return build_entry(
        folder, {"source": {"kind": "path", "folder": "files"}, "files": roles}, graph, **rules
    )


def build_entry(folder, entry, graph="g", **rules):
    entry = entry | rules
    out = folder / "out"
    download_graph(out / "source", entry, graph, folder, folder / "downloads")
    names = ("graph.npz", "entities.tsv", "relations.tsv", "summary.json")
    paths = [out / name for name in names]
    build_graph(out / "source", entry, graph, *paths)
    return Built(
        read_graph(paths[0]),
        lines_of(paths[1]),
        lines_of(paths[2]),
        json.loads(paths[3].read_text()),
        out,
    )


def tsv(text):
    """Triples written as `a r b, c s d` as the lines of a file."""
    triples = (triple.split() for triple in text.split(",") if triple.strip())
    return "".join("\t".join(triple) + "\n" for triple in triples)


def texts(train, valid="", test=""):
    return {"train.txt": tsv(train), "valid.txt": tsv(valid), "test.txt": tsv(test)}


LIKES = texts("u likes v, v likes w", "w hates u", "x likes u")


def test_one_vocabulary_serves_all_splits(tmp_path):
    built = build(tmp_path, LIKES, inverses="none")
    assert built.entities == ["u", "v", "w", "x"]
    assert built.relations == ["hates", "likes"]
    assert built.graph.triples["test"].tolist() == [[3, 1, 0]]
    assert built.graph.triples["valid"].tolist() == [[2, 0, 0]]


def test_ids_of_first_appearance_follow_the_files(tmp_path):
    built = build(tmp_path, LIKES, ids="first-appearance", inverses="none")
    assert built.entities == ["u", "v", "w", "x"]
    assert built.relations == ["likes", "hates"]
    files = texts("z r b", "a s b", "c r a")
    built = build(tmp_path, files, ids="first-appearance", inverses="none")
    assert built.entities == ["z", "b", "a", "c"]


def test_a_label_may_be_an_entity_and_a_relation(tmp_path):
    files = texts("a b c, b a c")
    built = build(tmp_path, files, ids="first-appearance", inverses="none")
    assert (built.entities, built.relations) == (["a", "c", "b"], ["b", "a"])
    assert built.graph.triples["train"].tolist() == [[0, 0, 1], [2, 1, 1]]


def test_columns_may_come_in_any_order(tmp_path):
    usual = build(tmp_path, LIKES)
    turned = {
        name: "".join(
            "\t".join((r, t, h)) + "\n"
            for h, r, t in (line.split("\t") for line in text.splitlines())
        )
        for name, text in LIKES.items()
    }
    other = build(tmp_path, turned, columns=["relation", "tail", "head"])
    assert other.graph.hash == usual.graph.hash
    assert other.summary["splits"]["test"]["first"] == ["x", "likes", "u"]


def test_line_ends_of_another_system_make_the_same_graph(tmp_path):
    other = {name: text.replace("\n", "\r\n") for name, text in LIKES.items()}
    assert build(tmp_path, other).graph.hash == build(tmp_path, LIKES).graph.hash


@pytest.mark.parametrize("ids", ["sorted", "first-appearance"])
def test_labels_that_look_like_missing_values_or_numbers_stay(tmp_path, ids):
    labels = ["", "007", "7", "NA", "nan", " x", "x ", "x", '"x"', "True"]
    labels = [label for label in labels if label]
    files = {
        "train.txt": "".join(f"{label}\tr\tx\n" for label in labels),
        "valid.txt": "nan\tr\tNA\n",
        "test.txt": "007\tr\t7\n",
    }
    built = build(tmp_path, files, ids=ids)
    assert set(built.entities) == set(labels)
    assert len(built.entities) == len(labels)
    assert ids != "sorted" or built.entities == sorted(labels)


UNSEEN = texts("a r b, b r c, c s a", "a s c, d r a", "b s a, b r e, e s f")


def test_unseen_entities_are_kept_and_counted(tmp_path):
    summary = build(tmp_path, UNSEEN, unseen="keep").summary
    assert summary["entities"] == 6
    assert summary["unseen"]["first_entities"] == ["d", "e", "f"]
    assert [summary["splits"][split]["lines_dropped"] for split in SPLITS] == [0, 0, 0]
    assert [summary["splits"][split]["unseen_entities"] for split in SPLITS] == [0, 1, 2]
    assert [summary["splits"][split]["lines_with_unseen"] for split in SPLITS] == [0, 1, 2]


def test_unseen_entities_are_dropped_with_their_triples(tmp_path):
    built = build(tmp_path, UNSEEN, unseen="drop")
    assert built.entities == ["a", "b", "c"]
    assert [built.summary["splits"][split]["lines_dropped"] for split in SPLITS] == [0, 1, 2]
    assert [built.summary["splits"][split]["triples"] for split in SPLITS] == [3, 1, 1]
    assert built.summary["unseen"]["entities"] == 3


def test_unseen_entities_are_an_error_on_request(tmp_path):
    with pytest.raises(InputError, match=r"^graph g: .*3 entities \(d, e, f\) that train"):
        build(tmp_path, UNSEEN, unseen="error")
    assert not (tmp_path / "out/graph.npz").exists()


def test_unseen_relations_are_treated_like_entities(tmp_path):
    files = texts("a r b", "b s a", "a r a")
    assert build(tmp_path, files, unseen="drop", inverses="none").relations == ["r"]
    with pytest.raises(InputError, match=r"1 relations \(s\)"):
        build(tmp_path, files, unseen="error")


def test_repeated_triples_are_counted_within_and_across_splits(tmp_path):
    built = build(tmp_path, texts("0 r 1, 0 r 1", "0 r 1", "0 r 1, 0 r 2"))
    train, valid, test = (built.summary["splits"][split] for split in SPLITS)
    assert (train["lines"], train["lines_repeated"], train["triples"]) == (2, 1, 1)
    assert valid["triples_in_earlier_splits"] == {"train": 1}
    assert test["triples_in_earlier_splits"] == {"train": 1, "valid": 1}
    assert (test["triples"], test["queries_1p"], test["pairs_1p"]) == (2, 2, 2)


def test_the_only_hard_answer_is_the_one_that_train_does_not_have(tmp_path):
    test = build(tmp_path, texts("0 r 1", "", "0 r 1, 0 r 2"), inverses="none").summary["splits"][
        "test"
    ]
    assert test["triples_in_earlier_splits"]["train"] == 1
    assert (test["queries_1p"], test["pairs_1p"]) == (1, 1)


def test_one_hop_queries_are_counted(tmp_path):
    train = build(tmp_path, texts("a r b, a r c, d r b")).summary["splits"]["train"]
    assert train["triples"] == 3
    assert train["edges"] == 6
    assert train["queries_1p"] == 4
    assert train["pairs_1p"] == 6


def test_added_inverses_make_the_two_hop_groundings_of_the_example(tmp_path):
    built = build(tmp_path, texts("a r b, c r b, a s d"))
    assert built.relations == ["r", "s", "r^-1", "s^-1"]
    assert built.graph.inverse.tolist() == [2, 3, 0, 1]
    edges = {tuple(row) for row in built.graph.triples["train"].tolist()}
    assert len(edges) == 6
    groundings = {(h, r, s) for h, r, m in edges for m2, s, _ in edges if m2 == m}
    undone = {
        grounding for grounding in groundings if grounding[2] == built.graph.inverse[grounding[1]]
    }
    named = {
        (built.entities[h], built.relations[r], built.relations[s])
        for h, r, s in groundings - undone
    }
    assert (len(groundings), len(undone)) == (7, 5)
    assert named == {("b", "r^-1", "s"), ("d", "s^-1", "r")}


def test_inverses_are_not_added_twice():
    rows = {"train": np.array([[0, 0, 1], [0, 0, 2], [3, 0, 1]], np.int32)}
    once, inverse = added(rows, np.array([-1], np.int32))
    twice, inverse_again = added(once, inverse)
    assert len(once["train"]) == 6
    assert twice["train"].tolist() == once["train"].tolist()
    assert inverse_again.tolist() == inverse.tolist() == [1, 0]


def test_evaluation_triples_are_counted_once(tmp_path):
    summary = build(tmp_path, texts("a r b, a r c, d r b", "a r a", "d r c")).summary
    assert [summary["splits"][split]["triples"] for split in SPLITS] == [3, 1, 1]
    assert (summary["relations"], summary["relations_with_inverses"]) == (1, 2)


@pytest.mark.parametrize("names", ["+r -r", "r r_reverse", "r r_inv", "r r^-1"])
def test_stored_inverses_are_found_by_their_names(tmp_path, names):
    r, s = names.split()
    files = texts(f"a {r} b, b {s} a, a {r} c, c {s} a", f"b {r} c, c {s} b", f"c {r} a, a {s} c")
    built = build(tmp_path, files, inverses="stored", ids="first-appearance")
    assert built.relations == [r, s]
    assert built.graph.inverse.tolist() == [1, 0]
    assert [built.summary["splits"][split]["triples"] for split in SPLITS] == [2, 1, 1]
    assert built.summary["splits"]["train"]["edges"] == 4
    assert built.summary["relations"] == 1


def test_a_stored_inverse_that_is_missing_is_named(tmp_path):
    files = texts("a +r b, b -r a", "b +r c, c -r b", "c +r a")
    with pytest.raises(InputError, match=r"test holds \(c, \+r, a\) and not \(a, -r, c\)"):
        build(tmp_path, files, inverses="stored")


def test_relations_without_partners_are_not_stored_inverses(tmp_path):
    with pytest.raises(InputError, match=r"^graph g: inverses: stored, but the labels"):
        build(tmp_path, texts("a +r b, b -r a, a s b"), inverses="stored")


def test_adding_to_a_graph_that_has_its_inverses_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"'\+r' has its inverse '-r' already; set inverses: stored"
    ):
        build(tmp_path, texts("a +r b, b -r a", "b +r c, c -r b"), inverses="add")
    with pytest.raises(InputError, match=r"'r' has its inverse 'r\^-1' already"):
        build(tmp_path, texts("a r b, a r^-1 c"), inverses="add")


@pytest.mark.parametrize("names", ["+r -r", "r r_reverse", "r r_inv", "r r^-1"])
def test_adding_to_a_graph_that_has_some_inverses_is_refused(tmp_path, names):
    r, s = names.split()
    files = texts(f"a {r} b, b {s} a, a q b", f"b {r} c")
    with pytest.raises(InputError, match=r"has its inverse .* already; set inverses: stored"):
        build(tmp_path, files, inverses="add")


def test_names_alone_do_not_make_inverses(tmp_path):
    built = build(tmp_path, texts("a +r b, c -r d"), inverses="add")
    assert built.relations == ["+r", "-r", "+r^-1", "-r^-1"]


def test_an_exported_graph_can_be_read_again(tmp_path):
    first = build(tmp_path, LIKES)
    export = {
        f"{split}.txt": "".join(
            f"{first.entities[h]}\t{first.relations[r]}\t{first.entities[t]}\n"
            for h, r, t in first.graph.triples[split].tolist()
        )
        for split in SPLITS
    }
    dictionaries = {
        "entities.tsv": "".join(f"{i}\t{label}\n" for i, label in enumerate(first.entities)),
        "relations.tsv": "".join(f"{i}\t{label}\n" for i, label in enumerate(first.relations)),
    }
    second = build(tmp_path, export | dictionaries, ids="given", inverses="stored")
    assert second.graph.hash == first.graph.hash


IDS = {"train.txt": "0\t0\t1\n1\t1\t0\n", "valid.txt": "2\t0\t0\n0\t1\t2\n", "test.txt": ""}
GIVEN = {"fields": "ids", "ids": "given", "inverses": "stored"}


def as_pickles(entities, relations):
    return {"entities.pkl": pickle.dumps(entities), "relations.pkl": pickle.dumps(relations)}


@pytest.mark.parametrize(
    "dictionaries",
    [
        as_pickles({0: "x", 1: "a", 2: "m"}, {0: "+r", 1: "-r"}),
        as_pickles({"x": 0, "a": 1, "m": 2}, {"-r": 1, "+r": 0}),
        {"entities.tsv": "2\tm\n0\tx\n1\ta\n", "relations.tsv": "0\t+r\r\n1\t-r\r\n"},
    ],
    ids=["pickles by id", "pickles by label", "lines in any order"],
)
def test_given_ids_come_from_the_dictionaries(tmp_path, dictionaries):
    built = build(tmp_path, IDS | dictionaries, **GIVEN)
    assert built.entities == ["x", "a", "m"]
    assert built.relations == ["+r", "-r"]
    assert built.graph.triples["valid"].tolist() == [[0, 1, 2], [2, 0, 0]]
    assert built.summary["splits"]["train"]["first"] == ["0", "0", "1"]
    assert built.summary["unseen"]["first_entities"] == ["2"]


PAIR = {"relations.tsv": "0\t+r\n1\t-r\n"}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"entities.tsv": "0\tx\n1\ta\n"}, r"valid\.txt:1: '2' is not in entities\.tsv.*0 to 1"),
        (
            {"entities.tsv": "0\tx\n1\ta\n3\tm\n"},
            r"entities\.tsv: ids must be 0 to 2.*2 is missing",
        ),
        ({"entities.tsv": "0\tx\n1\ta\n1\tm\n"}, r"entities\.tsv: ids must be 0 to 2"),
        ({"entities.tsv": "0\tx\n1\ta\nb\tm\n"}, r"entities\.tsv: ids must be 0 to 2"),
        ({"entities.tsv": "0\tx\n1\ta\n2\tx\n"}, r"entities\.tsv: 2 ids have the label 'x'"),
        ({"entities.tsv": "0\n"}, r"entities\.tsv:1: expected 2 tab-separated fields, found 1"),
        ({"entities.pkl": pickle.dumps([1])}, r"entities\.pkl: expected a dict of ids and labels"),
        ({"entities.pkl": pickle.dumps({0: "a\tb"})}, r"entities\.pkl: the label .* holds a tab"),
    ],
)
def test_what_is_wrong_with_a_dictionary_is_told(tmp_path, files, message):
    with pytest.raises(InputError, match=message):
        build(tmp_path, IDS | PAIR | files, **GIVEN)


@pytest.mark.parametrize("field", ["-1", "01", "1.0", "x", " 1", "99999999999999999999"])
def test_ids_are_plain_numbers(tmp_path, field):
    files = {"entities.tsv": "0\tx\n1\ta\n2\tm\n", "test.txt": f"0\t0\t1\n1\t0\t{field}\n"}
    with pytest.raises(InputError, match=rf"test\.txt:2: '{field}' is not in entities\.tsv"):
        build(tmp_path, IDS | PAIR | files, **GIVEN)


def test_dropping_unseen_entities_keeps_given_ids(tmp_path):
    files = IDS | PAIR | {"entities.tsv": "0\tx\n1\ta\n2\tm\n"}
    built = build(tmp_path, files, **GIVEN, unseen="drop")
    assert built.graph.n_entities == 3
    assert len(built.graph.triples["valid"]) == 0
    assert built.summary["splits"]["valid"]["lines_dropped"] == 2


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"entities": 5}, "the catalogue's fact entities is 5, the files give 4"),
        ({"relations": 1}, "fact relations is 1, the files give 2"),
        ({"triples": {"train": 2, "test": 3}}, r"fact triples\.test is 3, the files give 1"),
        ({"first": {"train": ["v", "likes", "w"]}}, r"fact first\.train is \['v', 'likes', 'w'\]"),
        ({"last": {"valid": ["w", "hates", "v"]}}, r"fact last\.valid"),
    ],
)
def test_a_graph_that_is_not_what_the_facts_say_is_refused(tmp_path, facts, message):
    with pytest.raises(InputError, match=message):
        build(tmp_path, LIKES, facts=facts)
    assert not (tmp_path / "out/graph.npz").exists()


def test_facts_that_hold_are_passed_over(tmp_path):
    first = {"train": ["u", "likes", "v"]}
    build(tmp_path, LIKES, facts={"entities": 4, "triples": {"train": 2}, "first": first})


def test_a_source_file_that_changed_is_refused(tmp_path):
    built = build(tmp_path, LIKES)
    with (built.folder / "source/train.txt").open("a") as stream:
        stream.write("u\tlikes\tu\n")
    entry = {
        "source": {"kind": "path", "folder": "files"},
        "files": {s: f"{s}.txt" for s in SPLITS},
    }
    with pytest.raises(InputError, match=r"train\.txt: changed since it came, wrong checksum"):
        build_graph(built.folder / "source", entry, "g", *(tmp_path / name for name in "abcd"))


def test_messages_call_files_by_the_names_that_the_user_gave(tmp_path):
    (tmp_path / "mine.tsv").write_text("a\tr\tb\na\tr\n")
    files = dict.fromkeys(SPLITS, "mine.tsv")
    entry = {"source": {"kind": "path", "folder": "."}, "files": files}
    with pytest.raises(InputError, match=r"^mine\.tsv:2: expected 3"):
        build_entry(tmp_path, entry)


def test_train_without_triples_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"train\.txt: holds no triples"):
        build(tmp_path, texts("", "a r b"))


def test_the_same_files_give_the_same_bytes(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        build(folder, UNSEEN)
    names = sorted(path.relative_to(folders[0]) for path in folders[0].rglob("*") if path.is_file())
    assert len(names) == 11
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


def test_other_labels_are_another_vocabulary(tmp_path):
    one = build(tmp_path, texts("a r b, b s c")).graph
    two = build(tmp_path, texts("a r b, b s d")).graph
    assert one.vocabulary != two.vocabulary
    assert one.hash != two.hash


# Numbers of one-hop queries and of triples as the publications state them (BetaE, WN18RR-QA).
PUBLISHED = {
    "fb15k-237-betae": (237, (272_115, 17_526, 20_438), (149_689, 20_101, 22_812)),
    "nell995-betae": (200, (114_213, 14_324, 14_267), (107_982, 16_927, 17_034)),
    "wn18rr-betae": (11, (86_835, 2_824, 2_924), (None, 5_202, 5_356)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_graphs_have_the_published_sizes(data, tmp_path, name):
    relations, triples, queries = PUBLISHED[name]
    manifest = json.loads((data / "manifest.json").read_text())
    known = next(entry for entry in manifest["entries"] if entry["name"] == name)
    files = {split: f"{split}.txt" for split in SPLITS}
    files |= {"entities": "id2ent.tsv", "relations": "id2rel.tsv"}
    checked = {
        role: {"path": file, "sha256": known["files"][f"kg/{name}/{file}.xz"]["sha256"]}
        for role, file in files.items()
    }
    entry = {"source": {"kind": "path", "folder": str(data / "kg" / name)}, "files": checked}
    built = build_entry(tmp_path, entry | GIVEN)
    assert built.graph.n_entities == known["entities"]
    assert built.graph.n_relations == known["relations"] == 2 * relations
    for split, n_triples, n_queries in zip(SPLITS, triples, queries, strict=True):
        counts = built.summary["splits"][split]
        assert counts["edges"] == known["splits"][split]["distinct"] == 2 * n_triples
        assert counts["triples"] == n_triples
        assert counts["queries_1p"] == n_queries or n_queries is None
        assert counts["unseen_entities"] == 0
        assert set(counts["triples_in_earlier_splits"].values()) <= {0}


@pytest.mark.parametrize("name", ["wn18rr", "fb15k-237", "family", "countries_s1"])
def test_graphs_of_labels_have_the_sizes_of_the_manifest(data, tmp_path, name):
    manifest = json.loads((data / "manifest.json").read_text())
    known = next(entry for entry in manifest["entries"] if entry["name"] == name)
    entry = {
        "source": {"kind": "path", "folder": str(data / "kg" / name)},
        "files": {split: f"{split}.txt.xz" for split in SPLITS},
    }
    summary = build_entry(tmp_path, entry).summary
    assert summary["entities"] == known["entities"]
    assert summary["relations"] == known["relations"]
    for split in SPLITS:
        counts, expected = summary["splits"][split], known["splits"][split]
        assert counts["lines"] == expected["triples"]
        assert counts["triples"] == expected["distinct"]
        assert counts["unseen_entities"] == expected.get("entities_not_in_train", 0)


def test_the_numbering_of_betae_comes_from_first_appearance(data, tmp_path):
    entry = {
        "source": {"kind": "path", "folder": str(data / "kg/wn18rr")},
        "files": {split: f"{split}.txt" for split in SPLITS},
    }
    built = build_entry(tmp_path, entry, ids="first-appearance", unseen="drop", inverses="none")
    with lzma.open(data / "kg/wn18rr-betae/id2ent.tsv.xz", "rt", encoding="utf-8") as stream:
        assert built.entities == [line.rstrip("\n").split("\t")[1] for line in stream]
    with lzma.open(data / "kg/wn18rr-betae/id2rel.tsv.xz", "rt", encoding="utf-8") as stream:
        betae = [line.rstrip("\n").split("\t")[1] for line in stream]
    assert ["+" + label for label in built.relations] == betae[::2]
    assert [built.summary["splits"][split]["lines_dropped"] for split in SPLITS] == [0, 210, 210]


def test_the_files_of_wn18rr_qa_make_the_graph_of_its_twin(data, tmp_path):
    """Pickles and CRLF against lines and LF: the same ids and triples."""
    folder = tmp_path / "qa"
    folder.mkdir()
    names = [f"{split}.txt" for split in SPLITS] + ["id2ent.pkl", "id2rel.pkl"]
    for name in names:
        shutil.copy(data / f"queries/wn18rr-qa-test/{name}.xz", folder)
    files = dict(zip((*SPLITS, "entities", "relations"), names, strict=True))
    pickled = build_entry(
        tmp_path, {"source": {"kind": "path", "folder": "qa"}, "files": files} | GIVEN
    )
    files |= {"entities": "id2ent.tsv", "relations": "id2rel.tsv"}
    twin = {"source": {"kind": "path", "folder": str(data / "kg/wn18rr-betae")}, "files": files}
    assert build_entry(tmp_path, twin | GIVEN).graph.hash == pickled.graph.hash
