"""Pickles of plain data, read without running anything that they ask for."""

import collections
import mmap
import os
import pickle
from pathlib import Path

from clqa.archives import check_form
from clqa.errors import InputError, abridged
from clqa.files import replacing
from clqa.pickle_scans import scan_pickle

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


def _factory(kind: type):
    """The type as what makes an empty value of it; values of types are written in other ways."""

    def make(*arguments):
        if arguments:
            raise InputError(f"the pickle calls {kind.__name__}, which is refused")
        return kind()

    return make


# What a pickle gets by these names. It calls types with arguments where they have no opcode.
_GIVEN = ALLOWED | {
    (module, kind.__name__): _factory(kind)
    for module, _ in ALLOWED
    for kind in (dict, list, tuple, int, str)
}


class _PlainUnpickler(pickle.Unpickler):
    """Resolves the types of plain data by their names and nothing else."""

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            asked = abridged(f"{module}.{name}").strip("'")
            raise InputError(
                f"the pickle asks for {asked}, which is refused: "
                f"only {', '.join(PLAIN)} and defaultdict are read, nothing is run"
            )
        return _GIVEN[module, name]


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
            scan_pickle(mapped(stream))
            return _PlainUnpickler(stream).load()
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except BROKEN as error:
        reason = " ".join(str(error).split())[:80]
        raise InputError(f"{name}: cut short, damaged, or not a pickle ({reason})") from error


def mapped(stream) -> mmap.mmap | bytes:
    """The content of a file."""
    size = os.fstat(stream.fileno()).st_size
    return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def write_pickle(path: Path, content: object) -> None:
    """Pickle of plain dicts, sets, lists, tuples, numbers and strings."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(content, stream, protocol=4)
