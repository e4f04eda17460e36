"""Rows without their zeros, whatever is kept of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clqa.link_degrees import weighted_links
from clqa.sparse_rows import SparseRows

N_ENTITIES, N_RELATIONS = 50, 4

asked = st.lists(
    st.lists(st.integers(0, N_RELATIONS * N_ENTITIES - 1), max_size=30), min_size=1, max_size=12
)


@given(asked, st.sampled_from([0, 8, 100, 3000, 2**20]), st.sampled_from([0.0, 0.02, 0.5, 1.0]))
def test_rows_are_those_of_the_links(batches, most_bytes, density):
    drawn = np.random.default_rng(5)
    weights = drawn.random((N_RELATIONS, N_ENTITIES, N_ENTITIES), np.float32) + np.float32(1e-9)
    weights *= drawn.random(weights.shape) < density
    rows = SparseRows(weighted_links(weights), most_bytes)
    for keys in batches:
        (offsets, tails), held = rows.of(np.array(keys, np.int64))
        for key, first, last in zip(keys, offsets[:-1], offsets[1:], strict=True):
            row = weights[key // N_ENTITIES, key % N_ENTITIES]
            assert tails[first:last].tolist() == np.flatnonzero(row).tolist()
            assert held[first:last].tolist() == row[row > 0].tolist()


@pytest.mark.parametrize(("most_bytes", "n_times"), [(8 * 200, 1), (8 * 199, 2)])
def test_rows_are_computed_again_only_if_they_did_not_fit(most_bytes, n_times):
    links, computed = weighted_links(np.full((1, 20, 20), 0.5, np.float32)), []

    def counted(entities, relations):
        computed.extend(entities.tolist())
        return links.tiles(entities, relations)

    rows = SparseRows(links._replace(tiles=counted), most_bytes)
    for keys in (np.arange(5), np.arange(5, 10), np.arange(5, 10), np.arange(5)):
        rows.of(keys)
    assert computed.count(7) == 1
    assert computed.count(2) == n_times
