"""Digests of columns: of what they hold, not of how it is stored."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clqa.column_digests import column_digest

WORDS = st.none() | st.text(max_size=2)
LISTS = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3)
KINDS = {
    "numbers": (pa.int32(), st.none() | st.integers(-2, 2)),
    "floats": (pa.float64(), st.none() | st.sampled_from([0.0, -0.5, 1.0])),
    "text": (pa.string(), WORDS),
    "words": (pa.dictionary(pa.int32(), pa.string()), WORDS),
    "lists": (pa.large_list(pa.int32()), LISTS),
}


def column(values, kind):
    return pa.chunked_array([pa.array(values, kind)], kind)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_chunks_slices_and_dictionaries_do_not_matter_but_values_do(name, data):
    kind, elements = KINDS[name]
    values, more = data.draw(st.lists(elements, max_size=8)), data.draw(st.lists(elements))
    cut = data.draw(st.integers(0, len(values)))
    digest = column_digest(column(values, kind))
    parts = [
        pa.array([*more, *part, *more[:2]], kind).slice(len(more), len(part))
        for part in (values[:cut], [], values[cut:])
    ]
    assert column_digest(pa.chunked_array(parts, kind)) == digest
    other = data.draw(st.lists(elements, max_size=8))
    assert (column_digest(column(other, kind)) == digest) == (other == values)


def test_what_lies_beneath_a_gap_does_not_matter():
    values, gaps = pa.py_buffer(bytes([1, 2, 3])), pa.py_buffer(bytes([0b101]))
    array = pa.Array.from_buffers(pa.uint8(), 3, [gaps, values])
    digest = column_digest(pa.chunked_array([array]))
    assert digest == column_digest(column([1, None, 3], pa.uint8()))


@pytest.mark.parametrize("kind", [pa.int64(), pa.float32(), pa.large_list(pa.int32())])
def test_the_type_matters_even_without_rows(kind):
    assert column_digest(column([], kind)) != column_digest(column([], pa.int32()))


def test_a_word_twice_in_a_dictionary_is_the_same_word():
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "a", "b"])
    expected = column(["a", "a", "b"], pa.dictionary(pa.int32(), pa.string()))
    assert column_digest(pa.chunked_array([twice])) == column_digest(expected)
