"""Connections: bounded in all and for each peer, by a model, and on real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ranger_cdap.net.http_connection import Address
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.service.http import connections as module
from ranger_cdap.service.http.connections import Connections
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.metrics import UNDER_WAY
from tests.service.fixtures import READ_AND_WRITE, World, serving
from tests.service.http.raw_http import answer, head, status, until
from tests.service.serve_process import ENFORCE_KV

PEERS = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
MOST, MOST_OF_A_PEER = 6, 4


class Held:
    """What stands for a socket; `end` is told to it."""

    def __init__(self) -> None:
        self.ended = False

    def end(self) -> None:
        self.ended = True


class Machine(RuleBasedStateMachine):
    """Peers that connect, ask, get answers and leave, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.connections = Connections(MOST, MOST_OF_A_PEER)
        self.held: dict[Address, Held] = {}
        self.busy: set[Address] = set()
        self.idle_since: dict[Address, int] = {}
        self.time = 0

    def alive(self, peer: str | None = None) -> list[Address]:
        return [a for a, held in self.held.items() if not held.ended and peer in (None, a[0])]

    @rule(peer=st.sampled_from(PEERS))
    def connect(self, peer: str) -> None:
        self.time += 1
        address, held, before = (peer, self.time), Held(), self.alive()
        of_peers = Counter(a[0] for a in before)
        taken = self.connections.take(held, address)  # type: ignore[arg-type]
        ended = [a for a in before if self.held[a].ended]
        full_of_peer, full = of_peers[peer] >= MOST_OF_A_PEER, len(before) >= MOST
        assert len(ended) == (taken and (full_of_peer or full))
        if taken:
            self.held[address], self.idle_since[address] = held, self.time
        else:
            idle = [a for a in before if a not in self.busy]
            may_go = [a for a in idle if a[0] == peer or (not full_of_peer and of_peers[a[0]] >= of_peers[peer])]
            assert full_of_peer or full
            assert not may_go
        for gone in ended:
            assert gone not in self.busy
            assert gone[0] == peer or of_peers[gone[0]] >= of_peers[peer], "the one with the most gives up"
            others = [a for a in before if a[0] == gone[0] and a not in self.busy]
            assert self.idle_since[gone] == min(self.idle_since[a] for a in others), "the longest idle first"

    @rule(data=st.data())
    def ask(self, data: Any) -> None:
        if at_rest := [a for a in self.alive() if a not in self.busy]:
            address = data.draw(st.sampled_from(at_rest))
            self.connections.busy(address)
            self.busy.add(address)

    @rule(data=st.data())
    def get_an_answer(self, data: Any) -> None:
        if self.busy:
            self.time += 1
            address = data.draw(st.sampled_from(sorted(self.busy)))
            self.connections.idle(address)
            self.busy.remove(address)
            self.idle_since[address] = self.time

    @rule(data=st.data())
    def leave(self, data: Any) -> None:
        if self.held:
            address = data.draw(st.sampled_from(sorted(self.held)))
            self.connections.closed(address)
            del self.held[address]
            self.busy.discard(address)

    @invariant()
    def never_too_many(self) -> None:
        assert len(self.alive()) <= MOST
        assert all(len(self.alive(peer)) <= MOST_OF_A_PEER for peer in PEERS)
        assert len(self.connections) == len(self.held)


def test_nobody_takes_more_than_there_is_nor_the_place_of_who_has_less() -> None:
    search = settings(max_examples=200, stateful_step_count=40, deadline=None, derandomize=True, database=None)
    run_state_machine_as_test(Machine, settings=search)


def test_the_limit_of_open_files_is_never_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.resource, "getrlimit", lambda _: (1_024, 4_096))
    assert Connections(5_000, 10).most == 1_024 - module.RESERVED
    monkeypatch.setattr(module.resource, "getrlimit", lambda _: (100, 100))
    assert Connections(5_000, 10).most == 1


@pytest.fixture
def connect() -> Iterator[Callable[[World], socket.socket]]:
    """Connections that are closed at the end."""
    with ExitStack() as held:

        def connected(world: World) -> socket.socket:
            address = urlsplit(world.url)
            place = (address.hostname or "", address.port or 0)
            return held.enter_context(socket.create_connection(place, timeout=20))

        yield connected


Connect = Callable[[World], socket.socket]


def asked(connection: socket.socket) -> int:
    connection.sendall(head("GET /health/live HTTP/1.1"))
    return status(answer(connection))


def test_idle_connections_make_room_and_the_oldest_goes_first(tmp_path: Path, connect: Connect) -> None:
    with serving(READ_AND_WRITE, tmp_path, limits=ServiceLimits(connections=6)) as world:
        held = [connect(world) for _ in range(3)]
        assert [asked(connection) for connection in held] == [200, 200, 200]
        assert asked(held[0]) == 200  # the second is the longest idle now
        new = connect(world)

        assert asked(new) == 200
        assert held[1].recv(1) == b"", "closed"
        assert [asked(held[0]), asked(held[2])] == [200, 200]


class SlowGroups:
    """A plugin that answers when it may."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()

    @hookimpl
    def ranger_cdap_groups(self, user: str) -> list[str]:
        assert self.may_answer.wait(60)
        return []


def test_what_is_being_answered_is_not_closed(tmp_path: Path, connect: Connect) -> None:
    """Whole requests hold their places, and one more connection finds none."""
    slow = SlowGroups()
    body = json.dumps(ENFORCE_KV).encode()
    plugins = plugin_manager(entry_points=False)
    plugins.register(slow)
    with serving(READ_AND_WRITE, tmp_path, plugins=plugins, limits=ServiceLimits(connections=4)) as world:
        held = [connect(world) for _ in range(2)]
        for connection in held:
            connection.sendall(head("POST /cdap/v1/enforce HTTP/1.1", f"Content-Length: {len(body)}") + body)
        until(lambda: world.state.metrics.number(UNDER_WAY) == 2)
        refused = connect(world)
        assert refused.recv(1) == b""
        slow.may_answer.set()
        assert [status(answer(connection)) for connection in held] == [200, 200]


@pytest.mark.parametrize("half", ["GET /health/live HTTP/1.1", "POST /cdap/v1/hello HTTP/1.1"])
def test_half_a_request_holds_no_place(tmp_path: Path, connect: Connect, half: str) -> None:
    """Whoever asks whole requests keeps their connection, whatever others of their address leave unfinished."""
    with serving(READ_AND_WRITE, tmp_path, limits=ServiceLimits(connections=8, stop_seconds=0.1)) as world:
        asking = connect(world)
        for _ in range(12):
            unfinished = connect(world)
            begun = head(half, "Content-Length: 2")
            unfinished.sendall(begun if half.startswith("POST") else begun.removesuffix(b"\r\n"))
            assert asked(asking) == 200


def test_an_early_refusal_of_half_a_request_leaves_no_place_held(tmp_path: Path, connect: Connect) -> None:
    with serving(READ_AND_WRITE, tmp_path, limits=ServiceLimits(connections=4)) as world:
        for _ in range(6):
            refused = connect(world)
            refused.sendall(head("POST /nowhere HTTP/1.1", "Content-Length: 2"))
            assert status(answer(refused)) in (401, 404, 405)
            refused.sendall(b"{}")


def test_a_connection_without_a_request_is_closed(tmp_path: Path, connect: Connect) -> None:
    with serving(READ_AND_WRITE, tmp_path, limits=ServiceLimits(idle_seconds=0.1)) as world:
        connection = connect(world)
        assert asked(connection) == 200
        assert connection.recv(1) == b""
