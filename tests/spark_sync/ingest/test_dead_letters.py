"""Dead letters stay few and small, whatever is sent, and every rejected line is counted."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ranger_cdap.errors import SyncError
from spark_sync.ingest import dead_letters
from spark_sync.ingest.dead_letters import (
    DEAD_LETTERS,
    OLDER,
    DeadLetter,
    rejected_lines,
    write_dead_letters,
)


def letter(n: int, lines: int = 1) -> DeadLetter:
    return DeadLetter("audit", "file:///in/1.jsonl", 0, n, "not one JSON object", "x" * 50, lines)


def written(directory: Path) -> list[DeadLetter]:
    text = (directory / DEAD_LETTERS).read_bytes()
    return [msgspec.json.decode(line, type=DeadLetter) for line in text.splitlines()]


def test_letters_are_appended_and_counted(tmp_path: Path) -> None:
    assert write_dead_letters([], tmp_path) == 0
    assert not (tmp_path / DEAD_LETTERS).exists()
    assert write_dead_letters([letter(1), letter(2)], tmp_path) == 2
    assert write_dead_letters((letter(3, lines=70),), tmp_path) == 70
    assert written(tmp_path) == [letter(1), letter(2), letter(3, lines=70)]
    assert rejected_lines(tmp_path) == 72


def test_letters_of_an_earlier_release_and_one_that_was_cut_off_count_once(tmp_path: Path) -> None:
    (tmp_path / DEAD_LETTERS).write_bytes(b'{"source":"audit","reason":"r"}\n{"source":"au')
    assert rejected_lines(tmp_path) == 2


def test_a_full_file_is_begun_anew_and_the_one_before_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "FULL", 300)
    for n in range(1, 8):
        write_dead_letters([letter(n), letter(n)], tmp_path)
    assert written(tmp_path) == [letter(7), letter(7)]
    assert (tmp_path / OLDER).stat().st_size < 600
    assert rejected_lines(tmp_path) == 4


def test_a_disk_that_takes_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / DEAD_LETTERS).mkdir()
    with pytest.raises(SyncError, match=f"{DEAD_LETTERS}` cannot be written: Is a directory"):
        write_dead_letters([letter(1)], tmp_path)
    with pytest.raises(SyncError, match=f"{DEAD_LETTERS}` cannot be read: Is a directory"):
        rejected_lines(tmp_path)
