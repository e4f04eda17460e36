"""Published results: what the file holds, and what is said of the averages in it."""

import pytest
import yaml

from clqa.errors import InputError
from clqa.references import check_averages, read_references, suspects


def found(**wanted):
    return [
        one
        for one in read_references()
        if all(getattr(one, key) == value for key, value in wanted.items())
    ]


def test_a_value_has_its_table_scale_and_tag():
    (value,) = found(table="betae-fb15k-237", method="QTO", shape="2p")
    assert (value.value, value.printed, value.tag) == (0.214, "21.4", "V")
    assert (value.graph, value.queries, value.split) == ("FB15k-237", "BetaE", "test")
    assert (value.metric, value.filter, value.group) == ("mrr", "observed-and-full", "EPFO")


def test_a_single_value_can_have_a_tag_of_its_own():
    tags = {one.shape: one.tag for one in found(table="betae-nell995", method="CQD-Beam")}
    assert tags["1p"] == "S"
    assert tags["2p"] == tags[""] == "M"


def test_values_that_are_printed_as_shares_are_kept():
    (value,) = found(table="query2box-fb15k-237-mrr", method="CQD-CO", shape="1p")
    assert value.value == 0.4658


@pytest.mark.parametrize("graph", ["FB15k-237+H", "NELL995+H", "ICEWS18+H"])
def test_the_tables_of_plus_h_have_16_shapes_of_seven_methods(graph):
    values = found(graph=graph, queries="+H")
    assert len({one.method for one in values}) == 7
    assert len(values) == 7 * 16


def test_every_number_is_a_share_and_stands_once():
    values = read_references()
    keys = [(one.table, one.method, one.group, one.shape) for one in values]
    assert len(keys) == len(set(keys))
    assert all(0 <= one.value <= 1 for one in values)


def test_averages_that_are_not_the_mean_of_their_values_are_named():
    assert [
        (one.table, one.method, one.group, str(one.printed), f"{one.mean:.2f}", one.verdict)
        for one in suspects(check_averages())
    ] == [
        ("betae-fb15k", "Q2B (tables of the time of ConE)", "EPFO", "40.1", "40.98", "wrong"),
        ("betae-fb15k", "BetaE", "EPFO", "41.6", "41.68", "truncated"),
        ("betae-fb15k", "BetaE", "negation", "11.8", "11.88", "truncated"),
        ("betae-fb15k", "QTO", "negation", "49.2", "49.26", "truncated"),
        ("betae-fb15k-237", "BetaE", "negation", "5.4", "5.48", "truncated"),
    ]


def written(path, **row):
    table = {
        "title": "t",
        "graph": "g",
        "queries": "q",
        "split": "test",
        "metric": "mrr",
        "filter": "f",
        "pni": "none",
        "scale": 100,
        "groups": {"EPFO": ["1p", "2p"]},
        "rows": [{"method": "m", "EPFO": row}],
    }
    path.write_text(yaml.safe_dump({"t": table}))
    return path


@pytest.mark.parametrize(
    ("average", "verdict"), [(15.0, "agrees"), (15.1, "wrong"), (14.9, "wrong"), (None, None)]
)
def test_an_average_is_compared_in_its_last_digit(tmp_path, average, verdict):
    row = {"values": [10.0, 20.0], "tag": "V"} | ({"average": average} if average else {})
    averages = check_averages(written(tmp_path / "r.yaml", **row))
    assert [one.verdict for one in averages] == ([verdict] if verdict else [])


def test_an_average_without_values_is_not_judged(tmp_path):
    (average,) = check_averages(written(tmp_path / "r.yaml", average=15.0, tag="V"))
    assert average.verdict == "unchecked"


def test_a_row_with_too_few_values_is_refused(tmp_path):
    path = written(tmp_path / "r.yaml", values=[10.0], tag="V")
    with pytest.raises(InputError, match="m: 1 values for the 2 shapes of EPFO"):
        read_references(path)


def test_an_unknown_tag_is_refused(tmp_path):
    with pytest.raises(InputError, match="tag"):
        read_references(written(tmp_path / "r.yaml", values=[10.0, 20.0], tag="X"))
