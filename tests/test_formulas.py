"""The text syntax, canonical forms, symmetries and groups of formulas."""

import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_answers
from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import And, Atom, Or, negation_normal, parse, symbols, to_text
from clqa.plans import groups, plan, tree_plan
from strategies import edges, formulas, graphs, groundings, values_of

SHAPES = yaml.safe_load(
    (Path(__file__).parents[1] / "config" / "shapes.yaml").read_text(encoding="utf-8")
)


@given(formulas())
def test_printing_and_parsing_gives_the_same_formula(formula):
    assert parse(to_text(formula)) == formula


@pytest.mark.parametrize(
    "text",
    [
        "r1(s1,e1)&r2(e1,f)",
        "(r1(s1,e1))&(r2(e1,f))",
        "((r1(s1,e1)) & (r2(e1, f)))",
        "r1(s1,e1) ∧ r2(e1,f)",
        "r1(s1,e1) && r2(e1,f)",
    ],
)
def test_spaces_brackets_and_other_signs_do_not_matter(text):
    expected = And((Atom("r1", "s1", "e1"), Atom("r2", "e1", "f")))
    assert parse(text) == expected


def test_and_binds_more_than_or():
    formula = parse("r1(s1,f)|r2(s2,f)&r3(s3,f)")
    assert isinstance(formula, Or)
    assert isinstance(formula.parts[1], And)


def test_numbers_are_grounded_ids():
    assert parse("12(7,f)") == Atom(12, 7, "f")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("r1(s1,f", 8),
        ("r1(s1 f)", 7),
        ("r1(s1,f)&", 10),
        ("r1(s1,f))", 9),
        ("q1(s1,f)", 1),
        ("r1(u1,f)", 4),
        ("r1(s1,f)#", 9),
        ("", 1),
    ],
)
def test_a_bad_formula_is_refused_with_its_place(text, column):
    with pytest.raises(InputError, match=rf"column {column}: expected"):
        parse(text)


@settings(deadline=None)
@given(st.data())
def test_the_canonical_form_ignores_names_and_order(data):
    formula = data.draw(formulas())
    names = {}
    for kind in "sre":
        own = symbols(formula, kind)
        names |= dict(zip(own, data.draw(st.permutations(own)), strict=True))

    def shuffled(node):
        if isinstance(node, Atom):
            return Atom(*(names.get(s, s) for s in (node.relation, node.head, node.tail)))
        if isinstance(node, And | Or):
            return type(node)(tuple(map(shuffled, data.draw(st.permutations(node.parts)))))
        return type(node)(shuffled(node.inner))

    assert canonical(shuffled(formula))[0] == canonical(formula)[0]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_canonical_form_has_the_same_answers(data):
    graph, formula = data.draw(graphs()), data.draw(formulas())
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    text, orders = canonical(formula)
    given = [*anchors, *relations]
    other = parse(text)
    for order in orders:
        row = [given[place] for place in order]
        moved = values_of(other, row[: len(anchors)], row[len(anchors) :])
        entities, triples = range(graph.n_entities), edges(graph, ("train",))
        assert reference_answers.answers(other, moved, triples, entities) == (
            reference_answers.answers(
                formula, values_of(formula, anchors, relations), triples, entities
            )
        )


@pytest.mark.parametrize(
    ("shape", "count"),
    [("1p", 1), ("2i", 2), ("3i", 6), ("4i", 24), ("up", 2), ("3in", 2), ("pi", 1), ("2u-DM", 2)],
)
def test_symmetries_of_shapes(shape, count):
    assert len(canonical(parse(SHAPES[shape]))[1]) == count


@pytest.mark.parametrize("n", [12, 40])
def test_too_many_like_branches_are_refused_at_once(n):
    formula = parse("&".join(f"r{i}(s{i},f)" for i in range(1, n + 1)))
    with pytest.raises(InputError, match="too many like branches"):
        canonical(formula)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 400 + "r1(s1,f)" + ")" * 400,
        "!" * 800 + "r1(s1,f)",
        "!(" * 30 + "r1(s1,f)" + ")" * 30,
        "r1(s1,f)&(r2(s2,f)|" * 200 + "r3(s3,f)" + ")" * 200,
    ],
)
def test_a_formula_that_is_nested_too_deeply_is_refused(text):
    with pytest.raises(InputError, match="brackets and negations in each other") as caught:
        parse(text)
    assert len(str(caught.value)) < 200


