"""From a decision to an audit store that is slow, away, or picky: nobody waits, and nothing is lost that has room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.audit.spool import Spool
from ranger_cdap.errors import AuditRefused, AuditSinkError
from tests.audit.samples import numbered

PATIENCE = 30.0
SOON = 0.01


def records(*numbers: int) -> list[AuditRecord]:
    return [numbered(number) for number in numbers]


class Store:
    """An audit store that is away, hangs or refuses when told to; `have` waits until it has so many records."""

    def __init__(self, *, away: bool = False, refuses: frozenset[str] = frozenset()) -> None:
        self.away = away
        self.refuses = refuses
        self.taken: list[int] = []
        self.asked = 0
        self.closed = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._changed = threading.Condition()

    def write(self, batch: Sequence[AuditRecord]) -> None:
        with self._changed:
            self.asked += 1
            self._changed.notify_all()
        assert self.may_answer.wait(PATIENCE)
        if self.away:
            raise AuditSinkError("the store is away")
        if self.refuses & {one.id for one in batch}:
            raise AuditRefused("no such field")
        with self._changed:
            self.taken += [one.evtTime for one in batch]
            self._changed.notify_all()

    def have(self, count: int) -> list[int]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.taken) >= count, PATIENCE)
        return self.taken

    def was_asked(self, times: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.asked >= times, PATIENCE)

    def close(self) -> None:
        self.closed = True


def spool(directory: Path, max_bytes: int = 1_000_000) -> Spool:
    return Spool(directory, "solr", max_bytes=max_bytes)


def test_records_arrive_in_their_order() -> None:
    store = Store()
    delivery = Delivery("store", store, capacity=100)
    delivery.write(records(1, 2))
    delivery.write(records(3))
    delivery.close()
    assert store.taken == [1, 2, 3]
    assert (delivery.lost, store.closed) == (0, True)


def test_a_store_that_hangs_keeps_nobody_waiting_and_what_has_no_room_is_counted() -> None:
    store = Store()
    store.may_answer.clear()
    delivery = Delivery("store", store, capacity=3)
    delivery.write(records(1))
    store.was_asked(1)
    delivery.write(records(2, 3, 4, 5))
    assert delivery.lost == 2
    store.may_answer.set()
    assert store.have(3) == [1, 2, 3]
    delivery.close()


def test_what_waits_for_a_store_that_was_away_is_sent_in_order_when_it_is_back(tmp_path: Path) -> None:
    store = Store(away=True)
    delivery = Delivery("store", store, capacity=50, spool=spool(tmp_path), first_pause=SOON)
    for number in range(1, 21):
        delivery.write([numbered(number)])
        store.was_asked(min(number, 3))
    store.away = False
    delivery.write([numbered(21)])
    assert store.have(21) == list(range(1, 22))
    delivery.close()
    assert delivery.lost == 0
    assert not list(tmp_path.glob("*.jsonl"))


def test_without_a_spool_they_wait_in_the_queue() -> None:
    store = Store(away=True)
    delivery = Delivery("store", store, capacity=5, first_pause=SOON)
    delivery.write(records(1, 2))
    store.was_asked(2)
    store.away = False
    assert store.have(2) == [1, 2]
    delivery.close()
    assert delivery.lost == 0


def test_the_next_program_sends_what_the_last_could_not(tmp_path: Path) -> None:
    first = Delivery("store", Store(away=True), capacity=10, spool=spool(tmp_path), first_pause=PATIENCE)
    first.write(records(1, 2, 3))
    first.close()
    assert first.lost == 0

    store = Store()
    second = Delivery("store", store, capacity=10, spool=spool(tmp_path))
    assert store.have(3) == [1, 2, 3]
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_was_killed_leaves_its_records_to_the_next(tmp_path: Path) -> None:
    killed = f"""
import os
from pathlib import Path
from tests.audit.test_delivery import records, spool
spool(Path({str(tmp_path)!r})).append(records(1, 2, 3))
os.kill(os.getpid(), 9)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", killed], check=False, env=environment).returncode == -9
    (left,) = tmp_path.glob("*.jsonl")
    with left.open("ab") as file:
        file.write(b'{"repo": "cut o')

    store = Store()
    Delivery("store", store, capacity=10, spool=spool(tmp_path)).close()
    assert store.have(3) == [1, 2, 3]


def test_a_living_program_keeps_its_spool(tmp_path: Path) -> None:
    mine = spool(tmp_path)
    mine.append(records(1))
    assert not spool(tmp_path).waits
    assert mine.waits
    mine.close()
    assert spool(tmp_path).waits


def test_a_spool_takes_only_so_much(tmp_path: Path) -> None:
    small = spool(tmp_path, max_bytes=1000)
    assert small.append(records(1, 2))
    assert not small.append(records(*range(100)))
    sent: list[int] = []
    small.send(lambda batch: sent.extend(one.evtTime for one in batch), most=1)
    assert sent == [1, 2]


def test_sending_goes_on_where_it_stopped(tmp_path: Path) -> None:
    held = spool(tmp_path)
    held.append(records(*range(10)))
    sent: list[int] = []

    def third_fails(batch: Sequence[AuditRecord]) -> None:
        if len(sent) == 4:
            sent.append(-1)
            raise AuditSinkError("away")
        sent.extend(one.evtTime for one in batch)

    with pytest.raises(AuditSinkError):
        held.send(third_fails, most=2)
    held.send(third_fails, most=2)
    assert sent == [0, 1, 2, 3, -1, 4, 5, 6, 7, 8, 9]


def test_records_that_are_refused_do_not_stop_the_others() -> None:
    store = Store(refuses=frozenset({"2"}))
    delivery = Delivery("store", store, capacity=10)
    delivery.write(records(1, 2, 3))
    delivery.close()
    assert store.taken == [1, 3]
    assert delivery.lost == 1


def test_a_disk_that_takes_nothing_loses_only_what_has_no_room(tmp_path: Path) -> None:
    blocked = tmp_path / "spool"
    blocked.write_text("a file where the directory should be")
    store = Store(away=True)
    delivery = Delivery("store", store, capacity=2, spool=spool(blocked), first_pause=SOON)
    delivery.write(records(1, 2))
    store.was_asked(2)
    store.away = False
    assert store.have(2) == [1, 2]
    delivery.close()
    assert delivery.lost == 0


def test_the_spool_is_for_its_owner_only(tmp_path: Path) -> None:
    held = spool(tmp_path / "audit")
    held.append(records(1))
    (file,) = (tmp_path / "audit").glob("*.jsonl")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(file.read_text())["reqUser"] == "user1"
