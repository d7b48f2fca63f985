"""Files of a decision service that are gone and were not read are noticed, whatever is restored; others never are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import LedgerLost
from ranger_cdap.service.events.event_files import EventFiles
from ranger_cdap.wire.event_names import event_name, missing_file
from spark_sync.sources import service_watermarks
from spark_sync.sources.missing_files import check_files, gone_as_read
from spark_sync.sources.regular_files import list_files

ACTIONS = ("publish", "read", "delete one", "delete all", "restart", "copy", "restore", "settle")


@dataclass
class World:
    """A decision service, the paths that a ledger knows, and copies of them; `read` is what was read, by name."""

    directory: Path
    now: float = 1_000.0
    published: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    copies: list[tuple[frozenset[str], set[str]]] = field(default_factory=list)
    alarms: int = 0

    def __post_init__(self) -> None:
        self.events = self.directory / "events"
        self.source = SourceSettings(name="cdap", kind="data-plane", path=self.events)
        self.known: frozenset[str] = frozenset()
        self.service = self._started()
        self.settle()

    def _started(self) -> EventFiles:
        files = EventFiles(self.events, clock=lambda: self.now)
        files.open()
        files.watermark.write(int(self.now * 1000), None, files.newest)
        return files

    def there(self) -> set[str]:
        return {path.name for path in self.events.glob("*.jsonl")}

    def do(self, action: str, number: int) -> None:
        gone = sorted(self.read & self.there())
        match action:
            case "publish":
                self.now += (number % 5 - 1) / 1000
                self.service.append(b"{}\n")
                self.service.publish()
                self.service.watermark.write(int(self.now * 1000), None, self.service.newest)
                self.published += sorted(self.there() - {*self.published})
            case "read":
                self.run()
            case "delete one" if gone:
                (self.events / gone[number % len(gone)]).unlink()
            case "delete all":
                for name in gone:
                    (self.events / name).unlink()
            case "restart":
                self.service.close()
                self.now += number % 3 - 1
                self.service = self._started()
            case "copy":
                self.copies.append((self.known, set(self.read)))
            case "restore" if self.copies:
                self.known, read = self.copies[number % len(self.copies)]
                self.read = set(read)
            case "settle":
                self.settle()

    def run(self) -> None:
        mark = service_watermarks.read([self.source])["cdap"]
        lost = {*self.published} - self.read - self.there()
        if lost:
            self.alarms += 1
            with pytest.raises(LedgerLost, match="|".join(name[:15] for name in lost)):
                check_files(self.source, mark, self.known)
        else:
            check_files(self.source, mark, self.known)
            self.known |= {file.path for file in list_files(self.source)}
            self.read |= self.there()

    def settle(self) -> None:
        """As `sync baseline`: what is gone, or older, does not matter any more."""
        newest = gone_as_read(self.source, service_watermarks.read([self.source])["cdap"])
        assert newest is not None
        self.known |= {newest}
        gone = {*self.published} - self.there()
        self.read |= {name for name in self.published if gone and name <= max(gone)}


@given(actions=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 20)), min_size=15, max_size=40))
@settings(deadline=None)
def test_a_file_is_missed_exactly_if_it_is_gone_and_was_not_read(actions: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as directory:
        world = World(Path(directory))
        begins = [("publish", 0), ("read", 0), ("copy", 0)]
        ends = [("read", 0), ("delete all", 0), ("restore", 0), ("read", 0), ("settle", 0), ("read", 0)]
        for action, number in [*begins, *actions, *ends]:
            world.do(action, number)
        world.service.close()
        check_files(world.source, service_watermarks.read([world.source])["cdap"], world.known)


def test_the_law_meets_restored_copies_whose_files_are_gone(tmp_path: Path) -> None:
    world = World(tmp_path)
    for action in ("publish", "read", "copy", "publish", "read", "publish", "read", "delete all", "restart", "restore"):
        world.do(action, 1)
    world.do("read", 0)
    assert world.alarms == 1
    world.do("publish", 0)
    world.do("read", 0)
    assert world.alarms == 2
    world.service.close()


@pytest.mark.parametrize(
    ("read", "present", "newest", "missing"),
    [
        ([], [(5, 4)], 5, 0),
        ([(4, 3)], [(5, 4)], 5, 0),
        ([(3, 2)], [(5, 4)], 5, 4),
        ([(3, 2)], [(4, 3), (5, 4)], 5, 0),
        ([(3, 2)], [], 5, 5),
        ([(5, 4)], [], 5, 0),
        ([(3, 2)], [(9, 0)], 9, 0),
        ([(3, 2)], [(4, 3), (9, 7)], 9, 7),
    ],
)
def test_what_names_say(read: list[tuple[int, int]], present: list[tuple[int, int]], newest: int, missing: int) -> None:
    names = [[event_name(*times) for times in each] + ["other.jsonl"] for each in (read, present)]
    assert missing_file(*names, newest) == missing
