"""Runs and relevance judgements (qrels) in the text formats of TREC.

A line of a run is `query Q0 document rank score tag`, a line of qrels `query iteration document
judgement`, with blanks between. A judgement above 0 makes a document relevant, whatever its grade;
0 and below, like none at all, do not.
"""

import itertools
import os
import re
from typing import NamedTuple

from clqa.decimals import decimal_number
from clqa.errors import InputError, abridged
from clqa.id_lists import Entry
from clqa.list_files import numbered_lines

RANKS = ("check", "ignore")


class _Line(NamedTuple):
    number: int
    document: str
    rank: int
    score: float


def read_trec(path_to_run: str | os.PathLike, path_to_qrels: str | os.PathLike, ranks="check"):
    """Read a run and its judgements: first the queries of the judgements, then other ones.

    Parameters
    ----------
    ranks : {"check", "ignore"}
        `check`: the ranks of a query are 1, 2, ..., n, and scores do not rise along them. `ignore`:
        they are not read, and the scores make the order, as in trec_eval.

    Returns
    -------
    list of Entry

    Raises
    ------
    InputError
        If a file cannot be read, a line is malformed, or ranks are to be checked and wrong.
    """
    judged, run = _judgements(path_to_qrels), _run(path_to_run, ranks)
    entries = []
    for query in dict.fromkeys([*judged, *run]):
        lines = run.get(query)
        place = f"{path_to_run}:{lines[0].number}" if lines else str(path_to_qrels)
        returned = scores = None
        if lines is not None:
            lines = _ordered(lines, f"{path_to_run}", query, ranks)
            returned, scores = [one.document for one in lines], [one.score for one in lines]
        entries.append(Entry(place, query, judged.get(query), returned, scores))
    return entries


def _judgements(path: str | os.PathLike) -> dict[str, list[str]]:
    """Relevant documents of each query that is judged, in the order of the file."""
    relevant: dict[str, list[str]] = {}
    known: dict[tuple[str, str], bool] = {}
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        fields = line.split()
        if len(fields) != 4:
            what = f"{len(fields)} fields; expected query, iteration, document, judgement"
            raise InputError(f"{place}: {what}")
        query, _, document, judgement = fields
        is_relevant = _whole(judgement, place, "judgement") > 0
        if known.setdefault((query, document), is_relevant) != is_relevant:
            raise InputError(f"{place}: {document} of query {query} is judged relevant and not")
        relevant.setdefault(query, [])
        if is_relevant:
            relevant[query].append(document)
    return relevant


def _run(path: str | os.PathLike, ranks: str) -> dict[str, list[_Line]]:
    found: dict[str, list[_Line]] = {}
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        fields = line.split()
        if len(fields) != 6:
            what = f"{len(fields)} fields; expected query, Q0, document, rank, score, tag"
            raise InputError(f"{place}: {what}")
        query, _, document, rank, score, _ = fields
        rank = _whole(rank, place, "rank") if ranks == "check" else 0
        found.setdefault(query, []).append(_Line(number, document, rank, _score(score, place)))
    return found


def _whole(text: str, place: str, what: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII):
        raise InputError(f"{place}: the {what} {abridged(text)} is no whole number")
    return int(text)


def _score(text: str, place: str) -> float:
    score = decimal_number(text)
    if score != score:
        what = f"{abridged(text)} is no number; every document needs one"
        raise InputError(f"{place}: the score {what}")
    return score


def _ordered(lines: list[_Line], path: str, query: str, ranks: str) -> list[_Line]:
    """Lines of a query by rank; if ranks are ignored, as they are, for the scores to order."""
    if ranks == "ignore":
        return lines
    taken: dict[int, int] = {}
    for line in lines:
        place = f"{path}:{line.number}: rank {line.rank}"
        if line.rank == 0:
            raise InputError(f"{place}; zero-based? Ranks start at 1; --ranks ignore goes by score")
        if not 1 <= line.rank <= len(lines):
            raise InputError(f"{place} of query {query}, which has {len(lines)} lines")
        if line.rank in taken:
            raise InputError(
                f"{place} of query {query} again; it is in line {taken[line.rank]}, too"
            )
        taken[line.rank] = line.number
    lines = sorted(lines, key=lambda line: line.rank)
    for ahead, line in itertools.pairwise(lines):
        if line.score > ahead.score:
            raise InputError(
                f"{path}:{line.number}: rank {line.rank} has a higher score than rank"
                f" {ahead.rank} of query {query}; --ranks ignore goes by score, as trec_eval does"
            )
    return lines
