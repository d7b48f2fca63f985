"""Scratch directories: for their owner only, removed whatever ended the run, and never anything else with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_sync.spark.scratch import LOCATION, PREFIX, scratch
from tests.spark_sync.killing import kill_and_wait

NOBODY = 65534


@pytest.fixture(autouse=True)
def _location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOCATION, str(tmp_path))


def leftover(directory: Path, name: str = "killed") -> Path:
    """What a killed run left."""
    made = directory / f"{PREFIX}{name}"
    (made / "blockmgr").mkdir(parents=True)
    (made / "blockmgr" / "rdd_0_0").write_text("alice created ns1.salaries", encoding="utf-8")
    return made


@pytest.mark.parametrize("umask", [0o000, 0o022], ids=oct)
def test_it_is_for_its_owner_only_and_gone_afterwards(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with scratch() as made:
            assert made.directory.parent == tmp_path
            assert made.directory.stat().st_mode & 0o777 == 0o700
            (made.directory / "inner").mkdir()
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []


def test_it_is_where_temporary_files_are_or_in_the_first_of_sparks_own_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").mkdir()
    monkeypatch.setenv(LOCATION, f"{tmp_path / 'first'},{tmp_path / 'second'}")
    with scratch() as made:
        assert made.directory.parent == tmp_path / "first"
    monkeypatch.delenv(LOCATION)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch() as made:
        assert made.directory.parent == tmp_path


def test_what_killed_runs_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = [leftover(tmp_path, "one"), leftover(tmp_path, "two")]
    with scratch():
        assert not any(directory.exists() for directory in left)


def test_what_a_run_uses_is_not_removed_by_another(tmp_path: Path) -> None:
    with scratch() as first, scratch() as second:
        assert first.directory.is_dir()
        assert second.directory.is_dir()


def test_it_is_in_use_as_long_as_the_driver_lives(tmp_path: Path) -> None:
    """The parent, which had the lock, was killed; the driver inherited it and goes on for a while."""
    program = (
        "import os, subprocess, sys\n"
        "from spark_sync.spark.scratch import scratch\n"
        "with scratch() as made:\n"
        "    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "    driver = subprocess.Popen(['sleep', '60'], pass_fds=(made.descriptor,), **quiet)\n"
        "    print(made.directory, driver.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": root},
    )
    assert done.returncode == -9, done.stderr
    directory, driver = done.stdout.split()
    try:
        with scratch():
            assert Path(directory).is_dir()
    finally:
        kill_and_wait(int(driver))
    with scratch():
        assert not Path(directory).exists()


def a_link_to_it(directory: Path, other: Path) -> None:
    (directory / f"{PREFIX}link").symlink_to(other)


def a_link_in_it(directory: Path, other: Path) -> None:
    (leftover(directory) / "link").symlink_to(other)


def a_file(directory: Path, other: Path) -> None:
    (directory / f"{PREFIX}file").write_text(str(other), encoding="utf-8")


@pytest.mark.parametrize("lay", [a_link_to_it, a_link_in_it, a_file])
def test_nothing_is_removed_through_a_link(tmp_path: Path, lay: Callable[[Path, Path], None]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    lay(tmp_path, other)
    with scratch():
        assert (other / "kept").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a directory to another user")
def test_what_belongs_to_another_user_is_left_alone(tmp_path: Path) -> None:
    theirs = leftover(tmp_path)
    os.chown(theirs, NOBODY, NOBODY)
    with scratch():
        assert (theirs / "blockmgr" / "rdd_0_0").exists()


def test_a_place_where_nothing_may_be_executed_is_refused_in_one_sentence(tmp_path: Path) -> None:
    program = (
        "from ranger_cdap.errors import ConfigError\n"
        "from spark_sync.spark.scratch import scratch\n"
        "try:\n    with scratch(): print('made')\nexcept ConfigError as e: print(e)"
    )
    command = f'mount -t tmpfs -o noexec none "{tmp_path}" && exec "{sys.executable}" -c "$PROGRAM"'
    inside = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", command]
    done = subprocess.run(
        inside, env={**os.environ, "PROGRAM": program}, capture_output=True, text=True, timeout=60, check=False
    )

    if not done.stdout and "unshare" in done.stderr:
        pytest.skip(f"this machine makes no file systems of its own: {done.stderr.strip()}")
    assert done.stdout == (
        f"`{tmp_path}` is mounted `noexec`, and Spark runs what it unpacks; set `{LOCATION}` to another\n"
    ), done.stderr
