"""Scores from elsewhere have, in every form, the ranks of the same scores in our own form."""

import json
import pickle
import runpy
import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clqa.cut_lists import open_lists
from clqa.errors import InputError
from clqa.files import write_sealed
from clqa.formulas import parse
from clqa.graphs import make_graph, write_graph
from clqa.predictions import open_predictions, write_predictions
from clqa.query_sets import Queries, describe_queries, query_ids, read_queries, write_queries
from clqa.structures import formula_layout, grounded
from clqa.tables import read_table
from clqa.vocabularies import label_array, vocabulary_hash, write_labels
from conftest import ROOT
from import_lists import import_lists
from import_predictions import import_predictions
from rank_answers import rank_answers
from test_scoring_stages import make_queries
from test_tensor_files import Tensor, new, torch  # noqa: F401

N = 7
SHAPES = {
    "2i": "r1(s1,f)&r2(s2,f)",
    "pni": "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
    "1p": "r1(s1,f)",
    "up": "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
}
DECIDED = ("greater", "tied", "candidates")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A graph with labels, queries, their answers, and scores with ties in our own form."""
    folder = tmp_path_factory.mktemp("made")
    drawn = np.random.default_rng(11)
    parts = {
        split: np.stack([drawn.integers(0, most, size) for most in (N, 3, N)], axis=1)
        for split, size in (("train", 30), ("valid", 8), ("test", 8))
    }
    labels = [
        label_array([f"{kind} {n}" for n in range(most)]) for kind, most in (("e", N), ("r", 3))
    ]
    graph = make_graph(parts, np.full(3, -1), N, vocabulary_hash(*labels))
    write_graph(folder / "graph.npz", graph)
    make_queries(folder, graph, SHAPES)
    write_labels(folder / "entities.tsv", labels[0])
    write_labels(folder / "relations.tsv", labels[1])
    asked = read_queries(folder / "queries.parquet")
    ids = [str(name) for part in asked.shapes.values() for name in part.query_ids]
    scores = drawn.integers(0, 4, (len(ids), N)).astype(np.float32) / 3
    sidecar = {"query_ids": ids, "n_entities": N, "vocabulary": graph.vocabulary}
    write_predictions(folder / "own.npy", folder / "own.json", [scores], sidecar)
    return folder, asked, ids, scores


@pytest.fixture
def folder(made, tmp_path):
    return tmp_path


def tuples(asked, entities=None, relations=None):
    """The queries as nested tuples, with other numbers of entities and relations."""
    found = []
    for shape, part in asked.shapes.items():
        anchors = part.anchors if entities is None else entities[part.anchors]
        others = part.relations if relations is None else relations[part.relations]
        found += grounded(formula_layout(parse(SHAPES[shape])), anchors, others)
    return found


def ranks(made, folder, name="own", bound=None, where=None):
    """Counts of all hard answers, with the tops beside them."""
    base, suffix = where or made[0], ".parquet" if bound else ".npy"
    rank_answers(
        base / f"{name}{suffix}",
        base / f"{name}.json",
        made[0] / "answers.parquet",
        folder / "ranks.parquet",
        folder / "tops.parquet",
        depth=N,
        bound=bound,
    )
    table, metadata = read_table(folder / "ranks.parquet")
    return {name: table[name].to_pylist() for name in DECIDED}, metadata


def taken(made, folder, paths, rows, bounded=False, missing="error", **own):
    """Import files of a folder."""
    named = {
        f"path_to_{key}": folder / own.pop(key) for key in ("entities", "relations") if key in own
    }
    absent = [str(folder / path) for path in own.pop("absent", ())]
    settings = {"inference_graph": "train", **own}
    take, suffix = (import_lists, ".parquet") if bounded else (import_predictions, ".npy")
    take(
        made[0] / "queries.parquet",
        made[0] / "entities.tsv",
        made[0] / "relations.tsv",
        [str(folder / path) for path in paths],
        [str(folder / path) for path in rows],
        folder / f"taken{suffix}",
        folder / "taken.json",
        "outside",
        {"method": "imported", "settings": {}, "imported": settings},
        missing,
        **named,
        absent=absent,
    )


def write_ids(folder, ids, name="rows.json", **more):
    (folder / name).write_text(json.dumps({"query_ids": ids, **more}))


# Whole rows


def as_npy(folder, scores):
    np.save(folder / "s.npy", scores)
    return "s.npy", {}


def as_columns(folder, scores):
    np.save(folder / "s.npy", np.asfortranarray(scores))
    return "s.npy", {}


def as_foreign_byte_order(folder, scores):
    np.save(folder / "s.npy", scores.astype(">f8"))
    return "s.npy", {}


def as_npz(folder, scores):
    np.savez_compressed(folder / "s.npz", other=np.zeros(3), scores=scores)
    return "s.npz", {"array": "scores"}


def as_safetensors(folder, scores):
    about = {"dtype": "F32", "shape": scores.shape, "data_offsets": [0, scores.nbytes]}
    header = json.dumps({"__metadata__": {"a": "b"}, "scores": about}).encode()
    (folder / "s.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header + scores.tobytes()
    )
    return "s.safetensors", {}


def as_tensor(folder, scores):
    tensor = Tensor("0", scores)
    new(folder / "s.pt", tensor, [tensor])
    return "s.pt", {}


def as_named_tensor(folder, scores):
    tensors = [Tensor("0", scores), Tensor("1", scores[:1])]
    new(folder / "s.pt", {"logits": tensors[0], "other": tensors[1]}, tensors)
    return "s.pt", {"array": "logits"}


MATRICES = [
    as_npy,
    as_columns,
    as_foreign_byte_order,
    as_npz,
    as_safetensors,
    as_tensor,
    as_named_tensor,
]


@pytest.mark.parametrize("form", MATRICES)
def test_a_matrix_in_any_file_has_the_ranks_of_our_own(made, folder, form, torch):  # noqa: F811
    _, _, ids, scores = made
    order = np.random.default_rng(0).permutation(len(ids))
    path, own = form(folder, np.vstack([scores[order], scores[:1]]))
    write_ids(folder, [*(ids[i] for i in order), "another query"])
    taken(made, folder, [path], ["rows.json"], **own)
    assert ranks(made, folder, "taken", where=folder)[0] == ranks(made, folder)[0]


def test_our_own_dump_can_be_taken(made, folder):
    taken(made, folder, [made[0] / "own.npy"], [made[0] / "own.json"])
    assert (folder / "taken.npy").read_bytes() == (made[0] / "own.npy").read_bytes()


def write_numbering(folder, seed=3):
    """Dictionaries of BetaE's kind in another order, and what they make of our ids."""
    drawn = np.random.default_rng(seed)
    found = []
    for kind, most in (("e", N), ("r", 3)):
        numbers = drawn.permutation(most)
        names = {int(number): f"{kind} {own}" for own, number in enumerate(numbers)}
        (folder / f"{kind}.pkl").write_bytes(pickle.dumps(names))
        found.append(numbers)
    return found


