"""Files of an entry that are declared as a folder, whose path ends in `/`: one item for each."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from clqa.errors import InputError
from clqa.graph_entries import Item

# Names become parts of roles, and roles names of files: nothing else may be in them.
_PART = re.compile(r"[A-Za-z0-9_+-]+")


def is_folder(item: Item) -> bool:
    return item.name.endswith("/")


def expanded(files: dict[str, Item], members: Iterable[str], place: object) -> dict[str, Item]:
    """Items by role, with the pickles beneath a folder in its place.

    Their roles are the folder's and their path beneath it, without the ending, joined by dots:
    `reductions.2p.all.test-hard-answers`. Files with other names are passed over.

    Parameters
    ----------
    members : paths of what is there, parts separated by `/`
    place : for messages

    Raises
    ------
    InputError
        If there is no such folder, or several.
    """
    found: dict[str, Item] = {}
    for role, item in files.items():
        if not is_folder(item):
            found[role] = item
            continue
        beneath = _beneath(item.name.rstrip("/").split("/"), members)
        if len({folder for folder, _, _ in beneath}) != 1:
            what = "fits several folders" if beneath else "no files beneath it"
            raise InputError(f"{place}: {item.name}: {what}, needed as {role}")
        for _, names, member in beneath:
            found[".".join([role, *names])] = item._replace(name=member)
    return found


def in_folder(files: dict[str, Item], folder: Path) -> dict[str, Item]:
    """Items by role, as `expanded`, of files that lie in a folder."""
    if not any(map(is_folder, files.values())):
        return files
    members = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return expanded(files, [path.relative_to(folder).as_posix() for path in members], folder)


def _beneath(pattern: list[str], members: Iterable[str]) -> list[tuple[tuple, list[str], str]]:
    """Folder, names beneath it and whole path of the pickles in the folders that fit a pattern."""
    found = []
    for member in members:
        if not member.endswith(".pkl"):
            continue
        parts = member.removesuffix(".pkl").split("/")
        for start in range(len(parts) - len(pattern)):
            end = start + len(pattern)
            if all(map(fnmatchcase, parts[start:end], pattern)):
                if all(map(_PART.fullmatch, parts[end:])):
                    found.append((tuple(parts[:end]), parts[end:], member))
                break
    return found
