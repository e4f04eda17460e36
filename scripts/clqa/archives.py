"""Archives and compressed files: told by their first bytes, read member by member.

Members are streamed to names of our own choosing; a name from an archive never becomes a path.
"""

import contextlib
import errno
import gzip
import lzma
import shutil
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from clqa.errors import InputError, abridged
from clqa.unpacking import LONGEST_HEADER, Bounded, copied, most_bytes, open_zip

ENDINGS = {
    "zip": (".zip", ".whl"),
    "tar": (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz"),
    "gzip file": (".gz",),
    "xz file": (".xz",),
}
# What a file starts with, by the ending of its name: form, place, bytes.
FIRST_BYTES = {
    (".zip", ".whl"): ("a zip", 0, b"PK"),
    (".gz", ".tgz"): ("a gzip file", 0, b"\x1f\x8b"),
    (".xz", ".txz"): ("an xz file", 0, b"\xfd7zXZ\x00"),
    (".tar",): ("a tar", 257, b"ustar"),
}
WEB_PAGE = (b"<html", b"<!doctype html")
MOST_MEMBERS = 1 << 17


def form_of(name: str) -> str:
    """Form of a file by the ending of its name: a key of `ENDINGS`, or `file`.

    A tar counts as such whether it is compressed or not.
    """
    name = name.lower()
    for form in ("zip", "tar", "gzip file", "xz file"):
        if name.endswith(ENDINGS[form]):
            return form
    return "file"


def check_form(path: Path, name: str, refuse_web_page: bool = False) -> None:
    """Refuse a file whose first bytes are not those of what its name says.

    Parameters
    ----------
    refuse_web_page : bool
        Also refuse a data file that starts as a web page does.

    Raises
    ------
    InputError
        Says what the file starts with: `KG.zip: not a zip (starts with '<html')`.
    """
    with path.open("rb") as stream:
        start = stream.read(512)
    shown = repr(start[:5].decode("utf-8", "replace"))
    for endings, (form, place, expected) in FIRST_BYTES.items():
        if name.lower().endswith(endings):
            if not start[place:].startswith(expected):
                raise InputError(f"{name}: not {form} (starts with {shown})")
            return
    if refuse_web_page and start.lstrip().lower().startswith(WEB_PAGE):
        raise InputError(f"{name}: a web page, not data (starts with {shown})")


def wrong_form(path: Path, name: str) -> str | None:
    """What tells a file, or its start, from one of the form that its name says, or none."""
    try:
        check_form(path, name, refuse_web_page=True)
    except InputError as error:
        return str(error)
    return None


@contextlib.contextmanager
def _one_line_errors(name: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except RuntimeError as error:  # a member that needs a password, or of an unknown compression
        raise InputError(f"{name}: cannot be read ({error})") from error
    except Exception as error:  # whatever a damaged file makes its reader say
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # the disk is full, or the like
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{name}: cut short or damaged ({reason:.300})") from error


def extract(archive: Path, targets: dict[str, Path], name: str | None = None) -> None:
    """Write members of a zip or tar to the given paths.

    Parameters
    ----------
    targets : dict
        From the path of a member to where its content goes. The last parts of the path are
        enough, and each part may hold `*` and `?`; exactly one member must fit.

    Raises
    ------
    InputError
        If the archive is damaged, holds a path that leaves its folder, or a member is missing or
        not unique.
    """
    name = name or archive.name
    left = most_bytes(archive.stat().st_size)
    with _opened(archive, name) as (names, open_member):
        for pattern, target in targets.items():
            with open_member(_matching(names, pattern)) as source, target.open("wb") as sink:
                left -= copied(source, sink, left)


def member_names(archive: Path, name: str) -> list[str]:
    """Paths of the files in a zip or tar.

    Raises
    ------
    InputError
        If it is damaged or holds a path that leaves its folder.
    """
    with _opened(archive, name) as (names, _):
        return names


@contextlib.contextmanager
def _opened(archive: Path, name: str):
    check_form(archive, name)
    reader = {"zip": _zip_members, "tar": _tar_members}.get(form_of(name))
    if reader is None:
        raise InputError(f"{name}: not an archive that can hold files; use .zip or .tar[.gz|.xz]")
    with _one_line_errors(name), reader(archive, name) as (names, open_member):
        for member in names:
            _check_path(member)
        yield names, open_member


@contextlib.contextmanager
def _zip_members(path: Path, name: str):
    with path.open("rb") as stream, open_zip(stream) as archive:
        files = [info for info in archive.infolist() if not info.is_dir()]
        for info in files:
            if stat.S_ISLNK(info.external_attr >> 16):
                raise _no_file(info.filename)
        yield [info.filename for info in files], archive.open


@contextlib.contextmanager
def _tar_members(path: Path, name: str):
    most = most_bytes(path.stat().st_size)
    with (
        _unpacked(path, name) as stream,
        tarfile.open(fileobj=Bounded(stream, most, LONGEST_HEADER), mode="r:") as archive,
    ):
        files = {}
        for place, info in enumerate(archive):
            if place == MOST_MEMBERS:
                raise InputError(f"refused, it holds more than {MOST_MEMBERS} files")
            if not info.isdir():
                files[info.name] = info
        while archive.fileobj.read(1 << 20):  # to its end, where compressed ones have a checksum
            pass
        yield list(files), lambda member: _regular(archive, files[member])


def _unpacked(path: Path, name: str) -> IO[bytes]:
    """The content of a file, decompressed if its name says so."""
    ending = PurePosixPath(name.lower()).suffix
    opener = {".gz": gzip.open, ".tgz": gzip.open, ".xz": lzma.open, ".txz": lzma.open}
    return opener.get(ending, open)(path, "rb")


def _regular(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    if not info.isfile():
        raise _no_file(info.name)
    return archive.extractfile(info)


def _no_file(member: str) -> InputError:
    return InputError(f"{abridged(member)}: a link or device in the archive, not a file")


def _check_path(member: str) -> None:
    path = PurePosixPath(member.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or path.as_posix()[1:2] == ":":
        raise InputError(f"refused, the path {abridged(member)} in it leaves the folder")


def _matching(names: list[str], pattern: str) -> str:
    fitting = [one for one in names if PurePosixPath(one).match(pattern)]
    exact = [one for one in fitting if one == pattern]
    if len(exact or fitting) == 1:
        return (exact or fitting)[0]
    if fitting:
        raise InputError(f"{pattern} fits several files: {_some(fitting)}")
    raise InputError(f"holds no file {pattern} (it holds: {_some(names)})")


def _some(names: list[str]) -> str:
    shown = [name if len(name) <= 80 and name.isprintable() else abridged(name) for name in names]
    return ", ".join(sorted(shown)[:5]) + (", …" if len(names) > 5 else "")


def decompress(source: Path, target: Path, name: str | None = None) -> None:
    """Copy a file; one whose name ends in `.gz` or `.xz` is decompressed on the way."""
    name = name or source.name
    check_form(source, name)
    if form_of(name) not in ("gzip file", "xz file"):
        shutil.copyfile(source, target)
        return
    with (
        _one_line_errors(name),
        _unpacked(source, name) as stream,
        target.open("wb") as sink,
    ):
        copied(stream, sink, most_bytes(source.stat().st_size))


def plain_name(name: str) -> str:
    """A file's name without `.gz` or `.xz`."""
    return name[:-3] if form_of(name) in ("gzip file", "xz file") else name
