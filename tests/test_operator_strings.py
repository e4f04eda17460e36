"""Operator strings of EFO-1-QA: reading, rewriting, meaning."""

import csv
import lzma
from collections import Counter

import numpy as np
import pytest

from clqa.adjacencies import graph_view
from clqa.answers import answer_sets
from clqa.errors import InputError
from clqa.formulas import parse as parse_formula
from clqa.formulas import symbols
from clqa.formulas import to_text as formula_text
from clqa.operator_strings import FORMS, parse, to_formula, to_text
from clqa.plans import groups, plan
from test_sampling import random_graph

LIST = "queries/efo1-formulas/test_generated_formula_anchor_node=3.csv.xz"


@pytest.fixture(scope="module")
def published(data):
    with lzma.open(data / LIST, "rt") as file:
        return list(csv.DictReader(file))


def test_the_published_list_has_301_formulas(published):
    assert len({row["original"] for row in published}) == len(published) == 301
    assert sum("n" in row["original"] for row in published) == 148


@pytest.mark.parametrize("form", FORMS)
def test_published_strings_are_read_and_written_alike(published, form):
    assert [to_text(parse(row[form])) for row in published] == [row[form] for row in published]


@pytest.mark.parametrize("form", FORMS)
def test_the_original_form_is_rewritten_as_published(published, form):
    found = [to_text(FORMS[form](parse(row["original"]))) for row in published]
    assert found == [row[form] for row in published]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("original", 301),
        ("DeMorgan", 301),
        ("DeMorgan+MultiI", 266),
        ("DNF", 248),
        ("diff", 301),
        ("DNF+diff", 248),
        ("DNF+MultiIU", 196),
        ("DNF+MultiIUD", 196),
        ("DNF+MultiIUd", 196),
    ],
)
def test_forms_have_as_many_different_strings_as_published(published, form, expected):
    assert len({to_text(FORMS[form](parse(row["original"]))) for row in published}) == expected


def grounded_answers(formula, view, constants, relations):
    """Answers where the symbol with number k stands for entry k of each query's row."""
    anchors, ids = (
        rows[:, [int(symbol[1:]) - 1 for symbol in symbols(formula, kind)]]
        for kind, rows in (("s", constants), ("r", relations))
    )
    found = answer_sets(plan(formula), view, anchors, ids)
    return [found.row(q).tolist() for q in range(len(anchors))]


@pytest.mark.parametrize("form", [name for name in FORMS if name != "original"])
def test_rewritten_forms_have_the_same_answers(published, form):
    view = graph_view(random_graph(1, n_entities=9, n_edges=40), ("train", "valid", "test"))
    rng = np.random.default_rng(0)
    constants, relations = rng.integers(0, 9, (6, 3)), rng.integers(0, 4, (6, 9))
    for row in published:
        original = parse(row["original"])
        expected = grounded_answers(to_formula(original), view, constants, relations)
        rewritten = to_formula(FORMS[form](original))
        assert grounded_answers(rewritten, view, constants, relations) == expected, row


def test_a_difference_takes_away_each_further_set():
    found = to_formula(parse("(D,(p,(e)),(p,(e)),(p,(e)))"))
    assert formula_text(found) == "r1(s1,f)&!r2(s2,f)&!r3(s3,f)"


def test_a_complement_holds_the_variables_of_its_path():
    found = to_formula(parse("(i,(n,(p,(p,(e)))),(p,(e)))"))
    assert found == parse_formula("!(r2(s1,e1)&r1(e1,f))&r3(s2,f)")
    assert "negation" in groups(found)


def test_copies_keep_their_constants_and_relations():
    found = FORMS["DNF"](parse("(p,(u,(p,(e)),(p,(e))))"))
    assert formula_text(to_formula(found)) == "r2(s1,e1)&r1(e1,f)|r3(s2,e2)&r1(e2,f)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(p,(e)", r"expected '\)', found the end"),
        ("(p,(e)))", r"expected the end, found '\)'"),
        ("(q,(e))", "expected one of e, p, .*, found 'q'"),
        ("(i,(p,(e)))", "'i' with 1 arguments"),
        ("(p;(e))", "only operators, brackets and commas"),
        ("", r"expected '\(', found the end"),
    ],
)
def test_what_is_no_operator_string_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        parse(text)


def test_an_entity_alone_is_no_query():
    with pytest.raises(InputError, match="under a projection"):
        to_formula(parse("(i,(e),(p,(e)))"))


def set_of(operator, constants, relations, edges):
    """Answers by the definition of each operator, on a set of (head, relation, tail)."""
    sign, parts, number = operator
    if sign == "e":
        return {constants[number - 1]}
    first, *others = (set_of(part, constants, relations, edges) for part in parts)
    if sign == "p":
        return {t for h, r, t in edges if r == relations[number - 1] and h in first}
    if sign == "n":
        return set(range(9)) - first
    if sign in "iI":
        return first.intersection(*others)
    # The first set without the union of the others.
    return first.union(*others) if sign in "uU" else first - set().union(*others)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_answers_of_its_operators(published, form):
    graph = random_graph(1, n_entities=9, n_edges=40)
    view = graph_view(graph, ("train", "valid", "test"))
    edges = {tuple(map(int, row)) for rows in graph.triples.values() for row in rows}
    rng = np.random.default_rng(0)
    constants, relations = rng.integers(0, 9, (3, 3)), rng.integers(0, 4, (3, 9))
    n_answers = 0
    for row in published:
        rewritten = FORMS[form](parse(row["original"]))
        found = grounded_answers(to_formula(rewritten), view, constants, relations)
        for place, answers in enumerate(found):
            original = set_of(parse(row["original"]), constants[place], relations[place], edges)
            assert set(answers) == original, row
            assert set_of(rewritten, constants[place], relations[place], edges) == original, row
            n_answers += 0 < len(original) < 9
    assert n_answers > 300


def test_types_are_published_by_numbers_of_entities_and_depth(published):
    found = Counter((row["num_anchor_nodes"], row["original_depth"]) for row in published)
    depths = {"1": (1, 1, 1), "2": (3, 10, 13), "3": (12, 91, 169)}
    assert found == {
        (entities, str(depth)): count
        for entities, counts in depths.items()
        for depth, count in enumerate(counts, start=1)
    }


def test_the_shorter_lists_are_parts_of_the_whole_one(published, data):
    whole = {row["formula_id"]: row for row in published}
    for name, expected in (("2", 29), ("3_filtered", 58)):
        path = (
            data / "queries" / "efo1-formulas" / f"test_generated_formula_anchor_node={name}.csv.xz"
        )
        with lzma.open(path, "rt") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == expected
        for row in rows:
            assert {form: row[form] for form in FORMS} == {
                form: whole[row["formula_id"]][form] for form in FORMS
            }


def test_operators_that_are_nested_too_deeply_are_refused():
    with pytest.raises(InputError, match="in each other"):
        parse("(p," * 400 + "(e)" + ")" * 400)
