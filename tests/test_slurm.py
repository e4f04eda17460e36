"""The workflow on a real Slurm of one node: the same bytes, whatever befalls jobs and node."""

import filecmp
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import private_slurm
from test_workflow import clone, files_below

# The environment that `make slurm` makes, beside the one of the tests.
PYTHON = Path(f"{sys.prefix}-slurm", "bin", "python")

# Appended to a method: the first attempt ends as one that the kernel kills for its memory does.
DIES_ONCE = """
import os, signal
from pathlib import Path

if "CLQA_DIES_ONCE" in os.environ and not Path(os.environ["CLQA_DIES_ONCE"]).exists():
    Path(os.environ["CLQA_DIES_ONCE"]).touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def why_not() -> str | None:
    if not PYTHON.exists():
        return f"no {PYTHON}: make slurm"
    return private_slurm.why_not()


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def snakemake(python: Path | str, source: Path, folder: Path, *arguments: str, **environment):
    """Start the test run of a clone in another folder."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    folder.mkdir()
    command = [python, "-m", "snakemake", "--snakefile", source / "Snakefile"]
    command += ["--directory", folder, "--configfile", source / "config" / "test.yaml"]
    with open(folder / "output.txt", "wb") as out:
        return subprocess.Popen(
            [*map(str, command), *arguments],
            cwd=source,
            env={**inherited, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def output(folder: Path) -> str:
    return (folder / "output.txt").read_text(encoding="utf-8")


def seen(slurm: private_slurm.Slurm, what: str, state: str) -> list[dict[str, str]]:
    """The jobs of a rule or group that are in a state."""
    return [
        job for job in slurm.jobs() if what in job.get("Comment", "") and job["JobState"] == state
    ]


class Trouble:
    """Cancels the job of one rule, and restarts the node while those of another run."""

    def __init__(self, slurm: private_slurm.Slurm):
        self.slurm = slurm
        self.cancelled, self.jobs_then = None, []

    def make(self) -> None:
        if self.cancelled is None:
            for job in seen(self.slurm, "build_graph", "RUNNING")[:1]:
                self.cancelled = job["JobId"]
                self.slurm.run("scancel", job["JobId"])
        if not self.jobs_then:
            self.jobs_then = [job["JobId"] for job in seen(self.slurm, "queries", "RUNNING")]
            if self.jobs_then:
                self.slurm.stop_node()
                time.sleep(1)
                self.slurm.start_node()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A local run; the same on Slurm with its troubles; and what Slurm then knew of the jobs."""
    folder = tmp_path_factory.mktemp("slurm")
    source = clone(folder / "clone")
    with open(source / "scripts/models/popularity.py", "a", encoding="utf-8") as method:
        method.write(DIES_ONCE)
    settings = ("--config", "keep_predictions=false")
    local = snakemake(sys.executable, source, folder / "local", "--cores", "1", *settings)
    settings += ("--workflow-profile", "slurm", "--cores", "2", "--latency-wait", "20")
    site = ("--slurm-status-command", "squeue", "--slurm-no-account")
    site += ("--slurm-init-seconds-before-status-checks", "3")
    end = time.monotonic() + 900
    with private_slurm.running(cpus=4) as slurm:
        trouble, told = Trouble(slurm), {"CLQA_DIES_ONCE": str(folder / "died")}
        told["CLQA_SCRATCH"] = str(folder / "node")
        remote = snakemake(PYTHON, source, folder / "remote", *settings, *site, **told)
        try:
            while remote.poll() is None:
                trouble.make()
                assert time.monotonic() < end, output(folder / "remote")[-3000:] + slurm.logs()
                time.sleep(0.3)
            jobs = slurm.jobs()
            assert remote.returncode == 0, output(folder / "remote")[-5000:] + slurm.logs()
            assert local.wait(end - time.monotonic()) == 0, output(folder / "local")[-3000:]
        finally:
            for process in (remote, local):
                if process.poll() is None:
                    process.terminate()
                    process.wait()
    return folder, jobs, trouble


def memory(job: dict[str, str]) -> int:
    return int(job["MinMemoryNode"].removesuffix("M"))


def test_results_have_the_bytes_of_a_local_run(runs):
    folder, _, _ = runs
    ours, theirs = (files_below(folder / name / "results") for name in ("local", "remote"))
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not filecmp.cmp(ours[name], theirs[name], shallow=False)]
    assert different == []
    assert "runs/test/report.html" in ours


def test_predictions_stay_on_the_node_while_they_are_needed(runs):
    folder, _, _ = runs
    # The folder was made for them, and none is left.
    assert [len(list(place.iterdir())) for place in (folder / "node").iterdir()] == [0]
    assert not [name for name in files_below(folder / "remote" / "results") if ".npy" in name]


def test_few_jobs_are_submitted(runs):
    """Two of shards, nine of models, one of the graph and one of the report; two anew."""
    _, jobs, _ = runs
    assert len(jobs) == 13 + 2


def test_a_cancelled_job_is_submitted_again(runs):
    _, jobs, trouble = runs
    states = [job["JobState"] for job in jobs if "build_graph" in job["Comment"]]
    assert trouble.cancelled is not None
    assert states == ["CANCELLED", "COMPLETED"]


def test_a_job_that_is_killed_asks_for_more_memory(runs):
    folder, jobs, _ = runs
    assert (folder / "died").exists()
    ranking = [job for job in jobs if "ranking" in job["Comment"]]
    (failed,) = [job for job in ranking if job["JobState"] == "FAILED"]
    others = {memory(job) for job in ranking if job["JobId"] != failed["JobId"]}
    assert memory(failed) == min(others)
    assert max(others) == 2 * memory(failed)
    assert re.search(r"-9\b|137|SIGKILL", output(folder / "remote"))


def test_jobs_go_on_while_their_node_restarts(runs):
    _, jobs, trouble = runs
    states = {job["JobId"]: job["JobState"] for job in jobs}
    assert trouble.jobs_then
    assert {states[job] for job in trouble.jobs_then} == {"COMPLETED"}
