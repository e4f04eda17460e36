"""How ranks are spread: the share of hard answers up to each rank, averaged as Hits@k is."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.competitions import competitions
from clqa.errors import damaged, placed
from clqa.failed_shapes import refuse_failed
from clqa.formulas import parse
from clqa.metrics import metric
from clqa.query_sets import ANSWERS
from clqa.roundings import points
from clqa.shape_groups import HEADLINE, arity, members_of_groups
from clqa.tables import Contents, read_table

# A curve has its points at these ranks, as far as there are candidates.
_STEPS = range(1, 10)
RANKS = Contents(
    rule="rank_answers",
    columns={
        **dict.fromkeys(("query_id", "shape", "filter"), "text"),
        **dict.fromkeys(("variable", "answer", "greater", "tied"), "whole numbers"),
    },
    metadata={**ANSWERS.metadata, "model": dict},
    may_be_null=("variable",),
)


class Ranked(NamedTuple):
    """Counts under one competition of the hard answers of some queries, as `rank_answers` has them.

    Attributes
    ----------
    table : pa.Table
        Columns of `RANKS` but the filter; of queries that a dump lacks and that are skipped, none.
    formulas : dict
        Of the shapes, as text.
    """

    table: pa.Table
    formulas: dict[str, str]


def read_primary(path: str | os.PathLike, run: Mapping, model: str, queries: str) -> Ranked:
    """The counts of a shard under the filter and the candidates that a run shows first.

    Parameters
    ----------
    model : name of the model whose ranks they must be
    queries : hash of the queries whose ranks they must be

    Raises
    ------
    InputError
        If the file is no such table, or that of something else, or lacks shapes.
    """
    table, metadata = read_table(path, RANKS, columns=[*RANKS.columns])
    if (metadata["queries"], metadata["model"].get("model")) != (queries, model):
        raise damaged(path, f"not the ranks of {model} on the queries at hand", RANKS.rule)
    with placed(path):
        refuse_failed(model, metadata.get("failed", {}))
    rule = competitions(run["filters"][:1], run["candidates"][:1])[0]
    table = table.filter(pc.equal(table["filter"].cast(pa.string()), rule)).drop(["filter"])
    if metadata.get("missing") == "skip":
        lacking = pa.array(metadata.get("lacking", ()), pa.string())
        known = pc.is_in(table["query_id"].cast(pa.string()), value_set=lacking)
        table = table.filter(pc.invert(known))
    return Ranked(table, metadata["formulas"])


def curve_ranks(most: int) -> list[int]:
    """The ranks at which a curve is known: 1 to 10, 20, 30, ... up to the most."""
    ranks, scale = [], 1
    while scale <= most:
        ranks += [step * scale for step in _STEPS if step * scale <= most]
        scale *= 10
    return ranks


def shape_curves(ranked: Ranked, ranks: Sequence[int], ties: str) -> dict[str, np.ndarray]:
    """Mean over queries of the share of their hard answers up to each rank, by shape.

    Shapes with several free variables have none, nor those without a hard answer.
    """
    shapes, queries = (_numbered(ranked.table[name]) for name in ("shape", "query_id"))
    greater, tied = (ranked.table[name].to_numpy().astype(np.int64) for name in ("greater", "tied"))
    order = np.argsort(shapes.indices.to_numpy(), kind="stable")
    ends = np.cumsum(np.bincount(shapes.indices.to_numpy(), minlength=len(shapes.dictionary)))
    found = {}
    for shape, rows in zip(shapes.dictionary.to_pylist(), np.split(order, ends)[:-1], strict=True):
        if arity(parse(ranked.formulas[shape])) == 1:
            codes = np.unique(queries.indices.to_numpy()[rows], return_inverse=True)[1]
            weights = (1 / np.bincount(codes))[codes] / (codes.max() + 1)
            hits = (
                metric(f"hits@{rank}").values(greater[rows], tied[rows], ties) for rank in ranks
            )
            found[shape] = np.array([float(weights @ values) for values in hits])
    return found


def _numbered(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column of words as numbers of those that occur."""
    return column.cast(pa.string()).combine_chunks().dictionary_encode()


def curves(
    scope_shapes: Mapping, models: Mapping[str, Mapping[str, np.ndarray]], bases: Mapping[str, str]
) -> dict:
    """Curves of groups and shapes, in points, with one decimal.

    Parameters
    ----------
    scope_shapes : dict of formulas, in the order wanted
    models : curves by shape of each model
    bases : for each model that stands for one seed of another the name of that one; the curve of
        a model is the mean over its seeds

    Returns
    -------
    dict
        `subjects`, and for each of them in `shares` the curve of each of `models`, or None.
    """
    members = {
        group: names
        for group, names in members_of_groups(dict(scope_shapes), "hits@1").items()
        if group in HEADLINE
    }
    seeds: dict[str, list[Mapping]] = {}
    for model, found in models.items():
        seeds.setdefault(bases.get(model, model), []).append(found)
    single = [name for names in members.values() for name in names]
    subjects = members | {shape: (shape,) for shape in single}
    shares = [
        [_mean([one.get(shape) for one in own for shape in names]) for own in seeds.values()]
        for names in subjects.values()
    ]
    return {"subjects": list(subjects), "models": list(seeds), "shares": shares}


def _mean(found: Iterable[np.ndarray | None]) -> list[float] | None:
    found = list(found)
    if any(one is None for one in found):
        return None
    return [float(points(value)) for value in np.mean(found, axis=0)]
