"""Requests between the processes of one service: of workers to the owner, and of the owner to its workers."""

from __future__ import annotations

from typing import Protocol

import msgspec

Headers = list[tuple[bytes, bytes]]


class OwnerUnreachable(Exception):
    """The owner does not answer in time, or has ended."""


class ForwardedRequest(msgspec.Struct, frozen=True, array_like=True):
    """Request that a worker has admitted, and that the owner answers."""

    method: str
    path: str
    query: bytes
    headers: Headers
    body: bytes
    peer: str
    scheme: str


class ForwardedReply(msgspec.Struct, frozen=True, array_like=True):
    """The owner's response."""

    status: int
    headers: Headers
    body: bytes


class OwnerLink(Protocol):
    """A worker's way to the owner."""

    async def forward(self, request: ForwardedRequest, seconds: float) -> ForwardedReply:
        """Return the owner's response.

        Raises:
            OwnerUnreachable: there is none within that time.
        """
        ...


class Replicas(Protocol):
    """The policies in effect in the workers."""

    def wait_for(self, service: str, number: int, timeout: float) -> bool:
        """Return true once the policy set of that number, or a later one, is in effect in every worker."""
        ...

    def oldest_version(self, service: str) -> int | None:
        """Return the lowest version of the policies in effect in a worker; None without workers."""
        ...
