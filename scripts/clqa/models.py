"""Answering methods: what a file in `scripts/models/` has to offer, and how it is run.

To add a method, write `scripts/models/<method>.py` with

* `scores(graph, queries, **settings)`, which returns a float32 array (n, n_entities): for each of
  the n queries of a batch one score per entity, higher is better. Where the shape has k > 1 free
  variables it is (n, k, n_entities), in the order of `queries.variables` (`score_shape`). NaN is
  refused, infinities are ranked. The scores of a query must not depend on the rest of its batch,
  whose size is arbitrary.
* `INFERENCE_GRAPHS`, what it may be run on, the default first: `observed` (the triples that give
  the easy answers: train for a valid query set, train and valid for a test one, unless the graph
  says otherwise) or `train`. An empty tuple stands for a method that needs no triples; `answers`
  is for the oracle alone.

`graph` is a `clqa.graphs.Graph` whose `triples` hold the parts of that graph and no others, so
that a method cannot see what it is to predict. `queries` is a `QueryBatch`. The keyword parameters
of `scores` are the settings of the method; those without a default must be in its entry in
`config/models.yaml`. The setting `inference_graph` belongs to every method and is not passed on.

A method with the parameter `links` answers over the links of a predictor, and imports
`clqa.predicted_links.open_links`: it is given the `clqa.link_degrees.LinkDegrees` that this makes
of the settings `predictor`, `calibration` and `hybrid`, which all such methods have. The known
edges of hybrid links are those of the inference graph. Such a method is asked for formulas that are
trees of sets with one free variable (`plan` is a `clqa.plans.Plan`), unless `NEEDS_TREES = False`
stands in its file.
"""

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import numpy as np

from clqa.errors import InputError
from clqa.formulas import Formula, free_variables
from clqa.graphs import Graph
from clqa.methods import LINK_SETTINGS, LINKS
from clqa.plans import Plan
from clqa.ragged import Ragged, part_of
from clqa.ragged_sets import row_numbers


class QueryBatch(NamedTuple):
    """Some queries of one shape.

    Attributes
    ----------
    plan : Plan
        The shape as set operators. The numbers in its nodes are columns of `anchors`, `relations`.
    query_ids : (n,) str
    anchors : (n, n_constants) int32
        Entity ids, in the order in which the constants first appear in the formula.
    relations : (n, n_relation_symbols) int32
        Relation ids, likewise.
    answers : Ragged of n rows, or None
        All answers on the full graph, if the inference graph is `answers`; None otherwise. Where
        there are several free variables they are tuples (`clqa.tuples`).
    formula : Formula
        The shape. Its relation symbols, in order of appearance, are the columns of `relations`.
    """

    plan: Plan
    query_ids: np.ndarray
    anchors: np.ndarray
    relations: np.ndarray
    answers: Ragged | None = None
    formula: Formula | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The free variables, in the order in which they are scored."""
        return ("f",) if self.formula is None else free_variables(self.formula)


def score_shape(queries: QueryBatch, n_entities: int) -> tuple[int, ...]:
    """(n, n_entities), or (n, k, n_entities) where there are k > 1 free variables."""
    k = len(queries.variables)
    return (len(queries.query_ids), *[k] * (k > 1), n_entities)


def degrees(queries: QueryBatch, answers: Ragged, n_entities: int) -> np.ndarray:
    """Scores of 1 for what each variable is in some answer, and of 0 for all else."""
    found = np.zeros(score_shape(queries, n_entities), dtype=np.float32)
    rows = row_numbers(answers)
    if answers.values.ndim == 1:
        found[rows, answers.values] = 1.0
    else:
        found[rows[:, None], np.arange(answers.values.shape[1]), answers.values] = 1.0
    return found


def batches(queries: QueryBatch, n_entities: int, chunk_bytes: int) -> Iterator[QueryBatch]:
    """Cut a batch so that the float32 scores of each part stay below `chunk_bytes`."""
    step = max(1, chunk_bytes // (4 * len(queries.variables) * max(1, n_entities)))
    for first in range(0, len(queries.query_ids), step):
        part = slice(first, first + step)
        answers = queries.answers
        if answers is not None:
            answers = part_of(answers, first, min(first + step, len(queries.query_ids)))
        columns = (column[part] for column in queries[1:4])
        yield QueryBatch(queries.plan, *columns, answers, queries.formula)


def load_method(name: str, settings: dict) -> ModuleType:
    """The module of a method, once its settings are known to fit.

    Raises
    ------
    InputError
        If there is no such method, or a setting is missing or unknown.
    """
    try:
        method = importlib.import_module(f"models.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("models", f"models.{name}"):
            raise
        raise InputError(f"method {name!r}: there is no scripts/models/{name}.py") from error
    parameters = list(inspect.signature(method.scores).parameters.values())[2:]
    if takes_links(method):
        parameters = [parameter for parameter in parameters if parameter.name != LINKS]
    shared = LINK_SETTINGS if takes_links(method) else {}
    known = [*shared, *(parameter.name for parameter in parameters)]
    for key in settings:
        if key not in (*known, "inference_graph"):
            text = ", ".join(["inference_graph", *known])
            raise InputError(f"settings of method {name}: unknown key {key!r}; known are {text}")
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.name not in settings:
            raise InputError(f"settings of method {name}: the key {parameter.name} is missing")
    for key, is_required in shared.items():
        if is_required and key not in settings:
            raise InputError(f"settings of method {name}: the key {key} is missing")
    return method


def takes_links(method: ModuleType) -> bool:
    """Whether a method answers over the links of a predictor."""
    return LINKS in inspect.signature(method.scores).parameters


def needs_trees(method: ModuleType) -> bool:
    """Whether a method answers over links, and only formulas that are trees of sets."""
    return takes_links(method) and getattr(method, "NEEDS_TREES", True)


def own_settings(settings: dict) -> dict:
    """The settings that are handed to the function `scores` of a method."""
    shared = ("inference_graph", *LINK_SETTINGS)
    return {key: value for key, value in settings.items() if key not in shared}


def inference_graph(method: ModuleType, settings: dict) -> str:
    """Name of what a method runs on; empty for a method that needs no triples."""
    allowed = method.INFERENCE_GRAPHS or ("",)
    name = settings.get("inference_graph", allowed[0])
    if name not in allowed:
        known = ", ".join(method.INFERENCE_GRAPHS) or "none, as the method uses no triples"
        raise InputError(
            f"settings of method {method.__name__.removeprefix('models.')}: inference_graph"
            f" {name!r} is not possible; possible are {known}"
        )
    return name


def visible_parts(name: str, graph: Graph, split: str) -> tuple[str, ...]:
    """The parts of a graph that a method sees, by its inference graph and the queries' split."""
    return {"observed": graph.observed[split], "train": ("train",)}.get(name, ())
