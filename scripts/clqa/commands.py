"""What command lines have in common: checked outputs, a printed report, one line for bad input."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from clqa.errors import InputError


def check_outputs(
    outputs: Iterable[tuple[str | os.PathLike | None, tuple[str, ...]]],
    inputs: Iterable[str | os.PathLike | None],
) -> None:
    """Check what is to be written, before anything is.

    Parameters
    ----------
    outputs : paths, and the endings that the name may have; none for any
        A path that is None is not wanted.
    inputs : paths, None for those that are not given

    Raises
    ------
    InputError
        If an output has another ending, is no regular file, or is an input or the same file as
        another output.
    """
    taken = {os.path.realpath(path): "an input" for path in inputs if path is not None}
    for path, endings in outputs:
        if path is None:
            continue
        if endings and Path(path).suffix not in endings:
            raise InputError(f"{path}: tables are written as {' or '.join(endings)}")
        if Path(path).exists() and not Path(path).is_file():
            raise InputError(f"{path}: no regular file; name one to write to")
        place = os.path.realpath(path)
        if place in taken:
            raise InputError(f"{path}: is {taken[place]}, too; name another file to write to")
        taken[place] = "another output"


def printed(report: Callable[[], str]) -> int:
    """Print a report; return the exit code, which is 1 where a line tells what was wrong."""
    try:
        text = report()
    except (InputError, OSError, UnicodeError, MemoryError) as error:
        return _failed(str(error) or "out of memory")
    try:
        print(text, flush=True)
    except (OSError, UnicodeError) as error:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the end flushes it once more
        return _failed(f"the standard output cannot be written ({error})")
    return 0


def _failed(what: str) -> int:
    print(f"error: {InputError(what)}", file=sys.stderr)
    return 1
