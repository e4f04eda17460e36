"""Print the shapes of a published list of query types as lines for shapes.yaml.

python scripts/list_shapes.py test_generated_formula_anchor_node=3.csv > mine/shapes.yaml

The list is that of EFO-1-QA (operators in the column `original`) or that of EFOk-CQA (`formula`).
"""

import argparse
import csv
import json
import sys
from pathlib import Path

from clqa.errors import InputError
from clqa.formulas import Formula, parse, renamed, symbols, to_text
from clqa.operator_strings import in_order, to_formula
from clqa.operator_strings import parse as parse_operators
from clqa.plans import plan


def list_shapes(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Formulas by the names of the types, and why some cannot be evaluated.

    Raises
    ------
    InputError
        If the file is not such a list.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        columns = [name for name in ("original", "formula") if name in (rows.fieldnames or ())]
        if not columns or "formula_id" not in rows.fieldnames:
            raise InputError(f"{path}: expected the columns formula_id, and original or formula")
        shapes, refused = {}, {}
        for row in rows:
            name, text = row["formula_id"], row[columns[0]]
            try:
                if columns[0] == "original":
                    formula = to_formula(in_order(parse_operators(text)))
                else:
                    formula = parse(text)
                plan(formula)
                shapes[name] = to_text(_in_order(formula))
            except InputError as error:
                refused[name] = str(error)
    return shapes, refused


def _in_order(formula: Formula) -> Formula:
    """The formula with its symbols numbered in the order of writing; the free one is `f`."""
    names = {symbols(formula, "f")[0]: "f"}
    for kind in "ser":
        found = symbols(formula, kind)
        names |= {symbol: f"{kind}{number}" for number, symbol in enumerate(found, start=1)}
    return renamed(formula, names)


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
        print(f"{name}: {json.dumps(text)}")
    for name, reason in refused.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
