"""The pages on the decision service name every role, and the settings of proxies."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ranger_cdap.config import PluginSettings, ProxySettings
from ranger_cdap.service.http.callers import SHORTEST_SECRET, CallerRole
from ranger_cdap.service.http.limits import ServiceLimits

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "decision-service.md").read_text(encoding="utf-8")
REVOKING = (DOCS / "explanation" / "revocation.md").read_text(encoding="utf-8")


def test_every_setting_of_a_proxy_is_named() -> None:
    assert [field.name for field in msgspec.structs.fields(ProxySettings) if f"`{field.name}`" not in PAGE] == []


def test_its_limits_are_those_of_the_service() -> None:
    limits, section = ServiceLimits(), PAGE.split("## Limits per caller")[1]
    for said in (
        f"after {limits.idle_seconds:.0f} seconds",
        f"longer than {limits.request_seconds:.0f} seconds",
        f"{limits.requests} at once",
        f"{limits.request_seconds:.0f} seconds to arrive",
        f"{limits.batch:,} entities",
    ):
        assert said in section


def test_every_role_is_named() -> None:
    assert [role for role in CallerRole if f"| `{role}` |" not in PAGE] == []
    assert f"at least {SHORTEST_SECRET} characters" in PAGE


def test_the_longest_times_are_those_of_the_defaults() -> None:
    refresh, kept, in_containers = PluginSettings().poll_interval * 1.1, 5, 300
    assert f"at most {refresh + kept:.0f} s and the download" in REVOKING
    assert f"at most {refresh + kept + in_containers:.0f} s and the download" in REVOKING
