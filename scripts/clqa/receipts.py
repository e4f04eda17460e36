"""Receipts: which files a folder of source files holds, and that they are still the same."""

import os
import posixpath
from pathlib import Path

from clqa.checksums import mismatch
from clqa.errors import InputError, damaged
from clqa.files import read_json, write_json
from clqa.graph_entries import Item

NAME = "receipt.json"
DOWNLOADS = "download_graph or download_queries"


def write_receipt(folder: Path, receipt: dict) -> None:
    """Put a receipt beside the files that it describes."""
    write_json(folder / NAME, receipt)


def received_as(path: str | os.PathLike, file: Path) -> dict | None:
    """What a receipt says of a file of the user's own; None if it has no such file, or is none."""
    try:
        taken = read_json(path)["files"].values()
        return next((one for one in taken if _ends_with(file, one["path"])), None)
    except (InputError, KeyError, AttributeError, TypeError):
        return None


def _ends_with(file: Path, path: str) -> bool:
    parts = Path(path).parts
    return file.parts[len(file.parts) - len(parts) :] == parts


def received(folder: str | os.PathLike) -> tuple[dict[str, Path], dict[str, str], dict]:
    """Verified files by role, the names they came under, and the receipt.

    Raises
    ------
    InputError
        If a file is missing or has changed since it came.
    """
    try:
        receipt = read_json(Path(folder, NAME))
        about = receipt["files"]
        files = {role: Path(folder, one["name"]) for role, one in about.items()}
        reasons = [
            mismatch(files[role], Item(one["name"], sha256=one["sha256"], size=one["size"]))
            for role, one in about.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"not a whole folder of source files ({error})"
        raise damaged(folder, what, DOWNLOADS) from error
    for role, reason in zip(about, reasons, strict=True):
        if reason is not None:
            what = f"changed since it came, {reason}; delete {folder} and run again"
            raise InputError(f"{files[role]}: {what}")
    return files, {role: posixpath.basename(one["path"]) for role, one in about.items()}, receipt
