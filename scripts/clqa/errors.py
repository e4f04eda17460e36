"""The error that bad input raises."""

import collections
import contextlib
import os
import re
from collections.abc import Iterator

_LONGEST = 1000  # characters of a message
_LONG_WORD = re.compile(r"\S{201,}")
_BRACKETS = {list: "[]", tuple: "()", frozenset: ("frozenset({", "})")}
_BRACKETS |= dict.fromkeys((set, dict, collections.defaultdict), "{}")


class InputError(ValueError):
    """Input that cannot be used; the message is one line that says what to do about it.

    Messages quote names from files: what no terminal should be sent is written as an escape, and
    the middle of a very long word or message is left out.
    """

    def __init__(self, message: object):
        text = str(message)
        if not text.isprintable():
            text = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
        if len(text) > 200:
            text = _LONG_WORD.sub(lambda found: f"{found[0][:110]}…{found[0][-80:]}", text)
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST - 400]} … {text[-300:]}"
        super().__init__(text)


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
    """The value as code writes it, cut so that a message that quotes it stays a short line.

    No more of a value is looked at than is shown: it may hold itself, or parts of it many times.
    """
    text = ""
    try:
        for piece in _written(value, most):
            text += piece
            if len(text) > most:
                return text[: most - 1] + "…"
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        text = f"<a huge {type(value).__name__}>"
    return text


def _written(value: object, most: int) -> Iterator[str]:
    """The text of a value in pieces."""
    if type(value) in _BRACKETS and value:
        first, last = _BRACKETS[type(value)]
        yield first
        for place, part in enumerate(value):
            yield ", " if place else ""
            yield from _written(part, most)
            if isinstance(value, dict):
                yield ": "
                yield from _written(value[part], most)
        yield ",)" if isinstance(value, tuple) and len(value) == 1 else last
    elif isinstance(value, (str, bytes)) and len(value) > most:
        yield repr(value[: most + 1])
    else:
        yield repr(value)


def damaged(path: str | os.PathLike, what: object, rule: str) -> InputError:
    """The error for a result file that is not what its rule has made; `what` becomes one line."""
    reason = " ".join(str(what).split())
    reason = reason if len(reason) <= 300 else reason[:297] + "..."
    return InputError(f"{path}: {reason}; delete it and run again, the rule {rule} makes it anew")
