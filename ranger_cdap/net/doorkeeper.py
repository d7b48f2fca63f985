"""`Doorkeeper`: the count of the connections of a server, and the judge of which may stay."""

from __future__ import annotations

import ssl
from typing import Any

Address = tuple[Any, ...]
"""Address of a peer, as returned by the socket: host, port, and two more numbers for IPv6."""


class Doorkeeper:
    """Doorkeeper that counts nothing and lets every connection stay."""

    def idle(self, address: Address) -> None:
        """Mark the connection as waiting for its peer."""

    def busy(self, address: Address) -> None:
        """Mark the connection as having a whole request to answer."""

    def may_stay(self, connection: ssl.SSLObject | None) -> bool:
        """Return false if the connection should end with its next answer."""
        return True

    def end_all(self) -> None:
        """End all connections at once, also those whose handshake is not over."""
