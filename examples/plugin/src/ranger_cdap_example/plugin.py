"""The hooks, which the entry point names. Each is implemented in a module of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranger_cdap import Answer, hookimpl
from ranger_cdap.audit import SinkFactory
from ranger_cdap_example.freeze import reason_to_deny
from ranger_cdap_example.syslog_sink import syslog_sink

if TYPE_CHECKING:
    from spark_sync.sources.source import EventSource


@hookimpl
def ranger_cdap_veto(answer: Answer) -> str | None:
    """Deny changes while changes are frozen."""
    return reason_to_deny(answer)


@hookimpl
def ranger_cdap_audit_sinks() -> Mapping[str, SinkFactory]:
    """Return the sink `syslog`, which sends records to the syslog daemon of this machine."""
    return {"syslog": syslog_sink}


@hookimpl
def ranger_cdap_event_sources() -> Mapping[str, EventSource]:
    """Return the source `csv`: creations from an inventory system, as lines of CSV."""
    # Imported here: the hook is called only where PySpark is installed, but this module is always loaded.
    from ranger_cdap_example.csv_events import CSV

    return {"csv": CSV}
