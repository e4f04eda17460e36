"""Scores per query: every metric under every tie policy and filter, from the counts per answer."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clqa.averages import query_means
from clqa.errors import InputError, damaged
from clqa.metrics import defined_scores, is_of_tuples, metric, score_id
from clqa.query_sets import ANSWERS, AnswerTable, arity_of, set_hash
from clqa.retrieval import query_values
from clqa.strata import Stratum
from clqa.tables import Contents, read_table
from clqa.tie_blocks import Blocks, blocks_of_counts
from clqa.tuple_tables import Counted, counted, of_hard, values_of

RANKS = Contents(
    rule="rank_answers",
    columns={
        **dict.fromkeys(("query_id", "filter"), "text"),
        **dict.fromkeys(("answer", "greater", "tied", "candidates", "lower"), "whole numbers"),
    },
    metadata={**ANSWERS.metadata, "model": dict, "predictions": str},
    may_lack=("lower",),
)


def read_ranks(path: str | os.PathLike) -> tuple[pa.Table, dict]:
    """The counts that `rank_answers` writes, and their metadata.

    Raises
    ------
    InputError
        If the file is not such a table, or a rank would not lie between 1 and the number of
        candidates.
    """
    table, metadata = read_table(path, RANKS)
    greater, tied, candidates = (
        table[name].to_numpy().astype(np.int64) for name in ("greater", "tied", "candidates")
    )
    wrong = np.flatnonzero((greater < 0) | (tied < 0) | (greater + tied >= candidates))
    if len(wrong):
        query = table["query_id"][int(wrong[0])]
        what = f"query {query}: the counts give a rank that is not from 1 to the candidates"
        raise damaged(path, what, RANKS.rule)
    return table, metadata


def query_scores(
    ranks: pa.Table,
    answers: AnswerTable,
    metrics: Sequence[str],
    ties: Sequence[str],
    filters: Sequence[str],
    strata: Iterable[Stratum] = (),
    skipped: Iterable[str] = (),
) -> pa.Table:
    """Score each query, over all its hard answers and over those of each stratum.

    Parameters
    ----------
    ranks : pa.Table
        As `rank_answers` writes it.
    answers : AnswerTable
        Those that were ranked. A query without hard answers has a row without scores.
    filters : sequence of str
        Competitions (`clqa.competitions`); those without candidates are names of filters.
    strata : iterable of Stratum
        Their rows have scores under the first tie policy and the first filter alone.
    skipped : iterable of str
        Ids of queries that are to have no scores, as if no hard answer of theirs was asked for.

    Returns
    -------
    pa.Table
        Columns `query_id`, `shape`, `stratum`, `n_easy`, `n_hard`, one per score id, and
        `tie_rate[filter]`, the share of hard answers that tie with a candidate. First a row per
        query over all its hard answers (stratum empty), then, stratum by stratum, a row per query
        over those of its hard answers that are in the stratum. Null is what a metric has not for so
        many free variables.

    Raises
    ------
    InputError
        If the ranks are not those of the answers, or a name is unknown.
    """
    queries = pa.concat_tables(_queries(answers))
    n_hard = queries["n_hard"].to_numpy()
    owner = np.repeat(np.arange(len(n_hard)), n_hard)
    several = arity_of(answers) > 1
    shard = counted(ranks, answers, filters) if several else None
    counts = {} if several else {name: _counts(ranks, answers, name) for name in filters}
    kept = ~np.isin(queries["query_id"].to_numpy(), [*skipped])[owner]
    every = Stratum("", kept, whole=True)
    asked = defined_scores(metrics, ties, filters)
    parts = [_stratum(every, queries, owner, shard or counts, asked, filters)]
    asked = defined_scores(metrics, ties[:1], filters[:1])
    for one in strata:
        stratum = one._replace(chosen=one.chosen & kept)
        parts.append(_stratum(stratum, queries, owner, shard or counts, asked, filters[:1]))
    return pa.concat_tables(parts, promote_options="default")


def _queries(answers: AnswerTable) -> Iterator[pa.Table]:
    yield pa.schema(
        {"query_id": pa.string(), "shape": pa.string(), "n_easy": pa.int32(), "n_hard": pa.int32()}
    ).empty_table()
    for shape, part in answers.shapes.items():
        yield pa.table(
            {
                "query_id": pa.array(part.query_ids, pa.string()),
                "shape": pa.array([shape] * len(part.query_ids), pa.string()),
                "n_easy": part.easy.lengths().astype(np.int32),
                "n_hard": part.hard.lengths().astype(np.int32),
            }
        )


def _counts(ranks: pa.Table, answers: AnswerTable, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Greater and tied of all hard answers in the order of the answers."""
    part = ranks.filter(pc.equal(ranks["filter"].cast(pa.string()), rule))
    hard = [found.hard.values for found in answers.shapes.values()]
    hard = np.concatenate([np.empty(0, np.int32), *hard])
    owners = [np.repeat(a.query_ids, a.hard.lengths()) for a in answers.shapes.values()]
    owners = np.concatenate([np.empty(0, object), *owners])
    same = np.array_equal(part["query_id"].to_numpy(zero_copy_only=False), owners)
    if not same or not np.array_equal(part["answer"].to_numpy(), hard):
        known = ", ".join(sorted(set(ranks["filter"].cast(pa.string()).to_pylist())))
        raise InputError(
            f"ranks under the filter {rule}: not of these answers (it has {known}); rank again"
        )
    return part["greater"].to_numpy(), part["tied"].to_numpy()


