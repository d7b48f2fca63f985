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
from ranger_cdap.policies.http import AdminHttp

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
def serve() -> Iterator[Callable[[Path], tuple[str, list[str | None]]]]:
    """Serve with a certificate: the address and the credentials that arrived."""
    running: list[tuple[HTTPServer, threading.Thread]] = []

    def start(certificate: Path) -> tuple[str, list[str | None]]:
        handler = type("Asked", (Handler,), {"asked": []})
        server = HTTPServer(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, f"{certificate}.key")
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
    http = AdminHttp(url, username="svc", password=Secret("x"), ca_file=str(ca_file) if ca_file else None, attempts=1)
    try:
        return http.call_api(GET)
    finally:
        http.close()


def test_a_certificate_of_the_configured_ca_is_accepted(
    certificate: Callable[[str], Path], serve: Callable[[Path], tuple[str, list[str | None]]]
) -> None:
    own = certificate("IP:127.0.0.1")
    url, asked = serve(own)
    assert ask(url, own) == {}
    assert len(asked) == 1


@pytest.mark.parametrize("trusted", ["nobody", "another CA", "itself, but it is for another host"])
def test_no_password_goes_to_a_server_that_can_not_prove_who_it_is(
    certificate: Callable[[str], Path], serve: Callable[[Path], tuple[str, list[str | None]]], trusted: str
) -> None:
    elsewhere = trusted.startswith("itself")
    own = certificate("DNS:elsewhere.test" if elsewhere else "IP:127.0.0.1")
    ca_file = {"nobody": None, "another CA": certificate("DNS:other.test")}.get(trusted, own)
    url, asked = serve(own)
    with pytest.raises(errors.AdminUnreachable, match="certificate"):
        ask(url, ca_file)
    assert asked == []