def turned(query):
    """The same query with its branches the other way round."""
    if not isinstance(query, tuple):
        return query
    if len(query) == 2 and all(isinstance(step, int) for step in query[1]):
        return turned(query[0]), query[1]
    is_union = query[-1] == (-1,)
    branches = [turned(part) for part in query[: len(query) - is_union]][::-1]
    return (*branches, *[(-1,)] * is_union)


def as_list(folder, queries):
    (folder / "rows.pkl").write_bytes(pickle.dumps(queries))
    return "rows.pkl"


def as_pairs(folder, queries):
    return as_list(folder, [(query, ("e", ("r",))) for query in queries])


def as_lists_by_structure(folder, queries):
    return as_list(folder, {("e", ("r",)): queries[:3], ("e", ("r", "r")): queries[3:]})


def as_json(folder, queries):
    (folder / "rows.json").write_text(json.dumps({"queries": queries}))
    return "rows.json"


def as_other_branches(folder, queries):
    return as_list(folder, [turned(query) for query in queries])


@pytest.mark.parametrize(
    "form", [as_list, as_pairs, as_lists_by_structure, as_json, as_other_branches]
)
def test_queries_are_found_by_their_tuples_with_ids_of_elsewhere(made, folder, form):
    _, asked, _, scores = made
    entities, relations = write_numbering(folder)
    theirs = np.empty_like(scores)
    theirs[:, entities] = scores
    np.save(folder / "s.npy", theirs)
    rows = form(folder, tuples(asked, entities, relations))
    taken(made, folder, ["s.npy"], [rows], entities="e.pkl", relations="r.pkl")
    assert ranks(made, folder, "taken", where=folder)[0] == ranks(made, folder)[0]


