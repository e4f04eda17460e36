"""Models of the catalogue whose scores come from files: what their entries say.

Light on purpose: the workflow imports it when it is parsed. The keys are described in
`workflow/schemas/models.schema.yaml`.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from clqa.configs import Catalogue
from clqa.errors import InputError
from clqa.tensor_files import SUFFIXES

# What such a model has in place of the name of an answering method.
IMPORTED = "imported"
TABLES = (".parquet", ".tsv")
MATRICES = (".npy", ".npz", ".safetensors", *SUFFIXES)
# What the entities are assumed to score that a list does not have: a model for each.
BOUNDS = ("best", "worst")
_PLACES = ("{queries}", "{shape}")


def check_outside(entry: dict) -> None:
    """Refuse an entry whose keys do not go together.

    Raises
    ------
    InputError
        Starts with the key at fault.
    """
    if ("method" in entry) == (IMPORTED in entry):
        raise InputError(f"expected one of the keys method and {IMPORTED}")
    if IMPORTED not in entry:
        return
    own = entry[IMPORTED]
    if "seeds" in entry:
        raise InputError("seeds: not for scores from files; give each seed a model of its own")
    suffix = Path(own["scores"]).suffix
    if suffix not in (*TABLES, *MATRICES):
        known = ", ".join((*MATRICES, *TABLES))
        raise InputError(f"{IMPORTED}.scores: '{own['scores']}' ends in none of {known}")
    if suffix in TABLES and "unlisted" not in own:
        raise InputError(f"{IMPORTED}.unlisted is missing: what entities score that are not listed")
    if suffix not in (*TABLES, ".npz") and "unlisted" in own:
        raise InputError(f"{IMPORTED}.unlisted: only of lists; a matrix has every entity")
    for key in ("scores", "queries"):
        for place in re.findall(r"\{.*?\}", own.get(key, "")):
            if place not in _PLACES:
                raise InputError(
                    f"{IMPORTED}.{key}: {place} is not filled in; known are {', '.join(_PLACES)}"
                )
    if "queries" in own and _PLACES[1] in own["scores"] and _PLACES[1] not in own["queries"]:
        raise InputError(f"{IMPORTED}.queries: expected {_PLACES[1]}, as scores has it")


def are_bounded(entry: dict) -> bool:
    """Whether the lists of a model are cut, so that it stands for two."""
    return entry.get(IMPORTED, {}).get("unlisted") == "bounds"


def expand_bounds(models: Catalogue, names: Sequence[str]) -> list[str]:
    """Add the models of the bounds of cut lists; the names with these in place of their own."""
    for name, entry in list(models.entries.items()):
        for bound in BOUNDS if are_bounded(entry) else ():
            own = f"{name}.{bound}"
            if own in models.entries:
                raise InputError(f"{models.place(own)}: the name of a bound of {name}; rename it")
            models.entries[own] = entry | {"lists": name, "bound": bound}
            models.folders[own] = models.folders[name]
    expanded = []
    for name in names:
        is_bounded = are_bounded(models.entries[name])
        expanded += [f"{name}.{bound}" for bound in BOUNDS] if is_bounded else [name]
    return expanded


def outside_files(
    entry: dict, folder: str, queries: str, shapes: Sequence[str]
) -> dict[str, list[str] | str]:
    """Where the files are that score some shapes of a query set, by their keys.

    Those of `scores` and of `rows` are lists.
    """
    own = entry[IMPORTED]
    patterns = {"scores": own["scores"]}
    if "queries" in own or Path(own["scores"]).suffix not in TABLES:
        beside = str(Path(own["scores"]).with_suffix(".json"))
        patterns["rows"] = own.get("queries", beside)
    files = {}
    for key, pattern in patterns.items():
        found = [pattern.replace("{queries}", queries).replace("{shape}", one) for one in shapes]
        files[key] = [str(Path(folder) / path) for path in dict.fromkeys(found)]
    for key in ("entities", "relations"):
        if key in own:
            files[f"own_{key}"] = str(Path(folder) / own[key])
    return files
