"""The trace of a run: its stages, what it changed, and what no span says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import get_current_span

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.errors import AdminUnreachable
from ranger_cdap.telemetry.choice import TelemetryChoice
from ranger_cdap.telemetry.propagation import trace_headers
from ranger_cdap.telemetry.sdk import Telemetry
from ranger_cdap.telemetry.trace_ids import ids_of_check
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import MANUAL, Life, State
from spark_sync.report import RunReport
from spark_sync.run_spans import MOST_CHANGES
from spark_sync.run_telemetry import traced_run

RUN_ID = "0af7651916cd43dd8448eb211c80319c"
LINE, STAMP, OTHER = "ab" * 32, "5e" * 16, "6f" * 16
SENDING = "sending grants to Ranger"


def event(stamp: str = STAMP, line: str = LINE, kind: str = "create") -> str:
    return f"{line}#{kind}#dataset:zqspace.zqset#{stamp}"


def life(**changes: Any) -> Life:
    given_ = {"source": "data-plane", "event": event(), "policy_id": 7} | changes
    entity = entity_id("dataset", ["zqspace", "zqset"])
    begun = Position(1, False, "data-plane", given_["event"])
    return Life(entity, 1, "zqalice", begun, State.APPLIED, accesses=("read",), **given_)


def telemetry() -> tuple[Telemetry, Callable[[], list[ReadableSpan]]]:
    kept = InMemorySpanExporter()
    made = Telemetry("sync", TelemetryChoice(traces=True), processor=SimpleSpanProcessor(kept))
    return made, lambda: list(kept.get_finished_spans())


def traced(stages: list[str], report: RunReport | None) -> list[ReadableSpan]:
    """The spans of a run with these stages, which fails if it has no report."""
    made, spans = telemetry()
    with traced_run(made, RUN_ID, lambda _: None) as run:
        for stage in stages:
            run.progress(stage)
        run.report = report
    return spans()


def report(**changes: Any) -> RunReport:
    return RunReport(**{"sources": ()} | changes)


MESSAGES = st.lists(st.sampled_from(["a", "a: 1 of 2", "a: 2 of 2", "b", SENDING, f"{SENDING}: 50 of 60"]))


@given(MESSAGES)
def test_stages_follow_each_other_in_the_trace_of_the_run(messages: list[str]) -> None:
    *stages, run = traced(messages, report())
    names = [message.partition(":")[0] for message in messages]
    expected = [name for before, name in zip(["", *names], names, strict=False) if name != before]
    assert [stage.name for stage in stages] == expected
    assert (run.name, run.parent, f"{run.context.trace_id:032x}") == ("sync run", None, RUN_ID)
    assert all(stage.parent is not None and stage.parent.span_id == run.context.span_id for stage in stages)
    times = [time for stage in stages for time in (stage.start_time or 0, stage.end_time or 0)]
    assert [run.start_time or 0, *times, run.end_time or 0] == sorted([run.start_time or 0, *times, run.end_time or 0])


def test_what_a_stage_asks_continues_its_span() -> None:
    made, spans = telemetry()
    with traced_run(made, RUN_ID, lambda _: None) as run:
        assert trace_headers() == {}
        run.progress(SENDING)
        header = trace_headers()["traceparent"]
    assert not get_current_span().get_span_context().is_valid
    assert header == f"00-{RUN_ID}-{spans()[0].context.span_id:016x}-03"  # sampled, and of a random trace


# life: the trace of its change, and its attributes
CHANGES = [
    (life(), STAMP, {"ranger_cdap.source": "data-plane", "ranger_cdap.event": LINE, "ranger_cdap.policy_id": 7}),
    (life(event="entity:zqset", policy_id=-1), None, {"ranger_cdap.source": "data-plane"}),
    (life(event=event(line=OTHER)), STAMP, {"ranger_cdap.source": "data-plane", "ranger_cdap.policy_id": 7}),
    (life(event="", source=MANUAL), None, {"ranger_cdap.source": MANUAL, "ranger_cdap.policy_id": 7}),
]


@pytest.mark.parametrize(("changed", "stamp", "attributes"), CHANGES)
def test_a_grant_is_in_the_trace_of_its_check(changed: Life, stamp: str | None, attributes: dict[str, Any]) -> None:
    sending, grant, run = traced([SENDING], report(granted=(changed,)))
    ids = ids_of_check(stamp) if stamp else None
    parent = (ids.trace, ids.span) if ids else (int(RUN_ID, 16), sending.context.span_id)
    assert (grant.name, dict(grant.attributes or {})) == ("grant", attributes)
    assert grant.parent is not None
    assert (grant.parent.trace_id, grant.parent.span_id) == parent
    assert [link.context.span_id for link in grant.links] == ([sending.context.span_id] if ids else [])
    assert (sending.start_time, sending.end_time) == (grant.start_time, grant.end_time)
    assert dict(run.attributes or {})["ranger_cdap.granted"] == 1


def test_a_revocation_is_in_the_trace_of_the_deletion() -> None:
    deleted = life(ended=Position(9, True, "data-plane", event(OTHER, kind="delete")))
    _, revoke, _ = traced([SENDING], report(revoked=(deleted,)))
    ids = ids_of_check(OTHER)
    assert ids is not None
    assert (revoke.name, revoke.context.trace_id) == ("revoke", ids.trace)


def test_no_span_has_the_name_of_a_user_or_an_entity() -> None:
    lives = tuple(each for each, *_ in CHANGES)
    for span in traced([SENDING], report(granted=lives, revoked=lives, waiting=lives)):
        assert "zq" not in span.to_json()
        assert STAMP not in span.to_json()


def test_a_back_fill_has_a_bounded_number_of_spans() -> None:
    spans = traced([SENDING], report(granted=(life(),) * (2 * MOST_CHANGES)))
    assert len(spans) == MOST_CHANGES + 2
    assert dict(spans[-1].attributes or {})["ranger_cdap.granted"] == 2 * MOST_CHANGES


@pytest.mark.parametrize("ended", [None, report(error=AdminUnreachable("away"))])
def test_a_run_that_failed_is_an_error(ended: RunReport | None) -> None:
    *_, run = traced([SENDING], ended)
    assert run.status.status_code.name == "ERROR"


def test_an_error_of_a_run_is_not_hidden_and_one_of_tracing_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made, _ = telemetry()

    def use() -> None:
        with traced_run(made, RUN_ID, lambda _: None) as run:
            monkeypatch.setattr("spark_sync.run_spans.RunSpans.progress", broken)
            monkeypatch.setattr("spark_sync.run_spans.RunSpans.end", broken)
            run.progress("a")
            raise AdminUnreachable("away")

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("zqsecret")

    with pytest.raises(AdminUnreachable):
        use()
    said = [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert said == ["a run is not traced: RuntimeError"] * 2


@given(st.integers(0, 2**128 - 1).map("{:032x}".format), st.floats(0, 1))
def test_both_programs_keep_the_same_traces(stamp: str, share: float) -> None:
    """With a sampler by ratio: the grant is kept if the check is."""
    ids = ids_of_check(stamp)
    assert ids is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
        patch.setenv("OTEL_TRACES_SAMPLER_ARG", str(share))
        made, _ = telemetry()
    parent = made.span_of(ids)
    assert made.begin("check", ids=ids).is_recording() == made.begin("grant", parent=parent).is_recording()
    assert parent.get_span_context().trace_flags.sampled == (
        ids.trace & (2**64 - 1) < TraceIdRatioBased.get_bound_for_rate(share)
    )
