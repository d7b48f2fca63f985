"""The doctor on `[groups]`: what needs no server."""

from __future__ import annotations

from ranger_cdap.config import Settings
from ranger_cdap.config.loader import parse_settings
from ranger_cdap.doctor.finding import Health
from ranger_cdap.doctor.group_sources import examine_group_sources


def test_nothing_is_said_without_sources() -> None:
    assert not list(examine_group_sources(Settings().groups))


def test_long_use_of_groups_and_what_a_machine_cannot_tell_are_said() -> None:
    settings = parse_settings({"groups": {"sources": ["posix"], "ttl": 86_400}}, origin="the test", environ={})
    findings = list(examine_group_sources(settings.groups))
    assert [finding.health for finding in findings] == [Health.NOTE, Health.WELL]
    assert "86400 s" in findings[0].seen
