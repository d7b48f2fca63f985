"""A service that gives no answers is not asked for a second at a time; one that lives is asked every question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.extension.driver import NS1, Extension, User
from tests.extension.scripted_service import ALLOWED, DENIED, Reply, ScriptedService

pytestmark = pytest.mark.java

SAID = "the authorization service of CDAP does not answer ({}); nothing is allowed until it does"
NOT_ASKED = "not asked for the moment, as the last calls failed: {}"
BROKEN = NOT_ASKED.format("the connection broke")
LOST = [Reply(drops=True)] * 2  # a broken connection is tried once more
REQUEST = {"code": 200, "uri": "/v3/x", "method_type": "PUT", "started": 1, "ended": 2}


def opened(extension: Extension, service: ScriptedService, properties: dict[str, str]) -> None:
    """Three questions that find no answer; whoever asks then has to wait for a second."""
    extension.start(properties)
    service.answers(*LOST * 3)
    for _ in range(3):
        assert extension.enforce()["text"].endswith(SAID.format("the connection broke"))
    assert len(service.asked) == 6


def publish(extension: Extension) -> Any:
    return extension.command("publish", bodies=[json.dumps({"allowed": True})], request=REQUEST)["status"]


def test_a_dead_service_is_not_asked_for_a_second(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    opened(extension, service, properties)
    connections = service.connections

    for _ in range(5):
        assert extension.enforce()["text"].endswith(SAID.format(BROKEN))
    assert extension.visible([NS1]) == {"error": "Refusal", "status": 503, "text": SAID.format(BROKEN)}
    extension.pass_time(999)
    assert not extension.enforce()["allowed"]
    assert service.connections == connections

    extension.pass_time(1)
    service.answers(ALLOWED, DENIED, ALLOWED)
    assert [extension.enforce()["allowed"] for _ in range(3)] == [True, False, True]


def test_a_container_does_not_keep_that_nobody_was_asked(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    opened(extension, service, properties)

    seen = extension.command(
        "enforce for a container", principal={"name": "alice"}, entity=NS1, permissions=["STANDARD.GET"]
    )

    assert (seen["error"], seen["status"], seen["text"]) == ("Refusal", 503, SAID.format(BROKEN))


def test_when_the_second_is_over_one_call_tries_for_all(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    opened(extension, service, properties | {"read.timeout.ms": "2000"})
    extension.pass_time(1_000)
    service.answers(Reply(hangs=True), ALLOWED)

    assert extension.command("enforce together", users=20)["allowed"] == [False] * 20
    assert len(service.asked) == 7
    assert extension.enforce()["text"].endswith(SAID.format(NOT_ASKED.format("no answer within 2000 ms")))

    extension.pass_time(1_000)
    assert extension.enforce()["allowed"]


ANSWERS: dict[str, Reply] = {
    "not known": Reply(b"", 401),
    "too many": Reply(b"", 429, {"Retry-After": "1"}),
    "broken": Reply(b"", 500),
    "overloaded": Reply(b"", 503, {"Retry-After": "1"}),
    "a gateway that waited in vain": Reply(b"", 504),
    "nonsense": Reply(b"nonsense"),
    "a missing field": Reply({}),
    "not HTTP": Reply(raw=b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_answers_is_asked_again(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(*[ANSWERS[name]] * 10, ALLOWED)

    assert [extension.enforce()["allowed"] for _ in range(11)] == [False] * 10 + [True]


def test_calls_lost_among_answers_concern_those_who_made_them_only(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(*[*LOST, *LOST, ALLOWED, *LOST, Reply(b"", 503), ALLOWED] * 5)

    allowed = [extension.enforce()["allowed"] for _ in range(30)]
    assert allowed == [False, False, True, False, False, True] * 5


def test_a_remembered_answer_needs_no_service(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"cache.seconds": "5"})
    service.answers(ALLOWED | {"cacheable": True}, *LOST * 3)
    assert extension.enforce()["allowed"]
    for n in range(4):
        assert not extension.enforce(User(f"user {n}"))["allowed"]

    assert extension.enforce()["allowed"]
    extension.pass_time(5_000)
    service.answers(DENIED)
    assert not extension.enforce()["allowed"]


def test_records_are_sent_past_a_service_that_is_not_asked(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    """CDAP keeps them until they are taken, in one thread of its own: no user waits for them."""
    opened(newest, service, properties)
    service.answers({"stored": 1, "refused": []})

    assert publish(newest) == "PUBLISHED"


def test_records_that_are_not_taken_deny_no_one(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(*LOST * 5, ALLOWED)

    assert [publish(newest) for _ in range(5)] == ["UNSUCCESSFUL"] * 5
    assert newest.enforce()["allowed"]


def test_what_was_not_asked_is_in_the_line_a_minute(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    before = extension.log.count("does not answer")
    opened(extension, service, properties)
    for _ in range(59):
        extension.enforce()
    assert extension.log.count("does not answer") == before + 1

    extension.pass_time(60_000)
    service.answers(*LOST)
    extension.enforce()
    assert extension.log.count("does not answer") == before + 2
    assert "[61 times more since the last line]" in extension.log


def test_a_question_that_cannot_be_asked_says_nothing_of_the_service(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    opened(extension, service, properties)
    assert "is no proper text" in extension.enforce(User("a\ud800"))["text"]

    assert extension.enforce()["text"].endswith(SAID.format(BROKEN))


STEPS = st.lists(
    st.one_of(
        *[st.just(("enter",))] * 4,
        st.tuples(st.just("answer"), st.integers(0, 9)),
        st.tuples(st.just("fail"), st.integers(0, 9), st.sampled_from(["no connection", "late"])),
        st.tuples(st.just("fail"), st.integers(0, 9), st.sampled_from(["no connection", "late"])),
        st.tuples(st.just("pass"), st.sampled_from([1, 499, 500, 999, 1_000, 60_000])),
    ),
    max_size=60,
)

ENTER, FAIL = ("enter",), ("fail", 0, "late")
AFTER_AN_ANSWER = [*[ENTER] * 4, ("answer", 0), *[FAIL] * 3, ENTER]
AFTER_A_PAUSE = [*[ENTER] * 4, *[FAIL] * 3, ("pass", 500), FAIL, ("pass", 500), ENTER, ENTER]
OTHERS_END_WHILE_ONE_TRIES = [*[ENTER] * 5, *[FAIL] * 3, ("pass", 1_000), ENTER, FAIL, FAIL, ("pass", 1_000), ENTER]


@given(STEPS)
@example(AFTER_AN_ANSWER)
@example(AFTER_A_PAUSE)
@example(OTHERS_END_WHILE_ONE_TRIES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_opens_tries_and_closes(newest: Extension, steps: list[tuple[Any, ...]]) -> None:
    """Against a model: calls under way, those whose failure still counts, and who tries for all."""
    newest.command("new circuit")
    now = resumes = 0
    under_way: list[tuple[int, int]] = []  # number and turn of a call
    telling: set[int] = set()  # calls that began after the last answer and the last pause
    failures: list[str] = []
    trying: int | None = None
    number = 0
    for kind, *details in steps:
        if kind == "pass":
            now += details[0]
            newest.pass_time(details[0])
        elif kind == "enter":
            seen = newest.command("enter")
            is_open = len(failures) >= 3
            if is_open and (trying is not None or now < resumes):
                assert seen == {"error": "ServiceFailure", "text": NOT_ASKED.format(failures[-1])}
                continue
            number += 1
            under_way.append((number, seen["turn"]))
            telling.add(number)
            if is_open:
                trying = number
        elif under_way:
            call, turn = under_way.pop(details[0] % len(under_way))
            newest.command("left", turn=turn, failure=None if kind == "answer" else details[1])
            if kind == "answer":
                failures, telling, trying = [], set(), None
            elif call in telling:
                telling.discard(call)
                failures.append(details[1])
                if len(failures) >= 3:
                    telling, trying, resumes = set(), None, now + 1_000
