"""Figures."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clqa.figures import SERIES, Series, dot_figure

ROWS, BANDS = ["1p", "2p", "2in"], ["EPFO", "EPFO", "negation"]


def draw(*series, is_share=True):
    return dot_figure(ROWS, BANDS, series, "MRR", 'numbers of "toy" & more', is_share)


def series(label="mlp", dots=(10.0, 20.0, None), is_quiet=False):
    return Series(label, dots, dots, [None if dot is None else dot + 5 for dot in dots], is_quiet)


def test_the_same_numbers_give_the_same_bytes():
    assert draw(series()) == draw(series())


def test_the_bytes_depend_on_no_setting_of_the_machine(tmp_path):
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 20\n")
    tests = Path(__file__).parent
    code = "import sys, test_figures as t; sys.stdout.buffer.write(t.draw(t.series()).encode())"
    path = os.pathsep.join([str(tests), str(tests.parent / "scripts")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": path, "LC_ALL": "C"},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == draw(series())


def test_a_figure_is_one_element_without_names_of_its_own_or_of_others():
    text = draw(series())
    ElementTree.fromstring(text)
    for forbidden in ("http", "xlink", "<metadata", "<style", "<!--", "matplotlib", "date"):
        assert forbidden not in text.lower()


def test_it_needs_no_font():
    text = draw(series())
    assert "<text" not in text
    assert "font" not in re.sub(r"(id|href)=\"[^\"]*\"", "", text)


def test_it_tells_those_who_do_not_see_it_what_it_shows():
    element = ElementTree.fromstring(draw(series()))
    assert element.get("role") == "img"
    assert element.get("aria-label") == 'numbers of "toy" & more'


def test_ids_of_two_figures_differ():
    figures = draw(series(dots=(10.0, 20.0, 30.0))), draw(series(dots=(11.0, 20.0, 30.0)))
    ids = [set(re.findall(r'\bid="([^"]*)"', text)) for text in figures]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_colours_can_be_set_by_the_page():
    text = draw(series(), series("oracle", is_quiet=True))
    assert f"var(--series-1, {SERIES[0]})" in text
    assert "var(--quiet, " in text
    assert "fill: #" not in text
    assert "stroke: #" not in text


def test_a_missing_number_has_no_mark():
    def n_marks(text):
        return len(re.findall(r"<use [^>]*var\(--series-1", text))

    whole, partial = draw(series(dots=(1.0, 2.0, 3.0))), draw(series(dots=(1.0, None, None)))
    assert n_marks(whole) - n_marks(partial) == 2


@pytest.mark.parametrize("is_share", [True, False])
def test_a_figure_of_nothing_known_can_be_drawn(is_share):
    ElementTree.fromstring(draw(series(dots=(None, None, None)), is_share=is_share))


def test_twenty_models_can_be_drawn():
    many = [series(f"a-model-with-a-name-{number}") for number in range(20)]
    ElementTree.fromstring(draw(*many))
