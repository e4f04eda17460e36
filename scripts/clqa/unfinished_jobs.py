"""Which results of a run that has failed are not there, and why."""

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from clqa.errors import InputError
from clqa.failed_shapes import abridged_line
from clqa.files import SEAL, read_json
from clqa.node_files import leave_node
from clqa.scores import RANKS
from clqa.tables import table_metadata

_WORDLESS = "it ended without a word in its log"


class Cause(NamedTuple):
    """Why a result is not there.

    Attributes
    ----------
    rule, job : str
        The rule of the job that failed, or that was not begun, and the first of its results.
    message : str
        The last line of its log, or what was said of a shape.
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
    return abridged_line(told[-1].removeprefix("error: ") if told else _WORDLESS)


def failed_shapes(dag) -> dict[str, dict[str, Cause]]:
    """For each table of ranks that lacks shapes, why it lacks each of them."""
    found: dict[str, dict[str, Cause]] = {}
    for job in _ranking(dag):
        failed = _failed(job.output.ranks, _about_ranks)
        if failed and dag.noneedrun_finished(job):
            predicted = next(iter(_predicting(job, dag)), job)
            cause = _own_cause(predicted, [predicted])
            found[str(job.output.ranks)] = {
                shape: cause._replace(message=text) for shape, text in failed.items()
            }
    return found


def remove_partial(dag) -> list[str]:
    """Remove ranks that lack shapes, with their predictions, to have them made anew.

    Predictions that were put there by hand stay.

    Returns
    -------
    list of str
        Those of the removed files that say what they lack.
    """
    removed: list[str] = []
    for job in _ranking(dag):
        sidecar, ranks = job.input.sidecar, job.output.ranks
        predicted = [job.input.predictions, sidecar] if _is_ours(sidecar) else []
        lacking = [ranks] if _failed(ranks, _about_ranks) else []
        lacking += [sidecar] if predicted and _failed(sidecar) else []
        for path in [*job.output, *predicted] if lacking else []:
            leave_node(path)
            Path(path).unlink(missing_ok=True)
        removed += map(str, lacking)
    return removed


def _ranking(dag) -> list:
    """The jobs that rank, whether they are to be run or not."""
    return [job for job in dag.jobs if job.rule.name == RANKS.rule]


def _predicting(job, dag) -> list:
    """The jobs that make what a job ranks."""
    return [one for one in dag.dependencies[job] if "sidecar" in dict(one.output.items())]


def _about_ranks(path: str | os.PathLike) -> dict:
    return table_metadata(path, RANKS)


def _failed(path: str | os.PathLike, read: Callable = read_json) -> dict[str, str]:
    """What a file says of shapes that failed; one that is damaged is for others to refuse."""
    try:
        return read(path).get("failed") or {}
    except InputError:
        return {}


def _is_ours(path_to_sidecar: str | os.PathLike) -> bool:
    """Whether a sidecar, if it is still there, was written by a stage of ours."""
    try:
        return SEAL in read_json(path_to_sidecar)
    except InputError:
        return not Path(path_to_sidecar).exists()
