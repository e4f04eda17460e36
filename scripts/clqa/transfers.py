"""Fetching a file over HTTP: a few attempts, each of which goes on where the last one stopped.

What has come of a file stays beside it as `.<name>.part` for as long as the server says how to tell
that it still serves the same (an ETag, or a date); `.<name>.part.json` has that. Proxies are those
of the environment, redirects are followed.
"""

import contextlib
import logging
import re
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import requests
import urllib3
from tqdm import tqdm

from clqa.archives import wrong_form
from clqa.checksums import readable_size
from clqa.errors import InputError
from clqa.files import read_json, write_json
from clqa.graph_entries import Item

ATTEMPTS = 3  # one after another that bring nothing
PAUSE = 2.0  # seconds before the second attempt, doubled before each further one
LONGEST_PAUSE = 60.0  # seconds, whatever a server asks for
TIMEOUT = (15, 60)  # seconds to connect, and to wait for more bytes
WINDOW, LEAST = 60, 1 << 16  # seconds, and how many bytes must come within them
PROGRESS = 1 << 20  # bytes that make an attempt one that has brought something
MOST = 1 << 38  # bytes of a file of which the catalogue does not say the size
SAMPLE = 512  # bytes of a file of the wrong size that are looked at
PASSING = {408, 425, 429, 500, 502, 503, 504}
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "clqa (graph download)"}

log = logging.getLogger(__name__)


class Failure(NamedTuple):
    """Why an attempt has failed, whether another may do better, and how long it should wait."""

    reason: str
    may_pass: bool = False
    pause: float = 0.0


class _UnfitError(Exception):
    """The body is not to be read on; the argument is the failure."""


def fetch(url: str, item: Item, part: Path) -> str | None:
    """Write what a URL serves to `part`; give the reason where that fails after all attempts."""
    idle, furthest = 0, _begun(url, part)
    while True:
        failure = _fetch_once(url, item, part)
        if failure is None or not failure.may_pass:
            return failure and failure.reason
        reached = _size(part)
        idle = 0 if reached >= furthest + PROGRESS else idle + 1
        furthest = max(furthest, reached)
        if idle >= ATTEMPTS:
            return failure.reason
        pause = max(failure.pause, PAUSE * 2 ** max(0, idle - 1))
        log.info("%s: %s; trying again (%d of %d)", url, failure.reason, idle + 1, ATTEMPTS)
        time.sleep(min(pause, LONGEST_PAUSE))


def forget(part: Path) -> None:
    """Remove what has come of a file."""
    for path in (part, _record_path(part)):
        path.unlink(missing_ok=True)


def can_go_on(part: Path) -> bool:
    """Whether it is known how to fetch the rest of what has come."""
    return _size(part) > 0 and bool(_record(part))


