"""What the doctor says of the decision services that the sync job notifies."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.config import NotifySettings, Secret, Settings, SyncSettings, resolve_secret
from ranger_cdap.doctor.finding import Finding, Health
from ranger_cdap.service.http.callers import CallerRole
from spark_sync.doctor.notification import examine_notification
from tests.service.conftest import world
from tests.service.fixtures import World, secret_of

__all__ = ["world"]


def of(url: str, caller: str = "refresh", **more: Any) -> NotifySettings:
    return NotifySettings(url=url, **{"caller": caller, "secret": Secret(secret_of(caller))} | more)


def findings(*services: NotifySettings) -> list[Finding]:
    return list(examine_notification(Settings(sync=SyncSettings(notify=services))))


def test_without_services_there_is_nothing_to_check() -> None:
    assert findings() == []


@pytest.mark.parametrize("role", CallerRole)
def test_a_caller_needs_the_role(world: World, role: CallerRole, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[bool] = []
    monkeypatch.setattr(world.state.authorizer.decider.policies, "request_refresh", lambda: requested.append(True))
    (found,) = findings(of(world.url, role))
    assert found.check == f"notifying `{world.url}`"
    assert found.health is (Health.WELL if role is CallerRole.REFRESH else Health.FAILED)
    assert found.health is Health.WELL or "the role `refresh`" in found.advice
    assert requested == [True] * (role is CallerRole.REFRESH)


@pytest.mark.parametrize(
    ("change", "health", "seen"),
    [
        ({"url": "http://127.0.0.1:9"}, Health.FAILED, "it cannot be reached: the connection was refused"),
        ({"caller": "nobody"}, Health.FAILED, "it does not accept the caller (HTTP 401)"),
        ({"secret": resolve_secret("env:NOT_SET", {})}, Health.NOTE, "not tried: environment variable `NOT_SET`"),
        ({"secret": resolve_secret("file:/nowhere/s")}, Health.NOTE, "not tried: secret file `/nowhere/s` cannot be"),
    ],
)
def test_each_service_has_a_finding(world: World, change: dict[str, Any], health: Health, seen: str) -> None:
    """One that is wrong, or another user's, hides no other."""
    well = of(world.url)
    before, found, after = findings(well, of(**{"url": world.url} | change), well)
    assert [before.health, after.health] == [Health.WELL, Health.WELL]
    assert found.health is health
    assert seen in found.seen
    assert secret_of("refresh") not in repr(found)
