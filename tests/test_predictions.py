"""Dumps are checked when they are written and when they are read."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from clqa.errors import InputError
from clqa.files import SEAL, sha256_of
from clqa.predictions import open_predictions, write_predictions

IDS = {"1p": ["a", "b", "c"], "2p": ["d", "e"]}
SCORES = np.arange(20, dtype=np.float32).reshape(5, 4)


FORMULAS = {"1p": "r1(s1,f)", "2p": "r1(s1,e1)&r2(e1,f)"}
PAIRS = {"1p": "r1(s1,f1)&r2(f1,f2)", "2p": "r1(s1,f2)&r2(f2,f1)"}


def table(ids=IDS, vocabulary="f" * 64, graph="g", queries="q", n_entities=4, formulas=FORMULAS):
    """What is expected of a dump: a table of queries, as far as a dump is concerned."""
    shapes = {name: SimpleNamespace(query_ids=np.array(part)) for name, part in ids.items()}
    metadata = {
        "vocabulary": vocabulary,
        "graph": graph,
        "queries": queries,
        "n_entities": n_entities,
        "formulas": formulas,
    }
    return SimpleNamespace(shapes=shapes, metadata=metadata)


def write(folder, scores=SCORES, blocks=None, **changes):
    """Write a dump of the queries of `IDS`; `changes` go into its sidecar."""
    sidecar = {"query_ids": list("abcde"), **table().metadata, **changes}
    paths = folder / "all.npy", folder / "all.json"
    write_predictions(*paths, [scores] if blocks is None else blocks, sidecar)
    return paths


def edit(path, **changes):
    """Make of a sidecar what another program might write; None removes a key."""
    content = {**json.loads(path.read_text()), SEAL: None, **changes}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


@pytest.fixture
def dump(tmp_path):
    return write(tmp_path)


def test_what_was_written_is_read(dump):
    opened = open_predictions(*dump, table())
    assert opened.scores[opened.rows].tolist() == SCORES.tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"graph"', '"grapi"'),
        lambda text: text.replace('"queries"', '"querjes"'),
        lambda text: text.replace('"a"', '"f"', 1),
        lambda text: text.replace(SEAL, "clqa.sha257"),
    ],
)
def test_a_sidecar_whose_keys_or_values_have_changed_is_refused(dump, change):
    text = dump[1].read_text()
    assert change(text) != text
    dump[1].write_text(change(text))
    with pytest.raises(InputError, match=r"changed since it was written|unknown key"):
        open_predictions(*dump, table())


def test_an_unknown_key_of_a_sidecar_from_elsewhere_is_refused(dump):
    edit(dump[1], grapi="x")
    with pytest.raises(InputError, match="unknown key 'grapi'"):
        open_predictions(*dump, table())


def test_the_matrix_is_a_plain_numpy_file(dump):
    assert np.load(dump[0]).tolist() == SCORES.tolist()


def test_the_matrix_is_mapped_and_not_loaded(dump):
    assert isinstance(open_predictions(*dump, table()).scores, np.memmap)


def test_the_sidecar_holds_the_digest_of_the_matrix(dump):
    assert json.loads(dump[1].read_text())["sha256"] == sha256_of(dump[0])


def test_the_sidecar_holds_the_size_of_the_matrix(dump):
    assert json.loads(dump[1].read_text())["bytes"] == dump[0].stat().st_size


def test_blocks_do_not_show_in_the_bytes(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    write(whole)
    write(parts, blocks=[SCORES[:1], SCORES[1:1], SCORES[1:4], SCORES[4:]])
    for name in ("all.npy", "all.json"):
        assert (whole / name).read_bytes() == (parts / name).read_bytes()


def test_lines_in_another_order_are_found_by_their_ids(tmp_path):
    order = [3, 1, 4, 0, 2]
    paths = write(tmp_path, SCORES[order], query_ids=[list("abcde")[i] for i in order])
    opened = open_predictions(*paths, table())
    assert opened.scores[opened.rows].tolist() == SCORES.tolist()


def test_a_dump_without_queries_is_legal(tmp_path):
    paths = write(tmp_path, blocks=[], query_ids=[])
    assert open_predictions(*paths, table({"1p": []})).scores.shape == (0, 4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_number_types_are_kept(tmp_path, dtype):
    paths = write(tmp_path, SCORES.astype(dtype))
    assert open_predictions(*paths, table()).scores.dtype == dtype


def test_half_precision_is_kept_but_warned_of(tmp_path):
    paths = write(tmp_path, SCORES.astype(np.float16))
    with pytest.warns(UserWarning, match=r"all\.npy: float16 scores tie often"):
        assert open_predictions(*paths, table()).scores.dtype == np.float16


def test_infinite_scores_are_legal(tmp_path):
    paths = write(tmp_path, np.full((5, 4), -np.inf, np.float32))
    assert np.isinf(open_predictions(*paths, table()).scores).all()


def test_an_origin_that_a_dump_does_not_tell_is_not_compared(dump):
    edit(dump[1], graph=None, queries=None, bytes=None, dtype=None)
    assert open_predictions(*dump, table()).sidecar["n_entities"] == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": "0" * 64}, "another vocabulary (000000000000... instead of ffffffffffff"),
        ({"graph": "other"}, "the graph has changed"),
        ({"queries": "other"}, "the query set has changed"),
        ({"n_entities": 5}, "scores for 5 entities; expected 4"),
        ({"query_ids": list("abcd")}, "query e: missing"),
        ({"query_ids": list("abc")}, "query d and 1 more: missing"),
        ({"query_ids": list("abcdef")}, "query f: not asked"),
        ({"query_ids": list("abcdb")}, "query b: twice or more"),
        ({"query_ids": "abcde"}, "query_ids must be a list"),
        ({"query_ids": [1, 2, 3, 4, 5]}, "query_ids must be a list"),
        ({"sha256": None}, "no sha256"),
        ({"vocabulary": None, "query_ids": None}, "no query_ids, vocabulary"),
        ({"dtype": "float64"}, "float32, but its sidecar says float64"),
        ({"bytes": 3}, "cut short or changed"),
        ({"sha256": "0" * 64}, f"sidecar {'0' * 64}"),
    ],
)
def test_a_sidecar_that_does_not_fit_is_refused_in_one_line(dump, changes, message):
    edit(dump[1], **changes)
    with pytest.raises(InputError) as caught:
        open_predictions(*dump, table())
    assert message in str(caught.value)
    assert "all." in str(caught.value)
    assert "\n" not in str(caught.value)


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def cut_to_header(path):
    path.write_bytes(path.read_bytes()[:60])


def cut_to_nothing(path):
    path.write_bytes(b"")


def grow(path):
    path.write_bytes(path.read_bytes() + b"0")


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def replace_by_text(path):
    path.write_text("<html>no such file</html>")


def replace_by_objects(path):
    np.save(path, np.full((5, 4), None), allow_pickle=True)


def replace_by_integers(path):
    np.save(path, np.zeros((5, 4), np.int32))


def replace_by_foreign_byte_order(path):
    np.save(path, SCORES.astype(">f4"))


def replace_by_fewer_columns(path):
    np.save(path, SCORES[:, :3].copy())


def replace_by_fewer_rows(path):
    np.save(path, SCORES[:3])


def store_by_columns(path):
    np.save(path, np.asfortranarray(SCORES))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "cut short"),
        (cut_to_header, "cut short"),
        (cut_to_nothing, "cut short"),
        (grow, "cut short or changed"),
        (flip_a_bit, "changed since it was written (sha256"),
        (replace_by_text, "not a .npy file"),
        (replace_by_objects, "not a .npy file"),
        (replace_by_integers, "a matrix of int32"),
        (replace_by_foreign_byte_order, "a matrix of >f4"),
        (replace_by_fewer_columns, "(5, 3); expected (5, 4)"),
        (replace_by_fewer_rows, "(3, 4); expected (5, 4)"),
        (store_by_columns, "Fortran order"),
    ],
)
def test_a_damaged_matrix_is_refused_in_one_line(dump, damage, message):
    damage(dump[0])
    with pytest.raises(InputError) as caught:
        open_predictions(*dump, table())
    assert message in str(caught.value)
    assert str(dump[0]) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_nan_in_a_foreign_dump_is_refused_by_the_name_of_its_query(dump):
    scores = SCORES.copy()
    scores[3, 2] = np.nan
    np.save(dump[0], scores)
    edit(dump[1], sha256=sha256_of(dump[0]))
    with pytest.raises(InputError, match="query d hold a NaN"):
        open_predictions(*dump, table())


@pytest.mark.parametrize("name", ["all.npy", "all.json"])
def test_a_missing_file_is_named(dump, name):
    (dump[0].parent / name).unlink()
    with pytest.raises(InputError, match=name):
        open_predictions(*dump, table())


def test_a_sidecar_that_is_no_json_is_refused(dump):
    dump[1].write_text("{")
    with pytest.raises(InputError, match=r"all\.json: not readable as JSON"):
        open_predictions(*dump, table())


with_nan = SCORES.copy()
with_nan[1, 0] = np.nan


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([with_nan], "query b hold a NaN"),
        ([SCORES[:4]], "4 rows for 5 queries"),
        ([SCORES, SCORES[:1]], "rows after the last query"),
        ([SCORES[:, :3]], "expected (5, 4)"),
        ([SCORES.astype(np.int32)], "a block of int32"),
        ([SCORES[:3], SCORES[3:].astype(np.float64)], "queries from d: a block of float64"),
    ],
)
def test_bad_scores_are_refused_when_written(tmp_path, blocks, message):
    with pytest.raises(InputError) as caught:
        write(tmp_path, blocks=blocks)
    assert message in str(caught.value)


def test_a_failed_write_leaves_no_file(tmp_path):
    with pytest.raises(InputError):
        write(tmp_path, blocks=[SCORES[:4]])
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_no_old_sidecar_beside_new_scores(dump):
    with pytest.raises(InputError):
        write(dump[0].parent, blocks=[SCORES[:4]])
    assert not dump[1].exists()


def test_the_matrix_may_be_moved_with_its_sidecar(dump, tmp_path):
    moved = [shutil.copy(path, tmp_path / f"moved{path.suffix}") for path in dump]
    assert open_predictions(*moved, table()).scores.shape == (5, 4)


# Several free variables.

TWICE = np.arange(40, dtype=np.float32).reshape(5, 2, 4)


def write_pairs(folder, scores=TWICE, variables=("f1", "f2"), **changes):
    return write(folder, scores, variables=list(variables), **changes)


@pytest.mark.parametrize(("variables", "axes"), [(("f1", "f2"), [0, 1]), (("f2", "f1"), [1, 0])])
def test_variables_are_found_by_their_names(tmp_path, variables, axes):
    opened = open_predictions(*write_pairs(tmp_path, variables=variables), table(formulas=PAIRS))
    assert opened.scores.tolist() == TWICE.tolist()
    assert opened.axes.tolist() == axes


def test_variables_without_names_are_refused(tmp_path):
    path, sidecar = write_pairs(tmp_path)
    edit(sidecar, variables=None)
    with pytest.raises(InputError, match=r"all\.json: no variables; expected f1, f2"):
        open_predictions(path, sidecar, table(formulas=PAIRS))


def test_other_variables_are_refused(tmp_path):
    dump = write_pairs(tmp_path, variables=("f1", "f3"))
    with pytest.raises(InputError, match="the variables f1, f3; expected f1, f2"):
        open_predictions(*dump, table(formulas=PAIRS))


@pytest.mark.parametrize(
    ("scores", "formulas", "rows"),
    [
        (SCORES, PAIRS, r"\(4,\) instead of \(2, 4\) for query a"),
        (TWICE, FORMULAS, r"\(2, 4\) instead of \(4,\) for query a"),
        (np.zeros((5, 3, 4), np.float32), PAIRS, r"\(3, 4\) instead of \(2, 4\) for query a"),
    ],
)
def test_a_dump_of_other_numbers_of_variables_names_a_query_and_both_shapes(
    tmp_path, scores, formulas, rows
):
    names = [f"f{n}" for n in range(1, scores.shape[1] + 1)] if scores.ndim == 3 else None
    dump = write(tmp_path, scores, **({"variables": names} if names else {}))
    with pytest.raises(InputError, match=rows):
        open_predictions(*dump, table(formulas=formulas))


def test_a_nan_among_the_scores_of_a_variable_names_its_query(tmp_path):
    bad = TWICE.copy()
    bad[3, 1, 2] = np.nan
    with pytest.raises(InputError, match="query d hold a NaN"):
        write_pairs(tmp_path, bad)


def test_shapes_whose_variables_differ_do_not_share_a_dump(tmp_path):
    formulas = {"1p": PAIRS["1p"], "2p": "r1(s1,f1)&r2(f1,f3)"}
    with pytest.raises(InputError, match=r"shapes 1p \(f1, f2\) and 2p \(f1, f3\) in one shard"):
        open_predictions(*write_pairs(tmp_path), table(formulas=formulas))
