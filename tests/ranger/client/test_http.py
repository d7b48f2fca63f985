"""The HTTP below every call: what is sent, what is repeated, what is bounded, and how each failure looks."""

from __future__ import annotations

import base64
import gc
import gzip
import io
import logging
import socket
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import requests
import responses
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.utils import API, HttpMethod, HTTPStatus

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client import http
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.http import AdminHttp, is_addressable, segment

URL = "https://ranger.test:6182"
GET = API("service/thing", HttpMethod.GET, HTTPStatus.OK)
POST = API("service/thing", HttpMethod.POST, HTTPStatus.OK)
PUT = API("service/thing", HttpMethod.PUT, HTTPStatus.OK)
DELETE = API("service/thing", HttpMethod.DELETE, HTTPStatus.NO_CONTENT)
THING = f"{URL}/service/thing"
CONFLICT = {"statusCode": 1, "msgDesc": "org.eclipse.persistence.exceptions.OptimisticLockException"}
PASSWORD = "pässword-1:x"


def admin(url: str = URL, **more: object) -> AdminHttp:
    return AdminHttp(AdminConnection(url, username="cdapsvc", password=Secret(PASSWORD), **more))  # type: ignore[arg-type]


@responses.activate
def test_credentials_are_sent_at_once_and_never_asked_for() -> None:
    responses.get(THING, json={})
    admin().call_api(GET)
    sent = responses.calls[0].request.headers
    assert base64.b64decode(sent["Authorization"].removeprefix("Basic ")).decode() == f"cdapsvc:{PASSWORD}"
    assert not any(name in sent["User-Agent"] for name in ("Mozilla", "Opera", "Chrome"))


@responses.activate
def test_the_environment_changes_neither_the_way_nor_the_credentials(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine ranger.test login mallory password m\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "other.pem"))
    seen: list[object] = []
    monkeypatch.setattr(responses.RequestsMock, "_on_request", _noting(seen, responses.RequestsMock._on_request))
    responses.get(THING, json={})
    admin().call_api(GET)
    assert b"cdapsvc" in base64.b64decode(responses.calls[0].request.headers["Authorization"].removeprefix("Basic "))
    assert [(kwargs["proxies"], kwargs["verify"]) for kwargs in seen] == [({}, True)]  # type: ignore[index]


def _noting(seen: list[object], inner: Callable[..., requests.Response]) -> Callable[..., requests.Response]:
    def on_request(self: object, adapter: object, request: object, **kwargs: object) -> requests.Response:
        seen.append(kwargs)
        return inner(self, adapter, request, **kwargs)

    return on_request


@responses.activate
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    responses.get(THING, status=status, headers={"Location": "http://evil.test/"})
    with pytest.raises(errors.UnexpectedAnswer, match="redirected"):
        admin().call_api(GET)
    assert len(responses.calls) == 1


# method, answers in order, kind of the error at the end (None: it works), requests sent
REPEATS = [
    ("GET after a broken connection", GET, [requests.ConnectionError(), {}], None, 2),
    ("GET after 500", GET, [500, {}], None, 2),
    ("GET after 503 and 429", GET, [503, 429, {}], None, 3),
    ("GET gives up after all attempts", GET, [500, 500, 500, {}], errors.AdminFailed, 3),
    ("GET with a wrong password", GET, [401, {}], errors.AuthenticationFailed, 1),
    ("GET without a right", GET, [403, {}], errors.AccessForbidden, 1),
    ("POST after a conflict", POST, [CONFLICT, {}], None, 2),
    ("POST after 500: it may have worked", POST, [500, {}], errors.AdminFailed, 1),
    ("POST after a broken connection", POST, [requests.ConnectionError(), {}], errors.AdminUnreachable, 1),
    ("PUT after a conflict: look first", PUT, [CONFLICT, {}], errors.ConflictingChange, 1),
    ("DELETE after a conflict: look first", DELETE, [CONFLICT, {}], errors.ConflictingChange, 1),
    ("DELETE after 500", DELETE, [500, {}], errors.AdminFailed, 1),
]


@pytest.mark.parametrize(
    ("api", "answers", "kind", "sent"), [case[1:] for case in REPEATS], ids=[case[0] for case in REPEATS]
)
@responses.activate
def test_only_what_is_safe_is_repeated(
    api: API, answers: list[object], kind: type[errors.RangerAdminError] | None, sent: int
) -> None:
    for answer in answers:
        if isinstance(answer, int):
            responses.add(api.method.value, THING, status=answer)
        elif isinstance(answer, Exception):
            responses.add(api.method.value, THING, body=answer)
        else:
            responses.add(api.method.value, THING, json=answer, status=400 if answer else 200)
    if kind is None:
        assert admin().call_api(api) == {}
    else:
        with pytest.raises(kind):
            admin().call_api(api)
    assert len(responses.calls) == sent


@responses.activate
def test_not_modified_and_no_content_have_no_body() -> None:
    responses.get(THING, status=304)
    responses.delete(THING, status=204)
    assert admin().fetch(GET) is None
    assert admin().fetch(DELETE) is None


