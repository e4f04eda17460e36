"""Run the whole fault campaign and write its tables: `make faults`, some ten minutes."""

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fault_steps import STEPS
from faults import BOUNDARIES, INSIDE, SEED, Campaign, Fault, Outcome
from test_resume import LOCKED, Started, differing, run
from test_workflow import files_below

PAGE = Path(__file__).resolve().parents[1] / "docs" / "faults.md"
N_RUNS = 12
VICTIMS = {"main": "the main process", "job": "a job", "all": "all processes"}
HEAD = """# What faults do to a run

This page is written by `make faults`. The test suite does a part of it at every change, and beside
it fills a small disk, makes one read-only, and starts two runs in one folder.

A file has its name once it is whole and on the disk. What was struck is done again by the same
command, and what was whole is kept. Three things to know:

- After `kill -9` of the main process or a power cut, Snakemake says that the folder is locked;
  `snakemake --unlock` and the same command go on. Jobs of a killed main process live on and end
  their writes, to the same bytes; before you go on with other settings, let them end, or end them.
- In one folder one run goes at a time; the second is refused. Others have their own `--directory`.
- With `--keep-going` a job that fails stops only what depends on it; a shape on which a model fails
  never stops another. The exit status is 1, so that what failed is tried again next time, and
  `results/runs/{run}/partial/report.html` has what there is.

"""
STEPS_TEXT = """## Faults at each write

Each step of a toy run is struck at each file that it writes (of the report's tables at {tables}):
killed before it is begun, after half of its bytes, before it is synced and once it has its name;
and with a disk that is full at the first three of these. After that, what lies under a final name
is held against the undisturbed run, the step is done again, and all files are held against it once
more.

"""
RUNS_TEXT = """## Whole runs that are killed

A run of a model and two shapes is killed (`kill -9`) after a time that is drawn from how long it
takes. Then the same command is given once more, after `--unlock` where its message says so.

"""


def every_fault(campaign: Campaign, chance: random.Random, n_tables: int = 4) -> list[Fault]:
    tables = [write for write in campaign.writes if "/tables/" in write.name]
    kept = chance.sample(tables, n_tables)
    writes = [write for write in campaign.writes if write not in tables or write in kept]
    kinds = [*dict.fromkeys((*BOUNDARIES, *INSIDE))]
    return [Fault(write, *kind) for write in writes for kind in kinds]


def table(head: Iterable[str], rows: Iterable[Iterable]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def step_rows(outcomes: list[Outcome]) -> Iterator[tuple]:
    for step in STEPS:
        own = [one for one in outcomes if one.fault.write.step == step]
        kinds = Counter((one.fault.action, one.is_inside) for one in own)
        yield (
            step,
            len({one.fault.write.number for one in own}),
            *(kinds[kind] for kind in (("kill", False), ("kill", True))),
            *(kinds[kind] for kind in (("full", False), ("full", True))),
            sum(bool(one.halves) for one in own),
            sum(one.left > 0 for one in own),
            sum(one.is_well for one in own),
        )


def jobs_of(group: int) -> dict[int, str]:
    """Processes of jobs in a group of processes, and their rules."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parts = (folder / "cmdline").read_bytes().decode().split("\0")
            if os.getpgid(int(folder.name)) != group:
                continue
        except OSError:
            continue
        scripts = [Path(part) for part in parts if part.endswith(".py") and ".snakemake" in part]
        if scripts and "python" in Path(parts[0]).name:
            found[int(folder.name)] = scripts[0].name.split(".")[1]
    return found


def kill(started: Started, victim: str, chance: random.Random) -> str:
    """Kill what is asked for; the rules whose jobs were running."""
    jobs = jobs_of(started.process.pid)
    while victim == "job" and not jobs and started.process.poll() is None:
        time.sleep(0.02)
        jobs = jobs_of(started.process.pid)
    told = ", ".join(sorted(jobs.values())) or "none"
    if victim == "job" and jobs:
        os.kill(chance.choice(sorted(jobs)), signal.SIGKILL)
    elif victim == "main":
        os.kill(started.process.pid, signal.SIGKILL)
    elif victim == "all":
        os.killpg(started.process.pid, signal.SIGKILL)
    return told


def run_rows(folder: Path, chance: random.Random) -> Iterator[tuple]:
    whole, start = folder / "whole", time.monotonic()
    assert run(whole)[0] == 0
    lasted = time.monotonic() - start
    for number in range(1, N_RUNS + 1):
        own, victim = folder / f"run-{number}", [*VICTIMS][number % len(VICTIMS)]
        started = Started(own)
        time.sleep(chance.uniform(0.1, 0.9) * lasted)
        told = kill(started, victim, chance)
        started.ended()
        halves = len(differing(own, whole)) if (own / "results").exists() else 0
        status, output = run(own)
        message = "goes on"
        if status and LOCKED in output:
            message = "is locked"
            assert run(own, "--unlock")[0] == 0
            status, output = run(own)
        names = [files_below(one / "results").keys() for one in (own, whole)]
        is_same = not differing(own, whole) and names[0] == names[1]
        end = "the same bytes" if (status, is_same) == (0, True) else f"DIFFERS (exit {status})"
        yield number, VICTIMS[victim], told, halves, message, end


def main() -> None:
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder))
        outcomes = [campaign.strike(fault) for fault in every_fault(campaign, chance)]
        campaign.close()
        runs = [*run_rows(Path(folder) / "runs", chance)]
    n_well = sum(one.is_well for one in outcomes)
    head = ("step", "writes", "killed at a boundary", "killed inside", "full at a boundary")
    head += ("full inside", "half files under a name", "left hidden files", "then the same bytes")
    text = HEAD + STEPS_TEXT.format(tables=4) + table(head, step_rows(outcomes))
    text += f"\n{n_well} of {len(outcomes)} faults ended with the same bytes.\n\n{RUNS_TEXT}"
    head = ("run", "killed", "jobs at that time", "half files under a name", "the same command")
    PAGE.write_text(text + table((*head, "end"), runs), encoding="utf-8")
    bad = [one for one in outcomes if not one.is_well]
    sys.exit(
        "\n".join(map(str, bad)) if bad else any(not row[-1].startswith("the") for row in runs)
    )


if __name__ == "__main__":
    main()
