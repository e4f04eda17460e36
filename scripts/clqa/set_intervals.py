"""Bootstrap intervals of the averages over answer sets.

Queries are drawn anew within each shape, and all numbers of a draw are of the same queries: F-beta
is the mean over them, precision and recall are those of all their pairs together. A shape with a
single query, which tells nothing of the spread, is drawn together with the next smaller ones
(collapsed strata, as surveys have them).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clqa.bootstraps import drawn_means, percentile_interval
from clqa.set_metrics import Counts
from clqa.strata import Stratum

AVERAGES = ("f_beta", "precision", "recall")
ENDS = ("lower", "upper")
COLUMNS = tuple(f"{name}_interval_{end}" for name in AVERAGES for end in ENDS)


class Drawing(NamedTuple):
    """How queries are drawn: from which stream, how often, and what share an interval holds."""

    stream: tuple
    draws: int
    level: float


def set_intervals(
    sets: Sequence[tuple[Counts, np.ndarray]],
    shapes: np.ndarray,
    strata: Sequence[Stratum],
    drawing: Drawing,
) -> list[Mapping[str, dict[str, float]]]:
    """The columns `COLUMNS` by stratum, for each kind of answer sets.

    Parameters
    ----------
    sets : sequence of (counts, F-beta of each query)
    shapes : (n_queries,) str
    strata : sequence of Stratum
        `chosen` has a place for each query. A single query has no interval.
    """
    found: list[dict[str, dict[str, float]]] = [{} for _ in sets]
    if not sets or not drawing.draws:
        return found
    matrix = np.column_stack([part for counts, values in sets for part in (values, *counts)])
    for one in strata:
        totals = _drawn_totals(matrix, shapes, one, drawing)
        for place in range(len(sets) if totals is not None else 0):
            own = totals[:, 4 * place : 4 * place + 4]
            found[place][one.name] = _columns(own, int(one.chosen.sum()), drawing.level)
    return found


def _drawn_totals(
    matrix: np.ndarray, shapes: np.ndarray, stratum: Stratum, drawing: Drawing
) -> np.ndarray | None:
    """Sums of the columns over the queries of each draw."""
    places = np.flatnonzero(stratum.chosen)
    if len(places) < 2:
        return None
    totals = np.zeros((drawing.draws, matrix.shape[1]))
    for name, rows in _drawn_together(shapes[places].astype(str)):
        stream = (*drawing.stream, stratum.name, name)
        totals += len(rows) * drawn_means(matrix[places[rows]], stream, drawing.draws)
    return totals


def _drawn_together(shapes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Rows of each shape; those of shapes with a single one together, two shapes at least."""
    names, owner, lengths = np.unique(shapes, return_inverse=True, return_counts=True)
    smallest = np.argsort(lengths, kind="stable")
    n_lone = np.count_nonzero(lengths == 1)
    merged = np.sort(smallest[: max(2, n_lone) if n_lone else 0])
    if len(merged):
        yield "+".join(names[merged]), np.flatnonzero(np.isin(owner, merged))
    for place in np.setdiff1d(smallest, merged):
        yield str(names[place]), np.flatnonzero(owner == place)


def _columns(totals: np.ndarray, n_queries: int, level: float) -> dict[str, float]:
    f_beta, right, predicted, true = totals.T
    averages = (
        f_beta / n_queries,
        *(right / np.where(whole > 0, whole, 1) for whole in (predicted, true)),
    )
    ends = percentile_interval(np.column_stack(averages), level)
    values = (float(end) for pair in zip(*ends, strict=True) for end in pair)
    return dict(zip(COLUMNS, values, strict=True))
