"""The rows of ranks tables of queries with several free variables."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from clqa.query_sets import AnswerTable
from clqa.ragged_sets import row_numbers
from clqa.ranks import Competitors
from clqa.tables import dictionary
from clqa.tuple_counts import ValueCounts


def ranks_of_values(
    answers: AnswerTable, found: Sequence[ValueCounts], rules: Sequence[str]
) -> pa.Table:
    """The counts of all shapes under each of the competitions, as a table."""
    shapes, n_rules = list(answers.shapes), len(rules)
    query_ids = np.concatenate([[], *(p.query_ids for p in answers.shapes.values())]).astype(str)
    sizes = [len(one.known.marginals.values.values) for one in found]
    owners, variables, first = [np.empty(0, int)], [np.empty(0, int)], 0
    for one in found:
        rows, arity = row_numbers(one.known.marginals.values), one.known.arity
        owners.append(first + rows // arity)
        variables.append(rows % arity + 1)
        first += one.known.n_queries
    values = [one.known.marginals.values.values for one in found]
    values = np.concatenate([np.empty(0, np.int32), *values])
    lower = np.concatenate([np.empty(0, np.int32), *(one.lower for one in found)])
    of_shapes = np.repeat(np.arange(len(shapes)), sizes)
    columns = {
        "query_id": dictionary(np.tile(np.concatenate(owners), n_rules), query_ids),
        "shape": dictionary(np.tile(of_shapes, n_rules), shapes),
        "variable": np.tile(np.concatenate(variables).astype(np.int8), n_rules),
        "answer": np.tile(values, n_rules),
        "filter": dictionary(np.repeat(np.arange(n_rules), len(values)), rules),
    }
    for name in Competitors._fields:
        parts = [getattr(one.counts, name) for one in found]
        columns[name] = np.concatenate([np.empty((n_rules, 0), np.int32), *parts], axis=1).ravel()
    columns["lower"] = np.tile(lower, n_rules)
    columns["links"] = pa.nulls(n_rules * len(values), pa.uint8())
    return pa.table(columns)