def _record_path(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _record(part: Path) -> dict:
    with contextlib.suppress(InputError):
        found = read_json(_record_path(part))
        texts = [found.get(key) for key in ("url", "validator")]
        is_sound = all(
            isinstance(one, str) and one.isascii() and one.isprintable() for one in texts
        )
        return found if is_sound else {}
    return {}


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _begun(url: str, part: Path) -> int:
    """How many bytes have come of what a URL serves."""
    return _size(part) if _record(part).get("url") == url else 0


def _fetch_once(url: str, item: Item, part: Path) -> Failure | None:
    start, headers = _begun(url, part), dict(HEADERS)
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": _record(part)["validator"]}
    try:
        with requests.get(url, stream=True, timeout=TIMEOUT, headers=headers) as response:
            return _received(response, url, item, part, start)
    except _UnfitError as unfit:
        return unfit.args[0]
    except (requests.Timeout, urllib3.exceptions.TimeoutError):
        return Failure("timed out", may_pass=True)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:  # OSError: of requests
        return Failure(_reason(error), not isinstance(error, ValueError))


def _received(response, url: str, item: Item, part: Path, start: int) -> Failure | None:
    """Write the body of an answer, after the first `start` bytes if it says to have the rest."""
    status = response.status_code
    if start and status in (206, 416):
        total = _total_of_rest(response, start)
        if total is None:
            forget(part)
            return Failure("the server has no such rest of the file", may_pass=True)
    elif status == 200:
        start, total = 0, _whole_number(response.headers.get("Content-Length"))
    else:
        pause = _whole_number(response.headers.get("Retry-After"))
        return Failure(f"HTTP {status} {response.reason:.80}", status in PASSING, pause)
    if item.size and total and total != item.size:
        forget(part)
        part.write_bytes(response.raw.read(SAMPLE, decode_content=False))
        reasons = wrong_form(part, item.name), f"serves {total} bytes, expected {item.size}"
        forget(part)
        return Failure("; ".join(filter(None, reasons)))
    total = total or item.size or 0
    _check_room(part, total, start)
    size = readable_size(total) if total else "unknown size"
    if start:
        log.info("going on with %s (%s) at %s", item.name, size, readable_size(start))
    else:
        forget(part)
        _keep_validator(response, url, part)
        log.info("downloading %s (%s) from %s", item.name, size, url)
    _save(response, part, start, total, item)
    return None


def _total_of_rest(response, start: int) -> int | None:
    """Size of the whole file, 0 if unknown; None if the answer is not the rest from `start` on."""
    found = re.fullmatch(
        r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)", response.headers.get("Content-Range", "")
    )
    if response.status_code != 206 or found is None or int(found[1]) != start:
        return None
    return 0 if found[2] == "*" else int(found[2])


def _whole_number(text: str | None) -> int:
    """A number of a header, 0 if it is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text or "") else 0


def _check_room(part: Path, total: int, start: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if total > MOST:
        text = f"serves {readable_size(total)}, more than {readable_size(MOST)}"
        raise _UnfitError(Failure(text + "; give its size in the catalogue"))
    if total - start > free:
        text = f"{readable_size(total - start)} to come, but {readable_size(free)} free on the disk"
        raise _UnfitError(Failure(text))


def _keep_validator(response, url: str, part: Path) -> None:
    """Write down by what the server tells one version of the file from another, if it does."""
    tag = response.headers.get("ETag", "")
    validator = tag if tag.startswith('"') else response.headers.get("Last-Modified")
    if validator and response.headers.get("Accept-Ranges") != "none":
        write_json(_record_path(part), {"url": url, "validator": validator})


def _save(response, part: Path, start: int, total: int, item: Item) -> None:
    """Append the body; stop where it is longer than it may be, or comes too slowly."""
    most = total or MOST
    came, since, seen = start, time.monotonic(), start
    with (
        part.open("ab") as sink,
        tqdm(
            total=total or None,
            initial=start,
            unit="B",
            unit_scale=True,
            desc=item.name,
            disable=None,
        ) as bar,
    ):
        while chunk := response.raw.read1(1 << 20, decode_content=False):
            came += len(chunk)
            if came > most:
                raise _UnfitError(Failure(f"serves more than {readable_size(most)}"))
            sink.write(chunk)
            bar.update(len(chunk))
            if time.monotonic() - since > WINDOW:
                if came - seen < LEAST:
                    text = f"too slow, {came - seen} bytes in {WINDOW} s"
                    raise _UnfitError(Failure(text, may_pass=True))
                since, seen = time.monotonic(), came
    if came < total:
        raise _UnfitError(
            Failure("the connection ended before the whole file had come", may_pass=True)
        )


def _reason(error: Exception) -> str:
    """The innermost reason of a failed request, in a few words."""
    text = " ".join(str(error).split())
    if "IncompleteRead" in text:
        return "the connection ended before the whole file had come"
    named = re.search(r"\[Errno -?\d+\] ([^'\")]+)", text)
    return named[1].strip() if named else text[:300] or type(error).__name__
