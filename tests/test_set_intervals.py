"""Intervals of averages over answer sets: coverage, the same draws for all, single queries."""

import numpy as np
import pytest

from clqa.set_intervals import AVERAGES, COLUMNS, Drawing, _drawn_together, set_intervals
from clqa.set_metrics import Counts, f_beta, set_summary
from clqa.strata import Stratum

SHAPES = np.array(["2p"] * 60 + ["2i"] * 90, object)


def whole(n):
    return Stratum("", np.ones(n, bool), whole=True)


def drawn_counts(random, shapes):
    """Sets of up to five, of which those of 2i are more often right."""
    true, predicted = random.integers(0, 6, (2, len(shapes)))
    chance = np.where(shapes == "2i", 0.7, 0.3)
    counts = Counts(random.binomial(np.minimum(true, predicted), chance), predicted, true)
    return counts, f_beta(counts, 0.5)


def found_for(sets, shapes=SHAPES, strata=None, **changes):
    drawing = Drawing(**{"stream": (0,), "draws": 500, "level": 0.95} | changes)
    return set_intervals(sets, shapes, strata or [whole(len(shapes))], drawing)


def test_intervals_cover_the_true_averages_at_their_level():
    """Sets of 150 queries of two shapes; the truth is that of a million with the same shares."""
    random = np.random.default_rng(6)
    truth = set_summary(drawn_counts(random, np.tile(SHAPES, 7000))[0])
    covered = {name: [] for name in AVERAGES}
    for seed in range(8):
        sets = [drawn_counts(random, SHAPES) for _ in range(125)]
        for one in found_for(sets, stream=(seed,)):
            for name in AVERAGES:
                low, high = (one[""][f"{name}_interval_{end}"] for end in ("lower", "upper"))
                covered[name].append(low <= getattr(truth, name) <= high)
    for name in AVERAGES:
        assert 0.93 <= np.mean(covered[name]) <= 0.97


def test_answer_sets_of_all_rules_have_the_same_draws():
    one, other = (drawn_counts(np.random.default_rng(seed), SHAPES) for seed in (0, 1))
    together = found_for([one, other])
    assert [found_for([one])[0], found_for([other])[0]] == together
    assert found_for([one], stream=(1,))[0] != together[0]


def test_intervals_enclose_the_averages_and_have_no_width_where_nothing_varies():
    counts, values = drawn_counts(np.random.default_rng(2), SHAPES)
    (found,) = found_for([(counts, values)])
    assert tuple(found[""]) == COLUMNS
    summary = set_summary(counts)
    for name in AVERAGES:
        low, high = (found[""][f"{name}_interval_{end}"] for end in ("lower", "upper"))
        assert low < getattr(summary, name) < high
    same = Counts(*np.tile([[1], [2], [4]], len(SHAPES)))
    (flat,) = found_for([(same, f_beta(same))])
    assert flat[""] == pytest.approx(
        dict(zip(COLUMNS, np.repeat([5 / 12, 0.5, 0.25], 2), strict=True))
    )


def test_shares_of_no_predictions_are_0_as_in_their_definition():
    nothing = Counts(*np.zeros((3, len(SHAPES)), np.int64))
    (found,) = found_for([(nothing, f_beta(nothing))])
    assert list(found[""].values()) == [1, 1, 0, 0, 0, 0]


def test_a_single_query_has_no_interval():
    sets = [drawn_counts(np.random.default_rng(3), SHAPES)]
    parts = [
        Stratum(name, np.isin(np.arange(len(SHAPES)), rows), whole=True)
        for name, rows in (("none", []), ("one", [3]), ("two", [3, 4]))
    ]
    (found,) = found_for(sets, strata=parts)
    assert found.keys() == {"two"}
    assert found_for(sets, draws=0) == [{}]


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [
        ("aabbb", {"a": [0, 1], "b": [2, 3, 4]}),
        ("abbcccc", {"a+b": [0, 1, 2], "c": [3, 4, 5, 6]}),
        ("acccb", {"a+b": [0, 4], "c": [1, 2, 3]}),
        ("abc", {"a+b+c": [0, 1, 2]}),
    ],
)
def test_shapes_with_a_single_query_are_drawn_with_others(shapes, wanted):
    found = {name: rows.tolist() for name, rows in _drawn_together(np.array([*shapes]))}
    assert found == wanted
