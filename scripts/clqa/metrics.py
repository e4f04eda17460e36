"""The metrics of a run by name, and those of single answers.

The function of a metric of answers takes `greater` and `tied`, two integer arrays over answers, and
the name of a tie policy, and gives one float64 value per answer; under `expected` it is the exact
expectation over the order of ties. Metrics of queries are those of `clqa.retrieval`, for queries
with one free variable, and of `clqa.tuple_metrics`, for those with several; neither is imported
here: the workflow checks names each time it is read. Averages are taken elsewhere
(`clqa.averages`).
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import NamedTuple

import numpy as np

from clqa.competitions import CANDIDATES, RAW, competition_parts
from clqa.errors import InputError
from clqa.ties import BY_ID, POLICIES, expected_hits, expected_reciprocals, ranks, tie_policy

# Part of every fingerprint: raised for a metric, by its key, when its definition changes a value.
VERSIONS: dict[str, int] = {}
# There are no more candidates than this.
MOST = 2**31 - 1


class Metric(NamedTuple):
    """A metric, the tie policies that it has, and the direction in which it is better.

    Attributes
    ----------
    values : callable, optional
        `values(greater, tied, ties)` gives one float64 per answer; None for a metric of queries.
    policies : tuple of str
    higher_is_better : bool
        Such metrics lie between 0 and `most`; the others start at 1.
    title : str
        The metric in print, without its K.
    of_tuples : bool
        Whether it is of queries with several free variables, and of no others.
    most : float
    has_gaps : bool
        Whether it may be undefined for a query that has hard answers.
    void : tuple of str
        Tie policies that are told to have no value.
    """

    values: Callable[[np.ndarray, np.ndarray, str], np.ndarray] | None
    policies: tuple[str, ...]
    higher_is_better: bool
    title: str
    of_tuples: bool = False
    most: float = 1.0
    has_gaps: bool = False
    void: tuple[str, ...] = ()


def reciprocal_ranks(greater: np.ndarray, tied: np.ndarray, ties: str) -> np.ndarray:
    """1 / rank. Its expectation is not the reciprocal of the realistic rank."""
    if ties == "expected":
        return expected_reciprocals(greater, tied)
    return 1.0 / ranks(greater, tied, ties)


def hits(greater: np.ndarray, tied: np.ndarray, ties: str, k: int) -> np.ndarray:
    """1 where the rank is at most `k`, else 0; a realistic rank may be fractional."""
    if ties == "expected":
        return expected_hits(greater, tied, k)
    return (ranks(greater, tied, ties) <= k).astype(np.float64)


_WITHOUT_REALISTIC = tuple(policy for policy in POLICIES if policy != "realistic")


def _of_tuples(title: str, policies: tuple[str, ...] = POLICIES, **options) -> Metric:
    """A metric of tuples; policies that it lacks have no meaning for it."""
    void = tuple(policy for policy in POLICIES if policy not in policies)
    return Metric(None, policies, True, title, of_tuples=True, void=void, **options)


_ENDS = ("pessimistic", "optimistic")
_ORDERS = (*_ENDS, BY_ID)

# A key that ends in @K stands for one metric per whole number K >= 1.
METRICS = {
    "mrr": Metric(reciprocal_ranks, POLICIES, True, "MRR"),
    "mr": Metric(ranks, POLICIES, False, "Mean rank"),
    "hits@K": Metric(hits, POLICIES, True, "Hits"),
    "precision@K": Metric(None, _WITHOUT_REALISTIC, True, "Precision"),
    "recall@K": Metric(None, _WITHOUT_REALISTIC, True, "Recall"),
    "capped_recall@K": Metric(None, _WITHOUT_REALISTIC, True, "Capped recall"),
    "ndcg@K": Metric(None, _WITHOUT_REALISTIC, True, "NDCG"),
    "hit_rate@K": Metric(None, POLICIES, True, "Hit rate"),
    "first_hit_mrr": Metric(None, POLICIES, True, "First-hit MRR"),
    "first_hit_mrr@K": Metric(None, POLICIES, True, "First-hit MRR"),
    "retrieval_accuracy": Metric(None, _WITHOUT_REALISTIC, True, "Retrieval accuracy"),
    "marginal_mrr": _of_tuples("Marginal MRR", has_gaps=True),
    "marginal_hits@K": _of_tuples("Marginal hits", has_gaps=True),
    "multiply_mrr": _of_tuples("Multiply MRR"),
    "multiply_hits@K": _of_tuples("Multiply hits"),
    "joint_mrr": _of_tuples("Joint MRR", _ORDERS),
    "joint_hits@K": _of_tuples("Joint hits", _ORDERS),
    "joint_exact_mrr": _of_tuples("Exact joint MRR", _ORDERS),
    "joint_exact_hits@K": _of_tuples("Exact joint hits", _ORDERS),
    "card_marginal": _of_tuples("Marginal by the card"),
    "card_multiply": _of_tuples("Multiply by the card"),
    "card_joint": _of_tuples("Joint by the card", _ENDS),
    "efok_released_marginal_mrr": _of_tuples("EFOk released marginal MRR", has_gaps=True),
    "efok_released_marginal_hits@K": _of_tuples(
        "EFOk released marginal hits", has_gaps=True, most=1.5
    ),
}
# The released evaluation of EFOk-CQA has these alone, and mixes them up with each other.
RELEASED_KS = (1, 3, 10)


def metric(identifier: str) -> Metric:
    """The metric of an id such as `mrr` or `hits@10`.

    Raises
    ------
    InputError
        If there is no such metric, or K is not a whole number from 1 written plainly.
    """
    name, k = metric_parts(identifier)
    found = METRICS[f"{name}@K" if k else name]
    if k is None or found.values is None:
        return found
    return found._replace(values=functools.partial(found.values, k=k))


def metric_parts(identifier: str) -> tuple[str, int | None]:
    """Name and K of a metric's id; None for a metric without K."""
    if not isinstance(identifier, str):
        raise _unknown(identifier)
    return _parts(identifier)


