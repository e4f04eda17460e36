"""Tables of the counts of values of variables, and the values per query that they give.

The ranks of queries with several free variables have a row for each competition, query, variable
(`variable`, from 1 in the order of the variables' names) and value (`answer`) in a known answer; in
`lower` stands how many of all candidates tie with the value and have lower ids.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.averages import query_means
from clqa.competitions import CANDIDATES, RAW, competition_parts
from clqa.errors import InputError
from clqa.joint_ranks import Standing
from clqa.metrics import is_of_tuples, score_id
from clqa.query_sets import AnswerTable
from clqa.ragged_sets import row_numbers, selected
from clqa.tuple_counts import Known, known_answers
from clqa.tuple_metrics import Ranked, tuple_values


class Counted(NamedTuple):
    """The counts of a shard; lists have a place for each shape.

    Attributes
    ----------
    known : list of Known
    tables : dict of lists of pa.Table
        For each competition that was counted the rows of `ranks_of_values`.
    """

    known: list[Known]
    tables: dict[str, list[pa.Table]]


def counted(ranks: pa.Table, answers: AnswerTable, rules: Iterable[str]) -> Counted:
    """What was counted of answers under competitions; those of typed candidates are never there.

    Raises
    ------
    InputError
        If the ranks are not those of the answers.
    """
    known = [known_answers(p.easy, p.hard, p.retracted) for p in answers.shapes.values()]
    ids = [part.query_ids for part in answers.shapes.values()]
    names = {rule for rule in rules if competition_parts(rule)[1] == CANDIDATES[0]} | {RAW}
    return Counted(known, {rule: _tables(ranks, rule, known, ids) for rule in sorted(names)})


def _tables(ranks: pa.Table, rule: str, known: list[Known], ids: list[np.ndarray]):
    part = ranks.filter(pc.equal(ranks["filter"].cast(pa.string()), rule))
    tables, first = [], 0
    for one in known:
        tables.append(part.slice(first, len(one.marginals.values.values)))
        first += len(one.marginals.values.values)
    if first != part.num_rows or not all(map(_is_of, tables, known, ids)):
        names = ", ".join(sorted(set(ranks["filter"].cast(pa.string()).to_pylist())))
        raise InputError(
            f"ranks under the filter {rule}: not of these answers (it has {names}); rank again"
        )
    return tables


def _is_of(table: pa.Table, known: Known, ids: np.ndarray) -> bool:
    """Whether a table has a row for each value, in order."""
    rows = row_numbers(known.marginals.values)
    return (
        "lower" in table.column_names
        and np.array_equal(table["answer"].to_numpy(), known.marginals.values.values)
        and np.array_equal(table["variable"].to_numpy(), rows % known.arity + 1)
        and np.array_equal(
            table["query_id"].to_numpy(zero_copy_only=False).astype(str),
            ids[rows // known.arity].astype(str),
        )
    )


def of_hard(shard: Counted, chosen: np.ndarray) -> Counted:
    """The same, about those hard answers alone that are chosen, (n_hard,) bool over all shapes."""
    kept, first = [], 0
    for known in shard.known:
        last = first + len(known.hard.values)
        kept.append(known._replace(hard=selected(known.hard, chosen[first:last])))
        first = last
    return shard._replace(known=kept)


def values_of(
    shard: Counted, asked: Iterable[tuple[str, str, str]], rules: Iterable[str]
) -> dict[str, np.ndarray]:
    """Scores per query by the names of their columns, NaN where there is none; then tie rates."""
    asked, found = [*asked], {score_id(*parts): [np.empty(0)] for parts in asked}
    for rule in rules:
        rates = found[f"tie_rate[{rule}]"] = [np.empty(0)]
        own = [parts for parts in asked if parts[2] == rule]
        for known, ranked in zip(shard.known, _ranked(shard, rule), strict=True):
            nothing = np.full(known.n_queries, np.nan)
            for name, ties, _ in own:
                has_values = ranked is not None and is_of_tuples(name)
                values = tuple_values(name, ranked, ties) if has_values else nothing
                found[score_id(name, ties, rule)].append(values)
            rates.append(nothing if ranked is None else _tie_rates(ranked))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _tie_rates(ranked: Ranked) -> np.ndarray:
    """Share of the hard answers of each query that hold a value that ties with a candidate."""
    hard = ranked.known.hard
    is_tied = (ranked.tied > 0)[ranked.known.marginals.places[hard.values]].any(axis=1)
    return query_means(is_tied.astype(np.float64), hard.offsets)


def _ranked(shard: Counted, rule: str) -> Iterator[Ranked | None]:
    """The counts of each shape under a competition; None if it was not counted."""
    if rule not in shard.tables:
        yield from [None] * len(shard.known)
        return
    for known, own, raw in zip(shard.known, shard.tables[rule], shard.tables[RAW], strict=True):
        columns = (_numbers(raw, name) for name in ("greater", "tied", "lower", "candidates"))
        standing = Standing(known.marginals.values.values, *columns)
        yield Ranked(known, _numbers(own, "greater"), _numbers(own, "tied"), standing, rule, {})


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    return table[name].to_numpy().astype(np.int64)
