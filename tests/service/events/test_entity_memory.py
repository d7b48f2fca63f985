"""What counts as absent is absent: played with checks, effects, reports and restarts in any order."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule, run_state_machine_as_test

from ranger_cdap.cdap.creations import ChangeKind
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.existence import Existence
from ranger_cdap.cdap.inventory import MARGIN, Inventory
from ranger_cdap.service.events.entity_memory import EntityMemory
from ranger_cdap.wire.record_events import Outcome, RecordedChange
from tests.disk_faults import full_disk

NAMESPACE = EntityId("namespace", ("ns1",))
SHOP, DESK = (EntityId("application", ("ns1", name)) for name in ("shop", "desk"))
KEY = EntityId("secure_key", ("ns1", "key"))
ENTITIES = st.sampled_from([SHOP, SHOP, KEY])
USERS = st.sampled_from(["alice", "bob", ""])
BEGAN = 1_795_234_768_000
OUTCOMES: dict[str, Outcome] = {"done": "done", "nothing": "nothing", "unclear": "unclear"}


@dataclass(eq=False)
class Sent:
    """A request that was allowed; `outcome` is what CDAP will say, once it is done."""

    kind: ChangeKind
    entity: EntityId
    user: str
    check: str
    acted: bool = False
    outcome: Outcome = "unclear"


def change(sent: Sent) -> RecordedChange:
    return RecordedChange(
        sent.kind, sent.entity, sent.outcome, sent.user, started=BEGAN, ended=BEGAN + 1, clock="", check=sent.check
    )


class Play(RuleBasedStateMachine):
    """CDAP with two applications and a key, and the memory of a service that allows all it may.

    Law: nobody replaces what another user has made, or is making, by a check that was decided as for a new entity.
    """

    requests: Bundle[Sent] = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.there: dict[EntityId, str] = {}
        self.open: list[Sent] = []
        self.now = BEGAN
        self.checks = 0
        self.inventory: Inventory | None = None

    def teardown(self) -> None:
        self.directory.cleanup()

    @initialize(before=st.sets(ENTITIES))
    def begin(self, before: set[EntityId]) -> None:
        self.there = dict.fromkeys(before, "carol")
        self.start()

    def start(self) -> None:
        path = Path(self.directory.name, "entities.db")
        self.memory = EntityMemory(path, self.inventory, clock=lambda: self.now / 1000)

    def _id(self, has_id: bool) -> str:
        self.checks += 1
        return f"{self.checks}" if has_id else ""

    @rule(target=requests, entity=ENTITIES, user=USERS, has_id=st.sampled_from([True, True, True, False]))
    def create(self, entity: EntityId, user: str, has_id: bool) -> Sent:
        known = self.memory.existence(entity, user)
        check = self._id(has_id)
        assert self.memory.allow(entity, user, check, known)
        if known is Existence.ABSENT:
            others = [sent for sent in self.open if sent.entity == entity and sent.user != user]
            note(f"{user} creates {entity} as a new one")
            assert not any(sent.kind is ChangeKind.CREATE for sent in others)
            assert self.there.get(entity, user) == user
            assert user or entity not in self.there
        sent = Sent(ChangeKind.CREATE, entity, user, check)
        self.open.append(sent)
        return sent

    @rule(target=requests, entity=st.one_of(ENTITIES, st.just(NAMESPACE)), user=USERS)
    def delete(self, entity: EntityId, user: str) -> Sent:
        sent = Sent(ChangeKind.DELETE, entity, user, self._id(has_id=True))
        self.memory.allow_deletion(sent.check)
        self.open.append(sent)
        return sent

    @rule(sent=requests, says=st.sampled_from(["done", "done", "unclear"]))
    def act(self, sent: Sent, says: Outcome) -> None:
        """CDAP does it, once."""
        if sent in self.open:
            self.open.remove(sent)
            sent.acted, sent.outcome = True, says
            if sent.kind is ChangeKind.CREATE:
                self.there[sent.entity] = sent.user
            else:
                gone = [one for one in self.there if sent.entity in (one, NAMESPACE)]
                for one in gone:
                    del self.there[one]

    @rule(sent=requests, says=st.sampled_from(["nothing", "unclear"]))
    def refuse(self, sent: Sent, says: Outcome) -> None:
        if sent in self.open:
            self.open.remove(sent)
            sent.acted, sent.outcome = True, says

    @rule(sent=requests)
    def report(self, sent: Sent) -> None:
        """CDAP's report comes; perhaps late, perhaps twice, perhaps never."""
        if sent.acted:
            self.memory.report(change(sent))

    @rule(sent=consumes(requests))
    def report_for_the_last_time(self, sent: Sent) -> None:
        self.report(sent)

    @rule(by=st.integers(1, 400_000))
    def restart(self, by: int) -> None:
        self.now += by
        self.start()

    @rule(dated=st.integers(0, 2 * MARGIN))
    def take_an_inventory(self, dated: int) -> None:
        """It is dated some time before CDAP is listed, and read at the next start."""
        self.now += 1
        self.inventory = Inventory("cdap", self.now - dated, tuple(self.there))


