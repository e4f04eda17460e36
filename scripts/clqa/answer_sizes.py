"""How many easy, hard and retracted answers the queries of each shape have."""

import os
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow.compute as pc

from clqa.query_sets import ANSWERS, set_hash
from clqa.tables import read_table

SETS = ("easy", "hard", "retracted")
COLUMNS = (
    "queries",
    "shape",
    "set",
    "n_queries",
    "total",
    "mean",
    "min",
    "p10",
    "median",
    "p90",
    "max",
)
QUANTILES = (0, 0.1, 0.5, 0.9, 1)
# A bound is told by sizes that are common right up to the largest: at least half of the numbers in
# the last tenth occur, of which there must be this many. A tail that ends by itself is sparse.
_FEWEST_SIZES = 6


def answer_sizes(
    paths: Iterable[str | os.PathLike], shapes: Iterable[str]
) -> dict[str, dict[str, np.ndarray]]:
    """Sizes of the answer sets of a query set.

    Parameters
    ----------
    paths : paths to the answers of all its shards, in any order
    shapes : names, in the order wanted

    Returns
    -------
    dict of shape to dict of set (easy, hard, retracted) to (n_queries,) int64, ascending
    """
    parts: dict[str, dict[str, list]] = {shape: {name: [] for name in SETS} for shape in shapes}
    for path in paths:
        table, _ = read_table(path, ANSWERS, columns=["shape", *SETS])
        names = np.asarray(table["shape"].to_pylist(), dtype=object)
        for shape in sorted(set(names) & parts.keys()):
            for name in SETS:
                lengths = pc.list_value_length(table[name]).to_numpy()
                parts[shape][name].append(lengths[names == shape].astype(np.int64))
    return {
        shape: {
            name: np.sort(np.concatenate([np.empty(0, np.int64), *sets[name]])) for name in SETS
        }
        for shape, sets in parts.items()
    }


def answers_hash(paths: Iterable[str | os.PathLike]) -> str:
    """Hash of the query set whose answers lie in these shards."""
    tables = (read_table(path, ANSWERS, columns=["query_id"])[0] for path in paths)
    return set_hash(name for table in tables for name in table["query_id"].to_pylist())


def shape_hashes(path: str | os.PathLike) -> dict[str, str]:
    """Hash of the queries of each shape whose answers a shard has."""
    table, metadata = read_table(path, ANSWERS, columns=["query_id", "shape"])
    names: dict[str, list[str]] = {shape: [] for shape in metadata["formulas"]}
    for name, shape in zip(*(table[key].to_pylist() for key in table.column_names), strict=True):
        names.setdefault(shape, []).append(name)
    return {shape: set_hash(ids) for shape, ids in names.items()}


def size_summary(lengths: np.ndarray) -> dict:
    """The largest set, how many queries have one as large, and the mean; None of no queries."""
    if not len(lengths):
        return {"largest": None, "as_large": 0, "mean": None}
    largest = int(lengths.max())
    return {
        "largest": largest,
        "as_large": int((lengths == largest).sum()),
        "mean": float(lengths.mean()),
    }


def implied_cap(lengths: np.ndarray, n_entities: int) -> int | None:
    """The bound on the size of a set that queries seem to have been chosen by, if any.

    Where the largest set has more than half of the entities, the graph itself is the bound.
    """
    largest = int(lengths.max(initial=0))
    if largest > n_entities / 2:
        return None
    sizes = np.arange(largest - largest // 10, largest + 1)
    if len(sizes) < _FEWEST_SIZES or np.isin(sizes, lengths).mean() < 0.5:
        return None
    return largest


def size_rows(queries: str, sizes: dict[str, dict[str, np.ndarray]]) -> Iterator[tuple]:
    """Rows of `COLUMNS`; the statistics of no queries are None.

    A quantile is an observed size, the lower one where it falls between two.
    """
    for shape, sets in sizes.items():
        for name, values in sets.items():
            if not len(values):
                yield (queries, shape, name, 0, 0, *[None] * (1 + len(QUANTILES)))
                continue
            quantiles = np.quantile(values, QUANTILES, method="lower").tolist()
            total = int(values.sum())
            low, *middle, high = quantiles
            yield (
                queries,
                shape,
                name,
                len(values),
                total,
                total / len(values),
                low,
                *middle,
                high,
            )
