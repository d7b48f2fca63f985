"""Checks and handshakes are answered below ASGI, where nothing waits and nothing is wrong; the answers are the same."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec import structs

from ranger_cdap.net.http_exchange import Whole
from ranger_cdap.service.app import create_app
from ranger_cdap.service.http.callers import CallerRole, Callers
from ranger_cdap.service.http.metrics import REQUESTS
from ranger_cdap.service.http.request_guard import RequestGuard
from ranger_cdap.service.table import ROUTES
from tests.service.fixtures import READ_AND_WRITE, World, basic, serving

ENFORCE, HELLO = "/cdap/v1/enforce", "/cdap/v1/hello"
QUESTION = {
    "principal": {"name": "alice"},
    "entity": {"type": "DATASET", "parts": ["ns1", "kv"]},
    "permissions": ["STANDARD.GET"],
}
HANDSHAKE = {"extension": "6.11", "instance": "other", "admin_users": ["root"]}
Sent = Mapping[str, tuple[bytes, ...]]
GOOD: Sent = {
    "host": (b"127.0.0.1:6500",),
    "authorization": (basic("enforce").encode(),),
    "content-type": (b"application/json",),
}
SPOILED: Mapping[str, list[tuple[bytes, ...]]] = {
    "host": [(), (b"evil.example",), (b"localhost",), (b"127.0.0.1", b"localhost")],
    "authorization": [
        (),
        *((basic(role.value).encode(),) for role in CallerRole),
        (basic("enforce", "another-secret-0123456789").encode(),),
        (basic("enforce").lower().encode(),),
        (basic("enforce").replace("Basic", "bASIC").encode(),),
        (b"Basic !",),
        (b"Bearer x",),
        (b"",),
    ],
    "content-type": [
        (),
        (b"text/plain",),
        (b"Application/JSON ; charset=utf-8",),
        (b"\xa0application/json",),
        (b"application/json", b"text/plain"),
    ],
    "content-length": [(), (b"5000000",), (b"x",), (b"3", b"3")],
    "x-request-id": [(b"\x00",), (b"a" * 129,), (b"one", b"two"), (b"one",)],
    "x-forwarded-user": [(b"enforce",)],
}
Scope = dict[str, Any]

QUESTIONS = st.fixed_dictionaries(
    {
        "principal": st.fixed_dictionaries(
            {"name": st.sampled_from(["alice", "bob", "cdap", "eve", ""])}, optional={"type": st.just("ROLE")}
        ),
        "entity": st.sampled_from(
            [
                {"type": "DATASET", "parts": ["ns1", "kv"]},
                {"type": "NAMESPACE", "parts": ["ns1"]},
                {"type": "APPLICATION", "parts": ["ns1", "a", "-SNAPSHOT"]},
                {"type": "INSTANCE", "parts": [""]},
                {"type": "UNKNOWN", "parts": ["ns1", "x"]},
                {"type": "DATASET", "parts": ["ns1", "*"]},
                {"type": "DATASET", "parts": []},
            ]
        ),
        "permissions": st.lists(
            st.sampled_from(
                ["STANDARD.GET", "STANDARD.UPDATE", "STANDARD.CREATE", "STANDARD.DELETE", "ACTION.READ", "X.Y", "bad"]
            ),
            max_size=2,
        ),
    },
    optional={
        "child_type": st.sampled_from(["DATASET", "X"]),
        "from_container": st.booleans(),
        "client_ip": st.just("10.0.0.1"),
        "check": st.just({"id": "0" * 32, "process": "1" * 32, "at": 1}),
    },
)
HANDSHAKES = st.fixed_dictionaries(
    {"extension": st.just("6.11")}, optional={"instance": st.text(max_size=3), "records": st.booleans()}
)


BODIES = {ENFORCE: QUESTIONS, HELLO: HANDSHAKES}


@st.composite
def requests(draw: st.DrawFn) -> tuple[Scope, bytes]:
    """A request for a check or a handshake; half of them are spoiled, in one or two places."""
    path, method = draw(st.sampled_from([ENFORCE, ENFORCE, HELLO])), "POST"
    body, fields = json.dumps(draw(BODIES[path])).encode(), dict(GOOD)
    places = st.sampled_from(["path", "method", "body", "twice", *SPOILED])
    for place in draw(st.one_of(st.just([]), st.lists(places, min_size=1, max_size=2))):
        match place:
            case "path":
                path = draw(st.sampled_from(["/cdap/v1/visible", "/cdap/v1/refresh", "/none", path + "/"]))
            case "method":
                method = draw(st.sampled_from(["GET", "PUT"]))
            case "body":
                others = [body[:-1], body[:-1] + b',"x":1}', body * 2, b"\xff", b" " * 20_000 + body, body + b" "]
                body = draw(st.sampled_from([*others, b'{"extension":"x","extension":"x"}']))
            case "twice":
                name = draw(st.sampled_from(sorted(fields)))
                fields[name] *= 2
            case _:
                fields[place] = draw(st.sampled_from(SPOILED[place]))
    return scope_of(path, body, method, fields), body


def scope_of(path: str, body: bytes, method: str = "POST", fields: Sent = GOOD) -> Scope:
    """The scope of a request, as the server makes it."""
    sent = {"content-length": (b"%d" % len(body),), **fields}
    return {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "root_path": "",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value) for name, values in sent.items() for value in values],
        "state": {},
    }


class Asked:
    """A service, and its application without a server."""

    def __init__(self, world: World, runner: asyncio.Runner) -> None:
        service = world.state.settings.service
        self.world = world
        self.app: RequestGuard = create_app(world.state, Callers.of(service), ROUTES)
        self._runner = runner

    def by_asgi(self, scope: Scope, body: bytes) -> Whole:
        """The answer of the application."""
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        async def answer() -> None:
            await self.app(scope, receive, send)

        self._runner.run(answer())
        return sent[0]["status"], sent[0]["headers"], b"".join(message["body"] for message in sent[1:])

    def comparable(self, answer: Whole) -> tuple[int, set[tuple[bytes, bytes]], bytes]:
        """An answer without what no two have in common: ids that were drawn, the process and its generations."""
        status, fields, body = answer
        drawn = re.compile(rb"[0-9a-f]{32}-\d+")
        known = {(name, drawn.sub(b"", value)) for name, value in fields if name != b"date"}
        return status, known, re.sub(rb'"generation":"[0-9a-f]{12}-', b'"generation":"', body)

    @property
    def told(self) -> Any:
        """What the audit and the metrics have of all requests."""
        records = [structs.replace(record, id="", evtTime=0) for record in self.world.memory.records]
        numbers = self.world.state.metrics._of
        return records, numbers(REQUESTS), numbers("ranger_cdap_decisions")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asked, Asked]]:
    """Two services alike: one is asked below ASGI where that answers, the other only by ASGI."""
    place = tmp_path_factory.mktemp("at_once")
    with (
        serving(READ_AND_WRITE, Path(place, "a")) as one,
        serving(READ_AND_WRITE, Path(place, "b")) as other,
        asyncio.Runner() as runner,
    ):
        yield Asked(one, runner), Asked(other, runner)


@given(requests())
def test_what_is_answered_at_once_is_answered_as_the_application_does(
    both: tuple[Asked, Asked], request_: tuple[Scope, bytes]
) -> None:
    event("at once" if answered_alike(both, *request_) else "by ASGI")


@pytest.mark.parametrize("path", [ENFORCE, HELLO])
@pytest.mark.parametrize(
    ("name", "values"),
    [(name, values) for name, spoiled in SPOILED.items() for values in spoiled]
    + [(name, values * 2) for name, values in GOOD.items()],
)
def test_one_spoiled_field_changes_both_answers_alike(
    both: tuple[Asked, Asked], path: str, name: str, values: tuple[bytes, ...]
) -> None:
    body = json.dumps(HANDSHAKE if path == HELLO else QUESTION).encode()
    answered_alike(both, scope_of(path, body, fields={**GOOD, name: values}), body)


def answered_alike(both: tuple[Asked, Asked], scope: Scope, body: bytes) -> bool:
    """Ask both services, compare what they answered and noted, and return true for an answer at once."""
    fast, slow = both
    before = copy.deepcopy(scope)
    answer = fast.app.answer_at_once(scope, body)
    at_once = answer is not None
    if answer is None:
        assert scope == before
        answer = fast.by_asgi(scope, body)
    assert fast.comparable(answer) == slow.comparable(slow.by_asgi(before, body))
    assert fast.told == slow.told
    return at_once


@pytest.mark.parametrize(
    ("path", "body", "at_once"),
    [
        (ENFORCE, QUESTION, True),
        (ENFORCE, QUESTION | {"principal": {"name": "eve"}}, True),
        (ENFORCE, QUESTION | {"entity": {"type": "DATASET", "parts": []}}, True),
        (HELLO, HANDSHAKE, True),
        (ENFORCE, QUESTION | {"permissions": ["STANDARD.DELETE"]}, False),
        (ENFORCE, QUESTION | {"entity": {"type": "INSTANCE", "parts": [""]}}, False),
        (ENFORCE, QUESTION | {"entity": {"type": "X", "parts": ["a" * 900] * 30}}, False),
        ("/cdap/v1/visible", {"principal": {"name": "alice"}, "entities": []}, False),
    ],
    ids=["allowed", "denied", "invalid", "handshake", "waits for a disk", "may be long", "large", "computes"],
)
def test_what_waits_for_nothing_is_answered_at_once(world: World, path: str, body: Any, at_once: bool) -> None:
    app, sent = create_app(world.state, Callers.of(world.state.settings.service), ROUTES), json.dumps(body).encode()
    assert (app.answer_at_once(scope_of(path, sent), sent) is not None) == at_once
