"""Why a model ranks an entity as it does: its best assignment over predicted links."""

import os
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import NamedTuple

import numpy as np

from clqa.algebras import algebra
from clqa.fuzzy_answers import Search
from clqa.graphs import Graph, read_graph
from clqa.link_degrees import LinkDegrees
from clqa.models import (
    QueryBatch,
    inference_graph,
    load_method,
    own_settings,
    takes_links,
    visible_parts,
)
from clqa.plans import tree_plan
from clqa.trees import Node
from clqa.witnesses import Witness, best_witness


class Reasoner(NamedTuple):
    """A method over the links of a predictor, with what it is run on."""

    name: str
    method: ModuleType
    graph: Graph
    links: LinkDegrees
    options: dict


def open_reasoner(
    path_to_graph: str | os.PathLike,
    path_to_predictor: str | os.PathLike,
    method: str,
    settings: dict,
    split: str,
) -> Reasoner | None:
    """A model as it is run on queries of a split; None if its method takes no links of a predictor.

    All degrees are exact, as weak intermediates may be what the best assignment takes.
    """
    module = load_method(method, settings)
    if not takes_links(module):
        return None
    parts = visible_parts(inference_graph(module, settings), read_graph(path_to_graph, ()), split)
    graph = read_graph(path_to_graph, parts)
    calibrated = settings["calibration"], settings.get("hybrid", False)
    links = module.open_links(path_to_predictor, graph, *calibrated)
    options = {name: value for name, value in own_settings(settings).items() if name != "exact"}
    return Reasoner(method, module, graph, links, options)


def witnesses(
    reasoner: Reasoner, batch: QueryBatch, asked: Iterable[tuple[int, int]]
) -> Iterator[Witness | None]:
    """The best assignment for each pair of a row of the batch and an entity; none of degree 0.

    The queries are of one shape, a tree of sets with one free variable.
    """
    steps = tree_plan(batch.formula)
    known: dict[int, np.ndarray] = {}  # by place in memory, as nodes of two kinds may be equal

    def degrees_of(node: Node) -> np.ndarray:
        if id(node) not in known:
            part = batch._replace(plan=steps._replace(root=node))
            about = {"links": reasoner.links, **reasoner.options}
            known[id(node)] = reasoner.method.scores(reasoner.graph, part, **about)
        return known[id(node)]

    for row, entity in asked:
        if degrees_of(steps.root)[row, entity] <= 0:
            yield None
            continue
        own = batch._replace(anchors=batch.anchors[[row]], relations=batch.relations[[row]])
        search = _search(reasoner, own)
        yield best_witness(steps.root, entity, search, _of_row(degrees_of, row))


def _of_row(degrees_of: Callable, row: int) -> Callable[[Node], np.ndarray]:
    return lambda node: degrees_of(node)[row]


def _search(reasoner: Reasoner, batch: QueryBatch) -> Search:
    """How a method joins degrees, and which intermediates it follows."""
    links, options = reasoner.links, reasoner.options
    rows = batch.anchors, batch.relations
    if reasoner.name == "qto":
        scale = np.float32(options.get("negation_scale", 1.0))
        logic = algebra("product", "standard")
        logic = logic._replace(negate=lambda held: 1 - np.minimum(1, scale * held))
        return Search(links, logic, *rows, links.n_entities)
    name = options.get("algebra", "product")
    logic = algebra(name, options.get("negation", "standard"))
    beam = options.get("beam", 32 if reasoner.name == "cqd_beam" else 128)
    return Search(links, logic, *rows, beam)


def n_followed(reasoner: Reasoner, batch: QueryBatch) -> int:
    """How many intermediates of a step are followed at most."""
    return _search(reasoner, batch).beam
