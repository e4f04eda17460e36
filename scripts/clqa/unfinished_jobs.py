"""Which results of a run that has failed are not there, and why."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

# Characters of a message that a table shows.
MOST = 300


class Cause(NamedTuple):
    """Why a result is not there.

    Attributes
    ----------
    rule, job : str
        The rule of the job that failed, or that was not begun, and the first of its results.
    message : str
        The last line of its log.
    log : str
    has_failed : bool
        Whether the job was run at all.
    """

    rule: str
    job: str
    message: str
    log: str
    has_failed: bool

    def __str__(self) -> str:
        return f"{self.rule} {'failed' if self.has_failed else 'was not run'}: {self.message}"


def unfinished(dag, failed: Collection) -> dict[str, Cause]:
    """For each file that a run still has to make, the first job that stands in its way.

    A file of which older content lies there is among them: it is not what the run asks for.

    Parameters
    ----------
    dag
        Snakemake's, of a run that has ended.
    failed : collection of jobs or groups of jobs
    """
    failed = {job for one in failed for job in getattr(one, "jobs", [one])}
    found: dict[str, Cause] = {}
    causes: dict = {}
    for job in dag.jobs:
        if not dag.noneedrun_finished(job):
            cause = _cause(job, dag, failed, causes)
            found |= {str(path): cause for path in job.output}
    return found


def _cause(job, dag, failed: Collection, causes: dict) -> Cause:
    """Of a job that failed its own; of another that of what it waits for, if that has failed."""
    if job not in causes:
        waits_for = [one for one in dag.dependencies[job] if not dag.noneedrun_finished(one)]
        before = sorted(_cause(one, dag, failed, causes) for one in waits_for)
        broken = [cause for cause in before if cause.has_failed]
        causes[job] = broken[0] if broken and job not in failed else _own_cause(job, failed)
    return causes[job]


def _own_cause(job, failed: Collection) -> Cause:
    log = str(job.log[0]) if job.log else ""
    message = last_line([log]) if job in failed else "the run had stopped before"
    return Cause(job.rule.name, str(next(iter(job.output), "")), message, log, job in failed)


def last_line(paths: Iterable[str | os.PathLike]) -> str:
    """The last line with text in these logs, cut where it is long."""
    lines: list[str] = []
    for path in paths:
        if os.fspath(path) and Path(path).is_file():
            lines += Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    told = [" ".join(line.split()) for line in lines if line.strip()]
    text = told[-1].removeprefix("error: ") if told else "it ended without a word in its log"
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"