def test_nobody_replaces_what_is_anothers_as_if_it_were_new() -> None:
    run_state_machine_as_test(Play, settings=settings(stateful_step_count=40))


def memory(tmp_path: Path, *named: EntityId, taken: int | None = BEGAN) -> EntityMemory:
    inventory = None if taken is None else Inventory("cdap", taken, named)
    return EntityMemory(tmp_path / "entities.db", inventory, clock=lambda: BEGAN / 1000)


def test_without_an_inventory_nothing_is_absent(tmp_path: Path) -> None:
    assert memory(tmp_path, taken=None).existence(SHOP, "alice") is Existence.UNKNOWN


@pytest.mark.parametrize(("taken", "counts"), [(BEGAN, True), (BEGAN - MARGIN, True), (BEGAN - MARGIN - 1, False)])
def test_an_inventory_counts_if_the_memory_began_before_it(taken: int, counts: bool, tmp_path: Path) -> None:
    made = memory(tmp_path, DESK, taken=taken)
    assert made.existence(SHOP, "bob") is (Existence.ABSENT if counts else Existence.UNKNOWN)
    assert made.existence(DESK, "bob") is (Existence.THERE if counts else Existence.UNKNOWN)


def test_an_older_inventory_does_not_count(tmp_path: Path) -> None:
    memory(tmp_path, taken=BEGAN + 2)
    assert memory(tmp_path, taken=BEGAN + 1).existence(SHOP, "bob") is Existence.UNKNOWN


def test_of_the_namespace_system_nothing_is_absent(tmp_path: Path) -> None:
    ours = EntityId("application", ("system", "dataprep"))
    assert memory(tmp_path).existence(ours, "alice") is Existence.UNKNOWN


# Steps: `alice+1` allows alice to create it by check 1, `-2` a deletion by check 2; `1:done` is CDAP's report of check
# 1, `listed` a restart with an inventory that names it. What is known then, for alice and for bob.
HISTORIES = {
    "": ("absent", "absent"),
    "alice+1": ("absent", "unknown"),
    "alice+1 1:nothing": ("absent", "absent"),
    "alice+1 1:unclear": ("absent", "unknown"),
    "alice+1 1:done": ("there", "there"),
    "alice+1 listed": ("there", "there"),
    "alice+1 alice+2 2:nothing": ("absent", "unknown"),
    "alice+1 alice+1 1:nothing": ("absent", "absent"),
    "alice+1 alice+2 1:done": ("there", "there"),
    "alice+1 bob+2 2:nothing": ("unknown", "unknown"),
    "alice+ 1:nothing": ("absent", "unknown"),
    "alice+1 1:done -2": ("there", "there"),
    "alice+1 1:done -2 2:done": ("absent", "absent"),
    "alice+1 1:done -2 2:nothing": ("there", "there"),
    "alice+1 1:done -2 2:unclear": ("there", "there"),
    "alice+1 1:done -2 alice+3 3:done 2:done": ("there", "there"),
    "alice+1 1:done alice+3 -2 2:done": ("there", "there"),
    "alice+1 1:done alice+3 -2 3:done 2:done": ("absent", "absent"),
    "alice+1 1:done -2 2:done bob+3": ("unknown", "absent"),
    "alice+1 1:done -2 restart 2:done": ("there", "there"),
    "alice+1 restart": ("absent", "unknown"),
    "listed bob+1 1:nothing": ("there", "there"),
    "3:done": ("there", "there"),
}


@pytest.mark.parametrize("deleted", [SHOP, NAMESPACE])
@pytest.mark.parametrize("history", HISTORIES)
def test_what_is_known_after(history: str, deleted: EntityId, tmp_path: Path) -> None:
    made = memory(tmp_path)
    for step in history.split():
        user, creates, check = step.partition("+")
        check, reports, said = check.partition(":") if creates else step.lstrip("-").partition(":")
        if creates:
            assert made.allow(SHOP, user, check, made.existence(SHOP, user))
        elif reports:
            kind = ChangeKind.DELETE if f"-{check}" in history else ChangeKind.CREATE
            entity = deleted if kind is ChangeKind.DELETE else SHOP
            made.report(change(Sent(kind, entity, "alice", check, outcome=OUTCOMES[said])))
        elif step.startswith("-"):
            made.allow_deletion(check)
        else:
            made = memory(tmp_path, SHOP, taken=BEGAN + 1) if step == "listed" else memory(tmp_path)
    assert tuple(made.existence(SHOP, user).value for user in ("alice", "bob")) == HISTORIES[history]


def test_a_decision_that_another_check_overtook_is_not_remembered(tmp_path: Path) -> None:
    made = memory(tmp_path)
    assert made.allow(SHOP, "alice", "1", Existence.ABSENT)
    assert not made.allow(SHOP, "bob", "2", Existence.ABSENT)
    assert made.existence(SHOP, "alice") is Existence.ABSENT


def test_on_a_full_disk_nothing_is_allowed(tmp_path: Path) -> None:
    made = memory(tmp_path)
    with full_disk(100), pytest.raises(OSError, match="entities"):
        made.allow(SHOP, "alice", "1", Existence.ABSENT)
    assert made.existence(SHOP, "bob") is Existence.ABSENT
