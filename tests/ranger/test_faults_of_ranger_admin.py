"""The bad days of a Ranger Admin, each by its name, over real sockets: what a plugin decides meanwhile, and after."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.net import exchange
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from tests.ranger.documents import SERVICE, policies, policy, roles, users
from tests.ranger.fixtures import FRESH, GONE, NO_SERVICE, NOT_READY, OFF, Clock, may_read

READ_TIMEOUT = 0.3
VERSION = re.compile(rb'"(?:policy|role|userStore)Version": (\d+)')
GOOD = {"plugins": policies(5, policy(1)), "roles": roles(1), "xusers": users(1)}

Fault = Callable[["Request"], None]


class Request(BaseHTTPRequestHandler):
    """One download: answered as Ranger Admin does, or by the fault."""

    server: Ranger

    def do_GET(self) -> None:
        if self.server.fault is not None:
            self.server.fault(self)
            return
        url = urlsplit(self.path)
        body = self.server.documents[url.path.split("/")[2]]
        known = next(value[0] for name, value in parse_qs(url.query).items() if name.startswith("lastKnown"))
        version = VERSION.search(body)
        assert version is not None
        self.answer(304, b"") if int(known) == int(version[1]) else self.answer(200, body)

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


class Ranger(ThreadingHTTPServer):
    """A Ranger Admin that can be told to have a fault, and to go away and come back at its address."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Request)
        self.documents = dict(GOOD)
        self.fault: Fault | None = None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A plugin that waits no longer closes the connection."""

    def ends(self) -> None:
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
            self.server_close()


@pytest.fixture
def ranger() -> Iterator[Ranger]:
    server = Ranger()
    yield server
    server.fault = None
    server.ends()


@pytest.fixture
def starts(ranger: Ranger, clock: Clock, tmp_path: Path) -> Iterator[Callable[..., PolicyRefresher]]:
    """A plugin as it starts."""
    keepers: list[PolicyRefresher] = []
    url = f"http://127.0.0.1:{ranger.server_port}"
    settings = Settings(
        ranger=RangerSettings(url=url, service=SERVICE),
        plugin=PluginSettings(username="svc", cache_dir=tmp_path / "cache"),
    )

    def start(*, allow_older: bool = False) -> PolicyRefresher:
        admin = RangerAdmin(
            AdminConnection(url, username="svc", password=Secret("x"), read_timeout=READ_TIMEOUT, attempts=1)
        )
        keepers.append(PolicyRefresher(admin, settings, clock=clock, allow_older=allow_older))
        return keepers[-1]

    yield start
    for refresher in keepers:
        refresher.close()


def answering(status: int, body: bytes) -> Fault:
    return lambda request: request.answer(status, body)


def hanging(request: Request) -> None:
    request.connection.settimeout(30)
    request.connection.recv(1)  # until the plugin gives up


def dripping(request: Request) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    while request.server.fault is not None:
        request.wfile.write(b" ")
        time.sleep(READ_TIMEOUT / 10)


def breaking_off(request: Request) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(GOOD["plugins"])))
    request.end_headers()
    request.wfile.write(GOOD["plugins"][:100])


LOGIN_PAGE = b"<!doctype html><html><title>Ranger - Sign In</title></html>"
FAULTS: list[tuple[str, Fault, str]] = [
    ("hanging", hanging, "no answer within the time-out"),
    ("dripping bytes", dripping, "too slow"),
    ("breaking off", breaking_off, "broke off"),
    ("answering 500", answering(500, b""), "500"),
    ("answering HTML", answering(502, b"<html>proxy</html>"), "502"),
    ("truncated JSON", answering(200, GOOD["plugins"][:-7]), "cannot be read"),
    ("a login page with 200", answering(200, LOGIN_PAGE), "cannot be read"),
    ("another service's policies", answering(200, policies(6, policy(1), service="other")), "other"),
    ("a disabled service", answering(400, json.dumps(OFF).encode()), "disabled"),
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_SLOWEST_ANSWER", 2)


each_fault = pytest.mark.parametrize(("fault", "said"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])


@pytest.mark.usefixtures("impatient")
@each_fault
def test_a_plugin_that_starts_then_is_not_ready_until_it_passes(
    ranger: Ranger, starts: Callable[[], PolicyRefresher], fault: Fault, said: str
) -> None:
    ranger.fault = fault
    refresher = starts()
    during = refresher.refresh()
    assert (during.state, during.engine) == (NOT_READY, None)
    assert said in during.reason
    assert "<" not in during.reason
    ranger.fault = None
    assert may_read(refresher.refresh())


@pytest.mark.usefixtures("impatient")
@each_fault
def test_a_plugin_with_policies_goes_on_deciding_and_recovers(
    ranger: Ranger, starts: Callable[[], PolicyRefresher], clock: Clock, fault: Fault, said: str
) -> None:
    refresher = starts()
    before = refresher.refresh()
    ranger.fault = fault
    clock.goes_on(30)
    during = refresher.refresh()
    assert (during.engine, may_read(during), may_read(during, "bob")) == (before.engine, True, False)
    assert said in during.reason
    restarted = starts().refresh()
    assert (may_read(restarted), may_read(restarted, "bob")) == (True, False)
    ranger.fault = None
    ranger.documents["plugins"] = policies(6, policy(1, "bob"))
    after = refresher.refresh()
    assert (after.state, may_read(after), may_read(after, "bob")) == (FRESH, False, True)


def test_down_at_start(ranger: Ranger, starts: Callable[[], PolicyRefresher]) -> None:
    ranger.ends()
    refresher = starts()
    snapshot = refresher.refresh()
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    assert "refused" in snapshot.reason
    up = Ranger(ranger.server_port)
    try:
        assert may_read(refresher.refresh())
    finally:
        up.ends()


def test_down_later_and_up_again(ranger: Ranger, starts: Callable[[], PolicyRefresher], clock: Clock) -> None:
    refresher = starts()
    refresher.refresh()
    ranger.ends()
    clock.goes_on(30)
    assert may_read(refresher.refresh())
    assert may_read(starts().refresh())
    clock.goes_on(86_400)
    assert refresher.refresh().engine is None
    assert starts().refresh().engine is None
    up = Ranger(ranger.server_port)
    try:
        assert (refresher.refresh().state, may_read(refresher.snapshot)) == (FRESH, True)
    finally:
        up.ends()


def test_an_older_version_is_not_taken_without_a_word(ranger: Ranger, starts: Callable[..., PolicyRefresher]) -> None:
    """Its database was restored, and perhaps a right that was revoked; Java's plugin takes the older version."""
    refresher = starts()
    refresher.refresh()
    ranger.documents["plugins"] = policies(3, policy(1, "bob"))

    refused = refresher.refresh()
    assert (refused.versions.policies, may_read(refused), may_read(refused, "bob")) == (5, True, False)
    assert "Ranger Admin has version 3 of the policies, and this host has used 5" in refused.reason
    restarted = starts().refresh()
    assert (restarted.versions.policies, may_read(restarted, "bob")) == (5, False)

    allowed = starts(allow_older=True).refresh()
    assert (allowed.state, allowed.versions.policies, may_read(allowed, "bob")) == (FRESH, 3, True)
    taken = refresher.refresh()
    assert (taken.state, taken.versions.policies, may_read(taken), may_read(taken, "bob")) == (FRESH, 3, False, True)
    ranger.ends()
    assert may_read(starts().refresh(), "bob")


