"""What a pickle would make, found out without making it.

A pickle is a program for a machine with a stack and a memo. A few bytes of it may ask for gigabytes
of memo, or for tuples that are nested so deeply, or hold each other so often, that their hash ends
the process or never ends. The scan runs the program with numbers in place of objects: for each how
many values it holds, each as often as it is reached, and how deeply tuples are nested in it.
Lists, sets and dicts count as one, since they have no hash; what goes into them counts then.
"""

import re
from array import array
from pickle import UnpicklingError

DEEPEST = 100  # nested tuples; those of queries are nested a few times
WORK = 32  # values that are hashed for each byte of a pickle
SMALL = 1 << 20  # values that may be hashed whatever the size

# Weight and depth in one number, so that a sum of such numbers adds up the weights.
_ONE = 1 << 8
_HEAVIEST = 1 << 40
_TOO_FEW = "it takes more from its stack than there is"

# Numbers and the like, with the bytes that follow each; many come after a mark.
_WIDTHS = dict.fromkeys(b"N\x88\x89", 0) | {ord("K"): 1, ord("M"): 2, ord("J"): 4, ord("G"): 8}
_SCALAR = re.compile(rb"[N\x88\x89]|K.|M..|J.{4}|G.{8}", re.DOTALL)
_SCALARS = re.compile(rb"(?:[N\x88\x89]|K.|M..|J.{4}|G.{8})+", re.DOTALL)
_EMPTY = frozenset(b"]})\x8f")
# Opcodes that are followed by a length of so many bytes and a value, or by lines.
_SIZED = {ord(op): 4 for op in "TXB"} | dict.fromkeys(b"UC\x8a\x8c", 1)
_SIZED |= {0x8B: 4} | dict.fromkeys(b"\x8d\x8e\x96", 8)
_LINES = dict.fromkeys(b"ILFSVP", 1) | {ord("c"): 2}
# What takes so many values from the stack and puts one there.
_JOINED = {0x85: 1, 0x86: 2, 0x87: 3}
_PLAIN = [[_ONE] * n for n in range(4)]
_CALLS = {ord("R"): 2, ord("b"): 2, 0x81: 2, 0x92: 3, 0x93: 2, ord("Q"): 1}
_GETS = {ord("h"): 1, ord("j"): 4, ord("g"): None}
_PUTS = {ord("q"): 1, ord("r"): 4, ord("p"): None}
_MARK, _STOP, _TUPLE = map(ord, "(.t")
_PROTO, _MEMOIZE, _FRAME = 0x80, 0x94, 0x95
# What takes everything above the mark, and whether it makes a value of it or adds to the one below.
_COLLECTED = dict.fromkeys(b"ldt\x91", True) | dict.fromkeys(b"eu\x90", False)
_ADDED = {ord("a"): 1, ord("s"): 2}


def scan_pickle(content, start: int = 0) -> int:
    """Where the pickle ends that starts at a place of `content` (bytes, or a map of a file).

    Raises
    ------
    UnpicklingError
        If it is cut short, is no pickle, or would take memory or time out of all proportion.
    """
    try:
        return _scan(content, start)
    except (IndexError, OverflowError, ValueError) as error:
        raise UnpicklingError("it is cut short, or takes more than there is") from error


def _scan(content, place: int) -> int:
    stack, marks, memo = [], [], array("q")
    floor, work, size = 0, 0, len(content)  # the stack down to the last mark
    allowed = SMALL + WORK * size
    while True:
        op = content[place]
        place += 1
        if op in _WIDTHS:
            place += _WIDTHS[op]
            stack.append(_ONE)
        elif op in _JOINED:
            n = _JOINED[op]
            if len(stack) - floor < n:
                raise UnpicklingError(_TOO_FEW)
            parts = stack[-n:]
            stack[-n:] = [(n + 1 << 8) + 1 if parts == _PLAIN[n] else _joined(parts)]
        elif op == _MEMOIZE:
            _need(1, stack, floor)
            memo.append(stack[-1])
        elif op in _SIZED:
            place = _after(content, place, _SIZED[op], size)
            stack.append(_ONE)
        elif op in _EMPTY:
            stack.append(_ONE)
        elif op == _MARK:
            floor = len(stack)
            marks.append(floor)
            run = _SCALARS.match(content, place)
            if run is not None:
                place = run.end()
                stack += [_ONE] * len(_SCALAR.findall(run[0]))
        elif op in _COLLECTED:
            mark = marks.pop()
            floor = marks[-1] if marks else 0
            parts = stack[mark:]
            del stack[mark:]
            if op == _TUPLE:
                stack.append(_joined(parts))
            else:
                work += sum(parts) >> 8
                stack += [_ONE] * _COLLECTED[op]
                _need(1, stack, floor)
        elif op in _ADDED:
            n = _ADDED[op]
            _need(n + 1, stack, floor)
            work += sum(stack[-n:]) >> 8
            del stack[-n:]
        elif op in _GETS:
            number, place = _number(content, place, _GETS[op])
            if not memo[number]:
                raise UnpicklingError("it asks its memo for what is not there")
            stack.append(memo[number])
        elif op in _PUTS:
            number, place = _number(content, place, _PUTS[op])
            if number > place:
                raise UnpicklingError("it asks for a memo that is larger than itself")
            _need(1, stack, floor)
            if number >= len(memo):
                memo.extend([0] * (number + 1 - len(memo)))
            memo[number] = stack[-1]
        elif op in _LINES:
            for _ in range(_LINES[op]):
                place = _line_end(content, place) + 1
            stack.append(_ONE)
        elif op in _CALLS:
            n = _CALLS[op]
            _need(n, stack, floor)
            stack[-n:] = [_joined(stack[-n:])]
            work += stack[-1] >> 8
        elif op == _PROTO:
            place += 1
        elif op == _FRAME:
            _after(content, place, 8, size)
            place += 8
        elif op == _STOP:
            _need(1, stack, floor)
            return place
        else:
            raise UnpicklingError(f"it has the opcode {op:#04x}, which those of plain data lack")
        if work > allowed:
            raise UnpicklingError("its tuples hold each other more often than those of data do")


def _need(n: int, stack: list[int], floor: int) -> None:
    """There must be so many values above the last mark."""
    if len(stack) - floor < n:
        raise UnpicklingError(_TOO_FEW)


def _joined(parts: list[int]) -> int:
    """A tuple of values."""
    depth = 1 + max([part & 255 for part in parts], default=0)
    if depth > DEEPEST:
        raise UnpicklingError(f"it has tuples that are nested more than {DEEPEST} times")
    return (min(1 + (sum(parts) >> 8), _HEAVIEST) << 8) + depth


def _after(content, place: int, width: int, size: int) -> int:
    """Where a value ends that is written after its length."""
    length = int.from_bytes(content[place : place + width], "little")
    if place + width + length > size:
        raise UnpicklingError("it is cut short")
    return place + width + length


def _number(content, place: int, width: int | None) -> tuple[int, int]:
    """A place in the memo, of so many bytes or on a line, and where it ends."""
    if width is not None:
        return int.from_bytes(content[place : place + width], "little"), place + width
    end = _line_end(content, place)
    number = int(content[place : min(end, place + 12)])
    if number < 0:
        raise UnpicklingError("a place in its memo is negative")
    return number, end + 1


def _line_end(content, place: int) -> int:
    end = content.find(b"\n", place)
    if end < 0:
        raise UnpicklingError("it is cut short")
    return end
