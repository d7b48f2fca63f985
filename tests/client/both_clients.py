"""The two clients behind one function, so that every test is one of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from ranger_cdap.client import AsyncDecisionClient, ClientSettings, DecisionClient, ServiceRequest

T = TypeVar("T")
Ask = Callable[[ClientSettings, ServiceRequest[Any]], Any]


def ask_synchronously(settings: ClientSettings, request: ServiceRequest[T]) -> T:
    with DecisionClient(settings) as client:
        return client.ask(request)


def ask_asynchronously(settings: ClientSettings, request: ServiceRequest[T]) -> T:
    async def asked() -> T:
        async with AsyncDecisionClient(settings) as client:
            return await client.ask(request)

    return asyncio.run(asked())


BOTH: dict[str, Ask] = {"sync": ask_synchronously, "async": ask_asynchronously}
