"""The law of the watermark: every line that was received before it is in a published file, whatever happens."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.service.events.event_files import INCOMING, EventFiles
from ranger_cdap.service.events.event_store import SEGMENT_SECONDS, EventStore
from ranger_cdap.wire.watermark import JOURNAL_ID, WATERMARK, Watermark, WatermarkFile
from tests.disk_faults import in_a_child
from tests.service.event_samples import files_in
from tests.service.fixtures import serving

LONG = 3600.0
A_MINUTE = 60.0


def mark_of(events: Path) -> Watermark | None:
    return WatermarkFile(events, events / INCOMING).read()


def mark(events: Path) -> Watermark:
    found = mark_of(events)
    assert found is not None
    return found


def received_in(events: Path) -> list[int]:
    """What a reader of the directory finds, in the order of the stream."""
    lines = (line for path in files_in(events) for line in path.read_text(encoding="utf-8").splitlines())
    return [json.loads(line)["received"] for line in lines]


def until(done: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(A_MINUTE * 200)):
        if done():
            return
        waited.wait(0.005)
    raise AssertionError("it did not happen")


@dataclass
class Writer:
    """Appends lines, each with a name, and remembers which were acknowledged and when they were received."""

    store: EventStore
    acknowledged: dict[str, int] = field(default_factory=dict)

    def append(self, name: str) -> None:
        received: list[int] = []

        def line(at: int) -> bytes:
            received.append(at)
            return json.dumps({"id": name, "received": at}).encode() + b"\n"

        self.store.append(line)
        self.acknowledged[name] = received[0]

    def begin(self, names: list[str]) -> threading.Thread:
        """Append these, one after another, in a thread."""
        thread = threading.Thread(target=lambda: [self.append(name) for name in names])
        thread.start()
        return thread


@dataclass
class Reader:
    """Reads as the sync job does: the watermark first, then the files; and holds the law against both."""

    events: Path
    seen: list[tuple[Watermark, set[str]]] = field(default_factory=list)

    def look(self) -> None:
        if found := mark_of(self.events):
            names = set()
            for path in files_in(self.events):
                names |= {json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()}
            self.seen.append((found, names))

    def check(self, received: dict[str, int]) -> None:
        marks = [found.watermark for found, _ in self.seen]
        assert marks == sorted(marks)
        for found, names in self.seen:
            before = {name for name, at in received.items() if at < found.watermark}
            assert before <= names, f"{found}: {before - names} are not published"


# --- the law ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    jumps=st.lists(st.integers(-5_000, 5_000), min_size=1, max_size=30),
    threads=st.integers(1, 8),
    segment_bytes=st.sampled_from([1, 200, 10**6]),
)
def test_every_line_before_the_watermark_is_published(jumps: list[int], threads: int, segment_bytes: int) -> None:
    """Many threads write while a clock jumps forward and back; the second store goes on where the first ended."""
    clock = iter(range(10**9))
    now = [1_000_000]

    def time() -> float:
        now[0] = max(1, now[0] + jumps[next(clock) % len(jumps)])
        return now[0] / 1000

    with TemporaryDirectory() as directory:
        events = Path(directory) / "events"
        reader = Reader(events)
        received: dict[str, int] = {}
        for round_ in range(2):
            store = EventStore(EventFiles(events), segment_seconds=0.002, segment_bytes=segment_bytes, clock=time)
            writers = [Writer(store) for _ in range(threads)]
            working = [writer.begin([f"{round_}.{n}.{i}" for i in range(12)]) for n, writer in enumerate(writers)]
            while any(thread.is_alive() for thread in working):
                reader.look()
            for thread, writer in zip(working, writers, strict=True):
                thread.join()
                received |= writer.acknowledged
            store.close()
            reader.look()
            assert set(received) <= reader.seen[-1][1]
        assert received_in(events) == sorted(received_in(events))
        assert len(received_in(events)) == len(received) == 2 * threads * 12
        reader.check(received)
        assert mark(events).watermark > max(received.values())


KILLS = 25


@dataclass
class Service:
    """A store in a process of its own that many threads write to, until it is killed."""

    events: Path
    clock_ahead: float = 0.0
    acknowledged: dict[str, int] = field(default_factory=dict)

    def live(self, round_: int, lines: int) -> None:
        """Until so many lines were acknowledged."""
        out, into = os.pipe()
        child = in_a_child(lambda: self._work(round_, into))
        os.close(into)
        with os.fdopen(out, encoding="ascii") as told:
            for _ in range(lines):
                self._note(told.readline())
            os.kill(child, signal.SIGKILL)
            for line in told:  # what was acknowledged before the end
                self._note(line)
        os.waitpid(child, 0)

    def _note(self, line: str) -> None:
        with suppress(ValueError):
            name, at = line.split()
            self.acknowledged[name] = int(at)

    def _work(self, round_: int, into: int) -> None:
        from time import time

        store = EventStore(EventFiles(self.events), segment_seconds=0.004, clock=lambda: time() + self.clock_ahead)

        def write(number: int) -> None:
            writer = Writer(store)
            for i in range(10**6):
                name = f"{round_}.{number}.{i}"
                writer.append(name)
                os.write(into, f"{name} {writer.acknowledged[name]}\n".encode())

        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_the_law_holds_over_kills_and_clocks_set_back(events: Path) -> None:
    """Of all that a service acknowledged, nothing is lost, and no watermark ever promised too much."""
    random_ = random.Random(18)
    service, reader = Service(events), Reader(events)
    ended = threading.Event()
    looking = threading.Thread(target=lambda: [reader.look() for _ in iter(ended.is_set, True)])
    looking.start()
    try:
        for round_ in range(KILLS):
            service.clock_ahead = random_.uniform(-100, 100)
            service.live(round_, random_.randrange(1, 120))
    finally:
        ended.set()
        looking.join()
    EventStore(EventFiles(events)).close()
    reader.look()
    reader.check(service.acknowledged)
    assert set(service.acknowledged) <= reader.seen[-1][1]
    assert received_in(events) == sorted(received_in(events))
    assert len({found.service for found, _ in reader.seen}) == 1
    assert len(reader.seen) > KILLS


def test_after_a_crash_time_goes_on_from_the_last_line_that_was_left(events: Path) -> None:
    (events / INCOMING).mkdir(parents=True, mode=0o700)
    events.chmod(0o700)
    left = events / INCOMING / "000000000001000-abc.jsonl"
    left.write_bytes(b'{"id":"a","received":5000}\n{"id":"b","received":7000}\n{"id":"c","received":90')
    store = EventStore(EventFiles(events), segment_seconds=LONG, clock=lambda: 1.0)
    assert mark(events).watermark == 7001
    Writer(store).append("d")
    store.close()
    assert received_in(events) == [5000, 7000, 7001]


def test_a_disk_that_comes_back_with_a_later_watermark_takes_nothing_before_it(events: Path) -> None:
    EventStore(EventFiles(events), clock=lambda: 9.0).close()
    aside = events.rename(events.with_name("aside"))
    events.write_text("in the way")
    store = EventStore(EventFiles(events), segment_seconds=LONG, clock=lambda: 1.0)
    with pytest.raises(OSError, match="exists"):
        Writer(store).append("a")
    events.unlink()
    aside.rename(events)
    with pytest.raises(OSError, match="the clock was set back"):
        Writer(store).append("b")
    writer = Writer(store)
    writer.append("c")
    store.close()
    assert writer.acknowledged["c"] >= 9000
    assert received_in(events) == [writer.acknowledged["c"]]


# --- how it is renewed --------------------------------------------------------------------------------------------


def test_it_is_there_at_once_and_is_renewed_while_nothing_happens(events: Path) -> None:
    assert SEGMENT_SECONDS < 1
    store = EventStore(EventFiles(events), segment_seconds=0.01)
    first = mark(events).watermark
    until(lambda: mark(events).watermark > first + 50)
    store.close()
    assert files_in(events) == []


def test_it_goes_on_where_the_clock_stands_still(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=0.01, clock=lambda: 5.0)
    writer = Writer(store)
    writer.append("a")
    until(lambda: mark(events).watermark > writer.acknowledged["a"])
    store.close()


def test_at_the_end_it_has_passed_all_lines(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=LONG)
    writer = Writer(store)
    writer.append("a")
    assert mark(events).watermark <= writer.acknowledged["a"]
    store.close()
    assert mark(events).watermark > writer.acknowledged["a"]


def test_it_stays_where_it_is_while_a_file_can_not_be_moved_in(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=0.01)
    obstacle = events / INCOMING / "000000000000001-x.jsonl"
    obstacle.mkdir()
    writer = Writer(store)
    writer.append("a")
    until(lambda: received_in(events) == [writer.acknowledged["a"]])
    assert mark(events).watermark <= writer.acknowledged["a"]
    obstacle.rmdir()
    until(lambda: mark(events).watermark > writer.acknowledged["a"])
    store.close()


def test_its_age_is_told(events: Path) -> None:
    now = [100.0]
    store = EventStore(EventFiles(events), segment_seconds=LONG, clock=lambda: now[0])
    now[0] += 7
    assert store.age == 7
    store.close()


# --- what it says -------------------------------------------------------------------------------------------------


def test_the_file_says_what_the_page_says(events: Path) -> None:
    store = EventStore(EventFiles(events), clock=lambda: 9.0)
    store.records = True
    store.close()
    said = json.loads((events / WATERMARK).read_bytes())
    began = (events / ".incoming" / JOURNAL_ID).stat().st_mtime_ns // 1_000_000
    assert said == {
        "v": 1,
        "service": mark(events).service,
        "watermark": 9001,
        "records": True,
        "since": began,
        "newest": 0,
    }
    assert len(said["service"]) == 32
    assert (events / WATERMARK).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("records", [True, False, None])
def test_whether_records_are_delivered_is_remembered_over_a_restart(events: Path, records: bool | None) -> None:
    store = EventStore(EventFiles(events))
    assert store.records is None
    store.records = records
    store.close()
    again = EventStore(EventFiles(events))
    assert again.records is records
    again.close()


@pytest.mark.parametrize("lost", [b"", b"nonsense", b"[]", b'{"v":2,"service":"x","watermark":5,"records":null}'])
def test_a_watermark_that_can_not_be_read_is_none(events: Path, lost: bytes) -> None:
    EventStore(EventFiles(events), clock=lambda: 9.0).close()
    before = mark(events)
    (events / WATERMARK).write_bytes(lost)
    assert mark_of(events) is None
    EventStore(EventFiles(events), clock=lambda: 20.0).close()
    assert (mark(events).service, mark(events).watermark) == (before.service, 20_001)


def _lost_directory(events: Path) -> None:
    for path in sorted(events.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    events.rmdir()


LOST: dict[str, Callable[[Path], object]] = {
    "the directory": _lost_directory,
    "the id": lambda events: (events / INCOMING / JOURNAL_ID).unlink(),
    "what the id says": lambda events: (events / INCOMING / JOURNAL_ID).write_bytes(b"\xff"),
}


@pytest.mark.parametrize("what", LOST)
def test_a_journal_that_was_lost_comes_back_under_another_id(events: Path, what: str) -> None:
    EventStore(EventFiles(events)).close()
    before = mark(events).service
    EventStore(EventFiles(events)).close()
    assert mark(events).service == before
    LOST[what](events)
    EventStore(EventFiles(events)).close()
    assert mark(events).service != before


def test_a_directory_that_is_lost_while_the_service_runs_is_another_journal(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=0.01)
    before = mark(events).service
    while events.exists():  # it is written to meanwhile
        with suppress(OSError):
            _lost_directory(events)
    until(lambda: (found := mark_of(events)) is not None and found.service != before)
    store.close()


def test_a_link_in_its_place_is_not_followed(events: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    EventStore(EventFiles(events)).close()
    for name in (f"{WATERMARK}.new", f"{JOURNAL_ID}.new"):
        (events / INCOMING / name).symlink_to(precious)
    (events / INCOMING / JOURNAL_ID).unlink()
    EventStore(EventFiles(events)).close()
    assert precious.read_text() == "precious"


@pytest.mark.parametrize(("hello", "records"), [({"records": True}, True), ({"records": False}, False), ({}, None)])
def test_it_says_what_the_extension_said_last(
    tmp_path: Path, events: Path, hello: dict[str, bool], records: bool | None
) -> None:
    with serving([], tmp_path) as world:
        for said in ({"records": not records}, hello):
            answer = world.ask("enforce", "POST", "/cdap/v1/hello", {"extension": "0.1.0"} | said)
            assert answer.status == 200
        assert b"ranger_cdap_journal_age_seconds 0." in world.ask(None, "GET", "/metrics").body
    assert mark(events).records is records


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Each test closes its stores: their threads would go on."""
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name == "event-store"]
