"""The error that bad input raises."""

import os


class InputError(ValueError):
    """Input that cannot be used; the message is one line that says what to do about it."""


def damaged(path: str | os.PathLike, what: object, rule: str) -> InputError:
    """The error for a result file that is not what its rule has made; `what` becomes one line."""
    reason = " ".join(str(what).split())
    reason = reason if len(reason) <= 300 else reason[:297] + "..."
    return InputError(f"{path}: {reason}; delete it and run again, the rule {rule} makes it anew")
