"""`ranger-cdap doctor` on the decision service: well, and with one thing wrong at a time."""

from __future__ import annotations

import datetime
import errno
import ipaddress
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ranger_cdap.config import (
    CallerSettings,
    MasterSettings,
    PluginSettings,
    Secret,
    ServiceSettings,
    Settings,
    read_configuration,
)
from ranger_cdap.doctor import Finding, Health, examine
from ranger_cdap.doctor.service import examine_decision_service
from ranger_cdap.doctor.users import Users
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.http.callers import CallerRole
from tests.certificates import Authority, Signed, put
from tests.service.fixtures import CALLERS, World, caller, serving
from tests.service.serve_process import configuration

ADDRESS, CALLING = "address of the decision service", "callers of the decision service"
GRANTS, RECORDS, RUNNING, AGREES = (
    "grants from CDAP",
    "records for the sync job",
    "running decision service",
    "settings that differ from CDAP's",
)


def found(settings: Settings) -> dict[str, Finding]:
    findings = list(examine_decision_service(settings, Users.of(settings)))
    assert all(bool(f.advice) is (f.health in (Health.NOTE, Health.FAILED)) for f in findings)
    return {finding.check: finding for finding in findings}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[World]:
    with serving([], tmp_path) as world:
        yield world


def settings_of(world: World, **service: Any) -> Settings:
    """The settings of a running service, with the port it got."""
    own = world.state.settings
    port = int(world.url.rpartition(":")[2])
    changed = msgspec.structs.replace(own.service, port=port, **service)
    return msgspec.structs.replace(own, service=changed)


def test_a_service_that_runs_well_is_told_so(running: World) -> None:
    findings = found(settings_of(running, inventory=Path("inventory.jsonl")))
    assert {check: finding.health for check, finding in findings.items()} == dict.fromkeys(
        (CALLING, ADDRESS, GRANTS, RECORDS, RUNNING, AGREES), Health.WELL
    )
    assert "enforce: enforce; audit: audit" in findings[CALLING].seen


def test_a_service_that_does_not_know_what_exists_is_noted(running: World) -> None:
    finding = found(settings_of(running))["applications that exist"]
    assert (finding.health, "needs ADMIN" in finding.seen) == (Health.NOTE, True)


def test_where_nobody_may_ask_it_is_not_looked_for() -> None:
    assert found(Settings()) == {}


def secret(text: str, *roles: str, name: str = "one") -> CallerSettings:
    return CallerSettings(name=name, roles=tuple(roles), secret=Secret(text))  # type: ignore[arg-type]


LONG = "a-secret-of-more-than-sixteen"
TWINS = (secret(LONG, "enforce"), secret(LONG, "audit", name="two"))
WRONG = [
    # settings of [service]; the check, how it comes out, what is seen
    ({"callers": (CallerSettings(name="one", roles=("enforce",)),)}, CALLING, Health.FAILED, "has no `secret`"),
    ({"callers": (secret("short", "enforce"),)}, CALLING, Health.FAILED, "is shorter than 16 characters"),
    ({"callers": TWINS}, CALLING, Health.FAILED, "share a secret"),
    ({"callers": (secret(LONG, "enforce", "audit"),)}, "roles of caller `one`", Health.NOTE, "roles audit, enforce"),
    ({"callers": (secret(LONG, "grant", "delegate"),)}, "roles of caller `one`", Health.NOTE, "roles delegate, grant"),
    ({"host": "0.0.0.0"}, ADDRESS, Health.FAILED, "which other machines can reach"),
    ({"host": "cdap.example.org"}, ADDRESS, Health.FAILED, "must be an address"),
    ({"grants": "bridge"}, GRANTS, Health.FAILED, "the bridge has no account"),
    ({"grants": "bridge", "bridge_username": "cdapplugin"}, GRANTS, Health.FAILED, "which has another purpose"),
    ({"grants": "bridge", "bridge_username": "cdap"}, GRANTS, Health.FAILED, "which has another purpose"),
    ({"grants": "bridge", "bridge_username": "cdapbridge"}, GRANTS, Health.NOTE, "forwarded to Ranger"),
    (
        {"grants": "bridge-with-roles", "bridge_username": "cdapbridge"},
        GRANTS,
        Health.NOTE,
        "roles too, for administrators of the instance",
    ),
    ({"grants": "bridge", "bridge_username": "b", "callers": TWINS[:1]}, GRANTS, Health.FAILED, "`grant`"),
]  # fmt: skip


