"""Result files that were damaged: each reader refuses them in one line that says what to do."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assemble_report import assemble_report
from clqa.answer_sizes import answer_sizes, answers_hash
from clqa.errors import InputError
from clqa.files import SEAL, read_json, read_sealed, write_sealed
from clqa.graphs import read_graph, write_graph
from clqa.inventories import graph_table, sampling_table
from clqa.predictions import open_predictions, write_predictions
from clqa.published_sets import read_published
from clqa.query_sets import Queries, QueryTable, check_asked_of, read_answers, read_queries
from clqa.receipts import received
from clqa.scores import read_ranks
from clqa.tables import Contents, read_table, write_table
from rank_answers import rank_answers
from synthetic_runs import configuration, write_run
from test_models import some_graph
from test_scoring_stages import SHAPES, make_queries, predict

TABLES = {"queries": read_queries, "answers": read_answers, "ranks": read_ranks}
READERS = {
    "graph.npz": read_graph,
    **{f"{name}.parquet": reader for name, reader in TABLES.items()},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a graph, queries, answers, predictions and ranks."""
    folder = tmp_path_factory.mktemp("made")
    write_graph(folder / "graph.npz", some_graph())
    make_queries(folder, some_graph(), SHAPES)
    predict(folder)
    paths = [folder / name for name in ("random.npy", "random.json", "answers.parquet")]
    rank_answers(*paths, folder / "ranks.parquet", folder / "tops.parquet", depth=4)
    return folder


def refusal(path, reader, *arguments) -> str:
    """What a reader says of a file; one line that names it and what to do."""
    with pytest.raises(InputError) as caught:
        reader(path, *arguments)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert len(text.splitlines()) == 1
    assert any(word in text for word in ("run again", "predict again", "make it again"))
    return text


