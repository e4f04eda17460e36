"""Whatever is in a file from elsewhere, it is read or refused in one line, soon, in little memory.

`outside_parsers.py` has the parsers, `fuzz.py` reads changed files for as long as one likes.
"""

import ast
import collections
import itertools
import json
import os
import pickle
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from changed_files import KINDS, PIECES, Edit, changed
from clqa.errors import InputError
from conftest import ROOT
from outside_parsers import FORMULAS, LINE, LONGEST, ONE, PARSERS, Q1, TABLES, TWO, outcome

CORPUS = Path(__file__).with_name("corpus")
MEMORY = 1 << 30  # bytes, for files of at most 64 kB

edits = st.lists(
    st.builds(
        Edit,
        st.sampled_from(KINDS),
        st.floats(0, 1),
        st.sampled_from([1, 2, 3, 8, 30, 300]),
        st.sampled_from(PIECES) | st.binary(min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=4,
)
# Names that mean something to one reader or another.
words = st.sampled_from([*FORMULAS, "f", "s1", "r1", "e", "f1_f2", "e0", "+likes", "", "\ud800"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.sampled_from([2**31, 2**63, 10**30, -(2**70), 10**4000, 1e300, 0.5])
    | st.floats()
    | words
    | st.text(max_size=4)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(words | st.text(max_size=3), inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=12,
)
hashables = st.recursive(
    st.integers(-3, 9) | st.sampled_from(["e", "r", "n", "u", 2**70, 1.5, None, Q1, ONE, TWO]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)
pickled_values = st.recursive(
    scalars | hashables,
    lambda inner: (
        st.dictionaries(hashables, inner, max_size=4)
        | st.lists(inner, max_size=4)
        | st.sets(hashables, max_size=4)
        | st.dictionaries(hashables, inner, max_size=3).map(
            lambda found: collections.defaultdict(set, found)
        )
    ),
    max_leaves=12,
)


def check(name, folder, content):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    outcome(PARSERS[name], folder, content)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before < MEMORY


def few(n):
    n *= int(os.environ.get("CLQA_FUZZ", "1"))
    return settings(max_examples=n, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", PARSERS)
def test_good_files_are_read(tmp_path, name):
    parser = PARSERS[name]
    said = outcome(parser, tmp_path, next(iter(parser.files.values())))
    # Releases lack some of the shapes that are asked for; a part of a result has no digest.
    assert (
        said is None
        or "no queries of" in said
        or "the release has no file" in said
        or (
            "no file has queries of" in said
            or name in ("sealed-json", "training-state", "receipt", "scores-pt", "pairs-tsv")
        )
    ), said


@pytest.mark.parametrize("name", PARSERS)
def test_changed_files_are_read_or_refused_in_one_line(tmp_path, name):
    good = next(iter(PARSERS[name].files.values()))

    @few(25)
    @given(edits)
    @example([Edit("cut", 0.0, 1, b"")])
    def run(edits):
        check(name, tmp_path, changed(good, edits))

    run()


PICKLED = [name for name, one in PARSERS.items() if next(iter(one.files)).endswith(".pkl")]


@pytest.mark.parametrize("name", PICKLED)
def test_pickles_of_anything_are_read_or_refused_in_one_line(tmp_path, name):
    @few(25)
    @given(pickled_values | st.dictionaries(st.sampled_from([ONE, TWO, Q1, "e"]), pickled_values))
    def run(value):
        check(name, tmp_path, pickle.dumps(value, 4))

    run()


def as_json(value) -> bytes:
    return json.dumps(value, default=str, skipkeys=True).encode("utf-8", "surrogatepass")


FILES_OF_JSON = [
    name for name, one in PARSERS.items() if next(iter(one.files)).endswith((".json", ".json.gz"))
]


@pytest.mark.parametrize("name", FILES_OF_JSON)
def test_json_of_anything_is_read_or_refused_in_one_line(tmp_path, name):
    good = json.loads(next(iter(PARSERS[name].files.values())))

    @few(25)
    @given(values | st.fixed_dictionaries({}, optional=dict.fromkeys(good, values)))
    def run(value):
        if isinstance(value, dict):
            value = {**good, **value}
        check(name, tmp_path, as_json(value))

    run()


LINES = {"neutral": LINE, "neutral-labels": LINE, "answer-lists-jsonl": TABLES}
LINES |= {"pairs-jsonl": {"query": "q", "answer": "a", "score": 1}}


@pytest.mark.parametrize("name", LINES)
def test_json_lines_of_anything_are_read_or_refused_in_one_line(tmp_path, name):
    row = st.fixed_dictionaries({}, optional=dict.fromkeys(LINES[name], values | st.lists(scalars)))

    @few(50)
    @given(st.lists(row.map(lambda own: LINES[name] | own) | values, max_size=3))
    def run(rows):
        check(name, tmp_path, b"\n".join(map(as_json, rows)))

    run()


CATALOGUES = ("config", "graphs", "query-sets", "models", "predictors", "shapes")


@pytest.mark.parametrize("name", CATALOGUES)
def test_catalogues_of_anything_are_read_or_refused_in_one_line(tmp_path, name):
    good = yaml.safe_load(next(iter(PARSERS[name].files.values())))

    @few(15)
    @given(st.data())
    def run(data):
        entry = data.draw(st.sampled_from(list(good.values())))
        keys = list(entry) if isinstance(entry, dict) else ["a"]
        changes = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(keys, values)))
        entry = {**entry, **changes} if isinstance(entry, dict) else data.draw(values)
        check(name, tmp_path, as_json({"mine": entry}))

    run()


# Columns of all kinds, with two values each.
COLUMNS = {
    "null": pa.array([None, None]),
    "bool": pa.array([True, False]),
    "int8": pa.array([1, 2], pa.int8()),
    "uint64": pa.array([2**64 - 1, 0], pa.uint64()),
    "int64": pa.array([-(2**63), None]),
    "half": pa.array(np.array([1, np.nan], np.float16)),
    "double": pa.array([0.5, float("inf")]),
    "decimal": pa.array([1, 2], pa.decimal128(20, 3)),
    "text": pa.array(["e1", "e2"]),
    "same text": pa.array(["e1", "e1"]),
    "large text": pa.array(["", None], pa.large_string()),
    "viewed text": pa.array(["q", "r"], pa.string_view()),
    "words": pa.array(["e1", "e1"]).dictionary_encode(),
    "bytes": pa.array([b"\xff", b"e1"]),
    "fixed bytes": pa.array([b"ab", b"cd"], pa.binary(2)),
    "no text": pa.array([b"\xff\xfe", b"e1"]).view(pa.string()),
    "date": pa.array([0, 1], pa.date32()),
    "time": pa.array([0, 2**62], pa.timestamp("ns", "UTC")),
    "span": pa.array([0, 1], pa.duration("s")),
    "lists": pa.array([[1, None], None]),
    "lists of text": pa.array([["a", "b"], []]),
    "lists of lists": pa.array([[[1]], [[]]]),
    "fixed lists": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)),
    "numbers in lists": pa.array([[0.5], [float("nan")]]),
    "structure": pa.array([{"a": 1}, {"a": None}]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
}
LISTED = {"query_id": "viewed text", "entity": "bool", "score": "double"}
TABLES_OF = {
    "pairs-parquet": {"query": "text", "answer": "text", "score": "double", "k": "text"},
    "answer-lists-parquet": {
        "query": "text",
        "expected": "lists of text",
        "returned": "lists of text",
        "scores": "numbers in lists",
    },
    "lists-parquet": LISTED,
    "lists-parquet-labels": {"row": "bool", "label": "text", "score": "double"},
    "result-parquet": {"query_id": "text", "entity": "int8", "value": "double"},
    "neutral-table": {"query_id": "text", "shape": "words", "anchors": "lists"},
    "table": {"a": "int8", "b": "double"},
}


def table_of(columns: dict[str, str], is_whole: bool) -> bytes:
    table = pa.table({column: COLUMNS[kind] for column, kind in columns.items()})
    stream = pa.BufferOutputStream()
    pq.write_table(table if is_whole else table.slice(0, 0), stream, store_schema=is_whole)
    return stream.getvalue().to_pybytes()


@pytest.mark.parametrize("name", TABLES_OF)
def test_each_column_of_each_kind_is_read_or_refused_in_one_line(tmp_path, name):
    good = TABLES_OF[name]
    for column, kind, is_whole in itertools.product(good, COLUMNS, [True, False]):
        check(name, tmp_path, table_of(good | {column: kind}, is_whole))


@pytest.mark.parametrize("name", TABLES_OF)
def test_tables_of_anything_are_read_or_refused_in_one_line(tmp_path, name):
    kinds, good = st.sampled_from(list(COLUMNS)), TABLES_OF[name]

    @few(40)
    @given(st.dictionaries(st.sampled_from([*good]), kinds, min_size=1), st.booleans())
    def run(columns, is_whole):
        check(name, tmp_path, table_of(good | columns, is_whole))

    run()


TYPES = (
    "?",
    "i1",
    "<u8",
    ">i4",
    "<f2",
    ">f8",
    "g",
    "c16",
    "M8[ns]",
    "m8[s]",
    "S3",
    "U2",
    "U0",
    "V4",
)
TYPES += ("V4", "V0", "f4,i2", "(2,)f4", "O")
ARRAYS = [
    name
    for name, one in PARSERS.items()
    if next(iter(one.files)).endswith((".npy", ".npz")) and "zip" not in name
]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_anything_are_read_or_refused_in_one_line(tmp_path, name):
    sizes = st.sampled_from([0, 1, 2, 6, 7, -1, 2**31, 2**62, 10**30])
    shapes = st.lists(sizes, max_size=4) | st.lists(st.just(1), min_size=60, max_size=70)

    @few(40)
    @given(st.sampled_from(TYPES), shapes, st.booleans(), st.binary(max_size=64))
    def run(kind, shape, is_fortran, content):
        about = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(kind)),
            "fortran_order": is_fortran,
            "shape": tuple(shape),
        }
        header = repr(about).encode() + b"\n"
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        check(name, tmp_path, start + header + content * 3)

    run()


KEPT = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*"))


@pytest.mark.parametrize("path", KEPT)
def test_what_was_found_before_stays_mended(tmp_path, path):
    check(path.split("/")[0], tmp_path, (CORPUS / path).read_bytes())


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[31mb", "\u2028", "\ud800", "\x00", "x" * 10**6])
def test_a_message_is_one_line_that_a_terminal_can_show(text):
    told = str(InputError(f"a.tsv: no column {text}"))
    assert told.isprintable()
    assert told.startswith("a.tsv: no column ")
    assert len(told) <= LONGEST


# All that opens files, and why the modules that are no parsers of files from elsewhere do.
OPENING = {"open", "read_text", "read_bytes", "load", "loads", "read_table", "read_csv"}
OPENING |= {"read_schema", "read_metadata", "ParquetFile", "ZipFile", "DictReader", "memmap"}
OPENING |= {"open_memmap", "mmap", "fromfile", "input_stream", "get_single_node"}
OWN = {
    "commands": "opens nothing but the null device",
    "checksums": "takes digests",
    "comparison_tables": "our tables, by read_table",
    "answer_sizes": "our tables, by read_table",
    "cut_lists": "our tables, by read_table",
    "document_config": "our own pages and schemas",
    "document_library": "our own pages and code",
    "document_metrics": "our own pages and code",
    "interval_tables": "our tables, by read_table",
    "json_exports": "writes",
    "manifests": "our own results, beside the report that was made of them",
    "methods": "our own code",
    "node_files": "names of our own files, of which the checksum is known",
    "page_scripts": "our own scripts",
    "pages": "our own template",
    "published_sets": "our tables, by read_table",
    "rank_curves": "our tables, by read_table",
    "run_summaries": "the table of the run that has just ended",
    "score_tables": "our tables, by read_table",
    "scores": "our tables, by read_table",
    "set_reports": "our tables, by read_table",
    "shared_caches": "locks",
    "shape_files": "calls the reader of a layout",
    "sources": "our own code",
    "top_tables": "our tables, by read_table",
    "unfinished_jobs": "our logs",
}


def called(path: Path) -> set[str]:
    """Names of the functions and methods that a module calls."""
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if type(node) is ast.Call)
    return {getattr(one, "id", getattr(one, "attr", "")) for one in calls}


def test_every_module_that_opens_files_is_a_parser_of_the_table_or_reads_our_own():
    scripts = ROOT / "scripts"
    opening = set()
    for path in scripts.rglob("*.py"):
        if called(path) & OPENING:
            name = ".".join(path.relative_to(scripts).with_suffix("").parts)
            opening.add(name.removeprefix("clqa."))
    covered = {module for parser in PARSERS.values() for module in parser.modules}
    assert opening - covered - OWN.keys() == set(), "list it in outside_parsers.py, or in OWN"
    assert OWN.keys() - opening == set()
    assert not covered & OWN.keys()
    for module in covered:
        assert (scripts / "clqa" / f"{module.replace('.', '/')}.py").exists() or (
            scripts / f"{module}.py"
        ).exists(), module
