"""Forwarded requests: how the owner puts one to its application, and how a worker waits for the response."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from starlette.types import ASGIApp, Message

from ranger_cdap.service.state.owner_link import ForwardedReply, ForwardedRequest, OwnerUnreachable
from ranger_cdap.service.workers.channel import Channel
from ranger_cdap.service.workers.messages import Answered, Forward, encode


async def answer(app: ASGIApp, request: ForwardedRequest) -> ForwardedReply:
    """Return the application's response to a request that a worker admitted, and so has counted."""
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": request.query,
        "headers": request.headers,
        "client": (request.peer, 0),
        "server": None,
        "state": {"forwarded": True},
    }
    status, headers, parts = 500, list[tuple[bytes, bytes]](), list[bytes]()
    unread = [request.body]

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            headers.extend(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return ForwardedReply(status, headers, b"".join(parts))


class ChannelToOwner:
    """A worker's way to the owner; for use in the event loop of the channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[ForwardedReply]] = {}
        self._closed = False

    async def forward(self, request: ForwardedRequest, seconds: float) -> ForwardedReply:
        """Return the owner's response.

        Raises:
            OwnerUnreachable: there is none within that time.
        """
        if self._closed or self._channel.is_clogged:
            raise OwnerUnreachable
        number = next(self._numbers)
        future: asyncio.Future[ForwardedReply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._channel.send(encode(Forward(number, request)))
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise OwnerUnreachable from None
        finally:
            del self._waiting[number]

    def answered(self, message: Answered) -> None:
        """Give a response to its request; one that came too late is dropped."""
        future = self._waiting.get(message.number)
        if future is not None and not future.done():
            future.set_result(message.reply)

    def close(self) -> None:
        """Answer no request any more: the owner has ended."""
        self._closed = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(OwnerUnreachable())