def test_shapes_may_have_files_of_their_own(made, folder):
    _, asked, _, scores = made
    start, paths, rows = 0, [], []
    for shape, part in asked.shapes.items():
        stop = start + len(part.query_ids)
        np.save(folder / f"{shape}.npy", scores[start:stop])
        (folder / f"{shape}.txt").write_text("\n".join(part.query_ids))
        paths.append(f"{shape}.npy")
        rows.append(f"{shape}.txt")
        start = stop
    taken(made, folder, paths, rows)
    assert ranks(made, folder, "taken", where=folder)[0] == ranks(made, folder)[0]


# Lists


def pairs(scores, k=N):
    """Rows and entities of the k best of each row, ties by id."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.repeat(np.arange(len(scores)), k), best.ravel()


def as_table(folder, ids, rows, entities, scores):
    table = {"query_id": np.array(ids)[rows], "entity": entities, "score": scores}
    pq.write_table(pa.table(table), folder / "s.parquet")
    return "s.parquet", None


def as_labels(folder, ids, rows, entities, scores):
    lines = ["query_id\tlabel\tscore"]
    lines += [
        f"{ids[r]}\te {e}\t{s!r}" for r, e, s in zip(rows, entities, scores.tolist(), strict=True)
    ]
    (folder / "s.tsv").write_text("\n".join(lines) + "\n")
    return "s.tsv", None


def as_row_numbers(folder, ids, rows, entities, scores):
    write_ids(folder, ids)
    pq.write_table(
        pa.table({"row": rows, "entity": entities, "score": scores}), folder / "s.parquet"
    )
    return "s.parquet", "rows.json"


def as_arrays(folder, ids, rows, entities, scores):
    write_ids(folder, ids)
    shape = len(ids), -1
    arrays = {"entities": entities.reshape(shape), "scores": scores.reshape(shape)}
    arrays["entities"] = np.pad(arrays["entities"], ((0, 0), (0, 1)), constant_values=-1)
    arrays["scores"] = np.pad(arrays["scores"], ((0, 0), (0, 1)))
    np.savez(folder / "s.npz", **arrays)
    return "s.npz", "rows.json"


LISTS = [as_table, as_labels, as_row_numbers, as_arrays]


def write_lists(form, made, folder, k):
    _, _, ids, scores = made
    rows, entities = pairs(scores, k)
    path, names = form(folder, ids, rows, entities, scores[rows, entities])
    return [path], [names] if names else []


@pytest.mark.parametrize("bound", ["best", "worst"])
@pytest.mark.parametrize("form", LISTS)
def test_whole_lists_have_the_ranks_of_our_own(made, folder, form, bound):
    taken(made, folder, *write_lists(form, made, folder, N), bounded=True, unlisted="bounds")
    assert ranks(made, folder, "taken", bound, folder)[0] == ranks(made, folder)[0]


@pytest.mark.parametrize("form", LISTS)
def test_sparse_scores_have_the_ranks_of_our_own(made, folder, form):
    _, _, ids, scores = made
    sparse = np.where(scores > 0, scores, np.float32(0))
    rows, entities = np.nonzero(sparse)
    if form is as_arrays:
        rows, entities = pairs(scores)
    path, names = form(folder, ids, rows, entities, sparse[rows, entities])
    taken(made, folder, [path], [names] if names else [], unlisted=0)
    assert ranks(made, folder, "taken", where=folder)[0] == ranks(made, folder)[0]


def test_lists_of_shapes_keep_what_is_said_of_them(made, folder):
    _, asked, ids, scores = made
    start, paths, rows = 0, [], []
    for shape, part in asked.shapes.items():
        own = scores[start : start + len(part.query_ids)]
        entities = np.argsort(-own, axis=1, kind="stable")[:, :2]
        best = np.take_along_axis(own, entities, axis=1)
        arrays = {"entities": entities, "scores": best}
        tied = (own == best[:, -1:]).sum(axis=1)
        np.savez(folder / f"{shape}.npz", **arrays, n_tied_at_cut=tied)
        write_ids(folder, part.query_ids.tolist(), f"{shape}.json")
        paths.append(f"{shape}.npz")
        rows.append(f"{shape}.json")
        start += len(own)
    taken(made, folder, paths, rows, bounded=True, unlisted="bounds")
    found, _ = read_table(folder / "taken.parquet")
    cuts = np.sort(scores, axis=1)[:, -2:-1]
    assert found["tied_at_cut"].to_pylist() == (scores == cuts).sum(axis=1).tolist()
    assert found["query_id"].to_pylist() == ids


def test_a_query_without_a_list_can_be_allowed(made, folder):
    _, _, ids, scores = made
    rows, entities = pairs(scores)
    kept = rows > 0
    rows, entities = rows[kept], entities[kept]
    path, _ = as_table(folder, ids, rows, entities, scores[rows, entities])
    own = {"bounded": True, "unlisted": "bounds"}
    (message,) = failed(made, folder, [path], [], **own).values()
    assert f"query {ids[0]}: missing; score it" in message
    taken(made, folder, [path], [], missing="worst", **own)
    opened = open_lists(folder / "taken.parquet", folder / "taken.json", made[1], "worst")
    assert opened.rows[:2].tolist() == [-1, 0]
    assert opened.scores.listed.lengths()[:2].tolist() == [0, N]


@pytest.mark.parametrize("is_said", [True, False])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_ranks_of_cut_lists_enclose_our_own(made, folder, k, is_said):
    _, _, ids, scores = made
    paths, rows = write_lists(as_row_numbers, made, folder, k)
    cuts = -np.sort(-scores, axis=1)[:, k - 1]
    counts = {
        "k": [k] * len(ids),
        "cut_score": cuts.tolist(),
        "n_above": [int(n) for n in (-np.sort(-scores, axis=1)[:, :k] > cuts[:, None]).sum(axis=1)],
        "n_tied_at_cut": (scores == cuts[:, None]).sum(axis=1).tolist(),
    }
    write_ids(folder, ids, **(counts if is_said else {}))
    taken(made, folder, paths, rows, bounded=True, unlisted="bounds")
    exact = ranks(made, folder)[0]
    best, about = ranks(made, folder, "taken", "best", folder)
    worst, _ = ranks(made, folder, "taken", "worst", folder)
    assert about["model"]["settings"] == {"unlisted": "best"}
    assert best["candidates"] == worst["candidates"] == exact["candidates"]
    first = [np.array(one["greater"]) for one in (best, exact, worst)]
    last = [np.array(one["greater"]) + np.array(one["tied"]) for one in (best, exact, worst)]
    for lower, value, upper in (first, last):
        assert (lower <= value).all()
        assert (value <= upper).all()
    assert not np.array_equal(last[0], last[2])


# Several free variables


def test_rows_of_several_variables_are_kept_apart(tmp_path):
    folder = tmp_path
    labels = [
        label_array([f"{kind} {n}" for n in range(most)]) for kind, most in (("e", 4), ("r", 1))
    ]
    parts = {split: np.array([[0, 0, 1]]) for split in ("train", "valid", "test")}
    graph = make_graph(parts, np.full(1, -1), 4, vocabulary_hash(*labels))
    for kind, one in zip(("entities", "relations"), labels, strict=True):
        write_labels(folder / f"{kind}.tsv", one)
    text = "r1(s1,f1)&r2(f1,f2)"
    anchors, relations = np.array([[0], [1]], np.int32), np.zeros((2, 2), np.int32)
    ids = query_ids(graph.hash, parse(text), anchors, relations)
    about = describe_queries(graph, "test", {"pair": text}, ids)
    write_queries(folder / "queries.parquet", {"pair": Queries(ids, anchors, relations)}, about, "")
    scores = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    np.save(folder / "s.npy", scores)
    made = [folder]
    write_ids(folder, ids.tolist()[::-1])
    with pytest.raises(InputError, match=r"rows\.json: variables None; expected f1, f2"):
        taken(made, folder, ["s.npy"], ["rows.json"])
    write_ids(folder, ids.tolist()[::-1], variables=["f2", "f1"])
    taken(made, folder, ["s.npy"], ["rows.json"])
    opened = open_predictions(
        folder / "taken.npy", folder / "taken.json", read_queries(folder / "queries.parquet")
    )
    found = opened.scores[opened.rows][:, opened.axes]
    assert found.tolist() == scores[::-1, ::-1].tolist()
    with pytest.raises(InputError, match="lists for queries with 2 free variables; give a matrix"):
        taken(made, folder, ["s.npz"], ["rows.json"], bounded=True, unlisted="bounds")


# The script to copy


@pytest.mark.parametrize("best", [None, N])
def test_what_the_copied_script_writes_has_the_ranks_of_its_scores(made, folder, best):
    base, asked, ids, _ = made
    entities, relations = write_numbering(folder)
    by_shape = {}
    for shape, part in asked.shapes.items():
        one = asked._replace(shapes={shape: part})
        by_shape[formula_layout(parse(SHAPES[shape])).structure] = set(
            tuples(one, entities, relations)
        )
    (folder / "test-queries.pkl").write_bytes(pickle.dumps(by_shape))
    script = ROOT / "docs" / "examples" / "write_dump.py"
    command = [
        sys.executable,
        script,
        "test-queries.pkl",
        str(N),
        "dumps/toy",
        *[str(best)] * bool(best),
    ]
    subprocess.run(command, cwd=folder, check=True)
    # The scores that the script draws, in the order of our queries and entities.
    drawn = {
        query: row
        for queries in by_shape.values()
        for query, row in zip(
            sorted(queries),
            np.random.default_rng(0).standard_normal((len(queries), N), np.float32),
            strict=True,
        )
    }
    scores = np.array([drawn[query] for query in tuples(asked, entities, relations)])[:, entities]
    sidecar = {**json.loads((base / "own.json").read_text()), "query_ids": ids}
    write_predictions(folder / "expected.npy", folder / "expected.json", [scores], sidecar)
    expected = ranks(made, folder, "expected", where=folder)[0]
    own = {"entities": "e.pkl", "relations": "r.pkl", **({"unlisted": "bounds"} if best else {})}
    path = f"dumps/toy.{'npz' if best else 'npy'}"
    taken(made, folder, [path], ["dumps/toy.json"], bounded=bool(best), **own)
    assert ranks(made, folder, "taken", "worst" if best else None, folder)[0] == expected


class Logits:
    """A batch of scores with the steps by which PyTorch leads to numpy."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    float = cpu = detach

    def numpy(self):
        return self.values


