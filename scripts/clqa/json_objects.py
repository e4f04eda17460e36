"""JSON objects of published files: read strictly, refused in one line."""

import json
from pathlib import Path

from clqa.archives import check_form
from clqa.errors import InputError, abridged


class DoubleKeyError(ValueError):
    """A key is in a JSON object twice."""


def read_object(path: Path, name: str) -> dict:
    """Content of a JSON file that has an object, with every key once.

    Raises
    ------
    InputError
        If the file is a web page, cut short, or anything else.
    """
    check_form(path, name, refuse_web_page=True)
    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: cut short, damaged, or not JSON ({reason})") from None
    if not isinstance(content, dict):
        raise InputError(f"{name}: expected a JSON object, found a {type(content).__name__}")
    return content


def unique(pairs: list[tuple[str, object]]) -> dict:
    """The object of these pairs, for `json.loads`; a key that is there twice is refused."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise DoubleKeyError(f"the key {abridged(double)} is there twice")
    return content
