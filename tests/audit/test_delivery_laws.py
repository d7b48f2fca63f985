"""Whatever fails and is sent again: each record is in the store once, by its id, or rejected and counted once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import AuditedAccess, AuditedService, AuditRecord, record_of
from ranger_cdap.audit.spool import Spool
from ranger_cdap.engine import Decision
from ranger_cdap.errors import AuditRefused, AuditSinkError
from tests.audit.samples import numbered

PATIENCE = 30.0
SOON = 0.0005
CAPACITY = 10_000
LATER = 1_000


class Fault(Enum):
    """What happens to one write."""

    NONE = "the answer comes"
    UNAVAILABLE = "nothing is stored"
    ANSWER_LOST = "everything is stored, and the answer does not come"
    BROKEN_OFF = "half is stored"


class ScriptedStore:
    """A store by id that fails as the script says, then never again, and rejects the records in `poison`."""

    def __init__(self, script: Sequence[Fault], poison: frozenset[str], *, names_them: bool) -> None:
        self._script = list(script)
        self._poison = poison
        self._names_them = names_them
        self.stored: dict[str, AuditRecord] = {}
        self._changed = threading.Condition()

    def write(self, batch: Sequence[AuditRecord]) -> None:
        with self._changed:
            fault = self._script.pop(0) if self._script else Fault.NONE
            good = [one for one in batch if one.id not in self._poison]
            kept = {Fault.UNAVAILABLE: 0, Fault.BROKEN_OFF: len(good) // 2}.get(fault, len(good))
            bad = [one.id for one in batch if one.id in self._poison]
            # A store that does not name what it rejects has none of such a batch.
            self.stored |= {one.id: one for one in good[:kept] if self._names_them or not bad}
            self._changed.notify_all()
        if fault is not Fault.NONE:
            raise AuditSinkError(fault.value)
        if bad:
            raise AuditRefused("no such field", bad if self._names_them else ())

    @property
    def fails_no_more(self) -> bool:
        return not self._script

    def restart(self, script: Sequence[Fault]) -> None:
        self._script = list(script)

    def has(self, ids: set[str]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.stored.keys() >= ids, PATIENCE), ids - self.stored.keys()

    def close(self) -> None:
        pass


TEXTS = st.text(st.characters(), max_size=20)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_any_text_of_a_caller_has_a_record_that_can_be_written(user: str, level: str, access: str, why: str) -> None:
    """Also half of a surrogate pair, which Python makes of undecodable bytes, and which UTF-8 does not have."""
    asked = AuditedAccess(1, user, access, access, ("cdap", level), "dataset", "10.0.0.1")
    decision = Decision(allowed=False, determined=False)
    made = record_of(decision, AuditedService("dev", 1), asked, allowed=False, reason=why)
    assert msgspec.json.decode(msgspec.json.encode(made), type=AuditRecord) == made
    for given_, kept in ((user, made.reqUser), (f"cdap/{level}", made.resource), (why, made.reason)):
        assert kept == given_ or not given_.isprintable()


class UnwritableStore(ScriptedStore):
    """A store that cannot be given records of one user, as one that a plugin brings might."""

    def write(self, batch: Sequence[AuditRecord]) -> None:
        msgspec.json.encode(batch)
        super().write(batch)


def test_a_record_that_cannot_be_encoded_does_not_end_the_delivery(caplog: pytest.LogCaptureFixture) -> None:
    store = UnwritableStore((), frozenset(), names_them=False)
    with TemporaryDirectory() as directory:
        spool = Spool(Path(directory), "store", max_bytes=1 << 20)
        delivery = Delivery("store", store, capacity=3, spool=spool, first_pause=SOON)
        delivery.write([msgspec.structs.replace(numbered(1), reqUser="\udc80")])
        delivery.write([numbered(number) for number in range(2, 9)])
        delivery.close(timeout=PATIENCE)
    assert delivery.lost == 8
    assert "8 audit records for sink `store` were lost" in caplog.text


FAULTS = st.lists(st.sampled_from(list(Fault)), max_size=8)
BATCHES = st.lists(st.integers(1, 7), min_size=1, max_size=8)


@settings(max_examples=40)
@given(FAULTS, BATCHES, st.sets(st.integers(0, 55)), st.booleans(), st.booleans())
def test_each_record_is_stored_or_rejected_once(
    script: list[Fault], batches: list[int], poison: set[int], names_them: bool, with_spool: bool
) -> None:
    rejected = frozenset(map(str, poison))
    store = ScriptedStore(script, rejected, names_them=names_them)
    with TemporaryDirectory() as directory:
        spool = Spool(Path(directory), "store", max_bytes=1 << 20) if with_spool else None
        delivery = Delivery("store", store, capacity=CAPACITY, spool=spool, first_pause=SOON)
        sent = [numbered(number) for number in range(sum(batches))]
        at = 0
        for size in batches:
            delivery.write(sent[at : at + size])
            at += size
        # One more that is stored without a fault comes after all others.
        while not store.fails_no_more:
            sent.append(numbered(LATER + len(sent)))
            delivery.write(sent[-1:])
            store.has({sent[-1].id})
        sent.append(numbered(LATER + len(sent)))
        delivery.write(sent[-1:])
        store.has({one.id for one in sent} - rejected)
        delivery.close(timeout=PATIENCE)
    assert store.stored == {one.id: one for one in sent if one.id not in rejected}
    lost = len({one.id for one in sent} & rejected)
    assert delivery.lost == lost


@settings(max_examples=40)
@given(st.lists(st.tuples(FAULTS, st.integers(0, 9)), min_size=1, max_size=4))
def test_programs_that_end_in_the_middle_leave_the_rest_to_the_next(lives: list[tuple[list[Fault], int]]) -> None:
    store = ScriptedStore((), frozenset(), names_them=False)
    sent: list[AuditRecord] = []
    with TemporaryDirectory() as directory:
        for script, count in lives:
            store.restart(script)
            spool = Spool(Path(directory), "store", max_bytes=1 << 20)
            delivery = Delivery("store", store, capacity=CAPACITY, spool=spool, first_pause=SOON)
            mine = [numbered(len(sent) + number) for number in range(count)]
            delivery.write(mine)
            sent += mine
            delivery.close(timeout=PATIENCE)
            assert delivery.lost == 0
        store.restart(())
        last = Delivery("store", store, capacity=CAPACITY, spool=Spool(Path(directory), "store", max_bytes=1 << 20))
        store.has({one.id for one in sent})
        last.close(timeout=PATIENCE)
        assert not list(Path(directory).glob("*.jsonl"))
    assert store.stored == {one.id: one for one in sent}
