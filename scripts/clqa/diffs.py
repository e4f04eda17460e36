"""What differs between the numbers of two runs, aligned by what a number is, never by its place."""

from pathlib import Path

from clqa.errors import InputError
from clqa.files import read_json
from clqa.fingerprints import differing_fields
from clqa.keyed_tables import (
    KeyedTable,
    difference,
    differing_cells,
    plain_value,
    read_keyed_table,
)

# What a number is about. The run's name is left out: runs are paired, then compared.
SUBJECT = (
    "graph",
    "queries",
    "split",
    "shape",
    "group",
    "model",
    "seed",
    "metric",
    "inference_graph",
    "stratum",
)
# How it was measured, as far as the table itself shows it; the manifest spells out the rest.
PROTOCOL = ("filter", "ties", "candidates", "averaging", "pni", "fingerprint")
METRICS_KEYS = (*SUBJECT, *PROTOCOL)
TABLE_KEYS = (
    *(*SUBJECT, "filter", "ties", "set", "other", "score", "rule", "truth", "beta", "band"),
    *("switch", "from", "to", "fingerprint_from", "fingerprint"),
)


def compare_results(
    path_to_old: Path, path_to_new: Path, atol: float = 1e-9, force: bool = False
) -> dict:
    """Compare two runs, or all runs of two result folders.

    Parameters
    ----------
    path_to_old, path_to_new : Path
        A run folder (it holds `metrics.tsv`) or a result folder (it holds `runs/`).
    atol : float
        Numbers written with a decimal point differ if they are further apart than this; counts and
        text differ if they are not the same.
    force : bool
        Compare the rest although some numbers were measured by different protocols.

    Returns
    -------
    dict
        Plain JSON: `status` (equal, different or not comparable), `protocol` (the fields in which
        protocols differ), `clashes` (numbers of one subject measured by two protocols), and what
        was `added`, `removed` and `changed`.

    Raises
    ------
    InputError
        If a folder or its `metrics.tsv` is missing, or a file is malformed.
    """
    pairs, added, removed = paired_runs(Path(path_to_old), Path(path_to_new))
    diff = {
        "added": [{"run": name} for name in added],
        "removed": [{"run": name} for name in removed],
        "changed": [],
        "clashes": [],
        "versions": {},
        "rows": 0,
        "atol": atol,
        "force": force,
    }
    for name, old, new in pairs:
        _compare_run(diff, name, old, new)
    diff["protocol"] = sorted({field for clash in diff["clashes"] for field in clash["fields"]})
    differs = any(diff[kind] for kind in ("added", "removed", "changed", "clashes"))
    diff["status"] = "different" if differs else "equal"
    if diff["clashes"] and not force:
        diff["status"] = "not comparable"
    return diff


def paired_runs(old: Path, new: Path) -> tuple[list, list[str], list[str]]:
    """Pairs (name, old run folder, new run folder); names of runs only new; names only old."""
    olds, news = _runs_of(old), _runs_of(new)
    if None in olds or None in news:
        one, other = _only_run(old, olds, news), _only_run(new, news, olds)
        return [(other.resolve().name, one, other)], [], []
    pairs = [(name, olds[name], news[name]) for name in sorted(olds.keys() & news.keys())]
    return pairs, sorted(news.keys() - olds.keys()), sorted(olds.keys() - news.keys())


def _runs_of(folder: Path) -> dict[str | None, Path]:
    """Run folders by name; the key is None where `folder` is itself a run."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give a result folder or a run folder")
    if (folder / "metrics.tsv").is_file():
        return {None: folder}
    runs = sorted(path.parent for path in folder.glob("runs/*/metrics.tsv"))
    if not runs:
        raise InputError(f"{folder}: holds no metrics.tsv and no runs/*/metrics.tsv; run it first")
    return {path.name: path for path in runs}


def _only_run(folder: Path, runs: dict, others: dict) -> Path:
    """The run of `folder` to compare: itself, its only one, or the other side's namesake."""
    if len(runs) == 1:
        return next(iter(runs.values()))
    name = next(iter(others.values())).resolve().name
    if name not in runs:
        known = ", ".join(runs)
        raise InputError(f"{folder}: has several runs ({known}); give {folder}/runs/<one of them>")
    return runs[name]


def _compare_run(diff: dict, name: str, old: Path, new: Path) -> None:
    """Add to `diff` what differs between two run folders."""
    diff["versions"][name] = {
        "old": _read_optional_json(old / "versions.json"),
        "new": _read_optional_json(new / "versions.json"),
    }
    _compare_metrics(diff, name, old, new)
    names = [{path.name for path in (folder / "tables").glob("*.tsv")} for folder in (old, new)]
    for table in sorted(names[0] | names[1]):
        where = {"run": name, "table": f"tables/{table}"}
        if table not in names[0] & names[1]:
            diff["added" if table in names[1] else "removed"].append(where)
            continue
        sides = [read_keyed_table(side / "tables" / table, TABLE_KEYS) for side in (old, new)]
        _compare_rows(diff, where, *sides, old_only(*sides), old_only(*reversed(sides)))


