"""Connections are bounded, in all and for each peer: one that serves no request makes room for a new one.

Law: a peer that holds connections open can neither exhaust the descriptors nor keep others out, for the peer
with the most connections gives up its own, the longest idle first. What serves a request is never closed for that.
"""

from __future__ import annotations

import logging
import resource
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Set
from contextlib import suppress
from typing import Any, Final, Self

_log = logging.getLogger(__name__)

Address = tuple[Any, ...]
"""A peer's address as the socket has it: the host, its port, and for IPv6 two numbers more."""

RESERVED: Final = 256
"""Descriptors that are kept for files, for Ranger Admin and for what closes."""

_MOST_CLOSING: Final = 64


class Connections:
    """The open connections of a server; for the thread of its event loop alone."""

    def __init__(self, most: int, most_of_a_peer: int) -> None:
        self.most = min(most, max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED))
        self._most_of_a_peer = most_of_a_peer
        self._open: dict[Address, Connection] = {}
        self._of_peer: Counter[str] = Counter()
        self._idle: OrderedDict[Address, None] = OrderedDict()
        self._closing: set[Address] = set()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def must_wait(self) -> bool:
        """Whether so many are being closed that new ones have to wait for their descriptors."""
        return len(self._closing) >= _MOST_CLOSING

    def take(self, connection: Connection, address: Address) -> bool:
        """Whether there is room for a connection, which then counts as idle; for it, another may be closed."""
        peer = address[0]
        if self._of_peer[peer] >= self._most_of_a_peer:
            room = self._close_idle_of({peer})
        else:
            room = len(self._open) - len(self._closing) < self.most or self._close_idle_of(self._with_more_than(peer))
        if room:
            self._open[address] = connection
            self._of_peer[peer] += 1
            self._idle[address] = None
        return room

    def busy(self, address: Address) -> None:
        """It serves a request."""
        self._idle.pop(address, None)

    def idle(self, address: Address) -> None:
        """It serves none any more."""
        if address in self._open and address not in self._closing:
            self._idle[address] = None

    def closed(self, address: Address) -> None:
        """It is gone."""
        if self._open.pop(address, None) is None:
            return
        self._idle.pop(address, None)
        if address in self._closing:
            self._closing.remove(address)
        else:
            self._forget(address[0])

    def _with_more_than(self, peer: str) -> set[str]:
        """The peers that have idle connections and are to give one up for that peer: none that has fewer."""
        idle = {address[0] for address in self._idle}
        return {each for each in idle if each == peer or self._of_peer[each] >= self._of_peer[peer]}

    def _close_idle_of(self, peers: Set[str]) -> bool:
        """Close the longest idle connection of the peer with the most; whether there was one."""
        of = max(peers, key=lambda each: self._of_peer[each], default=None)
        address = next((each for each in self._idle if each[0] == of), None)
        if address is None:
            return False
        _log.warning("there are too many connections; the longest idle ones are closed")
        del self._idle[address]
        self._closing.add(address)
        self._forget(address[0])
        self._open[address].end()
        return True

    def _forget(self, peer: str) -> None:
        self._of_peer[peer] -= 1
        if not self._of_peer[peer]:
            del self._of_peer[peer]


class Connection(socket.socket):
    """A connection that says when it is closed."""

    _place: tuple[Connections, Address] | None = None

    def counts(self, connections: Connections, address: Address) -> None:
        """From now on it is one of them."""
        self._place = (connections, address)

    def end(self) -> None:
        """Let whoever reads it find its end; a descriptor that is watched must not be closed under the watcher."""
        with suppress(OSError):  # the peer was faster
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it."""
        super().close()
        if self._place is not None:
            (connections, address), self._place = self._place, None
            connections.closed(address)


class Listener(socket.socket):
    """A listening socket that takes the connections there is room for, and closes the others."""

    connections: Connections
    before_accepting: Callable[[], None] = staticmethod(lambda: None)

    @classmethod
    def over(cls, listening: socket.socket, connections: Connections) -> Self:
        """The same socket, bounded; the one given is not to be used any more."""
        listener = cls(listening.family, listening.type, listening.proto, fileno=listening.detach())
        listener.connections = connections
        return listener

    def accept(self) -> tuple[socket.socket, Address]:
        """See `socket.socket.accept`; what finds no room is closed, without a word."""
        self.before_accepting()
        while True:
            if self.connections.must_wait:
                raise BlockingIOError
            taken, address = super().accept()
            connection = Connection(taken.family, taken.type, taken.proto, fileno=taken.detach())
            if self.connections.take(connection, address):
                connection.counts(self.connections, address)
                return connection, address
            connection.close()
