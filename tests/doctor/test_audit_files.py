"""The doctor asks for the directory that audit files are published in, and begins no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.doctor import Finding, Health
from ranger_cdap.doctor.local import examine_audit
from ranger_cdap.doctor.users import Users


def found(directory: str, spool: Path) -> Finding:
    settings = Settings(audit=AuditSettings(sinks=("hdfs",), hdfs_dir=directory, spool_dir=spool))
    (finding,) = (one for one in examine_audit(settings, Users.of(settings)) if one.check == "audit sink `hdfs`")
    return finding


def test_a_directory_that_is_there_is_well(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    finding = found(str(tmp_path / "p"), tmp_path / "spool")
    assert finding.health is Health.WELL
    assert not list((tmp_path / "p").iterdir())
    assert not list(tmp_path.glob("spool/*"))


@pytest.mark.parametrize(("directory", "said"), [("/no/such", "is no directory"), ("ftp://x/y", "known are `hdfs://`")])
def test_a_directory_that_cannot_be_used_fails(directory: str, said: str, tmp_path: Path) -> None:
    finding = found(directory, tmp_path)
    assert finding.health is Health.FAILED
    assert said in finding.seen
    assert "audit.hdfs_*" in finding.advice