def test_the_copied_script_takes_tensors_batch_by_batch(tmp_path):
    dump_of = runpy.run_path(ROOT / "docs" / "examples" / "write_dump.py")["Dump"]
    scores = np.arange(12, dtype=np.float32).reshape(3, 4)
    with dump_of(tmp_path / "new" / "s.v2") as dump:
        dump.add([(np.int64(1), (0,)), (2, (0,))], Logits(scores[:2]))
        dump.add([(3, (0,))], Logits(scores[2:]))
        with pytest.raises(ValueError, match="of 1 queries"):
            dump.add([(4, (0,))], Logits(scores[:1, :3]))
    assert np.load(tmp_path / "new" / "s.v2.npy").tolist() == scores.tolist()
    content = json.loads((tmp_path / "new" / "s.v2.json").read_text())
    assert content == {"queries": [[1, [0]], [2, [0]], [3, [0]]]}


def test_the_copied_script_says_how_many_tie_with_the_last(tmp_path):
    dump_of = runpy.run_path(ROOT / "docs" / "examples" / "write_dump.py")["Dump"]
    with dump_of(tmp_path / "s", best=2) as dump:
        dump.add([(1, (0,))], np.array([[0.9, 0.5, 0.5, 0.5, 0.1]]))
    arrays = np.load(tmp_path / "s.npz")
    assert arrays["entities"].tolist() == [[0, 1]]
    assert arrays["n_tied_at_cut"].tolist() == [3]


