"""Published results: what the file holds, and what is said of the averages in it."""

import pytest
import yaml

from clqa.errors import InputError
from clqa.references import (
    check_averages,
    empty_slots,
    group_shapes,
    read_references,
    suspects,
)


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


def test_hits_at_10_of_the_sets_of_betae():
    averages = found(table="betae-fb15k-hits@10", method="UltraQuery (PyG)", shape="")
    assert {one.group: one.printed for one in averages} == {"EPFO": "83.4", "negation": "72.5"}
    values = {one.shape: one.value for one in found(table="betae-fb15k-237-hits@10")}
    expected = {"1p": 0.5, "2p": 0.053, "3p": 0.076, "2i": 0.289, "3i": 0.282, "pi": 0.213}
    expected |= {"ip": 0.23, "2u": 0.148, "up": 0.059, "2in": 0.007, "3in": 0.011, "inp": 0.035}
    assert values == {**expected, "pin": 0.018, "pni": 0.035}


def test_what_others_found_on_plus_h_is_noted():
    notes = {one.method: one.note for one in found(table="plus-h-fb15k-237")}
    for method, numbers in {
        "QTO": ("16.11", "10.59", "13.16", "9.62", "54.6", "56.8"),
        "CQD": ("40.05", "27.77", "7.88", "9.15"),
        "CQD-Hybrid": ("42.17", "27.77", "9.33", "11.06"),
    }.items():
        assert [number for number in numbers if number not in notes[method]] == []


def test_the_tables_of_efok_are_there_without_values():
    slots = [one for one in empty_slots() if one.queries == "EFOk-CQA"]
    assert [(one.graph, one.metric) for one in slots] == [
        (graph, metric)
        for graph in ("FB15k-237", "FB15k", "NELL995")
        for metric in ("mrr", "hits@10")
    ]
    assert found(queries="EFOk-CQA") == []
    assert all(group_shapes()[one.table] == {} for one in slots)


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
