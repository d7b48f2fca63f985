"""What comes over the network, good or bad: hosts, sizes, slowness, garbage."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.table import ROUTES
from tests.service.fixtures import World, serving
from tests.service.http.raw_http import HELLO, answer, head, send, status, under_way

ENFORCE = "/cdap/v1/enforce"
QUESTION = {"principal": {"name": "alice"}, "entity": {"type": "NAMESPACE", "parts": ["ns1"]}, "permissions": []}


# --- hosts --------------------------------------------------------------------------------------------------------

HOSTS = [
    ("127.0.0.1", 200),
    ("127.0.0.1:6500", 200),
    ("localhost", 200),
    ("LOCALHOST:1", 200),
    ("[::1]:6500", 200),
    ("ranger-cdap.example", 200),
    ("evil.example", 421),
    ("evil.example:6500", 421),
    ("127.0.0.1.evil.example", 421),
    ("127.0.0.1@evil.example", 421),
    ("127.0.0.1:x", 421),
    ("127.0.0.1 ", 421),
    ("", 421),
]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving([], tmp_path_factory.mktemp("named"), hosts=("Ranger-Cdap.example",)) as world:
        yield world


@pytest.mark.parametrize(("host", "expected"), HOSTS)
def test_the_service_answers_under_names_that_are_its_own(named: World, host: str, expected: int) -> None:
    assert status(send(named, head("GET /health/live HTTP/1.1", f"Host: {host}"))) == expected


ADDRESSES = ["10.42.0.17", "10.42.0.17:6500", "[fd00::1]:6500", "[FD00::1]"]
NO_ADDRESSES = [
    "fd00::1",
    "[10.42.0.17]",
    "10.42.0",
    "0x0a2a0011",
    "10.42.0.17.evil.example",
    "[fd00::1",
    "10.42.0.\uff11",
]


@pytest.mark.parametrize("host", ADDRESSES)
def test_probes_and_prometheus_may_use_the_address_of_the_pod_and_others_may_not(named: World, host: str) -> None:
    for row in ROUTES:
        request = head(f"{row.method} {row.path} HTTP/1.1", f"Host: {host}")
        is_public = row.method == "GET" and not row.roles
        assert (row.path, status(send(named, request)) == 421) == (row.path, not is_public)
    for request_line in (
        "POST /metrics",
        "GET /metrics/",
        "GET /metrics/../cdap/v1/enforce",
        "GET //metrics",
        "GET /cdap",
    ):
        assert status(send(named, head(f"{request_line} HTTP/1.1", f"Host: {host}"))) == 421


@pytest.mark.parametrize("host", NO_ADDRESSES)
def test_what_only_looks_like_an_address_is_none(named: World, host: str) -> None:
    request = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    assert status(send(named, request)) in (400, 421)


@pytest.mark.parametrize(
    "hosts", [(), ("Host: 127.0.0.1", "Host: evil.example"), ("Host: evil.example", "Host: localhost")]
)
def test_no_host_or_two_are_none(world: World, hosts: tuple[str, ...]) -> None:
    lines = ["GET /health/live HTTP/1.1", *hosts, "", ""]
    assert status(send(world, "\r\n".join(lines).encode())) in (400, 421)


# --- bodies -------------------------------------------------------------------------------------------------------

GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"nonsense",
    "cut": b'{"extension":"x"',
    "something behind": b'{"extension":"x"} x',
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "no UTF-8": b'{"extension":"\xff"}',
    "half a character": b'{"extension":"\\ud800"}',
    "a zero byte": b'{"extension":"\x00"}',
    "a byte order mark": b'\xef\xbb\xbf{"extension":"x"}',
    "deep": b'{"admin_users":' + b"[" * 100_000,
    "deep and closed": b'{"admin_users":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a wrong type": b'{"extension":1}',
    "a null": b'{"extension":null}',
    "a field twice": b'{"extension":"x","extension":"y"}',
    "a field twice, written otherwise": b'{"extension":"x","\\u0065xtension":"y"}',
    "an unknown field": b'{"extension":"x","groups":["admins"]}',
    "a missing field": b"{}",
    "NaN": b'{"extension":NaN}',
}


@pytest.mark.parametrize("case", GARBAGE)
def test_a_body_that_is_not_what_is_taken_is_refused_in_one_line(world: World, case: str) -> None:
    answer = world.ask("enforce", "POST", HELLO, GARBAGE[case])
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")
    assert answer.json["message"].startswith(f"the body is not valid for `{HELLO}`: ")
    assert len(answer.json["message"]) < 400
    assert "\n" not in answer.json["message"]


@pytest.mark.parametrize("row", [row for row in ROUTES if row.takes], ids=lambda row: row.path)
def test_every_endpoint_survives_garbage(world: World, row: Any) -> None:
    for body in GARBAGE.values():
        for role in row.roles:
            assert 400 <= world.ask(role.value, row.method, row.path, body).status < 500


FORBIDDEN_KNOWLEDGE = [
    {"principal": {"name": "eve", "groups": ["admins"]}},
    {"principal": {"name": "eve", "roles": ["admin"]}},
    {"groups": ["admins"]},
    {"roles": ["admin"]},
    {"owner": "eve"},
    {"entity": {"type": "NAMESPACE", "parts": ["ns1"], "owner": "eve"}},
    {"attributes": {"department": "x"}},
]


@pytest.mark.parametrize("more", FORBIDDEN_KNOWLEDGE, ids=json.dumps)
def test_who_enforces_brings_no_groups_roles_or_owner(world: World, more: dict[str, Any]) -> None:
    assert world.ask("enforce", "POST", ENFORCE, QUESTION | more).status == 400
    question = {"principal": {"name": "eve"}, "entities": []} | {k: v for k, v in more.items() if k != "entity"}
    if "entity" not in more:
        assert world.ask("enforce", "POST", "/cdap/v1/visible", question).status == 400


KINDS = [
    ("application/json", 200),
    ("application/json; charset=utf-8", 200),
    ("Application/JSON", 200),
    ("text/plain", 415),
    ("application/x-www-form-urlencoded", 415),
    ("multipart/form-data; boundary=x", 415),
    ("text/plain; application/json", 415),
    ("", 415),
]


@pytest.mark.parametrize(("kind", "expected"), KINDS)
def test_a_body_says_that_it_is_json_which_a_page_of_another_site_can_not(
    world: World, kind: str, expected: int
) -> None:
    assert world.ask("enforce", "POST", HELLO, b'{"extension":"x"}', Content_Type=kind).status == expected


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving([], tmp_path_factory.mktemp("small"), limits=ServiceLimits(body=100, request_seconds=0.3)) as world:
        yield world


def test_a_body_that_says_it_is_too_long_is_not_read(small: World) -> None:
    response = send(small, head(f"POST {HELLO} HTTP/1.1", "Content-Length: 101"))
    assert status(response) == 413
    assert b"PAYLOAD_TOO_LARGE" in response
    assert b"connection: close" in response.lower()


@pytest.mark.parametrize(
    ("path", "kind", "begin"),
    [
        (HELLO, b"application/json", b"{"),
        ("/access/v1/evaluation", b"application/json", b'"'),
        ("/no/such/path", b"application/json", b"{"),
    ],
)
@pytest.mark.parametrize(("header", "expected"), [("Content-Length: 101", 413), ("Host: evil.example", 421)])
def test_what_is_refused_beforehand_has_the_form_of_the_errors_of_its_path(
    small: World, path: str, kind: bytes, begin: bytes, header: str, expected: int
) -> None:
    response = send(small, head(f"POST {path} HTTP/1.1", header))
    assert status(response) == expected
    headers, _, body = response.partition(b"\r\n\r\n")
    assert b"content-type: " + kind in headers.lower()
    assert body.startswith(begin)


def test_a_body_that_becomes_too_long_is_not_read_to_its_end(small: World) -> None:
    chunk = b"32\r\n" + b" " * 50 + b"\r\n"
    response = send(small, head(f"POST {HELLO} HTTP/1.1", "Transfer-Encoding: chunked"), chunk, chunk, chunk)
    assert status(response) == 413


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "99999999999999999999", "5, 5", "0x10"])
def test_a_length_that_is_none_is_refused(small: World, length: str) -> None:
    assert status(send(small, head(f"POST {HELLO} HTTP/1.1", f"Content-Length: {length}"))) in (400, 413)


def test_a_body_that_does_not_come_is_not_waited_for(small: World) -> None:
    response = send(small, head(f"POST {HELLO} HTTP/1.1", "Content-Length: 50"), b'{"extension"')
    assert status(response) == 408
    assert b"connection: close" in response.lower()


def test_nobody_unknown_makes_the_service_wait_for_his_body(small: World) -> None:
    response = send(small, head(f"POST {HELLO} HTTP/1.1", "Content-Length: 50", "Authorization: Basic x"))
    assert status(response) == 401


# --- what is not there --------------------------------------------------------------------------------------------


METHODS = {path: {row.method for row in ROUTES if row.path == path} for path in {row.path for row in ROUTES}}


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row.method} {row.path}")
def test_another_method_is_refused_and_the_right_one_named(world: World, row: Any) -> None:
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FLY"} - METHODS[row.path]:
        answer = world.ask("delegate", method, row.path)
        if method == "FLY":
            assert answer.status in (400, 405)
        else:
            assert (answer.status, row.method in answer.headers["allow"]) == (405, True)
        assert "access-control-allow-origin" not in answer.headers


NOWHERE = ["/nothing", "/cdap/v1/enforce/", "/cdap/v1", "/cdap/v2/enforce", "/CDAP/v1/enforce", "/../x", "/%2e%2e"]


@pytest.mark.parametrize("path", NOWHERE)
def test_an_unknown_path_is_not_there(world: World, path: str) -> None:
    answer = world.ask("enforce", "POST", path, {})
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


# --- too many at once ---------------------------------------------------------------------------------------------


def test_too_many_at_once_are_told_to_come_again(tmp_path: Path) -> None:
    with serving([], tmp_path, limits=ServiceLimits(requests=1)) as world:
        address = urlsplit(world.url)
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as slow:
            slow.sendall(head(f"POST {HELLO} HTTP/1.1", "Content-Length: 17"))
            under_way(world, 1)
            busy = world.ask("enforce", "POST", HELLO, {"extension": "x"})
            assert (busy.status, busy.json["code"], busy.headers["retry-after"]) == (503, "SERVICE_UNAVAILABLE", "1")
            slow.sendall(b'{"extension":"x"}')
            assert status(answer(slow)) == 200
        assert world.ask("enforce", "POST", HELLO, {"extension": "x"}).status == 200


# --- request ids and headers --------------------------------------------------------------------------------------

IDS = [
    ("abc-1.2:3_4", True),
    ("x" * 128, True),
    ("x" * 129, False),
    ("", False),
    ("two words", True),
    ('"}, {"level":"error', True),
    ("<script>", True),
    ("caf\xe9", True),
    ("a\tb", True),
]


@pytest.mark.parametrize(("given", "echoed"), IDS)
def test_the_name_of_a_request_is_echoed_unless_it_is_too_long(world: World, given: str, echoed: bool) -> None:
    response = send(world, head("GET /health/live HTTP/1.1", f"X-Request-Id: {given}"))
    found = re.search(rb"(?i)\r\nx-request-id: ([^\r]*)\r\n", response)
    assert found
    assert (found[1].decode("latin-1") == given) is echoed
    assert 1 <= len(found[1]) <= 128


def test_answered_probes_and_scrapes_are_no_news(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ranger_cdap.service.requests")
    wanted = []
    for row in ROUTES:
        code = status(send(world, head(f"{row.method} {row.path} HTTP/1.1", "Host: localhost")))
        if row.method != "GET" or row.roles or code != 200:
            wanted.append((row.path, code))
    assert status(send(world, head("GET /nothing HTTP/1.1", "Host: localhost"))) == 404
    end = time.monotonic() + 10
    while not (found := [(record.route, record.status) for record in caplog.records]) or found[-1][1] != 404:  # type: ignore[attr-defined]
        assert time.monotonic() < end
        time.sleep(0.01)
    assert found[:-1] == wanted


def test_answers_are_for_nobody_elses_page_and_for_no_cache(world: World) -> None:
    answers = [
        world.ask(None, "GET", "/health/live"),
        world.ask("enforce", "POST", HELLO, {"extension": "x"}),
        world.ask(None, "POST", HELLO, {}),
        world.ask("delegate", "GET", "/"),
        world.ask(None, "GET", "/nothing"),
        world.ask(None, "GET", "/health/live", Host="evil.example"),
    ]
    assert {answer.status for answer in answers} == {200, 401, 404, 421}
    for one in answers:
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["x-frame-options"] == "DENY"
        assert one.headers["referrer-policy"] == "same-origin"
        assert "default-src 'none'" in one.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in one.headers["content-security-policy"]
        assert "server" not in one.headers
        assert "access-control-allow-origin" not in one.headers
