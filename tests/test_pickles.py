"""Only plain data comes out of a pickle, and nothing in it is run."""

import collections
import lzma
import os
import pickle

import numpy as np
import pytest

from clqa.errors import InputError, abridged
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
    assert abridged(value) == "<a huge tuple>"
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
