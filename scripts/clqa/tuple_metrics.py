"""Metrics of answers with several free variables, after EFOk-CQA (Yin et al., 2023).

E_j and F_j are the values of variable j in the easy and in all known answers, H_j those in hard
answers and not in E_j: its hard values. Values are ranked within the ranking of their variable
without the other values that the filter takes out.

* `marginal_*`: mean over the hard values of a variable, then over the variables that have any. It
  is undefined where none has: an answer may be hard although each of its values is an easy one.
* `multiply_*`: mean over the hard answers of the product over the variables; of `multiply_mrr` the
  k-th root. An answer may hold easy values, which are ranked alike.
* `joint_*`, `joint_exact_*`: mean over the hard answers of one rank for all variables
  (`clqa.joint_ranks`).
* `card_*`: the recipe of an evaluation card for the benchmark. Its ranks are those among all
  candidates whatever the filter, and its targets all true values of a variable, so that of m true
  values one has rank m at best. `card_marginal` is the mean over variables of the mean reciprocal
  rank, `card_multiply` the product over variables of the mean of hits@10, `card_joint` 1 where the
  best candidates of each variable, as many as it has true values, are these values.
* `efok_released_marginal_*`: what the released evaluation prints as marginal, for parity alone.
  Where both of two variables have hard values it adds the numbers of the second one key too late:
  MRR gets none of them, hits@1 the second's MRR, hits@3 its hits@1, and hits@10 its hits@3 as well
  as its hits@10. A perfect model has an MRR of 0.5 and hits@10 of 1.5.

Under `expected` ties each variable's are in an order of their own. With one variable marginal,
multiply and joint metrics are the plain ones.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clqa.averages import query_means
from clqa.competitions import WITH_TEST, competition_parts
from clqa.joint_ranks import Places, Standing, joint_places
from clqa.metrics import hits, metric, metric_parts, reciprocal_ranks
from clqa.ragged import Ragged
from clqa.ragged_sets import row_numbers
from clqa.ties import ranks
from clqa.tuple_counts import Known, is_new, values_in
from clqa.tuples import marginal_mask

CARD_K = 10


class Ranked(NamedTuple):
    """The counts of the queries of one shape under one competition.

    Attributes
    ----------
    known : Known
        Its hard answers are those that metrics are about.
    greater, tied : (n_values,) int
        Of each value of each variable, as in `known.marginals`.
    standing : Standing
        The same values among all candidates.
    rule : str
        The competition.
    memo : dict
        By tie policy the places in the joint ranking, once they are known.
    """

    known: Known
    greater: np.ndarray
    tied: np.ndarray
    standing: Standing
    rule: str
    memo: dict[str, Places]

    @property
    def arity(self) -> int:
        return self.known.arity


Values = Callable[[np.ndarray, np.ndarray, str], np.ndarray]


def _by_variable(ranked: Ranked, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean over the values under a mask of each query and variable, (n_queries, k)."""
    before = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    means = query_means(values[mask], before[ranked.known.marginals.values.offsets])
    return means.reshape(-1, ranked.arity)


def _marginal_parts(ranked: Ranked, ties: str, of_answer: Values) -> np.ndarray:
    values = of_answer(ranked.greater, ranked.tied, ties)
    return _by_variable(ranked, values, is_new(ranked.known))


def _mean_of_defined(parts: np.ndarray) -> np.ndarray:
    """Mean over the columns that are no NaN."""
    n = (~np.isnan(parts)).sum(axis=1)
    return np.where(n > 0, np.nansum(parts, axis=1) / np.maximum(n, 1), np.nan)


def _marginal(ranked: Ranked, ties: str, of_answer: Values) -> np.ndarray:
    return _mean_of_defined(_marginal_parts(ranked, ties, of_answer))


def _multiply(ranked: Ranked, ties: str, of_answer: Values) -> np.ndarray:
    values = of_answer(ranked.greater, ranked.tied, ties)
    products = values[ranked.known.marginals.places[ranked.known.hard.values]].prod(axis=1)
    return query_means(products, ranked.known.hard.offsets)


def _multiply_mrr(ranked: Ranked, ties: str) -> np.ndarray:
    root = 1 / ranked.arity
    return _multiply(ranked, ties, functools.partial(_reciprocal_roots, root=root))


def _reciprocal_roots(greater: np.ndarray, tied: np.ndarray, ties: str, root: float) -> np.ndarray:
    """Reciprocal ranks to the power `root`; under `expected` its mean over the order of ties."""
    if root == 1 or ties != "expected":
        return reciprocal_ranks(greater, tied, ties) ** root
    first, n = np.asarray(greater, np.int64), np.asarray(tied, np.int64) + 1
    powers = np.arange(1, int((first + n).max(initial=0)) + 1, dtype=np.float64) ** -root
    sums = np.concatenate([[0.0], np.cumsum(powers)])
    one = (first + 1.0) ** -root
    return np.where(n == 1, one, np.minimum((sums[first + n] - sums[first]) / n, 1.0))


