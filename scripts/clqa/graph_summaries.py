"""What a built graph is, in numbers, and whether that is what the catalogue says it is."""

import numpy as np

from clqa.ascending import is_among
from clqa.errors import InputError
from clqa.graphs import Graph
from clqa.numberings import SHOWN, Unseen
from clqa.triples import Fields, triple_keys

RULES = (
    "columns",
    "fields",
    "ids",
    "inverses",
    "unseen",
    "observed",
    "candidates",
    "default_degrees",
)


def source_summary(entry: dict, receipt: dict) -> dict:
    """Where the graph came from: rules of reading, licence, checksums of what was read."""
    files = {role: about["sha256"] for role, about in receipt["files"].items()}
    return {
        "title": entry.get("title"),
        "licence": entry.get("licence"),
        "rules": {key: entry[key] for key in RULES if key in entry},
        "source": {"kind": receipt["kind"], "sha256": files}
        | ({"archive_sha256": receipt["archive"]["sha256"]} if "archive" in receipt else {}),
    }


def graph_summary(
    fields: Fields, unseen: Unseen, rules: dict, is_forward: np.ndarray, graph: Graph
) -> dict:
    """Sizes and hashes of a graph, and per split what was read and what became of it.

    Parameters
    ----------
    fields
        As read, in the order head, relation, tail.
    rules : dict
        `unseen` and `inverses` of the catalogue entry.
    is_forward : (n_relations,) bool
        False for relations that are the inverse of another.
    """
    splits = split_counts(graph, is_forward)
    for split, rows in fields.codes.items():
        n_strange = int(unseen.lines[split].sum())
        n_dropped = n_strange if rules["unseen"] == "drop" else 0
        distinct = splits[split]["triples" if rules["inverses"] == "add" else "edges"]
        splits[split] |= {
            "lines": len(rows),
            "lines_dropped": n_dropped,
            "lines_repeated": len(rows) - n_dropped - distinct,
            "lines_with_unseen": n_strange,
            "unseen_entities": unseen.counts[split]["entities"],
            "unseen_relations": unseen.counts[split]["relations"],
            "first": _shown(fields, rows[:1]),
            "last": _shown(fields, rows[-1:]),
        }
    return {
        "entities": graph.n_entities,
        "relations": int(is_forward.sum()),
        "relations_with_inverses": graph.n_relations,
        "unseen": {
            "entities": len(unseen.entities),
            "relations": len(unseen.relations),
            "first_entities": unseen.entities[:SHOWN].to_pylist(),
            "first_relations": unseen.relations[:SHOWN].to_pylist(),
        },
        "splits": splits,
        "graph": graph.hash,
        "vocabulary": graph.vocabulary,
    }


def _shown(fields: Fields, rows: np.ndarray) -> list[str] | None:
    return [fields.terms[int(code)].as_py() for code in rows[0]] if len(rows) else None


def split_counts(graph: Graph, is_forward: np.ndarray) -> dict[str, dict]:
    """Per split: distinct triples, edges, repetitions of earlier splits, one-hop queries.

    Parameters
    ----------
    is_forward : (n_relations,) bool
        False for relations that are the inverse of another; `triples` and
        `triples_in_earlier_splits` leave them out, `edges` counts both directions.

    Returns
    -------
    dict
        `queries_1p` and `pairs_1p` count the (head, relation) and (head, relation, tail) of the
        edges that no earlier split has: the one-hop queries with a hard answer, and those answers.
    """
    keys = triple_keys(graph.triples, graph.n_entities, graph.n_relations)
    counts = {}
    for split, rows in graph.triples.items():
        forward = is_forward[rows[:, 1]]
        observed = graph.observed.get(split, ())
        earlier = {name: is_among(keys[split], keys[name]) for name in observed}
        is_new = ~np.logical_or.reduce([np.zeros(len(rows), bool), *earlier.values()])
        new = rows[is_new]
        starts = (new[1:, :2] != new[:-1, :2]).any(axis=1)
        counts[split] = {
            "triples": int(forward.sum()),
            "edges": len(rows),
            "triples_in_earlier_splits": {
                name: int((held & forward).sum()) for name, held in earlier.items()
            },
            "queries_1p": int(starts.sum()) + bool(len(new)),
            "pairs_1p": len(new),
        }
    return counts


def check_facts(graph: str, facts: dict, summary: dict) -> None:
    """Compare a summary with the golden facts of the catalogue.

    Raises
    ------
    InputError
        Names the first fact that is not met, with both values.
    """
    for key in ("entities", "relations"):
        _same(graph, key, facts.get(key), summary[key])
    for key in ("triples", "first", "last"):
        for split, expected in facts.get(key, {}).items():
            found = summary["splits"][split][key]
            if isinstance(expected, list):
                expected = [str(field) for field in expected]
            _same(graph, f"{key}.{split}", expected, found)


def _same(graph: str, key: str, expected: object, found: object) -> None:
    if expected is not None and expected != found:
        raise InputError(
            f"graph {graph}: the catalogue's fact {key} is {expected}, the files give {found}; "
            "these are other files, or they are read in another way than was meant"
        )
