"""Hold the published answers of a query set against those that its graph gives."""

from clqa.adjacencies import split_view
from clqa.answers import released_answers, split_answers
from clqa.audits import Ground, Labels, audit_shape
from clqa.class_audits import audit_classes
from clqa.errors import damaged
from clqa.files import write_json
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.logs import log_to
from clqa.plans import plan
from clqa.published_sets import read_classes, read_published, refused_shapes
from clqa.query_sets import Answers, Queries, read_answers, read_queries
from clqa.vocabularies import read_labels, taken


def audit_queries(
    paths_to_queries,
    paths_to_answers,
    paths_to_published,
    path_to_graph,
    path_to_entities,
    path_to_relations,
    path_to_audit,
    split,
    queries,
):
    """Write what differs, shape by shape, and what the data tell of how they were made.

    Parameters
    ----------
    paths_to_queries, paths_to_answers, paths_to_published : one per shard

    Raises
    ------
    InputError
        If the files are not of the same queries.
    """
    graph = read_graph(path_to_graph)
    labels = Labels(_taker(path_to_entities), _taker(path_to_relations))
    ground = Ground(graph, split_view(graph, split), split, labels)
    shapes, skipped = {}, {}
    paths = zip(paths_to_queries, paths_to_answers, paths_to_published, strict=True)
    for path_to_queries, path_to_answers, path_to_published in paths:
        asked, found = read_queries(path_to_queries), read_answers(path_to_answers)
        published, classes = read_published(path_to_published), read_classes(path_to_published)
        skipped |= refused_shapes(path_to_published)
        for shape, rows in asked.shapes.items():
            known = found.shapes.get(shape)
            if known is None or list(rows.query_ids) != list(known.query_ids):
                what = f"{shape}: not of the queries of {path_to_queries}"
                raise damaged(path_to_answers, what, "split_answers")
            if shape not in published:
                what = f"{shape}: no published answers"
                raise damaged(path_to_published, what, "import_queries")
            if shape not in skipped:
                formula = parse(asked.metadata["formulas"][shape])
                own = _of_graph(ground, formula, rows, found.shapes[shape])
                shapes[shape] = audit_shape(ground, formula, rows, own, published[shape])
                if shape in classes:
                    hard = published[shape]["hard"]
                    shapes[shape]["classes"] = audit_classes(
                        formula, ground.view, rows, hard, classes[shape]
                    )
    write_json(path_to_audit, _summary(queries, split, shapes, skipped))


def _of_graph(ground: Ground, formula, rows: Queries, found: Answers) -> Answers:
    """Answers by the graph alone, where those that are ranked have the easy ones of a release."""
    if rows.filtered is None:
        return found
    every = split_answers(plan(formula), ground.view, rows.anchors, rows.relations)
    return Answers(rows.query_ids, *released_answers(every, rows.selected), found.links)


def _taker(path):
    labels = read_labels(path)
    return lambda ids: taken(labels, ids).to_pylist()


def _summary(queries: str, split: str, shapes: dict, skipped: dict) -> dict:
    largest = {
        name: max((one["sizes"][name]["largest"] or 0 for one in shapes.values()), default=0)
        for name in ("easy", "hard", "retracted")
    }
    return {
        "name": queries,
        "split": split,
        "clean": not skipped and not any(one["differing"] for one in shapes.values()),
        "queries": sum(one["queries"] for one in shapes.values()),
        "differing": sum(one["differing"] for one in shapes.values()),
        "unverified": {s: one["unverified"] for s, one in shapes.items() if one["unverified"]},
        "largest": largest,
        "skipped": skipped,
        "shapes": shapes,
    }


if __name__ == "__main__":
    log_to(snakemake.log[0])
    audit_queries(
        paths_to_queries=snakemake.input.queries,
        paths_to_answers=snakemake.input.answers,
        paths_to_published=snakemake.input.published,
        path_to_graph=snakemake.input.graph,
        path_to_entities=snakemake.input.entities,
        path_to_relations=snakemake.input.relations,
        path_to_audit=snakemake.output.audit,
        split=snakemake.params.split,
        queries=snakemake.params.queries,
    )
