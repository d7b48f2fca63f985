"""What goes wrong around the decision service, and that nobody gets anything by it."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import read_configuration
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.authz.fixtures import policy
from tests.service.event_samples import stamp
from tests.service.fixtures import World, basic, serving
from tests.service.journal_fixtures import CREATES_KV, on_disk
from tests.service.serve_process import (
    ENFORCE_KV,
    PASSWORD,
    admin_of_creations,
    ask,
    configuration,
    fill,
    ranger_admin,
    serve,
    until,
)

DENY_KV = {**ENFORCE_KV, "principal": {"name": "bob"}}
CALLERS_UNDER_LOAD = 4
AT_ONCE = 200


class Load:
    """Programs that ask without a pause: alice, who may, and bob, who may not; every outcome is counted."""

    def __init__(self, port: int) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self._port = port
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n % 2 == 0,)) for n in range(CALLERS_UNDER_LOAD)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def count(self, user: str, outcome: str) -> int:
        return self.outcomes[user, outcome]

    def _ask(self, is_alice: bool) -> None:
        user, body = ("alice", ENFORCE_KV) if is_alice else ("bob", DENY_KV)
        while not self._end.is_set():
            try:
                answer = ask(self._port, "enforce", "POST", "/cdap/v1/enforce", body)
                outcome = ("allowed" if answer.json["allowed"] else "denied") if answer.status == 200 else "error"
            except (OSError, http.client.HTTPException, ValueError):
                outcome = "refused"
                self._end.wait(0.01)
            self.outcomes[user, outcome] += 1


# --- the service itself -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_restart_under_load_allows_nothing_more_and_callers_recover(tmp_path: Path) -> None:
    with ranger_admin() as (server, _):
        config = configuration(tmp_path, server.url)
        with serve(config, tmp_path) as first:
            port = first.port
            with Load(port) as load:
                until(lambda: load.count("alice", "allowed") > 20 and load.count("bob", "denied") > 20)
                os.kill(first.process.pid, signal.SIGKILL)
                first.ended()
                refused = load.count("alice", "refused")
                until(lambda: load.count("alice", "refused") > refused + 5)
                allowed, denied = load.count("alice", "allowed"), load.count("bob", "denied")
                with serve(config, tmp_path, f"service.port={port}"):
                    until(lambda: load.count("alice", "allowed") > allowed + 20)
                    until(lambda: load.count("bob", "denied") > denied + 20)
    assert load.count("bob", "allowed") == 0
    assert {outcome for _, outcome in load.outcomes} <= {"allowed", "denied", "refused"}


@pytest.mark.kills
def test_an_allowed_creation_is_in_the_journal_though_the_service_is_killed(tmp_path: Path) -> None:
    allowed, ended = list[int](), threading.Event()

    def create(port: int, first: int) -> None:
        for number in itertools.count(first, CALLERS_UNDER_LOAD):
            asked = CREATES_KV | {"entity": {"type": "DATASET", "parts": ["ns3", "kv"]}, "check": stamp(number)}
            try:
                if ask(port, "enforce", "POST", "/cdap/v1/enforce", asked).json["allowed"]:
                    allowed.append(number)
            except (OSError, http.client.HTTPException, ValueError):
                if ended.is_set():
                    return

    with (
        admin_of_creations() as server,
        serve(configuration(tmp_path, server.url), tmp_path) as served,
        ThreadPoolExecutor(CALLERS_UNDER_LOAD) as pool,
    ):
        for first in range(CALLERS_UNDER_LOAD):
            pool.submit(create, served.port, first)
        try:
            until(lambda: len(allowed) >= 80)
        finally:
            os.kill(served.process.pid, signal.SIGKILL)
            served.ended()
            ended.set()
    assert set(allowed) <= {int(line["id"], 16) for line in on_disk(tmp_path / "events")}


def test_sigterm_lets_a_request_under_way_finish(tmp_path: Path) -> None:
    with ranger_admin() as (server, _), serve(configuration(tmp_path, server.url), tmp_path) as served:
        body = json.dumps(ENFORCE_KV).encode()
        head = (
            f"POST /cdap/v1/enforce HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {basic('enforce')}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
            connection.sendall(head.encode() + body[:10])
            until(lambda: under_way(served.port) == 2)  # this one, and the one that asks
            served.process.send_signal(signal.SIGTERM)
            until(lambda: not_listening(served.port))
            connection.sendall(body[10:])
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert (answer.status, json.loads(answer.read())["allowed"]) == (200, True)
        assert served.ended() == 0


def under_way(port: int) -> float:
    return figure(ask(port, None, "GET", "/metrics").body.decode(), "ranger_cdap_requests_under_way")


def figure(metrics: str, name: str) -> float:
    (value,) = (line.rpartition(" ")[2] for line in metrics.splitlines() if line.startswith(f"{name} "))
    return float(value)


def not_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


# --- Ranger Admin -------------------------------------------------------------------------------------------------


def test_while_ranger_admin_is_down_the_last_policies_decide_and_the_state_is_shown(tmp_path: Path) -> None:
    with ExitStack() as ranger:
        server, _ = ranger.enter_context(ranger_admin())
        settings = read_configuration(configuration(tmp_path, server.url, plugin__poll_interval="0.2"), {}).settings
        with DecisionService(settings) as service:
            port = int(service.url.rpartition(":")[2])
            assert shown_state(port) == "fresh"
            ranger.close()
            until(lambda: shown_state(port) == "stale")
            assert decided(port) == (True, False)
            assert ask(port, None, "GET", "/health/ready").status == 200

    with DecisionService(settings) as service:  # started while Ranger Admin is unavailable
        port = int(service.url.rpartition(":")[2])
        assert decided(port) == (True, False)
        until(lambda: shown_state(port) == "stale")


def test_without_ranger_admin_and_cache_everything_is_denied_until_it_comes(tmp_path: Path) -> None:
    database = tmp_path / "ranger.sqlite"
    with EmbeddedAdmin(database, admin_password=PASSWORD.reveal()) as server:
        fill(server)
        port_of_ranger = int(server.url.rpartition(":")[2])
    config = configuration(tmp_path, f"http://127.0.0.1:{port_of_ranger}", plugin__poll_interval="0.2")
    with DecisionService(read_configuration(config, {}).settings) as service:
        port = int(service.url.rpartition(":")[2])
        answer = ask(port, "enforce", "POST", "/cdap/v1/enforce", ENFORCE_KV).json
        assert (answer["allowed"], answer["reason"][:11]) == (False, "not ready: ")
        assert ask(port, None, "GET", "/health/ready").status == 503
        with EmbeddedAdmin(database, admin_password=PASSWORD.reveal(), port=port_of_ranger):
            until(lambda: shown_state(port) == "fresh")
            assert decided(port) == (True, False)


def decided(port: int) -> tuple[bool, bool]:
    """Whether alice, who may, and bob, who may not, are let in."""
    of_each = (ask(port, "enforce", "POST", "/cdap/v1/enforce", body).json["allowed"] for body in (ENFORCE_KV, DENY_KV))
    return next(of_each), next(of_each)


def shown_state(port: int) -> str:
    """The state that the metrics show."""
    lines = ask(port, None, "GET", "/metrics").body.decode().splitlines()
    (state,) = (line for line in lines if line.startswith("ranger_cdap_policies_state{") and line.endswith(" 1.0"))
    return state.partition('state="')[2].partition('"')[0]


# --- many at once -------------------------------------------------------------------------------------------------


def test_a_thousand_entities_in_one_question_are_each_answered(tmp_path: Path) -> None:
    policies = [policy(n, {"namespace": "ns1", "dataset": f"d{n}"}, ["alice"], ["read"]) for n in range(1, 1_001, 3)]
    entities = [{"type": "DATASET", "parts": ["ns1", f"d{n}"]} for n in range(1, 1_001)]
    with serving(policies, tmp_path) as world:
        body = {"principal": {"name": "alice"}, "entities": entities}
        seen = world.ask("enforce", "POST", "/cdap/v1/visible", body).json["visible"]
    assert seen == [n % 3 == 1 for n in range(1, 1_001)]


def test_two_hundred_callers_at_once_get_each_his_own_answer(world: World) -> None:
    ready = threading.Barrier(AT_ONCE)

    def one(n: int) -> tuple[int, bool, str]:
        user = ("alice", "eve")[n % 2]
        body = {**ENFORCE_KV, "principal": {"name": user}}
        ready.wait(60)
        answer = world.ask("enforce", "POST", "/cdap/v1/enforce", body, X_Request_Id=f"request-{n}")
        return answer.status, answer.json["allowed"], answer.headers["x-request-id"]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(one, range(AT_ONCE)))
    assert outcomes == [(200, n % 2 == 0, f"request-{n}") for n in range(AT_ONCE)]


# --- hooks --------------------------------------------------------------------------------------------------------


class SlowGroups:
    """A directory that does not answer when asked for one person, until it may."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    @hookimpl
    def ranger_cdap_groups(self, user: str) -> list[str]:
        if user == "slow":
            self.asked.set()
            assert self.may_answer.wait(60)
        return []


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[World, SlowGroups]]:
    groups, plugins = SlowGroups(), plugin_manager(entry_points=False)
    plugins.register(groups)
    policies = [policy(1, {"namespace": "ns1"}, ["alice", "slow"], ["read"])]
    policies.append(policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice", "slow"], ["read"]))
    with serving(policies, tmp_path, plugins=plugins) as world:
        yield world, groups
        groups.may_answer.set()


def test_a_hook_that_takes_long_keeps_nobody_else_waiting(slow: tuple[World, SlowGroups]) -> None:
    world, groups = slow

    def enforce(user: str) -> Any:
        return world.ask("enforce", "POST", "/cdap/v1/enforce", {**ENFORCE_KV, "principal": {"name": user}}).json

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(enforce, "slow")
        assert groups.asked.wait(60)
        assert enforce("alice")["allowed"]
        assert world.ask(None, "GET", "/health/live").status == 200
        assert not waiting.done()
        groups.may_answer.set()
        assert waiting.result(60)["allowed"]
