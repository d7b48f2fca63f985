"""The hooks: what a plugin can add. Hooks are synchronous; the order of plugins is not a contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import pluggy

from ranger_cdap.audit import SinkFactory
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.engine import ConditionMaker

if TYPE_CHECKING:
    import click

PROJECT = "ranger_cdap"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def ranger_cdap_audit_sinks() -> Mapping[str, SinkFactory]:  # type: ignore[empty-body]
    """Audit sinks by the name that `[audit] sinks` chooses them by."""


@hookspec
def ranger_cdap_veto(answer: Answer) -> str | None:
    """A reason to deny what the policies allow, or nothing. A hook that raises denies; none can allow."""


@hookspec
def ranger_cdap_groups(user: str) -> Collection[str] | None:
    """Groups of a user, besides those passed and those of Ranger's user store; nothing if the plugin knows none.

    Where a hook raises, the user counts as a member of every group that a policy takes something away from.
    """


@hookspec
def ranger_cdap_conditions() -> Mapping[str, ConditionMaker]:  # type: ignore[empty-body]
    """Makers of conditions the engine does not know, JavaScript for one, by the full name of the evaluator's class."""


@hookspec
def ranger_cdap_add_hooks(manager: pluggy.PluginManager) -> None:
    """Add hooks that other plugins may implement: `manager.add_hookspecs(module)`. Called once, before all others."""


@hookspec
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """Add commands to the command line."""
