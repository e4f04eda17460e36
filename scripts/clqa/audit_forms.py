"""The form of an audit as JSON: what `audit_queries` writes and a report reads."""

import jsonschema

from clqa.answer_sizes import SETS

# What may be degenerate in a query, under its name in an audit.
DEGENERATE = (
    "duplicate_branches",
    "same_query_again",
    "round_trips_in_a_chain",
    "round_trips",
    "idle_negations",
    "without_hard_answers",
)
# What is no defect of a query, but is to be known of a set.
NOTABLE = ("without_easy_answers",)


def _object(properties: dict, optional: dict | None = None) -> dict:
    """An object that has some properties, may have others, and whatever else."""
    every = {**properties, **(optional or {})}
    return {"type": "object", "required": list(properties), "properties": every}


def _each(form: dict, **more: object) -> dict:
    """An object whose values have a form."""
    return {"type": "object", "additionalProperties": form, **more}


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_BOUND = {"type": ["integer", "null"], "minimum": 0}
_COUNTS = _each(_COUNT)
_SPELT = _object({"answers": _COUNT, "first": _TEXTS})
_EXAMPLE = _object(
    {"anchors": _TEXTS, "relations": _TEXTS, "differences": _each(_each(_SPELT))},
)
_REDUCTIONS = _object(
    {
        "links": _each(_COUNT, propertyNames={"pattern": "^[0-9]{1,9}$"}),
        "classes": {"anyOf": [{"type": "null"}, _COUNTS]},
        "subsets": _COUNTS,
    }
)
_SHAPE = _object(
    {
        "queries": _COUNT,
        "degenerate": {**_COUNTS, "required": [*DEGENERATE, *NOTABLE]},
        "sizes": _object(dict.fromkeys(SETS, _object({"largest": _BOUND}))),
        "reductions": {**_REDUCTIONS, "additionalProperties": False},
    },
    {"differing": _COUNT, "how": _COUNTS, "examples": {"type": "array", "items": _EXAMPLE}},
)
_AUDIT = _object(
    {
        "name": _TEXT,
        "split": _TEXT,
        "query_set": _TEXT,
        "queries": _COUNT,
        "skipped": _each(_TEXT),
        "shapes": _each(_SHAPE),
    },
    {
        "caps": _object(dict.fromkeys(SETS, _BOUND)),
        "differing": _COUNT,
        "unverified": _each(_TEXTS),
    },
)
_VALIDATOR = jsonschema.Draft202012Validator(_AUDIT)


def fault(audit: dict) -> str | None:
    """What is wrong with the form of an audit, in one line; None if nothing is."""
    error = jsonschema.exceptions.best_match(_VALIDATOR.iter_errors(audit))
    if error is None:
        return None
    place = ", ".join(map(str, error.absolute_path))
    return f"{place}: {error.message}" if place else error.message
