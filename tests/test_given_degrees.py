"""Formulas with degrees that a graph gives: against the definitions, and from files to answers.

A vector is, for the definitions, a relation that links entities to themselves.
"""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import explain
import test_joins as joins
from clqa.adjacencies import split_view
from clqa.algebras import ALGEBRAS, NEGATIONS, algebra
from clqa.answers import answer_sets
from clqa.canonical_forms import canonical
from clqa.degeneracies import makes_round_trip
from clqa.errors import InputError
from clqa.formulas import And, Atom, Given, Not, Or, joined, parse, to_text
from clqa.fuzzy_answers import Search, answer_degrees
from clqa.graphs import FULL, OBSERVED, make_graph, read_graph, write_graph
from clqa.join_degrees import Elimination, join_degrees
from clqa.join_plans import JoinPlan
from clqa.link_degrees import weighted_links
from clqa.optimal_answers import Optimization, best_degrees
from clqa.plans import Plan, can_retract, has_negation, plan
from clqa.predictors import make_predictor, n_reciprocal, write_predictor
from clqa.printed_queries import to_sparql
from clqa.query_sets import read_answers, read_queries
from clqa.readings import other_reading
from clqa.sparse_rows import SparseRows
from clqa.worded_queries import in_words
from predict_answers import predict_answers
from reference_degrees import degree
from sample_queries import sample_queries
from split_answers import split_answers as split_answers_stage
from strategies import edges, formulas, graphs, groundings, values_of
from test_build_graph import build, texts
from test_configs import run_with
from test_join_degrees import best, conjunctions

N_ENTITIES, N_RELATIONS, N_VECTORS = 6, 3, 2
IDS = {"d1": N_RELATIONS, "d2": N_RELATIONS + 1}
JOINED = [
    "r1(s1,e1)&r2(e1,f)&r3(e1,f)&d1(e1)",
    "r1(s1,e1)&r2(e1,f)&!r3(e1,f)&!d1(f)",
    "r1(f1,f2)&d1(f1)&!d2(f2)",
    "r1(f1,f2)&r2(f2,f3)&r3(f3,f1)&d1(f2)&d1(f1)&!d2(f2)",
    "r1(s1,f1)&r2(f1,f2)&d1(f2)|r3(s2,f2)&r4(f1,f2)&!(d1(f1)&d2(f2))",
    "r1(e1,f)&r2(e1,f)&!d1(e1)",
    "r1(s1,f1)&r2(f1,e1)&!r3(e1,f2)&r4(s2,f2)&d2(e1)",
]


def with_degrees(graph, degrees):
    """The graph with vectors of degrees."""
    sizes = graph.n_entities, graph.vocabulary
    degrees = np.asarray(degrees, np.float32)
    return make_graph(graph.triples, graph.inverse, *sizes, degrees=degrees)


def loops(graph):
    numbers, members = np.nonzero(graph.degrees == 1)
    return {
        (v, N_RELATIONS + n, v) for n, v in zip(numbers.tolist(), members.tolist(), strict=True)
    }


def crisp_vectors():
    flags = st.lists(st.booleans(), min_size=N_ENTITIES, max_size=N_ENTITIES)
    return st.lists(flags, min_size=N_VECTORS, max_size=N_VECTORS)


@st.composite
def filtered(draw, formula):
    """The formula with given degrees beside some of its atoms."""

    def visit(part):
        match part:
            case Atom(_, head, tail):
                terms = [term for term in (head, tail) if term[0] in "ef"]
                if not draw(st.booleans()):
                    return part
                term = draw(st.sampled_from(terms))
                made = Given(draw(st.sampled_from(sorted(IDS))), term, term)
                made = Not(made) if draw(st.booleans()) else made
                kind = Or if draw(st.integers(0, 3)) == 0 and len(terms) == 1 else And
                return joined(kind, draw(st.permutations([part, made])))
            case Not(inner):
                return Not(visit(inner))
        return joined(type(part), [visit(inner) for inner in part.parts])

    return visit(formula)


def planned(formula):
    try:
        return plan(formula)
    except InputError:
        return None


def check(graph, formula, anchors, relations):
    """The check of all joins, where vectors are loops."""
    joins.check(graph, formula, anchors, relations, given=(loops(graph), IDS))


# Text.


