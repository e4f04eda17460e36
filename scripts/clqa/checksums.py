"""Whether a file is the one that was meant."""

import hashlib
import os
from pathlib import Path

from clqa.errors import InputError
from clqa.files import sha256_of
from clqa.graph_entries import Item


def mismatch(path: str | os.PathLike, item: Item) -> str | None:
    """What tells the file at `path` from the one that `item` describes, or none.

    The text shows both checksums and both sizes.
    """
    size = Path(path).stat().st_size
    for name, expected in (("sha256", item.sha256), ("md5", item.md5)):
        if not expected:
            continue
        found = digest(path, name)
        if found != expected.lower():
            wanted = f"{name} {expected}" + (f", {item.size} bytes" if item.size else "")
            return f"wrong checksum: expected {wanted}; found {name} {found}, {size} bytes"
    if item.size is not None and size != item.size:
        return f"wrong size: expected {item.size} bytes, found {size}"
    return None


def digest(path: str | os.PathLike, algorithm: str) -> str:
    """Hex digest of a file's content by `sha256` or `md5`."""
    if algorithm == "sha256":
        return sha256_of(path)
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def verify(path: str | os.PathLike, item: Item) -> None:
    """Raise `InputError` if the file at `path` is not the one that `item` describes."""
    reason = mismatch(path, item)
    if reason is not None:
        raise InputError(f"{item.name}: {reason}")


def described(item: Item) -> str:
    """The file in words, for messages: its name, checksum and size as far as they are known."""
    known = [
        f"sha256 {item.sha256}" if item.sha256 else "",
        f"md5 {item.md5}" if item.md5 else "",
        readable_size(item.size) if item.size else "",
    ]
    return f"{item.name} ({', '.join(filter(None, known)) or 'checksum unknown'})"


def readable_size(n_bytes: int) -> str:
    """A number of bytes as people write it, with the exact number where that is short."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.1f} {unit}"
    return f"{n_bytes} bytes"
