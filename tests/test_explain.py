"""explain.py: what a query asks, why an answer is one, and how a model ranks it."""

import json

import numpy as np
import pyarrow as pa
import pytest

import explain
from clqa.display_names import DisplayNames, read_names
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.graphs import make_graph, write_graph
from clqa.predictions import write_predictions
from clqa.predictors import make_predictor, n_reciprocal, write_predictor
from clqa.query_sets import Queries, describe_queries, query_ids, set_hash, write_queries
from clqa.tables import read_table, write_table
from clqa.vocabularies import label_array, vocabulary_hash, write_labels
from clqa.worded_queries import in_words
from predict_answers import predict_answers
from rank_answers import rank_answers
from split_answers import split_answers

# cases.md 99: observed a-r->b; missing b-s->x, a-r->c, c-s->x.
ENTITIES, RELATIONS = ["a", "b", "c", "x"], ["r", "s"]
OBSERVED, MISSING = [(0, 0, 1)], [(1, 1, 3), (0, 0, 2), (2, 1, 3)]
SHAPES = {"2p": "r1(s1,e1)&r2(e1,f)", "pairs": "r1(s1,f1)&r2(f1,f2)"}
SHAPES["2in"] = "r1(s1,f)&!r2(s2,f)"
QTO = {"predictor": "bilinear", "calibration": {"kind": "softmax"}, "hybrid": True}


def make_results(results, shape="2p", entities=ENTITIES):
    """A graph, one query of a shape with its answers; the id of the query."""
    labels = label_array(entities), label_array(RELATIONS)
    triples = {"train": OBSERVED, "valid": np.zeros((0, 3), np.int32), "test": MISSING}
    triples = {split: np.array(rows, np.int32) for split, rows in triples.items()}
    n_entities = len(entities)
    graph = make_graph(triples, np.array([-1, -1]), n_entities, vocabulary_hash(*labels))
    folder = results / "graphs" / "tiny"
    folder.mkdir(parents=True)
    write_graph(folder / "graph.npz", graph)
    for name, values in zip(("entities", "relations"), labels, strict=True):
        write_labels(folder / f"{name}.tsv", values)
    (folder / "summary.json").write_text(json.dumps({"graph": graph.hash}))
    formula, relations = parse(SHAPES[shape]), np.array([[0, 1]])
    anchors = np.array([[0, 1] if shape == "2in" else [0]])
    ids = query_ids(graph.hash, formula, anchors, relations)
    batch = Queries(ids, anchors.astype(np.int32), relations.astype(np.int32))
    metadata = describe_queries(graph, "test", {shape: SHAPES[shape]}, ids)
    path = results / "queries/tiny-test/all.parquet"
    write_queries(path, {shape: batch}, metadata, "sampled")
    answers = results / "answers/tiny-test/all.parquet"
    split_answers(folder / "graph.npz", path, answers, "test")
    return graph, str(ids[0]), metadata


def rank_scores(results, graph, query_id, metadata, scores, settings=None, method="file"):
    """A dump of given scores, and its ranks and tops."""
    path = results / "predictions/tiny-test/some/all.npy"
    sidecar = {"query_ids": [query_id], "n_entities": graph.n_entities, "model": "some"}
    sidecar |= {"vocabulary": graph.vocabulary, "method": method, "settings": settings or {}}
    scores = np.array(scores, np.float32)
    if scores.ndim > 1:
        sidecar["variables"] = ["f1", "f2"]
    write_predictions(path, path.with_suffix(".json"), [scores[None]], sidecar)
    rank(results, path)


def rank(results, path):
    outputs = (results / kind / "tiny-test/some/all.parquet" for kind in ("ranks", "tops"))
    answers = results / "answers/tiny-test/all.parquet"
    rank_answers(path, path.with_suffix(".json"), answers, *outputs, depth=10)


def lines(capsys, results, query_id, *arguments):
    given = ["--queries", "tiny-test", "--id", query_id, "--results", str(results), *arguments]
    assert explain.main(given) == 0
    return capsys.readouterr().out.splitlines()


def test_the_query_and_its_answers_are_told(tmp_path, capsys):
    _, query_id, _ = make_results(tmp_path)
    assert lines(capsys, tmp_path, query_id[:6])[:9] == [
        f"query {query_id} of tiny-test, shape 2p (r1(s1,e1)&r2(e1,f))",
        "in words: Which f? there is e1 so that (a) -r-> (e1) and (e1) -s-> (f)",
        'formula:  "r"("a",e1)&"s"(e1,f)',
        "SPARQL:",
        "  SELECT DISTINCT ?f WHERE {",
        "    <urn:clqa:entity:a> <urn:clqa:relation:r> ?e1 .",
        "    ?e1 <urn:clqa:relation:s> ?f .",
        "  }",
        "easy answers (0)",
    ]