@pytest.mark.parametrize(("service", "check", "health", "seen"), WRONG)
def test_what_is_wrong_with_the_settings(
    service: dict[str, Any], check: str, health: Health, seen: str, tmp_path: Path
) -> None:
    settings = Settings(
        plugin=PluginSettings(username="cdapplugin"),
        master=MasterSettings(user="cdap"),
        service=ServiceSettings(**{"port": 0, "callers": CALLERS, "events_dir": tmp_path / "events", **service}),
    )
    findings = found(settings)
    assert findings[check].health is health
    assert seen in findings[check].seen
    assert findings[RUNNING].health is Health.SKIPPED
    assert all(LONG not in str(finding) for finding in findings.values())


@pytest.mark.parametrize(
    ("mode", "health", "seen"),
    [
        (None, Health.NOTE, "does not exist"),
        (0o700, Health.WELL, "is private and writable"),
        (0o750, Health.FAILED, "is accessible to others"),
        (0o702, Health.FAILED, "is writable by others"),
    ],
)
def test_the_directory_of_records(tmp_path: Path, mode: int | None, health: Health, seen: str) -> None:
    events = tmp_path / "events"
    if mode is not None:
        events.mkdir()
        events.chmod(mode)
    service = ServiceSettings(port=0, callers=(caller("audit", CallerRole.AUDIT),), events_dir=events)
    finding = found(Settings(service=service))[RECORDS]
    assert (finding.health, seen in finding.seen) == (health, True), finding


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "events").touch()
    service = ServiceSettings(port=0, callers=(caller("audit", CallerRole.AUDIT),), events_dir=tmp_path / "events")
    assert found(Settings(service=service))[RECORDS].seen.endswith("is not a directory")


def test_without_a_caller_that_brings_records_their_directory_is_not_looked_at(tmp_path: Path) -> None:
    service = ServiceSettings(port=0, callers=(caller("enforce", CallerRole.ENFORCE),), events_dir=tmp_path)
    assert RECORDS not in found(Settings(service=service))


