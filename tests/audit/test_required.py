"""`audit.required`: nothing is allowed without a record on the disk, whatever happens to disk and process."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.audit import BUILT_IN_SINKS, AuditRecord, AuditTrail, open_trail
from ranger_cdap.audit.commit import GroupCommit
from ranger_cdap.audit.file import FileSink
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.errors import AuditSinkError
from tests.audit.undelayed import Undelayed
from tests.authz.fixtures import authorizer, policy
from tests.disk_faults import full_disk, in_a_child

PATIENCE = 30.0
KV = entity_id("stream", ("ns1", "kv"))
POLICIES = [policy(1, {"namespace": "ns1", "stream": "*"}, ["alice"], ["read"])]
WHY = "access is denied while it cannot be audited"


def trail(directory: Path, **more: object) -> AuditTrail:
    settings = AuditSettings(required=True, file=directory / "a.jsonl", spool_dir=directory / "spool", **more)  # type: ignore[arg-type]
    return open_trail(Settings(audit=settings), BUILT_IN_SINKS)


def deciding(audit: AuditTrail) -> Authorizer:
    made = authorizer(POLICIES)
    made.decider._audit = audit
    return made


def allowed(asked: Authorizer, user: str = "alice", number: int = 0) -> bool:
    return asked.check(user, (), "stream.get", entity_id("stream", ("ns1", f"kv{number}"))).allowed


def on_disk(directory: Path) -> list[dict[str, Any]]:
    path = directory / "a.jsonl"
    return of_streams(json.loads(line) for line in path.read_bytes().splitlines())


def of_streams(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each decision has a record for the namespace as well."""
    return [line for line in lines if line["resType"] == "stream"]


def results(records: Iterable[AuditRecord]) -> list[int]:
    return [record.result for record in records if record.resType == "stream"]


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_the_record_is_on_the_disk_when_the_answer_comes(user: str, tmp_path: Path) -> None:
    asked = deciding(trail(tmp_path))
    for number in range(3):
        answer = allowed(asked, user, number)
        record = on_disk(tmp_path)[-1]
        assert (record["reqUser"], record["result"], record["resource"]) == (user, int(answer), f"cdap/ns1/kv{number}")
    asked.decider._audit.close()


