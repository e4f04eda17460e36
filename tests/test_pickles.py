"""Only plain data comes out of a pickle, and nothing in it is run."""

import collections
import lzma
import os
import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa.errors import InputError, abridged
from clqa.pickle_scans import scan_pickle
from clqa.pickles import read_pickle


class Runs:
    """What its pickle asks for is to be called while it is loaded."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.fixture
def pickled(tmp_path):
    def write(content, protocol=pickle.DEFAULT_PROTOCOL):
        path = tmp_path / "queries.pkl"
        path.write_bytes(pickle.dumps(content, protocol))
        return path

    return write


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_published_queries_are_read(pickled, protocol):
    queries = collections.defaultdict(set)
    queries["e", ("r",)].add((3, (4,)))
    assert read_pickle(pickled(queries, protocol)) == {("e", ("r",)): {(3, (4,))}}


@pytest.mark.parametrize("content", [{0: "a"}, [1, (2, 3)], {1, 2}, frozenset({"x"}), 2**70, "é"])
def test_plain_data_is_read(pickled, content):
    assert read_pickle(pickled(content)) == content


@pytest.mark.parametrize("function", [os.system, os.mkdir, exec, eval, getattr, open])
def test_a_function_is_refused_by_name_and_not_run(pickled, tmp_path, function):
    trace = tmp_path / "trace"
    argument = f"mkdir {trace}" if function is os.system else str(trace)
    name = rf"{function.__module__}\.{function.__name__}"
    with pytest.raises(InputError, match=rf"queries\.pkl: the pickle asks for {name}.*refused"):
        read_pickle(pickled(Runs(function, argument)))
    assert not trace.exists()


class Named:
    """Its pickle asks for something of a long name."""

    def __reduce__(self):
        return (Named, ())


def test_long_names_are_cut(pickled):
    name = "n" * 5000
    content = pickle.dumps(Named(), 0).replace(b"Named", name.encode())
    path = pickled(None)
    path.write_bytes(content)
    with pytest.raises(InputError, match="the pickle asks for") as caught:
        read_pickle(path)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "value", ["x" * 5000, 10**5000, ("e", ("r",) * 5000)], ids=["text", "number", "tuple"]
)
def test_what_messages_quote_is_cut(value):
    assert len(abridged(value)) <= 80


def test_what_messages_quote_may_be_nested_deeply():
    value = ()
    for _ in range(100_000):
        value = (value,)
    assert abridged(value) == "(" * 79 + "…"
    assert abridged("a'b") == '"a\'b"'


def test_a_number_of_numpy_is_refused_in_words(pickled):
    with pytest.raises(InputError, match=r"asks for numpy.*scalar.*refused"):
        read_pickle(pickled({"a": np.int64(3)}))


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04", b"PK\x03\x04zip"])
def test_what_is_no_pickle_is_told_in_one_line(tmp_path, content):
    path = tmp_path / "id2ent.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^id2ent\.pkl: cut short, damaged, or not a pickle.*$"):
        read_pickle(path)


def test_every_cut_of_a_pickle_is_told(pickled):
    path = pickled({number: str(number) for number in range(20)})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            read_pickle(path)


def test_the_queries_of_wn18rr_qa_are_read(data, tmp_path):
    path = tmp_path / "test-queries.pkl"
    compressed = (data / "queries/wn18rr-qa-test/test-queries.pkl.xz").read_bytes()
    path.write_bytes(lzma.decompress(compressed))
    queries = read_pickle(path)
    assert len(queries["e", ("r",)]) == 5356
    assert sum(map(len, queries.values())) == 18_356


def chain(step, times, start=b"N"):
    """A pickle that does the same to its only value again and again."""
    return b"\x80\x04" + start + step * times + b"."


PROTO, DOUBLE = b"\x80\x02", b"q\x00h\x00\x86"
BOMBS = {
    "deep tuples as a key": (PROTO + b"}N" + b"\x85" * 10**6 + b"Ns.", "nested more than 100"),
    "tuples that double": (PROTO + b"}N" + DOUBLE * 60 + b"Ns.", "hold each other more often"),
    "tuples in a set": (PROTO + b"\x8f(N" + DOUBLE * 60 + b"\x90.", "hold each other more often"),
    "tuples in a frozenset": (PROTO + b"(N" + DOUBLE * 60 + b"\x91.", "hold each other more"),
    "a set of a list": (
        PROTO + b"c__builtin__\nset\n](N" + DOUBLE * 60 + b"e\x85R.",
        "hold each other more often",
    ),
    "one heavy key again and again": (
        PROTO + b"}N" + DOUBLE * 14 + b"q\x010" + b"h\x01Ns" * 10**4 + b".",
        "opcode 0x30",
    ),
    "one heavy key, many dicts": (
        PROTO + b"N" + DOUBLE * 14 + b"q\x01}h\x01Ns" + b"}h\x01Ns" * 10**4 + b".",
        "hold each other more often",
    ),
    "a huge memo": (PROTO + b"Nr\xff\xff\xff\x7f.", "a memo that is larger than itself"),
    "a huge memo in words": (PROTO + b"Np999999999\n.", "a memo that is larger than itself"),
    "a long text that is not there": (PROTO + b"X\xff\xff\xff\x7fabc.", "cut short"),
    "a very long text": (b"\x80\x04\x8d" + b"\xff" * 7 + b"\x00abc.", "cut short"),
    "a long frame": (b"\x80\x04\x95" + b"\xff" * 6 + b"\x00\x00N.", "cut short"),
    "a text of a list": (PROTO + b"c__builtin__\nstr\n]" + b"\x85R.", "calls str"),
    "a number of a text": (PROTO + b"c__builtin__\nint\nX\x02\x00\x00\x0012\x85R.", "calls int"),
    "an instance": (b"(i__builtin__\nstr\n.", "opcode 0x69"),
    "a value from elsewhere": (b"\x80\x02\x82\x01.", "opcode 0x82"),
    "more than is there": (PROTO + b"(N0s.", "opcode 0x30"),
    "beneath the mark": (PROTO + b"N(\x86.", "more from its stack than there is"),
    "what is not in the memo": (PROTO + b"Nq\x05h\x04.", "for what is not there"),
    "a memo of nothing": (PROTO + b"h\x04.", "cut short"),
    "a negative place": (PROTO + b"Np-1\n.", "negative"),
    "no mark": (PROTO + b"Nt.", "cut short"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_pickle_that_would_take_too_much_is_refused_at_once(tmp_path, name):
    content, expected = BOMBS[name]
    path = tmp_path / "queries.pkl"
    path.write_bytes(content)
    started = time.process_time()
    with pytest.raises(InputError, match=r"^queries\.pkl: ") as caught:
        read_pickle(path)
    assert expected in str(caught.value)
    assert time.process_time() - started < 3


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.integers() | st.text(max_size=5), inner, max_size=3)
        | st.frozensets(st.integers() | st.text(max_size=5), max_size=3)
        | st.sets(st.tuples(st.integers(0, 9), st.tuples(st.integers(0, 9))))
    ),
    max_leaves=30,
)


@given(values, st.integers(0, pickle.HIGHEST_PROTOCOL))
@settings(max_examples=100)
def test_the_scan_ends_where_pickles_of_plain_data_end(value, protocol):
    content = pickle.dumps(value, protocol)
    assert scan_pickle(content) == len(content)
    assert scan_pickle(content + b"more") == len(content)
    assert scan_pickle(b"before" + content, len(b"before")) == len(content) + len(b"before")


def test_tuples_are_nested_as_deeply_as_is_allowed(tmp_path):
    path = tmp_path / "a.pkl"
    path.write_bytes(chain(b"\x85", 100))
    assert repr(read_pickle(path)).count("(") == 100
    path.write_bytes(chain(b"\x85", 101))
    with pytest.raises(InputError, match="nested more than 100"):
        read_pickle(path)


def test_numbers_of_a_memo_may_have_gaps(tmp_path):
    # As in pickles from which places that nothing asks for were taken out.
    path = tmp_path / "a.pkl"
    path.write_bytes(PROTO + b"(" + b"K\x01" * 30 + b"K\x02q\x14h\x14t.")
    assert read_pickle(path)[-2:] == (2, 2)


def test_what_messages_quote_is_made_no_longer_than_it_is_shown():
    value: list = []
    for _ in range(60):
        value = [value, value]
    assert len(abridged(value)) == 80
    value.append(value)
    assert len(abridged(value)) == 80
