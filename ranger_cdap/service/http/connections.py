"""Bounds on connections, in total and per peer: an idle one makes room for a new one.

Law: a peer that holds connections open can neither exhaust the descriptors nor keep others out, for the peer with the
most connections loses its own, the longest idle first: those that wait for the rest of a request, too. A connection
whose request has come whole is never closed for that.
"""

from __future__ import annotations

import logging
import resource
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from ranger_cdap.net.doorkeeper import Address, Doorkeeper

if TYPE_CHECKING:
    import ssl

    from ranger_cdap.service.http.server_tls import ServerTls

_log = logging.getLogger(__name__)

RESERVED: Final = 256
"""Descriptors reserved for files, for Ranger Admin and for connections being closed."""

_MOST_CLOSING: Final = 16


class Connections(Doorkeeper):
    """Open connections of a server; for use by its event loop's thread only.

    One made with certificates that have changed since ends with its next answer.
    """

    def __init__(self, most: int, most_of_a_peer: int, tls: ServerTls | None = None) -> None:
        self.most = min(most, max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED))
        self._most_of_a_peer = most_of_a_peer
        self._tls = tls
        self._open: dict[Address, Connection] = {}
        self._of_peer: Counter[str] = Counter()
        self._idle: OrderedDict[Address, None] = OrderedDict()
        self._closing: set[Address] = set()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def must_wait(self) -> bool:
        """Return true if so many connections are being closed that new ones must wait for their descriptors."""
        return len(self._closing) >= _MOST_CLOSING

    def take(self, connection: Connection, address: Address) -> bool:
        """Return true if there is room for a connection, which then counts as idle; another may be closed for it."""
        peer = address[0]
        room = (
            self._close_idle_of({peer})
            if self._of_peer[peer] >= self._most_of_a_peer
            else len(self._open) - len(self._closing) < self.most or self._close_idle_of(self._with_more_than(peer))
        )
        if room:
            self._open[address] = connection
            self._of_peer[peer] += 1
            self._idle[address] = None
        return room

    def busy(self, address: Address) -> None:
        """Mark the connection as having a whole request to answer."""
        self._idle.pop(address, None)

    def idle(self, address: Address) -> None:
        """Mark the connection as waiting for its peer; if it already did, it does so since then."""
        if address in self._open and address not in self._closing:
            self._idle[address] = None

    def may_stay(self, connection: ssl.SSLObject | None) -> bool:
        """Return true if it was made with the certificates of now."""
        return self._tls is None or connection is None or self._tls.has_made(connection)

    def end_all(self) -> None:
        """End all connections."""
        for connection in tuple(self._open.values()):
            connection.end()

    def closed(self, address: Address) -> None:
        """Remove the connection."""
        if self._open.pop(address, None) is None:
            return
        self._idle.pop(address, None)
        if address in self._closing:
            self._closing.remove(address)
        else:
            self._forget(address[0])

    def _with_more_than(self, peer: str) -> set[str]:
        """Return the peers that must give up an idle connection for that peer: none that has fewer."""
        idle = {address[0] for address in self._idle}
        return {each for each in idle if each == peer or self._of_peer[each] >= self._of_peer[peer]}

    def _close_idle_of(self, peers: Set[str]) -> bool:
        """Close the longest idle connection of the peer with the most; false if there was none."""
        of = max(peers, key=lambda each: self._of_peer[each], default=None)
        address = next((each for each in self._idle if each[0] == of), None)
        if address is None:
            return False
        _log.warning("connection limit reached; closing the connections that have been idle longest")
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
    """Connection that reports when it is closed."""

    _place: tuple[Connections, Address] | None = None

    def counts(self, connections: Connections, address: Address) -> None:
        """Add it to the connections."""
        self._place = (connections, address)

    def end(self) -> None:
        """Let its reader reach the end; a watched descriptor must not be closed under the watcher."""
        with suppress(OSError):  # the peer was faster
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        super().close()
        if self._place is not None:
            (connections, address), self._place = self._place, None
            connections.closed(address)


class Listener(socket.socket):
    """Listening socket that accepts connections while there is room and closes the others."""

    connections: Connections
    before_accepting: Callable[[], None] = staticmethod(lambda: None)

    @classmethod
    def over(cls, listening: socket.socket, connections: Connections) -> Self:
        """Return the same socket, bounded; the given one must not be used any more."""
        listener = cls(listening.family, listening.type, listening.proto, fileno=listening.detach())
        listener.connections = connections
        return listener

    def listen(self, backlog: int = 0, /) -> None:
        """Leave the queue of the socket, which listens already, as it is: asyncio would shorten it."""

    def accept(self) -> tuple[socket.socket, Address]:
        """Accept a connection; close it without a reply if there is no room."""
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
