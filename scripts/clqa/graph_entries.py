"""One graph of the catalogue: where its files come from and how they are read.

Light on purpose: the workflow imports it when it is parsed. The keys are described in
`workflow/schemas/graphs.schema.yaml`.
"""

import posixpath
import re
from pathlib import Path
from typing import NamedTuple

from clqa.errors import InputError

SPLITS = ("train", "valid", "test")
DICTIONARIES = ("entities", "relations")
# Parts of an inductive graph beside the splits, and the files whose ids `test_entities` explains.
INFERENCE = ("valid_inference", "test_inference")
APART = ("test", "test_inference")
DEFAULTS = {
    "columns": ["head", "relation", "tail"],
    "fields": "labels",
    "ids": "sorted",
    "inverses": "add",
    "unseen": "keep",
}
# Files of degrees by their roles, which are what formulas call them.
VECTOR = re.compile(r"d[1-9]")
KEYS = {
    "embedded": ("folder",),
    "path": ("folder",),
    "package": ("package", "archive"),
    "urls": ("archive", "folders"),
}


class Item(NamedTuple):
    """A file that is to be had, and how to tell that it is the right one.

    Attributes
    ----------
    name : str
        File name; for a member of an archive its path, of which the last parts are enough.
    urls : tuple of str
        Where it is served, in the order of trying.
    sha256, md5 : str or None
        Hex digests, where known.
    size : int or None
        Bytes, where known.
    unknown : bool
        Whether `checksum: unknown` was asked for: whatever comes is taken, and recorded.
    key : str or None
        Of a pickle of several dictionaries, which of them is meant.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    md5: str | None = None
    size: int | None = None
    unknown: bool = False
    key: str | None = None

    @property
    def is_pinned(self) -> bool:
        return bool(self.sha256 or self.md5)


def complete_entry(graph: str, entry: dict) -> dict:
    """The entry with its defaults, once its keys are known to go together.

    Raises
    ------
    InputError
        Names the graph and the key that is missing or does not belong.
    """
    entry = DEFAULTS | {key: value for key, value in entry.items() if value is not None}
    place = f"graph {graph}"
    check_source(place, entry)
    _check_reading(graph, entry)
    check_checksums(place, entry)
    return entry


def check_source(place: str, entry: dict) -> None:
    """Raise `InputError`, which starts with `place`, unless the source's keys go together."""
    source = entry.get("source", {})
    kind = source.get("kind")
    if kind not in KEYS:
        raise InputError(f"{place}: source.kind is {kind!r}; known: {', '.join(KEYS)}")
    for key in source.keys() - {"kind", *KEYS[kind]}:
        known = ", ".join(KEYS[kind])
        raise InputError(f"{place}: source.{key} is not for kind {kind} (its keys: {known})")
    for key in KEYS[kind] if kind != "urls" else ():
        if key not in source:
            raise InputError(f"{place}: a source of kind {kind} needs source.{key}")
    if kind == "urls" and not (source.get("archive") or source.get("folders")):
        raise InputError(f"{place}: a source of kind urls needs source.archive or .folders")


def _check_reading(graph: str, entry: dict) -> None:
    files = entry.get("files", {})
    for split in SPLITS:
        if split not in files:
            raise InputError(f"graph {graph}: files.{split} is missing")
    if sorted(entry["columns"]) != sorted(DEFAULTS["columns"]):
        raise InputError(
            f"graph {graph}: columns must be head, relation and tail in some order, "
            f"found {', '.join(map(str, entry['columns']))}"
        )
    _check_parts(graph, entry)
    if entry["fields"] == "ids" and entry["ids"] not in ("given", "numbers"):
        raise InputError(
            f"graph {graph}: fields: ids needs ids: given and the two dictionaries, or ids: numbers"
        )
    if entry["ids"] == "numbers" and entry["fields"] != "ids":
        raise InputError(f"graph {graph}: ids: numbers needs fields: ids")
    for role in DICTIONARIES:
        if entry["ids"] == "given" and role not in files:
            raise InputError(f"graph {graph}: ids: given needs files.{role} (id and label)")
        allowed = entry["ids"] == "given" or (entry["ids"], role) == ("numbers", "relations")
        if role in files and not allowed:
            raise InputError(f"graph {graph}: files.{role} is only read with ids: given")
    if "test_entities" in files and (entry["fields"], entry["ids"]) != ("ids", "given"):
        raise InputError(f"graph {graph}: files.test_entities is for fields: ids and ids: given")
    names = vectors_of(entry)
    for place, name in enumerate(names, 1):
        if f"d{place}" not in names:
            raise InputError(f"graph {graph}: files.{name}: there is no files.d{place} before it")
    for name in entry.get("default_degrees", ()):
        if name not in names:
            raise InputError(f"graph {graph}: default_degrees.{name}: there is no files.{name}")


