"""`ranger-cdap doctor`: the certificate of Ranger Admin, and those that the settings name."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ranger_cdap.config import parse_settings
from ranger_cdap.doctor import Finding, Health
from ranger_cdap.doctor.certificates import examine_certificates
from ranger_cdap.doctor.network import reach
from tests.certificates import Authority, put


class Hello(BaseHTTPRequestHandler):
    """A server that tells its time."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, to make certificates")
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


NOW = time.time()
ROOT = Authority("root", days=4000)
BRANCH = Authority("branch", above=ROOT, days=20.5)
CALLERS = [{"name": "one", "roles": ["enforce"], "secret": "a-secret-of-more-than-sixteen"}]
CONFIRM = {"url": "https://c", "user": "u", "caller": "c", "secret": "a-secret-of-more-than-sixteen"}

NOTIFY = {"url": "https://s", "caller": "c", "secret": "a-secret-of-more-than-sixteen"}


def pem(*days: float) -> bytes:
    return b"".join(Authority("one", days=each).pem for each in days)


HELD = {
    # what the file holds; for a certificate, and for authorities: how it comes out and what is seen
    "valid": (pem(90.5), (Health.WELL, "valid for 90 days"), (Health.WELL, "valid for 90 days")),
    "valid beyond 2049": (pem(20000.5), (Health.WELL, "valid for 20000 days"), (Health.WELL, "valid for 20000 days")),
    "expires soon": (pem(29.5), (Health.NOTE, "valid for 29 days"), (Health.NOTE, "valid for 29 days")),
    "expired": (pem(-1.5), (Health.FAILED, "expired 1 days ago"), (Health.FAILED, "expired 1 days ago")),
    "one of two expired": (pem(90.5, -1.5), (Health.FAILED, "expired 1 days ago"), (Health.NOTE, "1 of 2 authorities")),
    "one of two expires soon": (pem(90.5, 5.5), (Health.NOTE, "valid for 5 days"), (Health.NOTE, "valid for 5 days")),
    "a chain": (BRANCH.client(days=90).chain, (Health.NOTE, "valid for 20 days"), (Health.NOTE, "valid for 20 days")),
    "missing": (None, (Health.FAILED, "cannot be read"), (Health.FAILED, "cannot be read")),
    "empty": (b"", (Health.FAILED, "holds no certificate"), (Health.FAILED, "holds no certificate")),
    "garbage": (b"\xff\x00hello", (Health.FAILED, "holds no certificate"), (Health.FAILED, "holds no certificate")),
    "cut off": (ROOT.pem[:200], (Health.FAILED, "holds no certificate"), (Health.FAILED, "holds no certificate")),
    "no DER": (
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        (Health.FAILED, "holds no certificate"),
        (Health.FAILED, "holds no certificate"),
    ),
}  # fmt: skip
SETTINGS = (
    ("service", "tls_certificate"),
    ("service", "tls_client_ca"),
    ("service", "tls_probe_certificate"),
    ("ranger", "cert_file"),
    ("sync", "cert_file"),
)


def examined(table: str, key: str, file: Path, *, used: bool = True) -> list[Finding]:
    tables: dict[str, dict[str, object]] = {
        "service": {"callers": CALLERS if used else []},
        "sync": {"confirm": CONFIRM, "notify": [NOTIFY]} if used else {},
        "ranger": {},
    }
    tables[table][key] = str(file)
    return list(examine_certificates(parse_settings(tables, origin="a test"), NOW))


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize(("table", "key"), SETTINGS, ids=".".join)
def test_each_certificate_of_the_settings_is_looked_at(table: str, key: str, name: str, tmp_path: Path) -> None:
    content, of_one, of_authorities = HELD[name]
    file = tmp_path / "certificate.pem"
    if content is not None:
        put(file, content)
    (finding,) = examined(table, key, file)
    health, seen = of_authorities if key == "tls_client_ca" else of_one
    assert (finding.check, finding.health) == (f"certificate `{table}.{key}`", health), finding
    assert seen in finding.seen
    assert bool(finding.advice) is (health is not Health.WELL)


@pytest.mark.parametrize(("table", "key"), SETTINGS, ids=".".join)
def test_a_certificate_of_what_is_not_used_is_not_looked_at(table: str, key: str, tmp_path: Path) -> None:
    assert len(examined(table, key, tmp_path / "none", used=False)) == (table == "ranger")


@pytest.mark.slow
def test_no_byte_of_a_damaged_certificate_stops_the_doctor(tmp_path: Path) -> None:
    der = ssl.PEM_cert_to_DER_cert(ROOT.pem.decode())
    for at in range(min(len(der), 400)):
        for byte in (0x00, 0x7F, 0x80, 0xFF):
            damaged = ssl.DER_cert_to_PEM_cert(der[:at] + bytes([byte]) + der[at + 1 :])
            (finding,) = examined("ranger", "cert_file", put(tmp_path / "damaged.pem", damaged.encode()))
            assert finding.health in (Health.WELL, Health.NOTE, Health.FAILED)
