"""`AsgiServer`: uvicorn's server, whose stop waits for requests in progress and for nothing else."""

from __future__ import annotations

import socket

import uvicorn


class AsgiServer(uvicorn.Server):
    """Server that does not wait for connections whose handshake is not over; from Python 3.12 on asyncio's own does.

    Law: who connects and says nothing, or is refused, delays no stop.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the port, and finish the requests in progress."""
        servers, self.servers = self.servers, []
        for server in servers:
            server.close()
        await super().shutdown(sockets)
