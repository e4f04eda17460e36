"""Every parser of files from elsewhere: how it is called, and a good file to start from.

Whatever is in a file, it is read or refused in one line: see `outcome`. What a form protects by a
checksum, such as a member of a zip, is changed before it is packed.
"""

import collections
import gzip
import hashlib
import io
import json
import lzma
import pickle
import struct
import sys
import tarfile
import tempfile
import time
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import list_shapes
import test_tensor_files
from clqa import (
    archives,
    content_tables,
    cqd_results,
    degree_files,
    display_names,
    downloads,
    embedding_files,
    grounded_operators,
    json_objects,
    keyed_tables,
    list_files,
    operator_strings,
    outside_lists,
    outside_queries,
    outside_scores,
    pair_files,
    pickles,
    predictions,
    release_ids,
    structures,
    transfers,
    trec_files,
    triples,
    vocabularies,
)
from clqa import formulas as formula_texts
from clqa.canonical_forms import canonical
from clqa.configs import read_yaml, validated
from clqa.errors import InputError
from clqa.files import read_json, read_sealed
from clqa.graphs import make_graph, read_graph, write_graph
from clqa.id_lists import numbered_lists
from clqa.layouts import beta_e, efo_1, efok_json, neutral, plus_h, query2box, ultra_query
from clqa.outside_queries import Numbering
from clqa.outside_shards import Shard, matched
from clqa.plans import plan
from clqa.predictors import make_predictor, open_predictor, write_predictor
from clqa.query_sets import Queries, QueryTable, query_ids, set_hash, write_queries
from clqa.receipts import received
from clqa.tables import read_table, write_table
from clqa.training_states import read_state
from conftest import ROOT

SLOW = 20  # seconds of processor time, for files of at most some kilobytes
LONGEST = 2000  # characters of a message


class Parser(NamedTuple):
    """A way to read files.

    Attributes
    ----------
    read : function of a folder
        Reads the files; what it returns is thrown away, but texts in a dict are taken for messages.
    files : dict of bytes
        Good files by name; the first of them is the one that is changed.
    pack : function of bytes
        Wraps the changed content, where its form has a checksum.
    modules : tuple of str
        Whose code reads the bytes.
    """

    read: Callable[[Path], object]
    files: dict[str, bytes]
    modules: tuple[str, ...]
    pack: Callable[[bytes], bytes] = bytes


def outcome(parser: Parser, folder: Path, content: bytes | None = None) -> str | None:
    """What is said of the files with another content of the first one; None if they are read.

    Raises
    ------
    AssertionError
        If it is anything but an error of one line, or takes too long.
    """
    for name, good in parser.files.items():
        (folder / name).write_bytes(good)
    if content is not None:
        (folder / next(iter(parser.files))).write_bytes(parser.pack(content))
    started = time.process_time()
    try:
        found = parser.read(folder)
        found = found if isinstance(found, dict) else {}
        texts = [one for one in found.values() if isinstance(one, str)]
    except InputError as error:
        texts = [str(error)]
    assert time.process_time() - started < SLOW, "too slow"
    for text in texts:
        assert text, "an error without words"
        assert len(text.splitlines()) == 1, f"an error of several lines: {text!r:.300}"
        assert len(text) <= LONGEST, f"an error of {len(text)} characters: {text:.300}"
    return texts[0] if texts else None


# Small good files

ENTITIES = [f"e{number}" for number in range(6)]
RELATIONS = ["+likes", "-likes", "+knows", "-knows"]
FORMULAS = {
    "1p": formula_texts.parse("r1(s1,f)"),
    "2p": formula_texts.parse("r1(s1,e1)&r2(e1,f)"),
    "2i": formula_texts.parse("r1(s1,f)&r2(s2,f)"),
}
IDS = release_ids.own_ids(len(ENTITIES), len(RELATIONS))
LABELS = tuple(vocabularies.label_array(names) for names in (ENTITIES, RELATIONS))
ONE, TWO = ("e", ("r",)), ("e", ("r", "r"))
Q1, Q2 = (0, (0,)), (0, (0, 2))
MATRIX = np.arange(12, dtype=np.float32).reshape(2, 6)


