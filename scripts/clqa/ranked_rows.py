"""All that is kept of a row of scores, while it is in the cache."""

import numpy as np

from clqa.kernels import kernel
from clqa.row_counts import counts_of_cuts, cuts_of_targets, places_of_targets
from clqa.top_candidates import N_PAIRS, fill_row, locate


@kernel
def rank_rows(
    scores, bits, whole, rows, start, targets, excluded, groups, margin, counts, tops, wanted
):
    """Fill what is known of the queries from `start`, one per row; return one with a NaN, or -1.

    Parameters
    ----------
    scores : (n_rows, n_columns) float
        Of the candidates.
    bits : (n_rows, n_columns) unsigned
        See `clqa.top_candidates.bits_of`.
    whole : (n_rows, n_entities) float
        Of all entities.
    rows : (n,) int
        Row of each query.
    start : int
    targets : offsets, ids
    excluded : (n_kinds, n_queries + 1) offsets into one array of ids, and that array
    groups : offsets and ids of the pools, the pool of each query, and whether targets are in theirs
    margin : (1,) float
        Of a wider type where sums with scores are not to be rounded to theirs.
    counts : greater, tied, candidates
        (n_kinds, n_targets) each.
    tops : offsets, ids, scores, reaching
        Without columns in the last, no candidates are kept.
    wanted : offsets, ids, scores found
    """
    offsets, ids, best, reaching = tops
    starts, known = excluded
    wanted_offsets, wanted_ids, found = wanted
    is_kept = reaching.shape[1] > 0
    # Room for whole words of 8.
    places = np.zeros((scores.shape[1] + 7) // 8 * 8, np.uint8)
    kept = np.empty(scores.shape[1] + 1, np.int32)
    marked = np.empty(places.size // 8 + 1, np.int32)
    pairs = np.zeros(N_PAIRS, np.uint16)
    for query in range(start, start + rows.size):
        at = rows[query - start]
        row = scores[at]
        are_degrees = is_kept and locate(row, bits[at], places) == 0
        if not are_degrees and _has_nan(row):
            return query
        _count_row(row, query, targets, excluded, groups, margin, counts)
        if is_kept:
            own = slice(offsets[query], offsets[query + 1])
            answers = known[starts[0, query] : starts[0, query + 1]]
            rooms = ids[own], best[own], reaching[query]
            coming = scores[rows[min(query - start + 1, rows.size - 1)]]
            fill_row(row, answers, are_degrees, places, marked, kept, pairs, coming, *rooms)
        for place in range(wanted_offsets[query], wanted_offsets[query + 1]):
            found[place] = whole[at, wanted_ids[place]]
    return -1


@kernel
def _has_nan(row):
    n = np.int32(0)
    for place in range(row.size):
        n = np.int32(n + (row[place] != row[place]))
    return n > 0


@kernel
def _count_row(row, query, targets, excluded, groups, margin, counts):
    """Fill the counts of the targets of a query."""
    offsets, ids = targets
    starts, known = excluded
    pool_offsets, pool_of_query, members, is_inside = groups
    greater, tied, candidates = counts
    first, last = offsets[query], offsets[query + 1]
    if first == last:
        return
    # With pools the second half of the kinds is about their members alone.
    n_open = len(starts) if pool_offsets.size == 1 else len(starts) // 2
    cuts = cuts_of_targets(row, ids[first:last], margin)
    high, low = places_of_targets(cuts, row, ids[first:last], margin)
    above, reaching = counts_of_cuts(row, cuts)
    n_others = row.size
    for kind in range(len(starts)):
        if kind == n_open:
            pool = pool_of_query[query]
            inside = members[pool_offsets[pool] : pool_offsets[pool + 1]]
            above, reaching = counts_of_cuts(row[inside], cuts)
            n_others = inside.size
        out = known[starts[kind, query] : starts[kind, query + 1]]
        out_above, out_reaching = counts_of_cuts(row[out], cuts)
        cursor = 0
        for place in range(first, last):
            while cursor < out.size and out[cursor] < ids[place]:
                cursor += 1
            listed = cursor < out.size and out[cursor] == ids[place]
            # Neither what was taken out nor what is in no pool is among what was counted.
            absent = listed or (kind >= n_open and not is_inside[place])
            upper, lower = high[place - first], low[place - first]
            beating = above[upper] - out_above[upper]
            greater[kind, place] = beating
            tied[kind, place] = reaching[lower] - out_reaching[lower] - beating - (not absent)
            candidates[kind, place] = n_others - out.size + absent
