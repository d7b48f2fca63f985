"""`DecisionClient` and `AsyncDecisionClient`: ask a decision service; one method each, for every request.

Law: a client returns a reply only if the service gave it to exactly this request. Whatever else happens is an error,
within the time-out, and no other server gets the credentials.
"""

from __future__ import annotations

import time
from typing import Self

import anyio
import httpx

from ranger_cdap.client.client_settings import ClientSettings
from ranger_cdap.client.deadline_transport import DeadlineTransport, until
from ranger_cdap.client.exchange import (
    FAILURES,
    BoundedBody,
    FailedAttempt,
    client_options,
    failed,
    reply_of,
    request_headers,
    retries,
)
from ranger_cdap.client.service_request import ServiceRequest, T
from ranger_cdap.closing import Closing


class DecisionClient(Closing):
    """Client of a decision service; safe to share between threads.

    Raises:
        ConfigError: a file of certificates cannot be used.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._http = httpx.Client(transport=DeadlineTransport(settings.tls()), **client_options(settings))

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def ask(self, request: ServiceRequest[T]) -> T:
        """Send a request and return its reply; repeated, if that has no further effect, while the service is busy.

        Raises:
            NotReady: the service has no policies to decide by.
            DecisionServiceError: there is no reply to this request.
            ConfigError: the secret or token cannot be read.
        """
        deadline = time.monotonic() + self.settings.timeout
        try:
            for attempt in retries(self.settings):
                with attempt, until(deadline):
                    return self._once(request)
        except FailedAttempt as e:
            error = e.error
        raise error

    def _once(self, request: ServiceRequest[T]) -> T:
        headers, body = request_headers(self.settings, request), BoundedBody(self.settings)
        try:
            with self._http.stream(request.method, request.path, content=request.body, headers=headers) as received:
                for piece in received.iter_raw():
                    body.add(piece)
        except FAILURES as e:
            problem = failed(self.settings, request, e)
        else:
            return reply_of(self.settings, request, body.response(received), headers["X-Request-Id"])
        raise problem


class AsyncDecisionClient:
    """Client of a decision service for asyncio and Trio; safe to share between tasks of one event loop.

    Raises:
        ConfigError: a file of certificates cannot be used.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        transport = httpx.AsyncHTTPTransport(verify=settings.tls(), trust_env=False)
        self._http = httpx.AsyncClient(transport=transport, **client_options(settings))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def ask(self, request: ServiceRequest[T]) -> T:
        """Send a request and return its reply; repeated, if that has no further effect, while the service is busy.

        Raises:
            NotReady: the service has no policies to decide by.
            DecisionServiceError: there is no reply to this request.
            ConfigError: the secret or token cannot be read.
        """
        deadline = time.monotonic() + self.settings.timeout
        try:
            async for attempt in retries(self.settings):
                with attempt:
                    return await self._once(request, deadline)
        except FailedAttempt as e:
            error = e.error
        raise error

    async def _once(self, request: ServiceRequest[T], deadline: float) -> T:
        headers, body = request_headers(self.settings, request), BoundedBody(self.settings)
        try:
            with anyio.fail_after(max(0.0, deadline - time.monotonic())):
                async with self._http.stream(
                    request.method, request.path, content=request.body, headers=headers
                ) as received:
                    async for piece in received.aiter_raw():
                        body.add(piece)
        except FAILURES as e:
            problem = failed(self.settings, request, e)
        else:
            return reply_of(self.settings, request, body.response(received), headers["X-Request-Id"])
        raise problem
