"""What hostile callers send to the embedded Ranger Admin."""

from __future__ import annotations

import contextlib
import http.client
import socket
from urllib.parse import urlsplit

import pytest

from tests.testing.admin.caller import PASSWORD, V2, Caller, download, policy
from tests.testing.admin.exchanges import basic, send
from tests.testing.admin.left_out import UNSUPPORTED, UnsupportedEndpoint

BODIES = [b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b'{"name":{"x":1}}']


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:12]))
def test_a_body_that_is_not_a_document_is_refused_and_changes_nothing(shared: Caller, body: bytes) -> None:
    before = download(shared)[1]["policyVersion"]
    headers = {"authorization": basic("admin", PASSWORD), "content-type": "application/json"}
    for path in (f"{V2}/policy", f"{V2}/service", f"{V2}/servicedef", f"{V2}/roles", "/service/xusers/secure/users"):
        status, _, answer = send(shared.url, "POST", path, headers=headers, body=body)
        assert status == 400, path
        assert b"Traceback" not in answer
    assert download(shared)[1]["policyVersion"] == before


PATHS = [
    (f"{V2}/service/../../../../etc/passwd", 404),
    (f"{V2}/service/cdapdev/policy/..%2f..%2fx", 400),
    (f"{V2}/service/%2e%2e/policy", 404),
    (f"{V2}/service/cdapdev;admin=1", 404),
    (f"{V2}//service", 404),
    (f"{V2}/service/cdapdev/policy/a%00b", 404),
    (f"{V2}/service/99999999999999999999999", 404),
    (f"{V2}/service/-1", 400),
    (f"{V2}/service/name/{'x' * 5000}", 404),
    (f"{V2}/policy/1%20OR%201=1", 404),
    (f"{V2}/service/cdapdev/policy/'%20OR%20'1'='1", 404),
    (f"{V2}/policy?serviceName=cdapdev&startIndex=x", 404),
    ("/", 404),
    ("/../", 404),
]


@pytest.mark.parametrize(("path", "status"), PATHS, ids=lambda value: str(value)[:40])
def test_path_tricks_find_nothing(shared: Caller, path: str, status: int) -> None:
    assert shared("GET", path)[0] == status


HEADERS = [
    {"authorization": "Basic"},
    {"authorization": "Basic !!!"},
    {"authorization": "Basic Og=="},
    {"authorization": "Basic /////w=="},
    {"authorization": "Bearer x"},
    {"authorization": basic("admin", PASSWORD + "\x00")},
    {"authorization": basic("admin' --", PASSWORD)},
    {"authorization": basic("Admin", PASSWORD)},
    {"cookie": "RANGERADMINSESSIONID=1"},
    {"x-forwarded-user": "admin"},
]


@pytest.mark.parametrize("headers", HEADERS, ids=str)
def test_nobody_comes_in_by_a_trick(shared: Caller, headers: dict[str, str]) -> None:
    status, answered, _ = send(shared.url, "GET", f"{V2}/service", headers=headers, body=None)
    assert (status, "www-authenticate" in answered) == (401, False)


def test_a_caller_without_credentials_who_is_a_page_is_told_that_his_session_ended(admin: Caller) -> None:
    assert admin.as_user(None)("GET", f"{V2}/service", x_requested_with="XMLHttpRequest")[0] == 419


def test_a_browser_may_not_change_anything_even_with_the_right_password(cdapdev: Caller) -> None:
    browser = {"user_agent": "Mozilla/5.0 (X11; Linux) Chrome/120"}
    assert cdapdev("GET", f"{V2}/service", **browser)[0] == 200
    assert cdapdev("POST", f"{V2}/policy", policy(), **browser)[0] == 400
    assert cdapdev("DELETE", f"{V2}/service/name/cdapdev", **browser)[0] == 400
    assert cdapdev("POST", f"{V2}/policy", policy())[0] == 200


def test_a_body_without_end_is_cut_off(cdapdev: Caller) -> None:
    where = urlsplit(cdapdev.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    connection.putrequest("POST", f"{V2}/policy")
    connection.putheader("Authorization", basic("admin", PASSWORD))
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    answered = None
    try:
        for _ in range(200):
            connection.send(chunk)
    except (BrokenPipeError, ConnectionResetError):
        answered = "closed"
    else:
        answered = connection.getresponse().status
    finally:
        connection.close()
    assert answered in ("closed", 413)
    assert cdapdev("GET", f"{V2}/service")[0] == 200


def test_what_is_no_http_does_no_harm(cdapdev: Caller) -> None:
    where = urlsplit(cdapdev.url)
    many_headers = b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100_000
    for garbage in (b"\x16\x03\x01" * 100, b"GET\r\n\r\n", many_headers, b"\0" * 70_000):
        # The server may hang up at any moment.
        with socket.create_connection((where.hostname, where.port), timeout=10) as peer, contextlib.suppress(OSError):
            peer.sendall(garbage)
            peer.shutdown(socket.SHUT_WR)
            peer.recv(100)
    assert cdapdev("GET", f"{V2}/service")[0] == 200


def test_a_condition_that_the_definition_does_not_have_is_refused(cdapdev: Caller) -> None:
    item = {"users": ["alice"], "accesses": [{"type": "read"}]}
    known = {**item, "conditions": [{"type": "_expression", "values": ["true"]}]}
    unknown = {**item, "conditions": [{"type": "ip-range", "values": ["10.0.0.0/8"]}]}
    assert cdapdev("POST", f"{V2}/policy", policy(policyItems=[known]))[0] == 200
    assert cdapdev("POST", f"{V2}/policy", policy("q", "ns2", denyPolicyItems=[unknown]))[0] == 400


@pytest.mark.parametrize("left_out", UNSUPPORTED, ids=lambda left_out: left_out.reason[:40])
def test_what_is_left_out_is_refused_and_never_half_done(shared: Caller, left_out: UnsupportedEndpoint) -> None:
    for method, path in left_out.requests:
        assert shared(method, path, None if method in ("GET", "DELETE") else {}) in ((404, None), (405, None)), path
