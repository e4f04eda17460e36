"""Train a link predictor on the train triples of a graph."""

import logging
from pathlib import Path

from clqa.calibrations import fitted_parameters
from clqa.errors import InputError, placed
from clqa.files import write_json
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.predictors import write_predictor
from clqa.training import train, trained_predictor
from clqa.training_states import State, read_state, write_state


def train_predictor(
    path_to_graph,
    path_to_predictor,
    path_to_curve,
    path_to_checkpoint,
    settings,
    predictor,
    threads=1,
    code="",
):
    """Write the predictor of the best validation, and the values of all validations.

    A training that was killed goes on from its checkpoint if it is of the same graph, settings and
    code; one that diverges leaves the last good checkpoint behind.
    """
    graph = read_graph(path_to_graph, ("train", "valid"))
    if threads < settings["threads"]:
        text = "%d threads, and not the %d of the predictor: the last digits may differ"
        logging.warning(text, threads, settings["threads"])
    subject = {"graph": graph.hash, "settings": settings, "code": code}
    state = read_state(path_to_checkpoint, subject)
    if state is not None:
        logging.info("going on after epoch %d from %s", state.epoch, path_to_checkpoint)

    def keep(state: State) -> None:
        write_state(path_to_checkpoint, state, subject)

    with placed(f"predictor {predictor}"):
        try:
            state = train(graph, settings, threads, state, keep)
        except InputError as error:
            if Path(path_to_checkpoint).exists():
                raise InputError(f"{error}; {path_to_checkpoint} has it") from None
            raise
    trained = trained_predictor(state, graph, settings)
    trained = trained._replace(fitted=fitted_parameters(trained, graph))
    write_predictor(path_to_predictor, trained)
    curve = {"predictor": predictor, "graph": graph.hash, "settings": settings}
    write_json(path_to_curve, curve | {"fitted": trained.fitted, "curve": state.curve})
    Path(path_to_checkpoint).unlink(missing_ok=True)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    train_predictor(
        path_to_graph=snakemake.input.graph,
        path_to_predictor=snakemake.output.predictor,
        path_to_curve=snakemake.output.curve,
        path_to_checkpoint=snakemake.params.checkpoint,
        settings=snakemake.params.settings,
        predictor=snakemake.params.predictor,
        threads=snakemake.threads,
        code=snakemake.params.code,
    )
