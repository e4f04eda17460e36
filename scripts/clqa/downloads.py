"""Files from elsewhere, kept by checksum and verified before every use.

The folder of downloads holds `<checksum>/<name>`, the same place where a user may drop a file by
hand. Beside each file `<name>.json` says where it came from and what its sha256 was.
"""

import contextlib
import hashlib
import json
import logging
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import requests
import urllib3
from tqdm import tqdm

from clqa.archives import check_form
from clqa.checksums import described, digest, mismatch, readable_size
from clqa.errors import InputError
from clqa.files import replacing, write_json
from clqa.graph_entries import Item

ATTEMPTS = 3
PAUSE = 2.0  # seconds before the second attempt, doubled before each further one
TIMEOUT = (15, 60)  # seconds to connect, and to wait for more bytes
PIP_TIMEOUT = 1800  # seconds
SAMPLE = 512  # bytes of a file of the wrong size that are looked at
PASSING = {408, 425, 429, 500, 502, 503, 504}
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "clqa (graph download)"}

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


def kept(item: Item, downloads: Path, fetch: Callable[[Path], str]) -> tuple[Path, str | None]:
    """The copy in the folder of downloads, fetched if there is no good one.

    A copy that fails its check is set aside (`.bad`) and fetched once more. Jobs that want the same
    file wait for one another.

    Parameters
    ----------
    fetch : callable
        Writes the file to the path it is given and returns where it came from.
    """
    path = drop_path(item, downloads)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        reason = _unfit(path, item) if path.exists() else None
        if path.exists() and reason is None:
            return path, _record(path).get("source")
        if reason is not None:
            log.warning("%s: %s; set aside as %s.bad", path, reason, path.name)
            set_aside(path)
        try:
            with replacing(path) as temporary:
                source = fetch(temporary)
        except InputError as error:
            reasons = "; ".join(filter(None, (reason and f"{path}: {reason}", str(error))))
            raise InputError(
                f"cannot get {described(item)}: {reasons}. "
                f"To go on without network, put the file at {path}"
            ) from error
        _write_record(path, source)
    return path, source


def set_aside(path: Path) -> None:
    """Take a file that is not what it should be out of the way, so that it is fetched again."""
    path.replace(path.with_name(path.name + ".bad"))
    _record_path(path).unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time work in a folder, where the system has locks.

    Whoever has the lock removes what killed downloads have left.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as stream:
        with contextlib.suppress(OSError):  # a network file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
            for left in folder.glob(".*"):
                if left.is_dir():
                    shutil.rmtree(left)
                elif left.name != ".lock":
                    left.unlink()
        yield


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _record(path: Path) -> dict:
    with contextlib.suppress(OSError, ValueError):
        return json.loads(_record_path(path).read_text(encoding="utf-8"))
    return {}


def _write_record(path: Path, source: str) -> None:
    sha256 = digest(path, "sha256")
    write_json(
        _record_path(path), {"sha256": sha256, "size": path.stat().st_size, "source": source}
    )


def _unfit(path: Path, item: Item) -> str | None:
    """Why a file cannot be the one meant, or none; without a checksum, its record decides."""
    reason = _wrong_form(path, item)
    if reason is not None:
        return reason
    recorded = None if item.is_pinned else _record(path).get("sha256")
    return mismatch(path, item._replace(sha256=recorded) if recorded else item)


def _wrong_form(path: Path, item: Item) -> str | None:
    """What tells a file, or its start, from one of the form that its name says, or none."""
    try:
        check_form(path, item.name, refuse_web_page=True)
    except InputError as error:
        return str(error)
    return None


def _first_mirror(item: Item, target: Path) -> str:
    """Write the first good copy to `target` and give its URL."""
    reasons = []
    for url in item.urls:
        reason = _fetch(url, item, target) or _unfit(target, item)
        if reason is None:
            return url
        log.warning("%s: %s", url, reason)
        reasons.append(f"{url}: {reason}")
    raise InputError("; ".join(reasons) or "no URL is known")


def _fetch(url: str, item: Item, target: Path) -> str | None:
    """Write what a URL serves; give the reason where that fails, after a few attempts."""
    reason = None
    for attempt in range(ATTEMPTS):
        if attempt:
            log.info("%s: %s; trying again (%d of %d)", url, reason, attempt + 1, ATTEMPTS)
            time.sleep(PAUSE * 2 ** (attempt - 1))
        reason, passing = _fetch_once(url, item, target)
        if reason is None or not passing:
            break
    return reason


def _fetch_once(url: str, item: Item, target: Path) -> tuple[str | None, bool]:
    """Write what a URL serves; give the reason of a failure and whether it may pass."""
    try:
        with requests.get(url, stream=True, timeout=TIMEOUT, headers=HEADERS) as response:
            if response.status_code != 200:
                reason = f"HTTP {response.status_code} {response.reason}"
                return reason, response.status_code in PASSING
            offered = int(response.headers.get("Content-Length") or 0)
            if item.size and offered and offered != item.size:
                target.write_bytes(response.raw.read(SAMPLE, decode_content=False))
                reason = f"serves {offered} bytes, expected {item.size}"
                return "; ".join(filter(None, (_wrong_form(target, item), reason))), False
            size = readable_size(offered or item.size) if offered or item.size else "unknown size"
            log.info("downloading %s (%s) from %s", item.name, size, url)
            _save(response, target, offered or item.size, item.name)
    except (requests.Timeout, urllib3.exceptions.TimeoutError):
        return "timed out", True
    except (urllib3.exceptions.HTTPError, OSError) as error:  # OSError: all of requests' errors
        return _reason(error), not isinstance(error, ValueError)
    return None, False


def _save(response: requests.Response, target: Path, size: int | None, name: str) -> None:
    with (
        target.open("wb") as sink,
        tqdm(total=size, unit="B", unit_scale=True, desc=name, disable=None) as bar,
    ):
        for chunk in response.raw.stream(1 << 20, decode_content=False):
            sink.write(chunk)
            bar.update(len(chunk))


def _reason(error: Exception) -> str:
    """The innermost reason of a failed request, in a few words."""
    text = " ".join(str(error).split())
    if "IncompleteRead" in text:
        return "the connection ended before the whole file had come"
    named = re.search(r"\[Errno -?\d+\] ([^'\")]+)", text)
    return named[1].strip() if named else text or type(error).__name__


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
