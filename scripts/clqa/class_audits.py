"""Published classes of hard answers held against those that the graph gives."""

from collections import Counter

import numpy as np

from clqa.adjacencies import View
from clqa.errors import InputError
from clqa.formulas import Formula
from clqa.published_sets import Classes
from clqa.query_sets import Queries
from clqa.ragged import Ragged
from clqa.reduction_classes import class_table, released_classes


def audit_classes(
    formula: Formula, view: View, queries: Queries, hard: Ragged, published: Classes
) -> dict:
    """How many answers have another class than published, ready for JSON.

    Parameters
    ----------
    hard : Ragged
        The published hard answers, whose classes `published` has in the same order.

    Returns
    -------
    dict
        `answers` with a published class are compared, `differing` of them have another class or
        none by the graph; `pairs` counts them by `published>recomputed`. Nothing is compared, and
        `differing` is null, for a shape that has no classes.
    """
    theirs = _named(published.names, published.codes)
    counts = {
        "answers": int((published.codes >= 0).sum()),
        "without_published_class": int((published.codes < 0).sum()),
        "published": dict(sorted(Counter(theirs[theirs != ""].tolist()).items())),
    }
    try:
        names = class_table(formula).names
    except InputError as error:
        return {**counts, "differing": None, "reason": str(error)}
    ours = _named(names, released_classes(formula, view, queries.anchors, queries.relations, hard))
    differing = (theirs != "") & (theirs != ours)
    pairs = (f"{a}>{b or 'none'}" for a, b in zip(theirs[differing], ours[differing], strict=True))
    return {
        **counts,
        "recomputed": dict(sorted(Counter(ours[theirs != ""].tolist()).items())),
        "differing": int(differing.sum()),
        "differing_share": float(differing.sum() / counts["answers"])
        if counts["answers"]
        else None,
        "pairs": dict(sorted(Counter(pairs).items())),
    }


def _named(names: tuple[str, ...], codes: np.ndarray) -> np.ndarray:
    """Names of classes by code, empty for none."""
    return np.array([*names, ""], dtype=object)[codes]
