"""Parquet files that stand for far more than they are."""

import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clqa.errors import InputError
from clqa.list_files import read_lists
from clqa.outside_tables import check_table
from clqa.pair_files import read_pairs


def repeated(text: str, n: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), [text]).cast(
        pa.dictionary(pa.int32(), pa.large_string())
    )


def write(path, **columns):
    """A table whose reader is not told that its texts were numbered."""
    pq.write_table(pa.table(columns), path, store_schema=False)
    return path


def refusal(read, path) -> str:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="unpacks to more than") as caught:
        read(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 << 10
    return str(caught.value)


def test_a_long_text_again_and_again_is_refused(tmp_path):
    text, n = "x" * 1_000_000, 600
    path = write(tmp_path / "a.parquet", query=repeated(text, n), answer=repeated("a", n))
    assert path.stat().st_size < 500_000
    assert str(path) in refusal(read_pairs, path)


def test_a_long_text_in_lists_is_refused(tmp_path):
    n = 600
    lists = pa.ListArray.from_arrays(pa.array(np.arange(n + 1)), repeated("x" * 1_000_000, n))
    path = write(tmp_path / "a.parquet", query=pa.array(range(n)), expected=lists, returned=lists)
    assert str(path) in refusal(read_lists, path)


def test_a_long_run_of_a_number_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    zeros = pa.table({"query": np.zeros(1 << 20, np.int8), "answer": np.zeros(1 << 20, np.int8)})
    with pq.ParquetWriter(path, zeros.schema) as writer:
        for _ in range(40):
            writer.write_table(zeros)
    assert path.stat().st_size < 500_000
    refusal(check_table, path)


def test_tables_that_pack_well_are_read(tmp_path):
    n = 300_000
    path = write(
        tmp_path / "a.parquet",
        query=pa.array([f"q{place // 50}" for place in range(n)]),
        answer=pa.array([place % 50 for place in range(n)]),
        score=np.zeros(n),
    )
    assert len(read_pairs(path).scores) == n
