"""A call of CDAP ends at its deadline, whatever the service does; nothing of it stays behind."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.extension.driver import ALICE, NS1, Extension, entity, missing_tool
from tests.extension.scripted_service import ALLOWED, DENIED, Reply, ScriptedService
from tests.extension.stalling_service import OK, Stall, stalling

pytestmark = pytest.mark.java

SAID = "the authorization service of CDAP does not answer ({}); nothing is allowed until it does"
LATE = "no answer within 400 ms"
LONG_HEAD = "its answer has a head that is too long"
# Far above the deadline, for a machine with other work; far below what the server would go on for.
BOUND = 20.0
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

STALLS = {
    "silence": (Stall(), LATE),
    "a dripped status line": (Stall(b"HTTP/1.1 200 ", b"O"), LATE),
    "a dripped field": (Stall(OK + b"X: ", b"x"), LATE),
    "dripped fields": (Stall(OK, b"X: x\r\n"), LATE),
    "a dripped body": (Stall(OK + b"Content-Length: 100000\r\n\r\n", b" "), LATE),
    "a dripped body without an end": (Stall(OK + b"\r\n", b" "), LATE),
    "dripped chunks": (Stall(CHUNKED, b"1\r\n \r\n"), LATE),
    "a dripped size of a chunk": (Stall(CHUNKED + b"1", b" "), LATE),
    "dripped trailers": (Stall(CHUNKED + b"0\r\n", b"X: x\r\n"), LATE),
    "dripped interim answers": (Stall(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), LATE),
    "breaks late, each time": (Stall(closes_after=0.3), LATE),
    "endless interim answers": (Stall(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100, 0.0), LONG_HEAD),
    "an endless line": (Stall(OK + b"X: ", b"x" * 1000, 0.0), LONG_HEAD),
    "endless fields": (Stall(OK, b"X: x\r\n" * 100, 0.0), LONG_HEAD),
    "endless extensions of chunks": (Stall(CHUNKED, b"1;" + b"x" * 1000 + b"\r\n \r\n", 0.0), LONG_HEAD),
    "an endless body": (Stall(OK + b"\r\n", b" " * 100_000, 0.0), "its answer is too long"),
}


@pytest.fixture
def properties(properties: dict[str, str]) -> dict[str, str]:
    return properties | {"read.timeout.ms": "400"}


@pytest.mark.parametrize("name", STALLS)
def test_a_call_ends_at_its_deadline(name: str, extension: Extension, properties: dict[str, str]) -> None:
    stall, why = STALLS[name]
    with stalling(stall) as port:
        began = time.monotonic()
        extension.start(properties | {"url": f"http://127.0.0.1:{port}"})
        seen = extension.enforce()

        assert time.monotonic() - began < BOUND
        assert not seen["allowed"]
        assert seen["text"].endswith(SAID.format(why))


@pytest.mark.parametrize("stall", [Stall(), Stall(reads=False), Stall(b"\x16\x03\x03\x40\x00", b"\x02")])
def test_a_handshake_ends_at_the_deadline(stall: Stall, extension: Extension, properties: dict[str, str]) -> None:
    with stalling(stall) as port:
        began = time.monotonic()
        extension.start(properties | {"url": f"https://127.0.0.1:{port}"})
        seen = extension.visible([NS1])

        assert time.monotonic() - began < BOUND
        assert seen == {"error": "Refusal", "status": 503, "text": SAID.format(LATE)}


def test_a_service_that_does_not_read_holds_nobody(extension: Extension, properties: dict[str, str]) -> None:
    """The question is larger than what the kernels keep on the way."""
    with stalling(Stall(reads=False)) as port:
        began = time.monotonic()
        extension.start(properties | {"url": f"http://127.0.0.1:{port}"})
        seen = extension.visible([entity("DATASET", "ns1", f"{n:04}" + "x" * 16_000) for n in range(1_000)])

        assert time.monotonic() - began < BOUND
        assert seen == {"error": "Refusal", "status": 503, "text": SAID.format(LATE)}


def test_a_record_of_audit_ends_at_the_deadline_too(newest: Extension, properties: dict[str, str]) -> None:
    with stalling(Stall(OK, b"X: x\r\n")) as port:
        began = time.monotonic()
        newest.start(properties | {"url": f"http://127.0.0.1:{port}"})
        body = json.dumps({"allowed": True})
        request = {"code": 200, "uri": "/v3/x", "method_type": "PUT", "started": 1, "ended": 2}

        assert newest.command("publish", bodies=[body], request=request) == {"status": "UNSUCCESSFUL", "text": LATE}
        assert time.monotonic() - began < BOUND


def test_who_asks_does_not_wait_once_more_for_the_introduction(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    """The introduction has what is left of the time; its failure changes no answer."""
    service.leave()
    extension.start(properties)
    service.listen()
    extension.pass_time(10_000)
    service.hello = Reply(hangs=True)
    service.answers(ALLOWED)
    began = time.monotonic()

    assert extension.enforce()["allowed"]
    assert time.monotonic() - began < BOUND
    assert len(service.hellos) == 1


def test_a_slow_name_server_holds_nobody(service: ScriptedService, properties: dict[str, str], tmp_path: Path) -> None:
    """The file of names is a pipe: a lookup ends when somebody writes into it."""
    if sentence := missing_tool():
        pytest.skip(sentence)
    pipe = tmp_path / "hosts"
    os.mkfifo(pipe)
    with Extension("6.11", f"-Djdk.net.hosts.file={pipe}") as extension:
        began = time.monotonic()
        extension.start(properties | {"url": f"http://service.test:{service.port}", "allow.plain.http": "true"})
        assert extension.enforce()["text"].endswith(SAID.format(LATE))
        before = extension.command("resources")["threads"]
        assert extension.command("enforce together", users=20)["allowed"] == [False] * 20
        # The threads of the twenty users end on their own; none of ours has come.
        while extension.command("resources")["threads"] > before:
            assert time.monotonic() - began < 2 * BOUND

        writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        os.write(writing, b"127.0.0.1 service.test\n")
        os.close(writing)
        service.answers(ALLOWED)
        while not extension.enforce()["allowed"]:
            assert time.monotonic() - began < 4 * BOUND
            extension.pass_time(1_000)


FAILURES = {
    "refused": (10_000, "400", "no connection"),
    "broken": (1_000, "20000", "the connection broke"),
    "late": (300, "20", "no answer within 20 ms"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_calls_that_fail_leave_no_thread_and_no_connection(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    times, timeout, why = FAILURES[name]
    stall = Stall(closes_after=0.0) if name == "broken" else Stall()
    with stalling(stall) as port:
        url = service.url if name == "refused" else f"http://127.0.0.1:{port}"
        if name == "refused":
            service.leave()
        extension.start(properties | {"url": url, "read.timeout.ms": timeout})
        question = {"principal": ALICE.as_json(), "entity": NS1, "permissions": ["STANDARD.GET"]}
        extension.command("enforce each second", times=10, **question)
        before = extension.command("resources")
        texts = extension.command("enforce each second", times=times, **question)["texts"]
        after = extension.command("resources")

    assert [text.rpartition(". ")[2] for text in texts] == [SAID.format(why)]
    assert after["threads"] <= before["threads"] + 2
    assert after["files"] <= before["files"] + 5


TEXT = json.dumps(ALLOWED).encode()
HALF = len(TEXT) // 2
LENGTH = b"Content-Length: %d\r\n" % len(TEXT)
CHUNKS = b"%x\r\n%s\r\n%X;a=b\r\n%s\r\n" % (HALF, TEXT[:HALF], len(TEXT) - HALF, TEXT[HALF:])
USABLE = {
    "chunks": CHUNKED + CHUNKS + b"0\r\n\r\n",
    "chunks with trailers": CHUNKED + CHUNKS + b"00;x\r\nX: y\r\n\r\n",
    "after interim answers": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
    + OK
    + LENGTH
    + b"\r\n"
    + TEXT,
    "small letters and blanks": OK + b"content-length: \t%d \r\n\r\n" % len(TEXT) + TEXT,
    "no words after the status": b"HTTP/1.1 200\r\n" + LENGTH + b"\r\n" + TEXT,
    "lines without a return": OK.replace(b"\r", b"") + LENGTH.replace(b"\r", b"") + b"\n" + TEXT,
}
TO_THE_END = {
    "to the end": OK + b"\r\n" + TEXT,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\n" + TEXT,
    "it says that it closes": OK + LENGTH + b"Connection: Close\r\n\r\n" + TEXT,
}


@pytest.mark.parametrize("name", USABLE)
def test_an_answer_ends_where_it_says(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"read.timeout.ms": "20000"})
    service.answers(*[Reply(raw=USABLE[name]), DENIED] * 3)

    assert [extension.enforce()["allowed"] for _ in range(6)] == [True, False] * 3
    assert {asked.connection for asked in service.asked} == {1}


@pytest.mark.parametrize("name", TO_THE_END)
def test_a_connection_that_ends_is_not_used_again(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"read.timeout.ms": "20000"})
    service.answers(Reply(raw=TO_THE_END[name], cut=name == "to the end"), DENIED)

    assert [extension.enforce()["allowed"] for _ in range(2)] == [True, False]
    assert [asked.connection for asked in service.asked] == [1, 2]


NOT_HTTP = {
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n" + TEXT,
    "no head": TEXT + b"\r\n\r\n",
    "a later version": b"HTTP/2.0 200 OK\r\n" + LENGTH + b"\r\n" + TEXT,
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n" + LENGTH + b"\r\n" + TEXT,
    "a line that goes on": OK + b"X: y\r\n z\r\n" + LENGTH + b"\r\n" + TEXT,
    "a field without a name": OK + b": y\r\n" + LENGTH + b"\r\n" + TEXT,
    "a blank before the colon": OK + LENGTH.replace(b":", b" :") + b"\r\n" + TEXT,
    "two lengths": OK + LENGTH + b"Content-Length: 1\r\n\r\n" + TEXT,
    "the same length twice": OK + LENGTH * 2 + b"\r\n" + TEXT,
    "a length with a sign": OK + b"Content-Length: +%d\r\n\r\n" % len(TEXT) + TEXT,
    "a length and chunks": CHUNKED.replace(b"\r\n\r\n", b"\r\n" + LENGTH) + b"\r\n" + CHUNKS + b"0\r\n\r\n",
    "another coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS + b"0\r\n\r\n",
    "chunks twice": OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n" + CHUNKS + b"0\r\n\r\n",
    "a size that is none": CHUNKED + b"-1\r\n" + TEXT + b"\r\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(TEXT) - 1, TEXT),
}


@pytest.mark.parametrize("name", NOT_HTTP)
def test_an_answer_whose_end_is_in_doubt_denies(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"read.timeout.ms": "20000"})
    service.answers(Reply(raw=NOT_HTTP[name]), ALLOWED)

    assert extension.enforce()["text"].endswith(SAID.format("its answer is not HTTP as agreed"))
    assert extension.enforce()["allowed"]
    assert [asked.connection for asked in service.asked] == [1, 2]


def test_what_comes_after_an_answer_is_not_the_next_one(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"read.timeout.ms": "20000"})
    service.answers(Reply(raw=Reply(DENIED).as_bytes() + Reply(ALLOWED).as_bytes()), DENIED)

    assert [extension.enforce()["allowed"] for _ in range(2)] == [False, False]
    assert [asked.connection for asked in service.asked] == [1, 2]
