"""Lists of the best entities of each query as a file of results, in place of a matrix of scores.

A Parquet table has a row for each query: `query_id`, `entities` (by id), their `scores`, and
`tied_at_cut`, how many entities of the graph score as the last of them; -1 where it is not known.
The sidecar is that of a matrix (`clqa.predictions`).
"""

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from clqa.errors import InputError, damaged
from clqa.files import sha256_of, write_sealed
from clqa.outside_lists import UNKNOWN, Lists, taken_lists
from clqa.predictions import MISSING, Predictions, read_sidecar
from clqa.ragged import Ragged, is_ascending
from clqa.tables import Contents, read_table, write_table

LISTS = Contents(
    rule="import_lists",
    columns={
        "query_id": "text",
        "entities": "lists of whole numbers",
        "scores": "lists of numbers",
        "tied_at_cut": "whole numbers",
    },
    metadata={},
)


def write_lists(
    path: str | os.PathLike, path_to_sidecar: str | os.PathLike, lists: Lists, sidecar: dict
) -> None:
    """Write the lists, and then their sidecar with the digest of the table."""
    offsets = pa.array(lists.listed.offsets)
    table = pa.table(
        {
            "query_id": pa.array(sidecar["query_ids"], pa.string()),
            "entities": pa.LargeListArray.from_arrays(offsets, pa.array(lists.listed.values)),
            "scores": pa.LargeListArray.from_arrays(offsets, pa.array(lists.scores)),
            "tied_at_cut": lists.tied,
        }
    )
    _write(path, path_to_sidecar, table, sidecar)


def join_lists(
    paths: Sequence[str | os.PathLike],
    path: str | os.PathLike,
    path_to_sidecar: str | os.PathLike,
    sidecar: dict,
) -> None:
    """Write the lists of several files, one after another, as one; see `write_lists`."""
    table = pa.concat_tables([read_table(part, LISTS)[0] for part in paths]).combine_chunks()
    _write(path, path_to_sidecar, table, sidecar)


def _write(path, path_to_sidecar, table: pa.Table, sidecar: dict) -> None:
    write_table(path, table, {})
    write_sealed(path_to_sidecar, {**sidecar, "sha256": sha256_of(path)})


def open_lists(
    path: str | os.PathLike, path_to_sidecar: str | os.PathLike, expected, missing: str = MISSING[0]
) -> Predictions:
    """Read lists in the order of the expected queries; see `clqa.predictions.open_predictions`.

    Returns
    -------
    Predictions
        Its `scores` are `Lists` of all expected queries; the list of a missing one is empty.
    """
    sidecar, rows, about = read_sidecar(path_to_sidecar, expected, missing)
    table, _ = read_table(path, LISTS)
    if (
        table["query_id"].to_pylist() != sidecar["query_ids"]
        or sha256_of(path) != sidecar["sha256"]
    ):
        raise damaged(path, f"not of {path_to_sidecar}", LISTS.rule)
    entities, scores = (table[name].combine_chunks() for name in ("entities", "scores"))
    offsets = np.concatenate([[0], np.cumsum(entities.value_lengths())]).astype(np.int64)
    listed = Ragged(offsets, entities.flatten().to_numpy().astype(np.int32))
    lists = Lists(listed, scores.flatten().to_numpy(), table["tied_at_cut"].to_numpy())
    if len(lists.scores) != len(listed.values) or not is_ascending(listed):
        raise damaged(path, "entities and scores do not fit", LISTS.rule)
    return Predictions(_in_order(lists, rows), rows, sidecar, about, np.zeros(1, np.int64))


def _in_order(lists: Lists, rows: np.ndarray) -> Lists:
    """The lists at some places, and empty ones for the place -1."""
    nothing = Ragged(np.zeros(2, np.int64), np.empty(0, np.int32))
    if (rows < 0).any():
        offsets = np.append(lists.listed.offsets, lists.listed.offsets[-1])
        listed = Ragged(offsets, lists.listed.values)
        lists = Lists(listed, lists.scores, np.append(lists.tied, UNKNOWN))
        rows = np.where(rows < 0, len(lists.tied) - 1, rows)
    return taken_lists(lists, rows) if len(rows) else Lists(nothing, lists.scores, lists.tied)


def refuse_tuples(path: str | os.PathLike, n_variables: int) -> None:
    """Raise `InputError` where queries have several free variables."""
    if n_variables > 1:
        raise InputError(
            f"{path}: lists for queries with {n_variables} free variables; give a matrix of scores"
        )
