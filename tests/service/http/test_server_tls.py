"""With `service.tls_client_ca` every connection shows a client certificate; what a caller proves is needed besides."""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from ranger_cdap.config import ServiceSettings, watched_files
from ranger_cdap.errors import ConfigError
from ranger_cdap.service.http import server_tls
from ranger_cdap.service.http.server import HttpServer, check_exposure
from tests.certificates import FOR_SERVERS, Authority, Signed, put
from tests.service.fixtures import World, serving
from tests.service.http.raw_http import HELLO, answer, head, status

TRUSTED, OTHER = Authority("trusted"), Authority("other")
BRANCH = Authority("branch", above=TRUSTED)
SERVER = Authority("authority of the server")
CLIENT = TRUSTED.client()
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
LIVE = head("GET /health/live HTTP/1.1")
# A record of TLS 1.0 with a beginning that no version has; and what an alert begins with.
OLD_HELLO, ALERT = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", b"\x15"
GREETING = b'{"extension": "0.1.0", "instance": "cdap"}'


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, Path]:
    """The settings of a service that trusts the clients of TRUSTED."""
    certificate, key = SERVER.server().put(tmp_path / "service.pem", tmp_path / "service.key")
    return {
        "tls_certificate": certificate,
        "tls_key": key,
        "tls_client_ca": put(tmp_path / "clients.pem", TRUSTED.pem),
    }


@pytest.fixture
def world(tls: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", 0.0)
    with serving([], tmp_path, **tls) as running:
        yield running


class Client:
    """One TLS client, which keeps its certificate and session."""

    def __init__(
        self, world: World, folder: Path, shown: Signed | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ) -> None:
        address = urlsplit(world.url)
        self._where = address.hostname or "", address.port or 0
        self._context = ssl.create_default_context(cadata=SERVER.pem.decode())
        self._context.minimum_version = self._context.maximum_version = version
        if shown is not None:
            folder = Path(tempfile.mkdtemp(dir=folder))
            self._context.load_cert_chain(*shown.put(folder / "client.pem", folder / "client.key"))
        self.session: ssl.SSLSession | None = None
        self.reused: bool | None = None

    @contextmanager
    def connected(self) -> Iterator[ssl.SSLSocket]:
        with (
            socket.create_connection(self._where, timeout=20) as plain,
            self._context.wrap_socket(plain, server_hostname="127.0.0.1", session=self.session) as connection,
        ):
            yield connection

    def ask(self, request: bytes = LIVE) -> int:
        """The status of the answer; `ssl.SSLError` where the service refuses the connection."""
        with self.connected() as connection:
            connection.sendall(request)
            got = status(answer(connection))
            self.session, self.reused = connection.session, connection.session_reused
            connection.unwrap()  # the service forgets the session of a connection that just breaks
            return got


SHOWN: dict[str, tuple[Signed | None, str]] = {
    # what the client shows, and the alert that refuses it, if it is refused
    "none": (None, "CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE"),
    "of another authority": (OTHER.client(), "UNKNOWN_CA"),
    "expired": (TRUSTED.client(days=-1), "CERTIFICATE_EXPIRED"),
    "for servers": (TRUSTED.client(purpose=FOR_SERVERS), "UNSUPPORTED_CERTIFICATE"),
    "signed by itself, with the name of the authority": (Authority("trusted").client(), "DECRYPT_ERROR|UNKNOWN_CA"),
    "right": (CLIENT, ""),
    "right, of an authority below": (BRANCH.client(), ""),
}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("path", ["/health/live", "/metrics"])
def test_only_a_valid_client_certificate_of_the_authorities_connects(
    world: World, tmp_path: Path, path: str, name: str, version: ssl.TLSVersion
) -> None:
    shown, alert = SHOWN[name]
    client, request = Client(world, tmp_path, shown, version), head(f"GET {path} HTTP/1.1")
    if alert:
        with pytest.raises(ssl.SSLError, match=alert):
            client.ask(request)
    else:
        assert client.ask(request) == 200


def test_without_the_setting_no_certificate_is_asked_for(tls: dict[str, Path], tmp_path: Path) -> None:
    del tls["tls_client_ca"]
    with serving([], tmp_path, **tls) as world:
        assert Client(world, tmp_path, None).ask() == 200


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        ([], 200),
        (["Authorization: Basic ZW5mb3JjZTp3cm9uZy1zZWNyZXQtMDEyMzQ1"], 401),
        (["Authorization: "], 401),
    ],
    ids=["right secret", "wrong secret", "no secret"],
)
def test_a_certificate_never_replaces_a_secret(world: World, tmp_path: Path, proof: list[str], expected: int) -> None:
    """A client certificate that even has the name of a caller opens nothing."""
    request = head(f"POST {HELLO} HTTP/1.1", f"Content-Length: {len(GREETING)}", *proof) + GREETING
    assert Client(world, tmp_path, TRUSTED.client("enforce")).ask(request) == expected