# What is refused


def refused(made, folder, *arguments, **own):
    """The message of an import that must fail and leave nothing."""
    with pytest.raises(InputError) as caught:
        taken(made, folder, *arguments, **own)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("model outside: ")
    assert not list(folder.glob("taken.*"))
    return str(caught.value)


def failed(made, folder, *arguments, **own):
    """What is said of the shapes that an import leaves out."""
    taken(made, folder, *arguments, **own)
    return json.loads((folder / "taken.json").read_text())["failed"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[:, :-1], "s.npy: scores of shape (116, 6); expected (116, 7), a row for each"),
        (lambda s: s[:-1], "s.npy: scores of shape (115, 7); expected (116, 7), a row for each"),
        (lambda s: s[None], "s.npy: scores of shape (1, 116, 7); expected (116, 7)"),
        (lambda s: s.astype(complex), "s.npy: complex128; expected numbers of float16"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused(made, folder, change, message):
    _, _, ids, scores = made
    np.save(folder / "s.npy", change(scores))
    write_ids(folder, ids)
    assert message.replace("116", str(len(ids))).replace("115", str(len(ids) - 1)) in refused(
        made, folder, ["s.npy"], ["rows.json"]
    )


@pytest.mark.parametrize("form", [as_npy, as_npz, as_safetensors, as_tensor])
def test_a_file_that_is_cut_in_half_is_refused(made, folder, form, torch):  # noqa: F811
    _, _, ids, scores = made
    path, own = form(folder, scores)
    whole = (folder / path).read_bytes()
    (folder / path).write_bytes(whole[: len(whole) // 2])
    write_ids(folder, ids)
    assert f"{path}: not readable" in refused(made, folder, [path], ["rows.json"], **own)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: [*ids[:-1], ids[0]], "twice or more; one row per query"),
        (
            lambda ids: [*ids[:-1], 5],
            "expected a list of query ids (query_ids) or of nested tuples",
        ),
        (lambda ids: [f"other {name}" for name in ids], "queries that are asked for, such as"),
    ],
)
def test_queries_that_are_not_asked_for_are_refused(made, folder, change, message):
    _, _, ids, scores = made
    found = change(ids)
    np.save(folder / "s.npy", scores[: len(found)])
    write_ids(folder, found)
    assert message in refused(made, folder, ["s.npy"], ["rows.json"])