def test_an_empty_policy_set_denies_everybody(ranger: Ranger, starts: Callable[[], PolicyRefresher]) -> None:
    refresher = starts()
    assert may_read(refresher.refresh())
    ranger.documents["plugins"] = policies(6)
    emptied = refresher.refresh()
    assert (emptied.state, may_read(emptied)) == (FRESH, False)


@pytest.mark.slow
def test_20_mb_of_policies(ranger: Ranger, starts: Callable[[], PolicyRefresher]) -> None:
    count = 80_000
    large = policies(6, *(policy(n, namespace=f"ns{n}") for n in range(count)))
    assert len(large) > 20_000_000
    ranger.documents["plugins"] = large
    assert may_read(starts().refresh(), namespace=f"ns{count - 1}")
    ranger.ends()
    assert may_read(starts().refresh(), namespace=f"ns{count - 1}")


def test_a_deleted_service_denies_after_a_second_look(
    ranger: Ranger, starts: Callable[[], PolicyRefresher], clock: Clock
) -> None:
    refresher = starts()
    refresher.refresh()
    ranger.fault = answering(404, json.dumps(NO_SERVICE).encode())
    clock.goes_on(30)
    assert may_read(refresher.refresh())
    clock.goes_on(30)
    assert (refresher.refresh().state, refresher.snapshot.engine) == (GONE, None)
    assert starts().refresh().engine is None


@pytest.mark.parametrize("jump", [-7 * 86_400.0, -1.0, 3600.0, 7 * 86_400.0])
def test_a_clock_that_jumps_makes_no_policies_younger(
    ranger: Ranger, starts: Callable[[], PolicyRefresher], clock: Clock, jump: float
) -> None:
    refresher = starts()
    refresher.refresh()
    ranger.ends()
    clock.goes_on(86_000)
    clock.wall += jump
    assert may_read(refresher.refresh()) == (jump <= 0)
    clock.goes_on(500)
    assert refresher.refresh().engine is None
    assert starts().refresh().engine is None
