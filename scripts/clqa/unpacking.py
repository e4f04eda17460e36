"""How much a file from elsewhere may unpack to.

A few bytes of an archive, or of a table, can stand for very many. What unpacks to more than `RATIO`
times its size is refused, unless that is no more than `SMALL`.
"""

import zipfile
from typing import IO

from clqa.checksums import readable_size
from clqa.errors import InputError

RATIO = 250  # graphs and queries are packed to a tenth or so
SMALL = 1 << 28  # bytes
LONGEST_HEADER = 1 << 23  # bytes; a zip has one of all its members


def most_bytes(size: int) -> int:
    """How many bytes a file of some size may unpack to."""
    return max(SMALL, RATIO * size)


def too_much(most: int) -> InputError:
    """The error for a file that unpacks to more than `most` bytes."""
    return InputError(
        f"refused, it unpacks to more than {readable_size(most)}, which data do not; "
        "if it is right, unpack it and give the unpacked files"
    )


def copied(source: IO[bytes], sink: IO[bytes], most: int) -> int:
    """Copy a stream and give its length, which may be `most`."""
    n_bytes = 0
    while chunk := source.read(1 << 20):
        n_bytes += len(chunk)
        if n_bytes > most:
            raise too_much(most)
        sink.write(chunk)
    return n_bytes


def read_at_most(source: IO[bytes], most: int) -> bytes:
    """All of a stream, which may have `most` bytes."""
    content = source.read(most + 1)
    if len(content) > most:
        raise too_much(most)
    return content


def open_zip(stream: IO[bytes]) -> zipfile.ZipFile:
    """A zip whose directory is no longer than `LONGEST_HEADER`, whatever it says."""
    size = stream.seek(0, 2)
    stream.seek(0)
    return zipfile.ZipFile(Bounded(stream, size, LONGEST_HEADER))


def open_arrays(stream: IO[bytes]) -> zipfile.ZipFile:
    """A zip of arrays, which are all read at once, so that together they may not be too large."""
    archive = open_zip(stream)
    most = most_bytes(stream.seek(0, 2))
    if sum(info.file_size for info in archive.infolist()) > most:
        raise too_much(most)
    return archive


class Bounded:
    """A stream that is read up to a place and in pieces of bounded length.

    Readers of archives take the length of a header from the archive.
    """

    def __init__(self, stream: IO[bytes], most: int, longest: int):
        self.stream, self.most, self.longest = stream, most, longest

    def read(self, n: int = -1) -> bytes:
        wanted = self.longest + 1 if n is None or n < 0 else n
        if wanted <= self.longest:
            content = self.stream.read(wanted)
        else:  # it may say more than there is
            content = self.stream.read(self.longest + 1)
            if len(content) > self.longest:
                raise InputError(f"refused, it has a header of more than {self.longest} bytes")
        self._check(self.stream.tell())
        return content

    def seek(self, place: int, whence: int = 0) -> int:
        if whence == 0:
            self._check(place)
        return self.stream.seek(place, whence)

    def _check(self, place: int) -> None:
        if place > self.most:
            raise too_much(self.most)

    def __getattr__(self, name: str):
        return getattr(self.stream, name)