def test_missing_queries_can_be_allowed(made, folder):
    _, _, ids, scores = made
    np.save(folder / "s.npy", scores[1:])
    write_ids(folder, ids[1:])
    taken(made, folder, ["s.npy"], ["rows.json"], missing="worst")
    assert json.loads((folder / "taken.json").read_text())["query_ids"] == ids[1:]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"graph": "0" * 64}, "rows.json: made for another graph (000000000000... instead of "),
        ({"vocabulary": "0" * 64}, "rows.json: made for another vocabulary (000000000000... "),
    ],
)
def test_scores_of_another_graph_are_refused(made, folder, more, message):
    _, _, ids, scores = made
    np.save(folder / "s.npy", scores)
    write_ids(folder, ids, **more)
    assert message in refused(made, folder, ["s.npy"], ["rows.json"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([f"e {n}" for n in range(6)], "own.tsv: lacks 'e 6', which the graph has"),
        ([f"e {n}" for n in range(8)], "own.tsv: has 'e 7', which the graph lacks"),
        (["e 0"] * 7, "own.tsv: 7 ids have the label 'e 0'"),
    ],
)
def test_entities_of_another_graph_are_refused(made, folder, labels, message):
    _, _, ids, scores = made
    np.save(folder / "s.npy", scores)
    write_ids(folder, ids)
    write_labels(folder / "own.tsv", label_array(labels))
    assert message in refused(made, folder, ["s.npy"], ["rows.json"], entities="own.tsv")


