"""`ranger-cdap audit verify` and what `doctor` says of the audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.audit.file import FileSink
from ranger_cdap.audit.verify import rotated_files
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.doctor import Health
from ranger_cdap.doctor.local import examine_audit
from ranger_cdap.doctor.users import Users
from tests.audit.samples import numbered


def write(path: Path, count: int = 10, *, chain: bool = True) -> None:
    sink = FileSink(path, max_bytes=2000, keep=20, chain=chain)
    for number in range(count):
        sink.write([numbered(number)])
    sink.close()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the settings name."""
    file = tmp_path / "audit" / "records.jsonl"
    monkeypatch.setenv("RANGER_CDAP_AUDIT__FILE", str(file))
    monkeypatch.chdir(tmp_path)
    return file


def test_the_files_of_the_settings_are_verified_oldest_first(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(path)
    assert Path(f"{path}.2").exists()
    assert main(["audit", "verify"]) == ExitCode.OK
    first, last = capsys.readouterr().out.splitlines()
    assert first == "11 records, 1 to 11: unbroken"
    kept = last.removeprefix("last record: ")
    assert main(["audit", "verify", "--expect", kept]) == ExitCode.OK
    newest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(newest[:-1]))
    capsys.readouterr()
    assert main(["audit", "verify"]) == ExitCode.OK, "a missing end is found only by who kept its hash"
    assert main(["audit", "verify", "--expect", kept]) == ExitCode.NO
    assert "record 11 with the expected hash is not in these files" in capsys.readouterr().out


def test_a_change_is_said_with_file_and_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(path)
    oldest = rotated_files(path)[0]
    oldest.write_bytes(oldest.read_bytes().replace(b"user1", b"user9", 1))
    assert main(["audit", "verify", "--json"]) == ExitCode.NO
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (document["intact"], document["breaks"], document["records"]) == (False, 1, 11)
    (found,) = document["found"]
    assert (found["file"], found["is_benign"]) == (str(oldest), False)
    assert "was changed" in found["what"]


def test_a_later_file_alone_says_what_is_not_looked_at(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(path)
    assert main(["audit", "verify", str(path)]) == ExitCode.OK
    assert " are not in these files" in capsys.readouterr().out


@pytest.mark.parametrize("chain", [True, False])
def test_what_holds_no_chain_is_not_called_intact(path: Path, chain: bool) -> None:
    write(path, chain=False)
    if chain:
        path.write_bytes(b"")
    assert main(["audit", "verify", str(path)]) == ExitCode.NO


@pytest.mark.parametrize("arguments", [[], ["nowhere"], ["--expect", "7"], ["--expect", "0:" + "0" * 64]])
def test_what_cannot_be_read_is_invalid_input(path: Path, arguments: list[str]) -> None:
    assert main(["audit", "verify", *arguments]) == ExitCode.INVALID_INPUT


# --- doctor ---------------------------------------------------------------------------------------------------------


def findings(**audit: Any) -> dict[str, tuple[Health, str]]:
    settings = Settings(audit=AuditSettings(**audit))
    return {f.check: (f.health, f.seen) for f in examine_audit(settings, Users.of(settings))}


def test_the_doctor_says_where_records_go(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", 1)
    tmp_path.chmod(0o700)
    found = findings(file=tmp_path / "a.jsonl", required=True, chain=True)
    health, seen = found["audit"]
    assert health is Health.WELL
    assert f"`file` (file = `{tmp_path / 'a.jsonl'}`, file_keep = `10`)" in seen
    assert seen.endswith("decisions that cannot be audited are denied; records are chained")
    assert found["audit directory"][0] is Health.WELL
    tmp_path.chmod(0o777)
    assert findings(file=tmp_path / "a.jsonl")["audit directory"][0] is Health.FAILED


def test_the_doctor_warns_where_nothing_is_audited() -> None:
    assert findings(sinks=()) == {"audit": (Health.NOTE, "nothing is audited: `audit.sinks` is empty")}


def test_the_doctor_fails_where_the_audit_cannot_be_opened() -> None:
    assert findings(sinks=("log",), required=True)["audit"][0] is Health.FAILED
