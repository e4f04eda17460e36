"""Result files of CQD: the settings that are chosen, and the table that is published."""

import json

import pytest

from clqa.cqd_results import SHAPES
from clqa.keyed_tables import read_keyed_table
from import_scores import main

# Hits@3 of CQD-Beam on FB15k-237 as published (Arakelyan et al., 2021): 2p 3p 2i 3i ip pi 2u up.
PUBLISHED = (0.279, 0.219, 0.352, 0.457, 0.129, 0.249, 0.284, 0.128)


def write(folder, name, hits_at_3, **other):
    metrics = {"MRRm_new": hits_at_3 - 0.02, "MRm_new": 200.5, "HITS@1m_new": hits_at_3 / 2}
    metrics |= {"HITS@3m_new": hits_at_3, "HITS@10m_new": min(1, hits_at_3 + 0.1)} | other
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(metrics))


def topk(code, k, split="", graph="FB237", rank=1000, norm="min"):
    return f"topk_d={graph}{split}_t={norm}_e={code}_rank={rank}_k={k}_sn=1"


def write_published(folder):
    """For each shape the published choice, one worse on dev and better on test, and more."""
    codes = [code for code in SHAPES if code != "1_1"]
    for code, value in zip(codes, PUBLISHED, strict=True):
        for k, dev, test in ((4, 0.5, value + 0.0004), (8, 0.4, 0.9)):
            write(folder, topk(code, k, "_dev"), dev)
            write(folder, topk(code, k), test)
        write(folder, topk(code, 16, "_dev"), 0.99)  # which was never run on test
        write(folder, topk(code, 4, "_dev", rank=100), 0.7)
        write(folder, topk(code, 4, rank=100), 0.1)


def cells(text):
    """Rows of a Markdown table as lists of cells."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_published_table_is_assembled(tmp_path, capsys):
    write_published(tmp_path)
    assert main([str(tmp_path), "--rank", "1000", "--tsv", str(tmp_path / "all.tsv")]) == 0
    head, _, row = cells(capsys.readouterr().out)
    assert head == ["method", "graph", "2p", "3p", "2i", "3i", "ip", "pi", "2u", "up", "mean"]
    mean = sum(PUBLISHED) / 8 + 0.0004
    assert row == ["cqd_beam", "fb15k-237", *map(str, PUBLISHED), f"{mean:.3f}"]
    table = read_keyed_table(tmp_path / "all.tsv", ("method", "graph", "shape", "metric"))
    value, valid, chosen_by, settings = table.rows["cqd_beam", "fb15k-237", "2p", "hits@3"]
    assert (value, valid, chosen_by) == (repr(0.279 + 0.0004), "0.5", "hits@3")
    assert settings == "k=4 rank=1000 sn=1 t=min"
    assert len(table.rows) == 8 * 5


def test_without_a_rank_the_best_on_dev_of_any_is_taken(tmp_path, capsys):
    write_published(tmp_path)
    assert main([str(tmp_path)]) == 0
    assert cells(capsys.readouterr().out)[2][2] == "0.100"


def test_a_metric_is_found_by_its_name_and_not_by_what_was_chosen_by(tmp_path, capsys):
    write_published(tmp_path)
    assert main([str(tmp_path), "--rank", "1000", "--metric", "mr"]) == 0
    assert cells(capsys.readouterr().out)[2][2] == "200.500"


def test_settings_may_be_chosen_by_the_lowest_mean_rank(tmp_path, capsys):
    for k, dev_rank in ((4, 90.0), (8, 40.0)):
        write(tmp_path, topk("1_2", k, "_dev"), 0.5, MRm_new=dev_rank)
        write(tmp_path, topk("1_2", k), k / 10)
    assert main([str(tmp_path), "--choose", "mr"]) == 0
    assert cells(capsys.readouterr().out)[2][2] == "0.800"


def test_of_equal_settings_the_first_by_name_is_taken(tmp_path, capsys):
    for k in (8, 4):
        write(tmp_path, topk("1_2", k, "_dev"), 0.5)
        write(tmp_path, topk("1_2", k), k / 10)
    assert main([str(tmp_path)]) == 0
    assert cells(capsys.readouterr().out)[2][2] == "0.400"


def test_the_files_of_continuous_optimisation_are_read_too(tmp_path, capsys):
    model = "cont_n=FB15k-237-model-rank-1000-epoch-100-1602508358"
    for reg, dev in (("0.0", 0.4), ("0.1", 0.6)):
        write(tmp_path, f"{model}_t=2_2_disj_r={reg}_m=valid_lr=0.1_opt=adam_ms=1000", dev)
        write(tmp_path, f"{model}_t=2_2_disj_r={reg}_m=test_lr=0.1_opt=adam_ms=1000", dev / 2)
    write(tmp_path, topk("1_2", 4, "_dev", "NELL"), 0.5)
    write(tmp_path, topk("1_2", 4, graph="NELL"), 0.3)
    assert main([str(tmp_path), "--rank", "1000"]) == 0
    assert cells(capsys.readouterr().out)[2:] == [
        ["cqd_beam", "nell995", "0.300", "–", "–"],
        ["cqd_co", "fb15k-237", "–", "0.300", "–"],
    ]


@pytest.mark.parametrize(
    ("name", "other", "words"),
    [
        (topk("9_9", 4), {}, "'9_9' in the name is unknown"),
        (topk("1_2", 4, graph="WN18"), {}, "'WN18' in the name is unknown"),
        ("topk_t=min_e=1_2", {}, "'d' in the name is unknown or missing"),
        (topk("1_2", 4), {"HITS@3m_new": 27.9}, "HITS@3m_new is 27.9; expected 0 to 1"),
        (topk("1_2", 4), {"MRRm_new": None}, "MRRm_new is None"),
        (topk("1_2", 4), {"MRm_new": 0.5}, "MRm_new is 0.5; expected 1 to inf"),
        (topk("1_2", 4), {}, "no settings have results on both dev and test"),
    ],
)
def test_what_is_no_result_file_is_refused_in_one_line(tmp_path, capsys, name, other, words):
    write(tmp_path, name, 0.3, **other)
    assert main([str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_an_empty_folder_and_a_copy_of_a_file_are_told(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1
    assert "no files topk_*.json" in capsys.readouterr().err
    for folder in ("a", "b"):
        write(tmp_path / folder, topk("1_2", 4), 0.3)
    assert main([str(tmp_path)]) == 1
    assert "remove one" in capsys.readouterr().err