def same(one, other) -> bool:
    """Whether two reads gave the same, nested tuples, dicts, arrays and tables alike."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return one.equals(other) if isinstance(one, pa.Table) else one == other


@pytest.mark.parametrize("name", READERS)
def test_a_changed_byte_is_found_or_of_no_matter(made, tmp_path, name):
    content = (made / name).read_bytes()
    whole = READERS[name](made / name)
    found = 0
    path = tmp_path / name
    for place in range(0, len(content), max(1, len(content) // 250)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            read = READERS[name](path)
        except InputError:
            refusal(path, READERS[name])
            found += 1
        else:
            assert same(read, whole), f"byte {place}"
    assert found > 100


def flips(content: bytes, places, bits):
    for place in places:
        for bit in bits:
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            yield bytes(changed)


def same_or_refused(path, content, expected):
    path.write_bytes(content)
    try:
        found = read_table(path)
    except InputError:
        return False
    # Whether a column may have gaps, or how wide the indices of words are, is of no matter.
    assert (found[0].to_pydict(), found[1]) == (expected[0].to_pydict(), expected[1])
    return True


@pytest.mark.parametrize("name", [*TABLES, "scores"])
def test_a_changed_bit_of_a_footer_is_found_or_of_no_matter(made, run, tmp_path, name):
    path = run["paths_to_scores"]["toy-test", "popular"]
    path = path if name == "scores" else made / f"{name}.parquet"
    content, expected = path.read_bytes(), read_table(path)
    size = int.from_bytes(content[-8:-4], "little") + 8
    places = range(len(content) - size, len(content), max(1, size // 500))
    kept = [
        same_or_refused(tmp_path / "a.parquet", one, expected)
        for bit, place in enumerate(places)
        for one in flips(content, [place], [bit % 8])
    ]
    assert kept.count(False) > 100


def test_no_bit_of_a_small_table_can_change_what_is_read(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"shape": pa.array(["1p", "2p", "1p", "2i"]).dictionary_encode()})
    write_table(path, table)
    content, expected = path.read_bytes(), read_table(path)
    start = len(content) - int.from_bytes(content[-8:-4], "little") - 8
    changed = list(flips(content, range(start), range(8)))
    assert sum(same_or_refused(path, one, expected) for one in changed) < len(changed)


CHANGED = {
    "type": lambda table: table.set_column(0, "a", table["a"].cast(pa.float32())),
    "rows": lambda table: table.slice(1),
    "values": lambda table: table.set_column(0, "a", pa.array([1.0, 2.0, 3.0])),
    "names": lambda table: table.rename_columns(["a", "c"]),
    "columns": lambda table: table.drop_columns(["b"]),
    "order": lambda table: pa.table({"a": table["b"], "b": table["a"]}),
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("columns", [None, ["a"], []])
def test_what_is_not_what_was_written_is_refused(tmp_path, change, columns):
    path = tmp_path / "a.parquet"
    write_table(path, pa.table({"a": [1.0, 2.0, 4.0], "b": [1.0, 3.0, 4.0]}))
    table = pq.read_table(path)
    contents = Contents("that writes it", {"a": "numbers"} if columns else {}, {})
    other = CHANGED[change](table).replace_schema_metadata(table.schema.metadata)
    pq.write_table(other, path)
    if columns is None or change == "rows" or (columns and change not in ("names", "columns")):
        refusal(path, lambda path: read_table(path, contents, columns))
    else:
        assert read_table(path, contents, columns)[0].num_rows == 3


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_cut_file_is_refused(made, tmp_path, name, share):
    content = (made / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(len(content) * share)])
    refusal(tmp_path / name, READERS[name])


FOREIGN = {
    "nothing": b"",
    "text": b"no such thing\n",
    "a pickle": pickle.dumps({"a": 1}),
    "a zip of nothing": b"PK\x05\x06" + bytes(18),
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_something_else_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refusal(tmp_path / name, READERS[name])


@pytest.mark.parametrize("name", READERS)
def test_a_missing_file_and_a_folder_are_refused(tmp_path, name):
    refusal(tmp_path / name, READERS[name])
    (tmp_path / name).mkdir()
    refusal(tmp_path / name, READERS[name])


def test_one_array_alone_is_no_graph(tmp_path):
    np.save(tmp_path / "graph.npy", np.arange(3))
    refusal(tmp_path / "graph.npy", read_graph)


def graph_arrays(**changes) -> dict:
    graph = some_graph()
    arrays = {
        "n_entities": np.int64(graph.n_entities),
        "hash": np.array(graph.hash),
        "vocabulary": np.array(graph.vocabulary),
        "inverse": graph.inverse,
        **graph.triples,
    }
    return {name: array for name, array in (arrays | changes).items() if array is not None}


WRONG_ARRAYS = [
    *({name: None} for name in graph_arrays()),
    {"train": some_graph().triples["train"].astype(np.int64)},
    {"train": some_graph().triples["train"].astype(">i4")},
    {"train": some_graph().triples["train"].astype(np.float32)},
    {"train": some_graph().triples["train"][:, :2]},
    {"train": some_graph().triples["train"].ravel()},
    {"train": np.array([[0, 0, some_graph().n_entities]], np.int32)},
    {"test": np.array([[0, some_graph().n_relations, 0]], np.int32)},
    {"valid": np.array([[-1, 0, 0]], np.int32)},
    {"train": np.array([[{}, 0, 0]], object)},
    {"inverse": np.array([len(some_graph().inverse)] * len(some_graph().inverse), np.int32)},
    {"inverse": np.full(len(some_graph().inverse), -2, np.int32)},
    {"inverse": np.zeros(len(some_graph().inverse), np.int32)},
    {"inverse": np.int32(0)},
    {"n_entities": np.array("many")},
    {"n_entities": np.array([1, 2])},
    {"n_entities": np.float64(6.5)},
    {"hash": np.int64(3)},
    {"vocabulary": np.array(["a", "b"])},
    {"hash": np.array(None)},
]


@pytest.mark.parametrize("changes", WRONG_ARRAYS, ids=str)
def test_a_graph_with_wrong_arrays_is_refused(tmp_path, changes):
    path = tmp_path / "graph.npz"
    np.savez(path, **graph_arrays())
    assert read_graph(path).hash == some_graph().hash
    np.savez(path, **graph_arrays(**changes))
    assert "build_graph" in refusal(path, read_graph)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_its_metadata_is_refused(made, tmp_path, name):
    table, metadata = read_table(made / f"{name}.parquet")
    path = tmp_path / "table.parquet"
    for content in (None, b"{not json", b"[]", json.dumps(metadata).encode()):
        kept = {} if content is None else {b"clqa": content}
        pq.write_table(table.replace_schema_metadata(kept), path)
        assert "metadata" in refusal(path, TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_a_table_whose_metadata_lacks_a_key_is_refused(made, tmp_path, name):
    table, metadata = read_table(made / f"{name}.parquet")
    path = tmp_path / "table.parquet"
    for key in metadata:
        for value in ({}, {key: None}):
            rest = {k: v for k, v in metadata.items() if k != key} | value
            write_table(path, table, rest)
            assert f"metadata without {key}" in refusal(path, TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_a_table_with_a_wrong_column_is_refused(made, tmp_path, name):
    table, metadata = read_table(made / f"{name}.parquet")
    path = tmp_path / "table.parquet"
    unread = ("source", "variable", "links" if name == "ranks" else "", "shape")
    for place, column in enumerate(table.column_names):
        if column in unread[: 4 if name == "ranks" else 3]:
            continue
        write_table(path, table.drop_columns([column]), metadata)
        assert f"'{column}'" in refusal(path, TABLES[name])
        for values in (pa.nulls(table.num_rows, table[column].type), [b"x"] * table.num_rows):
            write_table(path, table.set_column(place, column, pa.array(values)), metadata)
            assert f"'{column}'" in refusal(path, TABLES[name])


def changed(made, tmp_path, name, column, change):
    """A table in which the values of one column are others."""
    table, metadata = read_table(made / f"{name}.parquet")
    kind, values = table[column].type, table[column].to_pylist()
    column_of = table.column_names.index(column)
    table = table.set_column(column_of, column, pa.array(change(values), kind))
    write_table(tmp_path / f"{name}.parquet", table, metadata)
    return tmp_path / f"{name}.parquet"


def first_with(values, change):
    """The lists, with the first of two or more values changed."""
    place = next(i for i, value in enumerate(values) if len(value) > 1)
    return [*values[:place], change(values[place]), *values[place + 1 :]]


LISTS = [("queries", "anchors"), ("queries", "relations"), ("answers", "easy"), ("answers", "hard")]


@pytest.mark.parametrize(("name", "column"), LISTS)
@pytest.mark.parametrize("value", [-1, 2**31 - 1])
def test_ids_out_of_range_are_refused(made, tmp_path, name, column, value):
    path = changed(
        made,
        tmp_path,
        name,
        column,
        lambda values: first_with(values, lambda row: [*row[:-1], value]),
    )
    assert f"ids in {column} must be 0 to" in refusal(path, TABLES[name])


@pytest.mark.parametrize(("name", "column"), [*LISTS, ("answers", "links")])
def test_lists_of_a_wrong_length_or_order_are_refused(made, tmp_path, name, column):
    reordered = column not in ("anchors", "relations", "links")
    path = changed(
        made,
        tmp_path,
        name,
        column,
        lambda values: first_with(values, lambda row: row[::-1] if reordered else row[1:]),
    )
    refusal(path, TABLES[name])


@pytest.mark.parametrize(
    ("column", "value"), [("greater", -1), ("tied", -1), ("greater", 10**6), ("candidates", 0)]
)
def test_counts_that_give_no_rank_are_refused(made, tmp_path, column, value):
    path = changed(made, tmp_path, "ranks", column, lambda values: [*values[:-1], value])
    assert "rank" in refusal(path, read_ranks)


# Predictions


@pytest.fixture
def dump(tmp_path):
    """Paths of a small dump, and what is expected of it."""
    paths = tmp_path / "all.npy", tmp_path / "all.json"
    sidecar = {"query_ids": ["a"], "n_entities": 3, "vocabulary": "v"}
    write_predictions(*paths, [np.zeros((1, 3), np.float32)], sidecar)
    return paths


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(12)


@pytest.mark.parametrize(
    "content",
    [
        *FOREIGN.values(),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 9999999999999999999)}\n"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3)}\n"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 1: 2}\n"),
        npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 3)}\n"),
        npy(b"{'descr': '<f4\n"),
        npy(b"\xff\xfe\n"),
    ],
)
def test_a_damaged_matrix_is_refused(dump, content):
    dump[0].write_bytes(content)
    part = Queries(np.array(["a"], object), np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32))
    expected = QueryTable({"1p": part}, {"vocabulary": "v", "n_entities": 3})
    refusal(dump[0], lambda path: open_predictions(path, dump[1], expected))


@pytest.mark.parametrize(
    "change",
    [
        {"query_ids": "a"},
        {"query_ids": [1]},
        {"n_entities": "3"},
        {"vocabulary": None},
        {"sha256": 5},
        {"settings": []},
        {"model": 1},
        {"inference_graph": [1]},
        {"inference_graph": 7},
        {"settings": {"a": float("nan")}},
    ],
)
def test_a_sidecar_with_wrong_values_is_refused(dump, change):
    content = read_sealed(dump[1]) | change
    dump[1].write_text(json.dumps(content))
    refusal(dump[1], lambda path: open_predictions(dump[0], path, None))


# What the report is made from


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with what a report over two query sets is made of, and the report's arguments."""
    folder = tmp_path_factory.mktemp("written")
    return folder, write_run(folder, configuration(("toy-test", "toy-more")))