def test_negations_beside_each_other_are_not_nested():
    formula = parse("&".join(["(!r1(s1,f)|!!(r2(s2,f)))"] * 200))
    assert len(formula.parts) == 200


def test_shapes_of_the_catalogue_are_all_different():
    texts = [canonical(parse(text))[0] for text in SHAPES.values()]
    assert len(set(texts)) == len(texts) == 29


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_moving_negations_inwards_keeps_the_answers(data):
    graph, formula = data.draw(graphs()), data.draw(formulas())
    (anchors,), (relations,) = data.draw(groundings(formula, n_queries=1))
    values = values_of(formula, anchors, relations)
    entities, triples = range(graph.n_entities), edges(graph, ("train",))
    expected = reference_answers.answers(formula, values, triples, entities)
    normal = negation_normal(formula)
    assert reference_answers.answers(normal, values, triples, entities) == expected


JOINS = {"2m", "3mp", "3pm", "im", "3c", "3cm"}
EPFO = JOINS | {
    "2il",
    "3il",
    "1p",
    "2p",
    "3p",
    "4p",
    "5p",
    "2i",
    "3i",
    "4i",
    "ip",
    "pi",
    "2u",
    "up",
    "2u-DM",
    "up-DM",
}


@pytest.mark.parametrize(
    ("group", "members"),
    [
        ("EPFO", EPFO),
        ("negation", {"2in", "3in", "inp", "pin", "pni", "pni-exists", "2nm"}),
        ("chain", {"1p", "2p", "3p", "4p", "5p"}),
        ("union", {"2u", "up", "2u-DM", "up-DM"}),
        ("conjunctive", EPFO - {"2u", "up", "2u-DM", "up-DM"}),
        (
            "intersection",
            JOINS
            | {
                "2nm",
                "2i",
                "3i",
                "4i",
                "2il",
                "3il",
                "ip",
                "pi",
                "2in",
                "3in",
                "inp",
                "pin",
                "pni",
                "pni-exists",
            },
        ),
    ],
)
def test_groups_follow_from_the_formula(group, members):
    assert {name for name, text in SHAPES.items() if group in groups(parse(text))} == members


@pytest.mark.parametrize(
    ("shape", "links"),
    [("1p", 1), ("3p", 3), ("4i", 4), ("ip", 3), ("pi", 3), ("2u", 1), ("up", 2), ("2in", 1),
     ("3in", 2), ("inp", 2), ("pin", 2), ("pni", 1), ("2u-DM", 1), ("up-DM", 2)],
)  # fmt: skip
def test_positive_atoms_bound_the_missing_links(shape, links):
    assert plan(parse(SHAPES[shape])).most_links == links


@pytest.mark.parametrize(
    "text",
    [
        "r1(s1,f1)&r2(f1,f2)",
        "r1(s1,e1)&r2(e1,f)&r3(e1,f)",
        "r1(f,f)",
        "r1(s1,s2)&r2(s1,f)",
        "r1(s1,e1)",
        "r1(5,f)",
        "3(s1,f)",
    ],
)
def test_a_formula_that_is_no_tree_of_sets_is_refused(text):
    with pytest.raises(InputError, match=r"."):
        tree_plan(parse(text))


def chain_of_unions(length: int) -> str:
    """Each link is either of two relations, so that 2^length paths make an answer."""
    nodes = ["f", *(f"e{number}" for number in range(1, length))]
    last = f"(r1(s1,{nodes[-1]})|r2(s2,{nodes[-1]}))"
    links = (
        f"(r{2 * place + 1}({head},{tail})|r{2 * place + 2}({head},{tail}))"
        for place, (head, tail) in enumerate(itertools.pairwise(nodes), start=1)
    )
    return "&".join([*links, last])


