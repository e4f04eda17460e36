"""Archives that unpack to far more than they are, or hold what no archive of data holds."""

import contextlib
import gzip
import io
import lzma
import resource
import stat
import tarfile
import zipfile

import pytest

from clqa import archives, unpacking
from clqa.archives import decompress, extract, member_names
from clqa.errors import InputError

ZEROS = bytes(1 << 21)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(unpacking, "SMALL", 1 << 16)


def zipped(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def tarred(path, members, mode):
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def refusal(path, *names) -> str:
    target = path.with_name("target")
    with pytest.raises(InputError) as caught:
        extract(path, dict.fromkeys(names or ("a",), target))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path.name}: ")
    return str(caught.value)


METHODS = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("method", METHODS)
def test_a_zip_that_unpacks_to_far_more_is_refused(tmp_path, method):
    zipped(tmp_path / "a.zip", {"a": ZEROS}, method)
    assert "unpacks to more than" in refusal(tmp_path / "a.zip")
    assert (tmp_path / "target").stat().st_size < len(ZEROS)


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
@pytest.mark.parametrize("asked", ["a", "b"])
def test_a_tar_that_unpacks_to_far_more_is_refused_whatever_is_asked_of_it(tmp_path, mode, asked):
    path = tmp_path / f"a.tar.{mode[2:]}"
    tarred(path, {"b": b"", "a": ZEROS}, mode)
    assert "unpacks to more than" in refusal(path, asked)


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_file_that_unpacks_to_far_more_is_refused(tmp_path, ending, pack):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(pack(ZEROS))
    with pytest.raises(InputError, match=rf"^a\.{ending}: refused, it unpacks to more than"):
        decompress(path, tmp_path / "target")


def test_what_members_unpack_to_is_counted_together(tmp_path):
    names = [f"m{number}" for number in range(5)]
    zipped(tmp_path / "a.zip", dict.fromkeys(names, bytes(150_000)))
    most = 250 * (tmp_path / "a.zip").stat().st_size
    assert 150_000 < most < 5 * 150_000
    extract(tmp_path / "a.zip", {"m0": tmp_path / "target"})
    assert "unpacks to more than" in refusal(tmp_path / "a.zip", *names)


def test_a_zip_of_the_same_bytes_many_times_is_refused(tmp_path):
    # Entries of the directory that all point to one member, as the densest bombs have them.
    zipped(tmp_path / "a.zip", {f"m{number}": bytes(60_000) for number in range(9)})
    content = (tmp_path / "a.zip").read_bytes()
    start = content.index(b"PK\x01\x02")
    directory = bytearray(content[start:])
    entry = directory.find(b"PK\x01\x02", 4)
    for number in range(9):
        place = number * entry
        directory[place + 42 : place + 46] = bytes(4)
        directory[place + 46 : place + 48] = b"m0"
    (tmp_path / "a.zip").write_bytes(content[:start] + directory)
    with pytest.raises(InputError, match=r"^a\.zip: "):
        extract(tmp_path / "a.zip", {"m0": tmp_path / "target"})


def test_data_are_read_that_pack_well(tmp_path):
    content = b"".join(b"entity %d\trelation\tentity %d\n" % (n % 50, n % 7) for n in range(9000))
    zipped(tmp_path / "a.zip", {"a": content})
    assert len(content) > 20 * (tmp_path / "a.zip").stat().st_size
    extract(tmp_path / "a.zip", {"a": tmp_path / "target"})
    assert (tmp_path / "target").read_bytes() == content


def test_a_link_in_a_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("a")
        info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/hostname")
    assert "'a': a link or device" in refusal(tmp_path / "a.zip")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_what_is_no_file_in_a_tar_is_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = kind, "/etc/hostname"
        archive.addfile(info)
    assert "'a': a link or device" in refusal(tmp_path / "a.tar")


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
@pytest.mark.parametrize("ending", ["tar", "tar.gz"])
def test_a_tar_does_not_say_how_much_memory_is_taken(tmp_path, kind, ending):
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, 1 << 33
    content = info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 24)
    path = tmp_path / f"a.{ending}"
    path.write_bytes(gzip.compress(content, 1) if ending.endswith("gz") else content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "refused" in refusal(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_holes_of_a_sparse_file_are_counted(tmp_path):
    info = tarfile.TarInfo("a")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    # One piece of no bytes at 2^32, in a file of this size (the fields of the old GNU format).
    header[386:398], header[398:410] = b"%011o\0" % (1 << 32), b"%011o\0" % 0
    header[483:495] = b"%011o\0" % (1 << 32)
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "a.tar").write_bytes(bytes(header) + bytes(1024))
    assert "unpacks to more than" in refusal(tmp_path / "a.tar")


def test_a_tar_of_very_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 100)
    monkeypatch.setattr(unpacking, "SMALL", 1 << 24)
    tarred(tmp_path / "a.tar.gz", {str(number): b"" for number in range(101)}, "w:gz")
    assert "more than 100 files" in refusal(tmp_path / "a.tar.gz")
    tarred(tmp_path / "b.tar.gz", {str(number): b"" for number in range(100)}, "w:gz")
    assert len(member_names(tmp_path / "b.tar.gz", "b.tar.gz")) == 100


def test_a_zip_of_very_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "LONGEST_HEADER", 10_000)
    zipped(tmp_path / "a.zip", {f"{number:050}": b"" for number in range(200)})
    assert "a header of more than 10000 bytes" in refusal(tmp_path / "a.zip")


@pytest.mark.parametrize("size", [0, 4])
def test_a_zip_that_lies_about_sizes_is_told(tmp_path, size):
    zipped(tmp_path / "a.zip", {"a": b"content" * 99})
    content = bytearray((tmp_path / "a.zip").read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 24 : place + 28] = size.to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(content)
    assert "cut short or damaged" in refusal(tmp_path / "a.zip")


def test_a_name_that_is_no_text_is_told(tmp_path):
    zipped(tmp_path / "a.zip", {"ä": b""})
    content = (tmp_path / "a.zip").read_bytes().replace("ä".encode(), b"\xff\xfe")
    (tmp_path / "a.zip").write_bytes(content)
    assert "cut short or damaged" in refusal(tmp_path / "a.zip")


def test_every_cut_and_every_changed_byte_is_told_or_of_no_matter(tmp_path):
    for name, write in (
        ("a.zip", lambda path: zipped(path, {"a": b"content" * 99})),
        ("a.tar.gz", lambda path: tarred(path, {"a": b"content" * 99}, "w:gz")),
        ("a.tar", lambda path: tarred(path, {"a": b"content" * 9}, "w")),
    ):
        path = tmp_path / name
        write(path)
        whole = path.read_bytes()[:2048]
        for place in range(0, len(whole), 3 if len(whole) < 500 else 23):
            changed = bytearray(whole)
            changed[place] ^= 0x80
            for content in (whole[:place], bytes(changed)):
                path.write_bytes(content)
                with contextlib.suppress(InputError):
                    extract(path, {"a": tmp_path / "target"})


def test_a_full_disk_is_not_called_a_damaged_archive(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    zipped(tmp_path / "a.zip", {"a": b"content"})
    monkeypatch.setattr(archives, "copied", full)
    with pytest.raises(OSError, match="No space left"):
        extract(tmp_path / "a.zip", {"a": tmp_path / "target"})
