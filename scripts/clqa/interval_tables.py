"""Tables of the intervals of averages: one row per stratum, shape or group, and score."""

import os
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from clqa.bootstraps import bootstrap
from clqa.errors import damaged
from clqa.formulas import Formula
from clqa.query_sets import ANSWERS
from clqa.shape_groups import members_of_groups
from clqa.tables import Contents, read_table

INTERVALS = Contents(
    rule="estimate_intervals",
    columns={
        **dict.fromkeys(("stratum", "shape", "group", "score"), "text"),
        **dict.fromkeys(("lower", "upper"), "numbers"),
    },
    metadata={**ANSWERS.metadata, "model": dict, "scores": str, "draws": int, "level": float},
)
# A stratum, a shape or none, a group or none, and a score.
Key = tuple[str, str, str, str]


def score_intervals(
    scores: pa.Table, shapes: Mapping[str, Formula], stream: tuple, draws: int, level: float
) -> pa.Table:
    """Bootstrap intervals of all averages of a table of scores.

    Parameters
    ----------
    scores : pa.Table
        As `score_answers` writes it.
    stream : tuple
        Names the random numbers; with one stream all models draw the same queries.

    Returns
    -------
    pa.Table
        Without the averages of fewer than two queries, or of a group that lacks a shape.
    """
    columns = [name for name in scores.column_names if name.endswith("]")]
    strata = scores["stratum"].to_numpy(zero_copy_only=False)
    names = scores["shape"].to_numpy(zero_copy_only=False)
    matrix = np.column_stack(
        [np.empty((len(scores), 0)), *(scores[c].to_numpy(zero_copy_only=False) for c in columns)]
    )
    found: dict[str, list] = {name: [] for name in INTERVALS.columns}
    for stratum in dict.fromkeys(strata):
        inside = strata == stratum
        parts = {shape: matrix[inside & (names == shape)] for shape in shapes}
        for chosen, values in _alike(parts):
            groups = members_of_groups(dict(shapes), columns[chosen[0]].partition("[")[0])
            intervals = bootstrap(values, groups, (*stream, stratum), draws, level)
            for subject, interval in intervals.items():
                is_group = subject in groups
                for place, column in enumerate(chosen):
                    row = (stratum, "" if is_group else subject, subject if is_group else "")
                    ends = float(interval.lower[place]), float(interval.upper[place])
                    for name, value in zip(found, (*row, columns[column], *ends), strict=True):
                        found[name].append(value)
    texts, numbers = ("stratum", "shape", "group", "score"), ("lower", "upper")
    schema = pa.schema([(n, pa.string()) for n in texts] + [(n, pa.float64()) for n in numbers])
    return pa.table(found, schema)


def _alike(parts: Mapping[str, np.ndarray]):
    """Columns that have values in the same rows, and per shape these rows of them."""
    n_columns = next(iter(parts.values())).shape[1] if parts else 0
    kinds: dict[tuple, list[int]] = {}
    known = {shape: np.isfinite(values) for shape, values in parts.items()}
    for column in range(n_columns):
        kind = tuple(rows[:, column].tobytes() for rows in known.values())
        kinds.setdefault(kind, []).append(column)
    for chosen in kinds.values():
        kept = {
            shape: values[known[shape][:, chosen[0]]][:, chosen] for shape, values in parts.items()
        }
        yield chosen, {shape: values for shape, values in kept.items() if len(values) > 1}


def read_intervals(path: str | os.PathLike, scores: str) -> dict[Key, tuple[float, float]]:
    """The ends of each interval, by stratum, shape, group and score.

    Parameters
    ----------
    scores : str
        The content hash of the scores that they must have been estimated from.

    Raises
    ------
    InputError
        If the file is damaged, or of other scores.
    """
    table, metadata = read_table(path, INTERVALS)
    if metadata["scores"] != scores:
        raise damaged(path, "not estimated from these scores", INTERVALS.rule)
    texts = (table[name].to_pylist() for name in ("stratum", "shape", "group", "score"))
    ends = zip(table["lower"].to_pylist(), table["upper"].to_pylist(), strict=True)
    return dict(zip(zip(*texts, strict=True), ends, strict=True))
