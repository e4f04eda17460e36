"""Pickles of plain data, read without running anything that they ask for."""

import collections
import os
import pickle
from pathlib import Path

from clqa.archives import check_form
from clqa.errors import InputError, abridged
from clqa.files import replacing

PLAIN = {
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "int": int,
    "str": str,
}
ALLOWED = {("collections", "defaultdict"): collections.defaultdict} | {
    (module, name): kind for name, kind in PLAIN.items() for module in ("builtins", "__builtin__")
}
BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
)


class _PlainUnpickler(pickle.Unpickler):
    """Resolves the types of plain data by their names and nothing else."""

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            asked = abridged(f"{module}.{name}").strip("'")
            raise InputError(
                f"the pickle asks for {asked}, which is refused: "
                f"only {', '.join(PLAIN)} and defaultdict are read, nothing is run"
            )
        return ALLOWED[module, name]


def read_pickle(path: str | os.PathLike, name: str | None = None) -> object:
    """Content of a pickle of dicts, sets, lists, tuples, numbers and strings.

    Parameters
    ----------
    name : str, optional
        What messages call the file.

    Raises
    ------
    InputError
        If the pickle asks for anything else (named, and not run), or is cut short or damaged.
    """
    name = name or Path(path).name
    check_form(Path(path), name, refuse_web_page=True)
    try:
        with open(path, "rb") as stream:
            return _PlainUnpickler(stream).load()
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except BROKEN as error:
        reason = " ".join(str(error).split())[:80]
        raise InputError(f"{name}: cut short, damaged, or not a pickle ({reason})") from error


def write_pickle(path: Path, content: object) -> None:
    """Pickle of plain dicts, sets, lists, tuples, numbers and strings."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(content, stream, protocol=4)
