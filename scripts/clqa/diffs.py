"""What differs between two results, aligned by what a number is, never by its place."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.aligned_tables import differing_cells, encoded, key_of, matched
from clqa.clashes import Side, clashes, named_protocols
from clqa.content_tables import (
    METRICS_KEYS,
    PROTOCOL,
    SUBJECT,
    TABLE_KEYS,
    read_content,
)
from clqa.errors import InputError
from clqa.files import read_json
from clqa.fingerprints import differing_fields
from clqa.keyed_tables import plain_value
from clqa.methods import CONTROLS
from clqa.metrics import METRICS, metric_parts
from clqa.traces import read_manifest, settings_changes, trace, with_report

__all__ = ["METRICS_KEYS", "PROTOCOL", "SUBJECT", "TABLE_KEYS", "compare_results", "paired_runs"]

KINDS = ("added", "removed", "changed", "clashes")
_METRICS = "metrics.tsv"
# Columns that a metrics table may have beside its keys.
_VALUES = ("run", "value", "lower", "upper", "n_queries", "n_answers", "n_skipped")
_VALUES = (*_VALUES, "reference", "note")
_SORTED = 100_000  # rows of one side that are listed in the order of their keys


def compare_results(
    path_to_old: Path,
    path_to_new: Path,
    atol: float = 1e-9,
    force: bool = False,
    by_metric: Mapping[str, float] | None = None,
    most: int | None = None,
) -> dict:
    """Compare two files, two runs, or all runs of two result folders.

    Parameters
    ----------
    path_to_old, path_to_new : Path
        A file, a run folder or a result folder. One of them may be missing or empty: then all of
        the other is what was added or removed.
    atol : float
        Numbers written with a decimal point differ if they are further apart than this; counts and
        text differ if they are not the same.
    force : bool
        Compare the rest although some numbers were measured by different protocols.
    by_metric : dict of float, optional
        What replaces `atol` for a metric, given as `hits@10`, or as `hits` for all of its K.
    most : int, optional
        Of each kind no more entries of a table are listed; `counts` has all.

    Returns
    -------
    dict
        Plain JSON: `status` (equal, different or not comparable), `protocol` (the fields in which
        protocols differ), `clashes` (numbers of one subject measured by two protocols), what was
        `added`, `removed` and `changed`, the `counts` of these four, for each run in `traces` the
        stages at which files differ, the first of them, and the settings that differ, and the names
        of the `controls` among the models.

    Raises
    ------
    InputError
        If both paths are missing, or a file is malformed.
    """
    old, new = Path(path_to_old), Path(path_to_new)
    diff = {
        **{kind: [] for kind in KINDS},
        "counts": dict.fromkeys(KINDS, 0),
        "versions": {},
        "traces": {},
        "missing": [str(path) for path in (old, new) if not path.exists()],
        "rows": 0,
        "atol": atol,
        "by_metric": dict(by_metric or {}),
        "force": force,
        "most": most,
        "fields": set(),
        "controls": set(),
    }
    for name in diff["by_metric"]:
        _check_metric(name)
    if len(diff["missing"]) == 2:
        raise InputError(f"{old}, {new}: no such file or folder on either side")
    if old.is_file() or new.is_file():
        _compare_two_files(diff, old, new)
    else:
        pairs, added, removed = paired_runs(old, new)
        for kind, names in (("added", added), ("removed", removed)):
            _note(diff, kind, [{"run": name} for name in names], len(names))
        for name, one, other in pairs:
            _compare_run(diff, name, one, other)
    return _concluded(diff)


def _check_metric(name: str) -> None:
    """Refuse a tolerance for a metric that does not exist; `hits` is for each K of `hits@K`."""
    if name != "tie_rate" and name not in {known.partition("@")[0] for known in METRICS}:
        metric_parts(name)


def _concluded(diff: dict) -> dict:
    diff["protocol"] = sorted(diff.pop("fields"))
    diff["controls"] = sorted(diff["controls"])
    traced = any(one["first"] for one in diff["traces"].values())
    diff["status"] = "different" if traced or any(diff["counts"].values()) else "equal"
    if diff["counts"]["clashes"] and not diff["force"]:
        diff["status"] = "not comparable"
    return diff


def paired_runs(old: Path, new: Path) -> tuple[list, list[str], list[str]]:
    """Pairs (name, old run folder, new run folder); names of runs only new; names only old."""
    olds, news = _runs_of(old), _runs_of(new)
    if (None in olds and None in news) or (olds and news and None in {**olds, **news}):
        one, other = _only_run(old, olds, news), _only_run(new, news, olds)
        return [(other.resolve().name, one, other)], [], []
    pairs = [(name, olds[name], news[name]) for name in sorted(olds.keys() & news.keys())]
    return pairs, _only(news, olds), _only(olds, news)


def _only(runs: dict[str | None, Path], others: dict) -> list[str]:
    """Names of the runs that the other side lacks."""
    return sorted(path.resolve().name for name, path in runs.items() if name not in others)


def _runs_of(folder: Path) -> dict[str | None, Path]:
    """Run folders by name; the key is None where `folder` is itself a run."""
    if (folder / _METRICS).is_file() or (folder / "manifest.json").is_file():
        return {None: folder}
    made = [*folder.glob(f"runs/*/{_METRICS}"), *folder.glob("runs/*/manifest.json")]
    return {path.name: path for path in sorted({path.parent for path in made})}


def _only_run(folder: Path, runs: dict, others: dict) -> Path:
    """The run of `folder` to compare: itself, its only one, or the other side's namesake."""
    if len(runs) == 1:
        return next(iter(runs.values()))
    name = next(iter(others.values())).resolve().name
    if name not in runs:
        known = ", ".join(runs)
        raise InputError(f"{folder}: has several runs ({known}); give {folder}/runs/<one of them>")
    return runs[name]


