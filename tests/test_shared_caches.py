"""What a second working directory takes from a shared cache, and what it makes anew."""

import asyncio
import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.caching.local import OutputFileCache
from snakemake.exceptions import CacheMissException
from snakemake.iocontainers import Namedlist

from clqa.shared_caches import make_safe
from test_workflow import clone

MADE = (
    "graphs/toy/graph.npz",
    "queries/toy-test/part-1.parquet",
    "answers/toy-test/part-1.parquet",
    "queries/toy-published/1p.parquet",
    "answers/toy-published/1p.parquet",
    "predictors/toy/tiny.npz",
    "graphs/nations/graph.npz",
)
PUBLISHED = """
toy-published:
  graph: toy
  split: test
  shapes: [1p]
  published:
    source: { kind: path, folder: given }
    layout: neutral
    fields: labels
    files: { queries: queries.jsonl }
    counts: { 1p: 1 }
"""
QUERY = (
    '{"formula": "r1(s1,f)", "anchors": ["n05"], "relations": ["likes"],'
    ' "easy": [], "hard": ["n16"]}\n'
)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A clone whose toy catalogues have a published query set, too."""
    folder = clone(tmp_path_factory.mktemp("cached") / "clone", copy=shutil.copy2)
    toy = folder / "tests" / "toy"
    with open(toy / "query_sets.yaml", "a", encoding="utf-8") as catalogue:
        catalogue.write(PUBLISHED)
    (toy / "given").mkdir()
    (toy / "given" / "queries.jsonl").write_text(QUERY, encoding="utf-8")
    return folder


def start(source: Path, folder: Path, cache: Path, *settings: str) -> subprocess.Popen:
    """Make all that can be shared, in an empty folder."""
    folder.mkdir(parents=True)
    toy = source / "tests" / "toy"
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(source / "Snakefile")]
    command += [f"results/{name}" for name in MADE]
    command += ["--cores", "1", "--cache", "--directory", str(folder)]
    command += ["--configfile", str(toy / "run.yaml"), "--config", f"catalogues=[{toy}]", *settings]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with open(folder / "output.txt", "wb") as out:
        return subprocess.Popen(
            command,
            env={**inherited, "SNAKEMAKE_OUTPUT_CACHE": str(cache)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def end(process: subprocess.Popen, folder: Path) -> None:
    assert process.wait(540) == 0, (folder / "output.txt").read_text()[-3000:]


def put_into_cache(folder: Path) -> list[str]:
    """The results that a run has made itself and put into the cache."""
    text = (folder / "output.txt").read_text(encoding="utf-8")
    return re.findall(r"^Moving output file results/(.+) to cache\.$", text, re.MULTILINE)


def made(folder: Path) -> dict[str, Path]:
    """Results by their paths; a cached folder may be a link, which other searches pass by."""
    results = folder / "results"
    walked = os.walk(results, followlinks=True)
    found = [Path(place, name) for place, _, names in walked for name in names]
    files = {path.relative_to(results).as_posix(): path for path in found}
    return {
        name: path
        for name, path in files.items()
        if not name.startswith("logs/") and path.name != ".snakemake_timestamp"
    }


def assert_same(one: Path, other: Path) -> None:
    ours, theirs = made(one), made(other)
    assert ours.keys() == theirs.keys()
    assert [n for n in ours if not filecmp.cmp(ours[n], theirs[n], shallow=False)] == []


@pytest.fixture(scope="module")
def shared(source, tmp_path_factory) -> Path:
    """Two folders that filled a cache at the same time, the cache, and a third filled from it."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "cache").mkdir()
    both = [folder / "one", folder / "below" / "two"]
    for process, place in [(start(source, place, folder / "cache"), place) for place in both]:
        end(process, place)
    third = folder / "three"
    end(start(source, third, folder / "cache"), third)
    return folder


def test_a_further_folder_makes_nothing_again(shared):
    assert put_into_cache(shared / "three") == []
    assert_same(shared / "one", shared / "three")
    for name, path in made(shared / "three").items():
        assert (shared / "cache") in path.resolve().parents, name


def test_folders_that_fill_a_cache_at_the_same_time_have_the_same_files(shared):
    both = [*put_into_cache(shared / "one"), *put_into_cache(shared / "below" / "two")]
    assert set(MADE) <= set(both)
    assert len(both) == len(set(both))
    assert_same(shared / "one", shared / "below" / "two")
    for entry in (shared / "cache").iterdir():
        inside = [entry] if entry.is_file() else list(entry.iterdir())
        assert not any(path.is_dir() or ".partial-" in path.name for path in inside), entry


def test_what_depends_on_a_changed_setting_is_made_again_beside_what_there_is(
    source, shared, tmp_path
):
    times = {path: path.stat().st_mtime_ns for path in made(shared / "one").values()}
    end(start(source, tmp_path / "other", shared / "cache", "seed=5"), tmp_path / "other")
    again = {name.rpartition("/")[0] for name in put_into_cache(tmp_path / "other")}
    assert again == {"queries/toy-test", "answers/toy-test"}
    assert {path: path.stat().st_mtime_ns for path in times} == times


class Cache(OutputFileCache):
    """The cache of jobs that say themselves what their key is."""

    async def get_outputfiles_and_cachefiles(self, job):
        return [(Path(path), self.path / f"key_{name}") for name, path in job.output._allitems()]


def job_in(folder: Path, content: str) -> SimpleNamespace:
    """A job that has just made a file, and a folder with a file."""
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "train.txt").write_text(content)
    (folder / "receipt.json").write_text(content)
    names = {"source": str(folder / "source"), "receipt": str(folder / "receipt.json")}
    rule = SimpleNamespace(name="download_graph")
    return SimpleNamespace(output=Namedlist(fromdict=names), rule=rule)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Cache:
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(OutputFileCache, "store", OutputFileCache.store)
    monkeypatch.setattr(OutputFileCache, "fetch", OutputFileCache.fetch)
    make_safe()
    return Cache()


def test_who_comes_later_takes_what_is_there(cache, tmp_path):
    for name in "abc":
        asyncio.run(cache.store(job_in(tmp_path / name, name)))
    for name in "abc":
        assert (tmp_path / name / "source" / "train.txt").read_text() == "a"
        assert (tmp_path / name / "receipt.json").read_text() == "a"
    assert [path.name for path in (tmp_path / "cache" / "key_source").iterdir()] == ["train.txt"]


def test_nothing_is_taken_of_an_entry_that_is_not_whole(cache, tmp_path):
    asyncio.run(cache.store(job_in(tmp_path / "a", "a")))
    (tmp_path / "cache" / "key_receipt").unlink()
    other = job_in(tmp_path / "b", "b")
    shutil.rmtree(tmp_path / "b")
    (tmp_path / "b").mkdir()
    with pytest.raises(CacheMissException):
        asyncio.run(cache.fetch(other))
    assert list((tmp_path / "b").iterdir()) == []
