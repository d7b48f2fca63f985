"""The extension sends its secrets where the rest of the project would, and nowhere else."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import HealthCheck, example, given, settings

from ranger_cdap.config.address import RANGER, checked_address, parsed_address
from ranger_cdap.errors import ConfigError
from tests.config.address_spellings import LOOPBACK, TRICKS, spellings
from tests.extension.driver import Extension

pytestmark = pytest.mark.java

SAME_MACHINE = settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def host(extension: Extension, url: str, **properties: str) -> str | None:
    """Where Java would connect; none where the address is refused."""
    found = extension.command("address", properties={"url": url} | properties)
    if "host" not in found:
        assert found["error"] == "BadSetting", found
        return None
    return str(found["host"])


def ours(url: str, *, permitted: bool) -> bool:
    try:
        return bool((parsed_address if permitted else checked_address)(url, RANGER))
    except ConfigError:
        return False


# Java's side trims its settings, and takes one that is blank for one that is not set.
def comparable(url: str) -> bool:
    return url == url.strip("".join(map(chr, range(33)))) != ""


@SAME_MACHINE
@given(spellings())
@example("http://127.0.0.1:80@evil.example")
def test_plain_http_reaches_this_machine_only(newest: Extension, url: str) -> None:
    found = host(newest, url)
    if found is not None and not url.strip().startswith("https:"):
        assert ipaddress.ip_address(found.strip("[]")).is_loopback


@SAME_MACHINE
@given(spellings().filter(comparable))
@example("http://[1:2]")
def test_it_accepts_what_the_decision_service_would(newest: Extension, url: str) -> None:
    assert (host(newest, url) is not None) == ours(url, permitted=False)
    assert (host(newest, url, **{"allow.plain.http": "true"}) is not None) == ours(url, permitted=True)


@pytest.mark.parametrize("spelled", LOOPBACK)
def test_this_machine_needs_no_permission(extension: Extension, spelled: str) -> None:
    assert host(extension, f"http://{spelled}:6500") == spelled


@pytest.mark.parametrize("url", [*TRICKS, "http://decision-service:6500"])
def test_what_is_not_this_machine_is_refused(newest: Extension, url: str) -> None:
    assert host(newest, url) is None


def test_the_property_beside_it_permits_plain_http(extension: Extension) -> None:
    url = "http://decision-service:6500"
    assert host(extension, url, **{"allow.plain.http": "false"}) is None
    assert host(extension, url, **{"allow.plain.http": "true"}) == "decision-service"
    assert f"url is {url}/: whoever is on the way can read its secrets" in extension.log
