"""Files and folders that appear whole or not at all, killed and concurrent writers included."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clqa.files import read_json, replacing, replacing_folder, write_json

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


@pytest.mark.parametrize("replace", [replacing, replacing_folder])
def test_a_failed_block_changes_nothing(tmp_path, replace):
    with pytest.raises(KeyError), replace(tmp_path / "one"):
        raise KeyError
    assert names(tmp_path) == []


def test_json_comes_back_as_it_was(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, None, "ü"]})
    assert read_json(tmp_path / "a.json") == {"b": [1, None, "ü"]}