def test_case_99_the_witnesses_of_an_answer_are_told_by_their_missing_edges(tmp_path, capsys):
    _, query_id, _ = make_results(tmp_path)
    assert lines(capsys, tmp_path, query_id, "--answer", "x")[9:] == [
        "hard answers (1): x",
        "retracted answers (0)",
        "why x: 2 witnesses, at least 1 missing edge",
        "  1. e1 = b: 1 missing",
        "     (a) -r-> (b)  observed",
        "     (b) -s-> (x)  missing",
        "  2. e1 = c: 2 missing",
        "     (a) -r-> (c)  missing",
        "     (c) -s-> (x)  missing",
    ]


def test_case_99_a_model_is_told_with_rank_score_and_better_candidates(tmp_path, capsys):
    graph, query_id, metadata = make_results(tmp_path)
    rank_scores(tmp_path, graph, query_id, metadata, [0.9, 0.5, 0.7, 0.5])
    found = lines(capsys, tmp_path, query_id, "--model", "some")
    assert "some: f = x: rank 3 to 4 of 4 (observed-and-full), score 0.5" in found
    assert found[-1] == "  better: a 0.9; c 0.7"
    assert lines(capsys, tmp_path, query_id, "--model", "some", "--limit", "1")[-1] == (
        "  better: a 0.9 and 1 more"
    )


def test_ranks_of_queries_that_were_drawn_before_are_told(tmp_path, capsys):
    graph, query_id, metadata = make_results(tmp_path)
    rank_scores(tmp_path, graph, query_id, metadata, [0.9, 0.5, 0.7, 0.5])
    path = tmp_path / "queries/tiny-test/all.parquet"
    rows, about = read_table(path)
    other = pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)),
                      "query_id": ["0" * 20]}, schema=rows.schema)  # fmt: skip
    write_table(path, other, {**about, "queries": set_hash(["0" * 20])})
    given = ["--queries", "tiny-test", "--id", "00", "--results", str(tmp_path), "--model", "some"]
    assert explain.main(given) == 1
    error = capsys.readouterr().err
    assert "not the ranks of the queries that tiny-test has now; run the workflow again" in error
    assert "delete" not in error


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (
            "best",
            "some.best: f = x: rank 3 to 4 at best of 4 (observed-and-full), score 0.5 at most",
        ),
        (
            "worst",
            "some.worst: f = x: rank 3 to 4 at worst of 4 (observed-and-full), score 0.5 at least",
        ),
    ],
)
def test_what_is_a_bound_is_called_one(tmp_path, capsys, bound, text):
    graph, query_id, metadata = make_results(tmp_path)
    rank_scores(tmp_path, graph, query_id, metadata, [0.9, 0.5, 0.7, 0.5], {"unlisted": bound})
    for kind in ("ranks", "tops"):
        folder = tmp_path / kind / "tiny-test"
        (folder / "some").rename(folder / f"some.{bound}")
    assert text in lines(capsys, tmp_path, query_id, "--model", f"some.{bound}")


def test_what_is_no_answer_has_no_witness_and_no_rank(tmp_path, capsys):
    graph, query_id, metadata = make_results(tmp_path)
    rank_scores(tmp_path, graph, query_id, metadata, [0.9, 0.5, 0.7, 0.5])
    found = lines(capsys, tmp_path, query_id, "--answer", "b", "--model", "some")
    assert found[-2:] == [
        "b is no answer on the full graph",
        "some: the answer has no rank, as it is no hard one",
    ]


def test_several_free_variables_have_a_witness_and_a_rank_each(tmp_path, capsys):
    graph, query_id, metadata = make_results(tmp_path, "pairs")
    scores = [[0, 0.9, 0.4, 0.6], [0.9, 0.9, 0.5, 0.5]]
    rank_scores(tmp_path, graph, query_id, metadata, scores)
    arguments = ("--answer", "c", "--answer", "x", "--model", "some")
    found = lines(capsys, tmp_path, query_id, *arguments)
    assert "hard answers (2): (b, x); (c, x)" in found
    start = found.index("why (c, x): 1 witness, at least 2 missing edges")
    assert found[start + 1 : start + 4] == [
        "  1. no other entity: 2 missing",
        "     (a) -r-> (c)  missing",
        "     (c) -s-> (x)  missing",
    ]
    # For f1, x alone is above c, as b is an answer, too; for f2, a and b are, and c ties.
    assert "some: f1 = c: rank 2 of 3 (observed-and-full)" in found
    assert "some: f2 = x: rank 3 to 4 of 4 (observed-and-full)" in found


