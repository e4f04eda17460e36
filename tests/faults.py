"""A fault campaign: what strikes the steps of a toy run, and what the folder is like afterwards."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fault_steps import STEPS, Write

SEED = 20
# At a boundary of a write there is no temporary file, or the file has its name; else it is inside.
BOUNDARIES = (("begun", "kill"), ("begun", "full"), ("renamed", "kill"), ("begun", "full"))
INSIDE = (("half", "kill"), ("half", "full"), ("written", "kill"), ("written", "full"))
TESTS = Path(__file__).resolve().parent


class Fault(NamedTuple):
    """What strikes a write of a step."""

    write: Write
    moment: str
    action: str

    def __str__(self) -> str:
        return f"{self.write.step}-{self.write.number}-{self.action}-{self.moment}"


class Outcome(NamedTuple):
    """What was seen of a fault; lists of files are empty where all is well.

    Attributes
    ----------
    status, error : how the process ended, and what it said
    halves : files under a final name that differ from those of the undisturbed run
    left : hidden files that the process left behind
    status_again : how the step ended when it was done again
    differing : files that then differ, are missing or too many
    """

    fault: Fault
    status: int
    error: str
    halves: list[str]
    left: int
    status_again: int
    differing: list[str]

    @property
    def is_inside(self) -> bool:
        return self.fault[1:] in INSIDE

    @property
    def is_well(self) -> bool:
        wanted = 1 if self.fault.action == "full" else -signal.SIGKILL
        if self.fault[1:] == ("half", "kill"):  # by the system, at a byte
            wanted = -signal.SIGXFSZ
        return (self.status, self.status_again) == (wanted, 0) and not self.halves + self.differing


class Campaign:
    """A toy run without faults, and a process that does its steps again, with them."""

    def __init__(self, folder: Path):
        self.folder = folder
        path = [str(TESTS.parent / "scripts"), str(TESTS)]
        self.process = subprocess.Popen(
            [sys.executable, TESTS / "fault_steps.py", folder],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "MPLBACKEND": "Agg"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.writes = [Write(*one) for one in json.loads(self.process.stdout.readline())]
        # A checkpoint is written over and over.
        self.digests = {one.sha256 for one in self.writes}

    def close(self) -> None:
        self.process.communicate()

    def do(self, step: str, results: Path, fault: Fault | None = None) -> dict:
        order = {"step": step, "results": str(results)}
        if fault:
            order["fault"] = {"write": fault.write.number, "size": fault.write.size // 2}
            order["fault"] |= {"moment": fault.moment, "action": fault.action}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def strike(self, fault: Fault) -> Outcome:
        """Do a step that is struck, look at the folder, and do it again."""
        number = [*STEPS].index(fault.write.step)
        results, whole = self.folder / str(fault), self.folder / f"after-{number}"
        if number:
            shutil.copytree(self.folder / f"after-{number - 1}", results)
        hit = self.do(fault.write.step, results, fault)
        halves = [
            name
            for name, content in visible(results)
            if content != read(whole / name) and digest(content) not in self.digests
        ]
        left = sum(".partial-" in path.name for path in results.rglob(".*"))
        again = self.do(fault.write.step, results)
        found, wanted = dict(visible(results)), dict(visible(whole))
        differing = [n for n in {*found, *wanted} if found.get(n) != wanted.get(n)]
        differing += [path.name for path in results.rglob(".*.partial-*")]
        if again["error"]:
            differing.append(again["error"])
        shutil.rmtree(results)
        told = (again["status"], sorted(differing))
        return Outcome(fault, hit["status"], hit["error"], halves, left, *told)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def visible(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Files that a later step could take for whole, and their content."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and ".partial-" not in name:
            yield name, path.read_bytes()


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def drawn(writes: list[Write], seed: int = SEED) -> list[Fault]:
    """Of each write one fault at its boundary and one inside; of a report's many tables two."""
    chance = random.Random(seed)
    tables = [one for one in writes if "/tables/" in one.name]
    kept = chance.sample(tables, 2)
    asked = [one for one in writes if one not in tables or one in kept]
    return [
        Fault(write, *chance.choice(kinds)) for write in asked for kinds in (BOUNDARIES, INSIDE)
    ]
