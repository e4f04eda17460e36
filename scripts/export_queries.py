"""Write query sets with their answers in a published layout.

python scripts/export_queries.py umls-test umls-valid --graph umls --layout beta-e --to FOLDER
"""

import argparse
import sys
from pathlib import Path

from clqa.errors import InputError, placed
from clqa.exported_sets import QuerySet, Vocabulary, joined_shards
from clqa.exports import WRITERS
from clqa.graphs import OBSERVED, read_graph
from clqa.query_sets import read_answers, read_queries
from clqa.vocabularies import graph_labels


def export_queries(
    paths, path_to_graph, path_to_entities, path_to_relations, folder, layout, **options
):
    """Write all shapes that the layout can express; tell of the others.

    Parameters
    ----------
    paths : list of list of (path to queries, path to answers)
        For each query set its shards; query sets are of different splits of the graph.
    layout : {"beta-e", "query2box", "neutral", "efok-json", "json-lines"}
    **options
        Of the writer; `fields` of json-lines.

    Returns
    -------
    refused : dict of str
        For each shape that is left out, why.
    """
    graph = read_graph(path_to_graph)
    if graph.observed != OBSERVED and layout in ("beta-e", "query2box"):
        raise InputError(
            f"{path_to_graph}: an inductive graph, of which the layout {layout} knows nothing; use "
            "neutral or json-lines"
        )
    sets = {}
    for shards in paths:
        read = [QuerySet(read_queries(one), read_answers(other)) for one, other in shards]
        for shard, (path, _) in zip(read, shards, strict=True):
            if shard.queries.metadata["graph"] != graph.hash:
                raise InputError(
                    f"{path}: queries of another graph than {path_to_graph}; give their own graph"
                )
        with placed(shards[0][1]):
            whole = joined_shards(read)
        if whole.split in sets:
            raise InputError(f"two query sets of the split {whole.split}; export one at a time")
        sets[whole.split] = whole
    labels = graph_labels(path_to_entities, path_to_relations, graph.vocabulary)
    vocabulary = Vocabulary(*labels)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return WRITERS[layout](Path(folder), sets, graph, vocabulary, **options)


def _shards(results: Path, queries: str) -> list[tuple[Path, Path]]:
    answers = sorted((results / "answers" / queries).glob("*.parquet"))
    if not answers:
        raise InputError(
            f"{results / 'answers' / queries}: no answers; run the workflow for {queries} first"
        )
    return [(results / "queries" / queries / path.name, path) for path in answers]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Write query sets with their answers in a published layout."
    )
    parser.add_argument("queries", nargs="+", help="query sets, at most one of each split")
    parser.add_argument("--graph", required=True, help="the graph that they ask")
    parser.add_argument("--layout", required=True, choices=WRITERS)
    parser.add_argument(
        "--fields",
        choices=("ids", "labels"),
        help="what stands for entities and relations in json-lines (default: ids)",
    )
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    graph = options.results / "graphs" / options.graph
    of_writer = {} if options.fields is None else {"fields": options.fields}
    if of_writer and options.layout != "json-lines":
        parser.error(f"--fields is for the layout json-lines, not for {options.layout}")
    try:
        refused = export_queries(
            [_shards(options.results, queries) for queries in options.queries],
            graph / "graph.npz",
            graph / "entities.tsv",
            graph / "relations.tsv",
            options.to,
            options.layout,
            **of_writer,
        )
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for shape, reason in refused.items():
        print(f"left out {shape}: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