@pytest.mark.parametrize(
    "text", ["r1(s1,f)&d1(f)", "!d1(e1)&r1(s1,e1)&r2(e1,f)", "r1(s1,f)->d2(f)", JOINED[4]]
)
def test_given_degrees_are_read_and_written(text):
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r1(s1,f)&d1(e1)", "'r1(s1,f)&d1(^e1)', column 13: e1 occurs in given degrees alone"),
        ("d1(f)", "'d1(^f)', column 4: f occurs in given degrees alone"),
        ("r1(s1,f)&d1(s1)", "'r1(s1,f)&d1(^s1)', column 13: expected a variable"),
        ("r1(s1,f)&d1(f,f)", "'r1(s1,f)&d1(f^,f)', column 14: expected ')'"),
        ("r1(s1,f)&d0(f)", "'r1(s1,f)&^d0(f)', column 10: expected a relation"),
    ],
)
def test_what_is_wrong_with_given_degrees_is_told(text, message):
    with pytest.raises(InputError) as error:
        parse(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_vectors_keep_their_names_where_other_symbols_do_not():
    first, second = "r1(s1,e1)&d1(e1)&r2(e1,f)", "r5(e4,f)&d1(e4)&r2(s3,e4)"
    assert canonical(parse(first))[0] == canonical(parse(second))[0]
    assert canonical(parse(first.replace("d1", "d2")))[0] != canonical(parse(first))[0]
    _, orders = canonical(parse("r1(s1,f)&d1(f)&r2(s2,f)"))
    assert len(orders) == 2
    _, orders = canonical(parse("(r1(s1,f)|d1(f))&(r2(s2,f)|d2(f))"))
    assert len(orders) == 1


def test_given_degrees_in_words_and_as_sparql():
    formula = parse("r1(s1,f)&!d1(f)")
    names = {"s1": "Anna", "r1": "likes"}
    assert in_words(formula, names) == "Which f? (Anna) -likes-> (f) and not [(f) is d1]"
    text = to_sparql(formula, {"s1": "<a>", "r1": "<r>"})
    assert 'FILTER NOT EXISTS {\n    ?f <urn:clqa:degree> "d1" .\n  }' in text


# Crisp answers.


@settings(max_examples=200)
@given(st.data(), graphs(), crisp_vectors())
def test_answers_and_links_equal_the_definition(data, graph, vectors):
    formula = data.draw(filtered(data.draw(formulas(depth=2))))
    assume(planned(formula) is not None)
    check(with_degrees(graph, vectors), formula, *data.draw(groundings(formula)))


@pytest.mark.parametrize("text", JOINED)
@settings(max_examples=25)
@given(st.data(), graphs(), crisp_vectors())
def test_joins_equal_the_definition(text, data, graph, vectors):
    formula = parse(text)
    assert isinstance(plan(formula), JoinPlan)
    check(with_degrees(graph, vectors), formula, *data.draw(groundings(formula)))


def test_what_is_given_is_no_link():
    assert plan(parse("r1(s1,e1)&d1(e1)&r2(e1,f)&!d2(f)")).most_links == 2
    assert plan(parse("r1(f1,f2)&d1(f1)&!d2(f2)")).most_links == 1


@pytest.mark.parametrize("text", ["r1(s1,f)&d2(f)", "r1(s1,f1)&r2(f1,f2)&d2(f2)"])
def test_crisp_answers_need_degrees_of_0_and_1(text):
    plain = make_graph(
        {split: np.array([(0, 0, 1)]) for split in FULL}, np.full(2, -1), 3, "vocabulary"
    )
    graph = with_degrees(plain, [[0, 1, 1], [1, 0.5, 0.25]])
    formula = parse(text)
    rows = np.array([[0]]), np.array([[0, 1][: text.count("r")]])
    with pytest.raises(
        InputError, match="d2: the entity of id 1 has a degree other than 0 and 1, as 2"
    ):
        answer_sets(plan(formula), split_view(graph, "test"), *rows)
    with pytest.raises(InputError, match=r"d2: the graph gives no such degrees \(it has none\)"):
        answer_sets(plan(formula), split_view(plain, "test"), *rows)


def test_given_degrees_leave_a_chain_a_chain_and_retract_nothing():
    turned, inverse = np.array([[0, 1], [0, 2]]), np.array([1, 0, 3, 2])
    for text in ("r1(s1,e1)&!d1(e1)&r2(e1,f)", "r1(f1,e1)&d1(e1)&r2(e1,f2)"):
        found = makes_round_trip(parse(text), turned, inverse, in_chain=True)
        assert found.tolist() == [True, False]
    for text, expected in [
        ("r1(s1,f)&!d1(f)", False),
        ("r1(s1,f)&!(r2(s2,f)&d1(f))", True),
        ("r1(f1,f2)&!d1(f1)", False),
        ("r1(f1,f2)&!d1(f1)&!r2(s1,f1)", True),
    ]:
        assert can_retract(plan(parse(text))) is expected
        assert has_negation(plan(parse(text)))


def test_the_other_reading_moves_a_negation_to_a_link():
    moved = other_reading(parse("!(r1(s1,e1)&d1(e1)&r2(e1,f))&r3(s2,f)"))
    assert to_text(moved) == "r1(s1,e1)&d1(e1)&!r2(e1,f)&r3(s2,f)"
    assert other_reading(parse("!(r1(s1,e1)&r2(e1,f)&d1(f))&r3(s2,f)")) is None


# Degrees of fuzzy logic.


def quarters(seed, n):
    """Quarters, whose products are exact."""
    drawn = np.random.default_rng(seed)
    choice = [0, 0, 0.25, 0.5, 0.75, 1]
    weights = drawn.choice(choice, (N_RELATIONS, n, n)).astype(np.float32)
    return weights, drawn.choice(choice, (N_VECTORS, n)).astype(np.float32)


def as_relations(weights, given):
    """Weights in which the vectors are further relations, for the definitions."""
    return np.concatenate([weights, [np.diag(row) for row in given]])


def fuzzy(formula, rows, links, name, negation, **options):
    search = Search(links, algebra(name, negation), *rows, N_ENTITIES, **options)
    return answer_degrees(plan(formula).root, search)


def qto(formula, rows, links):
    return best_degrees(plan(formula).root, Optimization(SparseRows(links), *rows), 0)


def dense(formula, values, weights, logic):
    def weight(head, relation, tail):
        return weights[relation, head, tail]

    return [
        float(degree(formula, {**values, "f": v}, weight, logic, range(N_ENTITIES)))
        for v in range(N_ENTITIES)
    ]


@pytest.mark.parametrize("negation", NEGATIONS)
@pytest.mark.parametrize("name", ALGEBRAS)
@settings(max_examples=20)
@given(st.data(), st.integers(0, 100), st.booleans())
def test_fuzzy_degrees_equal_the_definition(name, negation, data, seed, branching):
    formula = data.draw(filtered(data.draw(formulas(depth=2, implications=True))))
    assume(isinstance(planned(formula), Plan))
    rows = data.draw(groundings(formula))
    weights, given_ = quarters(seed, N_ENTITIES)
    links = weighted_links(weights, given_)
    found = fuzzy(formula, rows, links, name, negation, branching=branching)
    for row, *own in zip(found, *rows, strict=True):
        values = values_of(formula, *own) | IDS
        wanted = dense(formula, values, as_relations(weights, given_), algebra(name, negation))
        assert row.tolist() == pytest.approx(wanted, abs=1e-5)


@settings(max_examples=50)
@given(st.data(), st.integers(0, 100))
def test_exact_optimisation_equals_the_definition(data, seed):
    formula = data.draw(filtered(data.draw(formulas(depth=2))))
    assume(isinstance(planned(formula), Plan))
    rows = data.draw(groundings(formula))
    weights, given_ = quarters(seed, N_ENTITIES)
    found = qto(formula, rows, weighted_links(weights, given_))
    for row, *own in zip(found, *rows, strict=True):
        values = values_of(formula, *own) | IDS
        wanted = dense(
            formula, values, as_relations(weights, given_), algebra("product", "standard")
        )
        assert row.tolist() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("name", ALGEBRAS)
@settings(max_examples=15)
@given(st.data(), st.integers(0, 100))
def test_elimination_equals_the_definition(name, data, seed):
    formula = data.draw(conjunctions(["f1", "f2"]))
    terms = data.draw(st.lists(st.sampled_from(["f1", "f2"]), min_size=1, max_size=3))
    parts = [Given(data.draw(st.sampled_from(sorted(IDS))), term, term) for term in terms]
    parts = [Not(part) if data.draw(st.booleans()) else part for part in parts]
    formula = joined(And, [*parts, *formula.parts])
    rows = data.draw(groundings(formula, n_entities=4, n_queries=1))
    weights, given_ = quarters(seed, 4)
    logic = algebra(name)
    how = Elimination(SparseRows(weighted_links(weights, given_)), logic, 100, 100)
    made = plan(formula)
    assert isinstance(made, JoinPlan)
    found = join_degrees(made, *rows, how)[0]
    values = values_of(formula, rows[0][0], rows[1][0]) | IDS
    for row, variable in zip(found, ["f1", "f2"], strict=True):
        wanted = best(formula, variable, values, as_relations(weights, given_), logic)
        assert row.tolist() == pytest.approx(wanted, abs=1e-5)


@settings(max_examples=40)
@given(st.data(), graphs(), crisp_vectors())
def test_on_certain_links_all_methods_give_the_crisp_answers(data, graph, vectors):
    formula = data.draw(filtered(data.draw(formulas(depth=2))))
    assume(isinstance(planned(formula), Plan))
    rows = data.draw(groundings(formula))
    graph = with_degrees(graph, vectors)
    weights = np.zeros((N_RELATIONS, N_ENTITIES, N_ENTITIES))
    for head, relation, tail in edges(graph, FULL["test"]):
        weights[relation, head, tail] = 1
    links = weighted_links(weights, graph.degrees)
    answers = answer_sets(plan(formula), split_view(graph, "test"), *rows)
    wanted = [answers.row(q).tolist() for q in range(len(rows[0]))]
    methods = [fuzzy(formula, rows, links, *how) for how in itertools.product(ALGEBRAS, NEGATIONS)]
    for found in [*methods, qto(formula, rows, links)]:
        assert np.isin(found, [0, 1]).all()
        assert [np.flatnonzero(row).tolist() for row in found] == wanted


def test_degrees_by_hand():
    # Of two intermediates 1 (0.5) and 2 (1), both linked to 3; given 0.5 and 0.25, and 0.5 for 3.
    weights = np.zeros((2, 4, 4))
    weights[0, 0, 1], weights[0, 0, 2], weights[1, [1, 2], 3] = 0.5, 1, 1
    links = weighted_links(weights, np.array([[0, 0.5, 0.25, 0.5]], np.float32))
    rows = np.array([[0]]), np.array([[0, 1]])
    wanted = {"product": 0.125, "viterbi": 0.125, "goedel": 0.5, "lukasiewicz": 0.0}
    for name, best_degree in wanted.items():
        formula = parse("r1(s1,e1)&d1(e1)&r2(e1,f)&d1(f)")
        search = Search(links, algebra(name), *rows, 4)
        assert answer_degrees(plan(formula).root, search)[0].tolist() == [0, 0, 0, best_degree]


# Files.


def test_degrees_are_part_of_the_graph(tmp_path):
    plain = make_graph(
        {split: np.array([(0, 0, 1)]) for split in FULL}, np.full(1, -1), 3, "vocabulary"
    )
    graph = with_degrees(plain, [[0, 1, 1], [1, 0.5, 0.25]])
    write_graph(tmp_path / "graph.npz", graph)
    again = read_graph(tmp_path / "graph.npz", ("train",))
    assert again.degrees.tolist() == [[0, 1, 1], [1, 0.5, 0.25]]
    assert again.hash == graph.hash != plain.hash
    assert with_degrees(plain, [[0, 1, 1], [1, 0.5, 0]]).hash != graph.hash
    for degrees in ([[0, 1]], [[0, 1, 2]], [[0, 1, np.nan]]):
        write_graph(tmp_path / "graph.npz", graph._replace(degrees=np.array(degrees, np.float32)))
        with pytest.raises(InputError, match=r"graph\.npz: not a readable graph \(degrees "):
            read_graph(tmp_path / "graph.npz")


ATTRIBUTES = "a\t1\nb\t1.0\nd\t0\n"


def files(attributes=ATTRIBUTES):
    train = "a r b, a r c, b s d, c s d, c s a, a s e, e s b, d s c"
    return texts(train, "b r c", "b s a, c s b, d r a, c s e, b s c") | {"d1.tsv": attributes}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("a\t1\nz\t1\n", "d1.tsv:2: the graph has no entity 'z'"),
        ("a\t1\nb\t1\na\t0\n", "d1.tsv:3: the entity 'a' stands before, too"),
        ("a\t1\nb\t1.5\n", "d1.tsv:2: expected a degree from 0 to 1, found '1.5'"),
        ("a\t-0.5\n", "d1.tsv:1: expected a degree from 0 to 1, found '-0.5'"),
        ("a\tnan\n", "d1.tsv:1: expected a degree from 0 to 1, found 'nan'"),
        ("a\n", "d1.tsv:1: expected 2 tab-separated fields, found 1"),
    ],
)
def test_what_is_wrong_in_a_file_of_degrees_is_told(tmp_path, attributes, message):
    with pytest.raises(InputError) as error:
        build(tmp_path, files(attributes))
    assert str(error.value).startswith(message)


