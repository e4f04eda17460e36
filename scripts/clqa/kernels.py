"""Compiled functions whose machine code is kept on disk for as long as their source stays the same.

numba's own cache looks only at the file in which a function stands, and would go on using machine
code into which an older version of an imported function was compiled. It also looks at the file's
path; here clones share machine code, if they share the folder `NUMBA_CACHE_DIR`.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import numba
from numba.core.caching import UserProvidedCacheLocator

from clqa.sources import digest

_ROOT = Path(__file__).resolve().parents[1]


class Locator(UserProvidedCacheLocator):
    """The folder that is chosen, whatever the path of the source is."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return "code"


def kernel(function: Callable) -> Callable:
    """Compile a function with numba at its first call, or load what was compiled before.

    The machine code is kept in `__pycache__` beside the source, or below `NUMBA_CACHE_DIR`, in a
    folder named by the digest of the function's module and of every module of ours it imports.
    """
    return _compiled(function)


def inlined(function: Callable) -> Callable:
    """A kernel whose code stands wherever it is called: for the few lines of inner loops.

    Handing over records of arrays costs more than such lines do.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: Callable, **options) -> Callable:
    before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_DIR = _folder(function.__code__.co_filename, before[0])
    # Where nobody may write into the chosen folder, the user's own one is taken.
    numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator,UserWideCacheLocator"
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = before


@functools.cache
def _folder(file: str, chosen: str) -> str:
    path = Path(file).resolve()
    kept = Path(chosen) if chosen else path.parent / "__pycache__"
    return str(kept / f"kernels-{path.stem}-{digest(path, root=_ROOT)[:16]}")
