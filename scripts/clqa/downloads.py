"""Files from elsewhere, kept by checksum and verified before every use.

The folder of downloads holds `<checksum>/<name>`, the same place where a user may drop a file by
hand. Beside each file `<name>.json` says where it came from and what its sha256 was.
"""

import contextlib
import hashlib
import logging
import os
import posixpath
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from clqa.archives import wrong_form
from clqa.checksums import described, digest, mismatch
from clqa.errors import InputError
from clqa.files import read_json, write_json
from clqa.graph_entries import Item
from clqa.transfers import can_go_on, fetch, forget

PIP_TIMEOUT = 1800  # seconds

log = logging.getLogger(__name__)


def drop_path(item: Item, downloads: Path) -> Path:
    """Where a file is kept, and where it may be put by hand."""
    kind, text = next(
        ((kind, text) for kind, text in (("sha256", item.sha256), ("md5", item.md5)) if text),
        ("url", hashlib.sha256("\n".join((item.name, *item.urls)).encode()).hexdigest()),
    )
    return downloads / f"{kind}-{text[:16]}" / posixpath.basename(item.name)


def downloaded(item: Item, downloads: Path) -> tuple[Path, str | None]:
    """A verified copy of a file that mirrors serve, and the URL it came from.

    Raises
    ------
    InputError
        If no mirror has it; says why for each, and where to put the file by hand.
    """
    return kept(item, downloads, lambda target: _first_mirror(item, target))


def downloaded_package(item: Item, requirement: str, downloads: Path) -> tuple[Path, str | None]:
    """A verified copy of a wheel that pip finds in its package index.

    Parameters
    ----------
    requirement : str
        Name and version, such as `pykeen==1.11.1`.
    """
    return kept(item, downloads, lambda target: _from_index(item, requirement, target))


def kept(item: Item, downloads: Path, get: Callable[[Path], str]) -> tuple[Path, str | None]:
    """The copy in the folder of downloads, fetched if there is no good one.

    A copy that fails its check is set aside (`.bad`) and fetched once more. Jobs that want the same
    file wait for one another. Part of a file that comes from a server which can send the rest stays
    for the next run, under another name.

    Parameters
    ----------
    get : callable
        Writes the file to the path it is given and returns where it came from.
    """
    path = drop_path(item, downloads)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent) as is_alone:
        reason = _unfit(path, item) if path.exists() else None
        if path.exists() and reason is None:
            return path, _record(path).get("source")
        if reason is not None:
            log.warning("%s: %s; set aside as %s.bad", path, reason, path.name)
            set_aside(path)
        part = path.with_name(f".{path.name}{'' if is_alone else f'.{os.getpid()}'}.part")
        try:
            source = get(part)
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
            part.replace(path)
        except InputError as error:
            reasons = "; ".join(filter(None, (reason and f"{path}: {reason}", str(error))))
            raise InputError(
                f"cannot get {described(item)}: {reasons}. "
                f"To go on without network, put the file at {path}"
            ) from error
        finally:
            if not can_go_on(part):
                forget(part)
        _write_record(path, source)
    return path, source


def set_aside(path: Path) -> None:
    """Take a file that is not what it should be out of the way, so that it is fetched again."""
    path.replace(path.with_name(path.name + ".bad"))
    _record_path(path).unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Let one process at a time work in a folder, where the system has locks; gives whether so.

    Whoever has the lock removes what killed downloads have left.
    """
    is_alone = False
    try:
        import fcntl
    except ImportError:
        yield is_alone
        return
    with (folder / ".lock").open("w") as stream:
        with contextlib.suppress(OSError):  # a network file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
            is_alone = True
            for left in folder.glob(".*"):
                if left.is_dir():
                    shutil.rmtree(left)
                elif not left.name.endswith((".lock", ".part", ".part.json")):
                    left.unlink()
        yield is_alone


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _record(path: Path) -> dict:
    with contextlib.suppress(InputError):
        return read_json(_record_path(path))
    return {}


def _write_record(path: Path, source: str) -> None:
    sha256 = digest(path, "sha256")
    write_json(
        _record_path(path), {"sha256": sha256, "size": path.stat().st_size, "source": source}
    )


def _unfit(path: Path, item: Item) -> str | None:
    """Why a file cannot be the one meant, or none; without a checksum, its record decides."""
    reason = wrong_form(path, item.name)
    if reason is not None:
        return reason
    recorded = None if item.is_pinned else _record(path).get("sha256")
    return mismatch(path, item._replace(sha256=recorded) if recorded else item)


def _first_mirror(item: Item, part: Path) -> str:
    """Write the first good copy to `part` and give its URL."""
    reasons = []
    for url in item.urls:
        reason = fetch(url, item, part)
        if reason is None:
            reason = _unfit(part, item)
            if reason is None:
                return url
            forget(part)
        log.warning("%s: %s", url, reason)
        reasons.append(f"{url}: {reason}")
    raise InputError("; ".join(reasons) or "no URL is known")


def _from_index(item: Item, requirement: str, target: Path) -> str:
    """Let pip download a wheel; nothing in it is run or installed."""
    log.info("downloading %s with pip", described(item))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pip-") as folder:
        command = [sys.executable, "-m", "pip", "download", requirement, "--no-deps", "--quiet"]
        command += ["--only-binary", ":all:", "--no-input", "--dest", folder]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PIP_TIMEOUT
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"pip: no answer within {PIP_TIMEOUT} s") from None
        found = Path(folder, item.name)
        if not found.exists():
            lines = done.stderr.decode("utf-8", "replace").splitlines()
            errors = [line for line in lines if line.startswith("ERROR") or "No module" in line]
            came = ", ".join(path.name for path in Path(folder).iterdir()) or "nothing"
            raise InputError(f"pip: {errors[-1] if errors else f'{requirement} gave {came}'}")
        found.replace(target)
    reason = _unfit(target, item)
    if reason is not None:
        raise InputError(f"pip: {reason}")
    return requirement
