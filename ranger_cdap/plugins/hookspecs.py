"""The hooks that a plugin can implement. Hooks are synchronous; the order of plugins is not a contract."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click

    from ranger_cdap.audit import SinkFactory
    from ranger_cdap.cdap.answer import Answer
    from ranger_cdap.config import Settings
    from ranger_cdap.directory.group_directory import GroupSourceFactory
    from ranger_cdap.engine import ConditionFactory

PROJECT = "ranger_cdap"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def ranger_cdap_audit_sinks() -> Mapping[str, SinkFactory]:  # type: ignore[empty-body]
    """Return audit sinks by their name in `[audit] sinks`."""


@hookspec
def ranger_cdap_veto(answer: Answer) -> str | None:
    """Return a reason to deny what the policies allow, or None. A hook that raises denies; no hook can allow."""


@hookspec
def ranger_cdap_groups(user: str) -> Collection[str] | None:
    """Return groups of a user, besides those passed and those of Ranger's user store; None if the plugin knows none.

    If a hook raises, the user counts as a member of every group named in a deny.
    """


@hookspec
def ranger_cdap_group_sources() -> Mapping[str, GroupSourceFactory]:  # type: ignore[empty-body]
    """Return sources of groups by their name in `[groups] sources`."""


@hookspec
def ranger_cdap_conditions() -> Mapping[str, ConditionFactory]:  # type: ignore[empty-body]
    """Return factories of conditions that the engine lacks, by the evaluator's full class name."""


@hookspec
def ranger_cdap_add_hooks(manager: pluggy.PluginManager) -> None:
    """Add hooks that other plugins may implement: `manager.add_hookspecs(module)`. Called once, before all others."""


@hookspec
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """Add commands to the command line."""


@hookspec
def ranger_cdap_doctor_checks(settings: Settings, users: Any, now: float) -> Iterable[Any]:  # type: ignore[empty-body]
    """Yield what `doctor` finds: each a `ranger_cdap.doctor.Finding`. Nothing may be changed.

    `users` are the accounts that run the programs here, a `ranger_cdap.doctor.users.Users`; `now` is in seconds since
    1970.
    """


@hookspec(firstresult=True)
def ranger_cdap_review(invocation: Any, files: Any, inventory: Path, people: Path | None, out: Any) -> bool | None:
    """Write every answer on an inventory below `out`, for `access --format parquet`; return True once written.

    `invocation` is the `Invocation` of the command, `files` its `PolicyFiles`, None for the policies of Ranger.
    """