@pytest.fixture
def run(written, tmp_path):
    """Arguments of a report over a copy of the test's own."""
    folder, arguments = written
    return moved(arguments, folder, shutil.copytree(folder, tmp_path / "results"))


def moved(value, old, new):
    """A value in which paths below one folder are below another."""
    match value:
        case Path():
            return new / value.relative_to(old) if value.is_relative_to(old) else value
        case dict():
            return {key: moved(one, old, new) for key, one in value.items()}
        case list() | tuple():
            return type(value)(moved(one, old, new) for one in value)
        case _:
            return value


SWAPS = [
    (("toy-test", "oracle"), ("toy-test", "flat"), "another model"),
    (("toy-test", "oracle"), ("toy-more", "oracle"), "another queries"),
]


@pytest.mark.parametrize(("one", "other", "word"), SWAPS)
def test_swapped_scores_are_refused(run, one, other, word):
    paths = run["paths_to_scores"]
    first, second = paths[one].read_bytes(), paths[other].read_bytes()
    paths[one].write_bytes(second)
    paths[other].write_bytes(first)
    assert word in refusal(paths[one], lambda _: assemble_report(**run))
    assert not run["path_to_report"].exists()


@pytest.mark.parametrize(("key", "value"), [("graph", "7" * 64), ("split", "valid")])
def test_scores_on_another_graph_or_split_are_refused(run, key, value):
    path = run["paths_to_scores"]["toy-test", "popular"]
    table, metadata = read_table(path)
    write_table(path, table, metadata | {key: value})
    assert f"another {key}" in refusal(path, lambda _: assemble_report(**run))


