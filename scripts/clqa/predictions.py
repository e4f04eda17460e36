"""The dump of a model: one row of scores per query, and a sidecar that says what they are.

`{shard}.npy` is a plain numpy file, (n_queries, n_entities) in C order, so that any program can
write and any can map it. `{shard}.json` beside it holds the query ids in the order of the rows,
the hash of the vocabulary whose ids are the columns, the origin, and the sha256 of the matrix.
Where the shapes have k > 1 free variables it is (n_queries, k, n_entities), and `variables` in the
sidecar names them in the order of the second axis, whichever that is.
A dump is checked when it is written and again when it is read.
"""

import hashlib
import io
import itertools
import math
import mmap
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clqa.array_files import open_array
from clqa.errors import InputError, abridged
from clqa.files import SEAL, read_json, replacing, unsealed, write_sealed
from clqa.tuples import common_variables

# What a query costs that a dump lacks: no number at all, the last rank, or its place in the mean.
MISSING = ("error", "worst", "skip")
DTYPES = ("float16", "float32", "float64")
CHUNK_BYTES = 64 * 2**20
_TEXT = ("text", str)
_REQUIRED = {
    "query_ids": ("a list of texts, one per row", list),
    "n_entities": ("a whole number", int),
    "vocabulary": _TEXT,
    "sha256": _TEXT,
}
_OPTIONAL = {
    "model": _TEXT,
    "method": _TEXT,
    "settings": ("a mapping", dict),
    "inference_graph": ("text or a list of texts", (str, list)),
    "variables": ("a list of texts, the names of free variables", list),
    "failed": ("a mapping from shapes to texts, why each of them failed", dict),
}
# What a sidecar may say about where its queries come from; it must not differ from the expected.
_ORIGIN = {"graph": "the graph", "queries": "the query set"}
_FURTHER = ("dtype", "bytes", "shapes", "formulas", "split", "observed", "full", "arity")


class Predictions(NamedTuple):
    """An opened dump.

    Attributes
    ----------
    scores : memory-mapped (n_queries, n_entities), or (n_queries, k, n_entities)
    rows : (n_queries,) int64
        Row of `scores` of each expected query, but for those of shapes that the sidecar says to
        have `failed`; -1 for one that is missing.
    sidecar : dict
    missing : dict
        Nothing, or the policy as `missing` and the ids of the missing queries as `lacking`.
    axes : (k,) int64
        Place in the second axis of each free variable, in the order of their names.
    """

    scores: np.memmap
    rows: np.ndarray
    sidecar: dict
    missing: dict
    axes: np.ndarray


def write_predictions(
    path_to_predictions: str | os.PathLike,
    path_to_sidecar: str | os.PathLike,
    blocks: Iterable[np.ndarray],
    sidecar: dict,
) -> None:
    """Write a dump block by block; the sidecar comes last, and only if the matrix is whole.

    Parameters
    ----------
    blocks : iterable of (n, n_entities) or (n, k, n_entities) arrays
        Consecutive rows, all of one of the types `DTYPES`.
    sidecar : dict
        `query_ids` in row order, `n_entities`, `vocabulary`, `variables` if there are several, and
        what else is known of the origin; `dtype`, `bytes` and `sha256` are added here.

    Raises
    ------
    InputError
        If a block has another shape or type than promised, or holds a NaN.
    """
    ids, row = sidecar["query_ids"], _row_shape(sidecar.get("variables"), sidecar["n_entities"])
    Path(path_to_sidecar).unlink(missing_ok=True)
    done, dtype, digest = 0, None, hashlib.sha256()
    with replacing(path_to_predictions) as temporary, temporary.open("wb") as stream:
        for block in itertools.chain(blocks, [np.empty((0, *row), np.float32)]):
            if dtype is None:
                dtype = block.dtype
                _append(stream, digest, _header((len(ids), *row), dtype))
            elif not len(block):
                continue
            names = ids[done : done + len(block)]
            _check_block(path_to_predictions, block, dtype, (len(names), *row), names)
            _append(stream, digest, np.ascontiguousarray(block).reshape(-1).view(np.uint8))
            done += len(block)
        if done != len(ids):
            raise InputError(f"{path_to_predictions}: {done} rows for {len(ids)} queries")
        size = stream.tell()
    made = {"dtype": dtype.name, "bytes": size, "sha256": digest.hexdigest()}
    write_sealed(path_to_sidecar, {**sidecar, **made})


