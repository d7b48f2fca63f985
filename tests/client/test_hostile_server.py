"""Servers that answer late, endlessly, in part, or as another: each is an error within the time-out, never an allow."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from ranger_cdap.client import ClientSettings, Secret
from ranger_cdap.errors import DecisionServiceError, DecisionServiceUnreachable, UnexpectedReply
from tests.client.both_clients import BOTH, Ask
from tests.client.questions import QUESTIONS
from tests.net.scripted_server import Script, Then, playing

SECRET = "a-secret-of-the-caller-0123456789"
TIMEOUT = 0.5
SLACK = 6.0
"""Seconds that a busy machine may need besides."""

ENFORCE = QUESTIONS["enforce"]
BODY = ENFORCE.body
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
MAX_RESPONSE = 100_000


@pytest.fixture(params=BOTH)
def ask(request: pytest.FixtureRequest) -> Ask:
    return BOTH[request.param]


def asking(port: int, attempts: int = 1, timeout: float = TIMEOUT) -> ClientSettings:
    return ClientSettings(
        url=f"http://127.0.0.1:{port}", caller="enforce", secret=Secret(SECRET), timeout=timeout, attempts=attempts,
        max_response=MAX_RESPONSE,
    )  # fmt: skip


def sized(body: bytes, length: int | None = None, head: bytes = HEAD) -> bytes:
    return head + b"content-length: %d\r\n\r\n" % (len(body) if length is None else length) + body


@dataclass(frozen=True)
class Case:
    script: Script
    error: type[DecisionServiceError]
    words: str


CASES = {
    "no answer": Case(Script([], Then.SILENCE), DecisionServiceUnreachable, "no answer within the time-out"),
    "hangs up": Case(Script([]), DecisionServiceUnreachable, "not whole, or not HTTP"),
    "resets": Case(Script([], Then.RESET), DecisionServiceUnreachable, "is unavailable"),
    "resets at once": Case(Script([], Then.RESET, reads=False), DecisionServiceUnreachable, "is unavailable"),
    "half a head": Case(Script([HEAD], Then.SILENCE), DecisionServiceUnreachable, "no answer within the time-out"),
    "a head byte by byte": Case(
        Script([b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"], Then.AGAIN_SLOWLY), DecisionServiceUnreachable, "time-out"
    ),
    "an endless head": Case(Script([HEAD, b"x: y\r\n"], Then.AGAIN), DecisionServiceUnreachable, "not HTTP"),
    "hints without end": Case(
        Script([b"HTTP/1.1 103 Early Hints\r\n\r\n"], Then.AGAIN_SLOWLY), DecisionServiceUnreachable, "time-out"
    ),
    "a body byte by byte": Case(
        Script([sized(b"", 10_000), b" "], Then.AGAIN_SLOWLY), DecisionServiceUnreachable, "time-out"
    ),
    "an endless body": Case(
        Script([HEAD + b"\r\n", b" " * 65_536], Then.AGAIN), UnexpectedReply, f"exceeds {MAX_RESPONSE} bytes"
    ),
    "a body cut off": Case(Script([sized(BODY, len(BODY) + 1)]), DecisionServiceUnreachable, "not whole"),
    "a chunk cut off": Case(
        Script([HEAD + b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(BODY) + BODY + b"\r\n"]),
        DecisionServiceUnreachable,
        "not whole",
    ),
    "two lengths": Case(
        Script([HEAD + b"content-length: 3\r\ncontent-length: 4\r\n\r\n" + BODY]),
        DecisionServiceUnreachable,
        "not HTTP",
    ),
    "no HTTP": Case(Script([b"\x16\x03\x01\x02\x00\x01\x00"]), DecisionServiceUnreachable, "not HTTP"),
    "an allow for no request": Case(Script([sized(BODY)]), UnexpectedReply, "`X-Request-Id` is not that"),
    "an allow for another request": Case(
        Script([sized(BODY, head=HEAD + b"x-request-id: 1\r\n")]), UnexpectedReply, "`X-Request-Id` is not that"
    ),
    "another page": Case(
        Script([sized(b"<html>", head=HEAD.replace(b"application/json", b"text/html"))]), UnexpectedReply, "not JSON"
    ),
    "compressed": Case(Script([sized(BODY, head=HEAD + b"content-encoding: gzip\r\n")]), UnexpectedReply, "compressed"),
    "a redirect": Case(
        Script([b"HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n"]),
        UnexpectedReply,
        "a redirect (HTTP 307), which is not followed",
    ),
    "an upgrade": Case(
        Script([b"HTTP/1.1 101 x\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"]), DecisionServiceError, "`http://127"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_answer_is_an_error_within_the_time_out(name: str, ask: Ask) -> None:
    case = CASES[name]
    with playing(case.script) as server:
        began = time.monotonic()
        with pytest.raises(case.error) as caught:
            ask(asking(server.port), ENFORCE.request)
        assert time.monotonic() - began < TIMEOUT + SLACK
        assert server.connections == 1
    assert case.words in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in repr(error)
        error = error.__cause__ or error.__context__


def test_a_server_that_is_not_there_is_unavailable(ask: Ask) -> None:
    with pytest.raises(DecisionServiceUnreachable, match="the connection was refused"):
        ask(asking(9), ENFORCE.request)


def test_what_is_busy_is_asked_again_and_not_too_often(ask: Ask) -> None:
    busy = b"HTTP/1.1 503 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    with playing(Script([busy])) as server:
        with pytest.raises(DecisionServiceUnreachable, match="HTTP 503"):
            ask(asking(server.port, attempts=3, timeout=60), ENFORCE.request)
        assert server.connections == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 501])
def test_a_rejection_is_not_asked_again(status: int, ask: Ask) -> None:
    rejection = b"HTTP/1.1 %d x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status
    with playing(Script([rejection])) as server:
        with pytest.raises(DecisionServiceError, match=f"HTTP {status}"):
            ask(asking(server.port, attempts=3, timeout=60), ENFORCE.request)
        assert server.connections == 1


def test_a_check_that_may_be_journalled_is_sent_once(ask: Ask) -> None:
    stamped = QUESTIONS["stamped"].request
    with playing(Script([])) as server:
        with pytest.raises(DecisionServiceUnreachable):
            ask(asking(server.port, attempts=3, timeout=60), stamped)
        assert server.connections == 1


@pytest.mark.parametrize("public", ["live", "ready"])
def test_public_endpoints_get_no_credentials(public: str, ask: Ask) -> None:
    script = Script([])
    with playing(script) as server, pytest.raises(DecisionServiceUnreachable):
        ask(asking(server.port), QUESTIONS[public].request)
    assert b"authorization" not in b"".join(script.heard).lower()


def test_the_environment_chooses_neither_proxy_nor_authorities(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script([])
    with playing(script) as server, playing(Script([])) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(DecisionServiceUnreachable):
            ask(asking(server.port), ENFORCE.request)
        assert (server.connections, proxy.connections) == (1, 0)
    heard = b"".join(script.heard).lower()
    assert heard.count(b"authorization: ") == 1
    assert b"cookie" not in heard


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        ({"caller": "a", "secret": Secret("b")}, b"authorization: basic ytpi"),
        ({"token": Secret("ab.c-d_e")}, b"authorization: bearer ab.c-d_e"),
    ],
    ids=["secret", "token"],
)
def test_credentials_are_sent_with_the_question(credentials: dict[str, Any], header: bytes, ask: Ask) -> None:
    script = Script([])
    with playing(script) as server, pytest.raises(DecisionServiceUnreachable):
        ask(ClientSettings(url=f"http://127.0.0.1:{server.port}", attempts=1, **credentials), ENFORCE.request)
    assert header in b"".join(script.heard).lower()
