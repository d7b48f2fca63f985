"""The doctor on a directory: each server, its account and the bases, by a real directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import Settings
from ranger_cdap.config.loader import parse_settings
from ranger_cdap.doctor.finding import Finding, Health
from ranger_cdap.ldap.checks import examine_ldap
from tests.ldap.slapd_server import SlapdServer, settings_for


def examined(groups: dict[str, Any], ldap: dict[str, Any] | None = None, **network: Any) -> list[Finding]:
    tables = {"groups": groups, "ldap": ldap or {}, "network": network}
    return list(examine_ldap(parse_settings(tables, origin="the test", environ={})))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlapdServer]:
    found = SlapdServer(tmp_path_factory.mktemp("slapd") / "doctor")
    found.start()
    try:
        found.fill()
        yield found
    finally:
        found.close()


def test_nothing_is_said_without_a_directory() -> None:
    assert not list(examine_ldap(Settings()))


def test_a_server_that_does_not_answer_fails(tmp_path: Path) -> None:
    ldap = {"urls": ["ldap://127.0.0.1:1"], "bind_dn": "CN=x", "bind_password": "hunter2", "user_base": "dc=x"}
    (finding,) = examined({"sources": ["ldap"]}, ldap)
    assert (finding.health, finding.seen) == (Health.FAILED, "no connection")
    (skipped,) = examined({"sources": ["ldap"]}, {**ldap, "bind_password": "env:NOT_SET"})
    assert (skipped.health, "NOT_SET" in skipped.seen) == (Health.SKIPPED, True)
    (unusable,) = examined({"sources": ["ldap"]}, ldap, ca_file=str(tmp_path / "none.pem"))
    assert (unusable.health, "network.ca_file" in unusable.seen) == (Health.FAILED, True)


def test_an_unencrypted_connection_is_a_note() -> None:
    ldap = {"urls": ["ldap://ldap.invalid"], "anonymous": True, "user_base": "dc=x"}
    findings = examined({"sources": ["ldap"]}, ldap, plain_hosts=["ldap.invalid"])
    assert [finding.health for finding in findings] == [Health.NOTE, Health.FAILED]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "health", "seen"),
    [
        ({}, Health.WELL, "the account is accepted"),
        ({"bind_password": "wrong"}, Health.FAILED, "invalidCredentials"),
        ({"user_base": "OU=None,dc=example"}, Health.FAILED, "sees no entry `OU=None,dc=example`"),
        ({"group_base": "OU=None,dc=example"}, Health.FAILED, "sees no entry `OU=None,dc=example`"),
        ({"in_chain": True}, Health.FAILED, "not Active Directory"),
        ({"bind_dn": "", "bind_password": "", "anonymous": True}, Health.FAILED, "sees no entry"),
    ],
)
def test_servers_and_entries(server: SlapdServer, more: dict[str, Any], health: Health, seen: str) -> None:
    findings = examined({"sources": ["ldap"]}, dict(settings_for(server, **more)))
    assert health in {finding.health for finding in findings}
    assert any(seen in finding.seen for finding in findings)
    assert (health is Health.WELL) == all(finding.health is Health.WELL for finding in findings)
    assert "wrong" not in str(findings)