def rank_by_links(tmp_path, graph):
    """QTO over links of one score, so that each has the degree 1/4; the observed one is certain."""
    vectors = (np.full((n, 2), 0.5, np.float32) for n in (4, n_reciprocal(graph.inverse)))
    made = make_predictor("distmult", *vectors, {}, graph)
    write_predictor(tmp_path / "predictors/tiny/bilinear.npz", made)
    path = tmp_path / "predictions/tiny-test/some/all.npy"
    predict_answers(
        tmp_path / "graphs/tiny/graph.npz",
        tmp_path / "queries/tiny-test/all.parquet",
        *(path, path.with_suffix(".json"), "some", "qto", QTO, "test"),
        path_to_predictor=tmp_path / "predictors/tiny/bilinear.npz",
    )
    rank(tmp_path, path)


def test_a_model_over_predicted_links_is_told_with_its_best_assignment(tmp_path, capsys):
    graph, query_id, _ = make_results(tmp_path)
    rank_by_links(tmp_path, graph)
    assert lines(capsys, tmp_path, query_id, "--model", "some")[-3:] == [
        "  its best assignment has the degree 0.25:",
        "     (b) -s-> (x)  0.25  missing",
        "     (a) -r-> (b)  1  observed",
    ]


def test_a_negation_counts_in_the_best_assignment(tmp_path, capsys):
    graph, query_id, _ = make_results(tmp_path, "2in")
    rank_by_links(tmp_path, graph)
    # 1/4 of a link, and 1 - 1/4 of none from b.
    assert lines(capsys, tmp_path, query_id, "--model", "some")[-3:] == [
        "  its best assignment has the degree 0.1875:",
        "     (a) -r-> (c)  0.25  missing",
        "     what is negated fails for (c)  0.75",
    ]


def test_case_98_names_are_shown_and_never_keys(tmp_path, capsys):
    entities = ["a", "/m/1", "/m/2", "x"]
    _, query_id, _ = make_results(tmp_path, entities=entities)
    names = tmp_path / "names.tsv"
    names.write_text("/m/1\tParis\n/m/2\tParis\nx\tX <b>ray</b>\n/m/9\tnobody\n")
    found = lines(capsys, tmp_path, query_id, "--names", str(names), "--answer", "X <b>ray</b>")
    assert "     (a) -r-> (Paris [/m/1])  observed" in found
    assert "     (a) -r-> (Paris [/m/2])  missing" in found
    given = ["--queries", "tiny-test", "--id", query_id, "--results", str(tmp_path)]
    assert explain.main([*given, "--names", str(names), "--answer", "Paris"]) == 1
    assert "'Paris': the name of /m/1, /m/2; give a label" in capsys.readouterr().err


def test_case_98_a_label_without_a_name_is_shown_as_it_is():
    shown = DisplayNames(["p", "q", "r"], {"p": "q", "r": "Rome"})
    assert [shown(id_) for id_ in range(3)] == ["q [p]", "q", "Rome"]
    assert (shown.id_of("q"), shown.id_of("Rome")) == (1, 2)


@pytest.mark.parametrize("text", ["a\n", "a\t\n", "a\tb\tc\n", "a\tb\na\tc\n"])
def test_a_malformed_file_of_names_is_refused(tmp_path, text):
    (tmp_path / "names.tsv").write_text(text)
    with pytest.raises(InputError, match=r"names\.tsv:[12]: "):
        read_names(tmp_path / "names.tsv", ["a"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--id", "zz"], "no query with the id 'zz'"),
        (["--queries", "none"], "none: no queries; run the workflow"),
        (["--answer", "nobody"], "entity 'nobody': unknown"),
        (["--answer", "a", "--answer", "b"], "2 labels for the free variables f"),
        (["--model", "some"], "some: no ranks of such a model; there are none"),
    ],
)
def test_what_cannot_be_explained_is_told_in_one_line(tmp_path, capsys, arguments, words):
    _, query_id, _ = make_results(tmp_path)
    given = ["--queries", "tiny-test", "--id", query_id, "--results", str(tmp_path)]
    assert explain.main([*given, *arguments]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("!(r1(s1,e1)&r2(e1,f))", "not [there is e1 so that (S) -1-> (e1) and (e1) -2-> (f)]"),
        ("r1(s1,e1)&!r2(e1,f)", "there is e1 so that (S) -1-> (e1) and not [(e1) -2-> (f)]"),
        ("(r1(s1,f)|r2(s1,f))&r3(s1,f)", "[(S) -1-> (f) or (S) -2-> (f)] and (S) -3-> (f)"),
        ("r1(s1,f)->r2(s1,f)", "if (S) -1-> (f) then (S) -2-> (f)"),
        ("r1(e1,f)", "there is e1 so that (e1) -1-> (f)"),
    ],
)
def test_quantifiers_are_told_where_they_stand(text, words):
    names = {"s1": "S", **{f"r{n}": str(n) for n in (1, 2, 3)}}
    assert in_words(parse(text), names) == f"Which f? {words}"
