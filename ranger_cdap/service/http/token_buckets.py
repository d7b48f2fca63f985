"""Token buckets: how many requests a caller may still send now, in one process or in all workers of a service.

Law: in any time a caller gets at most its rate times that time, and one second of it in advance, however many
processes answer it. Addresses without a caller may share a bucket: they get less then, never more.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, Protocol

_MOST_REMEMBERED: Final = 10_000
_ADDRESSES: Final = 4_096
"""Buckets of addresses without a caller that processes share."""
_BUCKET: Final = struct.Struct("dd")
"""Time and tokens left: written in this order, so that a process killed in between gives away none."""
_NEVER: Final = 0.0
"""The time of a bucket that was not used yet; no clock shows it."""


class TokenBuckets(Protocol):
    """Buckets of callers and addresses; for use by one thread of each process."""

    def takes_one(self, who: str, rate: float, now: float) -> bool:
        """Take one of the tokens accumulated, for at most a second; false if there was none."""
        ...


def after_one(left: float, at: float, rate: float, now: float) -> tuple[bool, float]:
    """Return whether a token is there at a time, and what is left then, with `left` at a time before. Pure."""
    left = min(rate, left + max(0.0, now - at) * rate)
    return left >= 1, left - (left >= 1)


class PrivateBuckets:
    """Buckets of one process; the least recently used are forgotten."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def takes_one(self, who: str, rate: float, now: float) -> bool:
        """Take a token."""
        left, at = self._buckets.pop(who, (rate, now))
        takes, left = after_one(left, at, rate, now)
        self._buckets[who] = (left, now)
        if len(self._buckets) > _MOST_REMEMBERED:
            self._buckets.popitem(last=False)
        return takes


class SharedBuckets:
    """Buckets in a file that several processes map: one per caller, and some for all addresses.

    Each is changed under a lock of the kernel, which ends with the process that holds it.
    """

    def __init__(self, descriptor: int, callers: Iterable[str]) -> None:
        self._descriptor = descriptor
        self._places = {name: _ADDRESSES + n for n, name in enumerate(callers)}
        size = (_ADDRESSES + len(self._places)) * _BUCKET.size
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        self._memory = mmap.mmap(descriptor, size)

    def takes_one(self, who: str, rate: float, now: float) -> bool:
        """Take a token; the clocks of all processes must be one."""
        place = self._places.get(who)
        if place is None:
            place = zlib.crc32(who.encode()) % _ADDRESSES
        at_byte = place * _BUCKET.size
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX, _BUCKET.size, at_byte)
        try:
            at, left = _BUCKET.unpack_from(self._memory, at_byte)
            takes, left = after_one(rate if at == _NEVER else left, at, rate, now)
            # Another process may have read a later clock and taken its turn before: no time counts twice.
            _BUCKET.pack_into(self._memory, at_byte, max(at, now), left)
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, _BUCKET.size, at_byte)
        return takes
