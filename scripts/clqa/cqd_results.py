"""Scores that others have published as files: one JSON per run of a method with some settings.

The files are those of CQD (Arakelyan et al., 2021; `results/` of github.com/uclnlp/cqd): flat JSON
with the metrics of one graph, split, shape and choice of settings, which are told by the name. Of
each shape the settings are chosen on the dev split and their result on test is the published one.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from clqa.errors import InputError
from clqa.files import read_json

# How CQD writes the shapes; the published order of columns is that of this table.
SHAPES = {
    "1_1": "1p",
    "1_2": "2p",
    "1_3": "3p",
    "2_2": "2i",
    "2_3": "3i",
    "4_3": "ip",
    "3_3": "pi",
    "2_2_disj": "2u",
    "4_3_disj": "up",
}
METRICS = {
    "MRRm_new": "mrr",
    "MRm_new": "mr",
    "HITS@1m_new": "hits@1",
    "HITS@3m_new": "hits@3",
    "HITS@10m_new": "hits@10",
}
GRAPHS = {"FB15K": "fb15k", "FB15k": "fb15k", "FB237": "fb15k-237", "FB15k-237": "fb15k-237"}
GRAPHS |= {"NELL": "nell995"}
_SPLITS = {"dev": "valid", "valid": "valid", "test": "test"}


class Result(NamedTuple):
    """What one file says.

    Attributes
    ----------
    method : str
        `cqd_beam` or `cqd_co`.
    settings : dict of str
        What else the name tells, such as rank, k and t-norm.
    metrics : dict of float
        Full precision; shares from 0 to 1.
    """

    method: str
    graph: str
    split: str
    shape: str
    settings: dict[str, str]
    metrics: dict[str, float]
    path: Path


class Selected(NamedTuple):
    """The settings that are best on valid, and what they reach there and on test."""

    valid: Result
    test: Result


def read_results(folder: Path) -> list[Result]:
    """All result files in a folder and those beneath it, in the order of their names.

    Raises
    ------
    InputError
        If there are none, or a file has a name or content of another form.
    """
    paths = sorted(folder.rglob("topk_*.json")) + sorted(folder.rglob("cont_*.json"))
    if not paths:
        raise InputError(f"{folder}: no files topk_*.json or cont_*.json; give CQD's results/")
    return [_result(path) for path in paths]


def _result(path: Path) -> Result:
    kind, _, rest = path.stem.partition("_")
    facts = dict(part.partition("=")[::2] for part in re.split(r"_(?=[a-z]+=)", rest))
    try:
        if kind == "topk":
            graph, _, split = facts.pop("d").partition("_")
            about = ("cqd_beam", GRAPHS[graph], _SPLITS[split or "test"], SHAPES[facts.pop("e")])
        else:
            graph, _, model = facts.pop("n").partition("-model-")
            facts["model"] = model
            about = ("cqd_co", GRAPHS[graph], _SPLITS[facts.pop("m")], SHAPES[facts.pop("t")])
    except KeyError as error:
        raise InputError(f"{path}: {error} in the name is unknown or missing") from error
    return Result(*about, facts, _metrics(path), path)


def _metrics(path: Path) -> dict[str, float]:
    content, found = read_json(path), {}
    for key, name in METRICS.items():
        value = content.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        least, most = (1, math.inf) if name == "mr" else (0, 1)
        if not is_number or not least <= value <= most:
            raise InputError(f"{path}: {key} is {value!r:.40}; expected {least} to {most}")
        found[name] = float(value)
    return found


def selected(
    results: Iterable[Result], metric: str = "hits@3", where: Mapping[str, str] | None = None
) -> dict[tuple[str, str, str], Selected]:
    """By method, graph and shape the settings that are best on valid and were run on test.

    Of equal ones the first by name is taken, as by CQD's own scripts.

    Parameters
    ----------
    where : dict, optional
        Settings that are asked for, such as `{"rank": "1000"}`.

    Raises
    ------
    InputError
        If two files tell of the same, or none is left for test.
    """
    sides: dict[str, dict] = {"valid": {}, "test": {}}
    for one in results:
        if any(setting_of(one, key) != value for key, value in (where or {}).items()):
            continue
        key = (one.method, one.graph, one.shape, tuple(sorted(one.settings.items())))
        if sides[one.split].setdefault(key, one) is not one:
            raise InputError(f"{one.path}: the same as {sides[one.split][key].path}; remove one")
    best: dict[tuple, Selected] = {}
    for key, one in sides["valid"].items():
        test, known = sides["test"].get(key), best.get(key[:3])
        if test and (known is None or _is_better(one, known.valid, metric)):
            best[key[:3]] = Selected(one, test)
    if not best:
        asked = "".join(f" with {key}={value}" for key, value in (where or {}).items())
        raise InputError(f"no settings{asked} have results on both dev and test")
    return best


def setting_of(result: Result, key: str) -> str | None:
    """A setting; the rank of a model may stand in the name of the model."""
    if key == "rank" and "model" in result.settings:
        found = re.match(r"rank-([0-9]+)-", result.settings["model"])
        return found[1] if found else None
    return result.settings.get(key)


def _is_better(one: Result, other: Result, metric: str) -> bool:
    values = one.metrics[metric], other.metrics[metric]
    return values[0] < values[1] if metric == "mr" else values[0] > values[1]


COLUMNS = ("method", "graph", "shape", "metric", "value", "valid_value", "chosen_by", "settings")


def score_rows(best: Mapping[tuple, Selected], metric: str) -> list[tuple]:
    """Rows of `COLUMNS`, in published order; `metric` is what settings were chosen by."""
    order = list(SHAPES.values())
    rows = []
    for key in sorted(best, key=lambda key: (key[:2], order.index(key[2]))):
        settings = best[key].test.settings
        told = " ".join(f"{name}={value}" for name, value in sorted(settings.items()))
        for name in METRICS.values():
            values = best[key].test.metrics[name], best[key].valid.metrics[name]
            rows.append((*key, name, *values, metric, told))
    return rows


def published_table(
    best: Mapping[tuple, Selected], metric: str
) -> tuple[tuple[str, ...], list[tuple[str, str, list[float | None]]]]:
    """Shapes, and for each method and graph its values, with the mean over all shapes at the end.

    The mean is None where a shape is missing, or there is but one.
    """
    found = {key[2] for key in best}
    shapes = tuple(shape for shape in SHAPES.values() if shape in found)
    lines = []
    for method, graph in sorted({key[:2] for key in best}):
        values = [_value(best.get((method, graph, shape)), metric) for shape in shapes]
        lines.append((method, graph, [*values, _mean(values)]))
    return shapes, lines


def _value(one: Selected | None, metric: str) -> float | None:
    return None if one is None else one.test.metrics[metric]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if len(known) == len(values) > 1 else None
