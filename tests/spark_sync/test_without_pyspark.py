"""The base install: the plugin loads without PySpark, and its commands say in one sentence what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
sys.modules["pyspark"] = sys.modules["delta"] = None
from pathlib import Path
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import SparkMissing
from spark_sync.plugin import sync
try:
    sync.main(sys.argv[1:], obj=Invocation(), standalone_mode=False)
except SparkMissing as e:
    print(e)
"""


@pytest.mark.parametrize("arguments", [["run"], ["status"], ["baseline", "--from", "x"]], ids=" ".join)
def test_a_command_without_pyspark(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "the sync job needs PySpark; install it with `pip install 'ranger-cdap[spark]'`\n"
