"""What Parquet files say of their sizes is what Arrow reads of whole ones."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.parquet_footers import Sizes, footer_of, stated_sizes

TABLES = {
    "flat": pa.table({"a": [1, 2, None], "b": ["x", "", None], "c": [True, False, None]}),
    "nested": pa.table(
        {
            "lists": [[1, 2], [3], None, []],
            "structs": [{"u": 1, "v": [1.5, 2.5]}, None, {"u": None, "v": []}, {"u": 4, "v": None}],
            "maps": pa.array(
                [[("k", 1)], [], None, [("l", 2), ("m", 3)]], pa.map_("string", "int8")
            ),
        }
    ),
    "empty": pa.table({"a": pa.array([], pa.int64())}),
    "long": pa.table({"a": list(range(1000)), "text": ["e" * (n % 7) for n in range(1000)]}),
}


def written(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 3, "write_page_checksum": True, "write_page_index": True},
        {"compression": "zstd", "use_dictionary": False, "store_schema": False, "version": "1.0"},
        {"sorting_columns": [pq.SortingColumn(0)], "write_statistics": False},
    ],
)
def test_sizes_are_those_that_arrow_reads(name, options):
    file = written(TABLES[name], **options)
    about = pq.ParquetFile(file).metadata
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    n_values = [group.column(k).num_values for group in groups for k in range(group.num_columns)]
    expected = Sizes(sum(group.total_byte_size for group in groups), sum(n_values))
    assert stated_sizes(footer_of(file)) == expected


def test_repeated_values_are_counted_however_few_bytes_they_take():
    file = written(pa.table({"a": [[7] * 100_000, []]}))
    assert len(file.getvalue()) < 2000
    assert stated_sizes(footer_of(file)).n_values == 100_001  # an empty list counts as one


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1PAR1", b"\xff\xff\xff\xff" + b"PAR1", b"x" * 50]
)
def test_what_is_no_parquet_file_is_refused(content):
    with pytest.raises(ValueError):  # noqa: PT011
        stated_sizes(footer_of(io.BytesIO(content)))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_metadata_are_refused_or_read_and_nothing_else(data):
    footer = bytearray(footer_of(written(TABLES["nested"])))
    for _ in range(data.draw(st.integers(1, 4))):
        footer[data.draw(st.integers(0, len(footer) - 1))] = data.draw(st.integers(0, 255))
    footer = bytes(footer[: data.draw(st.integers(0, len(footer)))])
    try:
        sizes = stated_sizes(footer)
    except ValueError:
        return
    assert all(isinstance(size, int) for size in sizes)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(footer):
    try:
        stated_sizes(footer)
    except ValueError:
        return


def test_structures_in_structures_without_end_are_refused():
    with pytest.raises(ValueError, match="too deeply"):
        stated_sizes(b"\x1c" * 5000)
