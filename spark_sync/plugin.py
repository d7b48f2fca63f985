"""The sync job as a plugin of `ranger_cdap`: its hooks, commands and event sources; loads without PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click
import pluggy

from ranger_cdap.plugins.hookspecs import hookimpl
from spark_sync import hookspecs
from spark_sync.cli.demo import demo
from spark_sync.cli.matrix import matrix_command
from spark_sync.cli.review import review_command
from spark_sync.cli.sync import sync

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookimpl
def ranger_cdap_add_hooks(manager: pluggy.PluginManager) -> None:
    """Add the hooks of the sync job."""
    manager.add_hookspecs(hookspecs)


@hookimpl
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """Add `demo`, `matrix`, `review`, and `sync` with its commands."""
    cli.add_command(demo)
    cli.add_command(matrix_command)
    cli.add_command(review_command)
    cli.add_command(sync)


@hookimpl
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:
    """Return the sources of audit messages (files, Kafka, messaging service), data-plane records, and access logs."""
    from spark_sync.sources.kafka import AUDIT_KAFKA
    from spark_sync.sources.messaging import AUDIT_MESSAGING
    from spark_sync.sources.text_files import AUDIT, DATA_PLANE, HTTP_ACCESS

    return {
        "audit": AUDIT,
        "audit-kafka": AUDIT_KAFKA,
        "audit-messaging": AUDIT_MESSAGING,
        "data-plane": DATA_PLANE,
        "http-access": HTTP_ACCESS,
    }
