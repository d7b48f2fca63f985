"""`replace_file`: at any time a file has its old content or all of the new, whatever fails."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.disk import replace_file
from tests.disk_faults import full_disk, in_a_child

OLD, NEW = b"old", b"new" * 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "state.json"
    path.write_bytes(OLD)
    return path


def names(file: Path) -> list[str]:
    return sorted(path.name for path in file.parent.iterdir())


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_content_mode_and_time_are_those_given(file: Path, mode: int, mask: int) -> None:
    before = os.umask(mask)
    try:
        replace_file(file, [NEW, b"!"], mode=mode, modified=1_000_000_000.0)
    finally:
        os.umask(before)
    assert file.read_bytes() == NEW + b"!"
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_mtime) == (mode, 1_000_000_000.0)
    assert names(file) == ["state.json"]


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    replace_file(tmp_path / "state.json", [NEW])
    assert (tmp_path / "state.json").read_bytes() == NEW


@pytest.mark.parametrize("fault", ["open", "fchmod", "fsync", "replace", "content"])
def test_what_fails_leaves_the_old_content_and_nothing_else(
    file: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    def content() -> Iterator[bytes]:
        yield NEW
        if fault == "content":
            failing()

    with monkeypatch.context() as patch:
        if fault == "replace":
            patch.setattr(Path, "replace", failing)
        elif fault != "content":
            patch.setattr(os, fault, failing)
        with pytest.raises(OSError, match="Input/output error"):
            replace_file(file, content())
    assert (file.read_bytes(), names(file)) == (OLD, ["state.json"])
    replace_file(file, [NEW])
    assert file.read_bytes() == NEW


def test_on_a_full_disk_the_old_content_stays(file: Path) -> None:
    with full_disk(10), pytest.raises(OSError, match="File too large"):
        replace_file(file, [NEW])
    assert (file.read_bytes(), names(file)) == (OLD, ["state.json"])


def test_content_then_name_are_on_the_disk_before_it_returns(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    fsync, replace = os.fsync, Path.replace

    def sync(descriptor: int) -> None:
        done.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        fsync(descriptor)

    def rename(self: Path, target: Path) -> Path:
        done.append("name")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", rename)
    replace_file(file, [NEW])
    assert done == ["content", "name", "directory"]


def test_killed_while_it_writes_the_old_content_stays_and_the_next_one_writes(file: Path) -> None:
    def content() -> Iterator[bytes]:
        yield NEW
        os.kill(os.getpid(), 9)

    _, status = os.waitpid(in_a_child(lambda: replace_file(file, content())), 0)
    assert os.WTERMSIG(status) == 9
    assert file.read_bytes() == OLD
    replace_file(file, [NEW])
    assert (file.read_bytes(), names(file)) == (NEW, ["state.json"])


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_link_that_somebody_put_beside_it_is_not_written_through(file: Path, link: object) -> None:
    victim = file.with_name("victim")
    victim.write_bytes(b"untouched")
    assert callable(link)
    link(victim, file.with_name(".state.json.new"))
    replace_file(file, [NEW])
    assert (victim.read_bytes(), file.read_bytes()) == (b"untouched", NEW)
