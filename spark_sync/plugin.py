"""The sync job as a plugin of `ranger_cdap`: its commands and its event sources; loads without PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ranger_cdap.hookspecs import hookimpl
from spark_sync.cli.demo import demo
from spark_sync.cli.review import review_command
from spark_sync.cli.sync import sync

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookimpl
def ranger_cdap_register_commands(cli: click.Group) -> None:
    """`demo`, `review`, and `sync` with its commands."""
    cli.add_command(demo)
    cli.add_command(review_command)
    cli.add_command(sync)


@hookimpl
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:
    """CDAP's audit messages and data-plane records, both as files of JSON lines."""
    from spark_sync.sources.audit_v2 import AUDIT_V2
    from spark_sync.sources.data_plane import DATA_PLANE

    return {"audit-v2": AUDIT_V2, "data-plane": DATA_PLANE}
