"""Print the shapes of a list of query types as lines for shapes.yaml.

python scripts/list_shapes.py test_generated_formula_anchor_node=3.csv > mine/shapes.yaml
python scripts/list_shapes.py --enumerate complete --free 1 --edges 4 > mine/shapes.yaml

A published list is that of EFO-1-QA (operators in the column `original`) or that of EFOk-CQA
(`formula`). Enumerated are the abstract query graphs of EFOk-CQA, all of them (`complete`) or the
741 rows of its released generator (`efok-released`), or the types of EFO-1-QA (`efo-1`).
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from clqa.abstract_graphs import (
    PUBLISHED,
    AbstractGraph,
    Limits,
    canonical_graph,
    enumerate_graphs,
    formula_of,
)
from clqa.errors import InputError, abridged
from clqa.formulas import Formula, parse, renamed, symbols, to_text
from clqa.operator_strings import in_order, to_formula
from clqa.operator_strings import parse as parse_operators
from clqa.operator_types import operator_types
from clqa.plans import plan
from clqa.released_graphs import released_graphs

MODES = ("complete", "efok-released", "efo-1")
_MOST = 1000
NEEDED = ("free", "constants", "edges", "nodes", "distance")
WORDS = {
    "free": "free variables",
    "existentials": "existential variables",
    "constants": "constants",
    "edges": "edges",
    "nodes": "nodes",
    "surplus": "edges between variables beyond those of a tree",
    "parallel": "edges between two variables",
    "distance": "edges from a node to the nearest free variable",
    "negations": "negated edges",
}
NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._+-]{,99}"
)  # as workflow/schemas/shapes.schema.yaml has it


def list_shapes(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Formulas by the names of the types, and why some cannot be evaluated.

    Raises
    ------
    InputError
        If the file is not such a list.
    """
    shapes, refused = {}, {}
    for name, text, is_operators in _types(path):
        try:
            formula = to_formula(in_order(parse_operators(text))) if is_operators else parse(text)
            plan(formula)
            shapes[name] = to_text(_in_order(formula))
        except InputError as error:
            refused[name] = str(error)
        except RecursionError:
            refused[name] = "nested too deeply"
    return shapes, refused


def _types(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Name and text of each type, and whether the text is of operators."""
    names = set()
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream)
        try:
            columns = [name for name in ("original", "formula") if name in (rows.fieldnames or ())]
            if not columns or "formula_id" not in rows.fieldnames:
                raise InputError("expected the columns formula_id, and original or formula")
            for row in rows:
                if None in row or None in row.values():
                    raise InputError(f"expected {len(rows.fieldnames)} cells, as in the first line")
                name = row["formula_id"]
                if not NAME.fullmatch(name):
                    rule = "letters, digits and ._+-, a letter or digit first"
                    raise InputError(f"a shape cannot be called {abridged(name)}: {rule}")
                if name in names:
                    raise InputError(f"the formula_id {abridged(name)} is there twice")
                names.add(name)
                yield name, row[columns[0]], columns[0] == "original"
        except (InputError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path}:{max(rows.reader.line_num, 1)}: {error}") from None


def _in_order(formula: Formula) -> Formula:
    """The formula with its symbols numbered in the order of writing; a single free one is `f`.

    Several free variables keep their names, which say in which order answers are written.
    """
    free = symbols(formula, "f")
    names = {free[0]: "f"} if len(free) == 1 else {}
    for kind in "ser":
        found = symbols(formula, kind)
        names |= {symbol: f"{kind}{number}" for number, symbol in enumerate(found, start=1)}
    return renamed(formula, names)


def _key(name: str) -> str:
    """The name as a key of YAML, in quotes where YAML would read it as anything but text."""
    return name if yaml.safe_load(name) == name else json.dumps(name)


def enumerated_lines(mode: str, limits: Limits = PUBLISHED) -> Iterator[str]:
    """Lines of all shapes of a mode; one that is there before under another name says so."""
    if mode == "efo-1":
        texts = (to_text(_in_order(to_formula(in_order(tree)))) for tree in operator_types())
        yield from _numbered("efo1-", ((text, text) for text in texts))
    elif mode == "complete":
        yield from _numbered("aqg", map(_of_graph, enumerate_graphs(limits)))
    else:
        yield from _numbered("efok", map(_of_graph, released_graphs()))


def _of_graph(graph: AbstractGraph) -> tuple[AbstractGraph, str]:
    return canonical_graph(graph), to_text(formula_of(graph))


def _numbered(prefix: str, shapes: Iterator[tuple]) -> Iterator[str]:
    first: dict = {}
    for number, (same, text) in enumerate(shapes, start=1):
        name = f"{prefix}{number:04}"
        known = first.setdefault(same, name)
        yield f"{name}: {json.dumps(text)}" + (f"  # the same as {known}" if known != name else "")


def published_lines(path: Path) -> Iterator[str]:
    """Lines of the shapes of a list; what is left out is told on the error stream."""
    shapes, refused = list_shapes(path)
    for name, text in shapes.items():
        yield f"{_key(name)}: {json.dumps(text)}"
    for name, reason in refused.items():
        print(f"left out {name}: {reason}", file=sys.stderr)


def _limit(text: str) -> int:
    """A whole number that enumeration can count to."""
    number = int(text)
    if abs(number) > _MOST:
        raise argparse.ArgumentTypeError(f"{abridged(text)} is more than {_MOST}")
    return number


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Print the shapes of a list of query types.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("path", type=Path, nargs="?", help="the list, a CSV file")
    source.add_argument("--enumerate", choices=MODES, help="which shapes to enumerate")
    for name, most in PUBLISHED._asdict().items():
        about = f"of complete: at most so many {WORDS[name]} ({most})"
        parser.add_argument(f"--{name}", type=_limit, metavar="N", help=about)
    options = parser.parse_args(arguments)
    given = {name: getattr(options, name) for name in Limits._fields}
    given = {name: value for name, value in given.items() if value is not None}
    if given and options.enumerate != "complete":
        parser.error(f"--{next(iter(given))} goes with --enumerate complete")
    if any(value < (name in NEEDED) for name, value in given.items()):
        parser.error(f"limits are whole numbers from 0 on, of {', '.join(NEEDED)} from 1 on")
    try:
        lines = (
            enumerated_lines(options.enumerate, PUBLISHED._replace(**given))
            if options.enumerate
            else [*published_lines(options.path)]
        )
        for line in lines:
            print(line, flush=True)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