def written(write, *names) -> bytes:
    """What a function writes to the path that it is given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, names[0] if names else "a")
        write(path)
        return path.read_bytes()


def pickled(content) -> bytes:
    return pickle.dumps(content, protocol=4)


def lines(*objects) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def array_bytes(array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


def zipped(name: str, **others: bytes) -> Callable[[bytes], bytes]:
    """Packs a content as a member of a zip, beside others."""

    def pack(content: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for member, one in {name: content, **others}.items():
                archive.writestr(member, one)
        return stream.getvalue()

    return pack


def parquet(**columns) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def tar_bytes() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a", "ä" * 120):
            info = tarfile.TarInfo(name)
            info.size = 7
            archive.addfile(info, io.BytesIO(b"content"))
    return stream.getvalue()[: 7 * 512]


def _rebuild_tensor_v2(*_):
    """Stands for the function of this name, which is not called."""


_rebuild_tensor_v2.__module__ = "torch._utils"


def checkpoint() -> tuple[bytes, bytes]:
    """The pickle of a checkpoint of PyTorch in a zip, and one of the older form as a whole."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    kept = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules |= {"torch": torch, "torch._utils": utils}
    try:
        state = collections.OrderedDict({"x.weight": test_tensor_files.Tensor("0", MATRIX)})
        older = written(lambda path: test_tensor_files.old(path, state, [*state.values()]))
        return test_tensor_files.pickled(state), older
    finally:
        for name, module in kept.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


def safetensors() -> bytes:
    header = json.dumps({"x": {"dtype": "F32", "shape": [2, 6], "data_offsets": [0, 48]}}).encode()
    return struct.pack("<Q", len(header)) + header + MATRIX.tobytes()


def some_graph():
    parts = {
        "train": np.array([[0, 0, 3], [3, 2, 4]]),
        "valid": np.empty((0, 3), int),
        "test": np.array([[0, 0, 5], [3, 2, 2]]),
    }
    hash_ = vocabularies.vocabulary_hash(*LABELS)
    return make_graph(parts, np.array([1, 0, 3, 2]), len(ENTITIES), hash_)


GRAPH = some_graph()
NAMES = query_ids(GRAPH.hash, FORMULAS["1p"], np.array([[0], [1]]), np.array([[0], [0]]))
TABLE = QueryTable(
    {"1p": Queries(NAMES, np.array([[0], [1]], np.int32), np.zeros((2, 1), np.int32))},
    {
        "graph": GRAPH.hash,
        "vocabulary": GRAPH.vocabulary,
        "queries": set_hash(NAMES),
        "n_entities": 6,
        "formulas": {"1p": "r1(s1,f)"},
        "split": "test",
        "observed": ["train", "valid"],
        "full": ["train", "valid", "test"],
    },
)
ROWS = [*map(str, NAMES)]


def shard(rows=None, counts=None) -> Shard:
    return Shard(TABLE, LABELS[0], Numbering(), rows, ("f",), counts or {})


# How they are read


def layout(read, **options):
    """Reads a release whose files are named by their roles; gives what is refused."""

    def in_folder(folder):
        files = {path.stem: path for path in folder.iterdir()}
        names = {role: path.name for role, path in files.items()}
        return read(files, names, FORMULAS, IDS, **options).refused

    return in_folder


def plus_h_files(folder):
    files = {p.name.removesuffix(".pkl"): p for p in folder.iterdir()}
    names = {role: path.name for role, path in files.items()}
    return plus_h.read(files, names, FORMULAS, IDS, "corrected").refused


def degrees(folder):
    degree_files.read_vectors({"d1": folder / "d1.tsv"}, {"d1": "d1.tsv"}, LABELS[0], {})


def index(folder):
    release_ids.release_ids({"index": folder / "a.json"}, {"index": "a.json"}, LABELS)


def dump(folder):
    predictions.open_predictions(folder / "a.npy", folder / "a.json", TABLE)


def rows_of(name):
    def read(folder):
        found, about = outside_queries.read_rows(folder / name)
        matched(shard(), shard().asked, found, "skip", folder / name)
        outside_queries.check_origin(folder / name, about, TABLE.metadata)

    return read


def scores(name, array=None):
    def read(folder):
        found = outside_scores.read_scores(folder / name, array)
        if found.shape == MATRIX.shape:
            matrices = outside_scores.Matrices([folder / name], [found], ROWS)
            list(outside_scores.blocks(matrices, np.arange(2), None, 1 << 20))

    return read


def matrix(name, array=None):
    return lambda folder: embedding_files.read_matrix(folder / name, array) is None


