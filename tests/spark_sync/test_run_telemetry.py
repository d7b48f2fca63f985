"""The span of a run: what it changed, the checks that it began with, and what no span says."""

from __future__ import annotations

import time
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.errors import AdminUnreachable
from ranger_cdap.telemetry import ids_of_check
from ranger_cdap.telemetry.sdk import Telemetry
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import MANUAL, Life, State
from spark_sync.report import RunReport
from spark_sync.run_telemetry import record_run

RUN_ID = "0af7651916cd43dd8448eb211c80319c"
LINE, STAMP, OTHER = "ab" * 32, "5e" * 16, "6f" * 16


def event(stamp: str = STAMP, kind: str = "create") -> str:
    return f"{LINE}#{kind}#dataset:zqspace.zqset#{stamp}"


def life(**changes: Any) -> Life:
    given_ = {"source": "data-plane", "event": event(), "policy_id": 7} | changes
    entity = entity_id("dataset", ["zqspace", "zqset"])
    begun = Position(1, False, "data-plane", given_["event"])
    return Life(entity, 1, "zqalice", begun, State.APPLIED, accesses=("read",), **given_)


DELETED = life(ended=Position(9, True, "data-plane", event(OTHER, "delete")))
BY_HAND = life(event="", source=MANUAL)


def recorded(report: RunReport | None) -> ReadableSpan:
    kept = InMemorySpanExporter()
    record_run(Telemetry("sync", SimpleSpanProcessor(kept)), RUN_ID, time.time_ns() - 1_000, report)
    (span,) = kept.get_finished_spans()
    return span


def report(**changes: Any) -> RunReport:
    return RunReport(**{"sources": ()} | changes)


def test_a_run_is_linked_to_the_checks_of_what_it_granted_and_revoked() -> None:
    span = recorded(report(granted=(life(), life(), BY_HAND), revoked=(DELETED, life())))
    assert (span.name, span.parent, f"{span.context.trace_id:032x}") == ("sync run", None, RUN_ID)
    assert [(link.context.trace_id, link.context.span_id) for link in span.links] == [
        ids_of_check(STAMP),
        ids_of_check(OTHER),
    ]
    assert dict(span.attributes or {}) == {"ranger_cdap.granted": 3, "ranger_cdap.revoked": 2}
    assert (span.start_time or 0) < (span.end_time or 0)


def test_no_span_has_the_name_of_a_user_or_an_entity() -> None:
    lives = (life(), DELETED, BY_HAND, life(event="entity:zqset"))
    text = recorded(report(granted=lives, revoked=lives, waiting=lives)).to_json()
    assert "zq" not in text
    assert STAMP not in text


@pytest.mark.parametrize("ended", [None, report(error=AdminUnreachable("away"))])
def test_a_run_that_failed_is_an_error(ended: RunReport | None) -> None:
    assert recorded(ended).status.status_code.name == "ERROR"
