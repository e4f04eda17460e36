"""Shards: the shapes of a query set, cut into as many jobs as are worth it."""

import itertools
from collections.abc import Iterable, Mapping

from clqa.errors import InputError
from clqa.formulas import Formula, is_negative

# Bound on the predictions of one shard. A job starts in half a second and must be worth it, and
# must fit into memory a few times over.
MAX_BYTES = 800_000_000
BYTES_PER_SCORE = 4


def shards(
    sizes: dict[str, int | None],
    rule: str | int,
    variables: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Names of shards, and the shapes that each holds, in the order of `sizes`.

    A shard is called by its shape if it holds one, `all` if it holds all, else `part-1`, `part-2`,
    …. Its shapes have the same free variables.

    Parameters
    ----------
    sizes : dict
        For each shape the bytes of its predictions; None where that is not known.
    rule : {"auto", "per-shape"} or int
        As few as keep each below `MAX_BYTES` (a shape of unknown size stays alone), one for each
        shape, or a number of shards with about as many shapes each; more where shapes differ in
        their free variables.
    variables : dict, optional
        The names of the free variables of each shape that has several.
    """
    kinds: dict[tuple[str, ...], list[str]] = {}
    for shape in sizes:
        kinds.setdefault((variables or {}).get(shape, ()), []).append(shape)
    groups: list[list[str]] = []
    for shapes in kinds.values():
        if rule == "auto":
            groups += _filled_up({shape: sizes[shape] for shape in shapes})
        else:
            share = len(shapes) * int(rule) // len(sizes) if rule != "per-shape" else len(shapes)
            groups += _cut(shapes, min(max(share, 1), len(shapes)))
    return _named(groups)


def _cut(shapes: list[str], n_shards: int) -> list[list[str]]:
    bounds = [len(shapes) * part // n_shards for part in range(n_shards + 1)]
    return [shapes[start:stop] for start, stop in itertools.pairwise(bounds)]


def asked_count(sampling: dict, formula: Formula) -> int:
    """How many queries of a shape are to be drawn."""
    negated = sampling.get("negated_count")
    return negated if negated is not None and is_negative(formula) else sampling["count"]


def size(n_queries: int, n_entities: int, n_variables: int = 1) -> int:
    """Bytes of the predictions of so many queries."""
    return n_queries * n_variables * n_entities * BYTES_PER_SCORE


def _filled_up(sizes: dict[str, int | None]) -> list[list[str]]:
    groups: list[list[str]] = []
    total = MAX_BYTES + 1
    for shape, n_bytes in sizes.items():
        n_bytes = MAX_BYTES if n_bytes is None else n_bytes
        if total + n_bytes > MAX_BYTES:
            groups.append([])
            total = 0
        groups[-1].append(shape)
        total += n_bytes
    return groups


def _named(groups: Iterable[list[str]]) -> dict[str, tuple[str, ...]]:
    groups = list(groups)
    named: dict[str, tuple[str, ...]] = {}
    parts = itertools.count(1)
    for group in groups:
        whole = "all" if len(groups) == 1 else None
        name = group[0] if len(group) == 1 else whole or f"part-{next(parts)}"
        if name in named:
            raise InputError(f"shapes: the name {name} is also that of a shard; choose another")
        named[name] = tuple(group)
    return named
