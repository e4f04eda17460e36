"""Where dumps lie that are read once and removed: among the results, or on a disk of the node."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from clqa.errors import InputError

# Of the environment alone: no configuration file gets to write outside of the working directory.
VARIABLE = "CLQA_SCRATCH"


def scratch_folder(environment: Mapping[str, str], working_directory: str) -> str | None:
    """The folder that stands for `results` where dumps are not kept; None if there is no other.

    Each working directory has its own, as runs of several may share a node. It is not looked for:
    it need not be there where jobs are submitted.

    Raises
    ------
    InputError
        If the variable holds anything but an absolute path without braces, which mark wildcards, or
        that of something else than a folder.
    """
    given = environment.get(VARIABLE, "")
    if not given:
        return None
    if not Path(given).is_absolute() or any(c in "{}" or not c.isprintable() for c in given):
        what = "expected the absolute path of a folder, without braces"
        raise InputError(f"{VARIABLE}: {what}, found {given!r}; set it anew, or unset it")
    if Path(given).exists() and not Path(given).is_dir():
        raise InputError(f"{VARIABLE}: {given!r} is no folder; set it anew, or unset it")
    digest = hashlib.sha256(os.fsencode(working_directory)).hexdigest()[:16]
    return f"{os.path.normpath(given).rstrip('/')}/clqa-{digest}"