@pytest.mark.parametrize("length", [2, 4, 6])
def test_short_chains_of_unions_are_trees_of_sets(length):
    assert tree_plan(parse(chain_of_unions(length))).most_links == length


@pytest.mark.parametrize("length", [8, 14, 40])
def test_chains_with_too_many_alternatives_are_refused_at_once(length):
    with pytest.raises(InputError, match="has more than 64 alternatives"):
        plan(parse(chain_of_unions(length)))


def test_conjunctions_of_thousands_of_atoms_are_planned():
    text = "&".join(f"r{number}(s{number},f)" for number in range(1, 2001))
    assert tree_plan(parse(text)).most_links == 2000


# Implications.


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("r1(s1,f)->r2(s2,f)", "r1(s1,f)->r2(s2,f)"),
        ("(r1(s1,f)) => (r2(s2,f))", "r1(s1,f)->r2(s2,f)"),
        ("r1(s1,f)→r2(s2,f)", "r1(s1,f)->r2(s2,f)"),
        ("r1(s1,f)->(r2(s2,f)->r3(s3,f))", "r1(s1,f)->r2(s2,f)->r3(s3,f)"),
        ("(r1(s1,f)->r2(s2,f))->r3(s3,f)", "(r1(s1,f)->r2(s2,f))->r3(s3,f)"),
        ("(r1(s1,f)->r2(s2,f))|r3(s3,f)", "(r1(s1,f)->r2(s2,f))|r3(s3,f)"),
        ("r1(s1,f)|r2(s2,f)->r3(s3,f)&r4(s4,f)", "r1(s1,f)|r2(s2,f)->r3(s3,f)&r4(s4,f)"),
        ("r1(s1,f)&(r2(s2,f)->!r3(s3,f))", "r1(s1,f)&(r2(s2,f)->!r3(s3,f))"),
        ("!(r1(s1,f)->r2(s2,f))", "!(r1(s1,f)->r2(s2,f))"),
    ],
)
def test_implications_bind_least_and_to_the_right(text, written):
    assert to_text(parse(text)) == written
    assert parse(written) == parse(text)


@given(formulas(implications=True))
def test_formulas_with_implications_survive_being_written(formula):
    assert parse(to_text(formula)) == formula


@given(formulas(implications=True))
def test_normal_forms_have_no_implications(formula):
    assert "->" not in to_text(negation_normal(formula)) + canonical(formula)[0]


def test_an_implication_is_the_same_query_as_its_disjunction():
    written = [canonical(parse(t)) for t in ("r1(s1,f)->r2(s2,f)", "!r1(s1,f)|r2(s2,f)")]
    assert written[0][0] == written[1][0]


@pytest.mark.parametrize(
    "text", ["r1(s1,f)->", "->r1(s1,f)", "r1(s1,f)-r2(s2,f)", "r1(s1,f)->" * 60 + "r1(s1,f)"]
)
def test_half_implications_and_endless_ones_are_refused(text):
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "r1(s1,e1)&(r2(s2,e1)->r3(e1,f))",
        "r1(s1,e1)->r2(e1,f)",
        "(r1(s1,e1)->r2(e1,f))|r3(e1,f)",
    ],
)
def test_an_implication_across_a_variable_is_no_tree_of_sets(text):
    with pytest.raises(InputError, match="cannot be planned"):
        plan(parse(text))


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("9" * 5000 + "(s1,f)", "formula '^9999"),
        ("r1(s1,e" + "9" * 5000 + ")", "formula 'r1(s1,^e999"),
        ("r1(s1,\n(f)", "formula 'r1(s1,\ufffd^(f)', column 8"),
        ("r1(s1,\x00f)", "formula 'r1(s1,^\ufffdf)', column 7"),
        ("r\u0661(s1,f)", "formula '^r\u0661(s1,f)', column 1"),
        ("x" * 100_000, "formula '^xxx"),
    ],
)
def test_what_cannot_be_a_symbol_is_told_in_one_short_line(text, marked):
    with pytest.raises(InputError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith(marked)
    assert message.isprintable()
    assert len(message) < 300
