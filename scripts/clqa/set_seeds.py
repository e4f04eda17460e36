"""Answer sets of models that are evaluated once per seed: rows with the means over the seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from clqa.set_intervals import AVERAGES, ENDS
from clqa.set_reports import SetRows

# Columns that say what a row is about, and those that are shares or sizes; counts have no mean.
_ABOUT = ("rule", "truth", "beta", "stratum", "n_queries")


def set_means(found: Iterable[SetRows], bases: Mapping[str, str]) -> list[SetRows]:
    """For each query set and model with several seeds the rows of its means, under its own name.

    The ends of intervals are the least and the largest value of the seeds, and the note has the
    standard deviation of F-beta. What a seed has no number for has no mean.

    Parameters
    ----------
    bases : dict
        For each model that stands for one seed of another the name of that one.
    """
    several: dict[tuple[str, str], list[SetRows]] = {}
    for one in found:
        if one.origin.model in bases:
            key = one.origin.queries, bases[one.origin.model]
            several.setdefault(key, []).append(one)
    return [
        own[0]._replace(
            origin=own[0].origin._replace(model=base),
            sets=[_mean_row(rows) for rows in zip(*(s.sets for s in own), strict=True)],
            bands=[],
        )
        for (_, base), own in several.items()
    ]


def _mean_row(rows: Sequence[dict]) -> dict:
    row = {name: rows[0][name] for name in _ABOUT}
    for name, value in rows[0].items():
        values = [one[name] for one in rows]
        if isinstance(value, float) and None not in values:
            row[name] = value if len({*values}) == 1 else math.fsum(values) / len(values)
    for name in AVERAGES:
        values = [one[name] for one in rows]
        ends = (None, None) if None in values else (min(values), max(values))
        row |= dict(zip((f"{name}_interval_{end}" for end in ENDS), ends, strict=True))
    notes = [one["note"] for one in rows if one["note"]]
    return dict.fromkeys(rows[0]) | row | {"note": "; ".join([_note(rows), *notes[:1]])}


def _note(rows: Sequence[dict]) -> str:
    values = [one["f_beta"] for one in rows if one["f_beta"] is not None]
    note = f"mean over {len(rows)} seeds"
    if len(values) == len(rows) > 1:
        spread = np.std(values, ddof=1)
        note += f", standard deviation of F {spread:.6g}; ends are the least and the largest"
    return note
