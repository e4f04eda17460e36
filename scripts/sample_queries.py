"""Draw the queries of one shard of a query set, answer first."""

import contextlib

from tqdm import tqdm

import clqa.sampling
from clqa.answers import split_answers
from clqa.errors import placed
from clqa.files import write_sealed
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.judgements import Rules
from clqa.logs import log_to
from clqa.plans import plan
from clqa.query_sets import Queries, describe_queries, query_ids, set_hash, write_queries
from clqa.quotas import Quotas, sample_by_class
from clqa.reduction_classes import class_table
from clqa.shards import asked_count


def sample_queries(
    path_to_graph, path_to_queries, path_to_report, shapes, sampling, split, seed, queries
):
    """Sample every shape of a shard; report what was asked for, found and rejected.

    Parameters
    ----------
    shapes : dict
        Formula text by shape.
    sampling : dict
        Options of `clqa.judgements.Rules`, with `count` and `negated_count` (queries of a shape,
        and of one with a negation), `tries` (attempts per query asked for), `exhaustive` (list
        shapes of one atom in full) and `quotas` (of `clqa.quotas.Quotas`, for as many answers of
        each class; the attempts are then per answer).
    """
    graph = read_graph(path_to_graph)
    ground = clqa.sampling.sampling_ground(graph, split)
    batches, report = {}, {}
    for shape, text in shapes.items():
        with placed(f"query set {queries}, shape {shape}"):
            batches[shape], report[shape] = _sample_shape(
                ground, shape, parse(text), dict(sampling), (seed, queries)
            )
    ids = [name for batch in batches.values() for name in batch.query_ids]
    metadata = describe_queries(graph, split, shapes, ids)
    write_sealed(path_to_report, report)
    write_queries(path_to_queries, batches, metadata, source="sampled")


def _sample_shape(ground, shape, formula, sampling, stream):
    count, tries = asked_count(sampling, formula), sampling.pop("tries")
    sampling = {key: value for key, value in sampling.items() if not key.endswith("count")}
    exhaustive, quotas = sampling.pop("exhaustive"), sampling.pop("quotas", None)
    rules, selected, extra = Rules(**sampling), None, {}
    if exhaustive and clqa.sampling.is_one_atom(formula):
        found = clqa.sampling.all_one_atom_queries(ground, formula, rules)
        count = len(found.anchors)
        if quotas is not None:
            answers = split_answers(plan(formula), ground.both, found.anchors, found.relations)
            selected = answers.hard
    elif quotas is not None:
        count = int(class_table(formula).possible.sum()) * quotas["answers"]
        patience = clqa.sampling.patience_for(tries, count)
        with _bar(stream, shape, count, "answer") as progress:
            found, selected, classes = sample_by_class(
                ground, formula, Quotas(**quotas), rules, tries * count, stream, progress, patience
            )
        extra = {"classes": classes}
    else:
        patience = clqa.sampling.patience_for(tries, count)
        with _bar(stream, shape, count, "query") as progress:
            found = clqa.sampling.sample_queries(
                ground, formula, count, rules, tries * count, stream, progress, patience
            )
    ids = query_ids(ground.graph.hash, formula, found.anchors, found.relations)
    n_found = sum(extra["classes"].values()) if extra else len(ids)
    report = {
        "requested": count,
        "accepted": n_found,
        "short": count - n_found,
        "tries": found.tries,
        "rejections": found.rejections,
        "queries": set_hash(ids),
        **extra,
    }
    return Queries(ids, found.anchors, found.relations, selected), report


@contextlib.contextmanager
def _bar(stream, shape, total, unit):
    """A progress bar that is told how much is done."""
    with tqdm(total=total, desc=f"{stream[1]} {shape}", unit=unit, delay=2) as bar:
        yield lambda done: bar.update(done - bar.n)


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
