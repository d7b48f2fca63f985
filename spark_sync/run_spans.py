"""`RunSpans`: the trace of a run, with a span for each stage, and one for each change in Ranger in its check's trace.

Laws: no span has the name of a user or an entity; a run goes on as if there were none. Needs the extra `telemetry`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from opentelemetry.context import attach, detach
from opentelemetry.trace import Link, Span, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from ranger_cdap.telemetry.trace_ids import TraceIds, ids_of_event, line_of_event
from spark_sync.grants.push import SENDING
from spark_sync.ledger.life import Life
from spark_sync.report import RunReport

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context

    from ranger_cdap.telemetry.sdk import Attributes, Telemetry

RUN: Final = "sync run"
GRANT: Final = "grant"
REVOKE: Final = "revoke"
MOST_CHANGES: Final = 1_000
"""Changes of one run with a span: the SDK's queue holds twice as many, and a back-fill has millions."""


class RunSpans:
    """Spans of the run with that id, which is also the id of its trace; `progress` begins the span of a stage.

    The span of the current stage is the current one of the thread, so that services which are asked can continue it.
    """

    def __init__(self, telemetry: Telemetry, run_id: str, clock: Callable[[], int] = time.time_ns) -> None:
        self._telemetry = telemetry
        self._clock = clock
        ids = TraceIds(int(run_id, 16), int(uuid.uuid4().hex[:16], 16) or 1)
        self._run = telemetry.begin(RUN, ids=ids, start=clock())
        self._name = ""
        self._stage: Span | None = None
        self._token: Token[Context] | None = None
        self._sending = self._run, clock(), clock()

    def progress(self, message: str) -> None:
        """Begin the stage of a message, unless it is the current one: what follows a colon is a count within it."""
        name = message.partition(":")[0]
        if name == self._name:
            return
        self._end_stage()
        start = self._clock()
        self._name, self._stage = name, self._telemetry.begin(name, parent=self._run, start=start)
        self._token = attach(set_span_in_context(self._stage))
        if name == SENDING:
            self._sending = self._stage, start, start

    def end(self, report: RunReport | None) -> None:
        """End the run, with the spans of what it changed; `None`: it failed."""
        self._end_stage()
        failed = report is None or report.error is not None
        if report is not None:
            self._run.set_attributes(_figures(report))
            changes = [(GRANT, life) for life in report.granted] + [(REVOKE, life) for life in report.revoked]
            for name, life in changes[:MOST_CHANGES]:
                self._changed(name, life)
        if failed:
            self._run.set_status(Status(StatusCode.ERROR))
        self._run.end(self._clock())

    def _changed(self, name: str, life: Life) -> None:
        sending, start, end = self._sending
        event = life.ended.id if name == REVOKE and life.ended is not None else life.event
        ids = ids_of_event(event)
        span = self._telemetry.begin(
            name,
            start=start,
            parent=self._telemetry.span_of(ids) if ids is not None else sending,
            attributes=_ids_of(life, event),
            links=[Link(sending.get_span_context())] if ids is not None else [],
        )
        span.end(end)

    def _end_stage(self) -> None:
        end = self._clock()
        if self._token is not None:
            detach(self._token)
            self._token = None
        if self._stage is not None:
            self._stage.end(end)
            if self._name == SENDING:
                self._sending = self._stage, self._sending[1], end
        self._name, self._stage = "", None


def _ids_of(life: Life, event: str) -> Attributes:
    found: dict[str, str | int] = {
        "ranger_cdap.source": life.source,
        "ranger_cdap.event": line_of_event(event),
        "ranger_cdap.policy_id": life.policy_id,
    }
    return {name: value for name, value in found.items() if value not in ("", -1)}


def _figures(report: RunReport) -> Attributes:
    return {
        "ranger_cdap.lines": sum(source.lines for source in report.sources),
        "ranger_cdap.events": sum(source.events for source in report.sources),
        "ranger_cdap.rejected": sum(source.rejected for source in report.sources),
        "ranger_cdap.granted": len(report.granted),
        "ranger_cdap.revoked": len(report.revoked),
        "ranger_cdap.pending": report.pending,
    }
