"""The two Avro schemas of CDAP's messaging service in Avro's binary encoding, and nothing else of Avro.

Request: a record of `startFrom: [bytes, long, null]`, `inclusive: boolean`, `limit: [int, null]`,
`transaction: [bytes, null]`. Answer: an array of records of `id: bytes`, `payload: bytes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_BYTES, _LONG, _NULL = 0, 1, 2
_LONGEST = 10  # bytes of a 64-bit integer


@dataclass(frozen=True, slots=True)
class TopicMessage:
    """A message of a topic."""

    id: bytes
    payload: bytes


def poll_request(start: bytes | int | None, *, limit: int) -> bytes:
    """Return the request body for messages after an id, from a time (epoch milliseconds), or from the first one."""
    if isinstance(start, bytes):
        begin = _long(_BYTES) + _long(len(start)) + start
    elif start is not None:
        begin = _long(_LONG) + _long(start)
    else:
        begin = _long(_NULL)
    inclusive = b"\x00" if isinstance(start, bytes) else b"\x01"
    no_transaction = _long(1)
    return begin + inclusive + _long(0) + _long(limit) + no_transaction


def messages(body: bytes) -> Iterator[TopicMessage]:
    """Return the messages of an answer.

    Raises:
        ValueError: it is not such an array, is truncated, or has trailing bytes.
    """
    reader = _Reader(body)
    while count := reader.long():
        if count < 0:  # then the block's size in bytes follows
            count = -count
            reader.long()
        for _ in range(count):
            yield TopicMessage(reader.bytes(), reader.bytes())
    if reader.at < len(body):
        raise ValueError("something follows the array")


@dataclass(eq=False, slots=True)
class _Reader:
    body: bytes
    at: int = 0

    def long(self) -> int:
        number = 0
        for n, byte in enumerate(self.body[self.at : self.at + _LONGEST]):
            number |= (byte & 0x7F) << (7 * n)
            if byte < 0x80:
                self.at += n + 1
                return (number >> 1) ^ -(number & 1)
        raise ValueError("an integer is cut short or too long")

    def bytes(self) -> bytes:
        length = self.long()
        if not 0 <= length <= len(self.body) - self.at:
            raise ValueError("a text is cut short")
        self.at += length
        return self.body[self.at - length : self.at]


def _long(number: int) -> bytes:
    rest = number << 1 if number >= 0 else ((-number) << 1) - 1
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])
