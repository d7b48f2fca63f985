"""Plugins: built-ins come through the same hooks as installed ones."""

from collections.abc import Mapping

import pytest

from ranger_cdap.audit import BUILT_IN_SINKS, SinkFactory
from ranger_cdap.errors import PluginError
from ranger_cdap.hookspecs import hookimpl
from ranger_cdap.plugins import audit_sinks, plugin_manager


class OtherSink:
    @hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        return {"other": BUILT_IN_SINKS["log"]}


class Impostor:
    @hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        return {"file": BUILT_IN_SINKS["log"]}


def test_built_in_sinks_come_through_the_hook() -> None:
    assert set(audit_sinks(plugin_manager(entry_points=False))) == {"file", "log", "solr"}


def test_a_plugin_adds_a_sink_but_cannot_replace_one() -> None:
    manager = plugin_manager(entry_points=False)
    manager.register(OtherSink())
    assert set(audit_sinks(manager)) == {"file", "log", "solr", "other"}

    manager.register(Impostor())
    with pytest.raises(PluginError, match="two plugins offer an audit sink `file`"):
        audit_sinks(manager)


def test_the_sync_job_is_an_installed_plugin() -> None:
    names = {name for name, _ in plugin_manager().list_name_plugin()}

    assert "sync" in names
