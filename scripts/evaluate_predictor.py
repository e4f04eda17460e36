"""Rank the valid and test triples of a graph by a link predictor, in both directions."""

from clqa.files import write_json
from clqa.graphs import read_graph
from clqa.link_prediction import link_metrics, link_ranks
from clqa.logs import log_to
from clqa.predictors import open_predictor


def evaluate_predictor(path_to_graph, path_to_predictor, path_to_metrics):
    """Write filtered metrics of both splits, under all tie policies."""
    graph = read_graph(path_to_graph)
    predictor = open_predictor(path_to_predictor, graph)
    metrics = {"graph": graph.hash, "settings": predictor.settings}
    for split in ("valid", "test"):
        greater, tied = link_ranks(predictor, graph, split)
        metrics[split] = {"n_triples": len(greater), "ties": link_metrics(greater, tied)}
    write_json(path_to_metrics, metrics)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    evaluate_predictor(
        path_to_graph=snakemake.input.graph,
        path_to_predictor=snakemake.input.predictor,
        path_to_metrics=snakemake.output.metrics,
    )
