"""Triple files are read exactly as they are, and whatever is wrong is told by file and line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clqa import triples
from clqa.ascending import is_among
from clqa.errors import InputError
from clqa.triples import read_fields, triple_keys


def lines(tmp_path, content, n_fields=3):
    path = tmp_path / "train.txt"
    path.write_bytes(content)
    fields = read_fields({"train": path}, n_fields)
    return [[fields.terms[int(code)].as_py() for code in row] for row in fields.codes["train"]]


def test_a_carriage_return_before_the_newline_is_stripped(tmp_path):
    assert lines(tmp_path, b"a\tr\tb\r\n") == [["a", "r", "b"]]


def test_a_carriage_return_elsewhere_is_part_of_a_label(tmp_path):
    assert lines(tmp_path, b"a\r\tr\rs\tb\r\r\n") == [["a\r", "r\rs", "b\r"]]


@pytest.mark.parametrize(
    "label",
    ["nan", "NA", "null", "None", "007", "1e3", " a ", '"', '"a', "'", "\\", "#", "<x.y.z>", "é"],
)
def test_labels_stay_what_they_are(tmp_path, label):
    content = f"{label}\t{label}\t{label}\n".encode()
    assert lines(tmp_path, content) == [[label] * 3]


def test_a_dot_in_an_iri_does_not_end_it(tmp_path):
    assert lines(tmp_path, b"<x.y.z>\t<p.q>\t<x.y>\n") == [["<x.y.z>", "<p.q>", "<x.y>"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a r b\n", "train.txt:1: expected 3 tab-separated fields, found 1"),
        (b"a\tr\tb\tc\n", "train.txt:1: expected 3 tab-separated fields, found 4"),
        (b"a\tr\tb\nc\tr\n", "train.txt:2: expected 3 tab-separated fields, found 2"),
        (b"a\tr\tb\n\nc\tr\td\n", "train.txt:2: .*found an empty line"),
        (b"\na\tr\tb\n", "train.txt:1: .*found an empty line"),
        (b"a\tr\tb\n\n\n", "train.txt:2: .*found an empty line"),
        (b"a\tr\tb\r\n\r\nc\tr\td\r\n", "train.txt:2: .*found an empty line"),
        (b"a\tr\tb\na\t\tb\n", "train.txt:2: field 2 of 3 is empty"),
        (b"a\tr\tb\na\tr\t\r\n", "train.txt:2: field 3 of 3 is empty"),
        (b"a\tr\tb\n\xff\tr\tb\n", "train.txt:2: not UTF-8"),
        (b"a\tr\tb\n\xc3\t\xa9\tb\n", "train.txt:2: not UTF-8"),
        ("a\tr\tb\n".encode("utf-16"), "train.txt:1"),
        # As many tabs as two right lines have, yet no line is right.
        (b"a\tb\nc\td\te\tf\n", "train.txt:1: expected 3 tab-separated fields, found 2"),
    ],
)
def test_a_bad_line_is_named(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        lines(tmp_path, content)


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_lines(tmp_path, content):
    assert lines(tmp_path, content) == []


@pytest.mark.parametrize(
    "content",
    [b"a\tr\tb", b"a\tr\tb\n\n", b"a\tr\tb\r\n\r\n", b"\xef\xbb\xbfa\tr\tb\n"],
    ids=["no newline at the end", "an empty last line", "the same with CRLF", "byte order mark"],
)
def test_harmless_starts_and_ends_are_passed_over(tmp_path, content):
    assert lines(tmp_path, content) == [["a", "r", "b"]]


def test_an_error_far_down_has_the_right_line_number(tmp_path, monkeypatch):
    monkeypatch.setattr(triples, "BLOCK", 64)
    with pytest.raises(InputError, match=r"train\.txt:778: expected 3 .* found 2"):
        lines(tmp_path, b"head\tof\tline\n" * 777 + b"short\tline\n" + b"a\tb\tc\n" * 9)


LABELS = st.text(
    st.characters(exclude_characters="\t\n", exclude_categories=["Cs"]), min_size=1, max_size=8
)
ENDS = LABELS.filter(lambda label: not label.endswith("\r"))
ROWS = st.lists(st.tuples(LABELS, LABELS, ENDS), max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    rows=ROWS,
    newline=st.sampled_from(["\n", "\r\n"]),
    last=st.sampled_from(["", "\n"]),
    block=st.integers(1, 40),
)
def test_what_is_written_is_read_back(tmp_path_factory, rows, newline, last, block):
    folder = tmp_path_factory.mktemp("files")
    text = newline.join("\t".join(row) for row in rows) + (newline + last if rows else "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triples, "BLOCK", block)
        starts_with_a_mark = text.startswith("\ufeff")
        mark = b"\xef\xbb\xbf" if starts_with_a_mark else b""
        assert lines(folder, mark + text.encode()) == [list(row) for row in rows]


def test_terms_come_in_order_of_first_appearance_over_all_files(tmp_path):
    (tmp_path / "a").write_bytes(b"x\tr\ty\n")
    (tmp_path / "b").write_bytes(b"y\ts\tx\nz\tr\tx\n")
    fields = read_fields({"a": tmp_path / "a", "b": tmp_path / "b"})
    assert fields.terms.to_pylist() == ["x", "r", "y", "s", "z"]
    assert fields.codes["b"].tolist() == [[2, 3, 0], [4, 1, 0]]


@pytest.mark.parametrize("n_entities", [7, 100_000_000])
def test_keys_are_equal_for_equal_triples_only(n_entities):
    rows = np.array([[0, 0, 0], [6, 29_999, 6], [6, 29_999, 5], [5, 29_999, 6], [6, 29_998, 6]])
    keys = triple_keys({"a": rows, "b": rows[::-1]}, n_entities, 30_000)
    assert len(set(keys["a"].tolist())) == 5
    assert (keys["a"] == keys["b"][::-1]).all()


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_membership_is_that_of_sets(values, known):
    mask = is_among(np.array(values, np.int64), np.sort(np.array(known, np.int64)))
    assert mask.tolist() == [value in set(known) for value in values]
