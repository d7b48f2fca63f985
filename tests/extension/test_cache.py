"""What was allowed may be used again for seconds, in one generation; nothing else is remembered."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.extension.driver import ALICE, NS1, Extension, User, entity
from tests.extension.scripted_service import ALLOWED, DENIED, HELLO, Reply, ScriptedService

pytestmark = pytest.mark.java

KEPT = ALLOWED | {"cacheable": True}
KV = entity("DATASET", "ns1", "kv")


@pytest.fixture
def properties(properties: dict[str, str]) -> dict[str, str]:
    """As everywhere here, but answers are remembered as long as it is possible."""
    return {k: v for k, v in properties.items() if k != "cache.seconds"}


def shown(*visible: bool, generation: str = "g1", cacheable: bool = True) -> dict[str, object]:
    return {"visible": list(visible), "cacheable": cacheable, "generation": generation}


def test_what_was_allowed_is_not_asked_again(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(KEPT)

    assert [extension.enforce()["allowed"] for _ in range(5)] == [True] * 5
    assert len(service.asked) == 1


@pytest.mark.parametrize("answer", [ALLOWED, DENIED, DENIED | {"cacheable": True}, Reply(b"", 500)])
def test_whatever_else_is_asked_again(
    answer: dict[str, object] | Reply, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(answer, KEPT)

    extension.enforce()
    assert extension.enforce()["allowed"]
    assert len(service.asked) == 2


OTHERS = {
    "user": {"user": User("bob")},
    "type of user": {"user": User("alice", type="GROUP")},
    "Kerberos principal": {"user": User("alice", "alice@REALM")},
    "entity": {"of": entity("NAMESPACE", "ns2")},
    "type of entity": {"of": entity("SYSTEM_SERVICE", "ns1")},
    "children": {"child_type": "DATASET"},
    "permission": {"permissions": ["STANDARD.UPDATE"]},
    "permissions": {"permissions": ["STANDARD.GET", "STANDARD.UPDATE"]},
    "no permission": {"permissions": []},
    "address": {"request": {"user": "alice", "ip": "10.0.0.1"}},
}


@pytest.mark.parametrize("part", OTHERS)
def test_a_question_that_differs_is_another_one(
    part: str, newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(KEPT, DENIED)

    assert newest.enforce()["allowed"]
    assert not newest.enforce(**OTHERS[part])["allowed"]  # type: ignore[arg-type]
    assert newest.enforce()["allowed"]
    assert len(service.asked) == 2


def test_parts_are_not_run_together(extension: Extension, service: ScriptedService, properties: dict[str, str]) -> None:
    extension.start(properties)
    service.answers(KEPT, DENIED)

    assert extension.enforce(of=entity("SYSTEM_APP_ENTITY", "ns1", "a", "b.c", "d"))["allowed"]
    assert not extension.enforce(of=entity("SYSTEM_APP_ENTITY", "ns1", "a.b", "c", "d"))["allowed"]


@pytest.mark.parametrize("brought_by", ["an allowed", "a denied", "a visible", "a hello"])
def test_another_generation_empties_it(
    brought_by: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(KEPT)
    assert extension.enforce()["allowed"]

    if brought_by == "an allowed":
        service.answers(KEPT | {"generation": "g2"})
        extension.enforce(of=KV)
    elif brought_by == "a denied":
        service.answers(DENIED | {"generation": "g2"})
        extension.enforce(of=KV)
    elif brought_by == "a visible":
        service.answers(shown(False, generation="g2"))
        extension.visible([KV])
    else:
        service.answers(Reply(b"", 500), ALLOWED)
        service.hello = Reply(HELLO | {"generation": "g2"})
        extension.enforce(of=KV)
        extension.enforce(of=KV)

    service.answers(DENIED | {"generation": "g2"})
    assert not extension.enforce()["allowed"]


@pytest.mark.parametrize(
    ("seconds", "lasts"), [(None, 5_000), ("5", 5_000), ("3600", 5_000), ("2", 2_000), ("1", 1_000)]
)
def test_it_lasts_for_seconds(
    seconds: str | None, lasts: int, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | ({"cache.seconds": seconds} if seconds else {}))
    service.answers(KEPT, DENIED)

    assert extension.enforce()["allowed"]
    extension.pass_time(lasts - 1)
    assert extension.enforce()["allowed"]
    extension.pass_time(1)
    assert not extension.enforce()["allowed"]


@pytest.mark.parametrize("off", [{"cache.seconds": "0"}, {"cache.max.entries": "0"}, {"cache.max.entries": "-1"}])
def test_it_can_be_switched_off(
    off: dict[str, str], extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | off)
    service.answers(KEPT, DENIED, shown(True), shown(False))

    assert extension.enforce()["allowed"]
    assert not extension.enforce()["allowed"]
    assert extension.visible([NS1]) == {"visible": [True]}
    assert extension.visible([NS1])["visible"] in ([False], ["missing"])


def test_only_what_is_not_known_to_be_visible_is_asked_about(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    others = [entity("DATASET", "ns1", name) for name in "abc"]
    service.answers(shown(True, False, True), shown(True, True))

    assert newest.visible([NS1, KV, others[0]]) == {"visible": [True, False, True]}
    assert newest.visible([others[0], KV, NS1, others[1]]) == {"visible": [True, True, True, True]}
    assert service.asked[1].body["entities"] == [KV, others[1]]


def test_what_somebody_sees_says_nothing_of_another_or_of_permissions(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(shown(True), shown(False), DENIED)

    assert newest.visible([NS1]) == {"visible": [True]}
    assert newest.visible([NS1], User("bob")) == {"visible": [False]}
    assert not newest.enforce(ALICE, NS1, [])["allowed"]


def test_visible_and_not_to_be_kept_is_asked_again(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(shown(True, cacheable=False), shown(False))

    assert newest.visible([NS1]) == {"visible": [True]}
    assert newest.visible([NS1]) == {"visible": [False]}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from("abcd"), st.sampled_from(["g1", "g2"]), st.integers(0, 6_000)),
        st.tuples(st.just("seen"), st.sampled_from(["g1", "g2"])),
        st.tuples(st.just("pass time"), st.integers(0, 3_000)),
        st.tuples(st.just("holds"), st.sampled_from("abcd")),
    ),
    max_size=40,
)


@given(STEPS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_a_bounded_memory_of_one_generation(newest: Extension, steps: list[tuple[object, ...]]) -> None:
    """Against a model: the newest three, asked less than five seconds ago, all of the last generation."""
    newest.command("new cache", seconds=5, most=3)
    model: OrderedDict[object, int] = OrderedDict()
    now, current = 0, ""
    for step in steps:
        match step:
            case ("remember", question, generation, int(ago)):
                newest.command("remember", question=question, generation=generation, asked_ms_ago=ago)
                if generation == current:
                    model.pop(question, None)
                    model[question] = now - ago
                    while len(model) > 3:
                        model.popitem(last=False)
            case ("seen", generation):
                newest.command("seen", generation=generation)
                if generation != current:
                    model.clear()
                    current = str(generation)
            case ("pass time", int(ms)):
                newest.pass_time(ms)
                now += ms
            case (_, question):
                fresh = question in model and now - model[question] < 5_000
                assert newest.command("holds", question=question)["holds"] == fresh
                if not fresh:
                    model.pop(question, None)
