"""Event sources come through the hook, built-in ones and others."""

from __future__ import annotations

import pytest

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from spark_sync.sources import registry
from spark_sync.sources.built_in import built_in_sources

BUILT_IN = set(built_in_sources())


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
    assert set(registry.event_sources()) == BUILT_IN


def test_a_plugin_adds_a_source(beside) -> None:  # type: ignore[no-untyped-def]
    beside(Offers("of-a-plugin"))
    assert set(registry.event_sources()) == BUILT_IN | {"of-a-plugin"}


def test_a_plugin_replaces_none(beside) -> None:  # type: ignore[no-untyped-def]
    beside(Offers("audit"))
    with pytest.raises(PluginError, match="two plugins offer an event source `audit`"):
        registry.event_sources()


def test_a_sources_rank_is_the_configured_one_else_that_of_its_kind() -> None:
    configured = [
        SourceSettings(name="log", kind="http-access"),
        SourceSettings(name="records", kind="data-plane"),
        SourceSettings(name="audit", kind="audit", rank=99),
    ]
    ranks = registry.ranks(configured)
    assert ranks["audit"] == 99
    assert ranks["log"] > ranks["records"] > registry.ranks([SourceSettings(name="a", kind="audit")])["a"]


def test_a_source_brings_what_spark_lacks_to_read_it() -> None:
    kafka = [SourceSettings(name=name, kind="audit-kafka") for name in "ab"]
    assert registry.packages(kafka) == ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",)
    assert registry.packages([SourceSettings(name="a", kind="audit")]) == ()
