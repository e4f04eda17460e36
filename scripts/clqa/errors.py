"""The error that bad input raises."""


class InputError(ValueError):
    """Input that cannot be used; the message is one line that says what to do about it."""
