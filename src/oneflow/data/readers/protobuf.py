"""The wire format of protocol buffers: tags, varints and fields of known length.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}


class DecodeError(ValueError):
    """Bytes that are no message."""


def encode_varint(value: int) -> bytes:
    """Return a number, modulo 2^64, seven bits per byte.

    Example:
        >>> from oneflow.data.readers.protobuf import encode_varint
        >>> encode_varint(300).hex()
        'ac02'
    """
    value %= 1 << 64
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def decode_varint(data: memoryview, start: int) -> tuple[int, int]:
    """Return the number at `start` and the position behind it.

    Raises:
        DecodeError: it does not end.
    """
    value = 0
    for offset, byte in enumerate(data[start : start + 10]):
        value |= (byte & 127) << (7 * offset)
        if byte < 128:
            return value % (1 << 64), start + offset + 1
    raise DecodeError(f"the number at byte {start} does not end")


def encode_field(number: int, content: bytes) -> bytes:
    """Return a field of known length: a message, a text, or packed numbers."""
    return encode_varint(number << 3 | LENGTH) + encode_varint(len(content)) + content


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Yield the number, the wire type and the content of each field.

    Raises:
        DecodeError: a field reaches beyond the message, or has an unknown wire type.
    """
    position = 0
    while position < len(data):
        tag, position = decode_varint(data, position)
        wire_type = tag & 7
        if wire_type == VARINT:
            value, position = decode_varint(data, position)
            yield tag >> 3, wire_type, value
            continue
        if wire_type == LENGTH:
            size, position = decode_varint(data, position)
        elif wire_type in _FIXED_SIZES:
            size = _FIXED_SIZES[wire_type]
        else:
            raise DecodeError(f"wire type {wire_type} at byte {position} is unknown")
        if position + size > len(data):
            raise DecodeError(
                f"a field of {size} bytes at byte {position} reaches beyond the message of "
                f"{len(data)} bytes"
            )
        yield tag >> 3, wire_type, data[position : position + size]
        position += size
