"""`units`: all files of systemd or none, never over a change by hand, and nothing with `--dry-run`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.cli.main import main
from ranger_cdap.units import PROGRAM, UNITS, units

CONTENT = {unit.place: unit.content for unit in units()}
EARLIER = b"# of an earlier version\n"


def install(root: Path, *options: str) -> int:
    return main(["--quiet", "units", "--root", str(root), "--program", str(PROGRAM), *options])


def found(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_a_new_system_gets_every_file_for_everyone_to_read(tmp_path: Path) -> None:
    assert install(tmp_path) == 0
    assert found(tmp_path) == CONTENT
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()} == {0o644}


@settings(max_examples=20)
@given(
    st.fixed_dictionaries({place: st.sampled_from([None, b"", EARLIER, CONTENT[place]]) for place in UNITS.values()})
)
def test_it_is_all_or_nothing_and_once_more_changes_nothing(before: dict[Path, bytes | None]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for place, content in before.items():
            if content is not None:
                (root / place).parent.mkdir(parents=True, exist_ok=True)
                (root / place).write_bytes(content)
        there = found(root)
        was_changed = any(content not in (None, CONTENT[place]) for place, content in before.items())

        assert install(root, "--dry-run") == (3 if was_changed else 0)
        assert found(root) == there
        assert install(root) == (3 if was_changed else 0)
        assert found(root) == (there if was_changed else CONTENT)
        assert install(root, "--replace") == install(root) == 0
        assert found(root) == CONTENT


def test_a_dry_run_shows_the_files_and_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install(tmp_path, "--dry-run") == 0
    shown = capsys.readouterr().out
    for place, content in CONTENT.items():
        assert f"create file `{tmp_path / place}`" in shown
        assert all(f"    {line}" in shown for line in content.decode().splitlines())
    assert "systemctl enable --now ranger-cdap.service" in shown


def test_the_program_and_java_of_this_system_get_into_the_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/opt/java-21")
    assert main(["units", "--root", str(tmp_path), "--program", "/srv/x/bin/ranger-cdap"]) == 0
    service, sync = (
        found(tmp_path)[UNITS[name]].decode() for name in ("ranger-cdap.service", "ranger-cdap-sync.service")
    )
    assert "ExecStart=/srv/x/bin/ranger-cdap serve\n" in service
    assert "ExecStart=/srv/x/bin/ranger-cdap --quiet sync run --follow\n" in sync
    assert "JAVA_HOME=/opt/java-21\n" in sync


@pytest.mark.parametrize(
    "program", ["bin/ranger-cdap", "/opt/my programs/x", "/opt/%h/x", "/x\nExecStartPre=/evil", "/x;y", "/x$y"]
)
def test_a_program_that_systemd_would_read_otherwise_is_refused(program: str, tmp_path: Path) -> None:
    assert main(["units", "--root", str(tmp_path), "--program", program]) == 3
    assert found(tmp_path) == {}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "etc").write_text("a file", encoding="utf-8")
    assert install(tmp_path) == 3
    assert "etc/sysusers.d/ranger-cdap.conf` cannot be read" in capsys.readouterr().err


def test_programs_get_the_changes_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    unit = UNITS["ranger-cdap-sync.service"]
    (tmp_path / unit).write_bytes(CONTENT[unit])
    assert install(tmp_path, "--json") == 0
    changes = {one["file"]: one["change"] for one in json.loads(capsys.readouterr().out)}
    assert changes == {str(tmp_path / place): "keep" if place == unit else "create" for place in CONTENT}
