"""Files and folders that appear whole or not at all, killed and concurrent writers included."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clqa.errors import InputError
from clqa.files import read_json, replacing, replacing_all, replacing_folder, write_json

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from clqa.files import {function}
with {function}(sys.argv[2]) as temporary:
    ({place}).write_text(sys.argv[3])
    print("half", flush=True)
    sys.stdin.readline()
"""
FILE = WRITER.format(function="replacing", place="temporary")
FOLDER = WRITER.format(function="replacing_folder", place="temporary / 'a.txt'")


def halfway(target: Path, text: str, writer: str = FILE) -> subprocess.Popen:
    """A process that has written to its temporary file and waits for a line to end the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(SCRIPTS), str(target), text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "half\n"
    return process


def kill(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_what_a_killed_writer_left_is_removed_by_the_next_write(tmp_path):
    target = tmp_path / "table.parquet"
    kill(halfway(target, "half"))
    assert len(names(tmp_path)) == 1
    assert not target.exists()
    write(target, "whole")
    assert names(tmp_path) == ["table.parquet"]
    assert target.read_text() == "whole"


def test_what_a_killed_writer_of_a_folder_left_is_removed_by_the_next_write(tmp_path):
    target = tmp_path / "source"
    kill(halfway(target, "half", FOLDER))
    assert len(names(tmp_path)) == 1
    with replacing_folder(target) as temporary:
        (temporary / "b.txt").write_text("whole")
    assert names(tmp_path) == ["source"]
    assert names(target) == ["b.txt"]


def test_leftovers_of_other_files_are_left_alone(tmp_path):
    kill(halfway(tmp_path / "table.one.parquet", "half"))
    kill(halfway(tmp_path / "table.json", "half"))
    before = names(tmp_path)
    write(tmp_path / "table.parquet", "whole")
    assert names(tmp_path) == [*before, "table.parquet"]


@pytest.mark.parametrize("last_is_other", [True, False])
def test_of_two_writers_at_a_time_the_last_to_end_wins(tmp_path, last_is_other):
    target = tmp_path / "table.parquet"
    other = halfway(target, "other")
    if last_is_other:
        write(target, "ours")
        assert target.read_text() == "ours"
    other.communicate("go on\n")
    assert other.returncode == 0
    assert target.read_text() == "other"
    if not last_is_other:
        write(target, "ours")
        assert target.read_text() == "ours"
    assert names(tmp_path) == ["table.parquet"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "source"
    for name in ("old.txt", "new.txt"):
        with replacing_folder(target) as temporary:
            (temporary / name).touch()
    assert names(target) == ["new.txt"]


def test_a_watcher_of_the_final_name_sees_whole_files_alone(tmp_path):
    target = tmp_path / "table.parquet"
    command = """
import sys
sys.path.insert(0, sys.argv[1])
from clqa.files import replacing
for n in range(400):
    with replacing(sys.argv[2]) as temporary, temporary.open("w") as stream:
        for _ in range(50):
            print(n, file=stream, flush=True)
"""
    writer = subprocess.Popen([sys.executable, "-c", command, str(SCRIPTS), str(target)])
    seen = set()
    while writer.poll() is None:
        if target.exists():
            lines = target.read_text().splitlines()
            assert lines == lines[:1] * 50
            seen.update(lines)
    assert writer.returncode == 0
    assert len(seen) > 1


@pytest.mark.parametrize("replace", [replacing, replacing_folder])
def test_content_is_on_the_disk_before_it_has_its_name_and_the_name_after(
    tmp_path, monkeypatch, replace
):
    done = []
    paths = {tmp_path.stat().st_ino: "folder"}

    def sync(descriptor):
        done.append(paths.get(os.fstat(descriptor).st_ino, "other"))

    def rename(source, target, rename=os.replace):
        done.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    with replace(tmp_path / "one") as temporary:
        path = temporary / "a.txt" if replace is replacing_folder else temporary
        path.write_text("a")
        paths[path.stat().st_ino] = "content"
    assert [name for name in done if name != "other"] == ["content", "rename", "folder"]


def test_the_old_folder_is_there_as_a_whole_until_the_new_one_is(tmp_path, monkeypatch):
    target = tmp_path / "source"
    with replacing_folder(target) as temporary:
        for name in "abc":
            (temporary / name).touch()
    seen = []

    def remove(path, rmtree=shutil.rmtree):
        seen.append(names(target))
        rmtree(path)

    monkeypatch.setattr(shutil, "rmtree", remove)
    with replacing_folder(target) as temporary:
        (temporary / "new").touch()
    assert seen == [["new"]]
    assert names(tmp_path) == ["source"]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "make room"),
        (errno.EDQUOT, "make room"),
        (errno.EROFS, "let the folder be written to"),
    ],
)
@pytest.mark.parametrize("replace", [replacing, replacing_folder])
def test_a_disk_that_cannot_be_written_is_told_in_one_line(tmp_path, replace, number, advice):
    with pytest.raises(InputError) as caught, replace(tmp_path / "one"):
        raise OSError(number, os.strerror(number))
    assert str(caught.value) == (
        f"{tmp_path / 'one'}: {os.strerror(number).lower()}; {advice} and run again"
    )
    with pytest.raises(FileNotFoundError), replace(tmp_path / "one"):
        raise FileNotFoundError(errno.ENOENT, "no such file", "input")
    assert names(tmp_path) == []


@pytest.mark.parametrize("replace", [replacing, replacing_folder])
def test_a_failed_block_changes_nothing(tmp_path, replace):
    with pytest.raises(KeyError), replace(tmp_path / "one"):
        raise KeyError
    assert names(tmp_path) == []


def test_json_comes_back_as_it_was(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, None, "ü"]})
    assert read_json(tmp_path / "a.json") == {"b": [1, None, "ü"]}


def test_of_files_that_belong_together_none_appears_unless_all_are_written(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    with replacing_all(first, None, second) as made:
        assert made[1] is None
        write_json(made[0], {"a": 1})
        write_json(made[2], {"a": 2})
    assert (read_json(first), read_json(second)) == ({"a": 1}, {"a": 2})

    def fail():
        with replacing_all(first, second) as made:
            write_json(made[0], {"a": 3})
            raise InputError(f"{made[1]}: full")

    with pytest.raises(InputError) as error:
        fail()
    assert str(error.value) == f"{second}: full"
    assert (read_json(first), names(tmp_path)) == ({"a": 1}, ["first.json", "second.json"])


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("a\nb\ud800 c", r"a\nb\ud800 c"),
        (f"query {'q' * 5000} twice", f"query {'q' * 110}…{'q' * 80} twice"),
    ],
)
def test_the_message_of_bad_input_is_one_short_line(message, told):
    assert str(InputError(message)) == told
    assert len(str(InputError("one two " * 10**5))) < 1000
