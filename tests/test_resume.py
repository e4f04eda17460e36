"""Runs that are killed, find the disk full or read-only, or are two in one folder, and go on."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from test_workflow import ROOT, TOY, done, files_below

# On queries of `valid`, which have no partner that is sampled, too.
SMALL = ("query_sets=[toy-valid]", "models=[popularity]", "shapes=[1p, 2in]", "shards=1")
SMALL += ("sets=[top@3]", "metrics=[mrr]")
PLUG = ROOT / "tests" / "fault_plug"
LOCKED = "It can be removed with the --unlock argument."


_NUMBERS = itertools.count(1)


class Started:
    """A run in a group of processes of its own, with a job that a fault may hit."""

    def __init__(self, folder: Path, *arguments: str, cores: int = 2, **fault):
        self.marker = folder.parent / f"struck-{next(_NUMBERS)}"
        left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
        environment = {key: value for key, value in os.environ.items() if key not in left_out}
        if fault:
            fault = {"write": 1, "moment": "half", "marker": str(self.marker), **fault}
            environment |= {"PYTHONPATH": str(PLUG), "CLQA_FAULT": json.dumps(fault)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", str(cores), *asked(folder), *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def struck(self) -> int:
        """Wait until a job is hit; its process."""
        end = time.monotonic() + 200
        while not self.marker.exists():
            assert self.process.poll() is None, self.process.communicate()[0][-2000:]
            assert time.monotonic() < end, "no job was hit"
            time.sleep(0.02)
        return int(self.marker.read_text())

    def ended(self) -> tuple[int, str]:
        """Wait for the end; the exit status and what was said."""
        output = self.process.communicate(timeout=300)[0]
        return self.process.returncode, output


def asked(folder: Path) -> list[str]:
    own = ["--directory", str(folder), "--configfile", str(TOY / "run.yaml")]
    return [*own, "--config", f"catalogues=[{TOY}]", *SMALL]


def run(folder: Path, *arguments: str, **fault) -> tuple[int, str]:
    return Started(folder, *arguments, **fault).ended()


def unlock(folder: Path) -> None:
    """What the message of a locked folder says: the next run, as it is, is refused."""
    status, output = run(folder)
    assert status == 1
    assert LOCKED in output
    assert run(folder, "--unlock")[0] == 0


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> list[Path]:
    """Two folders in which the run was done at the same time, from one clone."""
    folders = [tmp_path_factory.mktemp("two") / name for name in ("one", "other")]
    started = [Started(folder, cores=1) for folder in folders]
    for one in started:
        status, output = one.ended()
        assert status == 0, output[-2000:]
    return folders


def differing(folder: Path, whole: Path) -> list[str]:
    """Files other than those of the undisturbed run, but for what is told of a run that failed."""
    ours, theirs = files_below(folder / "results"), files_below(whole / "results")
    return [
        name
        for name, path in ours.items()
        if ".partial-" not in name
        and not name.startswith("runs/toy/partial/")
        and not name.endswith(".snakemake_timestamp")
        and (name not in theirs or path.read_bytes() != theirs[name].read_bytes())
    ]


def check_end(folder: Path, whole: Path) -> None:
    """The folder holds what an undisturbed run makes, to the byte, and nothing else."""
    assert differing(folder, whole) == []
    assert files_below(folder / "results").keys() == files_below(whole / "results").keys()
    assert done(ROOT, *asked(folder)) == {}


def test_two_runs_at_a_time_from_one_clone_do_not_touch_each_other(two):
    for one, other in (two, two[::-1]):
        check_end(one, other)


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(two, tmp_path):
    folder, whole = tmp_path / "killed", two[0]
    # The main process alone: its job lives on, and writes its file while the next run is done.
    first = Started(folder, rule="sample_queries", action="hold", write=2)
    first.struck()
    os.kill(first.process.pid, signal.SIGKILL)
    assert differing(folder, whole) == []
    unlock(folder)
    # A job.
    status, output = run(folder, rule="split_answers", action="kill", moment="written")
    assert status == 1
    assert "split_answers" in output
    first.marker.unlink()
    first.ended()
    assert differing(folder, whole) == []
    # All processes at once, while a model is ranked.
    third = Started(folder, rule="rank_answers", action="hold", write=2)
    third.struck()
    os.killpg(third.process.pid, signal.SIGKILL)
    third.ended()
    assert differing(folder, whole) == []
    unlock(folder)
    # In one folder only one runs at a time. What was whole is not made again.
    kept = [folder / f"results/{name}/toy-valid/all.parquet" for name in ("queries", "answers")]
    times = [path.stat().st_mtime_ns for path in kept]
    fourth = Started(folder, rule="assemble_report", action="hold", write=3)
    fourth.struck()
    status, output = run(folder)
    assert (status, LOCKED in output) == (1, True)
    fourth.marker.unlink()
    status, output = fourth.ended()
    assert status == 0, output[-2000:]
    check_end(folder, whole)
    assert [path.stat().st_mtime_ns for path in kept] == times


@pytest.fixture
def small_disk(tmp_path):
    """A folder whose results are on a disk of their own, of 8 MB."""
    results = tmp_path / "small" / "results"
    results.mkdir(parents=True)
    mounted = mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(results))
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield results.parent
    subprocess.run(["umount", str(results)], check=True)


def mount(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)


def fill(path: Path, free: int) -> None:
    """Write a file that leaves so many bytes of its disk free."""
    disk = os.statvfs(path.parent)
    path.write_bytes(bytes(disk.f_bavail * disk.f_frsize - free))


def test_a_run_on_a_full_and_on_a_read_only_disk_goes_on_where_it_was(two, small_disk):
    whole = two[0]
    for name in ("results", ".snakemake"):
        shutil.copytree(whole / name, small_disk / name, dirs_exist_ok=True)
    for name in ("ranks", "tops", "scores", "intervals", "comparisons", "sets", "runs"):
        shutil.rmtree(small_disk / "results" / name)
    filler = small_disk / "results/filler"
    fill(filler, free=16 * 1024)
    status, output = run(small_disk)
    assert status == 1
    assert "no space left on device; make room and run again" in output
    filler.unlink()
    assert differing(small_disk, whole) == []
    assert mount("-o", "remount,ro", str(small_disk / "results")).returncode == 0
    status, output = run(small_disk)
    assert status == 1
    assert "Read-only file system" in output
    assert mount("-o", "remount,rw", str(small_disk / "results")).returncode == 0
    assert differing(small_disk, whole) == []
    status, output = run(small_disk)
    assert status == 0, output[-2000:]
    check_end(small_disk, whole)
