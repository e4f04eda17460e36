"""Shapes of a shard on which a model fails: they do not take the others with them.

A shard is predicted as a whole. Only if that fails is each of its shapes predicted by itself, and
what can be is put together. Sidecar, ranks and tops then have `failed`: for each of the other
shapes what was said of it. Whatever is made of whole query sets refuses such ranks and tops.
"""

import logging
import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from clqa.errors import InputError
from clqa.files import is_of_disk, read_sealed, scratch_beside
from clqa.query_sets import AnswerTable, QueryTable

# Characters of what is said of a shape, or of all.
MOST = 300

Make = Callable[[QueryTable, Path, Path], None]
Join = Callable[[Sequence[Path], Path, Path, dict], None]
Table = TypeVar("Table", QueryTable, AnswerTable)


def predict_what_can_be(
    make: Make,
    join: Join,
    queries: QueryTable,
    path_to_predictions: str | os.PathLike,
    path_to_sidecar: str | os.PathLike,
) -> None:
    """Write the predictions of all shapes, or else of those that can be predicted by themselves.

    Parameters
    ----------
    make : function of queries and the paths of a dump and its sidecar
        It is given all queries, and if that fails those of one shape at a time.
    join : function of paths of dumps, the paths of a dump and its sidecar, and the sidecar
        Writes the rows of several dumps as one.

    Raises
    ------
    Exception
        The first one, if no shape can be predicted. Want of memory or of room on a disk is never
        taken for the fault of a shape.
    """
    paths = Path(path_to_predictions), Path(path_to_sidecar)
    try:
        make(queries, *paths)
    except Exception as error:
        if len(queries.shapes) < 2 or not _may_be_of_a_shape(error):
            raise
        with scratch_beside(paths[0]) as folder:
            parts, failed = _apart(make, queries, folder, paths[0])
            if not parts:
                raise
            _tell(error, failed)
            join([dump for dump, _ in parts], *paths, _joined(parts, failed))


def _may_be_of_a_shape(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError) or is_of_disk(error):
            return False
        error = error.__cause__ or error.__context__
    return True


def _apart(
    make: Make, queries: QueryTable, folder: Path, path: Path
) -> tuple[list[tuple[Path, Path]], dict[str, str]]:
    """Dumps with their sidecars of the shapes that can be predicted, and why others cannot."""
    parts, failed = [], {}
    for number, shape in enumerate(queries.shapes):
        dump = folder / f"{number}{path.suffix}"
        others = queries.shapes.keys() - {shape}
        try:
            make(without(queries, others), dump, dump.with_suffix(".json"))
        except Exception as error:
            if not _may_be_of_a_shape(error):
                raise
            failed[shape] = _line(error, dump, path)
        else:
            parts.append((dump, dump.with_suffix(".json")))
    return parts, failed


def _line(error: Exception, dump: Path, path: Path) -> str:
    """What an error says, of the dump that was asked for, on one line."""
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    text = f"{kind}{error}".replace(str(dump), str(path))
    return abridged_line(str(InputError(" ".join(text.split()))))


def abridged_line(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


def _tell(error: Exception, failed: Mapping[str, str]) -> None:
    if not isinstance(error, InputError):
        logging.error("".join(traceback.format_exception(error)).rstrip())
    for shape, message in failed.items():
        logging.error("error: %s: %s", shape, message)
    if not failed:
        logging.warning("all shapes failed together, and none by itself: %s", error)


def _joined(parts: Iterable[tuple[Path, Path]], failed: dict[str, str]) -> dict:
    """One sidecar for several dumps."""
    sidecars = [read_sealed(path) for _, path in parts]
    if any(one.get("variables") != sidecars[0].get("variables") for one in sidecars):
        raise InputError("scores of shapes have their variables in different orders; give them one")
    whole = {**sidecars[0], "query_ids": [name for one in sidecars for name in one["query_ids"]]}
    if "shapes" in whole:
        whole["shapes"] = {shape: n for one in sidecars for shape, n in one["shapes"].items()}
    return {**whole, "failed": failed} if failed else whole


def without(table: Table, shapes: Iterable[str]) -> Table:
    """A table of queries or answers, with all that is said of it, but for the rows of shapes."""
    left_out = set(shapes)
    kept = {shape: part for shape, part in table.shapes.items() if shape not in left_out}
    return table._replace(shapes=kept)


def refuse_failed(model: str, failed: Mapping[str, str]) -> None:
    """Raise `InputError` if a model has failed on any shapes."""
    if failed:
        of_message: dict[str, list[str]] = {}
        for shape, message in failed.items():
            of_message.setdefault(message, []).append(shape)
        said = [f"{', '.join(names)}: {message}" for message, names in of_message.items()]
        raise InputError(f"{model} failed on {_number(failed)}: {abridged_line('; '.join(said))}")


def _number(failed: Mapping[str, str]) -> str:
    return "one shape" if len(failed) == 1 else f"{len(failed)} shapes"
