"""The error that bad input raises."""

import contextlib
import os
from collections.abc import Iterator


class InputError(ValueError):
    """Input that cannot be used; the message is one line that says what to do about it."""


@contextlib.contextmanager
def placed(place: object) -> Iterator[None]:
    """Put the place, such as a file or a key, before the message of bad input."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    except RecursionError:
        raise InputError(f"{place}: nested too deeply; write it with fewer brackets") from None


def abridged(value: object, most: int = 80) -> str:
    """The value as code writes it, cut so that a message that quotes it stays a short line."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        text = f"<a huge {type(value).__name__}>"
    return text if len(text) <= most else text[: most - 1] + "…"


def damaged(path: str | os.PathLike, what: object, rule: str) -> InputError:
    """The error for a result file that is not what its rule has made; `what` becomes one line."""
    reason = " ".join(str(what).split())
    reason = reason if len(reason) <= 300 else reason[:297] + "..."
    return InputError(f"{path}: {reason}; delete it and run again, the rule {rule} makes it anew")
