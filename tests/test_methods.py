"""Settings of methods, checked against their source."""

from pathlib import Path

import pytest

from clqa.errors import InputError
from clqa.methods import check_settings, needs_trees, takes_links

MODELS = Path(__file__).parents[1] / "scripts" / "models"
LINKED = {"predictor": "complex", "calibration": {"kind": "sigmoid"}}


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("random", {"seed": 0, "seeed": 1}, "unknown key seeed .did you mean seed..; known: seed"),
        ("random", {}, "the key seed is missing"),
        ("traversal", {"inference_graph": "full"}, "'full' is not possible; possible are"),
        ("constant", {"inference_graph": "train"}, "unknown key inference_graph; known: "),
        ("qto", {"calibration": {"kind": "sigmoid"}}, "the key predictor is missing"),
        ("qto", {"predictor": "complex"}, "the key calibration is missing"),
        (
            "fuzzy",
            {**LINKED, "links": 1},
            "unknown key links; known: inference_graph, predict",
        ),
        ("random", {"seed": 0, "hybrid": True}, "unknown key hybrid; known: seed"),
        (
            "cqd_beam",
            {**LINKED, "algebra": "lukasiewicz"},
            "settings.algebra: expected one of product, goedel, found 'lukasiewicz'",
        ),
    ],
)
def test_settings_that_do_not_fit_are_named(method, settings, words):
    with pytest.raises(InputError, match=words):
        check_settings(MODELS / f"{method}.py", settings)


def test_a_method_without_scores_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("def score():\n    pass\n")
    with pytest.raises(InputError, match=r"empty.py: expected a function scores"):
        check_settings(tmp_path / "empty.py", {})


def test_settings_that_fit_are_taken():
    check_settings(MODELS / "random.py", {"seed": 3})
    check_settings(MODELS / "traversal.py", {"inference_graph": "train"})
    check_settings(MODELS / "qto.py", {**LINKED, "hybrid": True, "exact": 5})


def test_a_method_says_whether_it_answers_over_links():
    assert takes_links(MODELS / "fuzzy.py")
    assert not takes_links(MODELS / "random.py")


def test_of_methods_over_links_all_but_fit_need_trees_of_sets():
    methods = {path.stem: needs_trees(path) for path in MODELS.glob("[!_]*.py")}
    assert {name for name, needs in methods.items() if needs} == {"fuzzy", "qto", "cqd_beam"}
    assert takes_links(MODELS / "fit.py")
