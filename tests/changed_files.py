"""Changes of the bytes of files, for tests of what parsers say of them."""

import random
from typing import NamedTuple

KINDS = ("set", "insert", "delete", "cut", "repeat", "flip", "grow")
# What has a meaning in one form or the other, or is at the edge of one.
PIECES = (
    *(b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x85"),
    *(b"\n", b"\r", b"\r\n", b"\t", b" ", b"\x0b", b"\x0c", b"\xc2\xa0", b"\xe2\x80\xa8"),
    *(b"0", b"-1", b"1.5", b"1e999", b"NaN", b"Infinity", b"9" * 30, b"9" * 5000, b"2147483648"),
    *(b"null", b"true", b'"', b"'", b"[", b"]", b"{", b"}", b":", b",", b"\\ud800", b"\\", b"[[]]"),
    *(b"(", b")", b"&", b"!", b"|", b"s1", b"r1", b"f", b"e1", b"*", b"&a ", b"!!binary ", b"? "),
    *(b"N", b"K\x01", b"\x85", b"\x86", b"q\x00", b"h\x00", b"}", b"]", b"\x8f", b"(", b"u", b"s"),
    *(b"<html", b"PK\x05\x06", b"|O", b"<U9", b"<f2", b"()", b"(0,)", b"{}", b"[" * 2000),
)


class Edit(NamedTuple):
    """A change: its kind, where it is as a share of the content, how long, and with what."""

    kind: str
    place: float
    length: int
    piece: bytes


def changed(content: bytes, edits: list[Edit], most: int = 1 << 16) -> bytes:
    """The content after some changes, cut to a length."""
    for kind, share, length, piece in edits:
        place = int(share * (len(content) + 1))
        before, after = content[:place], content[place:]
        if kind == "set":
            after = piece + after[len(piece) :]
        elif kind == "insert":
            after = piece + after
        elif kind == "delete":
            after = after[length:]
        elif kind == "cut":
            after = b""
        elif kind == "repeat":
            after = after[:length] * 2 + after[length:]
        elif kind == "flip" and after:
            after = bytes([after[0] ^ 1 << length % 8]) + after[1:]
        elif kind == "grow":
            after = piece * length + after
        content = (before + after)[:most]
    return content


def drawn_edits(drawn: random.Random) -> list[Edit]:
    """One to four changes."""
    return [
        Edit(
            drawn.choice(KINDS),
            drawn.random(),
            drawn.choice((1, 2, 3, 8, 30, 300)),
            drawn.choice(PIECES) if drawn.random() < 0.7 else drawn.randbytes(drawn.randint(1, 8)),
        )
        for _ in range(drawn.choice((1, 1, 2, 3, 4)))
    ]