def best_entities(name, rows=None):
    def read(folder):
        asked = shard(rows)
        written = outside_lists.read_lists([folder / name], asked)
        matched(asked, asked.asked, written.rows, "skip", folder / name)
        found = outside_lists.checked_lists(written, asked, np.arange(len(written.rows)))
        list(outside_lists.filled_blocks(found, -1.0, 6, 1 << 20))

    return read


def lists(name):
    def read(folder):
        numbered_lists(list_files.read_lists(folder / name), without_expected="count")

    return read


def pairs(name):
    def read(folder):
        found = pair_files.read_pairs(folder / name)
        pair_files.without_repeated(found, "best")
        pair_files.read_keys(folder / name)

    return read


def trec(folder):
    numbered_lists(trec_files.read_trec(folder / "run", folder / "qrels", "ignore"))


def trec_judgements(folder):
    trec_files.read_trec(folder / "run", folder / "qrels")


def published_scores(folder):
    cqd_results.selected(cqd_results.read_results(folder), "hits@3")


def shape_list(folder):
    return list_shapes.list_shapes(folder / "a.csv")[1]


def settings_of(schema):
    """A catalogue, or a run's own file, held against its schema."""
    rules = read_yaml(ROOT / "workflow" / "schemas" / f"{schema}.schema.yaml")

    def read(folder):
        content = read_yaml(folder / "a.yaml")
        validated(content, rules, "a.yaml")

    return read


def result(name):
    def read(folder):
        content_tables.read_content(folder / name)

    return read


def keyed(folder):
    keyed_tables.read_keyed_table(folder / "a.tsv", ("a",), required=("b",))


def archive(name):
    def read(folder):
        archives.extract(folder / name, {"a": folder / "target"})

    return read


def packed(name):
    def read(folder):
        archives.decompress(folder / name, folder / "target")

    return read


def text_of(parse):
    """A parser of texts that stand in other files."""

    def read(folder):
        try:
            text = (folder / "a.txt").read_bytes().decode()
        except UnicodeDecodeError:
            return
        parse(text)

    return read


def formula(text):
    found = formula_texts.parse(text)
    canonical(found)
    plan(found)
    formula_texts.parse(formula_texts.to_text(found))


def operators(text):
    operator_strings.to_formula(operator_strings.in_order(operator_strings.parse(text)))


def structure(folder):
    found = pickles.read_pickle(folder / "a.pkl")
    structures.structure_formula(found)


def receipt(folder):
    received(folder)


def records(folder):
    downloads._record(folder / "a").get("source")
    transfers._begun("http://a/", folder / ".a.part")


def predictor(folder):
    open_predictor(folder / "a.npz", GRAPH)


BETA_E = {
    "queries.pkl": pickled({ONE: {Q1}, TWO: {Q2}}),
    "easy.pkl": pickled(collections.defaultdict(set, {Q1: {3}, Q2: {4}})),
    "hard.pkl": pickled(collections.defaultdict(set, {Q1: {5}, Q2: {2}})),
}
ULTRA = BETA_E | {
    "easy.pkl": pickled({ONE: {Q1: {3}}, TWO: {Q2: {4}}}),
    "hard.pkl": pickled({ONE: {Q1: {5}}, TWO: {Q2: {2}}}),
}
BOX = {"1c_hard.pkl": pickled({(Q1,): {5}}), "1c.pkl": pickled({(Q1,): {3, 5}})}
LINE = {"formula": "r1(s1,f)", "anchors": [0], "relations": [0], "easy": [3], "hard": [5]}
LABELLED = LINE | {"anchors": ["e0"], "relations": ["+likes"], "easy": ["e3"], "hard": ["e5"]}
EFO = (
    b"original,easy_answers,hard_answers,DNF\n"
    b'"{""o"": ""p"", ""a"": [[0], {""o"": ""e"", ""a"": [0]}]}","[3]","[5]",'
    b'"{""o"": ""p"", ""a"": [[0], {""o"": ""e"", ""a"": [0]}]}"\n'
)
EFOK = json.dumps({"r1(s1,f)": [[{"s1": 0, "r1": 0}, {"f": [[3]]}, {"f": [[5]]}]]}).encode()
PLAIN = json.dumps({"e": {e: n for n, e in enumerate(ENTITIES)}, "r": {"+likes": 0}}).encode()
INDEX = json.dumps(
    {key: {e: n for n, e in enumerate(one)} for key, one in (("e", ENTITIES), ("r", RELATIONS))}
).encode()
SIDECAR = {
    "query_ids": ROWS,
    "n_entities": 6,
    "vocabulary": GRAPH.vocabulary,
    "variables": ["f"],
    "sha256": hashlib.sha256(array_bytes(MATRIX)).hexdigest(),
}
CQD = "topk_d=FB237_e=2_2_rank=1000_k=4.json"
CQD_METRICS = json.dumps(dict.fromkeys(cqd_results.METRICS, 1)).encode()
TORCH, OLD_TORCH = checkpoint()
TSV = b"a\tb\nx\t1\ny\t2.5\n"
PAIRS = {"query": ["q", "r"], "answer": ["a", "b"], "score": [1.0, 2.0]}
QUERIES = written(lambda path: write_queries(path, TABLE.shapes, TABLE.metadata, "neutral"))
TRIPLES = b"a\tr\tb\r\nb\tr\tc\n"
RUN = b"q Q0 d1 1 2.5 x\nq Q0 d2 2 1 x\n"
TABLES = {
    "expected": [["a"], ["b"]],
    "query": ["q", "r"],
    "returned": [["a", "c"], ["b"]],
    "scores": [[1.0, 0.5], [2.0]],
}