SCORE = "mrr[pessimistic,full-only]"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("n_hard", None),
        ("n_hard", -1),
        ("n_easy", -1),
        ("n_easy", None),
        (SCORE, None),
        (SCORE, float("nan")),
        (SCORE, float("inf")),
        (SCORE, 1.01),
        (SCORE, -0.01),
        ("mr[expected,full-only]", 0.99),
        ("tie_rate[full-only]", 2.0),
        ("query_id", "another"),
        ("stratum", None),
    ],
)
def test_scores_with_wrong_values_are_refused(run, column, value):
    path = run["paths_to_scores"]["toy-test", "popular"]
    table, metadata = read_table(path)
    values = [value, *table[column].to_pylist()[1:]]
    place = table.column_names.index(column)
    kind = table[column].type
    write_table(path, table.set_column(place, column, pa.array(values, kind)), metadata)
    refusal(path, lambda _: assemble_report(**run))


def test_scores_without_a_metric_of_the_run_are_refused(run):
    path = run["paths_to_scores"]["toy-test", "popular"]
    table, metadata = read_table(path)
    write_table(path, table.drop_columns([SCORE]), metadata)
    assert SCORE in refusal(path, lambda _: assemble_report(**run))


def test_a_query_that_is_missing_from_the_scores_is_found(run):
    path = run["paths_to_scores"]["toy-test", "popular"]
    table, metadata = read_table(path)
    write_table(path, table.slice(1), metadata)
    assert "rows are missing" in refusal(path, lambda _: assemble_report(**run))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"graph": NaN}', '{"splits": []}', "[" * 9999]
)
def test_a_damaged_summary_is_refused(tmp_path, content):
    path = tmp_path / "summary.json"
    path.write_text(content)
    refusal(path, lambda path: graph_table({"toy": path}))


@pytest.mark.parametrize("content", ["", "[]", '{"1p": {}}', '{"1p": []}', '{"1p": {"tries": 1}}'])
def test_a_damaged_report_of_a_sampling_is_refused(tmp_path, content):
    path = tmp_path / "all.json"
    path.write_text(content)
    refusal(path, lambda path: sampling_table({("q", "all"): path}, ["q"], ["1p"]))


def changed_json(path, change):
    """A file as if it had been written with other content."""
    content = change(read_sealed(path))
    if isinstance(content, dict):
        write_sealed(path, content)
    else:
        path.write_text(json.dumps(content))
    return path