def test_a_service_that_does_not_run(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    finding = found(Settings(service=ServiceSettings(port=port, callers=CALLERS, events_dir=tmp_path)))[RUNNING]
    assert (finding.health, finding.advice) == (Health.FAILED, "start it: `ranger-cdap serve`")
    assert finding.seen == f"it does not answer on port {port}: no connection: {os.strerror(errno.ECONNREFUSED)}"


def test_a_service_without_policies(running: World) -> None:
    running.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
    assert found(settings_of(running))[RUNNING].seen == "it runs, but has no policies"


def test_cdap_that_says_otherwise(running: World) -> None:
    said = {"extension": "0.1.0", "instance": "other", "master_user": "root"}
    running.ask("enforce", "POST", "/cdap/v1/hello", said)
    finding = found(settings_of(running))[AGREES]
    assert (finding.health, finding.seen[:2]) == (Health.FAILED, "2 ")
    assert "`master.user`" in finding.advice


class SomethingElse(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>It works</h1>")

    def log_message(self, *_: object) -> None:
        pass


def test_something_else_on_its_port(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), SomethingElse) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            service = ServiceSettings(port=server.server_port, callers=CALLERS, events_dir=tmp_path)
            finding = found(Settings(service=service))[RUNNING]
        finally:
            server.shutdown()
            thread.join()
    assert (finding.health, finding.seen) == (Health.FAILED, f"something else answers on port {server.server_port}")


def certificate(directory: Path, name: str) -> tuple[Path, Path]:
    """A certificate that a key has signed for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("10.9.8.7"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = directory / f"{name}.pem", directory / f"{name}.key"
    certificate_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key_file.write_bytes(key.private_bytes(*form))
    return certificate_file, key_file


def test_with_tls_it_is_known_by_its_certificate(running: World, tmp_path: Path) -> None:
    ours, key = certificate(tmp_path, "ours")
    others, _ = certificate(tmp_path, "others")
    with serving([], tmp_path, events_dir=tmp_path / "others", tls_certificate=ours, tls_key=key) as world:
        assert found(settings_of(world))[RUNNING].health is Health.WELL
        finding = found(settings_of(world, tls_certificate=others))[RUNNING]
    assert (finding.health, finding.advice) == (Health.FAILED, "restart it")
    assert "no TLS connection" in found(settings_of(running, tls_certificate=ours))[RUNNING].seen


CLIENTS = Authority("clients")
PROBES = {
    # the client certificate that is shown; how the check comes out, and what is seen
    "right": (CLIENTS.client(), Health.WELL, "it is ready"),
    "none": (None, Health.SKIPPED, "it requires a client certificate, and `service.tls_probe_certificate` is not set"),
    "expired": (CLIENTS.client(days=-1), Health.FAILED, "it does not accept `service.tls_probe_certificate`"),
    "another's": (Authority("other").client(), Health.FAILED, "it does not accept `service.tls_probe_certificate`"),
    "its key is another one": (Signed(CLIENTS.client().chain, CLIENTS.client().key), Health.FAILED, "are unusable"),
}


@pytest.mark.parametrize("name", PROBES)
def test_where_client_certificates_are_required_the_doctor_shows_its_own(name: str, tmp_path: Path) -> None:
    probe, health, seen = PROBES[name]
    ours, key = certificate(tmp_path, "ours")
    tls = {"tls_certificate": ours, "tls_key": key, "tls_client_ca": put(tmp_path / "clients.pem", CLIENTS.pem)}
    if probe is not None:
        file, probe_key = probe.put(tmp_path / "probe.pem", tmp_path / "probe.key")
        tls |= {"tls_probe_certificate": file, "tls_probe_key": probe_key}
    with serving([], tmp_path, **tls) as world:
        findings = found(settings_of(world))
    assert (findings[RUNNING].health, seen in findings[RUNNING].seen) == (health, True), findings[RUNNING]
    assert (AGREES in findings) is (health is Health.WELL)
    assert findings[ADDRESS].seen.endswith("with TLS and client certificates")


def test_a_certificate_that_can_not_be_used_is_named(running: World, tmp_path: Path) -> None:
    missing, empty = tmp_path / "none.pem", tmp_path / "empty.pem"
    empty.touch()
    seen = [found(settings_of(running, tls_certificate=file))[RUNNING].seen for file in (missing, empty)]
    assert seen == [
        f"its certificate `{missing}` cannot be read: {os.strerror(errno.ENOENT)}",
        f"`{empty}` holds no certificate",
    ]


def test_the_doctor_looks_at_the_service_and_tells_of_secrets_everybody_can_read(tmp_path: Path) -> None:
    kept = tmp_path / "enforce.secret"
    kept.write_text(LONG)
    kept.chmod(0o644)
    config = configuration(tmp_path, "http://127.0.0.1:9")
    config.write_text(config.read_text().replace('"enforce-secret-0123456789"', f'"file:{kept}"'))
    findings = {finding.check: finding for finding in examine(read_configuration(config, {}))}
    assert CALLING in findings
    assert findings["secrets"].health is Health.NOTE
    assert str(kept) in findings["secrets"].seen