def _joint(ranked: Ranked, ties: str, of_rank: Callable, exact: bool = False) -> np.ndarray:
    known, places = ranked.known, ranked.known.marginals.places
    filter_name, _ = competition_parts(ranked.rule)
    if filter_name == WITH_TEST:
        return np.full(known.n_queries, np.nan)
    if ties not in ranked.memo:
        sets = (known.hard, known.excluded[filter_name])
        hard, excluded = ((rows.offsets, places[rows.values]) for rows in sets)
        ranked.memo[ties] = joint_places(ranked.standing, hard, excluded, ties)
    found = ranked.memo[ties].joint_ranks(exact).astype(np.float64)
    return query_means(of_rank(found), known.hard.offsets)


def _reciprocal(found: np.ndarray) -> np.ndarray:
    return 1.0 / found


def _among_first(found: np.ndarray, k: int) -> np.ndarray:
    return (found <= k).astype(np.float64)


def _card_parts(ranked: Ranked, ties: str, of_answer: Values) -> np.ndarray:
    values = of_answer(ranked.standing.greater, ranked.standing.tied, ties)
    return _by_variable(
        ranked, values, marginal_mask(ranked.known.true.values, ranked.known.marginals)
    )


def _card_marginal(ranked: Ranked, ties: str) -> np.ndarray:
    return _card_parts(ranked, ties, reciprocal_ranks).mean(axis=1)


def _card_multiply(ranked: Ranked, ties: str) -> np.ndarray:
    return _card_parts(ranked, ties, functools.partial(hits, k=CARD_K)).prod(axis=1)


def _card_joint(ranked: Ranked, ties: str) -> np.ndarray:
    """Whether no other candidate is, or for pessimistic ties may be, before a true value."""
    own, standing = values_in(ranked.known.true, ranked.known), ranked.standing
    mask = marginal_mask(ranked.known.true.values, ranked.known.marginals)
    sizes = np.repeat(own.lengths(), own.lengths())
    if ties == "pessimistic":
        fits = ranks(standing.greater[mask], standing.tied[mask], ties) <= sizes
    else:
        owners = row_numbers(own)
        worst = np.zeros(len(own.offsets) - 1, np.int64)
        np.maximum.at(worst, owners, standing.greater[mask])
        n_better = np.bincount(owners, standing.greater[mask] < worst[owners], len(worst))
        fits = (n_better == worst)[owners]
    return _by_variable_all(fits, own).reshape(-1, ranked.arity).all(axis=1).astype(np.float64)


def _by_variable_all(holds: np.ndarray, rows: Ragged) -> np.ndarray:
    """Whether something holds for all values of each row."""
    n_failed = np.bincount(row_numbers(rows), ~holds, len(rows.offsets) - 1)
    return n_failed == 0


def _released_marginal(ranked: Ranked, ties: str, k: int | None) -> np.ndarray:
    if ranked.arity != 2:
        return np.full(ranked.known.n_queries, np.nan)
    functions = {None: reciprocal_ranks} | {n: functools.partial(hits, k=n) for n in (1, 3, 10)}
    own = _marginal_parts(ranked, ties, functions[k])
    later = {None: (), 1: (None,), 3: (1,), 10: (3, 10)}[k]
    total = own[:, 0].copy()
    for key in later:
        total += _marginal_parts(ranked, ties, functions[key])[:, 1]
    return np.where(np.isnan(own).any(axis=1), _mean_of_defined(own), total / 2)


def tuple_values(identifier: str, ranked: Ranked, ties: str) -> np.ndarray:
    """Values of a metric of tuples per query, NaN where it is undefined or nothing is hard."""
    name, k = metric_parts(identifier)
    if ties in metric(identifier).void:
        return np.full(ranked.known.n_queries, np.nan)
    found = _function(name, k)(ranked, ties)
    return np.where(ranked.known.hard.lengths() > 0, found, np.nan)


def _function(name: str, k: int | None) -> Callable[[Ranked, str], np.ndarray]:
    family, _, kind = name.rpartition("_")
    of_answer = reciprocal_ranks if k is None else functools.partial(hits, k=k)
    of_rank = _reciprocal if k is None else functools.partial(_among_first, k=k)
    if name == "multiply_mrr":
        return _multiply_mrr
    if family == "card":
        return {"marginal": _card_marginal, "multiply": _card_multiply, "joint": _card_joint}[kind]
    return {
        "marginal": functools.partial(_marginal, of_answer=of_answer),
        "multiply": functools.partial(_multiply, of_answer=of_answer),
        "joint": functools.partial(_joint, of_rank=of_rank),
        "joint_exact": functools.partial(_joint, of_rank=of_rank, exact=True),
        "efok_released_marginal": functools.partial(_released_marginal, k=k),
    }[family]
