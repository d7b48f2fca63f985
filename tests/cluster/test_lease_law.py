"""Two jobs on one ledger, each stopped for any time before and after any step, by clocks that differ by a minute.

Time is that of the story, and the steps of both are taken one at a time, in any order; a step of the store may fail,
also after it was done. The laws:

1. Never may two runs both send to Ranger: a check is good for `LEFT` seconds, or until the run ends.
2. What a run has read when it began, no earlier run changes: each table has the rows of earlier runs, then its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import deltalake
import pytest
from deltalake import CommitProperties

from ranger_cdap.config import StoreUrl
from ranger_cdap.errors import SyncError
from spark_sync.ledger import ledger_tables, store_lease
from spark_sync.ledger.ledger_rows import FILES, NOTES, batches
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.store_lease import DURATION, LEFT, StoreLease

STORIES: Final = 250 if os.environ.get("RANGER_CDAP_NIGHTLY") else 15
STOPS: Final = (1.0, 5.0, 90.0, 210.0, DURATION + 1, DURATION + 65, 1000.0)


@dataclass
class Story:
    """What happens: the time, whose turn it is, and what was seen."""

    random: Random
    now: float = 1_000_000.0
    claims: list[tuple[str, float]] = field(default_factory=list)
    read: list[tuple[str, set[str]]] = field(default_factory=list)
    ended: dict[str, float] = field(default_factory=dict)
    actors: dict[int, Actor] = field(default_factory=dict)

    def here(self) -> Actor | None:
        return self.actors.get(threading.get_ident())

    def step(self) -> None:
        """Let the others go on, for any time."""
        if actor := self.here():
            actor.paused.release()
            actor.turn.acquire()

    def store_step(self, call: Callable[[], Any]) -> Any:
        """Do what a store does: perhaps not, perhaps without an answer."""
        self.step()
        fails = self.here() is not None and self.random.random() < 0.01
        if fails and self.random.random() < 0.5:
            raise OSError("the store is away")
        found = call()
        self.step()
        if fails:
            raise OSError("the store has not answered")
        return found


@dataclass
class Actor:
    """A job on a machine with a clock of its own, that runs some times."""

    story: Story
    name: str
    directory: StoreUrl
    offset: float
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    paused: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    runs: int = 0
    is_done: bool = False
    error: BaseException | None = None

    def running(self) -> float:
        self.story.step()
        return self.story.now

    def wall(self) -> float:
        self.story.step()
        return self.story.now + self.offset

    def live(self) -> None:
        self.story.actors[threading.get_ident()] = self
        self.turn.acquire()
        try:
            for _ in range(40):
                with suppress(SyncError):
                    self.run(f"{self.name}{self.runs}")
                if self.runs == 2:
                    break
                self.story.now += 10.0
                self.story.step()
        except BaseException as e:
            self.error = e
        finally:
            self.is_done = True
            self.paused.release()

    def run(self, name: str) -> None:
        lease = StoreLease(self.directory, wall=self.wall, running=self.running)
        lease.take()
        self.runs += 1
        try:
            tables = LedgerTables(self.directory)
            tables.hold(lease)
            self.story.read.append((name, rows_of(tables)))
            for n in range(2):
                write(tables, "files", f"{name}.{n}")
                lease.check()
                self.story.claims.append((name, self.story.now))
                write(tables, "notes", f"{name}.{n}")
                with suppress(SyncError):
                    lease.renew()
                if self.story.random.random() < 0.3:
                    tables.compact("files")
        finally:
            self.story.ended[name] = self.story.now
            if self.story.random.random() < 0.7:  # else it is killed
                with suppress(SyncError):
                    lease.release()


def write(tables: LedgerTables, name: str, text: str) -> None:
    row = (
        {"source": "s", "path": text} if name == "files" else {"instance": "", "name": text, "value": "", "sequence": 1}
    )
    tables.write(name, batches(FILES if name == "files" else NOTES, [row]))


def rows_of(tables: LedgerTables) -> set[str]:
    """The rows of both tables, without DataFusion."""
    found = {name: table.to_pyarrow_table().to_pylist() for name, table in tables._tables.items()}
    return {row["path"] for row in found["files"]} | {f"notes {row['name']}" for row in found["notes"]}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], Story]:
    """Tells the story of that number."""
    current: list[Story] = []

    def with_steps(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **named: current[-1].store_step(lambda: method(*args, **named))

    class Table(deltalake.DeltaTable):
        def __init__(self, *args: Any, **named: Any) -> None:
            current[-1].store_step(lambda: super(Table, self).__init__(*args, **named))

        create_write_transaction = with_steps(deltalake.DeltaTable.create_write_transaction)

    monkeypatch.setattr(store_lease, "DeltaTable", Table)
    monkeypatch.setattr(ledger_tables, "DeltaTable", Table)
    monkeypatch.setattr(ledger_tables, "write_deltalake", with_steps(ledger_tables.write_deltalake))
    monkeypatch.setattr(ledger_tables, "TABLES", {"files": FILES, "notes": NOTES})

    def tell(number: int) -> Story:
        story = Story(Random(number))
        current.append(story)
        with TemporaryDirectory(dir=tmp_path) as directory:
            url = StoreUrl("file://", str(Path(directory)).lstrip("/"))
            LedgerTables(url)
            StoreLease(url).take()  # of a run that ended long ago
            apart = story.random.choice([0.0, 60.0, -60.0])
            actors = [Actor(story, "a", url, 0.0), Actor(story, "b", url, apart)]
            threads = [threading.Thread(target=actor.live) for actor in actors]
            for thread in threads:
                thread.start()
            story.now += 2_000_000_000
            while living := [actor for actor in actors if not actor.is_done]:
                if story.random.random() < 0.07:
                    story.now += story.random.choice(STOPS)
                actor = story.random.choice(living)
                for _ in range(story.random.choice([1, 3, 12, 40])):
                    actor.turn.release()
                    actor.paused.acquire()
                    if actor.is_done:
                        break
            for thread in threads:
                thread.join()
            for actor in actors:
                if actor.error:
                    raise actor.error
            story.read.append(("", rows_of(LedgerTables(url))))
        return story

    return tell


def broken(story: Story) -> list[str]:
    """The laws that a story breaks."""
    found = []
    for n, (one, at) in enumerate(story.claims):
        found += [
            f"{one} at {at:.0f} and {other} at {later:.0f} may both send"
            for other, later in story.claims[n + 1 :]
            if one != other and later < min(at + LEFT, story.ended[one])
        ]
    last = story.read[-1][1]
    for n, (name, read) in enumerate(story.read[:-1]):
        before = {earlier for earlier, _ in story.read[:n]}
        late = {row for row in last - read if row.removeprefix("notes ").partition(".")[0] in before - {name}}
        found += [f"{name} has not read {sorted(late)}"] if late else []
    return found


def test_never_do_two_runs_both_believe_that_they_may_write(told: Callable[[int], Story]) -> None:
    began = shared = 0
    for number in range(STORIES):
        story = told(number)
        assert broken(story) == [], number
        began += len(story.read) - 1
        shared += {name[0] for name, _ in story.claims} == {"a", "b"}
    assert began > STORIES
    assert shared > STORIES // 3


def no_fence(self: LedgerTables, name: str) -> Any:
    return self._table(name)


def retried(self: LedgerTables, name: str) -> CommitProperties:
    return CommitProperties()


FAULTS: Final = {
    "the end of a lease is not waited for": (store_lease, "SKEW", -250.0),
    "a check is of this moment": (store_lease, "LEFT", 0.0),
    "tables stay open to earlier runs": (LedgerTables, "_fenced", no_fence),
    "commits are tried again": (LedgerTables, "_commit", retried),
    "a lease that ended is as good as one given back": (store_lease, "_LONG_AGO", 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(told: Callable[[int], Story], monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert any(broken(told(number)) for number in range(200)), fault
