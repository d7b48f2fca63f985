"""Notifying decision services: what is sent, each answer as a sentence, and servers that do what they can to us."""

from __future__ import annotations

import base64
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, strategies
from hypothesis import settings as search

from ranger_cdap.config import (
    NetworkSettings,
    NotifySettings,
    RangerSettings,
    Secret,
    Settings,
    SyncSettings,
    read_configuration,
)
from ranger_cdap.errors import DecisionServiceError
from ranger_cdap.net import failures
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.service.http.callers import CallerRole
from spark_sync import notification
from spark_sync.notification import NotifyResult, notify
from tests.certificates import ELSEWHERE, Authority, put
from tests.net.scripted_server import Playing, Script, Then, playing
from tests.service.fixtures import READ_AND_WRITE, World, secret_of, serving
from tests.service.serve_process import ask, configuration, ranger_admin, read, until

SECRET = "marked-secret-0123456789"
CREDENTIALS = base64.b64encode(f"refresh:{SECRET}".encode())
TIMEOUT = 0.2
SLACK = 3.0
"""More seconds than a busy machine needs, and far less than a server here goes on for."""

GOOD = b'{"service":"cdapdev","version":7,"state":"fresh"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: REQUEST-ID\r\n"
WHOLE = OK + b"Content-Length: %d\r\n\r\n" % len(GOOD) + GOOD


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service over `READ_AND_WRITE`."""
    with serving(READ_AND_WRITE, Path(tmp_path_factory.mktemp("service"))) as running:
        yield running


def one(url: str, **more: Any) -> NotifySettings:
    given = {"caller": "refresh", "secret": Secret(SECRET)} | more
    return NotifySettings(url=url, **given)


def to(
    *services: NotifySettings, plain_hosts: tuple[str, ...] = (), ca_file: Path | None = None, **files: Path
) -> Settings:
    network = NetworkSettings(ca_file=str(ca_file) if ca_file else None, plain_hosts=plain_hosts)
    return Settings(sync=SyncSettings(notify=services, **files), network=network)


def of(world: World, caller: str = "refresh", **files: Path) -> Settings:
    return to(one(world.url, caller=caller, secret=Secret(secret_of(caller))), **files)


def problem(results: tuple[NotifyResult, ...]) -> str:
    (result,) = results
    return str(result) if result.problem else ""


# --- the real decision service ---------------------------------------------------------------------------------------


@pytest.fixture
def requested(world: World, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """An entry for each download that is requested of the service."""
    found: list[bool] = []
    monkeypatch.setattr(world.state.authorizer.decider.policies, "request_refresh", lambda: found.append(True))
    return found


@pytest.mark.parametrize("role", CallerRole)
def test_only_a_caller_with_the_role_notifies(world: World, requested: list[bool], role: CallerRole) -> None:
    said = problem(notify(of(world, role), SLACK))
    if role is CallerRole.REFRESH:
        assert (said, requested) == ("", [True])
    else:
        assert ("give that caller the role `refresh`" in said, requested) == (True, [])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"caller": "nobody"}, "does not accept the caller (HTTP 401); correct `caller` and `secret`"),
        ({"secret": Secret("another-secret-0123456789")}, "does not accept the caller (HTTP 401)"),
        ({"url": "{}/decisions"}, "(HTTP 404); correct `url` of `[[sync.notify]]`, or upgrade that service"),
    ],
)
def test_what_the_service_rejects(world: World, change: dict[str, Any], said: str) -> None:
    (service,) = of(world).sync.notify
    changed = change | {"url": str(change.get("url", "{}")).format(world.url)}
    assert said in problem(notify(to(msgspec.structs.replace(service, **changed)), SLACK))


def test_a_service_of_another_ranger_service_is_no_use(world: World) -> None:
    settings = msgspec.structs.replace(of(world), ranger=RangerSettings(service="other"))
    assert "decides by another service of Ranger than `other`" in problem(notify(settings, SLACK))


@pytest.mark.parametrize("shows", ["a client certificate", "none", "one of another authority"])
def test_a_service_with_client_certificates_is_shown_that_of_the_settings(shows: str, tmp_path: Path) -> None:
    authority = Authority("everyone's")
    certificate, key = authority.server().put(tmp_path / "service.pem", tmp_path / "service.key")
    ca = put(tmp_path / "ca.pem", authority.pem)
    signer = Authority("other") if "another" in shows else authority
    shown, shown_key = signer.client().put(tmp_path / "client.pem", tmp_path / "client.key")
    files = {} if shows == "none" else {"cert_file": shown, "key_file": shown_key}
    with serving(READ_AND_WRITE, tmp_path, tls_certificate=certificate, tls_key=key, tls_client_ca=ca) as world:
        said = problem(notify(of(world, ca_file=ca, **files), SLACK))
    assert (said == "") is (shows == "a client certificate")
    assert said == "" or "cannot be reached" in said


def test_changed_grants_are_in_effect_although_the_service_polls_once_an_hour(tmp_path: Path) -> None:
    with ranger_admin() as (server, admin):
        config = configuration(tmp_path, server.url, plugin__poll_interval="3600")
        with DecisionService(read_configuration(config, {}).settings) as service:
            port = int(service.url.rpartition(":")[2])
            settings = to(one(service.url, secret=Secret(secret_of("refresh"))))

            def version() -> int:
                return int(ask(port, "refresh", "GET", "/cdap/v1/policies").json["version"])

            before = version()
            read(admin, "bob", namespace="*")
            assert problem(notify(settings, SLACK)) == ""
            until(lambda: version() > before)
            assert ask(port, "refresh", "GET", f"/cdap/v1/policies?at_least={before + 1}&timeout=0").status == 200


# --- each answer is one sentence --------------------------------------------------------------------------------------

ANSWERS = {
    # what is sent: what is said
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": "does not answer as a decision service; correct `url`",
    OK + b"\r\n<html>": "does not answer as a decision service",
    OK + b"\r\n" + b"[" * 60_000: "does not answer as a decision service",
    OK + b"\r\n\xff\xfe": "does not answer as a decision service",
    OK + b"\r\n" + GOOD.replace(b"7", b'"7"'): "does not answer as a decision service",
    OK + b"\r\n" + GOOD.replace(b"cdapdev", b"\x1b[2J"): "does not answer as a decision service",
    OK + b"\r\n" + GOOD.replace(b"cdapdev", b"another"): "decides by another service of Ranger than `cdapdev`",
    b"SSH-2.0-OpenSSH_9.6\r\n": "does not answer as a decision service",
    b"HTTP/1.1 abc\r\n\r\n": "does not answer as a decision service",
    OK + b"A: " + b"a" * 70_000 + b"\r\n\r\n": "does not answer as a decision service",
    OK + b"A: a\r\n" * 200 + b"\r\n": "does not answer as a decision service",
    OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n": "does not answer as a decision service",
    OK.replace(b"REQUEST-ID", b"another") + b"\r\n" + GOOD: "does not answer as a decision service",
    b"": "does not answer as a decision service",
    b"HTTP/1.1 204 No Content\r\n\r\n": "answers HTTP 204",
    b"HTTP/1.1 400 Bad\r\n\r\n": "answers HTTP 400",
    b"HTTP/1.1 301 Moved\r\nLocation: http://other.example/\r\n\r\n": "answers with a redirect (HTTP 301), which",
    b"HTTP/1.1 401 No\r\n\r\n": "does not accept the caller (HTTP 401)",
    b"HTTP/1.1 403 No\r\n\r\n": "does not let the caller request policies (HTTP 403)",
    b"HTTP/1.1 404 No\r\n\r\n": "has no `/cdap/v1/refresh` (HTTP 404)",
    b"HTTP/1.1 421 No\r\n\r\n": "add the name to its `service.hosts`",
    b"HTTP/1.1 429 No\r\n\r\n": "look at what else uses that caller",
    b"HTTP/1.1 500 Failed\r\n\r\n": "failed (HTTP 500); see its log",
    b"HTTP/1.1 503 Busy\r\n\r\n": "is overloaded (HTTP 503)",
}


@pytest.mark.parametrize("sent", ANSWERS, ids=[repr(sent[:40]) for sent in ANSWERS])
def test_each_answer_is_a_sentence_that_says_what_to_do(sent: bytes) -> None:
    with playing(Script([sent])) as server:
        said = problem(notify(to(one(f"http://127.0.0.1:{server.port}")), SLACK))
    assert ANSWERS[sent] in said
    assert said.startswith(f"the decision service at `http://127.0.0.1:{server.port}` ")
    assert "; " in said


def test_a_good_answer_is_no_problem() -> None:
    with playing(Script([WHOLE])) as server:
        assert problem(notify(to(one(f"http://127.0.0.1:{server.port}")), SLACK)) == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (to(one("http://127.0.0.1:9")), "cannot be reached: the connection was refused; start the service, or correct"),
        (to(one("https://no-such-host.invalid")), "cannot be reached: its name cannot be resolved"),
        (to(one(f"https://{'a' * 70}.example")), "cannot be reached: its name cannot be resolved"),
        (
            to(one("https://127.0.0.1:9"), ca_file=Path("/nowhere/ca.pem")),
            "CA file `/nowhere/ca.pem` cannot be read: No such file or directory",
        ),
        (to(one("http://service.example")), "others can read and change in transit: use https://"),
        (to(one("https://u:hunter2@service.example")), "`sync.notify[].url` must not hold a user name or password"),
        (to(one("service")), "must be an address like `https://decisions.example:6500`"),
    ],
)
def test_a_service_that_is_not_there_or_not_well_set(settings: Settings, said: str) -> None:
    found = problem(notify(settings, SLACK))
    assert said in found
    assert "hunter2" not in found


def test_a_secret_that_is_not_there_is_named_and_nothing_is_sent(tmp_path: Path) -> None:
    config = tmp_path / "x.toml"
    config.write_text('[[sync.notify]]\nurl = "http://127.0.0.1:9"\ncaller = "c"\nsecret = "file:/nowhere/secret"\n')
    settings = read_configuration(config, {}).settings
    with playing(Script([WHOLE])) as server:
        service = msgspec.structs.replace(settings.sync.notify[0], url=f"http://127.0.0.1:{server.port}")
        assert "secret file `/nowhere/secret` cannot be read" in problem(notify(to(service)))


@pytest.mark.parametrize("held", ["its own", "another host's", "of another authority", "expired"])
def test_the_secret_goes_to_a_server_with_a_valid_certificate_only(held: str, tmp_path: Path) -> None:
    authority = Authority("known")
    signer = Authority("unknown") if held == "of another authority" else authority
    signed = signer.server(ELSEWHERE) if "host" in held else signer.server(days=-1 if held == "expired" else 2)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*signed.put(tmp_path / "c.pem", tmp_path / "c.key"))
    heard: list[bytes] = []
    with playing(Script([WHOLE], heard=heard), context) as server:
        ca = put(tmp_path / "ca.pem", authority.pem)
        said = problem(notify(to(one(f"https://127.0.0.1:{server.port}"), ca_file=ca), SLACK))
    assert [CREDENTIALS in request for request in heard] == ([True] if held == "its own" else [])
    assert ("`network.ca_file` names the CA to trust" in said) is (held != "its own")


# --- servers that do what they can -----------------------------------------------------------------------------------


@dataclass
class Witness:
    """A server that must hear nothing: an answer, or the environment, leads to it."""

    url: str
    server: Playing


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    with playing(Script([WHOLE])) as server:
        yield Witness(f"http://127.0.0.1:{server.port}/", server)


def under_way() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ranger-cdap-notification"]


class Notified(Protocol):
    def __call__(self, settings: Settings, timeout: float = TIMEOUT) -> str: ...


@contextmanager
def held_to_the_law(caplog: pytest.LogCaptureFixture, witness: Witness) -> Iterator[Notified]:
    """Notify as a run does, and hold the result, the time and what is left to the law."""
    # httpcore's own debug log, which no command shows, has every header of a response.
    caplog.set_level(logging.INFO)
    for name in ("ranger_cdap", "spark_sync"):
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.clear()

    def notified(settings: Settings, timeout: float = TIMEOUT) -> str:
        began = time.monotonic()
        results = notify(settings, timeout)
        passed = time.monotonic() - began
        assert passed < timeout + SLACK
        said = " ".join([repr(results), *map(str, results), caplog.text])
        assert SECRET not in said
        assert CREDENTIALS.decode() not in said
        assert all(result.problem is None or is_ours(result) for result in results), results
        return problem(results) if len(results) == 1 else said

    yield notified
    for thread in under_way():
        thread.join(SLACK)
    assert under_way() == []
    assert witness.server.connections == 0


KNOWN = {
    notification._NO_SERVICE,
    *notification._BY_STATUS.values(),
    notification._NO_THREAD,
    *(notification._problem_of(DecisionServiceError("", failure=one.reason)) for _, one in failures._FAILURES),
    *(notification._problem_with(status) for status in range(1000)),
    notification.NotifyProblem(
        "decides by another service of Ranger than `cdapdev`", "correct `url` of `[[sync.notify]]`"
    ),
}


def is_ours(result: NotifyResult) -> bool:
    """Whether the sentence is one of ours, so that it holds nothing of the answer but a status."""
    return result.problem in KNOWN


HOSTILE = {
    "silence": Script([], Then.SILENCE),
    "no reading at all": Script([], Then.SILENCE, reads=False),
    "a head byte by byte": Script([OK + b"A: "], Then.AGAIN_SLOWLY),
    "headers for ever": Script([OK, b"A: a\r\n"], Then.AGAIN_SLOWLY),
    "a head that takes seconds to parse": Script([OK, (b"A:" + b"\r" * 65_000 + b"\r\n") * 98, b"\r\n"], Then.SILENCE),
    "provisional answers for ever": Script([b"HTTP/1.1 100 Continue\r\n\r\n"], Then.AGAIN),
    "provisional answers, slowly": Script([b"HTTP/1.1 100 Continue\r\n\r\n"], Then.AGAIN_SLOWLY),
    "a body for ever": Script([OK + b"\r\n", b" " * 65_536], Then.AGAIN),
    "a body byte by byte": Script([OK + b"Content-Length: 999\r\n\r\n", GOOD], Then.AGAIN_SLOWLY),
    "a chunk byte by byte": Script([OK + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n", b"a"], Then.AGAIN_SLOWLY),
    "trailers for ever": Script([OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: a\r\n"], Then.AGAIN),
    "a reset": Script([OK], Then.RESET),
    "an error that does not end": Script([b"HTTP/1.1 500 Failed\r\n\r\n", b"a" * 4096], Then.AGAIN),
}


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
def test_no_server_holds_a_run_or_a_thread(
    script: Script, encrypted: bool, tmp_path: Path, witness: Witness, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority("known")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server().put(tmp_path / "c.pem", tmp_path / "c.key"))
    ca = put(tmp_path / "ca.pem", authority.pem)
    with (
        held_to_the_law(caplog, witness) as notified,
        playing(script, context if encrypted else None) as server,
    ):
        scheme = "https" if encrypted else "http"
        assert notified(to(one(f"{scheme}://127.0.0.1:{server.port}"), ca_file=ca)) != ""
        # While the server goes on: it is our side that ends.
        for thread in under_way():
            thread.join(SLACK)
        assert under_way() == []


@pytest.mark.parametrize("pieces", [[], [b"\x16\x03\x03\x00\x7a\x02"]], ids=["silent", "half a greeting"])
def test_a_handshake_that_hangs_is_ended(
    pieces: list[bytes], witness: Witness, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        held_to_the_law(caplog, witness) as notified,
        playing(Script(pieces, Then.SILENCE)) as server,
    ):
        assert "within the time-out" in notified(to(one(f"https://127.0.0.1:{server.port}")))


def test_a_port_that_accepts_nothing_is_not_waited_for(witness: Witness, caplog: pytest.LogCaptureFixture) -> None:
    """Its backlog is full, so that connections hang."""
    with (
        held_to_the_law(caplog, witness) as notified,
        socket.create_server(("127.0.0.1", 0), backlog=0) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert "within the time-out" in notified(to(one(url)))


def test_a_name_that_is_looked_up_for_long_holds_no_run(
    monkeypatch: pytest.MonkeyPatch, witness: Witness, caplog: pytest.LogCaptureFixture
) -> None:
    """A look-up cannot be ended; when it returns, nothing is sent."""
    resolved = threading.Event()
    heard: list[bytes] = []

    def look_up(*_: object, **__: object) -> list[object]:
        resolved.wait(SLACK * 10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

    with held_to_the_law(caplog, witness) as notified, playing(Script([WHOLE], heard=heard)) as server:
        with monkeypatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", look_up)
            assert "within the time-out" in notified(to(one("http://slow.example"), plain_hosts=("slow.example",)))
            resolved.set()
            for thread in under_way():
                thread.join(SLACK)
        assert heard == []


def test_all_are_notified_at_the_same_time(witness: Witness, caplog: pytest.LogCaptureFixture) -> None:
    """Ten that hang cost the time-out of one, and the one among them that answers is notified."""
    heard: list[bytes] = []
    with (
        held_to_the_law(caplog, witness) as notified,
        playing(Script([], Then.SILENCE)) as silent,
        playing(Script([WHOLE], heard=heard)) as good,
    ):
        hanging = one(f"http://127.0.0.1:{silent.port}")
        began = time.monotonic()
        said = notified(to(*[hanging] * 5, one(f"http://127.0.0.1:{good.port}"), *[hanging] * 5), timeout=1.0)
        passed = time.monotonic() - began
    assert said.count("no answer within the time-out; check") == 10
    assert f"the decision service at `http://127.0.0.1:{good.port}` was notified" in said
    assert len(heard) == 1
    assert passed < 2 * 1.0 + SLACK


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used(
    name: str, witness: Witness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, witness.url)
    with held_to_the_law(caplog, witness) as notified, playing(Script([WHOLE])) as server:
        assert notified(to(one(f"http://127.0.0.1:{server.port}")), SLACK) == ""


def test_a_run_goes_on_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    assert "was not notified: no thread can be started" in problem(notify(to(one("http://127.0.0.1:9"))))


def test_an_unexpected_error_is_named_by_its_type_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr(notification.DecisionClient, "ask", fails)
    assert problem(notify(to(one("http://127.0.0.1:9")))).endswith(" was not notified: KeyError; report it as a defect")


HEADS = [
    OK,
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\n",
    b"HTTP/1.0 200\r\n",
    b"HTTP/1.1 999 \xff\r\n",
    b"HTTP/1.1 407 Proxy\r\n",
    b"HTTP/9 200 OK\r\n",
    *(b"HTTP/1.1 %d No\r\n" % status for status in (204, 301, 304, 307, 308, 401, 403, 404, 421, 429, 500, 503)),
]
FIELDS = [
    b"Location: WITNESS\r\n",
    b"Location: //[\r\n",
    b"WWW-Authenticate: Basic realm=x\r\n",
    b"Retry-After: 99999999999\r\n",
    b"Content-Length: 49\r\n",
    b"Content-Type: application/json\r\nX-Request-Id: REQUEST-ID\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: \xb2\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b" folded\r\n",
    b": no name\r\n",
    b"Set-Cookie: SECRET\r\n",
    b"A" * 66_000 + b": a\r\n",
    b"A: a\r\n" * 99,
]
BODIES = [
    GOOD,
    b"",
    b"31\r\n" + GOOD + b"\r\n0\r\n\r\n",
    b"-5\r\n",
    b"ffffffffffffffff\r\n",
    b"SECRET",
    b"\x1b[2J",
    b"[" * 500,
]
ENDS = [b"\r\n", b"\n", b"\r\n\r\n", b"", b"\0"]


@strategies.composite
def scripts(draw: strategies.DrawFn) -> Script:
    """Answers made of parts that belong together, parts that do not, and bytes."""
    piece = strategies.one_of(
        strategies.sampled_from(HEADS),
        strategies.sampled_from(FIELDS),
        strategies.sampled_from(BODIES),
        strategies.sampled_from(ENDS),
        strategies.binary(max_size=20),
    )
    answer = strategies.builds(
        lambda head, fields, end, body: [head, *fields, end, body],
        strategies.sampled_from(HEADS),
        strategies.lists(strategies.sampled_from(FIELDS), max_size=3),
        strategies.sampled_from(ENDS),
        strategies.sampled_from(BODIES),
    )
    return Script(
        draw(strategies.one_of(answer, strategies.lists(piece, max_size=6))),
        draw(strategies.sampled_from(Then)),
        reads=draw(strategies.booleans()),
    )


def _hunt(script: Script, witness: Witness, caplog: pytest.LogCaptureFixture) -> None:
    names = {b"WITNESS": witness.url.encode(), b"SECRET": SECRET.encode()}
    pieces = list(script.pieces)
    for name, text in names.items():
        pieces = [piece.replace(name, text) for piece in pieces]
    with (
        held_to_the_law(caplog, witness) as notified,
        playing(Script(pieces, script.then, script.reads)) as server,
    ):
        notified(to(one(f"http://127.0.0.1:{server.port}")), timeout=0.05)


@search(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scripts())
@example(Script([b"HTTP/1.1 302 Found\r\nLocation: WITNESS\r\n\r\n"]))
def test_whatever_a_server_answers_the_law_holds(
    witness: Witness, caplog: pytest.LogCaptureFixture, script: Script
) -> None:
    _hunt(script, witness, caplog)


@pytest.mark.slow
@search(max_examples=1500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scripts())
def test_no_script_of_many_breaks_the_law(witness: Witness, caplog: pytest.LogCaptureFixture, script: Script) -> None:
    _hunt(script, witness, caplog)
