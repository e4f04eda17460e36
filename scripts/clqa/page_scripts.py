"""What makes the report page interactive: data, our scripts, and the plotting library, inline."""

import functools
import importlib.metadata
import json
import os
from collections.abc import Iterable
from pathlib import Path

import vl_convert
from markupsafe import Markup

# In a script element these would end it, start a comment, or be no valid line of JavaScript.
_ESCAPES = {
    "<": r"\u003c",
    ">": r"\u003e",
    "&": r"\u0026",
    "\u2028": r"\u2028",
    "\u2029": r"\u2029",
}
LIBRARY = (
    "Vega, Vega-Lite and vega-embed, copyright of the University of Washington Interactive Data Lab"
    " and contributors, BSD-3-Clause, as bundled by vl-convert:"
)


def inline_json(content: object) -> Markup:
    """Strict JSON that may stand in a script element, whatever its texts are."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, escape in _ESCAPES.items():
        text = text.replace(sign, escape)
    return Markup(text)


def inline_scripts(paths: Iterable[str | os.PathLike]) -> Markup:
    """Scripts of ours, one after the other."""
    texts = [Path(path).read_text(encoding="utf-8") for path in paths]
    return Markup(_closed("\n".join(texts)))


@functools.cache
def plotting_library() -> Markup:
    """Vega, Vega-Lite and vega-embed, as one script that says under which licence."""
    notice = importlib.metadata.distribution("vl-convert-python").read_text("licenses/LICENSE")
    text = f"/*! {LIBRARY} {(notice or '').replace('*/', '')} */\n"
    return Markup(_closed(text + vl_convert.javascript_bundle()))


def _closed(script: str) -> str:
    """The script with nothing in it that would end its element."""
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")