def _compare_two_files(diff: dict, old: Path, new: Path) -> None:
    for path, other in ((old, new), (new, old)):
        if path.is_dir():
            raise InputError(f"{path}: a folder, while {other} is a file; give two of a kind")
    if diff["missing"]:
        kind, path = ("removed", old) if old.exists() else ("added", new)
        _note(diff, kind, [{"table": path.name}], 1)
        return
    _compare_files(diff, {"table": new.name}, old, new)


def _compare_files(diff: dict, where: dict, old: Path, new: Path) -> None:
    """Compare two files by content; metrics with what the manifests beside them say."""
    sides = [read_content(path) for path in (old, new)]
    if any({*METRICS_KEYS} <= {*side.table.column_names} for side in sides):
        _compare_metrics(diff, where, old, new)
        return
    keys = tuple(dict.fromkeys((*sides[0].keys, *sides[1].keys)))
    _compare_tables(diff, where, [side.table for side in sides], keys, (old, new))


def _compare_run(diff: dict, name: str, old: Path, new: Path) -> None:
    """Add to `diff` what differs between two run folders."""
    diff["versions"][name] = {
        "old": _read_optional_json(old / "versions.json"),
        "new": _read_optional_json(new / "versions.json"),
    }
    manifests = [read_manifest(side) for side in (old, new)]
    for manifest in manifests:
        models = manifest.get("models", {}).items()
        diff["controls"] |= {name for name, model in models if model.get("method") in CONTROLS}
    tolerance = (diff["atol"], diff["by_metric"])
    diff["traces"][name] = {
        **trace(old, new, manifests, lambda one, other: _content_differs(one, other, *tolerance)),
        "settings": settings_changes(*manifests),
    }
    known = sum(diff["counts"].values())
    _compare_optional(diff, {"run": name, "table": _METRICS}, old, new, _compare_metrics)
    names = [{path.name for path in (folder / "tables").glob("*.tsv")} for folder in (old, new)]
    for table in sorted(names[0] | names[1]):
        where = {"run": name, "table": f"tables/{table}"}
        _compare_optional(diff, where, old, new, _compare_files)
    if sum(diff["counts"].values()) > known:
        with_report(diff["traces"][name])


def _compare_optional(diff: dict, where: dict, old: Path, new: Path, compare) -> None:
    """Compare a file that one of the two runs may lack."""
    paths = [folder / where["table"] for folder in (old, new)]
    there = [path.is_file() for path in paths]
    if all(there):
        compare(diff, where, *paths)
    elif any(there):
        _note(diff, "added" if there[1] else "removed", [where], 1)


def _content_differs(old: Path, new: Path, atol: float, by_metric: dict) -> dict | None:
    """How the contents of two files differ: counts and a few entries; None if they do not."""
    diff = compare_results(old, new, atol, True, by_metric, most=3)
    if diff["status"] == "equal":
        return None
    return {kind: diff[kind] for kind in KINDS if diff[kind]} | {"counts": diff["counts"]}


def _compare_metrics(diff: dict, where: dict, old: Path, new: Path) -> None:
    """Compare the metrics; rows left on both sides for one subject are two protocols of it."""
    paths = (old, new)
    tables = [_metrics_table(path) for path in paths]
    match = matched(*tables, METRICS_KEYS, paths)
    sides = [
        Side(table, rows, read_manifest(path.parent).get("fingerprints"))
        for table, rows, path in zip(tables, (match.removed, match.added), paths, strict=True)
    ]
    found = clashes(*sides)
    diff["fields"] |= found.fields
    entries = []
    pairs = list(zip(found.old, found.new, strict=True))
    for row, other in pairs[: diff["most"]]:
        protocols = named_protocols(sides[0], int(row), sides[1], int(other))
        cells = tables[0]["value"][int(row)], tables[1]["value"][int(other)]
        numbers = [plain_value(cell.as_py()) for cell in cells]
        entries.append(
            {
                **where,
                "key": key_of(tables[0], SUBJECT, int(row)),
                "fields": list(differing_fields(*protocols) or ("fingerprint",)),
                "old": {"protocol": protocols[0], "value": numbers[0]},
                "new": {"protocol": protocols[1], "value": numbers[1]},
                "delta": _delta(*numbers),
            }
        )
    _note(diff, "clashes", entries, len(pairs))
    match = match._replace(
        removed=np.setdiff1d(match.removed, found.old), added=np.setdiff1d(match.added, found.new)
    )
    _compare_matched(diff, where, tables, METRICS_KEYS, match)


