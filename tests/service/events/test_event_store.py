"""Lines that were acknowledged are on the disk, whole, whatever the disk and the process do."""

from __future__ import annotations

import itertools
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import ConfigError, ServerError
from ranger_cdap.service.events import event_files
from ranger_cdap.service.events.event_files import INCOMING, EventFiles
from ranger_cdap.service.events.event_store import BURST, QUIET, EventStore, Pace
from tests.disk_faults import full_disk
from tests.service.event_samples import files_in

LONG = 3600.0
A_SECOND = 60.0
"""How long to wait for what takes a moment."""


def lines_in(directory: Path) -> list[str]:
    return [line for path in files_in(directory) for line in path.read_text().splitlines()]


def as_they_are(lines: bytes) -> Callable[[int], bytes]:
    return lambda _received: lines


def incoming(directory: Path) -> list[Path]:
    return sorted((directory / INCOMING).glob("*.jsonl"))


@pytest.fixture
def files(events: Path) -> Iterator[EventFiles]:
    made = EventFiles(events)
    made.open()
    yield made
    made.close()


def until(done: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(A_SECOND * 100)):
        if done():
            return
        waited.wait(0.01)
    raise AssertionError("it did not happen")


# --- the directory ------------------------------------------------------------------------------------------------


def test_readers_see_a_file_when_it_is_complete(files: EventFiles, events: Path) -> None:
    files.append(b"one\n")
    files.append(b"two\nthree\n")
    assert files_in(events) == []
    files.publish()
    assert lines_in(events) == ["one", "two", "three"]
    assert incoming(events) == []


def test_nothing_is_written_for_nothing(files: EventFiles, events: Path) -> None:
    files.publish()
    assert files_in(events) == []


def test_only_the_owner_can_read_what_is_stored(files: EventFiles, events: Path) -> None:
    files.append(b"one\n")
    files.publish()
    assert stat.S_IMODE(events.stat().st_mode) == 0o700
    for path in events.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or path.name == "holder", path


def test_names_sort_by_time_and_never_repeat_even_when_the_clock_is_set_back(events: Path) -> None:
    times = iter([2000.0, 1000.0, 1000.0, 3000.0])
    files = EventFiles(events, clock=lambda: next(times))
    files.open()
    for text in ("a\n", "b\n"):
        files.append(text.encode())
        files.publish()
    files.close()
    later = EventFiles(events, clock=lambda: next(times))
    later.open()
    for text in ("c\n", "d\n"):
        later.append(text.encode())
        later.publish()
    later.close()
    assert lines_in(events) == ["a", "b", "c", "d"]


def test_a_second_program_is_told_who_has_the_directory(files: EventFiles, events: Path) -> None:
    with pytest.raises(ServerError, match=rf"is used by process {os.getpid()} on .*service\.events_dir"):
        EventFiles(events).open()
    files.close()
    again = EventFiles(events)
    again.open()
    again.close()


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_directory_others_can_write_to_is_refused(events: Path, mode: int) -> None:
    events.mkdir()
    events.chmod(mode)
    with pytest.raises(ConfigError, match="can be written by other users"):
        EventFiles(events).open()


LEFT = {
    "whole lines": (b"one\ntwo\n", ["one", "two"]),
    "half a line at the end": (b"one\ntw", ["one"]),
    "half of the first line": (b"on", []),
    "nothing": (b"", []),
    "a long half line": (b"one\n" + b"x" * 200_000, ["one"]),
    "zeros of a block that was never written": (b"one\n" + b"\0" * 5000, ["one"]),
}


@pytest.mark.parametrize("case", LEFT)
def test_what_a_crash_left_is_moved_in_without_the_line_it_cut(events: Path, case: str) -> None:
    content, lines = LEFT[case]
    (events / INCOMING).mkdir(parents=True, mode=0o700)
    events.chmod(0o700)
    (events / INCOMING / "000000000001000-abc.jsonl").write_bytes(content)
    files = EventFiles(events)
    files.open()
    files.append(b"new\n")
    files.close()
    assert lines_in(events) == [*lines, "new"]
    assert incoming(events) == []


# --- faults of the disk -------------------------------------------------------------------------------------------


def test_a_full_disk_takes_nothing_and_leaves_no_half_line(files: EventFiles, events: Path) -> None:
    files.append(b"one\n")
    with full_disk(6), pytest.raises(OSError, match="File too large"):
        files.append(b"two\nthree\n")
    files.append(b"four\n")
    files.publish()
    assert lines_in(events) == ["one", "four"]


def test_half_a_line_that_can_not_be_cut_off_now_is_cut_off_later(
    files: EventFiles, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_descriptor: int, _length: int) -> None:
        raise OSError("no")

    files.append(b"one\n")
    with monkeypatch.context() as patch, full_disk(6):
        patch.setattr(event_files.os, "ftruncate", refused)
        with pytest.raises(OSError, match="File too large"):
            files.append(b"two\nthree\n")
    files.append(b"four\n")
    files.publish()
    assert lines_in(events) == ["one", "four"]


