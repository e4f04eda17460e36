"""Sampling by reduction class: quotas, selected answers, shares, determinism."""

import numpy as np
import pytest

import clqa.quotas
from clqa.answers import SplitAnswers, selected_answers, split_answers
from clqa.errors import InputError
from clqa.formulas import parse
from clqa.judgements import Rules
from clqa.plans import plan
from clqa.quotas import Quotas, sample_by_class
from clqa.ragged import ragged
from clqa.reduction_classes import class_table, released_classes
from clqa.sampling import sampling_ground
from test_sampling import FORK, NEGATION, PATH, random_graph

UNION = "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)"
FREELY = Rules(max_hard=None, max_retracted=None, negation="any")
GRAPH = random_graph(3, n_entities=60, n_forward=4, n_edges=500)


def drawn(text, answers=40, tries=100_000, stream=(0, "q"), rules=FREELY, patience=None, **options):
    quotas = Quotas(**{"answers": answers, "max_share": 1.0, **options})
    return sample_by_class(
        sampling_ground(GRAPH, "test"), parse(text), quotas, rules, tries, stream, patience=patience
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PATH, {"1p": 40, "2p": 40}),
        (FORK, {"1p": 40, "2i": 40}),
        (UNION, {"0p": 0, "1p": 40, "2u": 40, "up": 40}),
        ("r1(s1,f)|r2(s2,f)", {"1p": 0, "2u": 40}),
        (NEGATION, {"pos-exist": 0, "pos-only-miss": 40}),
    ],
)
def test_every_class_that_an_answer_can_have_gets_its_answers(text, expected):
    found = drawn(text)
    assert found.filled == expected
    formula, view = parse(text), sampling_ground(GRAPH, "test").both
    rows = found.queries.anchors, found.queries.relations
    hard = split_answers(plan(formula), view, *rows).hard
    classes = released_classes(formula, view, *rows, found.selected)
    names = class_table(formula).names
    counts = np.bincount(classes, minlength=len(names)).tolist()
    assert dict(zip(names, counts, strict=True)) == expected
    for q in range(len(rows[0])):
        assert len(found.selected.row(q))
        assert set(found.selected.row(q)) <= set(hard.row(q))


def test_no_query_is_drawn_twice():
    found = drawn(FORK).queries
    pairs = zip(found.anchors.tolist(), found.relations.tolist(), strict=True)
    atoms = [tuple(sorted(zip(*pair, strict=True))) for pair in pairs]
    assert len(atoms) == len(set(atoms))


def outcome(found):
    queries, selected, filled = found
    return queries.relations.tolist(), queries[2:], selected.values.tolist(), filled


def test_the_outcome_does_not_depend_on_the_batch(monkeypatch):
    expected = outcome(drawn(PATH))
    monkeypatch.setattr(clqa.quotas, "_FIRST_BATCH", 7)
    monkeypatch.setattr(clqa.quotas, "_BATCH", 11)
    assert outcome(drawn(PATH)) == expected


def test_another_seed_gives_other_queries():
    assert outcome(drawn(PATH)) != outcome(drawn(PATH, stream=(1, "q")))


def test_attempts_are_either_accepted_or_rejected():
    queries = drawn(PATH).queries
    assert queries.tries == len(queries.anchors) + sum(queries.rejections.values())


def test_sampling_ends_where_a_class_has_too_few_answers():
    found = drawn(PATH, answers=100_000, tries=3000)
    assert found.queries.tries == 6000
    assert 0 < found.filled["2p"] < 100_000


def test_a_class_that_gives_nothing_more_is_given_up():
    most = drawn(PATH, answers=10**6, tries=200_000)
    found = drawn(PATH, answers=10**6, tries=10**9, patience=60_000)
    assert found.queries.tries < 10**6
    assert found.filled == most.filled


def test_no_relation_and_no_anchor_has_more_than_its_share():
    found = drawn(FORK, answers=100, max_share=0.3, share_from=0.0)
    free = drawn(FORK, answers=100)
    sizes = found.selected.lengths()
    merged = np.minimum(found.queries.relations, GRAPH.inverse[found.queries.relations])
    for columns in (found.queries.anchors, merged):
        for name in np.unique(columns):
            assert sizes[(columns == name).any(axis=1)].sum() <= 0.3 * sizes.sum() + 1e-9
    assert free.queries.rejections["too_frequent"] == 0


def test_answers_that_are_not_selected_are_easy():
    found = SplitAnswers(ragged([[1, 2], []]), ragged([[3, 4], [5]]), ragged([[2], []]))
    easy, hard, retracted = selected_answers(found, ragged([[4], [5]]))
    assert [easy.row(q).tolist() for q in range(2)] == [[1, 3], []]
    assert [hard.row(q).tolist() for q in range(2)] == [[4], [5]]
    assert retracted.lengths().tolist() == [0, 0]


def test_only_hard_answers_can_be_selected():
    found = SplitAnswers(ragged([[1]]), ragged([[3]]), ragged([[]]))
    with pytest.raises(InputError, match="no hard answer"):
        selected_answers(found, ragged([[1]]))


def test_a_shape_without_classes_has_no_quotas():
    with pytest.raises(InputError, match="no classes"):
        drawn("r1(s1,e1)&!r2(e1,f)&r3(s2,f)")