def test_a_graph_is_built_with_degrees_by_label(tmp_path):
    built = build(tmp_path, files("c\t.25\na\t1e-1\r\n"), default_degrees={"d1": 0.5})
    assert built.entities == ["a", "b", "c", "d", "e"]
    assert built.graph.degrees.tolist() == [pytest.approx([0.1, 0.5, 0.25, 0.5, 0.5])]
    assert built.summary["rules"]["default_degrees"] == {"d1": 0.5}


def test_vectors_of_an_entry_are_counted_from_1(tmp_path):
    with pytest.raises(InputError, match=r"files\.d2: there is no files\.d1 before it"):
        build(tmp_path, texts("a r b") | {"d2.tsv": "a\t1\n"})
    with pytest.raises(InputError, match=r"default_degrees\.d1: there is no files\.d1"):
        build(tmp_path, texts("a r b"), default_degrees={"d1": 1})


def test_a_run_needs_the_degrees_that_its_shapes_ask_for(tmp_path):
    (tmp_path / "shapes.yaml").write_text("drugs: r1(s1,f)&d1(f)\n")
    with pytest.raises(InputError) as error:
        run_with(catalogues=[str(tmp_path)], shapes=["1p", "drugs"], models=["random"])
    assert "the shape drugs asks for the degrees d1, but the graph" in str(error.value)
    (tmp_path / "graphs.yaml").write_text(
        "mine: {source: {kind: path, folder: .}, files: {train: t, valid: t, test: t, d1: d}}\n"
    )
    (tmp_path / "query_sets.yaml").write_text("mine: {graph: mine, split: test}\n")
    run = run_with(
        catalogues=[str(tmp_path)], shapes=["drugs"], models=["random"], query_sets=["mine"]
    )
    assert run.local_files("mine")[-1].endswith("/d")