@responses.activate
@pytest.mark.parametrize("body", ["<html>login</html>", '{"policies": [', "[" * 100_000])
def test_a_good_status_with_a_body_that_is_not_json_is_unexpected(body: str) -> None:
    responses.get(THING, body=body)
    # Else what earlier tests left would be finalized at the limit of recursion, where finalizers fail.
    gc.collect()
    with pytest.raises(errors.UnexpectedAnswer, match="not JSON") as caught:
        admin().call_api(GET)
    assert "login" not in str(caught.value)


@responses.activate
def test_an_answer_larger_than_the_bound_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LARGEST_ANSWER", 1000)
    responses.get(THING, body=b" " * 1001)
    with pytest.raises(errors.UnexpectedAnswer, match="exceeds 1000 bytes"):
        admin().fetch(GET)


def test_an_answer_that_grows_when_it_is_unpacked_is_bounded_too(
    raw_server: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_LARGEST_ANSWER", 1 << 20)
    packed = gzip.compress(b" " * (50 << 20))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    server = raw_server(lambda c: c.sendall(head.encode() + packed))
    with pytest.raises(errors.UnexpectedAnswer, match="exceeds"):
        admin(server.url).fetch(GET)  # type: ignore[attr-defined]


def test_an_answer_in_chunks_is_read_whole(raw_server: Callable[..., object]) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (n, b"x" * n) for n in (1, 70_000, 300_000)) + b"0\r\n\r\n"
    server = raw_server(lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
    assert admin(server.url).fetch(GET) == b"x" * 370_001  # type: ignore[attr-defined]


def test_an_answer_cut_short_is_no_answer(raw_server: Callable[..., object]) -> None:
    server = raw_server(lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[1, 2]"))
    with pytest.raises(errors.AdminUnreachable):
        admin(server.url, attempts=1).fetch(GET)  # type: ignore[attr-defined]


def test_silence_ends_with_the_read_time_out(raw_server: Callable[..., object]) -> None:
    server = raw_server(lambda c: c.recv(1))
    with pytest.raises(errors.AdminUnreachable, match="time-out"):
        admin(server.url, attempts=1, read_timeout=0.2).fetch(GET)  # type: ignore[attr-defined]


def test_an_answer_that_comes_byte_by_byte_ends_too(raw_server: Callable[..., object]) -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b" ")
            time.sleep(0.01)

    server = raw_server(drip)
    began = time.monotonic()
    with pytest.raises(errors.AdminUnreachable, match="too slow"):
        admin(server.url, attempts=1, read_timeout=0.05).fetch(GET)  # type: ignore[attr-defined]
    assert time.monotonic() - began < 5


def test_a_closed_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(errors.AdminUnreachable, match="connection was refused"):
        admin(f"http://127.0.0.1:{port}", attempts=1).fetch(GET)


def test_a_server_without_tls_is_told_from_one_that_is_away(raw_server: Callable[..., object]) -> None:
    server = raw_server(lambda c: None)
    https = server.url.replace("http://", "https://")  # type: ignore[attr-defined]
    with pytest.raises(errors.AdminUnreachable):
        admin(https, attempts=1, read_timeout=0.5).fetch(GET)


@pytest.mark.parametrize(
    "url",
    ["", "ranger", "ftp://ranger.test", "http://", "http://u:secret@ranger.test", "http://h:port", "http://h/?a=b"],
)
def test_an_address_that_can_not_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        admin(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_ca_file_that_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(errors.ConfigError, match=r"ca\.pem"):
        admin(ca_file=str(path))


def test_a_colon_in_the_user_name_is_refused() -> None:
    with pytest.raises(errors.ConfigError, match="colon"):
        AdminHttp(AdminConnection(URL, username="a:b", password=Secret("x")))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "50%", "a;b", "a\\b", "a\nb", "../../x"])
def test_a_name_that_a_path_can_not_carry_is_refused(name: str) -> None:
    assert not is_addressable(name)
    with pytest.raises(errors.InvalidInput):
        segment(name)


@pytest.mark.parametrize(("name", "sent"), [("ns1 full", "ns1%20full"), ("a?b#c", "a%3Fb%23c"), ("ü", "%C3%BC")])
@responses.activate
def test_other_names_reach_ranger_as_they_are(name: str, sent: str) -> None:
    responses.get(f"{URL}/service/by/{sent}", json={})
    admin().call_api(API("service/by/{n}", HttpMethod.GET, HTTPStatus.OK).format_path({"n": segment(name)}))
    assert str(responses.calls[0].request.url).endswith(f"/service/by/{sent}")


@responses.activate
def test_the_library_on_top_gets_our_errors_and_prints_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """`RangerClient` over this transport: no None for a 404, nothing on standard output, no secret in any log."""
    caplog.set_level(logging.DEBUG)
    url = f"{URL}/service/public/v2/api/service"
    responses.get(f"{url}/name/nosuch", status=404, json={"statusCode": 404, "msgDesc": "Not found"})
    responses.get(f"{url}/name/cdapdev", json={"id": 4, "name": "cdapdev"})
    responses.post(url, status=400, json={"statusCode": 1, "msgDesc": "error code[1007]"})
    client = RangerClient(URL, None)
    client.client_http = admin()
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert client.get_service("cdapdev").id == 4
        with pytest.raises(errors.NotFound):
            client.get_service("nosuch")
        with pytest.raises(errors.RequestRejected):
            client.create_service({"configs": {"password": PASSWORD}})
    assert printed.getvalue() == ""
    assert PASSWORD not in caplog.text
