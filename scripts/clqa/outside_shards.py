"""What is asked of scores from elsewhere for a shard, and what their files of queries say."""

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from clqa.errors import InputError
from clqa.outside_queries import (
    Key,
    Numbering,
    check_origin,
    matched_rows,
    read_numbering,
    read_rows,
    refuse_missing,
    refuse_strangers,
)
from clqa.predictions import MISSING
from clqa.query_sets import QueryTable, read_queries
from clqa.tuples import common_variables
from clqa.vocabularies import graph_labels

Read = TypeVar("Read")
# What a file of queries may say of each list; only the last of it does not follow from the list.
COUNTS = ("k", "cut_score", "n_above", "n_tied_at_cut")


class Shard(NamedTuple):
    """Queries that need scores, and the rows that there are.

    Attributes
    ----------
    asked : QueryTable
    labels : array
        Of the entities of the graph.
    numbering : Numbering
        Ids of the graph as those of the files.
    rows : list of list of str or tuple, or None
        The queries of the rows of each file of scores, where files of queries tell them.
    variables : tuple of str
        The free variables in the order of the files' rows of each query.
    counts : dict
        For each row what is said of its list.
    """

    asked: QueryTable
    labels: pa.Array
    numbering: Numbering
    rows: list[list[Key]] | None
    variables: tuple[str, ...]
    counts: dict[str, list]


def refuse_absent(paths: Sequence[str | os.PathLike]) -> None:
    """Raise `InputError` if there are any files that a model's scores should be in and are not."""
    if paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise InputError(f"{paths[0]}{more}: no such file; put it there, or leave the model out")


class Files(NamedTuple):
    """The files that scores for a shard come in.

    Attributes
    ----------
    scores, rows : list of paths
        Those of `rows` name the queries of the rows.
    is_each : bool
        Whether there is one for each shape of the shard, in their order.
    absent : list of paths
        Those of all these, or others that are needed, that are not there.
    """

    scores: Sequence[str | os.PathLike]
    rows: Sequence[str | os.PathLike]
    is_each: bool = False
    absent: Sequence[str | os.PathLike] = ()


def reader(
    read: Callable[[Sequence, Sequence], Read], files: Files, shapes: Iterable[str]
) -> Callable[[QueryTable], Read]:
    """A function that gives what is read for some of the shapes of a shard.

    Files that are of all shapes are read once and at once, others when they are asked for.

    Raises
    ------
    InputError
        If files are absent; the function does so for those that are of a shape.
    """
    if not files.is_each:
        refuse_absent(files.absent)
        whole = read(files.scores, files.rows)
        return lambda asked: whole
    own = {*files.scores, *files.rows}
    refuse_absent([path for path in files.absent if path not in own])

    def of_shapes(asked: QueryTable) -> Read:
        chosen = [shape in asked.shapes for shape in shapes]
        paths = [
            [*itertools.compress(one, chosen)] if len(one) == len(chosen) else one
            for one in (files.scores, files.rows)
        ]
        refuse_absent([path for one in paths for path in one if path in files.absent])
        return read(*paths)

    return of_shapes


def open_shard(
    path_to_queries: str | os.PathLike,
    paths_to_graph_labels: tuple[str | os.PathLike, str | os.PathLike],
    paths_to_own_labels: tuple[str | os.PathLike | None, str | os.PathLike | None],
) -> Shard:
    """Read all files but those of scores and of the queries of their rows.

    Raises
    ------
    InputError
        If one of them is not readable, or was made for another graph.
    """
    asked = read_queries(path_to_queries)
    labels = graph_labels(*paths_to_graph_labels, asked.metadata["vocabulary"])
    numbering = Numbering(*map(read_numbering, paths_to_own_labels, labels))
    variables = common_variables(asked.metadata["formulas"])
    return Shard(asked, labels[0], numbering, None, variables, {})


def with_rows(shard: Shard, paths_to_rows: Sequence[str | os.PathLike]) -> Shard:
    """The shard with what files of queries say of the rows.

    Raises
    ------
    InputError
        If one of them is not readable, or was made for another graph.
    """
    rows, abouts, variables = [], [], shard.variables
    for path in paths_to_rows:
        found, about = read_rows(path)
        check_origin(path, about, shard.asked.metadata)
        if len(variables) > 1:
            given = _variables(path, about.get("variables"), variables)
            if abouts and given != variables:
                raise InputError(
                    f"{path}: variables {', '.join(given)}; {paths_to_rows[0]} has"
                    f" {', '.join(variables)}: give all files of a shard one order"
                )
            variables = given
        rows.append(found)
        abouts.append(about)
    counts = {
        name: [value for about in abouts for value in _listed(about, name)]
        for name in COUNTS
        if any(name in about for about in abouts)
    }
    return shard._replace(rows=rows or None, variables=variables, counts=counts)


def _listed(about: dict, name: str) -> list:
    return about[name] if isinstance(about.get(name), list) else [about.get(name)]


def _variables(path, given: object, expected: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(given, list) or sorted(map(str, given)) != sorted(expected):
        raise InputError(
            f"{path}: variables {given}; expected {', '.join(expected)}, in the order of the rows"
            " of each query"
        )
    return tuple(given)


def matched(
    shard: Shard,
    asked: QueryTable,
    rows: Sequence[Key],
    missing: str,
    path: str | os.PathLike,
) -> tuple[list[str], np.ndarray]:
    """Ids of those of the queries `asked` that there are scores of, and the rows of these.

    Raises
    ------
    InputError
        If one is missing, unless `missing` (`clqa.predictions.MISSING`) allows for it, or if all of
        the shard are.
    """
    found = matched_rows(rows, asked, shard.numbering, path)
    names = [str(name) for part in asked.shapes.values() for name in part.query_ids]
    if max(found, default=0) < 0:
        refuse_strangers(shard.asked, matched_rows(rows, shard.asked, shard.numbering, path), path)
    if missing == MISSING[0]:
        refuse_missing(asked, found, path)
    kept = [name for name, place in zip(names, found.tolist(), strict=True) if place >= 0]
    return kept, found[found >= 0]


def sidecar_of(shard: Shard, query_ids: list[str], model: str, entry: dict) -> dict:
    """The sidecar of the dump that is made of them."""
    several = {"variables": list(shard.variables)} if len(shard.variables) > 1 else {}
    about = {key: shard.asked.metadata[key] for key in ("graph", "vocabulary", "queries")}
    return {
        **about,
        "query_ids": query_ids,
        "n_entities": len(shard.labels),
        "model": model,
        "method": entry["method"],
        "settings": entry["settings"],
        "inference_graph": entry["imported"]["inference_graph"],
        **several,
    }