def _metrics_table(path: Path) -> pa.Table:
    table = read_content(path).table
    missing = [name for name in (*METRICS_KEYS, "value") if name not in table.column_names]
    if missing:
        raise InputError(f"{path}: lacks the columns {', '.join(missing)}; make it again")
    unknown = [name for name in table.column_names if name not in (*METRICS_KEYS, *_VALUES)]
    if unknown:
        raise InputError(
            f"{path}: unknown column {unknown[0]}; it is of another version, or damaged"
        )
    return table.drop_columns([name for name in ("run",) if name in table.column_names])


def _compare_tables(diff: dict, where: dict, tables: list, keys: tuple, paths: tuple) -> None:
    _compare_matched(diff, where, tables, keys, matched(*tables, keys, paths))


def _compare_matched(diff: dict, where: dict, tables: list[pa.Table], keys, match) -> None:
    """Add to `diff` the cells that differ in rows of equal key, and the rows of one side only."""
    old, new = tables
    diff["rows"] += len(match.old) + len(match.removed) + len(match.added)
    shared = [c for c in old.column_names if c in new.column_names and c not in keys]
    atol = _tolerances(diff, old, match.old)
    for cells in differing_cells(old, new, match, shared, atol):
        order = np.argsort(-cells.sizes, kind="stable")[: diff["most"]]
        entries = []
        for place in np.sort(order) if diff["most"] is None else order:
            rows = int(match.old[cells.rows[place]]), int(match.new[cells.rows[place]])
            values = [t[cells.column][r].as_py() for t, r in zip(tables, rows, strict=True)]
            delta = float(cells.deltas[place])
            entries.append(
                {
                    **where,
                    "key": key_of(old, keys, rows[0]),
                    "column": cells.column,
                    **dict(zip(("old", "new"), map(plain_value, values), strict=True)),
                    "delta": None if np.isnan(delta) else delta,
                }
            )
        _note(diff, "changed", entries, len(cells.rows))
    for kind, table, rows, other, own in (
        ("removed", old, match.old, new, match.removed),
        ("added", new, match.new, old, match.added),
    ):
        only = [c for c in table.column_names if c not in other.column_names and c not in keys]
        filled = rows[_has_text(table, only)[rows]]
        _note_rows(diff, kind, where, table, keys, only, filled)
        columns = [name for name in table.column_names if name not in keys]
        _note_rows(diff, kind, where, table, keys, columns, own, whole=True)


def _tolerances(diff: dict, table: pa.Table, rows: np.ndarray) -> np.ndarray | float:
    """What each matched row may be apart, where some metrics have a tolerance of their own."""
    if not diff["by_metric"] or "metric" not in table.column_names:
        return diff["atol"]
    codes, names = encoded(table["metric"])
    own = [
        diff["by_metric"].get(name, diff["by_metric"].get(name.partition("@")[0], diff["atol"]))
        for name in names.to_pylist()
    ]
    return np.array(own)[codes][rows]


def _has_text(table: pa.Table, columns: list[str]) -> np.ndarray:
    """Which rows have a text in any of the columns."""
    found = np.zeros(table.num_rows, bool)
    for name in columns:
        texts = table[name].cast(pa.string())
        found |= pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
    return found


def _note_rows(diff, kind, where, table, keys, columns, rows, whole: bool = False) -> None:
    """Add rows of one side, or their cells in columns that only this side has."""
    listed = rows if len(rows) > _SORTED else _by_key(table, keys, rows)
    entries = []
    for row in map(int, listed[: diff["most"]]):
        texts = {name: table[name][row].as_py() for name in columns}
        values = {name: plain_value(text) for name, text in texts.items() if whole or text}
        entries.append({**where, "key": key_of(table, keys, row), "values": values})
    _note(diff, kind, entries, len(rows))


def _by_key(table: pa.Table, keys, rows: np.ndarray) -> list[int]:
    own = table.take(rows).select([key for key in keys if key in table.column_names])
    columns = [column.to_pylist() for column in own.columns]
    words = list(zip(*columns, strict=True)) if columns else [()] * len(rows)
    return [int(rows[place]) for place in sorted(range(len(rows)), key=words.__getitem__)]


def _note(diff: dict, kind: str, entries: list[dict], total: int) -> None:
    diff[kind] += entries
    diff["counts"][kind] += total


def _delta(old: object, new: object) -> float | None:
    numbers = [value for value in (old, new) if isinstance(value, int | float)]
    return float(new - old) if len(numbers) == 2 else None


def _read_optional_json(path: Path) -> dict:
    """The JSON object in a file; an empty one where there is no file."""
    return read_json(path) if path.exists() else {}
