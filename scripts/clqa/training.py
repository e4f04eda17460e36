"""Training of link predictors on the train triples of a graph, stopped by the valid ones.

The result depends on the graph and the settings alone, for one BLAS with one number of threads: the
order of questions in an epoch is drawn from the seed and the epoch, and a killed training goes on
from its checkpoint to the same bytes.
"""

import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from clqa.embeddings import MODELS
from clqa.errors import InputError
from clqa.graphs import Graph
from clqa.link_prediction import link_mrr
from clqa.link_queries import LinkQueries, link_queries, picked
from clqa.objectives import Objective, loss_and_gradients
from clqa.optimizers import OPTIMIZERS, descend
from clqa.predictors import Predictor, make_predictor, n_reciprocal
from clqa.randomness import stream_key
from clqa.training_states import State, Vectors


def train(
    graph: Graph,
    settings: dict,
    threads: int = 1,
    state: State | None = None,
    keep: Callable[[State], None] = lambda state: None,
) -> State:
    """Train until the epochs are over, or validation has not become better for long enough.

    Parameters
    ----------
    settings : dict
        An entry of `config/predictors.yaml` that is trained, with its defaults.
    threads : int
        Workers for what is not BLAS; the environment variables of BLAS set its own threads.
    state : State, optional
        Where to go on; its arrays are overwritten.
    keep : function
        Called with the state after each validation.

    Raises
    ------
    InputError
        If there is nothing to train on, or a number is not finite any more.
    """
    queries = link_queries(graph, ("train",))
    if not len(queries.heads):
        raise InputError("the graph has no train triples to train on")
    state = first_state(graph, settings) if state is None else state
    start, before = time.perf_counter(), state.epoch
    # What overflows is told of once, as divergence.
    with ThreadPoolExecutor(threads) as pool, np.errstate(over="ignore", invalid="ignore"):
        spread = pool.map if threads > 1 else map
        while not is_over(state, settings):
            state, loss = _epoch(state, queries, settings, spread)
            if state.epoch % settings["validate_every"] == 0 or state.epoch == settings["epochs"]:
                state = _validated(state, loss, graph, settings)
                keep(state)
                seconds = (time.perf_counter() - start) / (state.epoch - before)
                point = ", ".join(f"{name} {value:.4g}" for name, value in state.curve[-1].items())
                logging.info("%s, %.3g s per epoch", point, seconds)
    return state


def first_state(graph: Graph, settings: dict) -> State:
    """Parameters drawn from the normal distribution by the seed, and empty memories."""
    model, rank = MODELS[settings["model"]], settings["rank"]
    shapes = (
        (graph.n_entities, model.entity_width(rank)),
        (n_reciprocal(graph.inverse), model.relation_width(rank)),
    )
    random, scale = _random(settings["seed"], "start"), np.float32(settings["scale"])
    drawn = Vectors(*(random.standard_normal(shape, np.float32) * scale for shape in shapes))
    _, n_memories = OPTIMIZERS[settings["optimizer"]]
    memories = [Vectors(*map(np.zeros_like, drawn)) for _ in range(n_memories)]
    return State(0, 0, drawn, memories, Vectors(*map(np.copy, drawn)), [])


def is_over(state: State, settings: dict) -> bool:
    """Whether all epochs are done, or the best validation is `patience` validations ago."""
    patience, values = settings["patience"], [point.get("mrr", 0.0) for point in state.curve]
    is_late = False
    if patience is not None and any(values):
        is_late = len(values) - 1 - int(np.argmax(values)) >= patience
    return is_late or state.epoch >= settings["epochs"]


def trained_predictor(state: State, graph: Graph, settings: dict) -> Predictor:
    """The predictor of the best validation; without valid triples, of the last epoch."""
    return make_predictor(settings["model"], *state.best, settings, graph)


def _epoch(state: State, queries: LinkQueries, settings: dict, spread) -> tuple[State, float]:
    """Go through all questions once, in an order of the epoch's own; the mean loss beside."""
    model, vectors = MODELS[settings["model"]], state.vectors
    objective = Objective(settings["regularization"], settings["relation_weight"])
    gradients = Vectors(*map(np.empty_like, vectors))
    order = _random(settings["seed"], state.epoch).permutation(len(queries.heads))
    n_triples, n_steps = len(queries.tails.values), math.ceil(len(order) / settings["batch"])
    total = 0.0
    for step, places in enumerate(np.array_split(order, n_steps), state.step + 1):
        batch = picked(queries, np.sort(places))
        loss = loss_and_gradients(model, vectors, batch, objective, gradients, spread)
        if not math.isfinite(loss):
            raise _divergence(state, step, f"the loss is {loss}")
        total += loss
        rate = settings["rate"] * _decay(settings, (step - 1) / (n_steps * settings["epochs"]))
        for which, gradient in enumerate(gradients):
            # Divided by the mean number of triples, so that triples weigh the same in all batches.
            gradient *= np.float32(n_steps / n_triples)
            own = [memory[which] for memory in state.memories]
            descend(settings["optimizer"], vectors[which], gradient, own, rate, step, spread)
    for name, array in vectors._asdict().items():
        if not np.isfinite(array).all():
            raise _divergence(state, step, f"vectors of {name} are not finite")
    return state._replace(epoch=state.epoch + 1, step=step), total / n_triples


def _decay(settings: dict, done: float) -> float:
    """Factor of the rate when a share of all steps is done."""
    return 1.0 - done if settings["decay"] == "linear" else 1.0


def _validated(state: State, loss: float, graph: Graph, settings: dict) -> State:
    """The state with a new point of its curve; what is best so far is kept."""
    point = {"epoch": state.epoch, "loss": loss}
    if len(graph.triples["valid"]):
        current = make_predictor(settings["model"], *state.vectors, settings, graph)
        point["mrr"] = link_mrr(current, graph, "valid")
    best_before = max((old["mrr"] for old in state.curve if "mrr" in old), default=-1.0)
    if point.get("mrr", 1.0) > best_before:
        for kept, now in zip(state.best, state.vectors, strict=True):
            kept[:] = now
    return state._replace(curve=[*state.curve, point])


def _divergence(state: State, step: int, what: str) -> InputError:
    good = f"the last good state is of epoch {state.curve[-1]['epoch']}" if state.curve else ""
    return InputError(
        f"training diverges at step {step} (epoch {state.epoch + 1}): {what}; lower rate or raise "
        f"regularization ({good or 'no epoch was validated before'})"
    )


def _random(seed: int, part: object) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=int(stream_key("train", seed, part))))
