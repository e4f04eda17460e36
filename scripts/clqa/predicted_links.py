"""Degrees of links from a link predictor: its scores, calibrated, with known edges if asked for."""

import inspect
import os
from collections.abc import Callable

import numpy as np

from clqa.calibrations import calibration
from clqa.errors import InputError
from clqa.graphs import Graph
from clqa.link_degrees import LinkDegrees, rows_at_a_time, with_edges
from clqa.link_queries import link_queries, tails_of
from clqa.predictors import Predictor, open_predictor, scores
from clqa.ragged import part_of, ragged

# Scores that are calibrated at a time; they stay in cache while several passes go over them.
_TILE_BYTES = 2**19


def open_links(
    path: str | os.PathLike, graph: Graph, calibration: dict, hybrid: bool = False
) -> LinkDegrees:
    """Links of a predictor on disk; see `predicted_links`."""
    return predicted_links(open_predictor(path, graph), graph, calibration, hybrid)


def predicted_links(
    predictor: Predictor, graph: Graph, calibration: dict, hybrid: bool = False
) -> LinkDegrees:
    """Links by the calibrated scores of a predictor.

    Parameters
    ----------
    graph : Graph
        The triples that are loaded are the known edges.
    calibration : dict
        `kind`, a name in `clqa.calibrations.CALIBRATIONS`, and parameters of it. Those that are
        missing are the fitted ones of the predictor, or else the defaults.
    hybrid : bool
        Whether known edges have degree 1.

    Raises
    ------
    InputError
        If there is no such calibration or it has no such parameter.
    """
    degrees = _calibrated(calibration, predictor.fitted)
    n_entities = len(predictor.entities)
    # Degrees that count tails count those that the predictor has been trained on.
    train = link_queries(graph, ("train",) if "train" in graph.triples else graph.triples)

    step, n_rows = max(1, _TILE_BYTES // (4 * n_entities)), rows_at_a_time(n_entities)

    def tiles(entities, relations):
        known = tails_of(train, entities, relations)
        room = np.empty((min(n_rows, len(entities)), n_entities), np.float32)
        for block in range(0, len(entities), n_rows):
            asked = entities[block : block + n_rows], relations[block : block + n_rows]
            found = scores(predictor, *asked, out=room[: len(asked[0])])
            for first in range(0, len(found), step):
                tile = found[first : first + step]
                tile = degrees(tile, part_of(known, block + first, block + first + len(tile)))
                if np.isnan(tile.max()):
                    raise InputError(
                        "the predictor's scores are no numbers: its vectors are too large"
                    )
                yield tile

    links = LinkDegrees(n_entities, predictor.reciprocal, tiles, {}, graph.degrees)
    return with_edges(links, link_queries(graph, graph.triples)) if hybrid else links


def _calibrated(settings: dict, fitted: dict) -> Callable:
    """The calibration that is asked for, as a function of scores and train tails."""
    asked = {key: value for key, value in settings.items() if key != "kind"}
    function = calibration(settings["kind"])
    known = list(inspect.signature(function).parameters)[2:]
    for key in asked:
        if key not in known:
            raise InputError(
                f"settings.calibration: {settings['kind']} has no parameter {key}; it has "
                f"{', '.join(known)}"
            )
    parameters = fitted.get(settings["kind"], {}) | asked
    function(np.zeros((1, 2), np.float32), ragged([[0]]), **parameters)  # refuses bad ones
    return lambda found, tails: function(found, tails, **parameters)