def as_pairs_of(changes):
    """Lists of two entities for each query, with changes to the columns."""

    def write(folder, ids, scores):
        rows, entities = pairs(scores, 2)
        table = {"row": rows, "entity": entities, "score": scores[rows, entities]}
        pq.write_table(pa.table({**table, **changes(**table)}), folder / "s.parquet")

    return write


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (lambda entity, **_: {"entity": entity + 70}, "of an entity; expected 0 to 6"),
        (lambda entity, **_: {"entity": 0 * entity}, "lists an entity twice"),
        (lambda score, **_: {"score": np.nan * score}, "hold a NaN"),
        (lambda row, **_: {"row": row + 3}, "the column row must be from 0 to"),
        (
            lambda entity, **_: {"entity": entity + 0.5},
            "column entity is of double; expected whole",
        ),
        (
            lambda score, **_: {"score": ["high"] * len(score)},
            "column score is of string; expected",
        ),
        (lambda score, **_: {"score": [None] * len(score)}, "hold a NaN"),
        (lambda row, **_: {"query_id": row}, "columns row, entity, score, query_id; expected"),
        (lambda entity, **_: {"label": entity}, "columns row, entity, score, label; expected"),
    ],
)
def test_lists_that_do_not_fit_are_refused(made, folder, changes, message):
    _, _, ids, scores = made
    as_pairs_of(changes)(folder, ids, scores)
    write_ids(folder, ids)
    paths = ["s.parquet"], ["rows.json"]
    for bounded, unlisted in ((True, "bounds"), (False, 0)):
        own = {"bounded": bounded, "unlisted": unlisted}
        assert message in refused(made, folder, *paths, **own)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"k": [3]}, "k must have a number for each of"),
        ({"k": 3}, "k of query {}"),
        ({"n_above": 2}, "n_above of query {} is 2, which does not fit its list"),
        ({"cut_score": 9.0}, "cut_score of query {} is 9.0, which does not fit its list"),
        ({"n_tied_at_cut": 0}, "n_tied_at_cut of query {} is 0, which does not fit its list"),
        ({"n_tied_at_cut": 8}, "n_tied_at_cut of query {} is 8, which does not fit its list"),
        ({"n_tied_at_cut": "two"}, "n_tied_at_cut must have a number for each of"),
    ],
)
def test_counts_that_do_not_fit_a_list_are_refused(made, folder, counts, message):
    _, _, ids, scores = made
    as_pairs_of(dict)(folder, ids, scores)
    counts = {
        key: one if isinstance(one, list) else [one] * len(ids) for key, one in counts.items()
    }
    write_ids(folder, ids, **counts)
    found = refused(made, folder, ["s.parquet"], ["rows.json"], bounded=True, unlisted="bounds")
    assert message.format(ids[0]) in found


def test_labels_that_the_graph_lacks_are_refused(made, folder):
    lines = "".join(f"{name}\tnobody\t1\n" for name in made[2])
    (folder / "s.tsv").write_text(f"query_id\tlabel\tscore\n{lines}")
    found = refused(made, folder, ["s.tsv"], [], bounded=True, unlisted="bounds")
    assert "s.tsv: the graph has no entity 'nobody'" in found


# Faults of one shape


def check_others(made, folder, said, shape, bounded=False):
    """A shape is left out with what is said of it; the others have the ranks of our own scores."""
    content = json.loads((folder / "taken.json").read_text())
    assert content["failed"].keys() == {shape}
    assert said in content["failed"][shape]
    assert not list(folder.glob(".*"))
    bound = "best" if bounded else None
    about = ranks(made, folder, "taken", bound, folder)[1]
    assert about["failed"] == content["failed"]
    table = read_table(folder / "ranks.parquet")[0].to_pylist()
    ranks(made, folder)
    own = read_table(folder / "ranks.parquet")[0].to_pylist()
    keys = ("query_id", "answer", "filter", *DECIDED)
    assert [tuple(row[key] for key in keys) for row in table] == [
        tuple(row[key] for key in keys) for row in own if row["shape"] != shape
    ]


def rows_of(made, shape):
    """Places of the queries of a shape."""
    names = set(made[1].shapes[shape].query_ids)
    return [place for place, name in enumerate(made[2]) if name in names]


@pytest.mark.parametrize("shape", ["2i", "1p"])
def test_a_nan_in_a_matrix_costs_its_shape(made, folder, shape):
    _, _, ids, scores = made
    changed = scores.copy()
    changed[rows_of(made, shape)[1], 3] = np.nan
    np.save(folder / "s.npy", changed)
    write_ids(folder, ids)
    taken(made, folder, ["s.npy"], ["rows.json"])
    said = f"s.npy: the scores of query {ids[rows_of(made, shape)[1]]} hold a NaN"
    check_others(made, folder, said, shape)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("score", np.nan, "hold a NaN"),
        ("entity", 70, "the id 70 of an entity; expected 0 to 6"),
        ("entity", 0, "lists an entity twice"),
    ],
)
@pytest.mark.parametrize("bounded", [True, False])
def test_a_fault_in_a_list_costs_its_shape(made, folder, bounded, column, value, said):
    _, _, ids, scores = made
    rows, entities = pairs(scores)
    table = {"row": rows, "entity": entities, "score": scores[rows, entities]}
    table[column][rows == rows_of(made, "pni")[2]] = value
    pq.write_table(pa.table(table), folder / "s.parquet")
    write_ids(folder, ids)
    own = {"bounded": bounded, "unlisted": "bounds" if bounded else 0}
    taken(made, folder, ["s.parquet"], ["rows.json"], **own)
    check_others(made, folder, said, "pni", bounded)


