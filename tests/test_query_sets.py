"""Tables of queries and answers on disk, and the ids of queries."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import OBSERVED, make_graph
from clqa.query_sets import (
    Answers,
    Queries,
    canonical_groundings,
    describe_queries,
    query_ids,
    read_answers,
    read_queries,
    set_hash,
    write_answers,
    write_queries,
)
from clqa.ragged import ragged
from clqa.tables import read_table, write_table
from clqa.tuples import ragged_tuples
from strategies import formulas, groundings

FORMULAS = {"up": "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)", "1p": "r1(s1,f)", "2p": "r1(s1,e1)&r2(e1,f)"}
METADATA = {
    "graph": "g",
    "vocabulary": "v",
    "n_entities": 9,
    "split": "test",
    "observed": ["train", "valid"],
    "full": ["train", "valid", "test"],
    "formulas": FORMULAS,
}


def batch(shape, *rows):
    n_constants, n_relations = {"up": (2, 3), "1p": (1, 1), "2p": (1, 2)}[shape]
    rows = np.array(rows, np.int32).reshape(len(rows), n_constants + n_relations)
    anchors, relations = rows[:, :n_constants], rows[:, n_constants:]
    return Queries(query_ids("g", parse(FORMULAS[shape]), anchors, relations), anchors, relations)


SHAPES = {
    "up": batch("up", [3, 4, 0, 1, 2], [5, 4, 1, 1, 0]),
    "1p": batch("1p", [7, 2]),
    "2p": batch("2p"),
}


METADATA["queries"] = set_hash(name for batch in SHAPES.values() for name in batch.query_ids)


@pytest.mark.parametrize("rows", [[0, 1], [0, 1, 2, 2], [0, 2, 1]])
def test_rows_that_are_missing_repeated_or_shuffled_are_refused(tmp_path, rows):
    path = tmp_path / "queries.parquet"
    write_queries(path, SHAPES, METADATA, source="sampled")
    table, metadata = read_table(path)
    write_table(path, table.take(rows), metadata)
    with pytest.raises(InputError, match=r"queries.parquet: rows"):
        read_queries(path)


def test_queries_come_back_in_the_order_of_the_file(tmp_path):
    path = tmp_path / "queries.parquet"
    write_queries(path, SHAPES, METADATA, source="sampled")
    found = read_queries(path)
    assert found.metadata == METADATA
    assert list(found.shapes) == ["up", "1p", "2p"]
    for shape, expected in SHAPES.items():
        assert found.shapes[shape].selected is None
        for column, values in zip(found.shapes[shape][:3], expected[:3], strict=True):
            assert column.tolist() == values.tolist()
            assert column.shape == values.shape


def test_answers_come_back_with_their_reductions(tmp_path):
    path = tmp_path / "answers.parquet"
    shapes = {
        "up": Answers(
            SHAPES["up"].query_ids,
            ragged([[1, 2], []]),
            ragged([[5], [3, 0]]),
            ragged([[], [8]]),
            np.array([2, 1, 1], np.uint8),
            np.array([8, 6, 1 << 63], np.uint64),
            np.array([1, 0, -1], np.int8),
        ),
        "1p": Answers(SHAPES["1p"].query_ids, *[ragged([[]])] * 3, links=np.empty(0, np.uint8)),
        "2p": Answers(SHAPES["2p"].query_ids, *[ragged([])] * 3, links=np.empty(0, np.uint8)),
    }
    write_answers(path, shapes, METADATA)
    found = read_answers(path)
    assert found.metadata["observed"] == ["train", "valid"]
    assert list(found.shapes) == ["up", "1p", "2p"]
    for shape, expected in shapes.items():
        ours = found.shapes[shape]
        for name in ("links", "subsets", "classes"):
            values = getattr(expected, name)
            assert getattr(ours, name).tolist() == ([] if values is None else values.tolist())
        for name in ("easy", "hard", "retracted"):
            rows, wanted = getattr(ours, name), getattr(expected, name)
            assert rows.offsets.tolist() == wanted.offsets.tolist()
            assert rows.values.tolist() == wanted.values.tolist()


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_queries(tmp_path / name, SHAPES, METADATA, source="sampled")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_id_is_the_digest_of_graph_formula_and_canonical_grounding():
    text = b"g\nr1(s1,f)\n" + np.array([7, 2], "<i4").tobytes()
    assert SHAPES["1p"].query_ids.tolist() == [hashlib.sha256(text).hexdigest()[:20]]


@settings(deadline=None)
@given(st.data())
def test_the_id_ignores_the_order_of_like_branches(data):
    formula = data.draw(formulas())
    anchors, relations = data.draw(groundings(formula))
    _, orders = canonical(formula)
    own = np.concatenate([anchors, relations], axis=1)
    order = orders[data.draw(st.integers(0, len(orders) - 1))]
    moved = np.empty_like(own)
    moved[:, orders[0]] = own[:, order]
    n = anchors.shape[1]
    ids = query_ids("g", formula, anchors, relations)
    assert query_ids("g", formula, moved[:, :n], moved[:, n:]).tolist() == ids.tolist()


def test_the_canonical_grounding_is_the_smallest_one():
    _, orders = canonical(parse("r1(s1,f)&r2(s2,f)&r3(s3,f)"))
    rows = canonical_groundings(orders, np.array([[9, 4, 4]]), np.array([[1, 3, 2]]))
    assert rows.tolist() == [[4, 4, 9, 2, 3, 1]]


def test_the_hash_of_a_set_does_not_depend_on_shards():
    assert set_hash(["b", "a", "c"]) == set_hash(["a", "b", "c"])
    assert set_hash(["a"]) != set_hash(["a", "b"])


def test_a_table_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.parquet"
    write_table(path, pa.table({"query_id": ["a"]}), METADATA)
    with pytest.raises(InputError, match=r"other.parquet: .*without the column 'shape'"):
        read_queries(path)


@pytest.mark.parametrize("keep", [0, 3, 100])
def test_a_cut_table_is_refused_by_name(tmp_path, keep):
    path = tmp_path / "queries.parquet"
    write_queries(path, SHAPES, METADATA, source="sampled")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"queries.parquet: not a readable table"):
        read_queries(path)


# Several free variables.

PAIR = "r1(s1,f1)&r2(f1,f2)"


def written_pairs(path, hard=(((3, 1), (2, 5), (2, 4)), ()), arity=2):
    ids = np.array(["a", "b"], object)
    sets = [ragged_tuples(rows, 2) for rows in ([[], [(1, 1)]], hard, [[], []])]
    links = np.arange(len(sets[1].values), dtype=np.uint8)
    metadata = METADATA | {"formulas": {"pair": PAIR}, "queries": set_hash(ids), "arity": arity}
    write_answers(path, {"pair": Answers(ids, *sets, links)}, metadata)


def test_tuples_are_flattened_on_disk_and_read_as_tuples(tmp_path):
    written_pairs(tmp_path / "answers.parquet")
    assert read_table(tmp_path / "answers.parquet")[0]["hard"].to_pylist() == [
        [2, 4, 2, 5, 3, 1],
        [],
    ]
    found = read_answers(tmp_path / "answers.parquet").shapes["pair"]
    assert found.hard.offsets.tolist() == [0, 3, 3]
    assert found.hard.values.tolist() == [[2, 4], [2, 5], [3, 1]]
    assert found.easy.row(1).tolist() == [[1, 1]]
    assert found.retracted.values.shape == (0, 2)
    assert found.links.tolist() == [0, 1, 2]


def test_a_table_of_another_arity_is_refused(tmp_path):
    written_pairs(tmp_path / "answers.parquet", arity=3)
    with pytest.raises(
        InputError, match="pair has 2 free variables; the table is of shapes with 3"
    ):
        read_answers(tmp_path / "answers.parquet")


def test_tuples_that_do_not_ascend_are_refused(tmp_path):
    path = tmp_path / "answers.parquet"
    written_pairs(path)
    rows, metadata = read_table(path)
    swapped = pa.array([[2, 5, 2, 4, 3, 1], []], rows["hard"].type)
    write_table(path, rows.set_column(rows.column_names.index("hard"), "hard", swapped), metadata)
    with pytest.raises(InputError, match="hard do not ascend"):
        read_answers(path)


def test_shapes_of_different_arities_share_no_table():
    graph = make_graph({s: np.empty((0, 3), np.int32) for s in OBSERVED}, np.full(1, -1), 3, "v")
    with pytest.raises(InputError, match="shapes of 1 and of 2 free variables in one table"):
        describe_queries(graph, "test", {"1p": FORMULAS["1p"], "pair": PAIR}, [])
    assert describe_queries(graph, "test", {"pair": PAIR}, [])["arity"] == 2
    assert "arity" not in describe_queries(graph, "test", {"1p": FORMULAS["1p"]}, [])
