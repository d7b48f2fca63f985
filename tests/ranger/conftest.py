"""What the tests of this room share: no waiting between attempts, and a server that misbehaves byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import responses
import stamina

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from tests.ranger.documents import SERVICE
from tests.ranger.fixtures import URL, Clock, FakeRanger, Started

Script = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _no_waiting_between_attempts() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


class RawServer:
    """A server on loopback that runs one script a connection after having read the request's head."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self._open = True
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while self._open:
            with suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(1)
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        head = b""
        while self._open and b"\r\n\r\n" not in head:
            if not (data := connection.recv(65536)):
                return
            head += data
        self.requests.append(head)
        self._script(connection)

    def close(self) -> None:
        self._open = False
        with suppress(OSError), socket.create_connection(self._listener.getsockname(), timeout=1):
            pass
        self._thread.join()
        self._listener.close()


@pytest.fixture
def raw_server() -> Iterator[Callable[[Script], RawServer]]:
    servers: list[RawServer] = []

    def start(script: Script) -> RawServer:
        servers.append(RawServer(script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def ranger() -> Iterator[FakeRanger]:
    with responses.mock:
        yield FakeRanger()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    plugin = PluginSettings(username="cdapsvc", password=Secret("Passw0rd!x"), cache_dir=tmp_path / "cache")
    return Settings(ranger=RangerSettings(url=URL, service=SERVICE), plugin=plugin)


@pytest.fixture
def started(ranger: FakeRanger, settings: Settings, clock: Clock) -> Iterator[Started]:
    """A refresher as a newly started process has it."""
    keepers: list[PolicyRefresher] = []

    def start(**more: Any) -> PolicyRefresher:
        admin = RangerAdmin(AdminConnection(URL, username="cdapsvc", password=settings.plugin.password))
        keepers.append(PolicyRefresher(admin, **({"settings": settings, "clock": clock} | more)))
        return keepers[-1]

    yield start
    for refresher in keepers:
        refresher.close()
