"""Print the shapes of a published list of query types as lines for shapes.yaml.

python scripts/list_shapes.py test_generated_formula_anchor_node=3.csv > mine/shapes.yaml

The list is that of EFO-1-QA (operators in the column `original`) or that of EFOk-CQA (`formula`).
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from clqa.errors import InputError, abridged
from clqa.formulas import Formula, parse, renamed, symbols, to_text
from clqa.operator_strings import in_order, to_formula
from clqa.operator_strings import parse as parse_operators
from clqa.plans import plan

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
    with path.open(encoding="utf-8", newline="") as stream:
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
        except (InputError, csv.Error) as error:
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


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Print the shapes of a list of query types.")
    parser.add_argument("path", type=Path, help="the list, a CSV file")
    options = parser.parse_args(arguments)
    try:
        shapes, refused = list_shapes(options.path)
    except (InputError, OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name, text in shapes.items():
        print(f"{_key(name)}: {json.dumps(text)}")
    for name, reason in refused.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
