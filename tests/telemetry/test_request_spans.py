"""One span for a request of the decision service: what it says, whose it is, and what it never says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.metrics import REQUESTS
from ranger_cdap.telemetry import ids_of_check, sdk
from ranger_cdap.telemetry.sdk import Telemetry
from tests.authz.fixtures import policy
from tests.service.event_samples import record, stamp
from tests.service.fixtures import READ_AND_WRITE, World, basic, caller, secret_of, serving
from tests.service.http.raw_http import head, send, status, until
from tests.service.http.test_json_log import logged

ENFORCE = "/cdap/v1/enforce"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class Traced:
    """A service, and the spans of its requests."""

    def __init__(self, world: World, kept: InMemorySpanExporter) -> None:
        self.world = world
        self._kept = kept

    def ask(self, *asked: Any, **headers: str) -> tuple[int, list[ReadableSpan]]:
        """The status of a request, and the spans that it made: they are there shortly after the answer."""
        self._kept.clear()
        answer = self.world.ask(*asked, **headers)
        return answer.status, self.spans(1)

    def spans(self, least: int) -> list[ReadableSpan]:
        until(lambda: len(self._kept.get_finished_spans()) >= least)
        return list(self._kept.get_finished_spans())

    def spans_after(self, number: int) -> list[ReadableSpan]:
        """All spans, once so many requests have been counted."""
        until(lambda: requests_of(self.world) >= number)
        return list(self._kept.get_finished_spans())


def requests_of(world: World) -> float:
    """The number of requests that are answered and counted; the span of each was recorded before."""
    return world.state.metrics.number(REQUESTS)


@contextmanager
def tracing(tmp_path: Path, policies: Any = READ_AND_WRITE, **service: Any) -> Iterator[Traced]:
    kept = InMemorySpanExporter()
    telemetry = Telemetry("ranger-cdap", SimpleSpanProcessor(kept))
    with serving(policies, tmp_path, telemetry=telemetry, **service) as world:
        yield Traced(world, kept)
    telemetry.close()


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    with tracing(tmp_path_factory.mktemp("traced")) as service:
        yield service


def check(user: str = "alice", **more: Any) -> Any:
    entity = {"type": "DATASET", "parts": ["ns1", "kv"]}
    return {
        "principal": {"name": user},
        "entity": entity,
        "permissions": ["STANDARD.GET"],
        "from_container": True,
    } | more


def evaluations(*users: str) -> Any:
    resource = {"type": "dataset", "id": "cdap/ns1/kv"}
    return {
        "action": {"name": "dataset.get"},
        "resource": resource,
        "context": {"serviceName": "cdapdev"},
        "evaluations": [{"subject": {"type": "user", "id": user}} for user in users],
    }


# who, method, path, body: status, the attributes of ours
ASKED = [
    ("enforce", "POST", ENFORCE, check(), 200, {"ranger_cdap.result": "allowed"}),
    ("enforce", "POST", ENFORCE, check("eve"), 200, {"ranger_cdap.result": "denied"}),
    ("enforce", "POST", "/cdap/v1/visible", {"principal": {"name": "alice"}, "entities": []}, 200, {}),
    ("enforce", "POST", ENFORCE, b"{", 400, {}),
    ("audit", "POST", ENFORCE, check(), 403, {}),
    ("audit", "POST", "/cdap/v1/audit", {"records": [record()]}, 200, {}),
]


@pytest.mark.parametrize(("who", "method", "path", "body", "expected", "ours"), ASKED)
def test_a_span_says_route_status_and_result(
    traced: Traced, who: str, method: str, path: str, body: Any, expected: int, ours: dict[str, Any]
) -> None:
    answered, (span,) = traced.ask(who, method, path, body)
    assert answered == expected
    assert span.name == f"{method} {path}"
    assert span.kind.name == "SERVER"
    assert span.parent is None
    assert dict(span.attributes or {}) == {
        "http.request.method": method,
        "http.route": path,
        "http.response.status_code": expected,
        **ours,
    }
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.start_time < span.end_time


def test_several_decisions_have_one_result(traced: Traced) -> None:
    of = {}
    for users in (("alice", "alice"), ("eve", "alice"), ("eve", "mallory")):
        answered, (span,) = traced.ask("delegate", "POST", "/access/v1/evaluations", evaluations(*users))
        assert answered == 200
        of[users] = dict(span.attributes or {})["ranger_cdap.result"]
    assert of == {("alice", "alice"): "allowed", ("eve", "alice"): "mixed", ("eve", "mallory"): "denied"}


# --- parents ------------------------------------------------------------------------------------------------------


def test_the_parent_is_that_of_an_authenticated_caller(traced: Traced) -> None:
    _, (span,) = traced.ask("enforce", "POST", ENFORCE, check(), traceparent=TRACEPARENT)
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert f"{span.context.trace_id:032x}" == TRACE


def test_a_caller_without_a_secret_has_no_parent(tmp_path: Path) -> None:
    with tracing(tmp_path) as traced:
        wrong = basic("enforce", "wrong-secret-0123456789")
        answered, (span,) = traced.ask(None, "POST", ENFORCE, check(), traceparent=TRACEPARENT, Authorization=wrong)
        assert (answered, span.parent) == (401, None)
        assert f"{span.context.trace_id:032x}" != TRACE
        answered, (span,) = traced.ask(None, "GET", "/health/live", traceparent=TRACEPARENT)
        assert (answered, span.parent) == (200, None)


HEX = st.text("0123456789abcdef", min_size=1, max_size=40)
ALMOST = st.tuples(st.sampled_from(["00", "01", "ff", "0"]), HEX, HEX, st.sampled_from(["00", "01", "zz", "0"]))
HEADERS = ALMOST.map("-".join) | st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f")
)
VALID = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(HEADERS)
@example("00-" + "0" * 32 + "-" + PARENT + "-01")
@example("00-" + TRACE + "-" + "0" * 16 + "-01")
@example("ff-" + TRACE + "-" + PARENT + "-01")
@example(TRACEPARENT + "-")
@example("x" * 4000)
def test_no_traceparent_changes_an_answer_or_is_believed_if_it_is_none(traced: Traced, sent: str) -> None:
    body = json.dumps(check()).encode()
    request = head(f"POST {ENFORCE} HTTP/1.1", f"traceparent: {sent}", f"Content-Length: {len(body)}")
    traced._kept.clear()
    answer = send(traced.world, request, body)
    (span,) = traced.spans(1)
    assert (status(answer), b'"allowed":true' in answer) == (200, True)
    assert span.parent is None or VALID.match(sent.strip())


def test_two_traceparents_are_none(traced: Traced) -> None:
    body = json.dumps(check()).encode()
    twice = [f"traceparent: {TRACEPARENT}"] * 2
    traced._kept.clear()
    send(traced.world, head(f"POST {ENFORCE} HTTP/1.1", *twice, f"Content-Length: {len(body)}"), body)
    (span,) = traced.spans(1)
    assert span.parent is None


# --- the trace of a check -----------------------------------------------------------------------------------------


def test_a_stamped_check_has_the_trace_of_its_stamp_and_a_link_to_its_caller(traced: Traced) -> None:
    stamped = check(check=stamp(7))
    ids = ids_of_check(stamp(7)["id"])
    assert ids is not None
    _, (span,) = traced.ask("enforce", "POST", ENFORCE, stamped)
    assert (span.context.trace_id, span.context.span_id, span.parent) == (ids.trace, ids.span, None)
    assert not span.links
    _, (span,) = traced.ask("enforce", "POST", ENFORCE, stamped, traceparent=TRACEPARENT)
    assert (span.context.trace_id, span.context.span_id, span.parent) == (ids.trace, ids.span, None)
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [TRACE]


# --- floods -------------------------------------------------------------------------------------------------------


def test_requests_of_strangers_do_not_crowd_out_those_of_callers(tmp_path: Path) -> None:
    with tracing(tmp_path) as traced:
        for number in range(40):
            traced.world.ask(None, "POST", ENFORCE, check(), traceparent=TRACEPARENT)
            traced.world.ask(None, "GET", f"/nothing/{number}", traceparent=TRACEPARENT)
            traced.world.ask(None, "GET", "/health/live", Host="evil.example")
            traced.world.ask("enforce", "POST", ENFORCE, check())
        spans = traced.spans_after(160)
        of_strangers = [span for span in spans if dict(span.attributes or {})["http.response.status_code"] != 200]
        assert len(spans) - len(of_strangers) == 40
        assert len(of_strangers) == 3


# --- names --------------------------------------------------------------------------------------------------------

WORDS = [
    f"zq{name}" for name in ("user", "group", "role", "space", "set", "caller", "host", "path", "query", "id", "agent")
]


def test_no_span_has_the_name_of_a_user_an_entity_or_a_caller(tmp_path: Path) -> None:
    user, group, role, space, dataset, name, host, path, query, request_id, agent = WORDS
    rights = [policy(1, {"namespace": space, "dataset": dataset}, [user], ["read"])]
    with tracing(tmp_path, rights, callers=(caller(name, *CallerRole),)) as traced:
        entity = {"type": "DATASET", "parts": [space, dataset]}
        more = {"X_Request_Id": request_id, "User_Agent": agent, "baggage": f"user={user}", "tracestate": f"a={user}"}
        asked: list[tuple[str | None, str, str, Any]] = [
            (name, "POST", ENFORCE, check(user, entity=entity)),
            (name, "POST", ENFORCE, check(user, entity=entity, permissions=[f"STANDARD.{role}"], hint=f"{user}.x y.z")),
            (name, "POST", ENFORCE, check(user, entity=entity, client_ip=user)),
            (name, "POST", "/cdap/v1/visible", {"principal": {"name": user}, "entities": [entity]}),
            (name, "POST", "/cdap/v1/audit", {"records": [record(check_principal=user), 1]}),
            (name, "POST", ENFORCE, {user: group}),
            (name, "GET", f"/{path}?{query}={query}", None),
            (name, "GET", f"/policies?user={user}", None),
            (user, "POST", ENFORCE, check(user)),
        ]
        for each in asked:
            traced.world.ask(*each, traceparent=TRACEPARENT, **more)
        traced.world.ask(name, "GET", "/health/live", Host=host)
        spans = traced.spans_after(len(asked) + 1)
    assert len(spans) >= len(asked)
    for span in spans:
        text = span.to_json()
        assert not [word for word in (*WORDS, secret_of(name)) if word in text.lower()]


# --- the log ------------------------------------------------------------------------------------------------------


def test_the_line_of_a_request_has_the_id_of_its_trace(traced: Traced) -> None:
    with logged() as lines:
        _, (span,) = traced.ask("enforce", "POST", ENFORCE, check(), X_Request_Id="of-this-request")
        until(lambda: len(lines) > 0)
    (line,) = [entry for entry in map(json.loads, lines) if entry.get("request_id") == "of-this-request"]
    assert line["trace_id"] == f"{span.context.trace_id:032x}"
    assert line["route"] == ENFORCE
    assert line["status"] == 200


def test_a_span_that_cannot_be_made_fails_no_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> str:
        raise RuntimeError("zqsecret")

    with tracing(tmp_path) as traced, logged() as lines:
        monkeypatch.setattr(sdk, "Link", broken)
        monkeypatch.setattr(sdk.TraceContextTextMapPropagator, "extract", broken)
        assert traced.world.ask("enforce", "POST", ENFORCE, check()).status == 200
        until(lambda: len(lines) > 1)
    texts = "".join(lines)
    assert "a span is not recorded: RuntimeError" in texts
    assert "zqsecret" not in texts
