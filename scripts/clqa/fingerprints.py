"""The protocol behind a number, as one short word: numbers compare only where it agrees."""

import hashlib
import json

from clqa.errors import InputError

# What decides whether two numbers of the same name measure the same thing.
FIELDS = (
    "graph",
    "queries",
    "filter",
    "ties",
    "candidates",
    "averaging",
    "missing",
    "pni",
    "metric_version",
)


def fingerprint(protocol: dict) -> str:
    """Name a protocol by the first 12 hex digits of the sha256 of its canonical JSON.

    Parameters
    ----------
    protocol : dict
        Exactly the keys `FIELDS`: hash of the graph, hash of the query set, names of the filter and
        of the tie policy, the candidates and their number, the order of averaging, what a query
        missing from a dump costs, the reading of a negated chain, the version of the metric.

    Raises
    ------
    InputError
        If a field is missing, unknown, or no JSON value.
    """
    wrong = sorted(set(protocol) ^ set(FIELDS))
    if wrong:
        raise InputError(f"protocol: {', '.join(wrong)} missing or unknown; it has {FIELDS}")
    try:
        text = json.dumps(protocol, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"protocol: {error}; give text, whole numbers or null") from error
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def differing_fields(protocol: dict, other: dict) -> tuple[str, ...]:
    """Fields in which two protocols differ, in the order of `FIELDS`; an absent field is None."""
    return tuple(field for field in FIELDS if protocol.get(field) != other.get(field))
