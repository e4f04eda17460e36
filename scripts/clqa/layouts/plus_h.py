"""Queries and answers of the +H benchmarks: the files of BetaE, and classes of the hard answers.

The hard answers are a selection. The role `reductions` is a folder with
`<shape>/<class>/test-{easy,hard}-answers.pkl` for every class of a shape, and for `all`, whose easy
and hard answers are together all answers on the full graph (Gregucci et al., 2025).
"""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clqa.answer_lists import answer_rows
from clqa.canonical_forms import canonical
from clqa.errors import InputError, abridged
from clqa.formulas import Formula, parse
from clqa.layouts import beta_e
from clqa.published_sets import Batch, Classes, Release, Source, batch, release_of
from clqa.ragged import Ragged
from clqa.ragged_sets import is_shared
from clqa.release_ids import ReleaseIds

log = logging.getLogger(__name__)

ALL = "all"
KINDS = {"test-easy-answers": "easy", "test-hard-answers": "hard"}
# The shapes by the names of their folders; where the paper writes another name, by that one, too.
FOLDERS = {
    "1p": "r1(s1,f)",
    "2p": "r1(s1,e1)&r2(e1,f)",
    "3p": "r1(s1,e1)&r2(e1,e2)&r3(e2,f)",
    "4p": "r1(s1,e1)&r2(e1,e2)&r3(e2,e3)&r4(e3,f)",
    "2i": "r1(s1,f)&r2(s2,f)",
    "3i": "r1(s1,f)&r2(s2,f)&r3(s3,f)",
    "4i": "r1(s1,f)&r2(s2,f)&r3(s3,f)&r4(s4,f)",
    "ip": "r1(s1,e1)&r2(s2,e1)&r3(e1,f)",
    "2i1p": "r1(s1,e1)&r2(s2,e1)&r3(e1,f)",
    "pi": "r1(s1,e1)&r2(e1,f)&r3(s2,f)",
    "1p2i": "r1(s1,e1)&r2(e1,f)&r3(s2,f)",
    "2u": "r1(s1,f)|r2(s2,f)",
    "up": "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
    "2u1p": "(r1(s1,e1)|r2(s2,e1))&r3(e1,f)",
    "2in": "r1(s1,f)&!r2(s2,f)",
    "3in": "r1(s1,f)&r2(s2,f)&!r3(s3,f)",
    "inp": "r1(s1,e1)&!r2(s2,e1)&r3(e1,f)",
    "pin": "r1(s1,e1)&r2(e1,f)&!r3(s2,f)",
    "pni": "!(r1(s1,e1)&r2(e1,f))&r3(s2,f)",
}


def read(
    files: Mapping[str, Path],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    ids: ReleaseIds,
    filter_: str,
) -> Release:
    """The shapes that are asked for, each with the classes of its hard answers.

    The sets are `easy` and `hard` as released, and `full` where there is a folder `all`.

    Parameters
    ----------
    filter_ : {"corrected", "released"}
        Whose answers beside the selection are easy: those of the graph, or those of the release.
    """
    core = {role: path for role, path in files.items() if not role.startswith("reductions.")}
    source = beta_e.opened(core, names)
    folders = _folders(files)
    selection = {"selected": "hard"} | ({"filtered": "easy"} if filter_ == "released" else {})

    def shape_of(shape: str, formula: Formula) -> Batch:
        of_shape = folders.get(canonical(formula)[0], {})
        found = source(shape, formula)
        made = batch(shape, found, formula, ids)
        made = made._replace(sets=made.sets | {k: made.sets[v] for k, v in selection.items()})
        full = _full(found, of_shape.get(ALL, {}), shape, ids, made.sets["hard"])
        if full is not None:
            made = made._replace(sets={**made.sets, "full": full})
        classes = {name: one["hard"] for name, one in of_shape.items() if name != ALL}
        if not classes:
            return made
        return made._replace(classes=_classes(found, classes, shape, ids, made.sets["hard"]))

    release = release_of(formulas, shape_of)
    return release._replace(selection=tuple(selection), easy=f"plus-h-{filter_}")


def _folders(files: Mapping[str, Path]) -> dict[str, dict[str, dict[str, tuple[Path, str]]]]:
    """By canonical formula and class: the files of easy and hard answers, each with its name."""
    found: dict = {}
    for role, path in files.items():
        parts = role.split(".")
        if parts[0] != "reductions" or len(parts) != 4 or parts[3] not in KINDS:
            continue
        _, shape, name, kind = parts
        if shape not in FOLDERS:
            log.warning("reductions: the folder %s is no shape of the +H benchmarks", shape)
            continue
        key = canonical(parse(FOLDERS[shape]))[0]
        one = found.setdefault(key, {}).setdefault(name, {})
        one[KINDS[kind]] = (path, f"{shape}/{name}/{kind}.pkl")
    return {
        key: {name: one for name, one in classes.items() if "hard" in one}
        for key, classes in found.items()
    }


def _table(file: tuple[Path, str]) -> dict:
    return beta_e.table({"": file[0]}, {"": file[1]}, "")


def _full(source: Source, files: dict, shape: str, ids: ReleaseIds, hard: Ragged) -> Ragged | None:
    """All answers of each query; None unless the release has them for every hard answer."""
    if not {"easy", "hard"} <= files.keys():
        return None
    rows = [
        _rows(source.queries, _table(files[kind]), files[kind][1], shape)
        for kind in ("easy", "hard")
    ]
    both = [[*one, *other] for one, other in zip(*rows, strict=True)]
    full = answer_rows(both, files["hard"][1], shape, source.queries, ids)
    lacking = int((~is_shared(hard, full)).sum())
    if lacking:
        log.warning(
            "%s, %s: lacks %d of the hard answers; all answers are not compared",
            *(files["hard"][1], shape, lacking),
        )
        return None
    return full


def _rows(queries: list, known: dict, file: str, shape: str) -> list:
    """The answers of each query, none where the file does not have the query."""
    present = {query: known[query] for query in queries if query in known}
    beta_e.answers_of(list(present), present, file, shape)
    return [present.get(query, ()) for query in queries]


def _classes(source: Source, files: dict, shape: str, ids: ReleaseIds, hard: Ragged) -> Classes:
    codes = np.full(len(hard.values), -1, np.int8)
    for code, file in enumerate(files.values()):
        rows = _rows(source.queries, _table(file), file[1], shape)
        own = answer_rows(rows, file[1], shape, source.queries, ids)
        shared = is_shared(hard, own)
        twice = np.flatnonzero(shared & (codes >= 0))
        if len(twice):
            query = source.queries[np.searchsorted(hard.offsets, twice[0], side="right") - 1]
            other = list(files)[codes[twice[0]]]
            raise InputError(
                f"{file[1]}, {shape}, query {abridged(query)}: "
                f"an answer is in the class {other}, too"
            )
        codes[shared] = code
    return Classes(tuple(files), codes)
