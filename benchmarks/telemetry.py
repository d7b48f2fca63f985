"""Cost of OpenTelemetry for a request of the decision service, within one run.

`python -m benchmarks.telemetry` (in `make bench`) prints the time of a check in the service's own process, without
sockets, where the share of anything added is greatest: without telemetry, and with traces that a collector on this
machine takes. Rounds alternate, so that what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message

from ranger_cdap.service.app import create_app
from ranger_cdap.service.http.callers import Callers
from ranger_cdap.service.table import ROUTES
from ranger_cdap.telemetry.choice import TelemetryChoice
from ranger_cdap.telemetry.sdk import Telemetry
from tests.service.fixtures import READ_AND_WRITE, basic, serving
from tests.telemetry.collector import collecting

ROUNDS, REQUESTS = 15, 400
CHECK = {
    "principal": {"name": "alice"},
    "entity": {"type": "DATASET", "parts": ["ns1", "kv"]},
    "permissions": ["STANDARD.GET"],
    "from_container": True,
}
BODY = json.dumps(CHECK).encode()
HEADERS = [
    (b"host", b"127.0.0.1"),
    (b"authorization", basic("enforce").encode()),
    (b"content-type", b"application/json"),
    (b"content-length", str(len(BODY)).encode()),
]


async def ask(app: ASGIApp, number: int) -> None:
    """Send checks one after another."""
    for _ in range(number):
        unread, statuses = [BODY], list[int]()

        async def receive(unread: list[bytes] = unread) -> Message:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}

        async def send(message: Message, statuses: list[int] = statuses) -> None:
            statuses.append(message.get("status", 200))

        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/cdap/v1/enforce",
            "raw_path": b"/cdap/v1/enforce",
            "root_path": "",
            "query_string": b"",
            "headers": HEADERS,
            "client": ("127.0.0.1", 1),
            "server": None,
            "state": {},
        }
        await app(scope, receive, send)
        assert statuses == [200, 200]


def seconds(app: ASGIApp) -> float:
    """The time of one check."""
    began = time.perf_counter()
    asyncio.run(ask(app, REQUESTS))
    return (time.perf_counter() - began) / REQUESTS


@contextmanager
def app_of(telemetry: Telemetry | None, directory: Path) -> Iterator[ASGIApp]:
    """The application of a service whose callers have no limit of rate."""
    with serving(READ_AND_WRITE, directory, telemetry=telemetry) as world:
        yield create_app(world.state, Callers.of(world.state.settings.service), ROUTES)


def main() -> None:
    """Print the times and their ratio."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as directory, collecting() as collector, ExitStack() as stack:
        os.environ.update(collector.environment)
        telemetry = Telemetry("benchmark", TelemetryChoice(traces=True))
        apps = [
            stack.enter_context(app_of(each, Path(directory) / str(number)))
            for number, each in enumerate((None, telemetry))
        ]
        for app in apps:
            seconds(app)
        rounds = [[seconds(app) for app in apps] for _ in range(ROUNDS)]
        telemetry.close()
    without, traced = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"a check without telemetry  {without * 1e6:8.1f} us")
    print(f"a check with its span      {traced * 1e6:8.1f} us   {traced / without:.2f} times")


if __name__ == "__main__":
    main()
