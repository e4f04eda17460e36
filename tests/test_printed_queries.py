"""Queries as text and as SPARQL, the latter answered by a small evaluator of its own."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import print_queries
import reference_answers
from clqa.adjacencies import graph_view
from clqa.answers import answer_sets
from clqa.formulas import parse, symbols
from clqa.graphs import make_graph, read_graph
from clqa.plans import plan
from clqa.printed_queries import terms_of, to_sparql, with_ids, with_labels
from clqa.query_sets import Queries, describe_queries, query_ids, write_queries
from published_files import SHAPES, write_small_graph
from strategies import edges, formulas, graphs, groundings, values_of

TOKEN = re.compile(r"FILTER NOT EXISTS|UNION|[{}.]|\^?<[^>]*>|\?\w+")


class Sparql:
    """Triple patterns, groups, UNION and FILTER NOT EXISTS by the rules of SPARQL 1.1."""

    def __init__(self, text, triples):
        head, body = text.split(" WHERE ", 1)
        self.names = re.findall(r"\?(\w+)", head)
        assert head.startswith("SELECT DISTINCT ")
        self.tokens, self.triples = TOKEN.findall(body), triples
        assert "".join(self.tokens).replace(" ", "") == "".join(body.split()).replace(" ", "")
        self.group = self.read_group()
        assert not self.tokens

    def read_group(self):
        assert self.tokens.pop(0) == "{"
        parts = []
        while (token := self.tokens[0]) != "}":
            if token == "FILTER NOT EXISTS":
                self.tokens.pop(0)
                parts.append(("filter", self.read_group()))
            elif token == "{":
                branches = [self.read_group()]
                while self.tokens[0] == "UNION":
                    self.tokens.pop(0)
                    branches.append(self.read_group())
                parts.append(("union", branches))
            else:
                parts.append(("triple", [self.tokens.pop(0) for _ in range(3)]))
                assert self.tokens.pop(0) == "."
        self.tokens.pop(0)
        return parts

    def solutions(self, group, given):
        """Solutions of a group in which the variables of `given` are replaced by their values."""
        found = [{}]
        for kind, part in group:
            if kind == "triple":
                inner = list(self.matches(part, given))
            elif kind == "union":
                inner = [row for branch in part for row in self.solutions(branch, given)]
            else:
                continue
            found = [{**a, **b} for a in found for b in inner if agree(a, b)]
            found = [dict(row) for row in {tuple(sorted(row.items())) for row in found}]
        for kind, part in group:
            if kind == "filter":
                found = [row for row in found if not self.solutions(part, {**given, **row})]
        return found

    def matches(self, pattern, given):
        head, relation, tail = pattern
        if relation.startswith("^"):
            head, relation, tail = tail, relation[1:], head
        for triple in self.triples:
            row = {}
            for term, value in zip((head, relation, tail), triple, strict=True):
                if not term.startswith("?"):
                    if term != value:
                        break
                elif given.get(term[1:], value) != value or row.get(term[1:], value) != value:
                    break
                else:
                    row[term[1:]] = value
            else:
                yield {name: value for name, value in row.items() if name not in given}

    def answers(self):
        return {tuple(row[name] for name in self.names) for row in self.solutions(self.group, {})}


def agree(a, b):
    return all(a[name] == b[name] for name in a.keys() & b.keys())


def entity(id_):
    return f"<urn:clqa:entity:{id_}>"


def sparql_answers(formula, values, triples, inverse=None):
    """Answers of the printed query on triples of ids."""
    labels = [str(id_) for id_ in range(20)]
    inverse = np.full(20, -1) if inverse is None else inverse
    text = to_sparql(formula, terms_of(values, labels, labels, inverse))
    named = {(entity(h), f"<urn:clqa:relation:{r}>", entity(t)) for h, r, t in triples}
    return Sparql(text, named).answers()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_sparql_has_the_answers_of_the_formula(data):
    graph, formula = data.draw(graphs(max_edges=12)), data.draw(formulas(depth=2))
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    values, triples = values_of(formula, anchors, relations), edges(graph, ("train", "test"))
    met = sorted({end for h, _, t in triples for end in (h, t)})
    expected = reference_answers.answers(formula, values, triples, met)
    assert sparql_answers(formula, values, triples) == {(entity(one),) for one in expected}


EDGES = {(0, 0, 1), (0, 0, 2), (1, 1, 3), (2, 1, 3), (2, 2, 3), (3, 0, 0), (1, 2, 0)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A cycle: reached by both relations from the same entity.
        ("r1(s1,e1)&r2(e1,f)&r3(e1,f)", {(3,)}),
        ("r1(s1,e1)&r2(e1,f)&!r3(e1,f)", {(3,)}),
        ("r1(s1,f1)&r2(f1,f2)", {(1, 3), (2, 3)}),
        ("r1(s1,f1)&!r3(f1,f2)&r2(f1,f2)", {(1, 3)}),
        ("!r1(s1,f)", {(0,), (3,)}),
    ],
)
def test_sparql_goes_beyond_trees_and_one_variable(text, expected):
    values = {"s1": 0, "r1": 0, "r2": 1, "r3": 2}
    formula = parse(text)
    own = {name: values[name] for kind in "sr" for name in symbols(formula, kind)}
    found = sparql_answers(formula, own, EDGES)
    assert found == {tuple(map(entity, row)) for row in expected}


def test_the_second_of_two_inverses_is_the_first_one_turned():
    inverse = np.array([1, 0, 3, 2, *range(-16, 0)])
    formula, values = parse("r1(s1,f)"), {"s1": 3, "r1": 1}
    terms = terms_of(values, ["a", "b", "c", "d"], ["+x", "-x", "+y", "-y"], inverse)
    assert to_sparql(formula, terms) == (
        "SELECT DISTINCT ?f WHERE {\n  <urn:clqa:entity:d> ^<urn:clqa:relation:%2Bx> ?f .\n}"
    )
    assert sparql_answers(formula, values, {(2, 0, 3), (1, 0, 2)}, inverse) == {(entity(2),)}


@pytest.mark.parametrize(
    "label", ['> } SELECT "', "nan", "007", "a b\\c", "名前", "http://x.y/?q=<1>", "{|^`}", "a%20b"]
)
def test_no_label_leaves_its_iri(label):
    terms = terms_of({"s1": 0, "r1": 0}, [label], [label], np.array([-1]))
    for term in terms.values():
        assert re.fullmatch(r'<[^\x00-\x20<>"{}|^`\\]*>', term)
        assert term.isascii()


def test_labels_are_told_apart_in_text_and_iris():
    formula, values = parse(SHAPES["pni"]), {"s1": 0, "s2": 1, "r1": 0, "r2": 1, "r3": 0}
    labels = ['say "hi"', "名前"], ["likes", "r1"]
    assert with_labels(formula, values, *labels) == (
        '!("likes"("say \\"hi\\"",e1)&"r1"(e1,f))&"likes"("名前",f)'
    )
    assert with_ids(formula, values) == "!(0(0,e1)&1(e1,f))&0(1,f)"


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_query_of_ids_is_read_as_it_was_printed(data):
    formula = data.draw(formulas())
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    printed = with_ids(formula, values_of(formula, anchors, relations))
    assert with_ids(parse(printed), {}) == printed


@pytest.mark.parametrize(("shape", "expected"), [("4p", {(0, 4), (1, 5)}), ("5p", {(0, 5)})])
def test_long_chains_have_the_groundings_of_a_chain_of_six(shape, expected):
    triples = {"train": np.array([[node, 0, node + 1] for node in range(5)], np.int32)}
    triples |= {"valid": np.zeros((0, 3), np.int32), "test": np.zeros((0, 3), np.int32)}
    graph = make_graph(triples, np.array([-1]), 6, "v")
    formula = parse(SHAPES[shape])
    relations = np.zeros((6, int(shape[0])), np.int32)
    anchors = np.arange(6, dtype=np.int32)[:, None]
    found = answer_sets(plan(formula), graph_view(graph, ("train",)), anchors, relations)
    assert {(one, int(t)) for one in range(6) for t in found.row(one)} == expected
    values = {"s1": 0} | dict.fromkeys(symbols(formula, "r"), 0)
    chain = {tuple(map(int, row)) for row in triples["train"]}
    ends = {(entity(end),) for start, end in expected if start == 0}
    assert sparql_answers(formula, values, chain) == ends


def write_queries_of_toy(tmp_path):
    folder = tmp_path / "graphs" / "toy"
    folder.mkdir(parents=True)
    write_small_graph(folder, [(0, 0, 3), (3, 2, 4)])
    graph = read_graph(folder / "graph.npz")
    formula = parse(SHAPES["2p"])
    anchors, relations = np.array([[0], [4]], np.int32), np.array([[0, 2], [3, 1]], np.int32)
    ids = query_ids(graph.hash, formula, anchors, relations)
    shapes = {"2p": Queries(ids, anchors, relations)}
    metadata = describe_queries(graph, "train", {"2p": SHAPES["2p"]}, ids)
    write_queries(tmp_path / "queries" / "toy-train" / "a.parquet", shapes, metadata, "sampled")
    return ids, ["toy-train", "--graph", "toy", "--results", str(tmp_path)]


def test_queries_of_a_set_are_printed(tmp_path, capsys):
    ids, arguments = write_queries_of_toy(tmp_path)
    assert print_queries.main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        f'# 2p {ids[0]} "+likes"("entity 0",e1)&"+knows"(e1,f)',
        f'# 2p {ids[1]} "-knows"("entity 4",e1)&"-likes"(e1,f)',
    ]
    assert print_queries.main([*arguments, "--form", "sparql", "--limit", "1"]) == 0
    assert capsys.readouterr().out == (
        f"# 2p {ids[0]} \nSELECT DISTINCT ?f WHERE {{\n"
        "  <urn:clqa:entity:entity%200> <urn:clqa:relation:%2Blikes> ?e1 .\n"
        "  ?e1 <urn:clqa:relation:%2Bknows> ?f .\n}\n"
    )
    assert print_queries.main(["none", "--graph", "toy", "--results", str(tmp_path)]) == 1
    assert "none: no queries; run the workflow" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--shape", "nosuch"], "unknown shape nosuch"),
        (["--limit", "-3"], "'-3' is no number of queries"),
        (["--graph", "nosuch"], "nosuch: no graph; run the workflow"),
        (["--prefix", "a b>{"], "'a b>{' starts no IRI"),
        (["--prefix", "no-scheme"], "'no-scheme' starts no IRI"),
        (["--prefix", "x:`"], "starts no IRI"),
    ],
)
def test_what_cannot_be_printed_is_told_in_one_line(tmp_path, capsys, changes, words):
    arguments = [*write_queries_of_toy(tmp_path)[1], "--form", "sparql", *changes]
    try:
        code = print_queries.main(arguments)
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    assert code
    assert captured.out == ""
    assert words in captured.err.splitlines()[-1]


def test_missing_labels_are_told(tmp_path, capsys):
    _, arguments = write_queries_of_toy(tmp_path)
    (tmp_path / "graphs/toy/entities.tsv").unlink()
    assert print_queries.main(arguments) == 1
    captured = capsys.readouterr()
    assert "entities.tsv" in captured.err
    assert captured.err.count("\n") == 1


def test_a_reader_that_has_enough_ends_the_printing(tmp_path):
    _, arguments = write_queries_of_toy(tmp_path)
    script = Path(print_queries.__file__)
    process = subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=script.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(60)
