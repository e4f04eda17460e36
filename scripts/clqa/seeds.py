"""Seeds as a dimension: a model that is evaluated once per seed, and its mean over them."""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from clqa.reports import Row

MEAN = "mean"


def with_means(rows: Iterable[Row], bases: Mapping[str, str]) -> list[Row]:
    """The rows of models under their base names, and after them their means over the seeds.

    A mean has the seed `mean`, the least and the largest value of the seeds as its ends, and their
    standard deviation as its note; it is undefined where one of them is.

    Parameters
    ----------
    bases : dict
        For each model that stands for one seed of another the name of that one.
    """
    named, several = [], {}
    for row in rows:
        named.append(row._replace(model=bases.get(row.model, row.model)))
        if row.model in bases:
            several.setdefault(_subject(named[-1]), []).append(named[-1])
    return named + [_mean_row(own) for own in several.values()]


def shown(rows: Iterable[Row]) -> list[Row]:
    """The rows that tables show: of models with several seeds their means."""
    rows = list(rows)
    averaged = {row.model for row in rows if row.seed == MEAN}
    return [row for row in rows if row.model not in averaged or row.seed == MEAN]


def _subject(row: Row) -> tuple:
    """What a row is about; one without a value may not tell of what, nor over how much."""
    row = row._replace(seed="", value=None, lower=None, upper=None, note="", fingerprint="")
    return row._replace(inference_graph="", n_queries=0, n_answers=0, n_skipped=0)


def _mean_row(own: list[Row]) -> Row:
    values = [row.value for row in own]
    seeds = ", ".join(row.seed for row in own)
    first = own[0]._replace(seed=MEAN)
    if None in values:
        note = next(row.note for row in own if row.value is None)
        return first._replace(value=None, lower=None, upper=None, note=note)
    spread = f", standard deviation {np.std(values, ddof=1):.6g}" if len(values) > 1 else ""
    return first._replace(
        value=math.fsum(values) / len(values),
        lower=min(values),
        upper=max(values),
        note=f"mean over the seeds {seeds}{spread}; ends are the least and the largest",
    )
