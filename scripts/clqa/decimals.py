"""Numbers as text files have them: ASCII digits, with no sign of any programming language."""


def decimal_number(text: str) -> float:
    """The number nearest to a decimal one, or infinite; NaN where the text is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        return float("nan")
