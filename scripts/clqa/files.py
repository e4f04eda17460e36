"""Files that appear whole or not at all, and their digests."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from clqa.errors import InputError


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside `path`; move it onto `path` when the block ends well.

    The temporary file keeps the suffix of `path`. It is synced before it is renamed, and removed
    when the block raises, so that nobody ever sees half a file under the final name.

    Raises
    ------
    InputError
        If `path` is a device or a folder, which a file would otherwise take the place of.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: no regular file; name one to write to")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
