"""Large files that are needed once and stay on a disk of the node: results name the place.

Who sets `CLQA_SCRATCH` to such a disk spares a shared file system what it would write and read of
predictions. The workflow removes the file that names the place as it removes any temporary file.
"""

import contextlib
import hashlib
import os
import shutil
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
        If what `CLQA_SCRATCH` names is no absolute path, or no folder of the user's own.
    """
    path = Path(path)
    if not _is_asked_for():
        yield path
        return
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()
    target = _own_folder() / f"{digest[:32]}{path.suffix}"
    try:
        yield target
    except InputError as error:  # the user knows the other name
        both = f"{path} (on this node {target})"
        raise InputError(str(error).replace(str(target), both)) from error
    with replacing(path) as temporary:
        temporary.write_bytes(_MARK + os.fsencode(target))


def from_node(path: str | os.PathLike) -> Path:
    """The path to read from; where `CLQA_SCRATCH` is not set any more, the content comes home.

    Raises
    ------
    InputError
        If the file is not on this node. `path` is removed then, so that it is made anew.
    """
    path, target = Path(path), _named(path)
    if target is None:
        return path
    if not os.path.isfile(target):  # noqa: PTH113 - a name that is too long is of no file
        path.unlink()
        raise InputError(f"{path}: its content is on a disk of another node or lost; run again")
    if _is_asked_for():
        return target
    with replacing(path) as temporary:
        shutil.copyfile(target, temporary)
    _remove(target)
    return path


def leave_node(path: str | os.PathLike) -> None:
    """Remove the file on the node that a file names, if `on_node` has made it."""
    target = _named(path)
    if target is not None:
        _remove(target)


def _remove(target: Path) -> None:
    if target.parent.name == _name():
        target.unlink(missing_ok=True)


def _named(path: str | os.PathLike) -> Path | None:
    """What a file names; None if it is one by itself, or there is none."""
    try:
        with open(path, "rb") as stream:
            is_name = stream.read(len(_MARK)) == _MARK
            return Path(os.fsdecode(stream.read())) if is_name else None
    except OSError:
        return None


def _is_asked_for() -> bool:
    return bool(os.environ.get(VARIABLE))


def _own_folder() -> Path:
    """A folder that nobody else may write to; in a shared one somebody could wait for us."""
    named = os.environ[VARIABLE]
    place = Path(os.path.expandvars(named))
    if "$" in str(place) or not place.is_absolute():
        raise InputError(
            f"{VARIABLE}={named}: stands for {place} here; expected an absolute path, in which all"
            " variables are set"
        )
    folder = place / _name()
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
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{VARIABLE}={named}: {folder} cannot be written to; let it be, or remove it"
        )
    return folder


def _name() -> str:
    return f"clqa-{os.getuid()}"
