"""The sync job as a plugin of `ranger_cdap`: its hooks, commands and event sources; loads without PySpark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pluggy

from ranger_cdap.plugins.hookspecs import hookimpl
from spark_sync import hookspecs

if TYPE_CHECKING:
    import click

    from ranger_cdap.cli.invocation import Invocation
    from ranger_cdap.cli.policy_files import PolicyFiles
    from ranger_cdap.config import Location, Settings
    from ranger_cdap.doctor.finding import Finding
    from ranger_cdap.doctor.users import Users
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
    from ranger_cdap.cli.command import add_lazily

    add_lazily(cli, COMMANDS)


@hookimpl
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:
    """Return the sources of audit messages (files, Kafka, messaging service), data-plane records, and access logs."""
    from spark_sync.sources.built_in import built_in_sources

    return built_in_sources()


@hookimpl
def ranger_cdap_doctor_checks(settings: Settings, users: Users, now: float) -> Iterator[Finding]:
    """Check the job's sources, what protects ownership, the services it notifies, and its ledger."""
    from spark_sync.doctor.notification import examine_notification
    from spark_sync.doctor.ownership import examine_ownership
    from spark_sync.doctor.sources import examine_sources
    from spark_sync.ledger.ledger_health import examine_ledger

    yield from examine_sources(settings.sync.sources, users)
    yield from examine_ownership(settings, now)
    yield from examine_notification(settings)
    yield from examine_ledger(settings.sync.state_dir)


@hookimpl
def ranger_cdap_review(
    invocation: Invocation, files: PolicyFiles | None, inventory: Path, people: Path | None, out: Location
) -> bool:
    """Write every answer on an inventory."""
    from spark_sync.cli.review import write_access

    write_access(invocation, files, inventory, people, out)
    return True
