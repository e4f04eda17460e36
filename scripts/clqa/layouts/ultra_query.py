"""Queries and answers of the inductive sets of UltraQuery: BetaE's tuples, answers by structure.

The roles are those of `beta-e`; a file of answers is a dict by structure of dicts by query.
"""

from collections.abc import Mapping
from pathlib import Path

from clqa.formulas import Formula
from clqa.layouts import beta_e
from clqa.published_sets import Release
from clqa.release_ids import ReleaseIds


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
) -> Release:
    """The shapes that are asked for; what is wrong with one only is told in `refused`."""
    return beta_e.read(files, names, formulas, ids, nested=True)