def test_a_process_killed_right_after_an_allow_has_left_its_record(tmp_path: Path) -> None:
    def work() -> None:
        if allowed(deciding(trail(tmp_path))):
            os.kill(os.getpid(), signal.SIGKILL)

    _, status = os.waitpid(in_a_child(work), 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert [line["result"] for line in on_disk(tmp_path)] == [1]


def test_killed_at_any_moment_every_allow_that_was_answered_is_on_record(tmp_path: Path) -> None:
    answers, out = os.pipe()

    def work() -> None:
        asked = deciding(trail(tmp_path))

        def ask(first: int) -> None:
            for number in range(first, 10**9, 8):
                if allowed(asked, number=number):
                    os.write(out, b"%d\n" % number)

        threads = [threading.Thread(target=ask, args=(first,)) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    child = in_a_child(work)
    os.close(out)
    told = b""
    while told.count(b"\n") < 300:
        told += os.read(answers, 4096)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(answers, 65536):
        told += more
    os.close(answers)
    path = tmp_path / "a.jsonl"
    written = {json.loads(line)["resource"] for line in path.read_bytes().split(b"\n")[:-1]}
    assert {f"cdap/ns1/kv{number.decode()}" for number in told.split()} <= written


def test_on_a_full_disk_everything_is_denied_with_that_reason_and_nothing_is_torn(tmp_path: Path) -> None:
    asked = deciding(trail(tmp_path))
    assert allowed(asked)
    whole = (tmp_path / "a.jsonl").stat().st_size
    with full_disk(whole + 20):
        answer = asked.check("alice", (), "stream.get", KV)
    assert (answer.allowed, answer.enforced, answer.reason) == (False, True, f"{WHY} (File too large)")
    assert allowed(asked, number=1)
    asked.decider._audit.close()
    lines = on_disk(tmp_path)
    assert [line["result"] for line in lines if line["resource"] != "cdap/ns1/kv"] == [1, 1]
    assert [line["result"] for line in lines if line["resource"] == "cdap/ns1/kv"] == [0], "what was answered"


class Disk:
    """A disk that fails or hangs when told to."""

    def __init__(self) -> None:
        self.fails = False
        self.writes = 0
        self.taken: list[AuditRecord] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.was_asked = threading.Event()

    def write(self, records: Sequence[AuditRecord]) -> None:
        self.was_asked.set()
        assert self.may_answer.wait(PATIENCE)
        if self.fails:
            raise OSError(5, "Input/output error")
        self.writes += 1
        self.taken += records

    def close(self) -> None:
        pass


class Copies(Disk):
    """A sink that is not the one required."""


def test_where_the_disk_fails_nothing_is_allowed_and_no_other_sink_has_an_allow() -> None:
    disk, later, copies = Disk(), Disk(), Copies()
    asked = deciding(AuditTrail([Undelayed(later), Undelayed(copies)], GroupCommit(disk, capacity=100)))
    assert allowed(asked)
    disk.fails = True
    assert not allowed(asked)
    assert not allowed(asked, "bob")
    disk.fails = False
    assert allowed(asked)
    assert results(disk.taken) == [1, 1]
    assert results(copies.taken) == [1, 0, 0, 1]
    assert results(later.taken) == [0, 0], "the denials, for when the disk works again"
    assert all(record.reason.startswith(WHY) for record in later.taken)
    asked.decider._audit.close()


def test_a_failing_sink_that_only_gets_copies_denies_nothing() -> None:
    copies = Copies()
    copies.fails = True
    asked = deciding(AuditTrail([Undelayed(Disk()), Undelayed(copies)], GroupCommit(Disk(), capacity=100)))
    assert allowed(asked)
    assert asked.decider._audit.lost == 2


def test_a_disk_that_hangs_denies_and_what_was_not_begun_is_never_written() -> None:
    disk = Disk()
    disk.may_answer.clear()
    commit = GroupCommit(disk, capacity=100, patience=0.05)
    asked = deciding(AuditTrail([Undelayed(Disk())], commit))
    first = threading.Thread(target=allowed, args=(asked,))
    first.start()
    assert disk.was_asked.wait(PATIENCE)
    answer = asked.check("alice", (), "stream.get", KV)
    first.join()
    assert answer.reason == f"{WHY} (the disk of the audit file does not respond)"
    disk.may_answer.set()
    commit.close()
    assert {record.resource for record in disk.taken} == {"cdap/ns1", "cdap/ns1/kv0"}


def test_decisions_that_wait_together_share_one_write() -> None:
    disk = Disk()
    disk.may_answer.clear()
    commit = GroupCommit(disk, capacity=100, patience=PATIENCE)
    asked = deciding(AuditTrail([Undelayed(Disk())], commit))
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(allowed(asked, number=n))) for n in range(33)]
    threads[0].start()
    assert disk.was_asked.wait(PATIENCE)
    for thread in threads[1:]:
        thread.start()
    with commit._changed:
        commit._changed.wait_for(lambda: len(commit._waiting) == 32, PATIENCE)
    disk.may_answer.set()
    for thread in threads:
        thread.join()
    assert answers == [True] * 33
    assert disk.writes == 2


def test_one_request_with_more_records_than_may_wait_is_written_where_none_wait() -> None:
    disk = Disk()
    commit = GroupCommit(disk, capacity=1, patience=PATIENCE)
    asked = deciding(AuditTrail([Undelayed(Disk())], commit))
    assert allowed(asked)
    assert disk.writes == 1
    commit.close()


def test_more_than_may_wait_is_denied() -> None:
    disk = Disk()
    disk.may_answer.clear()
    commit = GroupCommit(disk, capacity=2, patience=PATIENCE)
    asked = deciding(AuditTrail([Undelayed(Disk())], commit))
    others = [threading.Thread(target=allowed, args=(asked, "alice", n)) for n in range(2)]
    others[0].start()
    assert disk.was_asked.wait(PATIENCE)
    others[1].start()
    with commit._changed:
        commit._changed.wait_for(lambda: len(commit._waiting) == 1, PATIENCE)
    assert asked.check("alice", (), "stream.get", KV).reason == f"{WHY} (too many audit records wait for the disk)"
    disk.may_answer.set()
    for other in others:
        other.join()
    commit.close()


def test_after_the_end_nothing_is_allowed(tmp_path: Path) -> None:
    audit = trail(tmp_path)
    asked = deciding(audit)
    audit.close()
    assert not allowed(asked)
    with pytest.raises(AuditSinkError, match="closed"):
        audit.write(_one())


def _one() -> list[AuditRecord]:
    record = AuditRecord(
        repo="", reqUser="", evtTime=0, access="", resource="", resType="", action="", result=1, policy=1
    )
    return [record]


def test_only_a_required_file_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fdatasync", flushed.append)
    FileSink(tmp_path / "quick").write(_one())
    assert not flushed
    FileSink(tmp_path / "durable", durable=True).write(_one())
    assert len(flushed) == 1
