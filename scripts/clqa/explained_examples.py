"""Why examples of a report are answers: on the full graph, and to models over predicted links."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from clqa.crisp_witnesses import CrispWitness, some_witness
from clqa.edge_indexes import Edges, EdgeSet, graph_edges, vector_ids
from clqa.example_queries import Example
from clqa.formulas import free_variables, vectors
from clqa.graphs import Graph
from clqa.model_witnesses import Reasoner, n_followed, witnesses
from clqa.models import QueryBatch
from clqa.plans import Plan, plan
from clqa.witnesses import CONDITIONS, Witness, conditions_of, link_status, links_of
from clqa.worded_queries import absence_in_words

# Partial assignments that are tried for one answer, unless one with the fewest links is found.
MOST_TRIED = 5_000
# Queries of a shape for which models are asked, and the numbers that they may need for a step.
BY_MODELS, MOST_DEGREES = 5, 10_000_000
STATUSES = ("observed", "missing", "predicted")


def explained(
    chosen: Sequence[Example],
    graph: Graph,
    split: str,
    reasoners: Iterable[Callable[[], Reasoner | None]],
) -> dict[str, dict]:
    """For each query a witness of each hard answer, and what models take for its first one.

    Parameters
    ----------
    reasoners : functions that open a model each, so that one at a time is in memory
    """
    relations = {id_ for one in chosen for name, id_ in one.values.items() if name[0] == "r"}
    numbers = {number for one in chosen for number in vectors(one.formula)}
    full, observed = graph_edges(graph, split, relations, sorted(numbers))
    found = {
        one.query_id: {"why": [*_crisp(one, graph, full, observed)], "models": []} for one in chosen
    }
    for opened in reasoners:
        reasoner = opened()
        told = dict(_by_model(chosen, reasoner, observed, full.known)) if reasoner else {}
        for query_id, about in found.items():
            about["models"].append(told.get(query_id))
    return found


def _crisp(one: Example, graph: Graph, full: Edges, observed: EdgeSet) -> Iterator[dict | None]:
    """A witness of each hard answer that is shown, of the fewest missing edges if it is found."""
    values = one.values | vector_ids(one.formula, graph)
    variables = free_variables(one.formula)
    for answer, n_links in zip(one.hard, one.links, strict=True):
        bound = dict(zip(variables, answer, strict=True))
        edges = full, observed, graph.n_entities
        witness = some_witness(one.formula, values, bound, *edges, n_links, MOST_TRIED)
        yield None if witness is None else _as_json(witness, values | bound)


def _as_json(witness: CrispWitness, known: Mapping[str, int]) -> dict:
    """Ids, and what must not hold in words with quoted symbols in place of labels."""
    names = {symbol: f'"{symbol}"' for symbol in (*known, *witness.assignment)}
    return {
        "values": witness.assignment,
        "steps": [[*step.edge, STATUSES.index(step.status)] for step in witness.steps],
        "absent": [absence_in_words(part, names) for part in witness.absent],
    }


def _by_model(
    chosen: Iterable[Example], reasoner: Reasoner, observed: EdgeSet, full: EdgeSet
) -> Iterator[tuple[str, dict]]:
    """The query ids and the best assignments that a model has for their first hard answers."""
    by_shape: dict[str, list[Example]] = {}
    for one in chosen:
        if isinstance(plan(one.formula), Plan):
            by_shape.setdefault(one.shape, []).append(one)
    for own in by_shape.values():
        asked = own[:BY_MODELS]
        batch = _batch(asked)
        if n_followed(reasoner, batch) * reasoner.graph.n_entities > MOST_DEGREES:
            continue
        entities = [(row, one.hard[0][0]) for row, one in enumerate(asked)]
        for one, witness in zip(asked, witnesses(reasoner, batch, entities), strict=True):
            if witness is not None:
                yield one.query_id, _told(witness, observed, full)


def _batch(asked: Sequence[Example]) -> QueryBatch:
    formula = asked[0].formula
    ids = np.array([one.query_id for one in asked], dtype=object)
    columns = (
        np.array([[v for k, v in one.values.items() if k[0] == kind] for one in asked], np.int32)
        for kind in "sr"
    )
    return QueryBatch(plan(formula), ids, *columns, None, formula)


def _told(witness: Witness, observed: EdgeSet, full: EdgeSet) -> dict:
    """Links in the order from the anchors on; numbers to four digits, which is what is shown."""
    links = [
        [*link[:3], STATUSES.index(link_status(link, observed, full)), int(link.negated),
         _rounded(link.degree)]
        for link in reversed([*links_of(witness)])
    ]  # fmt: skip
    rest = [
        [CONDITIONS[part.kind], part.entity, _rounded(part.degree)]
        for part in conditions_of(witness)
    ]
    return {"degree": _rounded(witness.degree), "links": links, "rest": rest}


def _rounded(degree: float) -> float:
    return float(f"{degree:.4g}")
