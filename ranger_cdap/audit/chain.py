"""Hash chain of audit records: each line has its number, the hash of the previous line, and its own hash. Pure.

A line is a JSON object that ends with `seq`, `prev` and `hash`. `hash` is the SHA-256 of all bytes of the line before
`,"hash":`, in hexadecimal; `prev` is the `hash` of the previous line, 64 zeros in the first line of a chain.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

import msgspec

_END: Final = re.compile(rb',"seq":([1-9][0-9]{0,17}),"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}')
_HASH_BYTES: Final = len(b',"hash":""}') + 64
_END_BYTES: Final = len(b',"seq":,"prev":""') + 18 + 64 + _HASH_BYTES
_CUT: Final = re.compile(rb'\{"chain":"cut","piece":"([0-9a-f]{64})"')


class Link(msgspec.Struct, frozen=True):
    """Position of a line in a chain: its number, from 1, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


NO_LINK: Final = Link(0, "0" * 64)
"""The link before the first line of a chain."""


class ChainLine(msgspec.Struct, frozen=True):
    """Line of a chain as read: its claimed link, and whether its own hash matches its bytes."""

    link: Link
    prev: str
    is_intact: bool
    acknowledged: str
    """Hash of a truncated line before this one, left by a crash; empty in most lines."""


def chained(document: bytes, before: Link) -> tuple[bytes, Link]:
    """Return a non-empty JSON object as the next line of a chain, without a line end, and its link."""
    number = before.number + 1
    hashed = b'%b,"seq":%d,"prev":"%b"' % (document[:-1], number, before.hash.encode())
    digest = sha256(hashed).hexdigest()
    return b'%b,"hash":"%b"}' % (hashed, digest.encode()), Link(number, digest)


def read_line(line: bytes) -> ChainLine | None:
    """Parse a line without its end; None if it is not part of a chain."""
    found = _END.search(line, max(0, len(line) - _END_BYTES))
    if found is None or found.end() != len(line) or not line.startswith(b"{"):
        return None
    number, prev, digest = (each.decode() for each in found.groups())
    cut = _CUT.match(line)
    return ChainLine(
        link=Link(int(number), digest),
        prev=prev,
        is_intact=sha256(line[:-_HASH_BYTES]).hexdigest() == digest,
        acknowledged=cut[1].decode() if cut else "",
    )


def start_mark(last_line: bytes, now: int) -> bytes:
    """Return the first document of a chain; it names the last line of the previous file, if any, by its SHA-256."""
    follows = sha256(last_line).hexdigest() if last_line else ""
    return msgspec.json.encode({"chain": "start", "follows": follows, "evtTime": now})


def cut_mark(piece: bytes, now: int) -> bytes:
    """Return the document that follows a line truncated by a crash; it names the piece by its SHA-256."""
    return msgspec.json.encode({"chain": "cut", "piece": sha256(piece).hexdigest(), "evtTime": now})