AUDITS = {
    "nothing": lambda audit: {},
    "a list": lambda audit: [],
    "null": lambda audit: None,
    **{f"no {key}": lambda audit, key=key: {k: v for k, v in audit.items() if k != key}
       for key in ("name", "split", "query_set", "queries", "skipped", "shapes")},
    "another name": lambda audit: audit | {"name": "other"},
    "another split": lambda audit: audit | {"split": "valid"},
    "other queries": lambda audit: audit | {"query_set": "0" * 64},
    "no shapes": lambda audit: audit | {"shapes": {}},
    **{f"1p without {key}": lambda audit, key=key: audit | {"shapes": audit["shapes"] | {
        "1p": {k: v for k, v in audit["shapes"]["1p"].items() if k != key}}}
       for key in ("queries", "degenerate", "sizes", "reductions")},
    **{f"1p with {key} of {value}": lambda audit, key=key, value=value: audit | {
        "shapes": audit["shapes"] | {"1p": audit["shapes"]["1p"] | {key: value}}}
       for key in ("queries", "degenerate", "sizes", "reductions", "how", "examples")
       for value in (None, -1, [1], {"links": -1}, "1")},
}  # fmt: skip


@pytest.mark.parametrize("change", AUDITS)
def test_what_is_not_the_audit_of_the_query_set_is_refused(run, change):
    path = changed_json(run["paths_to_audits"]["toy-more"], AUDITS[change])
    refusal(path, lambda _: assemble_report(**run))
    assert not run["path_to_report"].exists()


def test_swapped_audits_and_reports_of_samplings_are_refused(run):
    for kind, names in (
        ("audits", ("toy-test", "toy-more")),
        ("samplings", (("toy-test", "one"), ("toy-more", "one"))),
        ("samplings", (("toy-test", "one"), ("toy-test", "two"))),
    ):
        paths = run[f"paths_to_{kind}"]
        swapped = paths | {names[0]: paths[names[1]]}
        arguments = run | {f"paths_to_{kind}": swapped}
        refusal(paths[names[1]], lambda _, arguments=arguments: assemble_report(**arguments))


@pytest.mark.parametrize(
    "change",
    [
        lambda report: {},
        lambda report: report | {"1p": report["1p"] | {"queries": "0" * 64}},
        lambda report: report | {"1p": report["1p"] | {"queries": 6}},
        lambda report: report | {"1p": report["1p"] | {"rejections": {"duplicate_query": "1"}}},
        lambda report: report | {"1p": report["1p"] | {"skipped": []}},
        lambda report: report | {"9p": report["1p"]},
    ],
)
def test_what_is_not_the_report_of_the_sampling_is_refused(run, change):
    path = changed_json(run["paths_to_samplings"]["toy-more", "one"], change)
    refusal(path, lambda _: assemble_report(**run))


@pytest.mark.parametrize("change", [{"entities": "many"}, {"vocabulary": 1}, {"licence": []}])
def test_a_summary_with_wrong_values_is_refused(run, change):
    path = changed_json(run["paths_to_summaries"]["toy"], lambda summary: summary | change)
    refusal(path, lambda _: assemble_report(**run))


@pytest.mark.parametrize(
    ("kind", "name"),
    [("summaries", "toy"), ("audits", "toy-test"), ("samplings", ("toy-test", "one"))],
)
def test_a_digit_that_has_changed_in_a_json_result_is_found(run, kind, name):
    path = run[f"paths_to_{kind}"][name]
    text = path.read_text()
    for old, new in ((": 6", ": 7"), (": 120", ": 121")):
        if old in text:
            path.write_text(text.replace(old, new, 1))
            break
    assert path.read_text() != text
    assert "changed since it was written" in refusal(path, lambda _: assemble_report(**run))
    path.write_text(text.replace(SEAL, "clqa.sha257"))
    assert "no digest of itself" in refusal(path, lambda _: assemble_report(**run))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": []}', '{"files": {"train": 1}}'])
def test_a_damaged_receipt_is_refused(tmp_path, content):
    (tmp_path / "receipt.json").write_text(content)
    refusal(tmp_path, received)


@pytest.mark.parametrize("reader", [answer_sizes, answers_hash, read_published])
def test_other_readers_of_tables_name_the_file(tmp_path, reader):
    path = tmp_path / "a.parquet"
    write_table(path, pa.table({"other": [1]}), {})
    arguments = [["1p"]] if reader is answer_sizes else []
    refusal(path, lambda path: reader(path if reader is read_published else [path], *arguments))


@pytest.mark.parametrize("text", ["", "{", "[]", "NaN", '{"a": Infinity}'])
def test_what_is_no_strict_json_object_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    refusal(tmp_path / "a.json", read_json)


def test_relations_that_the_graph_does_not_have_are_refused(made, tmp_path):
    path = changed(
        made, tmp_path, "queries", "relations", lambda rows: [[99] * len(row) for row in rows]
    )
    refusal(path, lambda path: check_asked_of(some_graph(), "test", read_queries(path), path))