def yaml_of(kind) -> bytes:
    """Some entries of a catalogue of the workflow's own."""
    text = (ROOT / "config" / f"{kind}.yaml").read_text(encoding="utf-8")
    return text[: text.find("\n\n", 1500) if len(text) > 1500 else None].encode()


def catalogue(kind):
    return Parser(settings_of(kind), {"a.yaml": yaml_of(kind)}, ("configs",))


PARSERS = {
    "pickle": Parser(
        lambda folder: pickles.read_pickle(folder / "a.pkl") is None,
        {"a.pkl": pickled({"a": {(1, (2,)): [3, frozenset({4})]}})},
        ("pickles",),
    ),
    "structure": Parser(structure, {"a.pkl": pickled((ONE, ONE, ("u",)))}, ("pickles",)),
    "beta-e": Parser(layout(beta_e.read), BETA_E, ("pickles", "layouts.beta_e")),
    "beta-e-hard": Parser(layout(beta_e.read), dict(reversed(BETA_E.items())), ("pickles",)),
    "ultra-query": Parser(layout(ultra_query.read), ULTRA, ("pickles",)),
    "ultra-query-hard": Parser(
        layout(ultra_query.read), dict(reversed(ULTRA.items())), ("pickles",)
    ),
    "query2box": Parser(layout(query2box.read), BOX, ("pickles",)),
    "plus-h": Parser(
        plus_h_files,
        {"reductions.2p.1p.test-hard-answers.pkl": pickled({Q2: {2}}), **BETA_E},
        ("pickles",),
    ),
    "neutral": Parser(layout(neutral.read), {"queries.jsonl": lines(LINE)}, ("layouts.neutral",)),
    "neutral-labels": Parser(
        layout(neutral.read, labels=LABELS),
        {"queries.jsonl": lines(LABELLED)},
        ("layouts.neutral",),
    ),
    "neutral-table": Parser(
        layout(neutral.read), {"queries.parquet": QUERIES}, ("tables", "query_sets")
    ),
    "efo-1": Parser(layout(efo_1.read), {"1p.csv": EFO}, ("layouts.efo_1", "grounded_operators")),
    "efok-json": Parser(layout(efok_json.read), {"1p.json": EFOK}, ("json_objects",)),
    "index": Parser(index, {"a.json": INDEX}, ("json_objects",)),
    "object": Parser(
        lambda folder: json_objects.read_object(folder / "a.json", "a.json") is None,
        {"a.json": PLAIN},
        ("json_objects",),
    ),
    "labels": Parser(
        lambda folder: vocabularies.read_labels(folder / "a.tsv") is None,
        {"a.tsv": b"0\ta\n1\tb\n"},
        ("vocabularies", "triples"),
    ),
    "labels-pickle": Parser(
        lambda folder: vocabularies.read_labels(folder / "a.pkl") is None,
        {"a.pkl": pickled({0: "a", 1: "b"})},
        ("vocabularies", "pickles"),
    ),
    "labels-pickles": Parser(
        lambda folder: vocabularies.read_labels(folder / "a.pkl", key="e") is None,
        {"a.pkl": pickled({"e": {"a": 0, "b": 1}})},
        ("vocabularies", "pickles"),
    ),
    "numbering": Parser(
        lambda folder: outside_queries.read_numbering(folder / "a.tsv", LABELS[1]) is None,
        {"a.tsv": b"0\t+likes\n1\t-likes\n2\t+knows\n3\t-knows\n"},
        ("vocabularies", "triples"),
    ),
    "triples": Parser(
        lambda folder: triples.read_fields({"train": folder / "a.txt"}) is None,
        {"a.txt": TRIPLES},
        ("triples",),
    ),
    "degrees": Parser(degrees, {"d1.tsv": b"e0\t0.5\ne1\t1e-3\n"}, ("triples",)),
    "names": Parser(
        lambda folder: display_names.read_names(folder / "a.tsv", ENTITIES) is None,
        {"a.tsv": b"e0\tone\ne1\ttwo\n"},
        ("display_names",),
    ),
    "matrix-npy": Parser(matrix("a.npy"), {"a.npy": array_bytes(MATRIX)}, ("embedding_files",)),
    "matrix-npz": Parser(
        matrix("a.npz", "x"),
        {"a.npz": array_bytes(MATRIX)},
        ("embedding_files", "array_files", "unpacking"),
        zipped("x.npy"),
    ),
    "matrix-pt": Parser(
        matrix("a.pt", "weight"),
        {"a.pt": TORCH},
        ("tensor_files",),
        zipped("w/data.pkl", **{"w/data/0": MATRIX.tobytes()}),
    ),
    "matrix-pt-zip": Parser(
        matrix("a.pt", "weight"),
        {"a.pt": zipped("w/data.pkl", **{"w/data/0": MATRIX.tobytes()})(TORCH)},
        ("tensor_files", "unpacking"),
    ),
    "matrix-pt-old": Parser(matrix("a.pt", "weight"), {"a.pt": OLD_TORCH}, ("tensor_files",)),
    "scores-npy": Parser(scores("a.npy"), {"a.npy": array_bytes(MATRIX)}, ("outside_scores",)),
    "scores-npz": Parser(
        scores("a.npz"), {"a.npz": array_bytes(MATRIX)}, ("outside_scores",), zipped("x.npy")
    ),
    "scores-npz-zip": Parser(
        scores("a.npz"), {"a.npz": zipped("x.npy")(array_bytes(MATRIX))}, ("outside_scores",)
    ),
    "scores-safetensors": Parser(
        scores("a.safetensors"), {"a.safetensors": safetensors()}, ("outside_scores",)
    ),
    "scores-pt": Parser(
        scores("a.pt"),
        {"a.pt": TORCH},
        ("tensor_files",),
        zipped("w/data.pkl", **{"w/data/0": MATRIX.tobytes()}),
    ),
    "lists-parquet": Parser(
        best_entities("a.parquet"),
        {"a.parquet": parquet(query_id=ROWS, entity=[1, 2], score=[0.5, 1.0])},
        ("outside_lists", "outside_tables"),
    ),
    "lists-parquet-labels": Parser(
        best_entities("a.parquet", [ROWS]),
        {"a.parquet": parquet(row=[0, 1], label=["e1", "e2"], score=[0.5, 1.0])},
        ("outside_lists", "outside_tables"),
    ),
    "lists-tsv": Parser(
        best_entities("a.tsv"),
        {"a.tsv": f"query_id\tlabel\tscore\n{ROWS[0]}\te1\t0.5\n".encode()},
        ("outside_lists",),
    ),
    "lists-tsv-rows": Parser(
        best_entities("a.tsv", [ROWS]),
        {"a.tsv": b"row\tentity\tscore\n0\t1\t0.5\n1\t2\t1\n"},
        ("outside_lists",),
    ),
    "lists-npz-entities": Parser(
        best_entities("a.npz", [ROWS]),
        {"a.npz": array_bytes(np.array([[1, 2], [3, -1]]))},
        ("outside_lists", "outside_scores"),
        zipped("entities.npy", **{"scores.npy": array_bytes(np.array([[1.0, 0.5], [2, 0]]))}),
    ),
    "lists-npz-tied": Parser(
        best_entities("a.npz", [ROWS]),
        {"a.npz": array_bytes(np.array([1, 1]))},
        ("outside_lists", "outside_scores"),
        zipped(
            "n_tied_at_cut.npy",
            **{
                "entities.npy": array_bytes(np.array([[1, 2], [3, -1]])),
                "scores.npy": array_bytes(np.array([[1.0, 0.5], [2, 0]])),
            },
        ),
    ),
    "rows-json": Parser(
        rows_of("a.json"),
        {"a.json": json.dumps({"query_ids": ROWS, "graph": GRAPH.hash}).encode()},
        ("outside_queries", "files"),
    ),
    "rows-json-tuples": Parser(
        rows_of("a.json"), {"a.json": b'{"queries": [[0, [0]], [1, [0]]]}'}, ("outside_queries",)
    ),
    "rows-txt": Parser(rows_of("a.txt"), {"a.txt": "\n".join(ROWS).encode()}, ("outside_queries",)),
    "rows-pkl": Parser(
        rows_of("a.pkl"), {"a.pkl": pickled([(Q1, ONE), ((1, (0,)), ONE)])}, ("outside_queries",)
    ),
    "dump": Parser(
        dump,
        {"a.npy": array_bytes(MATRIX), "a.json": json.dumps(SIDECAR).encode()},
        ("predictions",),
    ),
    "dump-sidecar": Parser(
        dump,
        {"a.json": json.dumps(SIDECAR).encode(), "a.npy": array_bytes(MATRIX)},
        ("predictions", "files"),
    ),
    "pairs-parquet": Parser(pairs("a.parquet"), {"a.parquet": parquet(**PAIRS)}, ("pair_files",)),
    "pairs-jsonl": Parser(
        pairs("a.jsonl"),
        {"a.jsonl": lines({"query": 1, "answer": "a", "score": 1.5, "k": None})},
        ("pair_files",),
    ),
    "pairs-tsv": Parser(
        pairs("a.tsv"), {"a.tsv": b"query\tanswer\tscore\nq\ta\t1\nq\tb\t-inf\n"}, ("pair_files",)
    ),
    "answer-lists-jsonl": Parser(
        lists("a.jsonl"),
        {"a.jsonl": lines({"query": "q", "expected": ["a"], "returned": ["a"], "scores": [1]})},
        ("list_files",),
    ),
    "answer-lists-parquet": Parser(
        lists("a.parquet"), {"a.parquet": parquet(**TABLES)}, ("list_files", "outside_tables")
    ),
    "ids-text": Parser(
        lambda folder: list_files.read_ids(folder / "a.txt", "a") is None,
        {"a.txt": b"q\nr\n"},
        ("list_files",),
    ),
    "ids-numbers": Parser(
        lambda folder: list_files.read_ids(folder / "a.txt", 1) is None,
        {"a.txt": b"1\n-2\n"},
        ("list_files",),
    ),
    "trec-run": Parser(trec, {"run": RUN, "qrels": b"q 0 d1 1\n"}, ("trec_files", "list_files")),
    "trec-qrels": Parser(trec_judgements, {"qrels": b"q 0 d1 1\n", "run": RUN}, ("trec_files",)),
    "cqd-results": Parser(
        published_scores,
        {CQD: CQD_METRICS, CQD.replace("FB237", "FB237_dev"): CQD_METRICS},
        ("cqd_results", "files"),
    ),
    "shape-list": Parser(
        shape_list, {"a.csv": b'formula_id,original\ntype1,"(p,(e))"\n'}, ("list_shapes",)
    ),
    "shape-list-formulas": Parser(
        shape_list, {"a.csv": b'formula_id,formula\ntype1,"r1(s1,f)"\n'}, ("list_shapes",)
    ),
    "config": catalogue("config"),
    "graphs": catalogue("graphs"),
    "query-sets": catalogue("query_sets"),
    "models": catalogue("models"),
    "predictors": catalogue("predictors"),
    "shapes": catalogue("shapes"),
    "result-tsv": Parser(result("a.tsv"), {"a.tsv": TSV}, ("content_tables", "aligned_tables")),
    "result-tsv-gz": Parser(
        result("a.tsv.gz"), {"a.tsv.gz": TSV}, ("content_tables", "aligned_tables"), gzip.compress
    ),
    "result-labels": Parser(
        result("entities.tsv"), {"entities.tsv": b"0\ta\n1\tb\n"}, ("content_tables",)
    ),
    "result-json": Parser(result("a.json"), {"a.json": PLAIN}, ("content_tables",)),
    "result-json-gz": Parser(
        result("a.json.gz"), {"a.json.gz": PLAIN}, ("content_tables",), gzip.compress
    ),
    "result-parquet": Parser(
        result("a.parquet"), {"a.parquet": parquet(**PAIRS)}, ("content_tables",)
    ),
    "result-npy": Parser(result("a.npy"), {"a.npy": array_bytes(MATRIX)}, ("content_tables",)),
    "result-npz": Parser(
        result("a.npz"),
        {"a.npz": array_bytes(MATRIX.astype(int))},
        ("content_tables", "unpacking"),
        zipped("x.npy"),
    ),
    "result-bytes-gz": Parser(
        result("a.x.gz"), {"a.x.gz": gzip.compress(TSV)}, ("content_tables",)
    ),
    "keyed-table": Parser(keyed, {"a.tsv": TSV}, ("keyed_tables",)),
    "json": Parser(
        lambda folder: read_json(folder / "a.json") is None, {"a.json": PLAIN}, ("files",)
    ),
    "sealed-json": Parser(
        lambda folder: read_sealed(folder / "a.json") is None, {"a.json": PLAIN}, ("files",)
    ),
    "zip": Parser(
        archive("a.zip"), {"a.zip": zipped("a")(b"content" * 9)}, ("archives", "unpacking")
    ),
    "tar": Parser(archive("a.tar"), {"a.tar": tar_bytes()}, ("archives", "unpacking")),
    "tar-gz": Parser(
        archive("a.tar.gz"), {"a.tar.gz": tar_bytes()}, ("archives",), lambda c: gzip.compress(c, 1)
    ),
    "tar-xz": Parser(
        archive("a.tar.xz"),
        {"a.tar.xz": tar_bytes()},
        ("archives",),
        lambda c: lzma.compress(c, preset=0),
    ),
    "gz": Parser(packed("a.gz"), {"a.gz": gzip.compress(TSV)}, ("archives",)),
    "xz": Parser(packed("a.xz"), {"a.xz": lzma.compress(TSV)}, ("archives",)),
    "formula": Parser(text_of(formula), {"a.txt": b"r1(s1,e1)&!(r2(e1,f)|r3(s2,f))"}, ()),
    "operator-string": Parser(text_of(operators), {"a.txt": b"(i,(n,(p,(e))),(p,(p,(e))))"}, ()),
    "grounded-operator": Parser(
        text_of(grounded_operators.grounded_operator),
        {"a.txt": b'{"o": "p", "a": [[4], {"o": "e", "a": [7]}]}'},
        ("grounded_operators",),
    ),
    "table": Parser(
        lambda folder: read_table(folder / "a.parquet") is None,
        {"a.parquet": written(lambda path: write_table(path, pa.table({"a": [1, 2]})))},
        ("tables",),
    ),
    "graph": Parser(
        lambda folder: read_graph(folder / "a.npz") is None,
        {"a.npz": written(lambda path: write_graph(path, GRAPH), "a.npz")},
        ("graphs", "array_files"),
    ),
    "predictor": Parser(
        predictor,
        {
            "a.npz": written(
                lambda path: write_predictor(
                    path,
                    make_predictor(
                        "distmult",
                        np.ones((6, 2), np.float32),
                        np.ones((4, 2), np.float32),
                        {},
                        GRAPH,
                    ),
                ),
                "a.npz",
            )
        },
        ("predictors", "array_files"),
    ),
    "training-state": Parser(
        lambda folder: read_state(folder / "a.npz", {}),
        {"a.npz": zipped("subject.npy")(array_bytes(np.array("{}")))},
        ("training_states", "array_files"),
    ),
    "receipt": Parser(
        receipt,
        {
            "receipt.json": json.dumps(
                {"files": {"a": {"name": "a", "path": "a", "size": 0, "sha256": "0" * 64}}}
            ).encode(),
            "a": b"",
        },
        ("files",),
    ),
    "download-record": Parser(
        records,
        {"a.json": b'{"source": "http://a/", "sha256": "0", "size": 1}', ".a.part": b"x"},
        ("downloads",),
    ),
    "part-record": Parser(
        records,
        {".a.part.json": b'{"url": "http://a/", "validator": "x"}', ".a.part": b"x", "a.json": b""},
        ("transfers",),
    ),
}
