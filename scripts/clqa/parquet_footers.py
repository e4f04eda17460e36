"""How many values the columns of a Parquet file say to have, from the metadata at its end.

The metadata are Thrift structures in the compact protocol, read here because Arrow ends the whole
process where it is asked for a column of damaged ones. Formats: "Thrift compact protocol encoding"
(Apache Thrift) and `parquet.thrift` (Apache Parquet).
"""

from typing import NamedTuple

# Where a structure has what is looked for: fields of FileMetaData, RowGroup, ColumnChunk,
# ColumnMetaData.
_ROW_GROUPS, _COLUMNS, _TOTAL_BYTES, _META_DATA, _NUM_VALUES = 4, 1, 2, 3, 5
# Kinds of values. Those of 16 and 32 bits, between the two of the second line, are read alike.
_TRUE, _FALSE = 1, 2
_BYTE, _I64 = 3, 6
_DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 7, 8, 9, 10, 11, 12
_DEEPEST = 32
_TAIL = 8  # bytes behind the metadata: their length, and the magic number


class Sizes(NamedTuple):
    """What a file says of itself, all row groups together."""

    n_bytes: int
    n_values: int


def stated_sizes(footer: bytes) -> Sizes:
    """Uncompressed bytes and values of all columns.

    Parameters
    ----------
    footer : bytes
        The metadata, without the length and the magic number that follow them.

    Raises
    ------
    ValueError
        If they are damaged.
    """
    try:
        about, _ = _read(footer, 0, _STRUCT, 0)
        groups = about[_ROW_GROUPS]
        chunks = [chunk[_META_DATA] for group in groups for chunk in group[_COLUMNS]]
        n_values = sum(chunk[_NUM_VALUES] for chunk in chunks)
        return Sizes(sum(group[_TOTAL_BYTES] for group in groups), n_values)
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError("its metadata are damaged") from error


def footer_of(file) -> bytes:
    """The metadata of a file that is open for reading of bytes.

    Raises
    ------
    ValueError
        If it does not end as a Parquet file does, or is shorter than it says.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or length > size - _TAIL:
        raise ValueError("no Parquet file: it ends otherwise")
    file.seek(size - _TAIL - length)
    return file.read(length)


def _read(data: bytes, place: int, kind: int, depth: int) -> tuple[object, int]:
    """A value of some kind, and the place behind it; of texts and sets nothing is kept."""
    if depth > _DEEPEST:
        raise ValueError("its metadata are nested too deeply")
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, place
    if kind == _BYTE:
        return data[place], place + 1
    if kind <= _I64:
        number, place = _varint(data, place)
        return (number >> 1) ^ -(number & 1), place
    if kind == _DOUBLE:
        return None, place + 8
    if kind == _BINARY:
        length, place = _varint(data, place)
        return None, place + length
    if kind in (_LIST, _SET):
        return _read_list(data, place, depth)
    if kind == _MAP:
        return None, _behind_map(data, place, depth)
    if kind == _STRUCT:
        return _read_struct(data, place, depth)
    raise ValueError("its metadata hold what Thrift does not have")


def _read_struct(data: bytes, place: int, depth: int) -> tuple[dict[int, object], int]:
    fields, number = {}, 0
    while data[place]:
        step, kind = data[place] >> 4, data[place] & 15
        place += 1
        if step:
            number += step
        else:
            number, place = _read(data, place, _I64, depth)
        fields[number], place = _read(data, place, kind, depth + 1)
    return fields, place + 1


def _read_list(data: bytes, place: int, depth: int) -> tuple[list, int]:
    size, kind = data[place] >> 4, data[place] & 15
    place += 1
    if size == 15:
        size, place = _varint(data, place)
    values = []
    for _ in range(size):
        # Truths in lists take a byte each.
        value, place = _read(data, place, _BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)
        if place > len(data):
            raise IndexError
        values.append(value)
    return values, place


def _behind_map(data: bytes, place: int, depth: int) -> int:
    size, place = _varint(data, place)
    if size:
        kinds, place = (data[place] >> 4, data[place] & 15), place + 1
    for _ in range(size):
        for kind in kinds:
            _, place = _read(data, place, _BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)
        if place > len(data):
            raise IndexError
    return place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
    raise ValueError("its metadata hold a number without end")
