"""A query of a query set with all that is known of it: its files, labels, answers and ranks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from clqa.adjacencies import split_view
from clqa.answers import split_answers
from clqa.errors import InputError, abridged, placed
from clqa.failed_shapes import refuse_failed
from clqa.files import read_json
from clqa.formulas import Formula, parse
from clqa.graphs import Graph, read_graph
from clqa.model_witnesses import open_reasoner, witnesses
from clqa.models import QueryBatch
from clqa.plans import Plan, plan
from clqa.printed_queries import values_of
from clqa.query_sets import Answers, read_answers, read_queries
from clqa.scores import read_ranks
from clqa.top_tables import read_tops
from clqa.tuples import free_variables
from clqa.vocabularies import graph_labels
from clqa.witnesses import Witness


class Subject(NamedTuple):
    """One query.

    Attributes
    ----------
    answers : Answers of this query alone
    values : dict
        Ids of its constants and relations.
    folder : path
        Of the graph.
    query_set : str
        Hash of the queries of the shard.
    """

    query_id: str
    shape: str
    shard: str
    split: str
    formula: Formula
    values: dict[str, int]
    batch: QueryBatch
    answers: Answers
    graph: Graph
    folder: Path
    entities: Sequence[str]
    relations: Sequence[str]
    query_set: str

    @property
    def variables(self) -> tuple[str, ...]:
        return free_variables(self.formula)

    def sets(self) -> dict[str, np.ndarray]:
        """The easy, hard and retracted answers as rows of one id per free variable."""
        found = {}
        for name in ("easy", "hard", "retracted"):
            values = getattr(self.answers, name).values
            found[name] = values.reshape(-1, len(self.variables))
        return found


def read_subject(results: Path, queries: str, query_id: str) -> Subject:
    """Find a query by its id, or by the start of it.

    Raises
    ------
    InputError
        If there is no such query or there are several, or the graph is not at hand.
    """
    paths = sorted((results / "queries" / queries).glob("*.parquet"))
    if not paths:
        raise InputError(f"{queries}: no queries; run the workflow for it first")
    found = []
    for path in paths:
        table = read_queries(path)
        for shape, batch in table.shapes.items():
            names = batch.query_ids.tolist()
            found += [(path, table, shape, n) for n, one in enumerate(names) if
                      one.startswith(query_id)]  # fmt: skip
    if len(found) != 1:
        names = [table.shapes[shape].query_ids[n] for _, table, shape, n in found[:3]]
        what = f"{len(found)} queries ({', '.join(names)}, ...)" if found else "no query"
        advice = "give more of it" if found else "scripts/print_queries.py lists them"
        raise InputError(f"{queries}: {what} with the id {abridged(query_id)}; {advice}")
    path, table, shape, place = found[0]
    folder = _graph_folder(results, table.metadata["graph"])
    graph = read_graph(folder / "graph.npz")
    files = (folder / f"{kind}.tsv" for kind in ("entities", "relations"))
    labels = (one.to_pylist() for one in graph_labels(*files, graph.vocabulary))
    rows, formula = table.shapes[shape], parse(table.metadata["formulas"][shape])
    own = slice(place, place + 1)
    columns = rows.query_ids[own], rows.anchors[own], rows.relations[own]
    split = table.metadata["split"]
    return Subject(
        str(columns[0][0]),
        shape,
        path.stem,
        split,
        formula,
        values_of(formula, rows.anchors[place], rows.relations[place]),
        QueryBatch(plan(formula), *columns, None, formula),
        _answers(results / "answers" / queries / path.name, columns, formula, graph, split),
        graph,
        folder,
        *labels,
        table.metadata["queries"],
    )


def _graph_folder(results: Path, graph_hash: str) -> Path:
    for path in sorted((results / "graphs").glob("*/summary.json")):
        if read_json(path).get("graph") == graph_hash:
            return path.parent
    raise InputError(f"{results / 'graphs'}: the graph of these queries is not there; build it")


def _answers(path: Path, columns, formula: Formula, graph: Graph, split: str) -> Answers:
    """The answers as the query set has them, or else as the graph gives them."""
    if path.is_file():
        for part in read_answers(path).shapes.values():
            places = np.flatnonzero(part.query_ids == columns[0][0])
            if len(places):
                return _of_one(part, int(places[0]))
    found = split_answers(plan(formula), split_view(graph, split), *columns[1:])
    return Answers(columns[0], *found, np.zeros(len(found.hard.values), np.uint8))


def _of_one(part: Answers, place: int) -> Answers:
    sets, spans = [], []
    for rows in (part.easy, part.hard, part.retracted):
        start, end = rows.offsets[place : place + 2]
        spans.append(slice(start, end))
        sets.append(rows._replace(offsets=rows.offsets[:2] * 0 + [0, end - start],
                                  values=rows.values[start:end]))  # fmt: skip
    return Answers(part.query_ids[place : place + 1], *sets, part.links[spans[1]])


class Standing(NamedTuple):
    """How a model ranks a value of a free variable.

    Attributes
    ----------
    greater, tied, candidates : int
    score : float or None
    better : list of (entity, score)
        Candidates that are no answers and score higher, the best first; as far as they are known.
    bound : str
        `best` or `worst` where rank and score are bounds, of lists that are cut; else empty.
    """

    variable: str
    filter: str
    greater: int
    tied: int
    candidates: int
    score: float | None
    better: list[tuple[int, float]]
    bound: str = ""


def standings(
    results: Path, queries: str, model: str, subject: Subject, answer: Mapping[str, int]
) -> list[Standing]:
    """How a model ranks an answer under each competition; nothing for what has no rank.

    Raises
    ------
    InputError
        If there are no ranks of the model, if they lack shapes, or are of queries that were drawn
        before.
    """
    path = results / "ranks" / queries / model / f"{subject.shard}.parquet"
    if not path.is_file():
        known = sorted(one.name for one in path.parents[1].glob("*"))
        raise InputError(
            f"{model}: no ranks of such a model; there are {', '.join(known) or 'none'}"
        )
    table, about = read_ranks(path)
    if about["queries"] != subject.query_set:
        what = f"not the ranks of the queries that {queries} has now"
        raise InputError(f"{path}: {what}; run the workflow again, which makes them anew")
    with placed(path):
        refuse_failed(model, about.get("failed", {}))
    bound = about["model"]["settings"].get("unlisted", "")
    bound = bound if model.endswith(f".{bound}") else ""
    table = table.filter(pc.equal(table["query_id"].cast("string"), subject.query_id))
    better, score = _better(results, queries, model, subject, answer)
    found = []
    for row in table.to_pylist():
        place = (row["variable"] or 1) - 1
        variable = subject.variables[place]
        if row["answer"] == answer[variable]:
            numbers = (row[name] for name in ("greater", "tied", "candidates"))
            found.append(Standing(variable, row["filter"], *numbers, score, better, bound))
    return found


def _better(
    results, queries, model, subject, answer
) -> tuple[list[tuple[int, float]], float | None]:
    """Candidates above a single answer, as far as the tops go, and its score."""
    path = results / "tops" / queries / model / f"{subject.shard}.parquet"
    whole = results / "answers" / queries / f"{subject.shard}.parquet"
    if len(subject.variables) > 1 or not (path.is_file() and whole.is_file()):
        return [], None
    answers = read_answers(whole)
    top = read_tops(path, answers)[0][subject.shape]
    part = answers.shapes[subject.shape]
    place = int(np.flatnonzero(part.query_ids == subject.query_id)[0])
    own = np.union1d(subject.answers.easy.values, subject.answers.hard.values)
    start = int(part.easy.offsets[place] + part.hard.offsets[place])
    at = np.flatnonzero(own == answer[subject.variables[0]])
    score = float(top.answer_scores[start + at[0]]) if len(at) else None
    span = slice(*top.best.offsets[place : place + 2])
    pairs = zip(top.best.values[span].tolist(), top.scores[span].tolist(), strict=True)
    return [pair for pair in pairs if score is not None and pair[1] > score], score


def model_witness(
    results: Path, queries: str, model: str, subject: Subject, entity: int
) -> Witness | None:
    """The best assignment by a model over predicted links, of shapes that are trees; else None.

    Raises
    ------
    InputError
        If the link predictor is not there, or the degree of the entity is 0.
    """
    path = results / "ranks" / queries / model / f"{subject.shard}.parquet"
    facts = read_ranks(path)[1]["model"]
    settings = facts["settings"]
    if "predictor" not in settings or not isinstance(subject.batch.plan, Plan):
        return None
    predictor = results / "predictors" / subject.folder.name / f"{settings['predictor']}.npz"
    graph = subject.folder / "graph.npz"
    reasoner = open_reasoner(graph, predictor, facts["method"], settings, subject.split)
    if reasoner is None:
        return None
    (found,) = witnesses(reasoner, subject.batch, [(0, entity)])
    if found is None:
        label = subject.entities[entity]
        raise InputError(f"{model} gives {label!r:.80} the degree 0: there is nothing to explain")
    return found
