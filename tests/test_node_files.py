"""Files on a disk of the node, which results name."""

import contextlib
import os

import pytest

from clqa.errors import InputError
from clqa.node_files import from_node, leave_node, on_node


@pytest.fixture
def node(tmp_path, monkeypatch):
    monkeypatch.setenv("CLQA_SCRATCH", str(tmp_path / "node"))
    return tmp_path / "node" / f"clqa-{os.getuid()}"


def written(path, text="x"):
    with on_node(path) as target:
        target.write_text(text)
    return path


def test_without_a_disk_files_are_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.delenv("CLQA_SCRATCH", raising=False)
    path = written(tmp_path / "a.npy")
    leave_node(path)
    assert from_node(path) == path
    assert path.read_text() == "x"


def test_a_file_on_the_node_is_read_until_it_is_left(tmp_path, node):
    path = written(tmp_path / "results" / "a.npy")
    assert from_node(path).read_text() == "x"
    assert [from_node(path)] == list(node.iterdir())
    leave_node(path)
    assert list(node.iterdir()) == []
    leave_node(path)


def test_what_another_node_has_is_made_anew(tmp_path, node):
    path = written(tmp_path / "a.npy")
    from_node(path).unlink()
    with pytest.raises(InputError, match=r"a\.npy: .* another node or lost; run again"):
        from_node(path)
    assert not path.exists()
    leave_node(path)


def test_what_is_left_by_a_killed_job_is_overwritten(tmp_path, node):
    with contextlib.suppress(KeyboardInterrupt), on_node(tmp_path / "a.npy") as target:
        target.write_text("half")
        raise KeyboardInterrupt
    assert not (tmp_path / "a.npy").exists()
    assert from_node(written(tmp_path / "a.npy", "whole")).read_text() == "whole"
    assert from_node(written(tmp_path / "b.npy", "other")).read_text() == "other"
    assert len(list(node.iterdir())) == 2


def test_a_new_file_takes_the_place_of_one_that_was_not_on_the_node(tmp_path, node):
    (tmp_path / "a.npy").write_text("before")
    assert from_node(written(tmp_path / "a.npy", "after")).read_text() == "after"


def test_messages_name_the_result(tmp_path, node):
    with pytest.raises(InputError) as caught, on_node(tmp_path / "a.npy") as target:
        raise InputError(f"{target}: the scores of query q1 hold a NaN")
    there = f"{tmp_path / 'a.npy'} (on this node {target})"
    assert str(caught.value) == f"{there}: the scores of query q1 hold a NaN"


def test_content_comes_home_where_no_disk_is_named_any_more(tmp_path, node, monkeypatch):
    path = written(tmp_path / "a.npy")
    monkeypatch.delenv("CLQA_SCRATCH")
    assert from_node(path) == path
    leave_node(path)
    assert path.read_text() == "x"
    assert list(node.iterdir()) == []


@pytest.mark.parametrize("named", ["$NOPE", "/tmp/${NOPE}/x", "~/x", "scratch", " "])
def test_what_is_no_absolute_path_is_refused(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLQA_SCRATCH", named)
    with pytest.raises(InputError, match="expected an absolute path, in which all variables are"):
        written(tmp_path / "a.npy")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_name_is_one_of_a_file_that_is_lost(tmp_path, node):
    (tmp_path / "a.npy").write_text("on a disk of the node: " + "x" * 5000)
    with pytest.raises(InputError, match="lost; run again"):
        from_node(tmp_path / "a.npy")


def open_to_others(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o777)


def a_link(folder):
    folder.parent.mkdir()
    folder.symlink_to(folder.parent)


def a_file(folder):
    folder.parent.mkdir()
    folder.touch()


@pytest.mark.parametrize("make", [open_to_others, a_link, a_file])
def test_a_folder_that_somebody_else_may_have_made_is_refused(tmp_path, node, make):
    make(node)
    with pytest.raises(InputError, match=r"CLQA_SCRATCH=.*(alone|cannot be made)"):
        written(tmp_path / "a.npy")
    assert not (tmp_path / "a.npy").exists()


def test_nothing_but_files_of_ours_is_removed(tmp_path, node):
    (tmp_path / "own.npy").write_text("precious")
    (tmp_path / "a.npy").write_text(f"on a disk of the node: {tmp_path / 'own.npy'}")
    leave_node(tmp_path / "a.npy")
    assert (tmp_path / "own.npy").read_text() == "precious"
