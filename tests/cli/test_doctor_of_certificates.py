"""`ranger-cdap doctor`: the certificate of Ranger Admin."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ranger_cdap.doctor import Health
from ranger_cdap.doctor.network import reach


class Hello(BaseHTTPRequestHandler):
    """A server that tells its time."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with `openssl`")
@pytest.mark.parametrize(
    ("trusted", "days_later", "health"),
    [(True, 0, Health.WELL), (True, 80, Health.NOTE), (False, 0, Health.FAILED)],
    ids=["trusted", "expires soon", "not trusted"],
)
def test_the_certificate_is_looked_at(tmp_path: Path, trusted: bool, days_later: int, health: Health) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 90 -subj /CN=x"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(cert), "-keyout", str(key)]
    subprocess.run(["openssl", *new.split(), *names], check=True, capture_output=True)
    with HTTPServer(("127.0.0.1", 0), Hello) as server:
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        served.load_cert_chain(cert, key)
        server.socket = served.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            context = ssl.create_default_context(cafile=str(cert) if trusted else None)
            url = f"https://127.0.0.1:{server.server_port}"
            findings = tuple(reach(url, context, 5.0, lambda: time.time() + days_later * 86400))
        finally:
            server.shutdown()
            thread.join()
    assert {f.check: f.health for f in findings}[f"TLS of {url}"] is health