def test_missing_queries_cost_their_shape(made, folder):
    _, _, ids, scores = made
    np.save(folder / "s.npy", scores[:-1])
    write_ids(folder, ids[:-1])
    taken(made, folder, ["s.npy"], ["rows.json"])
    check_others(made, folder, f"query {ids[-1]}: missing; score it", "up")


@pytest.mark.parametrize("bounded", [True, False])
def test_a_shape_may_be_missing_where_another_fails(made, folder, bounded):
    _, _, ids, scores = made
    kept = [place for place in range(len(ids)) if place not in rows_of(made, "1p")]
    rows, entities = pairs(scores[kept])
    score = scores[kept][rows, entities]
    score[rows == rows_of(made, "2i")[0]] = np.nan
    pq.write_table(
        pa.table({"row": rows, "entity": entities, "score": score}), folder / "s.parquet"
    )
    write_ids(folder, [ids[place] for place in kept])
    own = {"bounded": bounded, "unlisted": "bounds" if bounded else 0, "missing": "worst"}
    assert failed(made, folder, ["s.parquet"], ["rows.json"], **own).keys() == {"2i"}


@pytest.mark.parametrize("fault", ["cut", "absent", "other rows"])
@pytest.mark.parametrize("bounded", [True, False])
def test_a_file_of_a_shape_costs_no_other(made, folder, bounded, fault):
    _, asked, ids, scores = made
    for shape in asked.shapes:
        places = rows_of(made, shape)
        write_ids(folder, [ids[place] for place in places], f"{shape}.json")
        rows, entities = pairs(scores[places])
        table = {"row": rows, "entity": entities, "score": scores[places][rows, entities]}
        pq.write_table(pa.table(table), folder / f"{shape}.parquet")
    file = folder / "pni.parquet"
    if fault == "cut":
        file.write_bytes(file.read_bytes()[:99])
    elif fault == "absent":
        file.unlink()
    else:
        write_ids(folder, [f"other {n}" for n in range(len(rows_of(made, "pni")))], "pni.json")
    own = {"bounded": bounded, "unlisted": "bounds" if bounded else 0, "scores": "{shape}.parquet"}
    paths = [[f"{shape}.{end}" for shape in asked.shapes] for end in ("parquet", "json")]
    taken(made, folder, *paths, absent=["pni.parquet"] * (fault == "absent"), **own)
    said = {
        "cut": "not a readable",
        "absent": "no such file; put it there",
        "other rows": "has none of the",
    }
    check_others(made, folder, said[fault], "pni", bounded)


@pytest.mark.parametrize("missing", ["error", "worst", "skip"])
@pytest.mark.parametrize("bounded", [True, False])
def test_a_file_of_other_queries_is_refused_whatever_a_missing_one_costs(
    made, folder, bounded, missing
):
    _, _, ids, scores = made
    rows, entities = pairs(scores)
    as_table(folder, [f"other {name}" for name in ids], rows, entities, scores[rows, entities])
    own = {"bounded": bounded, "unlisted": "bounds" if bounded else 0, "missing": missing}
    assert "has none of the" in refused(made, folder, ["s.parquet"], [], **own)


def test_files_of_all_shapes_that_are_absent_stop_all(made, folder):
    found = refused(made, folder, ["s.npy"], ["rows.json"], absent=["s.npy", "rows.json"])
    assert found.endswith("s.npy and 1 more: no such file; put it there, or leave the model out")
    each = ["2i.npy", "pni.npy", "1p.npy", "up.npy"]
    own = {"scores": "{shape}.npy", "absent": ["entities.txt"]}
    assert "entities.txt: no such file" in refused(made, folder, each, [], **own)


def test_lists_that_were_changed_are_not_ranked(made, folder):
    taken(made, folder, *write_lists(as_table, made, folder, 2), bounded=True, unlisted="bounds")
    content = json.loads((folder / "taken.json").read_text())
    write_sealed(folder / "taken.json", {**content, "sha256": "0" * 64})
    with pytest.raises(InputError, match=r"taken\.parquet: not of .*taken\.json; delete it"):
        ranks(made, folder, "taken", "best", folder)
