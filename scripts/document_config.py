"""Write the tables of keys in config/README.md, in the words of the schemas.

The page has a pair of marks for each schema, `<!-- keys of NAME -->` and `<!-- end -->`; what is
between them is replaced.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from clqa.configs import read_yaml, resolved

ROOT = Path(__file__).resolve().parents[1]
MARKS = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def document_config(path_to_schemas: Path, path_to_page: Path) -> None:
    page = path_to_page.read_text(encoding="utf-8")
    path_to_page.write_text(documented(page, path_to_schemas), encoding="utf-8")


def documented(page: str, path_to_schemas: Path) -> str:
    """The page with every table of keys made anew."""

    def replaced(match: re.Match) -> str:
        schema = read_yaml(path_to_schemas / f"{match[2]}.schema.yaml")
        return f"{match[1]}\n{key_table(schema)}\n{match[3]}"

    return MARKS.sub(replaced, page)


def key_table(schema: dict) -> str:
    """A schema's description, and a Markdown table of its keys at every depth."""
    rows = [f"| `{key}` | {default} | {text} |" for key, default, text in _keys(schema, schema)]
    head = ["| key | default | meaning |", "| --- | --- | --- |"]
    return "\n".join([_line(schema["description"]), "", *head, *rows, ""])


def _keys(schema: dict, root: dict, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, default and description of every key below a schema, in the schema's order."""
    schema = resolved(schema, root)
    for part in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _keys(part, root, path)
    for key, value in schema.get("properties", {}).items():
        value = resolved(value, root)
        is_required = key in schema.get("required", ())
        yield f"{path}{key}", _default(value, is_required), _line(value.get("description", ""))
        yield from _keys(value, root, f"{path}{key}.")
    if isinstance(schema.get("items"), dict):
        yield from _keys(schema["items"], root, path)
    if isinstance(schema.get("additionalProperties"), dict):
        inner = resolved(schema["additionalProperties"], root)
        if "description" in inner:
            yield f"{path}<name>", "", _line(inner["description"])
        yield from _keys(inner, root, f"{path}<name>." if path else "")


def _default(schema: dict, is_required: bool) -> str:
    value = schema.get("default", {})
    if is_required or isinstance(value, dict):
        return "required" if is_required else ""
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return "none" if value is None else f"`{json.dumps(value)}`".replace('"', "")


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    document_config(ROOT / "workflow" / "schemas", ROOT / "config" / "README.md")
