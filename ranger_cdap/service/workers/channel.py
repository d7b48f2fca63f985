"""`Channel`: frames on one end of a pair of stream sockets, in an event loop."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Final, Self

_LENGTH: Final = struct.Struct("!Q")
_MOST_UNREAD: Final = 16_000_000
"""Bytes sent and not read, beyond which a worker forwards nothing: the owner is stopped, and memory is not endless."""


class ChannelClosed(Exception):
    """The other end is closed, or its process has ended."""


class Channel:
    """One end; `send` never waits, so that a process that does not read delays no other one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Self:
        """Return the channel over a connected socket, which belongs to it from now on."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    @property
    def is_clogged(self) -> bool:
        """Return true if the other end has not read for so long that no more should be sent for now."""
        return self._writer.transport.get_write_buffer_size() > _MOST_UNREAD

    def send(self, frame: bytes) -> None:
        """Send a frame; one to a closed end is dropped."""
        if not self._writer.is_closing():
            self._writer.writelines((_LENGTH.pack(len(frame)), frame))

    async def receive(self) -> bytes:
        """Return the next frame.

        Raises:
            ChannelClosed: there is none any more.
        """
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise ChannelClosed from None

    def close(self) -> None:
        """Close this end; the other one sees that."""
        self._writer.close()
