"""The file of explanations that the report reads."""

import os

from clqa.errors import InputError
from clqa.files import read_sealed


def read_explanations(path: str | os.PathLike, queries: str, query_set: str) -> dict:
    """What `clqa.explained_examples.explained` gave, under `queries`, and the `models` asked.

    Raises
    ------
    InputError
        If the file is damaged, or about other queries.
    """
    content = read_sealed(path)
    if content.get("query_set") != query_set:
        raise InputError(f"{path}: not about the queries of {queries}; run the workflow again")
    return content
