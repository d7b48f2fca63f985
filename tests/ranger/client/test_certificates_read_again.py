"""Certificates of a client are read again when their files change; nobody who asks meanwhile fails."""

from __future__ import annotations

import logging
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ranger_cdap.config import Address, watched_files
from ranger_cdap.net.exchange import Exchange, NoResponse
from ranger_cdap.net.tls import TlsFiles

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with `openssl`")


class Handler(BaseHTTPRequestHandler):
    """Answers with the name in the client's certificate."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        shown = self.connection.getpeercert()  # type: ignore[attr-defined]
        body = str(dict(entry[0] for entry in shown["subject"])["commonName"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Self-signed: `server`, `other` (another server's), `first` and `second` (two clients')."""
    directory = tmp_path_factory.mktemp("certificates")
    new = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -addext"
    for name in ("server", "other", "first", "second"):
        files = ["-subj", f"/CN={name}", "-out", str(directory / name), "-keyout", str(directory / f"{name}.key")]
        subprocess.run([*new.split(), "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True)
    (directory / "clients").write_text("".join((directory / name).read_text() for name in ("first", "second")))
    return directory


@pytest.fixture
def server(certificates: Path) -> Iterator[Address]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates / "clients")
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    running.socket = context.wrap_socket(running.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield Address(f"https://127.0.0.1:{running.server_port}")
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def files(certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`ca` and `client` (certificate and key) of the client, which trusts the server and is the first."""
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", 0.0)
    put(tmp_path / "ca", (certificates / "server").read_bytes())
    put(tmp_path / "client", client(certificates, "first"))
    return tmp_path


def client(certificates: Path, name: str) -> bytes:
    return (certificates / name).read_bytes() + (certificates / f"{name}.key").read_bytes()


def put(file: Path, content: bytes) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(file)


def exchange_of(files: Path) -> Exchange:
    return Exchange(TlsFiles(str(files / "ca"), str(files / "client")), read_timeout=10.0)


def ask(exchange: Exchange, server: Address) -> str:
    body = exchange.ask(server, "GET", "/", query=None, body=None, headers=None, largest=100).body
    return body.decode()


def test_a_client_shows_its_new_certificate(files: Path, certificates: Path, server: Address) -> None:
    exchange = exchange_of(files)
    assert ask(exchange, server) == "first"
    put(files / "client", client(certificates, "second"))
    assert ask(exchange, server) == "second"
    exchange.close()


def test_an_authority_that_is_taken_out_is_trusted_no_more(files: Path, certificates: Path, server: Address) -> None:
    """Not by a connection that is open already either."""
    exchange = exchange_of(files)
    assert ask(exchange, server) == "first"
    put(files / "ca", (certificates / "other").read_bytes())
    with pytest.raises(NoResponse, match="certificate"):
        ask(exchange, server)
    put(files / "ca", b"".join((certificates / name).read_bytes() for name in ("other", "server")))
    assert ask(exchange, server) == "first"
    exchange.close()


@pytest.mark.parametrize("name", ["ca", "client"])
@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_files_that_cannot_be_used_leave_those_before_in_use(
    files: Path, server: Address, name: str, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    exchange = exchange_of(files)
    (files / name).unlink()
    if content is not None:
        put(files / name, content)
    assert ask(exchange, server) == "first"
    assert "the previous certificates stay in use" in caplog.text
    exchange.close()


def test_nobody_fails_while_certificates_change_under_load(
    files: Path, certificates: Path, server: Address, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    exchange, stop = exchange_of(files), threading.Event()
    failed, seen = list[Exception](), set[str]()

    def go_on() -> None:
        while not stop.is_set():
            try:
                seen.add(ask(exchange, server))
            except Exception as e:
                failed.append(e)

    asking = [threading.Thread(target=go_on) for _ in range(4)]
    for thread in asking:
        thread.start()
    for n in range(20):
        put(files / "client", client(certificates, ("second", "first")[n % 2]))
        put(files / "ca", (certificates / "server").read_bytes() + (certificates / "other").read_bytes() * (n % 3))
        time.sleep(0.05)
    stop.set()
    for thread in asking:
        thread.join()
    exchange.close()
    assert failed == []
    assert seen == {"first", "second"}
