"""What the doctor says of names that Ranger's configuration changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.config import PluginSettings, Settings, SyncSettings
from ranger_cdap.doctor.finding import Finding, Health
from ranger_cdap.doctor.names import examine_names
from ranger_cdap.engine.compiled.names import CONF
from ranger_cdap.errors import AdminUnreachable
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger_model.download import ServicePolicies

STORE = {"userGroupMapping": {"BOB": [], "bob": [], "carol": []}}
LOWER = {f"{CONF}ldap.username.caseconversion": "lower"}
SETTINGS = Settings(plugin=PluginSettings(transform_names=True), sync=SyncSettings(non_creators=("ROOT", "root")))


class Admin:
    def __init__(self, *, away: bool = False) -> None:
        self.away = away

    def download_user_store(self, service: str, **_: Any) -> bytes:
        if self.away:
            raise AdminUnreachable("away")
        return msgspec.json.encode(STORE)


def found(config: dict[str, str], settings: Settings = SETTINGS, *, away: bool = False) -> list[Finding]:
    policies, admin = ServicePolicies(service_config=config), Admin(away=away)
    return list(examine_names(settings, policies, admin, Downloader("x")))  # type: ignore[arg-type]


def test_users_who_become_one_are_named_as_one_owner() -> None:
    (one,) = found(LOWER)
    assert one.health is Health.NOTE
    assert "one owner, for example BOB and bob are bob; ROOT and root are root" in one.seen


def test_of_users_who_cannot_be_downloaded_those_of_the_settings_are_named() -> None:
    (one,) = found(LOWER, away=True)
    assert one.seen.endswith("one owner, for example ROOT and root are root")


@pytest.mark.parametrize("config", [{}, {f"{CONF}ldap.username.caseconversion": "none"}])
def test_a_configuration_that_changes_no_name_is_well(config: dict[str, str]) -> None:
    assert [one.health for one in found(config)] == [Health.WELL]


def test_a_configuration_that_is_not_certain_to_be_rangers_fails() -> None:
    (one,) = found({f"{CONF}ldap.groupname.caseconversion": "lower"})
    assert one.health is Health.FAILED
    assert "mapping.groupname.handler" in one.seen


def test_without_the_settings_nothing_is_said() -> None:
    assert found(LOWER, Settings()) == []
