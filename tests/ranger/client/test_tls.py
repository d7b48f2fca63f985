"""TLS to Ranger Admin: the certificate is verified, always, by the system's store or by the CA file configured."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from apache_ranger.utils import API, HttpMethod, HTTPStatus

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.http import AdminHttp

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with `openssl`")

GET = API("service/thing", HttpMethod.GET, HTTPStatus.OK)


class Handler(BaseHTTPRequestHandler):
    """Answers everything with an empty object, and remembers who asked."""

    asked: list[str | None]

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Authorization"))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[[str], Path]:
    """Make a self-signed certificate for a subject, its key beside it."""

    def make(subject: str) -> Path:
        path = tmp_path / f"{subject.replace(':', '-')}.pem"
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ranger.test"
        )
        files = ["-addext", f"subjectAltName={subject}", "-out", str(path), "-keyout", f"{path}.key"]
        subprocess.run([*command.split(), *files], check=True, capture_output=True)
        return path

    return make


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[str, list[str | None]]]]:
    """Serve with a certificate: the address and the credentials that arrived."""
    running: list[tuple[HTTPServer, threading.Thread]] = []

    def start(certificate: Path, *, clients: Path | None = None) -> tuple[str, list[str | None]]:
        handler = type("Asked", (Handler,), {"asked": []})
        server = HTTPServer(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, f"{certificate}.key")
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"https://127.0.0.1:{server.server_port}", handler.asked

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(url: str, ca_file: Path | None) -> object:
    http = AdminHttp(
        AdminConnection(
            url, username="svc", password=Secret("x"), ca_file=str(ca_file) if ca_file else None, attempts=1
        )
    )
    try:
        return http.call_api(GET)
    finally:
        http.close()


def test_a_certificate_of_the_configured_ca_is_accepted(
    certificate: Callable[[str], Path], serve: Callable[..., tuple[str, list[str | None]]]
) -> None:
    own = certificate("IP:127.0.0.1")
    url, asked = serve(own)
    assert ask(url, own) == {}
    assert len(asked) == 1


@pytest.mark.parametrize("trusted", ["nobody", "another CA", "itself, but it is for another host"])
def test_no_password_goes_to_a_server_that_can_not_prove_who_it_is(
    certificate: Callable[[str], Path], serve: Callable[..., tuple[str, list[str | None]]], trusted: str
) -> None:
    elsewhere = trusted.startswith("itself")
    own = certificate("DNS:elsewhere.test" if elsewhere else "IP:127.0.0.1")
    ca_file = {"nobody": None, "another CA": certificate("DNS:other.test")}.get(trusted, own)
    url, asked = serve(own)
    with pytest.raises(errors.AdminUnreachable, match="certificate"):
        ask(url, ca_file)
    assert asked == []


def test_without_a_ca_file_the_authorities_of_the_system_are_trusted(
    certificate: Callable[[str], Path],
    serve: Callable[..., tuple[str, list[str | None]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = certificate("IP:127.0.0.1")
    url, _ = serve(own)
    monkeypatch.setenv("SSL_CERT_FILE", str(own))  # where the system's store is, for OpenSSL
    assert ask(url, None) == {}


def test_a_ca_file_is_trusted_instead_of_the_system(
    certificate: Callable[[str], Path],
    serve: Callable[..., tuple[str, list[str | None]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = certificate("IP:127.0.0.1")
    url, asked = serve(own)
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    with pytest.raises(errors.AdminUnreachable, match="certificate"):
        ask(url, certificate("DNS:other.test"))
    assert asked == []


def test_the_client_certificate_is_shown(
    certificate: Callable[[str], Path], serve: Callable[..., tuple[str, list[str | None]]]
) -> None:
    own, ours = certificate("IP:127.0.0.1"), certificate("DNS:client.test")
    url, asked = serve(own, clients=ours)
    sign_in = {"auth": "certificate", "cert_file": str(ours), "key_file": f"{ours}.key"}
    http = AdminHttp(AdminConnection(url, username="", password=Secret(""), ca_file=str(own), attempts=1, **sign_in))  # type: ignore[arg-type]
    assert http.call_api(GET) == {}
    assert asked == [None]
    http.close()
    with pytest.raises(errors.AdminUnreachable):
        ask(url, own)


@pytest.mark.parametrize("wrong", ["no such file", "key of another", "encrypted key"])
def test_a_client_certificate_that_can_not_be_used_is_one_sentence(
    certificate: Callable[[str], Path], tmp_path: Path, wrong: str
) -> None:
    ours = certificate("DNS:client.test")
    key = {"no such file": tmp_path / "nowhere.key", "key of another": Path(f"{certificate('DNS:other.test')}.key")}
    if wrong == "encrypted key":
        key[wrong] = tmp_path / "encrypted.key"
        command = [
            "openssl",
            "ec",
            "-in",
            f"{ours}.key",
            "-aes256",
            "-passout",
            "pass:hunter2",
            "-out",
            str(key[wrong]),
        ]
        subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(errors.ConfigError, match="client certificate"):
        AdminHttp(
            AdminConnection(
                "https://ranger.test",
                username="svc",
                password=Secret("x"),
                cert_file=str(ours),
                key_file=str(key[wrong]),
            )
        )


def test_authorities_that_a_library_brings_are_not_trusted(
    certificate: Callable[[str], Path],
    serve: Callable[..., tuple[str, list[str | None]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = certificate("IP:127.0.0.1")
    url, asked = serve(own)
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(own))
    with pytest.raises(errors.AdminUnreachable, match="certificate"):
        ask(url, certificate("DNS:other.test"))
    assert asked == []
