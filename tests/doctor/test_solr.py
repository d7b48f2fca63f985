"""The doctor tries the Solr that the audit goes to, and adds nothing to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ranger_cdap.config import AuditSettings, Secret, Settings
from ranger_cdap.doctor import Finding, Health
from ranger_cdap.doctor.local import examine_audit
from ranger_cdap.doctor.users import Users

ACCEPTED = '{"responseHeader": {"status": 0}}'
PASSWORD = "Solr-Passw0rd"


@contextmanager
def solr(status: int, answer: str) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that answers every request so: the address of its collection, and the requests with their bodies."""
    asked: list[tuple[str, bytes]] = []

    class Collection(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collection) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/solr/ranger_audits", asked
        finally:
            server.shutdown()
            thread.join()


def found(directory: Path, url: str, password: Secret = Secret(PASSWORD)) -> Finding:  # noqa: B008 - immutable
    audit = AuditSettings(
        sinks=("solr",), solr_url=url, solr_username="audit", solr_password=password, spool_dir=directory
    )
    settings = Settings(audit=audit)
    (finding,) = (one for one in examine_audit(settings, Users.of(settings)) if one.check == "audit sink `solr`")
    return finding


def test_a_solr_that_accepts_records_is_well_and_gets_none(tmp_path: Path) -> None:
    with solr(200, ACCEPTED) as (url, asked):
        assert found(tmp_path, url).health is Health.WELL
    assert [(path.partition("?")[0], body) for path, body in asked] == [("/solr/ranger_audits/update", b"[]")]


# what answers there, and what the doctor says of it
ANSWERS = [(401, "", "HTTP 401"), (404, "", "HTTP 404"), (200, "<html>a login page</html>", "login page")]


@pytest.mark.parametrize(("status", "answer", "said"), ANSWERS)
def test_a_solr_that_refuses_records_fails(status: int, answer: str, said: str, tmp_path: Path) -> None:
    with solr(status, answer) as (url, _):
        finding = found(tmp_path, url)
    assert (finding.health, said in finding.seen) == (Health.FAILED, True), finding
    assert PASSWORD not in repr(finding)


def test_a_solr_that_does_not_listen_fails(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    finding = found(tmp_path, f"http://127.0.0.1:{port}/solr/ranger_audits")
    assert (finding.health, "cannot be reached" in finding.seen) == (Health.FAILED, True), finding
    assert str(tmp_path) in finding.advice


@pytest.mark.parametrize(
    ("url", "said"), [("", "needs the setting `audit.solr_url`"), ("http://solr.test/x", "audit.solr_url")]
)
def test_an_unusable_address_fails(url: str, said: str, tmp_path: Path) -> None:
    finding = found(tmp_path, url)
    assert (finding.health, said in finding.seen) == (Health.FAILED, True), finding
