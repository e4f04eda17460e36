"""Names of strata, written `key=value` (`clqa.strata`), and the order in which they are shown."""

OF_ANSWERS = ("links", "class")
OF_QUERIES = ("size", "degree", "relation", "defined")
KEYS = (*OF_ANSWERS, *OF_QUERIES)
TITLES = {
    "links": "number of missing links",
    "class": "reduction class",
    "size": "number of true answers",
    "degree": "degree of the anchor",
    "relation": "last relation",
    "defined": "number of variables with hard values",
}


def stratum_order(name: str) -> tuple:
    """Sorts strata: none first, then key by key, buckets and numbers by their first number."""
    key, _, value = name.partition("=")
    return (KEYS.index(key) if key in KEYS else -1, *natural_order(value))


def natural_order(name: str) -> tuple[int, str]:
    """Order of buckets by their first number, and of other names by their letters."""
    digits = name.rstrip("+").partition("-")[0]
    return (int(digits), "") if digits.isdigit() else (1 << 62, name)
