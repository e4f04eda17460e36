"""What audits of query sets found, as tables and sentences for a report."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from clqa.answer_sizes import SETS
from clqa.audit_forms import DEGENERATE, NOTABLE, fault
from clqa.errors import damaged
from clqa.files import read_sealed
from clqa.inventories import Inventory, readable, without_zeros
from clqa.roundings import points

RULE = "audit_queries"
# Columns of the tables, beside `DEGENERATE`: what is counted, under its name in an audit.
DIFFERENT = (
    "queries_with_missing_answers",
    "queries_with_extra_answers",
    "retracted_answers_counted_as_easy",
    "retracted_answers_left_out_of_easy",
    "queries_of_another_reading",
)
REDUCTIONS = ("queries", "shape", "set", "stratum", "n_answers", "share")
SHOWN = 4  # ways to find an answer that are spelt out for a shape


class AuditView(NamedTuple):
    """An audit as the page shows it.

    Attributes
    ----------
    verdict : str
        Empty for sampled queries.
    warnings, remarks, examples : list of str
    different : Inventory or None
        Only where published answers differ.
    degenerate, reductions : Inventory
    """

    verdict: str
    warnings: list[str]
    remarks: list[str]
    examples: list[str]
    different: Inventory | None
    degenerate: Inventory
    reductions: Inventory


def read_audit(path: str | os.PathLike, expected: Mapping[str, object]) -> dict:
    """What `audit_queries` wrote of a query set.

    Parameters
    ----------
    expected : dict
        The `name` of the query set, its `split`, its hash (`query_set`) and the names of its
        `shapes`, in any order.

    Raises
    ------
    InputError
        If the file is missing, damaged, or the audit of something else.
    """
    audit = read_sealed(path)
    wrong = fault(audit)
    if wrong is not None:
        raise damaged(path, f"not an audit ({wrong})", RULE)
    found = {**audit, "shapes": {*audit["shapes"], *audit["skipped"]}}
    for key, value in {**expected, "shapes": set(expected["shapes"])}.items():
        if found[key] != value:
            what = f"not the audit of {expected['name']}, by its {key.replace('_', ' ')}"
            raise damaged(path, what, RULE)
    return audit


def audit_view(
    audit: dict, shapes: Sequence[str], sampling: Mapping[str, object] | None = None
) -> AuditView:
    """What a report says of a query set.

    Parameters
    ----------
    shapes : names in the order wanted
    sampling : dict, optional
        The settings by which the queries were drawn; None for published ones.
    """
    found = {shape: audit["shapes"][shape] for shape in shapes if shape in audit["shapes"]}
    warnings = [f"{shape} was skipped: {why}" for shape, why in sorted(audit["skipped"].items())]
    rows = [(shape, *_counts(one)) for shape, one in found.items()]
    columns = ("shape", "queries", "differing", *DIFFERENT, *DEGENERATE)
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    n_start = 3 + len(DIFFERENT)
    degenerate = Inventory(
        ("shape", "queries", *columns[n_start:]), [(r[0], r[1], *r[n_start:]) for r in rows]
    )
    different = None
    if audit.get("differing"):
        different = Inventory(columns[:n_start], [row[:n_start] for row in rows])
    return AuditView(
        verdict=_verdict(audit),
        warnings=warnings,
        remarks=[*_remarks(audit, table), *_remarks_on_answers(found), *_bounds(audit, sampling)],
        examples=list(_examples(found)),
        different=different and readable(different),
        degenerate=readable(without_zeros(degenerate, keep=2)),
        reductions=_shares(found),
    )


def _counts(one: dict) -> list[int]:
    how = one.get("how", {})
    return [
        one["queries"],
        one.get("differing", 0),
        *(how.get(name, 0) for name in DIFFERENT),
        *(one["degenerate"][name] for name in DEGENERATE),
    ]


def _verdict(audit: dict) -> str:
    if "differing" not in audit:
        return ""
    if not audit["differing"]:
        return f"All {audit['queries']:,} queries have the answers that the graph gives."
    return (
        f"{audit['differing']:,} of {audit['queries']:,} queries have other answers than those "
        "that the graph gives, which are the ones used here."
    )


def _remarks(audit: dict, table: list[dict]) -> Iterator[str]:
    for shape, names in sorted(audit.get("unverified", {}).items()):
        yield f"Of {shape} the release lacks the {' and '.join(names)} answers: nothing to compare."
    n_retracted = sum(row["retracted_answers_counted_as_easy"] for row in table)
    if n_retracted:
        yield (
            f"The published easy answers hold {n_retracted:,} retracted ones, which are no answers "
            "on the full graph; so have BetaE's files, and the filter observed-and-full."
        )


def _remarks_on_answers(found: Mapping[str, dict]) -> Iterator[str]:
    n_without = sum(one["degenerate"]["without_easy_answers"] for one in found.values())
    if n_without:
        yield (
            f"{_number(n_without, 'query has', 'queries have')} no easy answer: the observed graph "
            "alone gives nothing."
        )
    strange = sum(one.get("hard_answers_that_are_no_candidates", 0) for one in found.values())
    if strange:
        yield (
            f"{_number(strange, 'hard answer is no candidate', 'hard answers are no candidates')} "
            "of the split, since no observed triple holds the entity: they are ranked among the "
            "candidates all the same."
        )


def _bounds(audit: dict, sampling: Mapping[str, object] | None) -> Iterator[str]:
    """Bounds on the numbers of answers: those of the sampling, or what a release looks like."""
    if sampling is not None:
        bounds = {name: sampling.get(f"max_{name}") for name in ("hard", "easy", "retracted")}
        kept = [f"{bound:,} {name}" for name, bound in bounds.items() if bound is not None]
        if kept:
            yield f"Queries with more than {' or '.join(kept)} answers were not drawn."
        else:
            yield "Queries were drawn whatever the number of their answers."
    for name, cap in audit.get("caps", {}).items():
        if cap is not None:
            yield (
                f"No query has more than {cap:,} {name} answers, while numbers up to that are "
                "common: queries with more seem to have been left out."
            )


def _number(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _examples(found: Mapping[str, dict]) -> Iterator[str]:
    for shape, one in found.items():
        for example in one.get("examples", []):
            parts = [
                f"{kind} in {name}: {', '.join(about['first'])}"
                f"{' …' if about['answers'] > len(about['first']) else ''} ({about['answers']})"
                for name, kinds in example["differences"].items()
                for kind, about in kinds.items()
            ]
            asked = f"({', '.join(example['anchors'])}; {', '.join(example['relations'])})"
            yield f"{shape} {asked}: {'; '.join(parts)}"


def _shares(found: Mapping[str, dict]) -> Inventory:
    """Per shape the shares of hard answers, in points, that each way to find them takes."""
    numbers = sorted({n for one in found.values() for n in one["reductions"]["links"]}, key=int)
    rows = []
    for shape, one in found.items():
        counts = one["reductions"]
        total = sum(counts["links"].values())
        shares = [_share(counts["links"].get(number, 0), total) for number in numbers]
        classes = counts["classes"] or {}
        subsets = sorted(counts["subsets"].items(), key=lambda pair: (-pair[1], pair[0]))
        rest = total - sum(count for _, count in subsets[:SHOWN])
        ways = subsets[:SHOWN] + ([("others", rest)] if rest else [])
        rows.append((shape, total, *shares, _listed(classes.items(), total), _listed(ways, total)))
    heads = [f"{number} missing link{'' if number == '1' else 's'}" for number in numbers]
    return Inventory(("shape", "hard answers", *heads, "classes of +H", "atoms to predict"), rows)


def _listed(counts, total: int) -> str:
    """Names with their shares, without those that do not occur."""
    return " · ".join(f"{name}: {_share(count, total)}" for name, count in counts if count)


def _share(count: int, total: int) -> str:
    return str(points(count / total)) if count else ""


def audit_table(audits: Mapping[str, dict], shapes: Sequence[str]) -> Inventory:
    """The counts of all audits, a row per query set and shape."""
    largest = [f"largest_{name}" for name in SETS]
    counts = ("n_queries", "differing", *DIFFERENT, *DEGENERATE)
    columns = ("queries", "shape", *counts, *NOTABLE, *largest)
    rows = [
        (
            name,
            shape,
            *_counts(one),
            *(one["degenerate"][of] for of in NOTABLE),
            *(one["sizes"][of]["largest"] for of in SETS),
        )
        for name, audit in audits.items()
        for shape, one in _in_order(audit, shapes)
    ]
    return Inventory(columns, rows)


def reduction_table(audits: Mapping[str, dict], shapes: Sequence[str]) -> Inventory:
    """Numbers and shares of hard answers by links, classes and subsets of atoms."""
    rows = []
    for name, audit in audits.items():
        for shape, one in _in_order(audit, shapes):
            for kind, counts in sorted(one["reductions"].items()):
                total = sum((counts or {}).values())
                for stratum, count in sorted((counts or {}).items()):
                    share = count / total if total else None
                    rows.append((name, shape, kind, stratum, count, share))
    return Inventory(REDUCTIONS, rows)


def _in_order(audit: dict, shapes: Sequence[str]) -> Iterator[tuple[str, dict]]:
    order = [*shapes, *sorted(audit["shapes"].keys() - set(shapes))]
    return ((shape, audit["shapes"][shape]) for shape in order if shape in audit["shapes"])
