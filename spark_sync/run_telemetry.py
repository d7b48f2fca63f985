"""The span of a run for OpenTelemetry. Law: it has no name of a user or an entity."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from ranger_cdap.telemetry import TraceIds, ids_of_event
from spark_sync.report import RunReport

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry


def record_run(telemetry: Telemetry, run_id: str, start: int, report: RunReport | None) -> None:
    """Record the run with that id, which is the id of its trace; None: it failed.

    It is linked to the first checks that its changes began with.
    """
    granted, revoked = (report.granted, report.revoked) if report is not None else ((), ())
    changes = [life.event for life in granted] + [life.ended.id for life in revoked if life.ended is not None]
    telemetry.record(
        "sync run",
        start,
        {"ranger_cdap.granted": len(granted), "ranger_cdap.revoked": len(revoked)},
        failed=report is None or report.error is not None,
        ids=TraceIds(int(run_id, 16), int(uuid.uuid4().hex[:16], 16) or 1),
        linked=dict.fromkeys(ids for event in changes[:100] if (ids := ids_of_event(event))),
    )