def _compare_metrics(diff: dict, name: str, old: Path, new: Path) -> None:
    """Compare the metrics; rows left on both sides for one subject are two protocols of it."""
    where = {"run": name, "table": "metrics.tsv"}
    required = (*METRICS_KEYS, "value")
    sides = [
        read_keyed_table(folder / "metrics.tsv", METRICS_KEYS, ("run",), required)
        for folder in (old, new)
    ]
    protocols = [
        _read_optional_json(folder / "manifest.json").get("fingerprints") for folder in (old, new)
    ]
    removed, added = old_only(*sides), old_only(*reversed(sides))
    for key, other in _rivals(removed, added, protocols):
        rows = _named(sides[0], removed.pop(key)), _named(sides[1], added.pop(other))
        values = [row["value"] for row in rows]
        old_protocol, new_protocol = _protocols(key, other, protocols)
        clash = {
            "key": dict(zip(SUBJECT, key, strict=False)),
            "fields": list(_differing_fields(key, other, protocols)),
            "old": {"protocol": old_protocol, "value": plain_value(values[0])},
            "new": {"protocol": new_protocol, "value": plain_value(values[1])},
            "delta": difference(*values),
        }
        diff["clashes"].append({**where, **clash})
    _compare_rows(diff, where, *sides, removed, added)


def old_only(old: KeyedTable, new: KeyedTable) -> dict:
    """Rows whose key only the old table has, by key."""
    return {key: old.rows[key] for key in sorted(old.rows.keys() - new.rows.keys())}


def _compare_rows(
    diff: dict, where: dict, old: KeyedTable, new: KeyedTable, removed: dict, added: dict
) -> None:
    """Add to `diff` the cells that differ in rows of equal key, and the rows of one side only."""
    diff["rows"] += len(old.rows.keys() | new.rows.keys())
    for key in sorted(old.rows.keys() & new.rows.keys()):
        rows = _named(old, old.rows[key]), _named(new, new.rows[key])
        named = dict(zip(old.keys, key, strict=True))
        for kind, row, other in (("removed", *rows), ("added", *reversed(rows))):
            values = {column: row[column] for column in row if column not in other and row[column]}
            if values:
                values = {column: plain_value(text) for column, text in values.items()}
                diff[kind].append({**where, "key": named, "values": values})
        for column, before, after in differing_cells(*rows, diff["atol"]):
            diff["changed"].append(
                {
                    **where,
                    "key": named,
                    "column": column,
                    "old": plain_value(before),
                    "new": plain_value(after),
                    "delta": difference(before, after),
                }
            )
    for kind, table, rows in (("removed", old, removed), ("added", new, added)):
        for key, row in rows.items():
            values = {column: plain_value(text) for column, text in _named(table, row).items()}
            named = dict(zip(table.keys, key, strict=True))
            diff[kind].append({**where, "key": named, "values": values})


def _rivals(removed: dict, added: dict, protocols: list[dict | None]) -> list[tuple]:
    """Pairs (old key, new key) of one subject and two protocols, closest protocols first."""
    candidates: dict[tuple, list] = {}
    for key in added:
        candidates.setdefault(key[: len(SUBJECT)], []).append(key)
    possible = [
        (len(_differing_fields(key, other, protocols)), key, other)
        for key in removed
        for other in candidates.get(key[: len(SUBJECT)], ())
    ]
    pairs, taken = [], set()
    for _, key, other in sorted(possible):
        if not taken & {("old", key), ("new", other)}:
            taken |= {("old", key), ("new", other)}
            pairs.append((key, other))
    return pairs


def _differing_fields(key: tuple, other: tuple, protocols: list[dict | None]) -> tuple[str, ...]:
    return differing_fields(*_protocols(key, other, protocols)) or ("fingerprint",)


def _protocols(key: tuple, other: tuple, protocols: list[dict | None]) -> list[dict]:
    """The protocols of two rows: as the manifests spell them out, else as the columns show them."""
    shown = [dict(zip(PROTOCOL, row[len(SUBJECT) :], strict=True)) for row in (key, other)]
    known = [
        (protocol or {}).get(row["fingerprint"])
        for protocol, row in zip(protocols, shown, strict=True)
    ]
    return known if all(known) else shown


def _named(table: KeyedTable, row: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(table.columns, row, strict=True))


def _read_optional_json(path: Path) -> dict:
    """The JSON object in a file; an empty one where there is no file."""
    return read_json(path) if path.exists() else {}
