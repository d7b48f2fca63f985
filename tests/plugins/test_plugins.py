"""Plugins: built-ins come through the same hooks as installed ones; who provides what; what a trace shows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pluggy
import pytest
from pages.hooks import page

from ranger_cdap.audit import BUILT_IN_SINKS, SinkFactory
from ranger_cdap.cli.main import main
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins import hookspecs
from ranger_cdap.plugins.hookspecs import hookimpl, hookspec
from ranger_cdap.plugins.manager import Provided, audit_sinks, complete, plugin_manager, provided


class OtherSink:
    @hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        return {"other": BUILT_IN_SINKS["log"]}


class Impostor:
    @hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        return {"file": BUILT_IN_SINKS["log"]}


class Misspelt:
    @hookimpl
    def ranger_cdap_vetoo(self, answer: object) -> str:
        return "never"


class WrongArguments:
    @hookimpl
    def ranger_cdap_of_a_plugin(self, whom: str) -> None: ...


class BringsHooks:
    @hookimpl
    def ranger_cdap_add_hooks(self, manager: pluggy.PluginManager) -> None:
        manager.add_hookspecs(self)

    @hookspec
    def ranger_cdap_of_a_plugin(self, who: str) -> None:
        """A hook that a plugin brings."""


class UsesThem:
    @hookimpl
    def ranger_cdap_of_a_plugin(self, who: str) -> None: ...


class Broken:
    @hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        raise RuntimeError("hunter2")


class ForSpark:
    @hookimpl
    def ranger_cdap_audit_sinks(self) -> Mapping[str, SinkFactory]:
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401

        return {}


def manager_with(*plugins: object) -> pluggy.PluginManager:
    manager = plugin_manager(entry_points=False)
    for plugin in plugins:
        manager.register(plugin, name=type(plugin).__name__)
    return manager


BUILT_IN = {"built-in commands", "built-in conditions", "built-in sinks", "built-in sources of groups"}
INSTALLED = {"console", "ldap", "sinks", "sync", "testing", "tools"}
SINKS = {"file", "log", "solr", "elasticsearch"}


def test_sinks_come_through_the_hook() -> None:
    assert set(audit_sinks(plugin_manager(entry_points=False))) == SINKS
    assert set(audit_sinks(plugin_manager())) > SINKS


def test_a_plugin_adds_a_sink_but_cannot_replace_one() -> None:
    assert set(audit_sinks(manager_with(OtherSink()))) == {*SINKS, "other"}
    with pytest.raises(PluginError, match="two plugins offer an audit sink `file`"):
        audit_sinks(manager_with(Impostor()))


def test_what_the_core_does_not_import_are_installed_plugins() -> None:
    names = {name for name, _ in plugin_manager().list_name_plugin()}

    assert names >= INSTALLED


def test_a_hook_that_does_not_exist_is_an_error_not_a_plugin_without_effect() -> None:
    with pytest.raises(PluginError, match="ranger_cdap_vetoo"):
        complete(manager_with(Misspelt()))


def test_a_plugin_brings_hooks_for_others() -> None:
    complete(manager_with(UsesThem(), BringsHooks()))
    with pytest.raises(PluginError, match="ranger_cdap_of_a_plugin"):
        complete(manager_with(UsesThem()))
    with pytest.raises(PluginError, match="whom"):
        complete(manager_with(WrongArguments(), BringsHooks()))


class OutOfMemory:
    @hookimpl
    def ranger_cdap_add_hooks(self, manager: pluggy.PluginManager) -> None:
        raise MemoryError


class FailsToLoad:
    """An installed plugin whose import raises."""

    name, group, value = "failing", "ranger_cdap", "failing"

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.metadata = {"name": "failing"}
        self.entry_points = (self,)

    def load(self) -> object:
        raise self.error


@pytest.mark.parametrize(("error", "raised"), [(MemoryError(), MemoryError), (RuntimeError("x"), PluginError)])
def test_lack_of_memory_is_no_fault_of_a_plugin(
    error: Exception, raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.distributions", lambda: [FailsToLoad(error)])
    with pytest.raises(raised):
        plugin_manager()


def test_lack_of_memory_while_plugins_are_validated_is_no_fault_of_theirs() -> None:
    with pytest.raises(MemoryError):
        complete(manager_with(OutOfMemory()))


def test_who_provides_what() -> None:
    found = {(one.plugin, one.hook): one for one in provided(manager_with(OtherSink(), Broken(), ForSpark()))}
    hook = "ranger_cdap_audit_sinks"

    assert found["built-in sinks", hook].names == ("file", "log", "solr", "elasticsearch")
    assert found["OtherSink", hook].names == ("other",)
    assert found["Broken", hook].names == ("failed with RuntimeError",)
    assert found["ForSpark", hook].names == ("needs `no_such_package`, which is not installed",)


def test_the_command_shows_the_plugins_with_their_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--json"]) == 0
    found = [Provided(**{**one, "names": tuple(one["names"])}) for one in json.loads(capsys.readouterr().out)]

    (sources,) = (one for one in found if one.hook == "ranger_cdap_event_sources")
    assert (sources.plugin, sources.package) == ("sync", "ranger-cdap")
    assert "audit" in sources.names
    assert {one.plugin for one in found} == {*BUILT_IN, *INSTALLED}

    assert main(["plugins"]) == 0
    row = r"^built-in sinks +ranger-cdap \S+ +ranger_cdap_audit_sinks +file, log, solr, elasticsearch *$"
    assert re.search(row, capsys.readouterr().out, re.MULTILINE)


def test_the_reference_has_every_hook_of_a_plugin_too() -> None:
    manager = manager_with(BringsHooks())
    complete(manager)
    headings = re.findall(r"^## (\w+)$", page(manager), re.MULTILINE)

    assert "ranger_cdap_of_a_plugin" in headings
    assert {name for name in vars(hookspecs) if name.startswith("ranger_cdap_")} < set(headings)
