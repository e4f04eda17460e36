"""Large files that are needed once and stay on a disk of the node: results name the place.

Who sets `CLQA_SCRATCH` to such a disk spares a shared file system what it would write and read of
predictions. The workflow removes the file that names the place as it removes any temporary file.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from clqa.errors import InputError
from clqa.files import replacing

VARIABLE = "CLQA_SCRATCH"
# How a file begins that is a name of another.
_MARK = b"on a disk of the node: "


@contextlib.contextmanager
def on_node(path: str | os.PathLike) -> Iterator[Path]:
    """Give the path to write to; if that is on the node, `path` names it at the end.

    There a file is named by the absolute `path`. So what a killed job leaves is overwritten by the
    next one that writes `path` on the node, and nobody comes upon it otherwise.

    Raises
    ------
    InputError
        If what `CLQA_SCRATCH` names is no folder of the user's own.
    """
    path, named = Path(path), os.environ.get(VARIABLE)
    if not named:
        yield path
        return
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()
    target = _own_folder(named) / f"{digest[:32]}{path.suffix}"
    try:
        yield target
    except InputError as error:  # the user knows the other name
        raise InputError(str(error).replace(str(target), str(path))) from error
    with replacing(path) as temporary:
        temporary.write_bytes(_MARK + os.fsencode(target))


def from_node(path: str | os.PathLike) -> Path:
    """The path to read from.

    Raises
    ------
    InputError
        If the file is not on this node. `path` is removed then, so that it is made anew.
    """
    target = _named(path)
    if target is None:
        return Path(path)
    if not target.is_file():
        Path(path).unlink()
        raise InputError(f"{path}: its content is on a disk of another node or lost; run again")
    return target


def leave_node(path: str | os.PathLike) -> None:
    """Remove the file on the node that a file names, if `on_node` has made it."""
    target = _named(path)
    if target is not None and target.parent.name == _name():
        target.unlink(missing_ok=True)


def _named(path: str | os.PathLike) -> Path | None:
    """What a file names; None if it is one by itself, or is missing."""
    try:
        with open(path, "rb") as stream:
            is_name = stream.read(len(_MARK)) == _MARK
            return Path(os.fsdecode(stream.read())) if is_name else None
    except FileNotFoundError:
        return None


def _own_folder(named: str) -> Path:
    """A folder that nobody else may write to; in a shared one somebody could wait for us."""
    folder = Path(os.path.expandvars(named)) / _name()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{VARIABLE}={named}: {folder} cannot be made ({error.strerror}); name a folder on a"
            " disk of the node"
        ) from error
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InputError(f"{VARIABLE}={named}: {folder} is not this user's alone; remove it")
    return folder


def _name() -> str:
    return f"clqa-{os.getuid()}"
