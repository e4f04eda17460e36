"""Receipts: which files a folder of source files holds, and that they are still the same."""

import json
import os
import posixpath
from pathlib import Path

from clqa.checksums import mismatch
from clqa.errors import InputError
from clqa.files import write_json
from clqa.graph_entries import Item

NAME = "receipt.json"


def write_receipt(folder: Path, receipt: dict) -> None:
    """Put a receipt beside the files that it describes."""
    write_json(folder / NAME, receipt)


def received(folder: str | os.PathLike) -> tuple[dict[str, Path], dict[str, str], dict]:
    """Verified files by role, the names they came under, and the receipt.

    Raises
    ------
    InputError
        If a file is missing or has changed since it came.
    """
    try:
        receipt = json.loads(Path(folder, NAME).read_text(encoding="utf-8"))
        about = receipt["files"]
        files = {role: Path(folder, one["name"]) for role, one in about.items()}
        reasons = [
            mismatch(files[role], Item(one["name"], sha256=one["sha256"], size=one["size"]))
            for role, one in about.items()
        ]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: not a whole folder of source files; get it again") from error
    for role, reason in zip(about, reasons, strict=True):
        if reason is not None:
            raise InputError(f"{files[role]}: changed since it came, {reason}; get it again")
    return files, {role: posixpath.basename(one["path"]) for role, one in about.items()}, receipt