def vectors_of(entry: dict) -> list[str]:
    """Names of the vectors of degrees that the entry has files of, in order."""
    names = (role for role in entry["files"] if VECTOR.fullmatch(role))
    return sorted(names)


def _check_parts(graph: str, entry: dict) -> None:
    """Every part of an inductive graph has a file and is observed, and no split observes itself."""
    observed = entry.get("observed", {})
    for split, parts in observed.items():
        for part in parts:
            if part not in entry["files"]:
                raise InputError(f"graph {graph}: observed.{split}: there is no files.{part}")
            if part in SPLITS[SPLITS.index(split) :]:
                raise InputError(f"graph {graph}: observed.{split}: {part} is to be predicted")
    named = {part for parts in observed.values() for part in parts}
    for part in INFERENCE:
        if part in entry["files"] and part not in named:
            raise InputError(f"graph {graph}: files.{part} is in none of the graphs of `observed`")


def observed_parts(entry: dict) -> dict[str, tuple[str, ...]]:
    """For each split the parts that are observed; the splits before it, unless the entry says."""
    before = {split: SPLITS[:place] for place, split in enumerate(SPLITS)}
    return before | {split: tuple(parts) for split, parts in entry.get("observed", {}).items()}


def check_checksums(place: str, entry: dict) -> None:
    """What comes from elsewhere has a checksum, or says that it has none."""
    if entry["source"]["kind"] in ("embedded", "path"):
        return
    archive = archive_of(entry)
    covered = archive is not None and (archive.is_pinned or archive.unknown)
    if covered and not entry["source"].get("folders"):
        return
    for role, item in files_of(entry).items():
        if not (item.is_pinned or item.unknown):
            raise InputError(
                f"{place}: files.{role} has no sha256 or md5, nor has its archive; "
                "write `checksum: unknown` to take whatever comes"
            )


def files_of(entry: dict) -> dict[str, Item]:
    """The files that the entry declares, by role (a part of the graph, or a dictionary)."""
    return {
        role: _item({"path": value} if isinstance(value, str) else value, "path")
        for role, value in entry["files"].items()
    }


def archive_of(entry: dict) -> Item | None:
    """The archive that holds the files, if there is one."""
    value = entry["source"].get("archive")
    if value is None:
        return None
    urls = value.get("urls") or [""]
    return _item({"name": posixpath.basename(urls[0]), **value}, "name")


def _item(value: dict, name: str) -> Item:
    return Item(
        name=value[name],
        urls=tuple(value.get("urls") or ()),
        sha256=value.get("sha256"),
        md5=value.get("md5"),
        size=value.get("size"),
        unknown=value.get("checksum") == "unknown",
        key=value.get("key"),
    )


def local_files(entry: dict, folder_of_catalogue: str) -> list[str]:
    """Files of the user's own that the graph is made from, so that editing them rebuilds it.

    Empty for embedded graphs, whose files count by their checksums, and for downloads.
    """
    place = entry.get("local") or (
        entry["source"]["folder"] if entry["source"]["kind"] == "path" else None
    )
    if place is None:
        return []
    place = Path(folder_of_catalogue, Path(place).expanduser())
    if place.is_file():
        return [place.as_posix()]
    archive = archive_of(entry)
    if archive is not None and (place / archive.name).is_file():
        return [(place / archive.name).as_posix()]
    found = []
    for item in files_of(entry).values():
        if item.name.endswith("/"):  # a folder: all that is in it, one path with `*` or not
            inside = place.glob(item.name.rstrip("/") + "/**/*")
            found += sorted(path for path in inside if path.is_file()) or [place / item.name]
        else:
            found.append(lying(place, item.name) or place / item.name)
    return [path.as_posix() for path in found]


def lying(folder: Path, name: str) -> Path | None:
    """The file of this name in a folder, as it is or compressed, or none.

    Looked for under its whole path first, where parts may hold `*`, then under its last part, each
    also with `.xz` or `.gz` added.

    Raises
    ------
    InputError
        If several files fit.
    """
    for candidate in dict.fromkeys((name, posixpath.basename(name))):
        for suffix in ("", ".xz", ".gz"):
            found = [folder / (candidate + suffix)]
            if "*" in candidate:
                found = sorted(folder.glob(candidate + suffix))
            found = [path for path in found if path.is_file()]
            if len(found) > 1:
                raise InputError(f"{folder}: {candidate} fits {found[0]} and {found[1]}")
            if found:
                return found[0]
    return None
