"""One run at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.errors import LeaseHeld, SyncError
from spark_sync.ledger.lease import lease

HOLD = """
import sys
from pathlib import Path
from spark_sync.ledger.lease import lease
with lease(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_says_who_holds_the_lease_and_a_killed_one_holds_it_no_more(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(LeaseHeld, match=f"process {other.pid} on"), lease(tmp_path):
            pass
        other.kill()
    with lease(tmp_path):
        assert str(os.getpid()) in (tmp_path / "lease.holder").read_text(encoding="utf-8")


def test_it_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="inside"), lease(tmp_path):
        raise OSError("inside")
    with lease(tmp_path):
        pass


def test_a_state_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(SyncError, match="cannot be used"), lease(tmp_path / "state"):
        pass
