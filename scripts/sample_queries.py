"""Draw the queries of one shard of a query set, answer first."""

from tqdm import tqdm

import clqa.sampling
from clqa.files import write_json
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.judgements import Rules
from clqa.logs import log_to
from clqa.plans import plan
from clqa.query_sets import Queries, describe_queries, query_ids, write_queries


def sample_queries(
    path_to_graph, path_to_queries, path_to_report, shapes, sampling, split, seed, queries
):
    """Sample every shape of a shard; report what was asked for, found and rejected.

    Parameters
    ----------
    shapes : dict
        Formula text by shape.
    sampling : dict
        Options of `clqa.judgements.Rules`, with `count`, `tries` (attempts per query asked for) and
        `exhaustive` (list shapes of one atom in full).
    """
    graph = read_graph(path_to_graph)
    ground = clqa.sampling.sampling_ground(graph, split)
    batches, report = {}, {}
    for shape, text in shapes.items():
        batches[shape], report[shape] = _sample_shape(
            ground, shape, parse(text), dict(sampling), (seed, queries)
        )
    ids = [name for batch in batches.values() for name in batch.query_ids]
    metadata = describe_queries(graph, split, shapes, ids)
    write_json(path_to_report, report)
    write_queries(path_to_queries, batches, metadata, source="sampled")


def _sample_shape(ground, shape, formula, sampling, stream):
    count, tries = sampling.pop("count"), sampling.pop("tries")
    exhaustive = sampling.pop("exhaustive")
    rules = Rules(**sampling)
    if exhaustive and plan(formula).n_relations == 1:
        found = clqa.sampling.all_one_atom_queries(ground, formula, rules)
        count = len(found.anchors)
    else:
        with tqdm(total=count, desc=f"{stream[1]} {shape}", unit="query", delay=2) as bar:
            found = clqa.sampling.sample_queries(
                ground,
                formula,
                count,
                rules,
                tries * count,
                stream,
                progress=lambda accepted: bar.update(accepted - bar.n),
            )
    ids = query_ids(ground.graph.hash, formula, found.anchors, found.relations)
    report = {
        "requested": count,
        "accepted": len(ids),
        "short": count - len(ids),
        "tries": found.tries,
        "rejections": found.rejections,
    }
    return Queries(ids, found.anchors, found.relations), report


if __name__ == "__main__":
    log_to(snakemake.log[0])
    sample_queries(
        path_to_graph=snakemake.input.graph,
        path_to_queries=snakemake.output.queries,
        path_to_report=snakemake.output.report,
        shapes=snakemake.params.shapes,
        sampling=snakemake.params.sampling,
        split=snakemake.params.split,
        seed=snakemake.params.seed,
        queries=snakemake.params.queries,
    )
