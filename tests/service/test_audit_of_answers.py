"""The audit says what was answered, and with `audit.required` no interface allows anything without a record."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.audit import AuditRecord, AuditTrail
from ranger_cdap.audit.commit import GroupCommit
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.service.events import check_journal
from tests.audit.undelayed import Undelayed
from tests.authz.fixtures import policy
from tests.disk_faults import full_disk
from tests.service.event_samples import stamp
from tests.service.fixtures import READ_AND_WRITE, World, serving
from tests.service.journal_fixtures import EVERYTHING, ask, figure, on_disk, question

WHY = "access is denied while it cannot be audited (Input/output error)"


def audited(world: World) -> list[tuple[int, str]]:
    return [(record.result, record.reason) for record in world.memory.records]


def test_a_check_that_cannot_be_journalled_is_audited_as_denied(tmp_path: Path) -> None:
    with serving(EVERYTHING, tmp_path) as world:
        with full_disk(10):
            refused = ask(world, question())
        assert not refused["allowed"]
        assert audited(world)
        assert {result for result, _ in audited(world)} == {0}
        assert all("cannot be journalled (File too large)" in reason for _, reason in audited(world))
        world.memory.records.clear()
        assert ask(world, question())["allowed"]
        assert {result for result, _ in audited(world)} == {1}


def test_a_creation_over_the_limit_is_audited_as_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_journal, "MOST_OF_A_USER", 1)
    with serving(EVERYTHING, tmp_path) as world:
        assert ask(world, question(check=stamp(1)))["allowed"]
        world.memory.records.clear()
        refused = ask(world, question(check=stamp(2)))
        assert {reason for _, reason in audited(world)} == {refused["reason"]}
        assert {result for result, _ in audited(world)} == {0}


def test_what_a_setting_allows_is_audited_as_denied_where_it_cannot_be_journalled(tmp_path: Path) -> None:
    with serving(EVERYTHING, tmp_path, master=MasterCreate.ALLOW) as world:
        with full_disk(10):
            assert not ask(world, question(user="cdap"))["allowed"]
        assert {result for result, _ in audited(world)} == {0}


# --- required -------------------------------------------------------------------------------------------------------


class Disk:
    """A disk that fails when told to; it knows in which threads it was written."""

    def __init__(self) -> None:
        self.fails = False
        self.taken: list[AuditRecord] = []
        self.writes = 0

    def write(self, records: Sequence[AuditRecord]) -> None:
        if self.fails:
            raise OSError(5, "Input/output error")
        self.writes += 1
        self.taken += records

    def close(self) -> None:
        pass


def require(world: World) -> tuple[Disk, Disk]:
    """The disk that must have each record, and what is to be written later."""
    disk, later = Disk(), Disk()
    trail = AuditTrail([Undelayed(later)], GroupCommit(disk, capacity=1000))
    world.state.authorizer.decider._audit = trail
    for service in world.state.services.values():
        object.__setattr__(service, "audit", trail)
    return disk, later


AUTHZEN: Any = {
    "subject": {"type": "user", "id": "alice"},
    "resource": {"type": "dataset", "id": "cdap/ns1/kv"},
    "action": {"name": "read"},
}
PDP: Any = {
    "requestId": "1",
    "user": {"name": "alice"},
    "access": {"resource": {"name": "dataset:cdap/ns1/kv"}, "permissions": ["read"]},
    "context": {"serviceName": "cdapdev"},
}
SEVERAL: Any = {
    "requestId": "2",
    "user": {"name": "alice"},
    "accesses": [
        {"resource": {"name": "dataset:cdap/ns1/kv"}, "permissions": permissions}
        for permissions in (["read", "write"], ["write"], ["read"])
    ],
    "context": {"serviceName": "cdapdev"},
}
ENFORCE: Any = {
    "principal": {"name": "alice"},
    "entity": {"type": "DATASET", "parts": ["ns1", "kv"]},
    "permissions": ["STANDARD.GET"],
}
INTERFACES = {
    "cdap": ("enforce", "/cdap/v1/enforce", ENFORCE, lambda answer: answer["allowed"]),
    "pdp": ("delegate", "/authz/v1/authorize", PDP, lambda answer: answer["decision"] == "ALLOW"),
    "pdp, several": ("delegate", "/authz/v1/authorizeMulti", SEVERAL, lambda answer: answer["decision"] == "ALLOW"),
    "authzen": ("delegate", "/access/v1/evaluation", AUTHZEN, lambda answer: answer["decision"]),
    "authzen, an operation": (
        "delegate",
        "/access/v1/evaluation",
        AUTHZEN | {"action": {"name": "dataset.get"}},
        lambda answer: answer["decision"],
    ),
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_no_interface_allows_what_cannot_be_audited(interface: str, tmp_path: Path) -> None:
    caller, path, body, allowed = INTERFACES[interface]
    policies = [*READ_AND_WRITE, policy(3, {"namespace": "ns1", "dataset": "*"}, ["alice"], ["read", "write"])]
    with serving(policies, tmp_path) as world:
        disk, later = require(world)
        answer = world.ask(caller, "POST", path, body)
        assert (answer.status, allowed(answer.json)) == (200, True), answer.body
        assert {record.result for record in disk.taken} == {1}
        disk.fails = True
        answer = world.ask(caller, "POST", path, body)
        assert (answer.status, allowed(answer.json)) == (200, False), answer.body
        assert {(record.result, record.reason) for record in later.taken} == {(0, WHY)}


def test_what_is_asked_together_waits_for_the_disk_once(tmp_path: Path) -> None:
    rights = [policy(3, {"namespace": "ns1", "dataset": "*"}, ["alice"], ["read"])]
    with serving(rights, tmp_path) as world:
        disk, _ = require(world)
        answer = world.ask("delegate", "POST", "/authz/v1/authorizeMulti", SEVERAL)
        decided = [
            {name: found["access"]["decision"] for name, found in access["permissions"].items()}
            for access in answer.json["accesses"]
        ]
        assert decided == [{"read": "ALLOW", "write": "DENY"}, {"write": "DENY"}, {"read": "ALLOW"}]
        kept = [(record.access, record.result) for record in disk.taken]
        assert kept == [("read", 1), ("write", 0), ("write", 0), ("read", 1)]
        assert disk.writes == 1


def test_a_journalled_check_that_cannot_be_audited_is_denied_and_no_longer_open(tmp_path: Path, events: Path) -> None:
    with serving(EVERYTHING, tmp_path) as world:
        disk, _ = require(world)
        disk.fails = True
        answer = ask(world, question())
        assert (answer["allowed"], answer["enforced"], answer["cacheable"]) == (False, True, False)
        assert answer["reason"] == WHY
        assert (figure(world, "checks_open"), len(on_disk(events))) == (0, 1)


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_disk_that_is_slow_holds_up_nobody_else(interface: str, tmp_path: Path) -> None:
    caller, path, body, allowed = INTERFACES[interface]
    with serving(READ_AND_WRITE, tmp_path) as world:
        disk, _ = require(world)
        asked, may_answer = threading.Event(), threading.Event()
        written = disk.write

        def slow(records: Sequence[AuditRecord]) -> None:
            asked.set()
            assert may_answer.wait(30)
            written(records)

        disk.write = slow  # type: ignore[method-assign]
        answers: list[Any] = []
        waiting = threading.Thread(target=lambda: answers.append(world.ask(caller, "POST", path, body).json))
        waiting.start()
        assert asked.wait(30)
        assert world.ask(None, "GET", "/health/live").status == 200
        may_answer.set()
        waiting.join()
        assert allowed(answers[0])
