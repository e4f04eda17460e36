"""Where the settings of a run are other than those of the default run."""

import json
from collections.abc import Mapping

from clqa.inventories import Inventory

# These are of a run alone.
_OWN = ("name", "seeds")


def setting_changes(run: Mapping, default: Mapping) -> Inventory:
    """A row for each setting that differs, with both values."""
    names = [name for name in {**default, **run} if name not in _OWN]
    rows = [
        (name.replace("_", " "), _text(run.get(name)), _text(default.get(name)))
        for name in names
        if run.get(name) != default.get(name)
    ]
    return Inventory(("setting", "this run", "default run"), rows)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
