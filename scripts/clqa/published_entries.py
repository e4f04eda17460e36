"""Published query sets of the catalogue: which files they declare, and where these come from.

Light on purpose: the workflow imports it when it is parsed. The keys are described in
`workflow/schemas/query_sets.schema.yaml`.
"""

import re

from clqa.errors import InputError
from clqa.graph_entries import DICTIONARIES, check_checksums, check_source, files_of

QUERY2BOX_KEYS = ("1c", "2c", "3c", "2i", "3i", "ic", "ci", "2u", "uc")
ROLES = {
    "beta-e": ("queries", "easy", "hard", "tp", "fn", "fp", "answers"),
    "query2box": tuple(key + end for key in QUERY2BOX_KEYS for end in ("", "_hard")),
    "efo-1": ("formulas",),
    "efok-json": ("index",),
    "neutral": ("queries", "answers"),
    "plus-h": ("queries", "easy", "hard", "reductions"),
    "ultra-query": ("queries", "easy", "hard", "answers"),
}
NEEDED = {
    "beta-e": ("queries",),
    "query2box": (),
    "neutral": ("queries",),
    "plus-h": ("queries", "easy", "hard"),
    "ultra-query": ("queries",),
}
# Layouts of a file for each shape, whose roles are free, and where `{shape}` is any shape.
OF_SHAPES = ("efo-1", "efok-json")
SHAPE = "{shape}"
# Keys that only entries of a layout have.
OPTIONS = {"efo-1": ("form",), "neutral": ("fields",)}
# Optional keys on which it depends what is read of the files.
READING = ("filter", "form", "fields")
_ROLE = re.compile(r"[A-Za-z0-9][\w.+-]*")


def check_published(place: str, entry: dict) -> None:
    """Raise `InputError`, which starts with `place`, unless the entry's keys go together."""
    published = entry["published"]
    place = f"{place}.published"
    layout = published["layout"]
    _check_options(place, published)
    if layout in OF_SHAPES:
        published["files"] = _of_each_shape(place, entry)
    files = published["files"]
    for role in files:
        is_free = layout in OF_SHAPES and _ROLE.fullmatch(role)
        if not is_free and role not in (*ROLES[layout], *DICTIONARIES):
            known = ", ".join((*DICTIONARIES, *ROLES[layout]))
            raise InputError(f"{place}.files.{role}: not a role of {layout}; known: {known}")
    for role in NEEDED.get(layout, ()):
        if role not in files:
            raise InputError(f"{place}.files.{role} is missing")
    if len([role for role in DICTIONARIES if role in files]) == 1:
        raise InputError(f"{place}.files: needs both {' and '.join(DICTIONARIES)}, or neither")
    for one, other in (("easy", "tp"), ("hard", "fn")):
        if one in files and other in files:
            raise InputError(f"{place}.files: {one} and {other} are two names of one file")
    if "filter" in published and layout != "plus-h":
        raise InputError(f"{place}.filter: only the layout plus-h has two of them")
    for role, item in files_of(published).items():
        if item.name.endswith("/") != (role == "reductions"):
            raise InputError(f"{place}.files.{role}: a folder, which ends in /, is for reductions")
    check_source(place, published)
    check_checksums(place, published)


def filter_of(published: dict) -> str | None:
    """Which other answers of a selection do not compete; None where there is no selection."""
    return published.get("filter", "corrected") if published["layout"] == "plus-h" else None


def _check_options(place: str, published: dict) -> None:
    for layout, keys in OPTIONS.items():
        for key in keys:
            if key in published and layout != published["layout"]:
                raise InputError(f"{place}.{key}: only the layout {layout} has it; remove it")
    if published.get("fields") == "labels" and {*DICTIONARIES} & {*published["files"]}:
        raise InputError(f"{place}.files: with fields: labels the dictionaries are the graph's")


def _of_each_shape(place: str, entry: dict) -> dict:
    """The files, with one for each shape in place of `{shape}`."""
    files: dict = {}
    for role, file in entry["published"]["files"].items():
        if role != SHAPE:
            files[role] = file
            continue
        if "shapes" not in entry:
            raise InputError(f"{place}.files.{role}: the query set has no list of shapes")
        if not isinstance(file, str) or SHAPE not in file:
            raise InputError(f"{place}.files.{role}: expected a path that holds {SHAPE}")
        files |= {shape: file.replace(SHAPE, shape) for shape in entry["shapes"]}
    return files
