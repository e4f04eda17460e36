"""Snakemake's cache between workflows, made safe for several that fill it at one time.

Two workflows that make the same file at the same time both put it into the cache. Of a folder the
second would end up inside the first, and a third stop with an error; of a file the time would
change under the results that the first has made from it. Here the one that comes later takes what
is there, and nothing is taken of an entry that is not there as a whole.
"""

import fcntl
import os
import shutil
from pathlib import Path

from snakemake.caching.local import OutputFileCache

_store, _fetch = OutputFileCache.store, OutputFileCache.fetch


def make_safe() -> None:
    """Let Snakemake's cache in a folder work like this from now on."""
    OutputFileCache.store, OutputFileCache.fetch = _store_once, _fetch_whole


async def _store_once(cache: OutputFileCache, job) -> None:
    lock = os.open(cache.path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not await cache.exists(job):
            await _store(cache, job)
            return
    finally:
        os.close(lock)
    for path in map(Path, job.output):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    await _fetch(cache, job)


async def _fetch_whole(cache: OutputFileCache, job) -> None:
    if not await cache.exists(job):
        cache.raise_cache_miss_exception(job)
    await _fetch(cache, job)
