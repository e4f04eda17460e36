"""Strata: parts of the hard answers, or of the queries, over which metrics are averaged apart.

A stratum is written `key=value`. Answers are told apart by `links` (the smallest number of missing
links) and `class` (the reduction class of the +H benchmarks); queries by `size` (true answers),
`degree` (edges of the observed graph at the anchor that has fewest), `relation` (each relation of
an atom with a free variable) and `defined` (of several free variables, how many have hard values).
Where whole queries are judged, `links` has the numbers of all hard answers of a query, as in `1-2`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.formulas import Formula, atoms, parse, symbols
from clqa.graphs import Graph
from clqa.query_sets import AnswerTable, QueryTable, arity_of
from clqa.reduction_classes import find_class_table
from clqa.stratum_names import KEYS, OF_QUERIES, natural_order
from clqa.tuple_counts import defined_variables, known_answers

OF_WHOLE_QUERIES = ("links", *OF_QUERIES)
# Buckets start at these numbers.
_SIZES = (0, 1, 2, 5, 10, 20, 50, 100)
_DEGREES = (0, 1, 10, 100, 1000, 10_000)


class Stratum(NamedTuple):
    """A part of the hard answers.

    Attributes
    ----------
    name : str
        `key=value`.
    chosen : (n_answers,) bool
        Its hard answers, in the order of the answers; from `query_strata` its queries.
    whole : bool
        Whether it has all hard answers of a query or none.
    """

    name: str
    chosen: np.ndarray
    whole: bool


def strata(
    keys: Sequence[str],
    answers: AnswerTable,
    queries: QueryTable | None = None,
    graph: Graph | None = None,
    relations: Sequence[str] | None = None,
) -> Iterator[Stratum]:
    """The strata of some keys that have any hard answer, key by key, in order of their values.

    Parameters
    ----------
    queries, graph : optional
        Needed for `degree` and `relation`.
    relations : sequence of str, optional
        Labels of the relations, needed for `relation`.

    Raises
    ------
    InputError
        If a key is unknown.
    """
    owner = np.repeat(
        np.arange(sum(len(part.query_ids) for part in answers.shapes.values())),
        _joined([part.hard.lengths() for part in answers.shapes.values()], np.int64),
    )
    for key in keys:
        if key == "links":
            yield from _of_numbers(key, _joined([a.links for a in answers.shapes.values()], int))
        elif key == "class":
            yield from _of_names(key, _classes(answers), whole=False)
        elif key in OF_QUERIES:
            for one in query_strata([key], answers, queries, graph, relations):
                if one.chosen[owner].any():
                    yield one._replace(chosen=one.chosen[owner])
        else:
            raise InputError(f"strata: no key {key!r}; known are {', '.join(KEYS)}")


def query_strata(
    keys: Sequence[str],
    answers: AnswerTable,
    queries: QueryTable | None = None,
    graph: Graph | None = None,
    relations: Sequence[str] | None = None,
) -> Iterator[Stratum]:
    """The strata of keys of queries; `chosen` has a place for each query, with answers or without.

    Parameters and errors are those of `strata`. Keys are `OF_WHOLE_QUERIES` and `shape`.
    """
    for key in keys:
        if key == "shape":
            sizes = [len(part.query_ids) for part in answers.shapes.values()]
            owner = np.repeat(np.arange(len(sizes)), sizes)
            for place, shape in enumerate(answers.shapes):
                yield Stratum(f"shape={shape}", owner == place, whole=True)
        elif key == "links":
            yield from _of_names(key, _link_ranges(answers))
        elif key == "size":
            yield from _of_names(key, _buckets(_sizes(answers), _SIZES))
        elif key == "degree":
            yield from _of_names(key, _buckets(_degrees(queries, graph), _DEGREES))
        elif key == "relation":
            yield from _of_relations(queries, relations)
        elif key == "defined":
            yield from _of_names(key, _defined(answers))
        else:
            known = ", ".join(("shape", *OF_WHOLE_QUERIES))
            raise InputError(f"strata: no key {key!r} of whole queries; known are {known}")


def _of_numbers(key: str, values: np.ndarray) -> Iterator[Stratum]:
    for value in np.unique(values):
        yield Stratum(f"{key}={value}", values == value, whole=False)


def _of_names(key: str, names: np.ndarray, whole: bool = True) -> Iterator[Stratum]:
    found, places = np.unique(names, return_inverse=True)
    order = sorted(range(len(found)), key=lambda place: natural_order(found[place]))
    for place in order:
        if found[place]:
            yield Stratum(f"{key}={found[place]}", places == place, whole)


def _joined(parts: Sequence[np.ndarray], dtype) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts])


def _classes(answers: AnswerTable) -> np.ndarray:
    """Name of the class of each hard answer; empty where its shape has no classes."""
    parts = [np.empty(0, object)]
    for shape, part in answers.shapes.items():
        table = find_class_table(parse(answers.metadata["formulas"][shape]))
        names = np.array(["" if table is None else "none", *(table.names if table else ())], object)
        known = part.classes if table is not None else np.full(len(part.hard.values), -1)
        parts.append(names[known + 1])
    return np.concatenate(parts).astype(str)


def _link_ranges(answers: AnswerTable) -> np.ndarray:
    """Numbers of missing links that the hard answers of each query need; 0 where it has none."""
    found = [np.empty(0, str)]
    for part in answers.shapes.values():
        starts = part.hard.offsets[:-1][part.hard.lengths() > 0]
        low, high = np.zeros((2, len(part.query_ids)), np.int64)
        for numbers, of in ((low, np.minimum), (high, np.maximum)):
            numbers[part.hard.lengths() > 0] = of.reduceat(part.links, starts) if len(starts) else 0
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        found.append(np.array([str(a) if a == b else f"{a}-{b}" for a, b in pairs], object))
    return np.concatenate(found).astype(str)


def _sizes(answers: AnswerTable) -> np.ndarray:
    """Number of true answers of each query: easy without retracted ones, and hard ones."""
    parts = answers.shapes.values()
    return _joined(
        [p.easy.lengths() - p.retracted.lengths() + p.hard.lengths() for p in parts], np.int64
    )


def _defined(answers: AnswerTable) -> np.ndarray:
    """How many of several free variables have hard values in each query; empty for a single one."""
    found = [np.empty(0, str)]
    for part in answers.shapes.values():
        if arity_of(answers) == 1:
            found.append(np.full(len(part.query_ids), "", object))
        else:
            known = known_answers(part.easy, part.hard, part.retracted)
            found.append(defined_variables(known).astype(str))
    return np.concatenate(found).astype(str)


def _degrees(queries: QueryTable, graph: Graph) -> np.ndarray:
    """Edges of the observed graph at that anchor of each query that has fewest; 0 for none."""
    degree = np.zeros(graph.n_entities, np.int64)
    for part in graph.observed[queries.metadata["split"]]:
        for column in (0, 2):
            degree += np.bincount(graph.triples[part][:, column], minlength=graph.n_entities)
    found = [
        degree[batch.anchors].min(axis=1)
        if batch.anchors.shape[1]
        else np.zeros(len(batch.anchors))
        for batch in queries.shapes.values()
    ]
    return _joined(found, np.int64)


def _buckets(numbers: np.ndarray, starts: Sequence[int]) -> np.ndarray:
    """Name of the bucket of each number, such as `5-9` or `100+`."""
    ends = [f"-{after - 1}" for after in starts[1:]] + ["+"]
    names = [
        str(start) if end == f"-{start}" else f"{start}{end}"
        for start, end in zip(starts, ends, strict=True)
    ]
    places = np.searchsorted(starts, numbers, side="right") - 1
    return np.array(["", *names])[places + 1]


def _of_relations(queries: QueryTable, labels: Sequence[str]) -> Iterator[Stratum]:
    """A stratum for each relation that some atom with the free variable has."""
    n_queries, first = sum(len(b.anchors) for b in queries.shapes.values()), 0
    found: dict[int, np.ndarray] = {}
    for shape, batch in queries.shapes.items():
        columns = last_relations(parse(queries.metadata["formulas"][shape]))
        for relation in np.unique(batch.relations[:, columns]):
            holds = (batch.relations[:, columns] == relation).any(axis=1)
            rows = found.setdefault(int(relation), np.zeros(n_queries, bool))
            rows[first : first + len(holds)] |= holds
        first += len(batch.anchors)
    for relation in sorted(found):
        yield Stratum(f"relation={labels[relation]}", found[relation], whole=True)


def last_relations(formula: Formula) -> list[int]:
    """Columns of the relations of those atoms that hold a free variable."""
    names = symbols(formula, "r")
    free = set(symbols(formula, "f"))
    found = {atom.relation for atom in atoms(formula) if free & {atom.head, atom.tail}}
    return [place for place, name in enumerate(names) if name in found]
