"""The sync job as a plugin of `ranger_cdap`: its hooks, commands and event sources; loads without PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import pluggy

from ranger_cdap.cli.command import add_lazily
from ranger_cdap.plugins.hookspecs import hookimpl
from spark_sync import hookspecs

if TYPE_CHECKING:
    from ranger_cdap.cli.invocation import Invocation
    from ranger_cdap.cli.policy_files import PolicyFiles
    from spark_sync.sources.source import EventSource

COMMANDS: Final = {
    "demo": "spark_sync.cli.demo:demo",
    "sync": "spark_sync.cli.sync:sync",
}


@hookimpl
def ranger_cdap_add_hooks(manager: pluggy.PluginManager) -> None:
    """Add the hooks of the sync job."""
    manager.add_hookspecs(hookspecs)


@hookimpl
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """Add `demo`, and `sync` with its commands."""
    add_lazily(cli, COMMANDS)


@hookimpl
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:
    """Return the sources of audit messages (files, Kafka, messaging service), data-plane records, and access logs."""
    from spark_sync.sources.built_in import built_in_sources

    return built_in_sources()


@hookimpl
def ranger_cdap_review(
    invocation: Invocation, files: PolicyFiles | None, inventory: Path, people: Path | None, out: str
) -> bool:
    """Write every answer on an inventory by Spark."""
    from spark_sync.cli.review import write_access

    write_access(invocation, files, inventory, people, out)
    return True
