"""Compiled functions whose machine code is kept on disk for as long as their source stays the same.

numba's own cache looks only at the file in which a function stands, and would go on using machine
code into which an older version of an imported function was compiled. It also looks at the file's
path; here clones share machine code, if they share the folder `NUMBA_CACHE_DIR`.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import intrinsic

from clqa.sources import digest

_ROOT = Path(__file__).resolve().parents[1]
_ADDRESS = ir.PointerType(ir.IntType(8))


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


def contracted(function: Callable) -> Callable:
    """A kernel in which a product and the sum that it is part of may be rounded once, together."""
    return _compiled(function, fastmath={"contract"})


def reordering(function: Callable) -> Callable:
    """A kernel whose sums may be taken in any order: for sums that are exact in every order."""
    return _compiled(function, fastmath={"reassoc", "nsz"})


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


@intrinsic
def prefetch(_, array, place):
    """Have the processor fetch an entry of an array from memory while it goes on."""

    def code(context, builder, signature, arguments):
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(values.data, [arguments[1]]), _ADDRESS)
        numbers = [ir.Constant(ir.IntType(32), number) for number in (0, 2, 1)]
        asked = ir.FunctionType(ir.VoidType(), [_ADDRESS, *(one.type for one in numbers)])
        fetch = cgutils.get_or_insert_function(builder.module, asked, "llvm.prefetch.p0i8")
        builder.call(fetch, [address, *numbers])
        return context.get_dummy_value()

    return types.void(array, types.intp), code
