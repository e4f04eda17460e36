"""Models with several seeds: their expansion, their means, what is shown and compared."""

import pytest

from clqa.comparison_tables import mean_values
from clqa.errors import InputError
from clqa.reports import Row
from clqa.score_tables import Origin
from clqa.seeds import MEAN, shown, with_means
from clqa.set_reports import SetRows
from clqa.set_seeds import set_means
from clqa.set_tables import COLUMNS
from test_configs import run_with


def row(model, seed, value, note="", **other):
    empty = dict.fromkeys(Row._fields, "") | {"lower": None, "upper": None, "metric": "mrr"}
    return Row(**(empty | {"model": model, "seed": seed, "value": value, "note": note} | other))


BASES = {"net.seed0": "net", "net.seed1": "net", "net.seed2": "net"}


def test_a_mean_follows_the_rows_of_its_seeds():
    rows = [row("net.seed0", "0", 0.2), row("net.seed1", "1", 0.3), row("net.seed2", "2", 0.7)]
    found = with_means([*rows, row("own", "", 0.5)], BASES)
    assert [(r.model, r.seed) for r in found] == [
        *(("net", seed) for seed in "012"),
        ("own", ""),
        ("net", MEAN),
    ]
    mean = found[-1]
    assert (mean.value, mean.lower, mean.upper) == (pytest.approx(0.4), 0.2, 0.7)
    # Deviations -.2, -.1 and .3: the variance is .14 / 2.
    assert "seeds 0, 1, 2, standard deviation 0.264575;" in mean.note


def test_means_are_taken_subject_by_subject():
    rows = [row(f"net.seed{s}", str(s), v, shape=shape)
            for shape, values in (("1p", (0.1, 0.3)), ("2p", (0.5, 0.5)))
            for s, v in enumerate(values)]  # fmt: skip
    means = {r.shape: r.value for r in with_means(rows, BASES) if r.seed == MEAN}
    assert means == {"1p": 0.2, "2p": 0.5}


def test_a_mean_is_undefined_where_a_seed_is():
    rows = [row("net.seed0", "0", 0.2), row("net.seed1", "1", None, "no queries")]
    mean = with_means(rows, BASES)[-1]
    assert (mean.value, mean.lower, mean.upper, mean.note) == (None, None, None, "no queries")


def test_tables_show_the_means_of_models_with_several_seeds():
    rows = with_means([row("net.seed0", "0", 0.2), row("net.seed1", "1", 0.4)], BASES)
    assert [(r.model, r.seed) for r in shown([*rows, row("own", "7", 0.5)])] == [
        ("net", MEAN),
        ("own", "7"),
    ]


def test_models_are_compared_by_the_mean_of_each_query():
    one = {"1p": {"a": 0.25, "b": None, "c": 1.0}}
    two = {"1p": {"a": 0.75, "b": 0.5, "c": 0.5}}
    assert mean_values([one, two]) == {"1p": {"a": 0.5, "b": None, "c": 0.75}}
    assert mean_values([one]) == one


def catalogue(folder, text):
    (folder / "models.yaml").write_text(text)
    return {"catalogues": [str(folder)], "models": ["popularity", "chance"]}


def test_a_model_with_seeds_becomes_one_model_for_each(tmp_path):
    changes = catalogue(tmp_path, "chance: {method: random, settings: {seed: 7}, seeds: [3, 5]}\n")
    run = run_with(**changes)
    assert run.settings["models"] == ["popularity", "chance.seed3", "chance.seed5"]
    assert run.seeds == {"chance.seed3": "chance", "chance.seed5": "chance"}
    assert run.models["chance.seed5"] == {"method": "random", "settings": {"seed": 5}}
    assert run.compared() == ["popularity"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chance: {method: constant, seeds: [3, 5]}\n", "settings has no seed to be replaced"),
        (
            "chance: {method: random, settings: {seed: 7}, seeds: [3, 5]}\n"
            "chance.seed5: {method: constant}\n",
            "the name of a seed of chance; choose another",
        ),
        ("chance: {method: random, settings: {seed: 7}, seeds: [3]}\n", "seeds"),
        ("chance: {method: random, settings: {seed: 7}, seeds: [3, 3]}\n", "seeds"),
    ],
)
def test_seeds_that_make_no_sense_are_refused(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        run_with(**catalogue(tmp_path, text))
    assert words in str(caught.value)


def set_rows(model, *rows, queries="q"):
    """Rows of answer sets by two rules; what is not given is null."""
    origin = Origin(queries, model, "g", "test", "h", "i")
    about = {"truth": "full", "beta": 0.5, "stratum": "", "n_queries": 4, "note": ""}
    named = [{"rule": f"top@{place}"} | row for place, row in enumerate(rows, 1)]
    return SetRows(origin, {}, [dict.fromkeys(COLUMNS) | about | row for row in named], [{}])


def test_answer_sets_of_several_seeds_have_a_mean_and_a_spread():
    known = [{"f_beta": f, "precision": f / 2, "recall": 1.0, "right": 3} for f in (0.2, 0.3, 0.7)]
    lacking = [{"f_beta": 0.5}, {"f_beta": None, "note": "cut"}, {"f_beta": 0.5}]
    given = [
        set_rows(f"net.seed{s}", *pair) for s, pair in enumerate(zip(known, lacking, strict=True))
    ]
    (mean,) = set_means([set_rows("own", {"f_beta": 1.0}), *given], BASES)
    assert (mean.origin.model, mean.bands) == ("net", [])
    first, second = mean.sets
    assert (first["rule"], first["n_queries"], first["right"]) == ("top@1", 4, None)
    assert (first["f_beta"], first["precision"]) == pytest.approx((0.4, 0.2))
    assert (first["f_beta_interval_lower"], first["f_beta_interval_upper"]) == (0.2, 0.7)
    assert "mean over 3 seeds, standard deviation of F 0.264575;" in first["note"]
    assert (second["f_beta"], second["f_beta_interval_lower"]) == (None, None)
    assert second["note"] == "mean over 3 seeds; cut"
    assert set_means([set_rows("own", {"f_beta": 1.0})], BASES) == []


def test_means_of_answer_sets_are_taken_within_a_query_set():
    given = [
        set_rows(f"net.seed{seed}", {"f_beta": value}, queries=queries)
        for queries, values in (("q", (0.1, 0.3)), ("p", (0.5, 0.7)))
        for seed, value in enumerate(values)
    ]
    found = {one.origin.queries: one.sets[0]["f_beta"] for one in set_means(given, BASES)}
    assert found == pytest.approx({"q": 0.2, "p": 0.6})