@functools.cache
def _parts(identifier: str) -> tuple[str, int | None]:
    name, at, depth = identifier.partition("@")
    if (f"{name}@K" if at else name) not in METRICS:
        raise _unknown(identifier)
    if not at:
        return name, None
    k = int(depth) if re.fullmatch("[1-9][0-9]{0,18}", depth) else depth
    k = cut_off(k, key=f"metrics: {identifier!r}: K")
    if name.startswith("efok_released") and k not in RELEASED_KS:
        raise InputError(f"metrics: {identifier!r}: the released evaluation has K of 1, 3 and 10")
    return name, k


def _unknown(identifier) -> InputError:
    return InputError(f"metrics: no metric {identifier!r}; known are {', '.join(METRICS)}")


def version(metric_id: str) -> int:
    """The version of a metric's definition; 1 until the first change."""
    name, at, _ = metric_id.partition("@")
    return VERSIONS.get(f"{name}@K" if at else name, 1)


def cut_off(k: int, key: str = "k") -> int:
    """`k` itself, if it is a whole number from 1 to `MOST`; else an InputError that names `key`."""
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= MOST:
        raise InputError(f"{key} must be a whole number from 1 to {MOST}, not {k!r:.40}")
    return int(k)


def is_of_answers(metric_id: str) -> bool:
    """Whether single answers have a value; else only queries have one."""
    return metric_id == "tie_rate" or metric(metric_id).values is not None


def is_of_tuples(metric_id: str) -> bool:
    """Whether queries with several free variables have a value, and no others."""
    return metric_id != "tie_rate" and metric(metric_id).of_tuples


def fits(metric_id: str, arity: int) -> bool:
    """Whether queries with so many free variables have a value."""
    return metric_id == "tie_rate" or is_of_tuples(metric_id) == (arity > 1)


def defined_scores(
    metrics: Iterable[str], ties: Iterable[str], rules: Iterable[str]
) -> list[tuple[str, str, str]]:
    """The metrics under those of the tie policies and competitions under which they have a value.

    A metric of queries looks at the whole ranking of the hard answers, in which they do not compete
    with each other: it has none under the filter `none`. Policies that a metric of tuples cannot
    have are there, too, so that it is told that it has none.
    """
    asked = [policy if policy == BY_ID else tie_policy(policy) for policy in ties]
    return [
        (name, policy, rule)
        for name, policy, rule in itertools.product(metrics, asked, rules)
        if policy in (*metric(name).policies, *metric(name).void)
        and (is_of_answers(name) or is_of_tuples(name) or competition_parts(rule)[0] != RAW)
    ]


def score_id(metric_id: str, ties: str, rule: str) -> str:
    """Name of a score column, such as `mrr[pessimistic,observed-and-full]`.

    `rule` is the name of a competition (`clqa.competitions`), which is that of its filter where all
    candidates compete.
    """
    return f"{metric_id}[{ties},{rule}]"


def score_parts(identifier: str) -> tuple[str, str, str]:
    """Metric id, tie policy and competition of a score id."""
    others = "|".join(CANDIDATES[1:])
    pattern = rf"([^\[\],]+)\[([^\[\],]+),([^\[\],]+(?:,(?:{others}))?)\]"
    match = re.fullmatch(pattern, identifier)
    if match is None:
        raise InputError(f"score {identifier!r}: expected metric[ties,filter]")
    return match[1], match[2], match[3]
