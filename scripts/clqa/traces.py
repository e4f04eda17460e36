"""At which stage two runs first differ: by the files that their manifests list."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import jsonschema

from clqa.errors import InputError
from clqa.files import read_json, sha256_of
from clqa.stages import FORMAT, STAGES, stage_of

_FORMATS = (None, FORMAT)  # of manifests that are read; the first had none
_ENTRIES = {"type": "object", "additionalProperties": {"type": "object"}}
_MANIFEST = jsonschema.Draft202012Validator(
    {
        "type": "object",
        "properties": {
            "run": {"type": "string"},
            "settings": {"type": "object"},
            **dict.fromkeys(("fingerprints", "graphs", "query_sets", "models"), _ENTRIES),
            "files": {
                "type": "object",
                "additionalProperties": {
                    "type": ["string", "object"],
                    "required": ["sha256"],
                    "properties": {"sha256": {"type": "string"}},
                },
            },
        },
        "dependentRequired": {"files": ["run"]},
    }
)
LARGE = 1 << 27  # bytes of a file that is compared row by row only if it is asked for
# What two runs may differ in without a word.
_OF_RUN = ("name",)


def read_manifest(folder: Path) -> dict:
    """The manifest of a run folder; an empty one where there is none.

    Raises
    ------
    InputError
        If it is damaged, or of a form that is not known.
    """
    path = folder / "manifest.json"
    if not path.exists():
        return {}
    manifest = read_json(path)
    error = jsonschema.exceptions.best_match(_MANIFEST.iter_errors(manifest))
    if error is not None:
        where = ".".join(map(str, error.absolute_path)) or "it"
        what = f"not a manifest of a run: {where}: {error.message:.100}"
        raise InputError(f"{path}: {what}; make the run again")
    if manifest.get("format") not in _FORMATS:
        what = f"a manifest of the format {manifest['format']}, which this version does not know"
        raise InputError(f"{path}: {what}; compare with the version that made it")
    return manifest


def trace(
    old: Path,
    new: Path,
    manifests: list[dict],  # as `read_manifest` gives them
    content_differs: Callable[[Path, Path], dict | None],
) -> dict:
    """The stages of two runs, with the files that differ.

    Files of equal hash are equal. Others are compared by content, up to the first stage that
    differs, where both are at hand in the result folders of the runs, and of modest size.

    Returns
    -------
    dict
        `first`, the first stage with a difference, or None; `stages`, for each its number of
        `files` and those that are `different`; `note`, why nothing is known, if so.

    """
    sides = [_files(manifest) for manifest in manifests]
    if not all(sides):
        return {"first": None, "stages": {}, "note": "no list of files in a manifest"}
    roots = [folder.resolve().parent.parent for folder in (old, new)]
    names = [manifest["run"] for manifest in manifests]
    stages, first = {}, None
    for stage in STAGES:
        own = [
            name for name in sorted(sides[0].keys() | sides[1].keys()) if stage_of(name) == stage
        ]
        different = []
        for name in own:
            hashes = [side.get(name) for side in sides]
            if hashes[0] == hashes[1]:
                continue
            paths = [_located(root, name, run) for root, run in zip(roots, names, strict=True)]
            found = _difference(name, hashes, paths, content_differs if first is None else None)
            different += [] if found is None else [found]
        stages[stage] = {"files": len(own), "different": different}
        first = first or (stage if different else None)
    return {"first": first, "stages": stages, "note": ""}


def _files(manifest: dict) -> dict[str, str]:
    """Hashes by path, the run's name taken out; what the run itself wrote is compared by rows."""
    found = {}
    for path, about in manifest.get("files", {}).items():
        if not path.startswith(("runs/", "explanations/")):  # the latter are for the page alone
            name = path.replace(f"comparisons/{manifest['run']}/", "comparisons/{run}/")
            found[name] = about if isinstance(about, str) else about["sha256"]
    return found


def _located(root: Path, name: str, run: str) -> Path:
    return root / name.replace("{run}", run)


def _difference(name: str, hashes: list, paths: list[Path], content_differs) -> dict | None:
    if None in hashes:
        return {"path": name, "what": "added" if hashes[0] is None else "removed"}
    if content_differs is None:
        return {"path": name, "what": "changed", "note": "other bytes, as what it was made from"}
    if all(path.is_file() for path in paths):
        if max(path.stat().st_size for path in paths) > LARGE:
            note = "other bytes; compare the two files by themselves to see what differs"
            return {"path": name, "what": "changed", "note": note}
        if [sha256_of(path) for path in paths] != hashes:
            note = "other bytes; the file is not what a manifest lists: made anew since, or edited"
            return {"path": name, "what": "changed", "note": note}
        found = content_differs(*paths)
        return None if found is None else {"path": name, "what": "changed", **found}
    return {"path": name, "what": "changed", "note": "other bytes; the files are not at hand"}


def with_report(trace: dict) -> None:
    """Tell of numbers that differ although all that they are made from is the same."""
    if trace["stages"] and trace["first"] is None:
        trace["first"] = STAGES[-1]
        note = "other numbers from the same files: by other settings or code, or edited"
        about = {"path": "runs/{run}/", "what": "changed", "note": note}
        trace["stages"][STAGES[-1]]["different"].append(about)


def settings_changes(old: Mapping, new: Mapping) -> list[dict]:
    """Settings, query sets and models in which two manifests differ: path, old and new value."""
    found = []
    for key in ("settings", "query_sets", "models"):
        sides = [dict(_leaves(one.get(key, {}), "")) for one in (old, new)]
        prefix = "" if key == "settings" else f"{key}."
        for name in sorted(sides[0].keys() | sides[1].keys()):
            values = [side.get(name) for side in sides]
            if values[0] != values[1] and name not in _OF_RUN and not name.endswith(".hash"):
                found.append({"setting": prefix + name, "old": values[0], "new": values[1]})
    return found


def _leaves(content: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    else:
        yield path, content