def join_predictions(
    paths: Sequence[str | os.PathLike],
    path_to_predictions: str | os.PathLike,
    path_to_sidecar: str | os.PathLike,
    sidecar: dict,
) -> None:
    """Write the rows of several dumps, one after another, as one; see `write_predictions`."""
    parts = [part for part in map(open_array, paths) if len(part)]
    dtype = np.result_type(*parts) if parts else np.float32
    blocks = (
        np.asarray(part[first : first + step], dtype)
        for part in parts
        for step in [max(1, CHUNK_BYTES // part[:1].nbytes)]
        for first in range(0, len(part), step)
    )
    write_predictions(path_to_predictions, path_to_sidecar, blocks, sidecar)


def _row_shape(variables: Sequence[str] | None, n_entities: int) -> tuple[int, ...]:
    """Shape of the scores of a query."""
    several = variables is not None and len(variables) > 1
    return (len(variables), n_entities) if several else (n_entities,)


def _append(stream, digest, content) -> None:
    digest.update(content)
    stream.write(content)


def _check_block(path, block: np.ndarray, dtype: np.dtype, shape: tuple, names: list[str]) -> None:
    where = f"{path}: queries from {names[0]}" if names else f"{path}: rows after the last query"
    if block.shape != shape or block.dtype != dtype or block.dtype.name not in DTYPES:
        expected = dtype if dtype.name in DTYPES else DTYPES
        raise InputError(
            f"{where}: a block of {block.dtype} {block.shape}; expected {shape} of {expected}"
        )
    bad = _row_with_nan(block)
    if bad is not None:
        raise InputError(f"{path}: the scores of query {names[bad]} hold a NaN")


def _row_with_nan(block: np.ndarray) -> int | None:
    if block.size == 0 or not np.isnan(block.min()):
        return None
    return int(np.flatnonzero(np.isnan(block.reshape(len(block), -1)).any(axis=1))[0])


def _header(shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    description = np.lib.format.dtype_to_descr(dtype)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": description, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


def open_predictions(
    path_to_predictions: str | os.PathLike,
    path_to_sidecar: str | os.PathLike,
    expected,
    missing: str = MISSING[0],
) -> Predictions:
    """Open a dump and check all of it.

    Parameters
    ----------
    expected : table of queries or of answers
        `expected.shapes` has per shape the `query_ids`, `expected.metadata` the `vocabulary`, the
        `graph`, the `queries` and `n_entities`, and the `formulas` where there may be several free
        variables. The dump may have the queries, and the variables, in another order.
    missing : str
        Of `MISSING`; under any but the first the dump may lack queries.

    Raises
    ------
    InputError
        If the dump is cut short or changed, has other queries, another vocabulary or other free
        variables, or a NaN.
    """
    sidecar, rows, about = read_sidecar(path_to_sidecar, expected, missing)
    variables = common_variables(expected.metadata.get("formulas", {}))
    row = _row_shape(variables, expected.metadata["n_entities"])
    scores = _mapped(path_to_predictions, sidecar, (len(sidecar["query_ids"]), *row))
    axes = _axes(path_to_sidecar, sidecar.get("variables"), variables)
    _check_content(path_to_predictions, scores, sidecar)
    return Predictions(scores, rows, sidecar, about, axes)


def read_sidecar(
    path: str | os.PathLike, expected, missing: str = MISSING[0]
) -> tuple[dict, np.ndarray, dict]:
    """The sidecar of a dump, the row of each expected query, and what is said of missing ones.

    See `open_predictions`; the last two are `rows` and `missing` of `Predictions`.
    """
    sidecar = _sidecar(path)
    _check_origin(path, sidecar, expected.metadata)
    failed = _failed(path, sidecar, expected)
    shapes = [part for shape, part in expected.shapes.items() if shape not in failed]
    wanted = [str(name) for part in shapes for name in part.query_ids]
    if missing not in MISSING:
        raise InputError(f"missing: no policy {missing!r}; known are {', '.join(MISSING)}")
    rows = _rows_of(path, sidecar["query_ids"], wanted, missing != MISSING[0])
    lacking = [name for name, row in zip(wanted, rows.tolist(), strict=True) if row < 0]
    about = {} if missing == MISSING[0] else {"missing": missing, "lacking": lacking}
    return sidecar, rows, about


def _failed(path, sidecar: dict, expected) -> dict[str, str]:
    """Why the dump has no rows of some shapes, which are then not expected of it."""
    failed = sidecar.get("failed") or {}
    strangers = [shape for shape in failed if shape not in expected.shapes]
    if strangers:
        known = ", ".join(expected.shapes)
        raise InputError(f"{path}: failed: no shape {abridged(strangers[0])}; there are {known}")
    if failed and failed.keys() == expected.shapes.keys():
        raise InputError(f"{path}: every shape has failed; delete it and predict again")
    return failed


def _axes(path, given: list[str] | None, variables: tuple[str, ...]) -> np.ndarray:
    """Place of each variable in the dump; a single one needs no name."""
    if len(variables) == 1:
        return np.zeros(1, np.int64)
    if given is None or sorted(given) != list(variables):
        found = "no variables" if given is None else f"the variables {', '.join(given)}"
        raise InputError(
            f"{path}: {found}; expected {', '.join(variables)}, in the order of the dump's rows of"
            " each query"
        )
    return np.array([given.index(name) for name in variables], np.int64)


def _sidecar(path) -> dict:
    try:
        sidecar = read_json(path)
    except InputError as error:
        raise InputError(f"{error}; predictions need their sidecar") from error
    _check_keys(path, sidecar)
    sidecar = unsealed(path, sidecar)
    missing = [key for key in _REQUIRED if key not in sidecar]
    if missing:
        raise InputError(f"{path}: no {', '.join(missing)}; a sidecar has {', '.join(_REQUIRED)}")
    for key, (words, kind) in (_REQUIRED | _OPTIONAL).items():
        value = sidecar.get(key)
        texts = value if isinstance(value, list) else []
        texts = [*value.values()] if key == "failed" and isinstance(value, dict) else texts
        is_texts = all(isinstance(one, str) for one in texts)
        if (value is not None or key in _REQUIRED) and not (isinstance(value, kind) and is_texts):
            raise InputError(f"{path}: {key} must be {words}; delete it and predict again")
    return sidecar


def _check_keys(path, sidecar: dict) -> None:
    """Refuse keys that nothing reads: a misspelt one would leave its check out."""
    known = (*_REQUIRED, *_OPTIONAL, *_ORIGIN, *_FURTHER)
    unknown = [key for key in sidecar if key not in (*known, SEAL)]
    if unknown:
        raise InputError(f"{path}: unknown key {unknown[0]!r}; known are {', '.join(known)}")


def _check_origin(path, sidecar: dict, metadata: dict) -> None:
    if sidecar["vocabulary"] != metadata["vocabulary"]:
        raise InputError(
            f"{path}: made for another vocabulary ({str(sidecar['vocabulary'])[:12]}... instead of "
            f"{metadata['vocabulary'][:12]}...); its columns are other entities; "
            "delete it and predict again"
        )
    for key, what in _ORIGIN.items():
        if key in sidecar and sidecar[key] != metadata[key]:
            text = f"{what} has changed since these predictions; delete it and predict again"
            raise InputError(f"{path}: {text}")
    if sidecar["n_entities"] != metadata["n_entities"]:
        raise InputError(
            f"{path}: scores for {sidecar['n_entities']} entities; expected"
            f" {metadata['n_entities']}, one column for each of the vocabulary"
        )


def _rows_of(path, given: list[str], wanted: list[str], may_lack: bool) -> np.ndarray:
    """Row of each wanted query, if both are the same set without repetitions; -1: missing."""
    if given == wanted:
        return np.arange(len(wanted))
    row = {name: place for place, name in enumerate(given)}
    repeated = [name for name, n in Counter(given).items() if n > 1]
    missing = [name for name in wanted if name not in row and not may_lack]
    extra = list(row.keys() - set(wanted))
    for names, text in ((repeated, "twice or more"), (missing, "missing"), (extra, "not asked")):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise InputError(f"{path}: query {min(names)}{more}: {text}; one row per query")
    return np.array([row.get(name, -1) for name in wanted], dtype=np.int64)


def _mapped(path, sidecar: dict, shape: tuple[int, ...]) -> np.memmap:
    try:
        scores = open_array(path)
    except Exception as error:  # whatever a damaged file makes its reader say
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{path}: cut short or not a .npy file ({reason}); delete it and predict again"
        ) from error
    if scores.dtype.name not in DTYPES or not scores.dtype.isnative or scores.shape != shape:
        what = ""
        if scores.shape[1:] != shape[1:] and sidecar["query_ids"]:
            what = (
                f", {scores.shape[1:]} instead of {shape[1:]} for query {sidecar['query_ids'][0]}"
            )
        raise InputError(
            f"{path}: a matrix of {scores.dtype} {scores.shape}; expected {shape} of {DTYPES}{what}"
        )
    if not scores.flags.c_contiguous:
        raise InputError(f"{path}: stored by columns (Fortran order); store it by rows")
    if sidecar.get("dtype", scores.dtype.name) != scores.dtype.name:
        raise InputError(f"{path}: {scores.dtype}, but its sidecar says {sidecar['dtype']}")
    if scores.dtype == np.float16:
        warnings.warn(f"{path}: float16 scores tie often; see the tie rate", stacklevel=3)
    return scores


def _check_content(path, scores: np.memmap, sidecar: dict) -> None:
    """Read the whole file once for its digest and for NaN."""
    size = Path(path).stat().st_size
    if size != scores.offset + scores.nbytes or size != sidecar.get("bytes", size):
        raise InputError(
            f"{path}: {size} bytes; cut short or changed since it was written; "
            "delete it and predict again"
        )
    with open(path, "rb") as stream:
        digest = hashlib.sha256(stream.read(scores.offset))
    step = max(1, CHUNK_BYTES // max(1, math.prod(scores.shape[1:]) * scores.itemsize))
    bad = None
    for first in range(0, len(scores), step):
        block = np.asarray(scores[first : first + step])
        digest.update(block.reshape(-1).view(np.uint8))
        found = _row_with_nan(block) if bad is None else None
        bad = bad if found is None else first + found
        release(scores)
    if digest.hexdigest() != sidecar["sha256"]:
        raise InputError(
            f"{path}: changed since it was written (sha256 {digest.hexdigest()}, sidecar"
            f" {sidecar['sha256']}); delete it and predict again"
        )
    if bad is not None:
        raise InputError(f"{path}: the scores of query {sidecar['query_ids'][bad]} hold a NaN")


def release(scores: np.ndarray) -> None:
    """Give the pages of a mapped read-only array back to the system; they can be read again."""
    if isinstance(scores, np.memmap) and scores.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
        mapping = scores.base
        if isinstance(mapping, mmap.mmap):
            mapping.madvise(mmap.MADV_DONTNEED)
