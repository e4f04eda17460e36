"""What went into a run, as rows: its graphs, and how its queries were drawn."""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from clqa.answer_sizes import shape_hashes
from clqa.errors import damaged
from clqa.files import read_sealed
from clqa.graphs import SPLITS

# Digits of a hash that a reader sees.
SHORT = 12
_TEXTS = {"title": str | None, "hash": str, "vocabulary": str, "licence": str | None}
_HASH = re.compile("[0-9a-f]{64}")
SAMPLING_RULES = "sample_queries or import_queries"
SAMPLING_COLUMNS = ("requested", "accepted", "short", "tries")


class Inventory(NamedTuple):
    """A table of names and numbers; None where there is no number."""

    columns: tuple[str, ...]
    rows: list[tuple]


def graph_table(paths: Mapping[str, str | os.PathLike]) -> Inventory:
    """Sizes and hashes of graphs, from their summaries by name of the graph."""
    columns = {
        "title": lambda summary: summary["title"],
        "entities": lambda summary: summary["entities"],
        "relations": lambda summary: summary["relations"],
        "relations_with_inverses": lambda summary: summary["relations_with_inverses"],
        **{
            f"triples_{split}": lambda s, split=split: s["splits"].get(split, {}).get("triples")
            for split in SPLITS
        },
        "unseen_entities": lambda summary: summary["unseen"]["entities"],
        "hash": lambda summary: summary["graph"],
        "vocabulary": lambda summary: summary["vocabulary"],
        "licence": lambda summary: summary["licence"],
    }
    rows = []
    for graph in sorted(paths):
        try:
            summary = read_sealed(paths[graph])
            facts = {name: fact(summary) for name, fact in columns.items()}
            for name, value in facts.items():
                kind = _TEXTS.get(name, int | None if name.startswith("triples") else int)
                if not isinstance(value, kind):
                    raise TypeError(f"{name} is {value!r:.40}")
            rows.append((graph, *facts.values()))
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(
                paths[graph], f"no summary of a graph ({error})", "build_graph"
            ) from error
    return Inventory(("graph", *columns), rows)


def repeated_triples(paths: Mapping[str, str | os.PathLike]) -> Inventory:
    """How many triples of each split of a graph an earlier split has, too, where there are some.

    No link of these is missing.
    """
    rows = []
    for graph in sorted(paths):
        for split, counts in read_sealed(paths[graph])["splits"].items():
            earlier = counts.get("triples_in_earlier_splits", {})
            rows += [(graph, split, name, n) for name, n in earlier.items() if n]
    return Inventory(("graph", "split", "earlier", "triples"), rows)


def graph_hashes(paths: Mapping[str, str | os.PathLike]) -> dict[str, str]:
    """Hash of each graph, from the same summaries."""
    table = graph_table(paths)
    return {row[0]: row[table.columns.index("hash")] for row in table.rows}


def sampling_table(
    paths: Mapping[tuple[str, str], str | os.PathLike],
    query_sets: Iterable[str],
    shapes: Iterable[str],
) -> Inventory:
    """How many queries of each shape were asked for, drawn and refused, and why.

    Parameters
    ----------
    paths : sampling reports by query set and shard
    query_sets, shapes : names in the order wanted

    Returns
    -------
    Inventory
        A row per query set and shape; after the counts a column per reason of a rejection, and,
        if published shapes were skipped, one that says why.
    """
    counts = {
        (queries, shape): found
        for (queries, _), path in paths.items()
        for shape, found in _sampling(path).items()
    }
    shapes = list(shapes)
    reasons = sorted({reason for found in counts.values() for reason in found["rejections"]})
    skipped = ("skipped",) if any("skipped" in found for found in counts.values()) else ()
    rows = []
    for queries, shape in ((queries, shape) for queries in query_sets for shape in shapes):
        found = counts.get((queries, shape))
        if found is not None:
            numbers = (found[column] for column in SAMPLING_COLUMNS)
            refused = (found["rejections"].get(reason, 0) for reason in reasons)
            why = (found.get(column, "") for column in skipped)
            rows.append((queries, shape, *numbers, *refused, *why))
    return Inventory(("queries", "shape", *SAMPLING_COLUMNS, *reasons, *skipped), rows)