SAMPLED = {
    "2p": "r1(s1,e1)&d1(e1)&r2(e1,f)",
    "2in": "r1(s1,f)&!d1(f)",
    "2m": "r1(s1,e1)&r2(e1,f)&r3(e1,f)&d1(f)",
}


def test_queries_are_sampled_split_scored_and_explained(tmp_path, capsys):
    built = build(tmp_path, files())
    folder = tmp_path / "graphs" / "g"
    folder.parent.mkdir()
    built.folder.rename(folder)
    queries, answers = (tmp_path / kind / "set" / "all.parquet" for kind in ("queries", "answers"))
    path, graph = folder / "graph.npz", built.graph
    rules = {"count": 6, "tries": 200, "exhaustive": False, "inverse_undo": "allowed"}
    rules["distinct_branches"] = False
    sample_queries(path, queries, tmp_path / "report.json", SAMPLED, rules, "test", 0, "set")
    split_answers_stage(path, queries, answers, "test")
    found, asked = read_answers(answers), read_queries(queries)
    # a and b have the attribute.
    known = {(v, graph.n_relations, v) for v in (0, 1)}
    observed, full = (edges(graph, parts["test"]) | known for parts in (OBSERVED, FULL))
    for shape, text in SAMPLED.items():
        formula, part, batch = parse(text), found.shapes[shape], asked.shapes[shape]
        assert len(batch.anchors)
        for q, grounding in enumerate(zip(batch.anchors, batch.relations, strict=True)):
            values = values_of(formula, *grounding) | {"d1": graph.n_relations}
            costs = joins.true_costs(formula, values, observed, full, range(5))
            own = slice(*part.hard.offsets[q : q + 2])
            assert dict(
                zip(joins.rows_of(part.hard, q), part.links[own].tolist(), strict=True)
            ) == {answer: cost for answer, cost in costs.items() if cost}
    predictor = tmp_path / "predictors" / "g" / "flat.npz"
    sizes = (graph.n_entities, n_reciprocal(graph.inverse))
    vectors = (np.full((n, 2), 0.5, np.float32) for n in sizes)
    write_predictor(predictor, make_predictor("distmult", *vectors, {}, graph))
    links = {"predictor": "flat", "calibration": {"kind": "softmax"}, "hybrid": True}
    scores = tmp_path / "scores.npy"
    predict_answers(
        *(path, queries, scores, scores.with_suffix(".json"), "fit", "fit", links, "test"),
        path_to_predictor=predictor,
    )
    rows = np.split(np.load(scores), np.cumsum([len(b.anchors) for b in asked.shapes.values()]))
    of_shape = dict(zip(asked.shapes, rows, strict=False))
    assert of_shape["2m"].any()
    assert not of_shape["2m"][:, 2:].any()
    assert of_shape["2in"].any()
    assert not of_shape["2in"][:, :2].any()
    query_id = str(asked.shapes["2p"].query_ids[0])
    arguments = ["--queries", "set", "--id", query_id, "--results", str(tmp_path)]
    assert explain.main(arguments) == 0
    told = capsys.readouterr().out
    assert "and (e1) is d1 and" in told
    assert "(b) is d1  observed" in told or "(a) is d1  observed" in told
