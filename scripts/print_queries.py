"""Print the queries of a query set as text or as SPARQL.

python scripts/print_queries.py umls-test --graph umls --shape pi --form sparql
"""

import argparse
import re
import signal
import sys
from pathlib import Path

from clqa.configs import unknown_name
from clqa.errors import InputError, abridged
from clqa.formulas import parse
from clqa.graphs import read_graph
from clqa.printed_queries import PREFIX, terms_of, to_sparql, values_of, with_ids, with_labels
from clqa.query_sets import read_queries
from clqa.vocabularies import graph_labels


def print_queries(paths, folder_of_graph, form, shapes, limit, prefix=PREFIX):
    """Lines of shape, query id and query, for the first queries of each shape.

    Parameters
    ----------
    paths : list of paths
        The shards of a query set.
    form : {"labels", "ids", "sparql"}
    shapes : list of str
        The shapes to print; all if there are none.
    """
    if not (folder_of_graph / "graph.npz").is_file():
        raise InputError(f"{folder_of_graph}: no graph; run the workflow for a query set of it")
    graph = read_graph(folder_of_graph / "graph.npz")
    files = (folder_of_graph / f"{kind}.tsv" for kind in ("entities", "relations"))
    labels = graph_labels(*files, graph.vocabulary)
    entities, relations = (one.to_pylist() for one in labels)
    tables = {path: read_queries(path) for path in paths}
    known = list(dict.fromkeys(shape for table in tables.values() for shape in table.shapes))
    for shape in shapes:
        if shape not in known:
            raise InputError(unknown_name("shape", shape, known))
    for path, table in tables.items():
        if table.metadata["graph"] != graph.hash:
            raise InputError(f"{path}: queries of another graph than {folder_of_graph}")
        for shape, rows in table.shapes.items():
            if shapes and shape not in shapes:
                continue
            formula = parse(table.metadata["formulas"][shape])
            for place in range(min(limit, len(rows.query_ids))):
                values = values_of(formula, rows.anchors[place], rows.relations[place])
                if form == "ids":
                    text = with_ids(formula, values)
                elif form == "labels":
                    text = with_labels(formula, values, entities, relations)
                else:
                    terms = terms_of(values, entities, relations, graph.inverse, prefix)
                    text = "\n" + to_sparql(formula, terms)
                yield f"# {shape} {rows.query_ids[place]} {text}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Print the queries of a query set.")
    parser.add_argument("queries", help="the query set")
    parser.add_argument("--graph", required=True, help="the graph that it asks")
    parser.add_argument("--form", choices=("labels", "ids", "sparql"), default="labels")
    parser.add_argument("--shape", action="append", default=[], help="only this shape (repeatable)")
    parser.add_argument(
        "--limit", type=_limit, default=5, help="queries of each shape (default: 5)"
    )
    parser.add_argument(
        "--prefix", default=PREFIX, type=_prefix, help=f"of IRIs (default: {PREFIX})"
    )
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    paths = sorted((options.results / "queries" / options.queries).glob("*.parquet"))
    folder = options.results / "graphs" / options.graph
    try:
        if not paths:
            raise InputError(f"{options.queries}: no queries; run the workflow for it first")
        for line in print_queries(
            paths, folder, options.form, options.shape, options.limit, options.prefix
        ):
            print(line)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _limit(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no number of queries; give 0, 1, 2, ...")


def _prefix(text: str) -> str:
    """What an IRI may start with (RFC 3987): a scheme, and no sign that SPARQL does not let in."""
    if re.fullmatch(r"""[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|\\^`]*""", text):
        return text
    raise argparse.ArgumentTypeError(f"{abridged(text)} starts no IRI; give one such as {PREFIX}")


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a traceback
    sys.exit(main())
