"""Files and folders that appear whole or not at all, and digests of files."""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from clqa.errors import InputError

try:
    import fcntl
except ImportError:  # a system without locks, where leftovers stay
    fcntl = None

# Between the name of the target and eight random characters, in the name of a temporary one.
_MARK = ".partial-"
# What to do about an error of the disk.
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room"),
    errno.EROFS: "let the folder be written to",
}
# Key under which JSON of ours has the digest of all else in it.
SEAL = "clqa.sha256"


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside `path`; move it onto `path` when the block ends well.

    The temporary file keeps the suffix of `path`. It is synced before it is renamed, and its folder
    after that, so that a power cut leaves the old one or the new; it is removed when the block
    raises. Nobody ever sees half a file under the final name. Of several processes that write one
    file at a time, the last to end wins. What killed ones have left is removed by the next that
    writes the same file.

    Raises
    ------
    InputError
        If `path` is a device or a folder, which a file would otherwise take the place of, or cannot
        be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: no regular file; name one to write to")
    with _one_line(path), _temporary(path, folder=False) as temporary:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)


@contextlib.contextmanager
def replacing_all(*paths: str | os.PathLike | None) -> Iterator[list[Path | None]]:
    """As `replacing`, for files that belong together: none is moved unless the block ends well.

    What is not wanted is None, and stays it.
    """
    with contextlib.ExitStack() as stack:
        made = [path and stack.enter_context(replacing(path)) for path in paths]
        try:
            yield made
        except InputError as error:  # a writer only knows the name that it was given
            text = str(error)
            for temporary, path in zip(made, paths, strict=True):
                text = text.replace(str(temporary), str(path)) if path else text
            raise InputError(text) from error


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary folder beside `path`; it takes the place of `path` if the block ends well.

    Leftovers are treated as those of `replacing`.
    """
    path = Path(path)
    with _one_line(path), _temporary(path, folder=True) as temporary:
        content = temporary / "content"
        content.mkdir()
        yield content
        for inner in (content, *content.rglob("*")):
            if not inner.is_symlink():
                _sync(inner)
        if path.exists():  # never half of the old one: it goes as a whole, too
            path.replace(temporary / "old")
        content.replace(path)
        _sync(path.parent)


@contextlib.contextmanager
def scratch_beside(path: str | os.PathLike) -> Iterator[Path]:
    """Give an empty folder beside `path` that is removed at the end, as leftovers of it are."""
    path = Path(path)
    with _one_line(path), _temporary(path, folder=True) as temporary:
        yield temporary


def is_of_disk(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is that a disk is full or not written to."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _ADVICE:
            return True
        error = error.__cause__
    return False


@contextlib.contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Raise `InputError` where a disk is full or is not to be written to."""
    try:
        yield
    except OSError as error:
        if error.errno not in _ADVICE:
            raise
        what = os.strerror(error.errno).lower()
        raise InputError(f"{path}: {what}; {_ADVICE[error.errno]} and run again") from error


@contextlib.contextmanager
def _temporary(path: Path, folder: bool) -> Iterator[Path]:
    """A new file or folder beside `path`, locked while it is in use and removed at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    make = tempfile.mkdtemp if folder else _empty_file
    lock = None
    while lock is None:  # another process may take it for a leftover before it is locked
        prefix = f".{path.stem}{_MARK}"
        temporary = Path(make(prefix=prefix, suffix=path.suffix, dir=path.parent))
        lock = _lock(temporary) if fcntl else -1
    try:
        yield temporary
    finally:
        _remove(temporary)
        if lock >= 0:
            os.close(lock)


def _empty_file(**name: str | os.PathLike) -> str:
    handle, path = tempfile.mkstemp(**name)
    os.close(handle)
    return path


def _lock(path: Path) -> int | None:
    """Descriptor that holds the lock of a path until it is closed, or its process is killed.

    None if another process holds it or has removed the path, -1 where the file system has no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(descriptor)
        return -1
    os.close(descriptor)
    return None


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files and folders for `path` that no process has locked."""
    start, end = re.escape(f".{path.stem}{_MARK}"), re.escape(path.suffix)
    name = re.compile(rf"{start}[a-z0-9_]{{8}}{end}")
    for left in [one for one in path.parent.iterdir() if name.fullmatch(one.name)]:
        lock = _lock(left) if fcntl else None
        if lock is not None and lock >= 0:
            _remove(left)
            os.close(lock)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk, where the system knows how to."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder, where folders cannot be opened
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not path.is_dir() or error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256_of(path: str | os.PathLike) -> str:
    """Hex digest of a file's content."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_json(path: str | os.PathLike, content: object) -> None:
    """Write strict JSON (no NaN) with sorted keys, the same bytes for the same content."""
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: str | os.PathLike) -> dict:
    """The object in a file of strict JSON.

    Raises
    ------
    InputError
        If the file is missing or holds anything else.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refused)
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"{path}: not readable as JSON ({reason}); make it again") from error
    return content


def write_sealed(path: str | os.PathLike, content: dict) -> None:
    """Write JSON with a digest of itself, so that no change of a digit goes unseen."""
    content = json.loads(json.dumps(content, allow_nan=False))  # as it will be read
    content.pop(SEAL, None)
    write_json(path, {**content, SEAL: _digest(content)})


def read_sealed(path: str | os.PathLike) -> dict:
    """What `write_sealed` has written.

    Raises
    ------
    InputError
        If the file is missing, or is not what was written.
    """
    content = read_json(path)
    if SEAL not in content:
        raise InputError(f"{path}: has no digest of itself ({SEAL}); delete it and make it again")
    return unsealed(path, content)


def unsealed(path: str | os.PathLike, content: dict) -> dict:
    """Content of JSON without the digest that it may have.

    Raises
    ------
    InputError
        If it has one that is not its own.
    """
    found = {key: value for key, value in content.items() if key != SEAL}
    if content.get(SEAL, _digest(found)) != _digest(found):
        raise InputError(f"{path}: changed since it was written; delete it and make it again")
    return found


def _digest(content: dict) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no number")