def _stratum(
    stratum: Stratum,
    queries: pa.Table,
    owner: np.ndarray,
    counts: dict[str, tuple[np.ndarray, np.ndarray]] | Counted,
    asked: Sequence[tuple[str, str, str]],
    filters: Sequence[str],
) -> pa.Table:
    """Rows of the queries that have answers in a stratum, or of all; `owner` has their queries."""
    chosen = stratum.chosen
    n_hard = np.bincount(owner[chosen], minlength=len(queries)).astype(np.int32)
    kept = np.flatnonzero((n_hard > 0) | (stratum.name == ""))
    offsets = np.concatenate([[0], np.cumsum(n_hard[kept])])
    rows = queries.take(kept)
    columns = {
        "query_id": rows["query_id"],
        "shape": rows["shape"],
        "stratum": pa.array([stratum.name] * len(kept), pa.string()),
        "n_easy": rows["n_easy"],
        "n_hard": n_hard[kept],
    }
    if isinstance(counts, Counted):
        found = values_of(of_hard(counts, chosen), asked, filters)
        found = {name: values[kept] for name, values in found.items()}
    else:
        within = {rule: tuple(values[chosen] for values in counts[rule]) for rule in filters}
        found = count_scores(offsets, within, asked)
    columns |= {name: _column(values) for name, values in found.items()}
    return pa.table(columns)


def count_scores(
    offsets: np.ndarray,
    counts: Mapping[str, tuple[np.ndarray, np.ndarray]],
    asked: Iterable[tuple[str, str, str]],
) -> dict[str, np.ndarray]:
    """Each score of each query from the counts of its answers, NaN where it has none.

    Parameters
    ----------
    offsets : (n_queries + 1,) int
        The answers of query i are `offsets[i]:offsets[i + 1]`.
    counts : dict
        Greater and tied of each answer, by competition.
    asked : iterable of (metric, tie policy, competition)
        See `clqa.metrics.defined_scores`.

    Returns
    -------
    dict
        (n_queries,) float64 by score id, the tie rate of each competition last.
    """
    found: dict[str, np.ndarray] = {}
    blocks: dict[str, Blocks] = {}
    for name, policy, rule in asked:
        of_answer = None if is_of_tuples(name) else metric(name).values
        if is_of_tuples(name):
            values = np.full(len(offsets) - 1, np.nan)
        elif of_answer is not None:
            values = query_means(of_answer(*counts[rule], policy), offsets)
        else:
            if rule not in blocks:
                blocks[rule] = blocks_of_counts(offsets, *counts[rule])
            values = query_values(name, blocks[rule], policy)
        found[score_id(name, policy, rule)] = values
    for rule, (_, tied) in counts.items():
        found[f"tie_rate[{rule}]"] = query_means((tied > 0).astype(np.float64), offsets)
    return found


def _column(values: np.ndarray) -> pa.Array:
    """Numbers, null where they are NaN."""
    return pa.array(values, pa.float64(), mask=np.isnan(values))


def merged_metadata(parts: Sequence[dict], query_ids: Iterable[str]) -> dict:
    """Metadata of all shards of a query set as one.

    The formulas and the ids of missing queries are put together, and `queries` becomes the hash of
    the whole set; shards may differ in the number of free variables, which is left to the formulas.

    Raises
    ------
    InputError
        If the shards differ in anything else.
    """
    formulas = {shape: text for part in parts for shape, text in part["formulas"].items()}
    merged = {**parts[0], "formulas": formulas, "queries": set_hash(query_ids)}
    merged.pop("arity", None)
    if "lacking" in merged:
        merged["lacking"] = sorted({name for part in parts for name in part.get("lacking", ())})
    for part in parts:
        for key in part.keys() - {"formulas", "queries", "lacking", "arity"}:
            if merged.get(key) != part[key]:
                raise InputError(f"shards differ in their {key}; make the older ones again")
    return merged