def test_after_a_failed_fsync_nothing_more_goes_into_that_file(
    files: EventFiles, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.append(b"one\n")
    before = incoming(events)
    with monkeypatch.context() as patch:
        patch.setattr(event_files.os, "fsync", _fails)
        with pytest.raises(OSError, match="Input/output error"):
            files.append(b"two\n")
    files.append(b"three\n")
    assert len(incoming(events)) == 2
    assert before[0].read_bytes() == b"one\n"
    files.publish()
    assert lines_in(events) == ["one", "three"]


def _fails(_descriptor: int) -> None:
    raise OSError(5, os.strerror(5))


def test_a_file_that_can_not_be_moved_keeps_no_other_back(files: EventFiles, events: Path) -> None:
    obstacle = events / INCOMING / "000000000000001-x.jsonl"
    obstacle.mkdir()
    files.append(b"one\n")
    with pytest.raises(OSError, match="directory"):
        files.publish()
    assert lines_in(events) == ["one"]
    obstacle.rmdir()


def test_a_link_in_the_place_of_a_segment_is_not_followed(files: EventFiles, events: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"half a li")
    link = events / INCOMING / "000000000000001-x.jsonl"
    link.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic"):
        files.publish()
    link.unlink()
    assert precious.read_bytes() == b"half a li"


# --- many at once -------------------------------------------------------------------------------------------------


class CountedFiles(EventFiles):
    """Counts commits; the first waits until it may go on."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.commits: list[bytes] = []
        self.began, self.go_on = threading.Event(), threading.Event()

    def append(self, lines: bytes) -> None:
        self.began.set()
        assert self.go_on.wait(A_SECOND)
        self.commits.append(lines)
        super().append(lines)


def test_those_who_wait_are_committed_together(events: Path) -> None:
    files = CountedFiles(events)
    store = EventStore(files, segment_seconds=LONG)
    threads = [threading.Thread(target=store.append, args=(as_they_are(f"{n}\n".encode()),)) for n in range(20)]
    threads[0].start()
    assert files.began.wait(A_SECOND)
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(store._waiting) == 19)
    files.go_on.set()
    for thread in threads:
        thread.join(A_SECOND)
    assert len(files.commits) == 2
    store.close()
    assert sorted(map(int, lines_in(events))) == list(range(20))


def test_a_segment_is_handed_over_when_it_is_old(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=0.05)
    store.append(as_they_are(b"one\n"))
    until(lambda: lines_in(events) == ["one"])
    store.append(as_they_are(b"two\n"))
    until(lambda: lines_in(events) == ["one", "two"])
    store.close()


def test_lines_after_a_quiet_time_are_handed_over_long_before_the_next_turn(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=30.0)
    store.append(as_they_are(b"one\n"))
    until(lambda: lines_in(events) == ["one"])
    store.close()


@given(arrivals=st.lists(st.floats(0.001, 5.0), min_size=1, max_size=60))
def test_publishing_is_quick_after_quiet_and_on_average_once_an_interval(
    arrivals: list[float],
) -> None:
    """Times in intervals; each number is the time from one line to the next."""
    lines = list(itertools.accumulate(arrivals))
    pace = Pace(1.0, 0.0)
    files: list[float] = []
    waiting: list[float] = []
    while lines or waiting:
        if lines and lines[0] < pace.due:
            now = lines.pop(0)
            waiting.append(now)
            pace.lines_arrived(now)
            continue
        now = pace.due
        pace.publish(now, lines=bool(waiting))
        if waiting:
            assert now - waiting[0] <= 1.0
            if not any(file > waiting[0] - BURST for file in files):
                assert now - waiting[0] <= QUIET + 1e-9
            files.append(now)
            waiting = []
    for (first, begun), (last, ended) in itertools.combinations(enumerate(files), 2):
        assert last - first + 1 <= BURST + ended - begun + 1e-9


def test_a_segment_is_handed_over_when_it_is_large(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=LONG, segment_bytes=100)
    store.append(as_they_are(b"x" * 60 + b"\n"))
    store.append(as_they_are(b"y" * 60 + b"\n"))
    until(lambda: len(lines_in(events)) == 2)
    assert len(files_in(events)) == 1
    store.close()


def test_the_end_hands_over_what_is_there_and_takes_nothing_more(events: Path) -> None:
    store = EventStore(EventFiles(events), segment_seconds=LONG)
    store.append(as_they_are(b"one\n"))
    assert lines_in(events) == []
    store.close()
    store.close()
    assert lines_in(events) == ["one"]
    with pytest.raises(OSError, match="the service is stopping"):
        store.append(as_they_are(b"two\n"))
    filelock.FileLock(events / INCOMING / "lock", timeout=0).acquire().lock.release()


def test_a_disk_that_fails_is_told_once_and_works_again(events: Path, caplog: pytest.LogCaptureFixture) -> None:
    events.parent.joinpath("events").write_text("in the way")  # so the directory cannot be made
    store = EventStore(EventFiles(events), segment_seconds=LONG)
    for _ in range(2):
        with pytest.raises(OSError, match="exists"):
            store.append(as_they_are(b"one\n"))
    events.unlink()
    store.append(as_they_are(b"one\n"))
    store.close()
    assert lines_in(events) == ["one"]
    assert [message.split(":")[0] for message in caplog.messages] == [
        "records cannot be stored",
        "records are stored again",
    ]


def test_a_disk_that_says_nothing_is_not_waited_for_for_ever(events: Path) -> None:
    files = CountedFiles(events)
    store = EventStore(files, segment_seconds=LONG, patience=0.05)
    with pytest.raises(OSError, match="does not respond"):
        store.append(as_they_are(b"one\n"))
    files.go_on.set()
    store.close()


def test_a_fault_nobody_foresaw_does_not_end_the_store(events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = EventFiles(events)
    store = EventStore(files, segment_seconds=LONG)
    with monkeypatch.context() as patch:
        patch.setattr(files, "append", lambda _lines: 1 / 0)
        with pytest.raises(OSError, match="ZeroDivisionError"):
            store.append(as_they_are(b"one\n"))
    store.append(as_they_are(b"two\n"))
    store.close()
    assert lines_in(events) == ["two"]
