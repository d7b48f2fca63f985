"""A file is read once: what is recorded stays, whatever ends the run."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import SyncError
from spark_sync.sources.file_log import FILE_LOG, SLACK, FileLog
from spark_sync.sources.regular_files import SourceFile

if TYPE_CHECKING:
    pass

NAMES = ["a b", "100%", "%20", "a+b", "ü", "😀", "x#y", "q?x", "[1]", "semi;colon", "a\nb"]


def file(path: Path | str) -> SourceFile:
    return SourceFile(str(path), 1)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints" / "s"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    return tmp_path / "events"


def created(events: Path, *names: str) -> list[SourceFile]:
    for name in names:
        (events / name).write_text("x")
    return [file(events / name) for name in names]


def test_what_was_added_is_known_to_every_later_run(checkpoint: Path, events: Path) -> None:
    first, second, third = ([each] for each in created(events, "1", "2", "\u00fc \n"))
    log = FileLog(checkpoint)
    assert log.unread(first + second) == first + second
    log.add(first)
    log.add([*first, *third])
    assert log.unread(first + second + third) == second
    assert FileLog(checkpoint).unread(first + second + third) == second
    assert (checkpoint / FILE_LOG).stat().st_mode & 0o777 == 0o600
    assert checkpoint.stat().st_mode & 0o777 == checkpoint.parent.stat().st_mode & 0o777 == 0o700
    assert [json.loads(line)["files"] for line in (checkpoint / FILE_LOG).read_text().splitlines()] == [
        [first[0].path],
        [third[0].path],
    ]


def test_nothing_new_writes_nothing(checkpoint: Path, events: Path) -> None:
    log, files = FileLog(checkpoint), created(events, "1")
    log.add([])
    assert not checkpoint.exists()
    log.add(files)
    before = (checkpoint / FILE_LOG).stat()
    log.add(files)
    assert (checkpoint / FILE_LOG).stat() == before


def test_a_kill_at_any_byte_loses_at_most_the_last_line(checkpoint: Path, events: Path) -> None:
    first, second, third = ([each] for each in created(events, "1", "2", "3"))
    FileLog(checkpoint).add(first)
    length = (checkpoint / FILE_LOG).stat().st_size
    FileLog(checkpoint).add(second)
    whole = (checkpoint / FILE_LOG).read_bytes()
    for end in range(length, len(whole) + 1):
        (checkpoint / FILE_LOG).write_bytes(whole[:end])
        lost = second if end < len(whole) else []
        assert FileLog(checkpoint).unread(first + second) == lost
        FileLog(checkpoint).add(third)
        assert FileLog(checkpoint).unread(first + second + third) == lost


def test_a_process_that_follows_sees_what_another_one_adds(checkpoint: Path, events: Path) -> None:
    files = created(events, "1", "2", "3")
    log, other = FileLog(checkpoint), FileLog(checkpoint)
    for n, each in enumerate(files, start=1):
        (log, other)[n % 2].add([each])
        assert log.unread(files) == other.unread(files) == files[n:]
    shutil.rmtree(checkpoint)
    assert log.unread(files) == files


DAMAGE = {
    "no JSON": b"garbage\n",
    "another object": b"{}\n",
    "no texts": b'{"files":[1]}\n',
    "no UTF-8": b'{"files":["\xff"]}\n',
    "an empty line": b"\n",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_line_ends_the_run_and_changes_nothing(checkpoint: Path, events: Path, damage: bytes) -> None:
    first, second = created(events, "1", "2")
    FileLog(checkpoint).add([first])
    path = checkpoint / FILE_LOG
    path.write_bytes(before := path.read_bytes() + damage)
    for use in (FileLog(checkpoint).unread, FileLog(checkpoint).add):
        with pytest.raises(SyncError, match=rf"line 2 of `.*{FILE_LOG}` is damaged; restore the file, or delete it"):
            use([second])
    assert path.read_bytes() == before


def test_a_log_that_cannot_be_written_ends_the_run_and_the_next_one_goes_on(checkpoint: Path, events: Path) -> None:
    (only,) = created(events, "1")
    log = FileLog(checkpoint)
    (checkpoint / FILE_LOG).mkdir(parents=True)
    with pytest.raises(SyncError, match="cannot be read: Is a directory"):
        log.add([only])
    (checkpoint / FILE_LOG).rmdir()
    checkpoint.rmdir()
    checkpoint.write_text("a file")
    with pytest.raises(SyncError, match="Not a directory"):
        log.add([only])
    checkpoint.unlink()
    log.add([only])
    assert log.unread([only]) == []


@given(kept=st.integers(0, 30), rounds=st.integers(1, 4))
def test_the_log_stays_in_proportion_to_the_files_and_forgets_none(
    tmp_path_factory: pytest.TempPathFactory, kept: int, rounds: int
) -> None:
    directory = tmp_path_factory.mktemp("log")
    log = FileLog(directory / "checkpoints" / "s")
    files = created(directory, *map(str, range(kept)))
    log.add(files)
    for n in range(rounds * 2):  # files that retention has deleted meanwhile
        log.add([file(directory / f"gone-{n}-{each}") for each in range(SLACK // 2 + 1)])
        assert log.unread(files) == []
        recorded = (directory / "checkpoints" / "s" / FILE_LOG).read_text().count(str(directory))
        assert recorded <= 2 * kept + SLACK


def test_a_hundred_thousand_files_are_loaded_in_a_blink(checkpoint: Path, tmp_path: Path) -> None:
    files = [file(f"/var/lib/ranger-cdap/events/{n:020d}.jsonl") for n in range(100_000)]
    checkpoint.mkdir(parents=True)
    (checkpoint / FILE_LOG).write_text(json.dumps({"files": [each.path for each in files]}) + "\n")
    log, begin = FileLog(checkpoint), time.process_time()
    assert log.unread(files) == []
    assert time.process_time() - begin < 1  # 0.15 s on an idle machine