def test_an_authority_that_is_no_root_vouches_for_its_own_clients_only(
    world: World, tls: dict[str, Path], tmp_path: Path
) -> None:
    put(tls["tls_client_ca"], BRANCH.pem)
    assert Client(world, tmp_path, BRANCH.client()).ask() == 200
    with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
        Client(world, tmp_path, CLIENT).ask()


# --- settings -----------------------------------------------------------------------------------------------------


def test_client_certificates_need_a_certificate_of_the_service(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`service\.tls_client_ca` is set and `service\.tls_certificate` is not"):
        HttpServer(ServiceSettings(port=0, tls_client_ca=put(tmp_path / "ca.pem", TRUSTED.pem)))


UNUSABLE: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "no PEM": b"hello",
    "a key": TRUSTED.client().key,
    "a list of revoked certificates": TRUSTED.revoked(),
    "cut off": TRUSTED.pem[:-30],
    "cut off after another one": OTHER.pem + TRUSTED.pem[:-30],
    "a directory": None,
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_file_without_authorities_stops_the_start(name: str, tls: dict[str, Path], tmp_path: Path) -> None:
    content = UNUSABLE[name]
    file = tmp_path / name
    if name == "a directory":
        file.mkdir()
    elif content is not None:
        put(file, content)
    with pytest.raises(ConfigError) as refused:
        HttpServer(ServiceSettings(port=0, **tls | {"tls_client_ca": file}))
    text = str(refused.value)
    assert text.startswith(f"`service.tls_client_ca` `{file}` cannot be used: ")
    assert text.endswith("name a PEM file with the certificates of the authorities whose clients may connect")
    assert "\n" not in text


def test_the_exposure_is_checked_without_reading_files() -> None:
    check_exposure(ServiceSettings(tls_certificate=Path("a"), tls_key=Path("b"), tls_client_ca=Path("c")))


# --- while it runs ------------------------------------------------------------------------------------------------


def test_an_authority_is_replaced_without_a_restart_and_no_valid_client_fails(
    world: World, tls: dict[str, Path], tmp_path: Path
) -> None:
    """Under load: `both` is valid all the time, whichever of its two authorities is the one that is trusted."""
    third = Authority("third")
    steady = Client(world, tmp_path, third.client())
    before, after = Client(world, tmp_path, CLIENT), Client(world, tmp_path, OTHER.client())
    failed, asked, stop = list[Exception](), 0, threading.Event()

    def go_on() -> None:
        nonlocal asked
        while not stop.is_set():
            try:
                assert steady.ask() == 200
                asked += 1
            except Exception as e:
                failed.append(e)

    put(tls["tls_client_ca"], TRUSTED.pem + third.pem)
    load = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in load:
        thread.start()
    try:
        for _ in range(5):
            put(tls["tls_client_ca"], TRUSTED.pem + third.pem)
            assert before.ask() == 200
            with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
                after.ask()
            put(tls["tls_client_ca"], OTHER.pem + third.pem)
            assert after.ask() == 200
            with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
                before.ask()
    finally:
        stop.set()
        for thread in load:
            thread.join()
    assert (failed, asked > 0) == ([], True)


def test_an_open_connection_ends_with_the_next_answer_after_a_change(
    world: World, tls: dict[str, Path], tmp_path: Path
) -> None:
    with Client(world, tmp_path, CLIENT).connected() as connection:
        for _ in range(3):
            connection.sendall(LIVE)
            assert b"connection: close" not in answer(connection)
        put(tls["tls_client_ca"], OTHER.pem)
        connection.sendall(LIVE)
        last = answer(connection)
        assert (status(last), b"connection: close" in last) == (200, True)
        assert connection.recv(1) == b""


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_no_session_outlasts_its_authority(
    world: World, tls: dict[str, Path], tmp_path: Path, version: ssl.TLSVersion
) -> None:
    client = Client(world, tmp_path, CLIENT, version)
    client.ask()
    put(tls["tls_client_ca"], OTHER.pem)
    for _ in range(3):
        with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
            client.ask()
    put(tls["tls_client_ca"], TRUSTED.pem)
    assert (client.ask(), client.reused) == (200, False)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_no_session_outlasts_the_certificate_of_the_client(
    world: World, tmp_path: Path, version: ssl.TLSVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By TLS 1.2 a session is resumed by its number, which OpenSSL allows without another look at the certificate."""
    client = Client(world, tmp_path, CLIENT, version)
    client.ask()
    by_number = version is ssl.TLSVersion.TLSv1_2
    assert (client.ask(), client.reused) == (200, by_number)
    assert client.session is not None
    assert not client.session.has_ticket
    monkeypatch.setattr(server_tls, "time", SimpleNamespace(time=lambda: time.time() + 3 * 24 * 3600))
    if by_number:
        with pytest.raises((OSError, IndexError)):
            client.ask()


@pytest.mark.parametrize("content", [None, b"", b"hello", TRUSTED.pem[:-30]], ids=["none", "empty", "no PEM", "half"])
def test_what_cannot_be_used_changes_nothing_and_is_logged(
    content: bytes | None, world: World, tls: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, client = tls["tls_client_ca"], Client(world, tmp_path, CLIENT)
    file.unlink()
    if content is not None:
        put(file, content)
    assert client.ask() == 200
    assert "those read before stay in use: `service.tls_client_ca`" in caplog.text
    with pytest.raises(ssl.SSLError):
        Client(world, tmp_path, OTHER.client()).ask()
    put(file, OTHER.pem)
    assert Client(world, tmp_path, OTHER.client()).ask() == 200


def test_the_log_says_why_a_client_was_refused(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for name in ("none", "expired"):
        with pytest.raises(ssl.SSLError):
            Client(world, tmp_path, SHOWN[name][0]).ask()
    assert "PEER_DID_NOT_RETURN_A_CERTIFICATE" in caplog.text
    assert "clients need a certificate of `service.tls_client_ca`: certificate has expired" in caplog.text


def test_a_client_that_is_refused_and_goes_on_is_not_heard(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if it is asked to close and sends megabytes; others are served, and a stop does not wait for it."""
    address = urlsplit(world.url)
    context = ssl.create_default_context(cadata=SERVER.pem.decode())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as plain:
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        plain.sendall(outgoing.read())
        while True:
            incoming.write(plain.recv(65536))
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                continue
        client.write(LIVE)
        plain.sendall(outgoing.read())
        alert = plain.recv(65536)
        assert len(alert) < 64
        for _ in range(64):
            client.write(b"x" * 16384)
        plain.sendall(outgoing.read())
        assert Client(world, tmp_path, CLIENT).ask() == 200
        plain.settimeout(0.2)
        with pytest.raises(TimeoutError):
            plain.recv(65536)
        plain.shutdown(socket.SHUT_WR)
        plain.settimeout(20)
        assert plain.recv(65536) == b""


def test_what_a_refused_client_sends_is_not_kept(tls: dict[str, Path]) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = server_tls.ServerTls(ServiceSettings(**tls)).wrap_bio(incoming, outgoing, server_side=True)
    for sent in (OLD_HELLO, b"x" * 100_000, b"x" * 100_000):
        incoming.write(sent)
        with pytest.raises(ssl.SSLWantReadError):
            connection.do_handshake()
    assert (incoming.pending, outgoing.read()[:1]) == (0, ALERT)


def test_a_stop_does_not_wait_for_who_was_refused(tls: dict[str, Path], tmp_path: Path) -> None:
    with ExitStack() as stack:
        with serving([], tmp_path, **tls) as world:
            address = urlsplit(world.url)
            where = address.hostname or "", address.port or 0
            plain = stack.enter_context(socket.create_connection(where, timeout=20))
            plain.sendall(OLD_HELLO)
            assert plain.recv(100)[:1] == ALERT
            began = time.monotonic()
        assert time.monotonic() - began < world.state.limits.stop_seconds
        assert plain.recv(100) == b""


def test_plain_http_is_not_spoken(world: World) -> None:
    address = urlsplit(world.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    connection.request("GET", "/health/live")
    with pytest.raises((http.client.HTTPException, ConnectionError)):  # at once, not by a time-out
        connection.getresponse()
    connection.close()