def check_samplings(
    paths: Mapping[tuple[str, str], str | os.PathLike],
    paths_to_answers: Mapping[tuple[str, str], str | os.PathLike],
) -> None:
    """Raise `InputError` unless each report of a sampling is that of the answers' queries."""
    for shard, path in paths.items():
        found = {shape: about["queries"] for shape, about in _sampling(path).items()}
        expected = shape_hashes(paths_to_answers[shard])
        if found != expected:
            both = sorted({*found, *expected})
            shapes = [name for name in both if found.get(name) != expected.get(name)]
            what = f"not of the queries of {paths_to_answers[shard]} ({', '.join(shapes)})"
            raise damaged(path, what, SAMPLING_RULES)


def _sampling(path: str | os.PathLike) -> dict[str, dict]:
    """The report of a sampling, by shape."""
    report = read_sealed(path)
    for shape, found in report.items():
        if not _is_report(found):
            names = ", ".join(SAMPLING_COLUMNS)
            what = f"{shape}: expected the numbers {names} and rejections, and a hash of queries"
            raise damaged(path, what, SAMPLING_RULES)
    return report


def _is_report(found: object) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("rejections"), dict):
        return False
    numbers = [found.get(key) for key in SAMPLING_COLUMNS] + [*found["rejections"].values()]
    texts = found.get("queries"), found.get("skipped", "")
    return all(type(one) is int for one in numbers) and all(type(one) is str for one in texts)


def readable(table: Inventory) -> Inventory:
    """The table with headings in words and the first digits of each hash."""
    rows = [
        tuple(cell[:SHORT] if _HASH.fullmatch(str(cell)) else cell for cell in row)
        for row in table.rows
    ]
    return Inventory(tuple(name.replace("_", " ") for name in table.columns), rows)


def without_zeros(table: Inventory, keep: int = 2 + len(SAMPLING_COLUMNS)) -> Inventory:
    """The table without columns in which every number is 0, except the first ones."""
    kept = [
        place
        for place in range(len(table.columns))
        if any(row[place] != 0 for row in table.rows) or place < keep
    ]
    rows = [tuple(row[place] for place in kept) for row in table.rows]
    return Inventory(tuple(table.columns[place] for place in kept), rows)


def shortfalls(sampling: Inventory) -> list[dict]:
    """Rows of shapes of which fewer queries were found than asked for."""
    rows = (dict(zip(sampling.columns, row, strict=True)) for row in sampling.rows)
    return [row for row in rows if row["short"]]


def by_origin(sampling: Inventory, published: Collection[str]) -> tuple[Inventory, Inventory]:
    """The rows of sampled query sets, and those of published ones under headings of their own."""
    columns = sampling.columns
    places = [columns.index(name) for name in ("queries", "shape", "requested", "accepted")]
    names = ("queries", "shape", "expected", "imported")
    if "skipped" in columns:
        places, names = [*places, columns.index("skipped")], (*names, "skipped")
    theirs = [tuple(row[i] for i in places) for row in sampling.rows if row[0] in published]
    kept = [i for i in range(len(columns)) if columns[i] != "skipped"]
    ours = [tuple(row[i] for i in kept) for row in sampling.rows if row[0] not in published]
    return Inventory(tuple(columns[i] for i in kept), ours), Inventory(names, theirs)


def totals(table: Inventory, columns: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Sums of columns over the rows of each query set."""
    places = [table.columns.index(name) for name in columns]
    sums: dict[str, tuple[int, ...]] = {}
    for row in table.rows:
        before = sums.get(row[0], (0,) * len(places))
        sums[row[0]] = tuple(a + row[i] for a, i in zip(before, places, strict=True))
    return sums
