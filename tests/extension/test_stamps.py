"""Each check has a stamp: in the question, in CDAP's log and in the record; no two have the same."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from ranger_cdap.wire.cdap_wire import EnforceRequest
from tests.extension.driver import NS1, Extension, User, entity
from tests.extension.scripted_service import ALLOWED, DENIED, Asked, Json, Reply, ScriptedService
from tests.extension.stamps import stamp_of

pytestmark = pytest.mark.java

KEPT = ALLOWED | {"cacheable": True}
CHECKS: dict[str, dict[str, Any]] = {
    "a check": {},
    "of children": {"child_type": "DATASET", "permissions": ["STANDARD.LIST"]},
    "without permission": {"permissions": []},
    "that is denied": {"user": User("bob")},
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_question_carries_a_stamp_of_the_time_before_it(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    before = int(time.time() * 1000)
    arrived: list[int] = []

    def decide(_asked: Asked) -> Json:
        arrived.append(int(time.time() * 1000))
        return DENIED if "denied" in name else ALLOWED

    service.decides = decide

    extension.enforce(**CHECKS[name])

    (asked,) = service.asked
    assert before <= stamp_of(asked.body["check"])["at"] <= arrived[0]
    assert asked.body["check"].keys() == {"id", "process", "at"}
    msgspec.convert(asked.body, EnforceRequest)


def test_the_stamp_of_the_question_stands_in_cdaps_log(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(ALLOWED, DENIED)

    bodies = [json.loads(newest.enforce()["audit"]) for _ in range(2)]

    assert [stamp_of(body) for body in bodies] == [asked.body["check"] for asked in service.asked]


def test_no_two_checks_have_one_id_and_all_of_a_process_name_it(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.decides = lambda _asked: ALLOWED
    for _ in range(3):
        extension.command("enforce together", users=100)

    stamps = [stamp_of(asked.body["check"]) for asked in service.asked]
    assert len({stamp["id"] for stamp in stamps}) == 300
    assert len({stamp["process"] for stamp in stamps}) == 1
    assert not {stamp["id"] for stamp in stamps} & {stamp["process"] for stamp in stamps}


def test_two_extensions_are_two_processes(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    for _ in range(2):
        extension.start(properties)
        service.answers(ALLOWED)
        extension.enforce()

    one, other = (asked.body["check"]["process"] for asked in service.asked)
    assert one != other


def test_a_connection_that_breaks_is_the_same_check_again(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(Reply(drops=True), ALLOWED)

    assert extension.enforce()["allowed"]

    first, second = (asked.body["check"] for asked in service.asked)
    assert first == second


def test_a_stamp_is_no_part_of_what_is_remembered(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties | {"cache.seconds": "5"})
    service.answers(KEPT)

    stamps = [stamp_of(json.loads(newest.enforce()["audit"])) for _ in range(4)]

    assert len(service.asked) == 1
    assert stamps[0] == service.asked[0].body["check"]
    assert len({stamp["id"] for stamp in stamps}) == 4, "what is remembered has a stamp of its own"
    assert len({stamp["process"] for stamp in stamps}) == 1


def test_what_is_not_to_be_kept_is_asked_each_time(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"cache.seconds": "5"})
    service.answers(*[ALLOWED] * 3)
    for _ in range(3):
        extension.enforce(of=entity("DATASET", "ns1", "kv"), permissions=["STANDARD.CREATE"])

    assert len({asked.body["check"]["id"] for asked in service.asked}) == 3


def test_what_is_only_looked_at_has_no_stamp(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers({"visible": [True], "cacheable": False, "generation": "g1"})
    extension.visible([NS1])

    assert service.asked[0].body.keys() == {"principal", "entities"}
