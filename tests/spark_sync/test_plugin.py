"""Event sources come through the hook, built-in ones and others."""

from __future__ import annotations

import pytest

from ranger_cdap.errors import PluginError
from ranger_cdap.hookspecs import hookimpl
from ranger_cdap.plugins import plugin_manager
from spark_sync.sources import registry


class Offers:
    """A plugin with a source of its own."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @hookimpl
    def ranger_cdap_event_sources(self) -> dict[str, object]:
        return {self._kind: object()}


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> object:
    def register(other: object) -> None:
        manager = plugin_manager()
        manager.register(other, name="other")
        monkeypatch.setattr(registry, "plugin_manager", lambda: manager)

    return register


def test_the_built_in_sources_come_through_the_entry_point() -> None:
    assert set(registry.event_sources()) == {"audit-v2", "data-plane"}


def test_a_plugin_adds_a_source(beside) -> None:  # type: ignore[no-untyped-def]
    beside(Offers("access-log"))
    assert set(registry.event_sources()) == {"audit-v2", "data-plane", "access-log"}


def test_a_plugin_replaces_none(beside) -> None:  # type: ignore[no-untyped-def]
    beside(Offers("audit-v2"))
    with pytest.raises(PluginError, match="two plugins offer an event source `audit-v2`"):
        registry.event_sources()
