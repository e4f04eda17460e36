"""Published query sets, read in any of the layouts and brought to the ids of a graph."""

import os
from collections.abc import Mapping

import numpy as np

from clqa.adjacencies import View
from clqa.answers import split_answers
from clqa.errors import InputError
from clqa.formulas import Formula
from clqa.graph_entries import DICTIONARIES
from clqa.graphs import Graph
from clqa.layouts import beta_e, efo_1, efok_json, neutral, plus_h, query2box, ultra_query
from clqa.plans import plan
from clqa.published_entries import OPTIONS, filter_of
from clqa.published_sets import Batch, Release
from clqa.ragged_sets import row_numbers
from clqa.receipts import received
from clqa.release_ids import ReleaseIds, own_ids, release_ids
from clqa.vocabularies import graph_labels

READERS = {
    "beta-e": beta_e.read,
    "query2box": query2box.read,
    "efo-1": efo_1.read,
    "efok-json": efok_json.read,
    "neutral": neutral.read,
    "plus-h": plus_h.read,
    "ultra-query": ultra_query.read,
}
_LOOKED_AT = 20


def read_release(
    path_to_source: str | os.PathLike,
    published: Mapping[str, object],
    formulas: Mapping[str, Formula],
    graph: Graph,
    path_to_entities: str | os.PathLike,
    path_to_relations: str | os.PathLike,
) -> Release:
    """The shapes that are asked for, from a folder that `download_queries` has filled.

    Parameters
    ----------
    published : dict
        What the catalogue says of the files: `layout`, and the options that it may have.
    """
    files, names, receipt = received(path_to_source)
    layout, paths = published["layout"], (path_to_entities, path_to_relations)
    options = {key: published[key] for key in OPTIONS.get(layout, ()) if key in published}
    if options.pop("fields", "ids") == "labels":
        options["labels"] = graph_labels(*paths, graph.vocabulary)
    if filter_of(published) is not None:
        options["filter_"] = filter_of(published)
    if "index" in files or all(role in files for role in DICTIONARIES):
        keys = {role: receipt["files"][role].get("key") for role in DICTIONARIES if role in files}
        own = graph_labels(*paths, graph.vocabulary)
        ids = release_ids(files, names, own, keys, is_part=graph.restricted)
    else:
        ids = _graphs_ids(files, names, layout, graph)
    return READERS[layout](files, names, formulas, ids, **options)


def _graphs_ids(files, names, layout: str, graph: Graph) -> ReleaseIds:
    vocabulary = neutral.vocabulary(files) if layout == "neutral" else None
    if vocabulary not in (None, graph.vocabulary):
        raise InputError(
            f"{names['queries']}: of the vocabulary {vocabulary[:12]}…, but the graph's is "
            f"{graph.vocabulary[:12]}…: the same ids mean other entities"
        )
    return own_ids(graph.n_entities, graph.n_relations)


def check_against_graph(shape: str, formula: Formula, batch: Batch, view: View) -> None:
    """Raise `InputError` where the graph tells that easy and hard answers change places.

    A look at some queries is enough: swapped files are swapped throughout. Of a selection the hard
    answers are some of those of the graph, and the others are easy.
    """
    easy, hard = batch.sets.get("easy"), batch.sets.get("hard")
    if easy is None or hard is None or not len(batch.anchors):
        return
    anchors, relations = batch.anchors[:_LOOKED_AT], batch.relations[:_LOOKED_AT]
    found = split_answers(plan(formula), view, anchors, relations)
    rows = [
        [_as_set(one.row(place)) for one in (easy, hard, found.easy, found.hard)]
        for place in range(len(anchors))
    ]
    are_swapped = all(a == d and b == c for a, b, c, d in rows) and any(a != b for a, b, *_ in rows)
    if "selected" in batch.sets:
        are_swapped = all(a <= d for a, _, _, d in rows) and any(a and b & c for a, b, c, _ in rows)
    if are_swapped:
        what = "files" if batch.files["easy"] != batch.files["hard"] else "sets"
        raise InputError(
            f"{batch.place(shape, 0, 'easy', 'hard')} and those after it: the easy answers are "
            f"what the graph has as hard ones, and the other way round; the two {what} are swapped"
        )


def _as_set(answers: np.ndarray) -> set:
    """Ids, or tuples of ids."""
    return set(answers.tolist() if answers.ndim == 1 else map(tuple, answers.tolist()))


def check_against_candidates(shape: str, batch: Batch, known: np.ndarray) -> None:
    """Raise `InputError` if a query or a hard answer has an entity that its graph does not have.

    Parameters
    ----------
    known : entities of the full graph of the split
    """
    rows = np.flatnonzero(~np.isin(batch.anchors, known).all(axis=1))
    if "hard" in batch.sets:
        strange = ~np.isin(batch.sets["hard"].values, known)
        strange = strange if strange.ndim == 1 else strange.any(axis=1)
        rows = np.concatenate([rows, row_numbers(batch.sets["hard"])[strange]])
    if len(rows):
        query = [batch.anchors[rows[0]].tolist(), batch.relations[rows[0]].tolist()]
        raise InputError(
            f"{shape}, query {query}: an anchor or hard answer is in no triple of the graph of the "
            "split; are these ids of another split's entities? Give files.entities and relations"
        )
