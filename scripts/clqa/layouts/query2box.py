"""Queries and answers as the Query2Box release has them: a pickle of all answers for each shape.

Files are given by the roles `<key>` (all answers on the full graph) and `<key>_hard`, with the keys
1c, 2c, 3c, 2i, 3i, ic, ci, 2u and uc. All answers of a shape may be lacking.
"""

from collections.abc import Mapping
from pathlib import Path

from clqa.canonical_forms import canonical
from clqa.errors import InputError, abridged
from clqa.formulas import Formula
from clqa.layouts.beta_e import answers_of
from clqa.pickles import read_pickle
from clqa.published_sets import Release, Source, batch
from clqa.release_ids import ReleaseIds
from clqa.structures import QUERY2BOX, Malformed, groundings, structure_formula

SETS = {"_hard": "hard", "": "full"}


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
) -> Release:
    """The shapes that are asked for; a shape without any file is refused."""
    keys = {canonical(structure_formula(common))[0]: key for key, (_, common) in QUERY2BOX.items()}
    release = Release({}, {})
    for shape, formula in formulas.items():
        try:
            key = keys.get(canonical(formula)[0])
            if key is None:
                raise InputError(f"{shape}: the Query2Box layout has no such shape")
            source = _source(key, files, names, shape)
            release.shapes[shape] = batch(shape, source, formula, ids)
        except InputError as error:
            release.refused[shape] = str(error)
    return release


def _source(key: str, files, names, shape: str) -> Source:
    structure, common = QUERY2BOX[key]
    ends = [end for end in SETS if key + end in files]
    if not ends:
        raise InputError(f"{shape}: the release has no file for {key}")
    tables = {end: read_pickle(files[key + end], names[key + end]) for end in ends}
    for end, content in tables.items():
        if not isinstance(content, dict):
            found = type(content).__name__
            raise InputError(f"{names[key + end]}, {shape}: expected a dict, found a {found}")
    queries = list(tables[ends[0]])
    found = groundings(queries, structure)
    if isinstance(found, Malformed):
        file = names[key + ends[0]]
        raise InputError(f"{file}, {shape}, query {abridged(found.query)}: {found.reason}")
    sets = {
        SETS[end]: (answers_of(queries, table, names[key + end], shape), names[key + end])
        for end, table in tables.items()
    }
    return Source(queries, *found, structure_formula(common), sets, names[key + ends[0]])
