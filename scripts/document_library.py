"""Write the tables of modules in docs/library.md, in the words of the modules themselves.

The page has a pair of marks for each theme, `<!-- modules NAME NAME … -->` and `<!-- end -->`; what
is between them is replaced.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "library.md"
LIBRARY = ROOT / "scripts" / "clqa"
MARKS = re.compile(r"(<!-- modules ([\w\s]+?)\s-->\n).*?(<!-- end -->)", re.DOTALL)


def documented(page: str) -> str:
    """The page with every table made anew."""
    return MARKS.sub(lambda match: f"{match[1]}\n{_table(match[2].split())}\n{match[3]}", page)


def listed(page: str) -> list[str]:
    """The modules of all themes, in the order of the page."""
    return [name for match in MARKS.finditer(page) for name in match[2].split()]


def _table(names: list[str]) -> str:
    rows = [f"| [`{name}`](../scripts/clqa/{name}.py) | {_about(name)} |" for name in names]
    return "\n".join(["| module | what it is about |", "| --- | --- |", *rows, ""])


def _about(name: str) -> str:
    """The first sentence of what a module says of itself."""
    code = (LIBRARY / f"{name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(code)).split("\n\n")[0].replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(documented(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
